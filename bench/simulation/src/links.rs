//! What links cost without hosts: a lower bound for any simulation over them.

use std::time::Instant;

use hawser_link::{DirectionConfig, Fabric, Frame, MICROSECOND, MILLISECOND, Nanos, RateModel};
use serde::Serialize;

const ROUNDS: usize = 5;
const PACKETS: u64 = 2_000_000;
const RATE: u64 = 100_000_000;
const LENGTH: u32 = 1500;
/// Nine tenths of what the link can carry.
const GAP: Nanos = 120 * MICROSECOND * 10 / 9;

/// As large as a packet of the simulator.
#[derive(Clone, Copy)]
struct Payload([u64; 17]);

impl Frame for Payload {
    fn is_ecn_capable(&self) -> bool {
        true
    }

    fn flow(&self) -> u64 {
        0
    }

    fn corrupt(&mut self, position: u64) {
        self.0[16] ^= position;
    }

    fn duplicate(&self) -> Self {
        *self
    }
}

/// Real time that a packet takes from being sent to its arrival, one figure for each round.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    nanoseconds: Vec<f64>,
}

pub(crate) fn measure() -> Report {
    Report { nanoseconds: (0..ROUNDS).map(|_| round()).collect() }
}

/// Two links in turn, from event to event as the simulator does it.
fn round() -> f64 {
    let config =
        DirectionConfig { rate: RateModel::constant(RATE), ..DirectionConfig::with_delay(10 * MILLISECOND) };
    let mut fabric: Fabric<Payload> = Fabric::new();
    let routes = [1, 2].map(|seed| {
        let link = fabric.add_link(&config, seed);
        fabric.add_route(&[link])
    });
    let began = Instant::now();
    let mut sum = 0;
    let mut arrive = |fabric: &mut Fabric<Payload>, until: Nanos| {
        while let Some(at) = fabric.next_event().filter(|at| *at <= until) {
            fabric.advance(at);
            while let Some(arrival) = fabric.poll_arrival() {
                sum += arrival.payload.0[0];
            }
        }
    };
    for number in 0..PACKETS {
        // Each link gets every second packet.
        let now = number * GAP / 2;
        arrive(&mut fabric, now);
        fabric.send(now, routes[(number % 2) as usize], LENGTH, Payload([number; 17]));
    }
    arrive(&mut fabric, Nanos::MAX - 1);
    assert_eq!(sum, PACKETS * (PACKETS - 1) / 2, "every packet arrives");
    began.elapsed().as_nanos() as f64 / PACKETS as f64
}
