//! Address tokens that a client may come with: one that the server gave it, that one corrupted, or anything.

use std::sync::LazyLock;
use std::time::Duration;

use hawser_policy::Side;

use super::script::Script;
use super::setup;
use super::world::World;

/// What the server gave the client over an earlier connection from the same address.
static GIVEN: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let setup = setup::read(&mut Script::new(&[0; 16])).expect("long enough");
    let mut world = World::new(setup);
    world.run(Duration::from_secs(1));
    world.end(Side::Client).application.token.take().expect("a server gives tokens")
});

/// None, the one that was given, that one with a byte changed, or bytes of the script.
#[allow(clippy::option_option)]
pub fn read(script: &mut Script<'_>, how: u8) -> Option<Option<Vec<u8>>> {
    Some(match how {
        0 => None,
        1 => Some(GIVEN.clone()),
        2 => {
            let (at, mask) = (script.byte()?, script.byte()?);
            let mut token = GIVEN.clone();
            let at = usize::from(at) % token.len();
            token[at] ^= mask;
            Some(token)
        }
        _ => {
            let length = script.byte()?;
            Some(script.bytes(usize::from(length))?.to_vec())
        }
    })
}

/// Whether it is the token that the server gave, and shows that the client was at its address before.
pub fn is_given(token: &[u8]) -> bool {
    token == *GIVEN
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A token that proves its address is answered without Retry, any other one is not.
    #[test]
    fn a_given_token_is_taken() {
        for (how, is_taken) in [(1, true), (2, false)] {
            let mut setup = setup::read(&mut Script::new(&[0; 16])).expect("long enough");
            setup.retry = true;
            setup.token = read(&mut Script::new(&[40, 1]), how).expect("long enough");
            let mut world = World::new(setup);
            // Two round trips with Retry, one without.
            world.run(Duration::from_millis(35));
            assert_eq!(world.end(Side::Server).application.confirmed, is_taken, "{how}");
        }
    }
}
