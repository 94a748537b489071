//! Whole sessions.

use crate::{Config, ConfigError, Environment, Outcome, UnitPolicy};

/// Plays a session of a seed with a policy: what became of its units, and the trace hash.
///
/// # Errors
/// [`ConfigError`].
pub fn play(
    config: Config,
    seed: u64,
    policy: &mut impl UnitPolicy,
) -> Result<(Vec<Outcome>, u64), ConfigError> {
    let mut environment = Environment::new(config, seed)?;
    environment.record();
    loop {
        if policy.step(&mut environment).ends_session {
            return Ok((environment.take_outcomes(), environment.trace_hash()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Metrics, Policy};

    /// Mean reward per frame, and the delay's 95th percentile and the share of I, P and B frames without re-buffering.
    fn measured(name: &str) -> (f64, f64, [f64; 3]) {
        let mut sum = (0.0, 0.0, [0.0; 3]);
        for seed in 0..10 {
            let mut policy = Policy::named(name, seed, false).unwrap();
            let (outcomes, _) = play(Config::fluid_check(), seed, &mut policy).unwrap();
            let metrics = Metrics::of(&outcomes);
            sum.0 += metrics.reward / 10.0;
            sum.1 += metrics.delay_p95 / 10.0;
            for (sum, kind) in sum.2.iter_mut().zip([&metrics.i, &metrics.p, &metrics.b]) {
                *sum += kind.zero_share / 10.0;
            }
        }
        sum
    }

    /// The fluid check (docs/ride.md), of a model of its own: rewards within 6 %, delays within 10 %, the same order.
    #[test]
    fn reference_policies_meet_the_fluid_check() {
        let found = ["edpf", "rr", "minrtt"].map(measured);
        let expected = [(106.0, 0.114, 0.958), (96.0, 0.171, 0.862), (78.0, 0.252, 0.714)];
        println!("{found:?}");
        for (found, (reward, delay, b)) in found.iter().zip(expected) {
            assert!((found.0 / reward - 1.0).abs() < 0.06, "{found:?}");
            assert!((found.1 / delay - 1.0).abs() < 0.10, "{found:?}");
            assert!((found.2[2] - b).abs() < 0.04, "{found:?}");
        }
        assert!(found[0].0 > found[1].0 && found[1].0 > found[2].0);
    }
}
