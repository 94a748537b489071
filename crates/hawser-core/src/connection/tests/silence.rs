//! Paths on which nothing is heard any more.

use std::time::Duration;

use hawser_policy::{PathId, PathState, Side};

use super::pair::{Pair, Settings, client_address, transport};
use crate::{Code, TransportConfig};

fn state(pair: &mut Pair, id: PathId) -> Option<PathState> {
    pair.client().paths().iter().find(|path| path.id == id).map(|path| path.state)
}

/// A silent path is given up for another one only.
#[test]
fn the_last_path_is_probed_however_long_it_is_silent() {
    let quick = || TransportConfig { suspect_path_timeout: Duration::from_secs(1), ..transport() };
    let mut pair = Pair::connected(Settings { client: quick(), server: quick(), ..Settings::default() });
    let second = pair.open(1);
    pair.lose = |sent| [sent.tuple.local, sent.tuple.remote].contains(&client_address(1));
    pair.write(Side::Client, 400_000);
    pair.run(Duration::from_millis(300));
    assert_eq!(state(&mut pair, second), Some(PathState::Suspect));
    let now = pair.now;
    pair.client().abandon_path(now, PathId::ZERO, Code::NO_ERROR).unwrap();
    pair.run(Duration::from_secs(10));
    let lately = pair.now - Duration::from_secs(3);
    assert!(pair.datagrams(Side::Client, lately).count() > 0, "still probed");
    pair.lose = |_| false;
    pair.run(Duration::from_secs(2));
    assert_eq!(state(&mut pair, second), Some(PathState::Active));
}
