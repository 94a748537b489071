//! Links that fail in either direction while paths come and go: nothing is forgotten.

use std::cell::Cell;
use std::time::Duration;

use hawser_policy::{PathId, PathState, PathStatus, Side, StreamId};
use proptest::collection::vec;
use proptest::prelude::*;

use super::pair::{Pair, Sent, Settings, client_address, from};
use crate::{Code, Connection};

thread_local! {
    /// Which directions of the two links work; a bit for each that does not.
    static BROKEN: Cell<u8> = const { Cell::new(0) };
}

/// Even addresses of the client are on the first link, odd ones on the second.
fn broken(sent: &Sent) -> bool {
    let client = if sent.by.is_client() { sent.tuple.local } else { sent.tuple.remote };
    let direction = 2 * (client.port() - client_address(0).port()) % 4 + u16::from(sent.by.is_client());
    BROKEN.get() & (1 << direction) != 0
}

/// What is outstanding or waits has a deadline, or may leave now.
fn has_deadline(connection: &Connection) -> bool {
    let outstanding = connection.paths.iter().any(|path| path.recovery.outstanding_since().is_some());
    let waiting = connection.has_control() && connection.paths.iter().any(|path| path.life().can_send());
    connection.is_closed() || !(outstanding || waiting) || connection.poll_timeout().is_some()
}

struct Trial {
    pair: Pair,
    written: Vec<(StreamId, usize)>,
    addresses: u16,
}

impl Trial {
    fn step(&mut self, action: u8) {
        let now = self.pair.now;
        match action {
            0..=2 => {
                let client = self.pair.client();
                if let Some(id) = client.open_stream(false) {
                    let length = client.write(id, &[7; 3_000]).unwrap_or(0);
                    self.written.push((id, length));
                }
            }
            3 => {
                let last = self.pair.client().paths().last().map(|path| path.id);
                // The last one is refused.
                let _ = self.pair.client().abandon_path(now, last.unwrap_or(PathId::ZERO), Code::NO_ERROR);
            }
            4 => {
                let first = self.pair.server().paths().first().map(|path| path.id);
                let _ = self.pair.server().abandon_path(now, first.unwrap_or(PathId::ZERO), Code::NO_ERROR);
            }
            _ => {
                let tuple = from(client_address(self.addresses));
                if self.pair.client().open_path(now, tuple, PathStatus::Available, None).is_ok() {
                    self.addresses += 1;
                }
            }
        }
    }

    fn is_open(&self) -> bool {
        self.pair.client.closed().is_none() && self.pair.server.closed().is_none()
    }

    fn read_all(&mut self) -> Vec<(StreamId, usize)> {
        let server = self.pair.server();
        while server.accept_stream(false).is_some() {}
        let read = |(id, _): &(StreamId, usize)| {
            let chunks = std::iter::from_fn(|| server.read_chunk(*id, 1 << 20).ok().flatten());
            (*id, chunks.map(|chunk| chunk.len()).sum())
        };
        self.written.iter().map(read).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn everything_arrives_once_the_links_work_again(
        steps in vec((0_u8..16, 0_u8..6, 10_u64..900), 1..14),
    ) {
        BROKEN.set(0);
        let mut trial = Trial { pair: Pair::connected(Settings::default()), written: Vec::new(), addresses: 2 };
        trial.pair.open(1);
        trial.pair.lose = broken;
        for (directions, action, millis) in steps {
            BROKEN.set(directions);
            trial.step(action);
            trial.pair.run(Duration::from_millis(millis));
            for side in [Side::Client, Side::Server] {
                let connection = trial.pair.end(side).connection.as_ref().unwrap();
                prop_assert!(has_deadline(connection), "{:?} at {:?}", side, connection.poll_timeout());
            }
        }
        BROKEN.set(0);
        // Each end may have given up another path: then the client has to open one.
        trial.step(5);
        trial.pair.run(Duration::from_secs(8));
        if trial.is_open() {
            prop_assert_eq!(trial.read_all(), trial.written.clone());
            let states: Vec<_> = trial.pair.client().paths().iter().map(|path| path.state).collect();
            prop_assert!(states.iter().all(|state| *state == PathState::Active), "{:?}", states);
        } else {
            // Only a client that could validate none of its paths for three seconds may end.
            let reason = format!("{:?}", trial.pair.client.closed());
            prop_assert!(reason.contains("could not be validated"), "{}", reason);
        }
    }
}
