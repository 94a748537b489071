//! When the packets of a UDP flow are sent.

use std::time::Duration;

use hawser_link::{Nanos, derive_seed, nanos};
use hawser_numbers::Draws;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{Flow, FlowKind, Pattern, Scenario};

/// The times at which a UDP flow sends, in their order: the same for the simulator and the emulator.
#[derive(Clone, Debug)]
pub struct Departures {
    mean_gap: Duration,
    poisson: bool,
    stop: Option<Nanos>,
    pattern: Option<Pattern>,
    random: ChaCha8Rng,
    /// While it is active, when the next packet goes; otherwise when it becomes active.
    next_at: Option<Nanos>,
    /// When the present period of activity ends.
    active_until: Option<Nanos>,
}

impl Departures {
    /// Those of one copy of a flow; `None` when it is of another kind.
    pub fn of(scenario: &Scenario, flow: &Flow, copy: u32) -> Option<Self> {
        let FlowKind::Udp { size, rate, poisson, .. } = flow.kind else { return None };
        let gap = u128::from(size) * 8 * 1_000_000_000 / u128::from(rate.max(1));
        let seed = derive_seed(scenario.seed, &format!("udp/{}/{copy}", flow.name));
        let mut departures = Departures {
            mean_gap: Duration::from_nanos(u64::try_from(gap).unwrap_or(u64::MAX).max(1)),
            poisson,
            stop: flow.stop,
            pattern: flow.pattern,
            random: ChaCha8Rng::seed_from_u64(seed),
            next_at: Some(flow.start),
            active_until: None,
        };
        if let Some(pattern) = flow.pattern {
            departures.active_until = Some(later(flow.start, departures.draw(pattern.on)));
        }
        Some(departures)
    }

    /// When the next packet goes; `None`: there is no other.
    pub fn next_at(&mut self) -> Option<Nanos> {
        while let (Some(pattern), Some(until), Some(at)) = (self.pattern, self.active_until, self.next_at) {
            if at < until {
                break;
            }
            let begins = later(until, self.draw(pattern.off));
            self.next_at = Some(begins);
            self.active_until = Some(later(begins, self.draw(pattern.on)));
        }
        if let (Some(stop), Some(at)) = (self.stop, self.next_at)
            && at >= stop
        {
            self.next_at = None;
        }
        self.next_at
    }

    /// Takes the next packet if it goes by `now`; returns when it goes.
    pub fn pop(&mut self, now: Nanos) -> Option<Nanos> {
        let at = self.next_at().filter(|at| *at <= now)?;
        let gap = if self.poisson { self.draw(self.mean_gap) } else { self.mean_gap };
        self.next_at = Some(later(at, gap));
        Some(at)
    }

    /// A sample of the exponential distribution.
    fn draw(&mut self, mean: Duration) -> Duration {
        mean.mul_f64((|| self.random.random::<f64>()).exponential(1.0))
    }
}

fn later(at: Nanos, by: Duration) -> Nanos {
    at.saturating_add(nanos(by))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn departures(kind: &str, copy: u32) -> Vec<Nanos> {
        let text = format!(
            "version = 1\n[[link]]\nname = \"a0\"\nrate = \"9 Mbit/s\"\n[[flow]]\nname = \"noise\"\n\
             kind = {kind}\nrate = \"1 Mbit/s\"\nsize = \"1250 B\"\nstop = \"100 s\"\n"
        );
        let scenario = Scenario::parse(&text, "noise.toml", &mut |_| Err(String::new())).unwrap();
        let mut departures = Departures::of(&scenario, &scenario.flows[0], copy).unwrap();
        std::iter::from_fn(|| departures.pop(Nanos::MAX)).collect()
    }

    #[test]
    fn even_gaps_random_gaps_and_silence() {
        let even = departures("\"cbr\"", 0);
        assert_eq!(even.len(), 10_000);
        assert!(even.windows(2).all(|pair| pair[1] - pair[0] == 10_000_000));
        let random = departures("\"poisson\"", 0);
        assert!(random.len().abs_diff(10_000) < 400, "{}", random.len());
        assert!(random.is_sorted() && random != departures("\"poisson\"", 1));
        let half = departures("\"cbr\"\non_off = { on = \"200 ms\", off = \"200 ms\" }", 0);
        assert!(half.len().abs_diff(5_000) < 800, "{}", half.len());
        assert!(half.windows(2).any(|pair| pair[1] - pair[0] > 300_000_000), "it is silent at times");
    }
}
