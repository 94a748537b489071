//! What is drawn for each session.

use hawser_link::Direction;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use serde::{Deserialize, Serialize};

/// What a session may be like. None of the lists is empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool {
    /// Congestion controllers of the sender.
    pub controllers: Vec<String>,
    /// Which way the data goes.
    pub directions: Vec<Direction>,
    /// Connections at the same time, 1 or more each.
    pub flows: Vec<u32>,
}

/// What a session is like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Configuration {
    /// Congestion controller of the sender.
    pub controller: String,
    /// Which way the data goes.
    pub direction: Direction,
    /// Connections at the same time.
    pub flows: u32,
}

impl Pool {
    /// The configuration of a session: uniform over the pool, each part independent of the others, and the same for the same
    /// seed and number.
    pub fn draw(&self, seed: u64, number: u64) -> Configuration {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(number);
        // Of 2^64 values a few more fall to the first entries: a deviation of less than 10^-17.
        let mut one_of = |count: usize| (random.next_u64() % count.max(1) as u64) as usize;
        let controller = one_of(self.controllers.len());
        let direction = one_of(self.directions.len());
        let flows = one_of(self.flows.len());
        Configuration {
            controller: self.controllers.get(controller).cloned().unwrap_or_default(),
            direction: self.directions.get(direction).copied().unwrap_or(Direction::Up),
            flows: self.flows.get(flows).copied().unwrap_or(1),
        }
    }
}
