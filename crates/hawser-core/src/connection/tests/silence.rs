//! Paths on which nothing is heard any more.

use std::time::Duration;

use hawser_policy::{PathId, PathState, PathStatus, Side, Time};

use super::pair::{Pair, Sent, Settings, client_address, transport};
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

/// Answers to challenges that the client sends within the first seconds get lost.
fn loses_answers(sent: &Sent) -> bool {
    const PATH_RESPONSE: u8 = 0x1b;
    let first = sent.payload[0];
    let frames = 1 + 8 + usize::from(first & 3) + 1;
    sent.by.is_client()
        && sent.at < Time::from_secs(8)
        && first & 0x80 == 0
        && sent.payload.get(frames) == Some(&PATH_RESPONSE)
}

/// Challenges may get lost for long on a path over which everything else comes through.
#[test]
fn a_path_over_which_the_peer_sends_is_not_given_up_for_want_of_an_answer() {
    let mut pair = Pair::connected(Settings::default());
    pair.lose = loses_answers;
    let second = pair.open(1);
    assert_eq!(state(&mut pair, second), Some(PathState::Active), "the server answered");
    let now = pair.now;
    pair.client().set_path_status(now, PathId::ZERO, PathStatus::Backup).unwrap();
    let of_server =
        |pair: &mut Pair| pair.server().paths().iter().find(|path| path.id == second).map(|path| path.state);
    while pair.now < Time::from_millis(7_500) {
        pair.write(Side::Client, 20_000);
        pair.run(Duration::from_millis(200));
        assert_eq!(of_server(&mut pair), Some(PathState::Validating), "at {:?}", pair.now);
    }
    pair.write(Side::Client, 20_000);
    pair.run(Duration::from_secs(4));
    assert_eq!(of_server(&mut pair), Some(PathState::Active));
}
