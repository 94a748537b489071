//! What RIDE is compared with.

use hawser_learn::Random;

use crate::paths::OVERHEAD;
use crate::{Agent, Environment, PATHS, PathView, Peekaboo, SKIP, Step};

/// Decides about units.
pub trait UnitPolicy {
    /// Does with the environment's next unit what it thinks best.
    fn step(&mut self, environment: &mut Environment) -> Step;
}

/// Policies by name.
#[derive(Clone, Debug)]
pub enum Policy {
    /// `rr`: the next path in turn that has window; the next at all if none has. `rr-blind` does not ask for window.
    RoundRobin {
        /// Whether windows bind.
        windows: bool,
        /// The path that was used last, from 1.
        last: usize,
    },
    /// `minrtt`: of the paths that have window the one with the lowest measured round-trip time; of all if none has. In E1
    /// windows never bind.
    MinRtt {
        /// Whether windows bind.
        windows: bool,
    },
    /// `peekaboo`: packet by packet; a bandit decides where to wait for the faster path.
    Peekaboo(Box<Peekaboo>),
    /// `edpf`: the path on which it arrives first, by the true rate and delay. An oracle; it never skips.
    EarliestDelivery,
    /// `edpf-skip`: the same, but what would arrive after its deadline is skipped.
    EarliestDeliveryOrSkip,
    /// `random`: any path.
    Random(Random),
    /// `wifi`, `lte`: one path, from 1.
    Single(usize),
    /// `ride`: the trained agent; `ride-no-skip`: the same, but it takes the better path where it would skip. Others by their
    /// names ([`Agent::NAMES`]).
    Ride(Box<Agent>),
}

/// There is no such policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no policy {0:?}: there are {names}", names = [&Policy::NAMES[..], &Agent::NAMES[1..]].concat().join(", "))]
pub struct PolicyError(String);

impl Policy {
    /// All names, without those of further agents ([`Agent::NAMES`]).
    pub const NAMES: [&'static str; 11] = [
        "ride",
        "ride-no-skip",
        "rr",
        "rr-blind",
        "minrtt",
        "peekaboo",
        "edpf",
        "edpf-skip",
        "random",
        "wifi",
        "lte",
    ];

    /// A policy by name; the seed is for those that are random. `ride` is the shipped agent.
    ///
    /// # Errors
    /// [`PolicyError`].
    pub fn named(name: &str, seed: u64, windows_bind: bool) -> Result<Self, PolicyError> {
        Ok(match name {
            "ride" => Policy::Ride(Box::new(Agent::shipped())),
            "ride-no-skip" => Policy::Ride(Box::new(Agent::shipped().never_skipping())),
            "rr" => Policy::RoundRobin { windows: windows_bind, last: PATHS },
            "rr-blind" => Policy::RoundRobin { windows: false, last: PATHS },
            "minrtt" => Policy::MinRtt { windows: windows_bind },
            "edpf" => Policy::EarliestDelivery,
            "edpf-skip" => Policy::EarliestDeliveryOrSkip,
            "random" => Policy::Random(Random::new(seed)),
            "wifi" => Policy::Single(1),
            "lte" => Policy::Single(2),
            "peekaboo" => Policy::Peekaboo(Box::new(Peekaboo::new(seed))),
            _ => {
                let agent = Agent::named(name).ok_or_else(|| PolicyError(name.to_owned()))?;
                Policy::Ride(Box::new(agent))
            }
        })
    }
}

impl UnitPolicy for Policy {
    fn step(&mut self, environment: &mut Environment) -> Step {
        let paths = environment.paths();
        let action = match self {
            Policy::Peekaboo(peekaboo) => return peekaboo.step(environment),
            Policy::RoundRobin { windows, last } => {
                let turns = (1..=PATHS).map(|step| (*last - 1 + step) % PATHS + 1);
                let next = *last % PATHS + 1;
                let free = |path: &usize| !*windows || paths[*path - 1].window_left() > 0.0;
                *last = turns.into_iter().find(free).unwrap_or(next);
                *last
            }
            Policy::MinRtt { windows } => {
                let free = |path: &PathView| !*windows || path.window_left() > 0.0;
                let any = paths.iter().any(free);
                least(&paths, |path| if any && !free(path) { f64::INFINITY } else { path.rtt }).0
            }
            Policy::EarliestDelivery => earliest(environment, &paths).0,
            Policy::EarliestDeliveryOrSkip => {
                let unit = environment.unit();
                let (path, delay) = earliest(environment, &paths);
                if unit.release + delay >= unit.playback.deadline { SKIP } else { path }
            }
            Policy::Random(random) => (random.fraction() * PATHS as f64) as usize + 1,
            Policy::Single(path) => *path,
            Policy::Ride(agent) => agent.choose(environment),
        };
        environment.step(action)
    }
}

/// The path on which the unit arrives first, and after how long, seconds.
pub(crate) fn earliest(environment: &Environment, paths: &[PathView; PATHS]) -> (usize, f64) {
    let bytes = OVERHEAD * environment.unit().bytes;
    least(paths, |path| 8.0 * (path.queued + bytes) / path.rate + path.base_rtt / 2.0)
}

/// The path with the least value, the first of equals, and the value.
fn least(paths: &[PathView; PATHS], value: impl Fn(&PathView) -> f64) -> (usize, f64) {
    let mut best = (1, value(&paths[0]));
    for (at, path) in paths.iter().enumerate().skip(1) {
        let value = value(path);
        if value < best.1 {
            best = (at + 1, value);
        }
    }
    best
}
