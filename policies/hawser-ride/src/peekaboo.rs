//! Peekaboo in the fluid environment.

use std::time::Duration;

use hawser_learn::PairedArms;

use crate::packets::{InFlight, WindowedPaths};
use crate::paths::{PACKET, Portions};
use crate::{Environment, PATHS, Step};

/// Bytes of a learning round, and the exploration of its bandit (Li 2024, section 4.1).
const LEARNING_BYTES: u64 = 4_000_000;
const ALPHA: f64 = 0.8;
/// What flow control leaves, bytes: it never binds here.
const SEND_WINDOW: f64 = 16e6;
/// The arm that sends on the slow path; the other one waits for the fast one.
const TRANSMIT: usize = 0;

/// Peekaboo (Wu and others, IEEE JSAC 2020): packet by packet, on the path with the lower round-trip time while it has window;
/// where it has none a bandit decides whether to use the other one or to wait, half of a round trip of the faster path each time.
/// Windows are the environment's. It knows no deadlines, and never skips.
#[derive(Clone, Debug)]
pub struct Peekaboo {
    learner: PairedArms<6>,
    paths: WindowedPaths,
    sent: f64,
    portions: Vec<Portions>,
}

impl Peekaboo {
    /// With the seed of its random decisions.
    pub fn new(seed: u64) -> Self {
        Peekaboo {
            learner: PairedArms::new(ALPHA, LEARNING_BYTES, seed),
            paths: WindowedPaths::new(),
            sent: 0.0,
            portions: Vec::new(),
        }
    }

    /// Sends the environment's next unit.
    pub fn step(&mut self, environment: &mut Environment) -> Step {
        let acknowledged = self.paths.come_to(environment);
        self.learn(acknowledged);
        let sizes: Vec<f64> = environment.bundle_sizes().collect();
        let mut portions = std::mem::take(&mut self.portions);
        portions.clear();
        for size in sizes {
            let (mut of_frame, mut left) = (Portions::default(), size);
            while left > 0.0 {
                let payload = left.min(PACKET);
                let path = self.choose(payload);
                let departure = self.paths.send(environment, path, payload, self.learner.step());
                of_frame.add(path, payload, departure);
                self.sent += payload;
                left -= payload;
            }
            portions.push(of_frame);
        }
        let step = environment.step_in_packets(&portions);
        self.portions = portions;
        step
    }

    /// The path of the next packet, from 0; time goes on until there is one.
    fn choose(&mut self, payload: f64) -> usize {
        loop {
            let acknowledged = self.paths.acknowledgements();
            self.learn(acknowledged);
            let paths = &self.paths.paths;
            let fast = (1..PATHS).fold(0, |best, at| if paths[at].rtt < paths[best].rtt { at } else { best });
            let slow = PATHS - 1 - fast;
            let [fast_rtt, slow_rtt] = [paths[fast].rtt, paths[slow].rtt];
            let [fast_has_room, slow_has_room] = [fast, slow].map(|path| paths[path].has_room(payload));
            if !fast_has_room && !slow_has_room {
                self.paths.wait_for_one();
                continue;
            }
            let context = self.context([fast, slow]);
            let reference = Duration::from_secs_f64((2.0 * fast_rtt).max(slow_rtt).clamp(1e-4, 10.0));
            self.learner.advance(elapsed(self.paths.now), self.sent as u64, reference, &context);
            if fast_has_room {
                return fast;
            }
            if self.learner.choose(&context) == TRANSMIT {
                return slow;
            }
            self.paths.now += fast_rtt / 2.0;
        }
    }

    fn learn(&mut self, acknowledged: Vec<InFlight>) {
        for packet in acknowledged {
            let delivery = (packet.acknowledged_at - packet.sent_at).max(1e-6);
            self.learner.reward(packet.mark, elapsed(packet.sent_at), packet.payload / delivery / 1e6);
        }
    }

    /// Window, bytes in flight and send window per round trip of the fast path and of the slow one, in MB/s.
    fn context(&self, paths: [usize; PATHS]) -> [f64; 6] {
        let mut context = [0.0; 6];
        for (path, features) in paths.into_iter().zip(context.chunks_exact_mut(3)) {
            let path = &self.paths.paths[path];
            let rtt = path.rtt.max(1e-6);
            for (feature, bytes) in features.iter_mut().zip([path.window, path.bytes_in_flight, SEND_WINDOW])
            {
                *feature = (bytes / rtt / 1e6).min(1e6);
            }
        }
        context
    }
}

fn elapsed(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds.clamp(0.0, 1e9))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Kind, Metrics, Outcome, Policy, Purpose, play};

    fn played(kind: Kind, name: &str, seed: u64) -> Vec<Outcome> {
        let config = match kind {
            Kind::Episodic => Config::episodic(Purpose::Judging),
            Kind::Continuous => Config::continuous(Purpose::Judging),
        };
        let mut policy = Policy::named(name, seed, true).unwrap();
        play(Config { frames: 300, ..config }, seed, &mut policy).unwrap().0
    }

    /// Its first step always sends on the slow path where the fast one is full: of the first frame WiFi carries some 40 of 60 Mbit/s.
    #[test]
    fn a_step_that_sends_uses_both_paths() {
        let mut environment = Environment::new(Config::episodic(Purpose::Judging), 1).unwrap();
        let (mut peekaboo, mut carried) = (Peekaboo::new(1), [0.0; PATHS]);
        loop {
            let step = peekaboo.step(&mut environment);
            peekaboo.portions.iter().for_each(|portions| portions.add_to(&mut carried));
            if step.ends_frame {
                break;
            }
        }
        let slow = carried[1] / (carried[0] + carried[1]);
        assert!((0.2..0.5).contains(&slow), "{slow}");
    }

    /// Nothing is skipped, and nothing comes sooner than with the oracle on average.
    #[test]
    fn it_is_no_oracle() {
        for kind in [Kind::Episodic, Kind::Continuous] {
            for seed in 0..3 {
                let mean = |outcomes: &[Outcome]| {
                    outcomes.iter().map(|it| it.arrival - it.release).sum::<f64>() / outcomes.len() as f64
                };
                let (edpf, peekaboo) = (played(kind, "edpf", seed), played(kind, "peekaboo", seed));
                assert!(peekaboo.iter().all(|it| it.arrival.is_finite() && it.arrival > it.release));
                assert!(mean(&edpf) <= 1.02 * mean(&peekaboo), "{kind:?}, seed {seed}");
            }
        }
    }

    /// The same seed gives the same decisions.
    #[test]
    fn it_is_deterministic() {
        let [one, two] = [5, 5].map(|seed| Metrics::of(&played(Kind::Episodic, "peekaboo", seed)));
        assert_eq!(one, two);
    }

    /// No path ever has more in flight than the largest window that it had, and both are used up to half of it at least.
    #[test]
    fn windows_bind() {
        let mut environment = Environment::new(Config::continuous(Purpose::Judging), 1).unwrap();
        let (mut peekaboo, mut windows, mut most) = (Peekaboo::new(1), [0.0f64; PATHS], [0.0f64; PATHS]);
        for _ in 0..5_000 {
            peekaboo.step(&mut environment);
            for (at, path) in peekaboo.paths.paths.iter().enumerate() {
                windows[at] = windows[at].max(path.window);
                most[at] = most[at].max(path.bytes_in_flight);
                assert!(path.bytes_in_flight <= windows[at], "{path:?}");
            }
        }
        assert!((0..PATHS).all(|at| most[at] > windows[at] / 2.0), "{most:?} {windows:?}");
    }
}
