//! The comparison.

use std::fmt;

use hawser_scenario::{Direction, FlowKind, Scenario};
use serde::Serialize;

use super::delays::ks_distance;
use super::observation::{Observation, Traffic, direction_index};
use crate::data::statistics::{mean, nearest_rank};

/// What the emulator promises for a delay: differences below it are no disagreement.
const RESOLUTION_NANOS: u64 = 1_000_000;

/// How far the two worlds are apart. Serialised, it is what `hawser lab agree --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// Name of the scenario.
    pub scenario: String,
    /// Seeds of the runs.
    pub seeds: Vec<u64>,
    /// Mean length of the runs.
    pub seconds: f64,
    /// Mean bit/s of application data in order.
    pub simulated_goodput_bps: f64,
    /// The same in the emulator.
    pub emulated_goodput_bps: f64,
    /// Their difference, as a share of the simulated one; never negative. None: nothing was transferred in the simulator.
    pub goodput_difference: Option<f64>,
    /// Kolmogorov-Smirnov distance of the one-way delays of all packets in the direction of the data.
    pub ks_distance: Option<f64>,
    /// The same where delays that differ by less than a millisecond do not count.
    pub ks_distance_beyond_1_ms: Option<f64>,
    /// 99th percentile of the emulator's lateness, in the worst run.
    pub emulator_lateness_ms: f64,
    /// The greatest lateness of any packet.
    pub emulator_lateness_max_ms: f64,
    /// Runs that were repeated because the emulator was late.
    pub repeated_runs: u32,
    /// Bit/s of application data in each run, simulated and emulated.
    pub runs: Vec<[f64; 2]>,
    /// Each direction of each link.
    pub links: Vec<DirectionAgreement>,
}

/// How far the two worlds are apart in one direction of a link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DirectionAgreement {
    /// The link.
    pub link: String,
    /// The direction.
    pub direction: Direction,
    /// Bit/s of IP packets that arrived.
    pub simulated_bps: f64,
    /// The same in the emulator.
    pub emulated_bps: f64,
    /// Their difference, as a share of the simulated one; none: nothing was simulated there.
    pub difference: Option<f64>,
    /// Kolmogorov-Smirnov distance of the one-way delays.
    pub ks_distance: Option<f64>,
    /// The same where delays that differ by less than a millisecond do not count.
    pub ks_distance_beyond_1_ms: Option<f64>,
    /// Delays in the simulator.
    pub simulated_delay: DelayFigures,
    /// Delays in the emulator.
    pub emulated_delay: DelayFigures,
}

/// A few figures of many delays; no numbers of none.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DelayFigures {
    /// Packets that arrived.
    pub packets: u64,
    /// Packets that did not.
    pub dropped: u64,
    /// Tenth percentile.
    pub p10_ms: f64,
    /// Median.
    pub p50_ms: f64,
    /// 90th percentile.
    pub p90_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
}

impl Agreement {
    /// Compares pairs of runs: simulated, emulated.
    pub(super) fn of(
        scenarios: &[Scenario],
        pairs: &[(Observation, Observation)],
        repeated_runs: u32,
    ) -> Self {
        let runs: Vec<[f64; 2]> = pairs.iter().map(|(a, b)| [a.goodput_bps, b.goodput_bps]).collect();
        let side = |side: usize| mean(&runs.iter().map(|run| run[side]).collect::<Vec<f64>>());
        let (simulated, emulated) = (side(0), side(1));
        let worst = |of: fn(&Observation) -> f64| pairs.iter().map(|(_, b)| of(b)).fold(0.0, f64::max);
        let data = scenarios.first().map_or(Direction::Down, data_direction);
        let data_ways = |index: usize| index % 2 == data as usize;
        let [a, b] = pooled(pairs, data_ways).map(sorted);
        let links = scenarios.first().map(|scenario| link_rows(scenario, pairs)).unwrap_or_default();
        Agreement {
            scenario: scenarios.first().map(|scenario| scenario.name.clone()).unwrap_or_default(),
            seeds: scenarios.iter().map(|scenario| scenario.seed).collect(),
            seconds: mean(&pairs.iter().map(|(_, b)| b.seconds).collect::<Vec<f64>>()),
            simulated_goodput_bps: simulated,
            emulated_goodput_bps: emulated,
            goodput_difference: difference(simulated, emulated),
            ks_distance: ks_distance(&a.delays, &b.delays, 0),
            ks_distance_beyond_1_ms: ks_distance(&a.delays, &b.delays, RESOLUTION_NANOS),
            emulator_lateness_ms: worst(|run| run.lateness.p99_ms),
            emulator_lateness_max_ms: worst(|run| run.lateness.max_ms),
            repeated_runs,
            runs,
            links,
        }
    }

    /// Where nothing was transferred, if that is so somewhere: there is nothing to agree on then.
    pub fn nothing_transferred(&self) -> Option<&'static str> {
        match [self.simulated_goodput_bps > 0.0, self.emulated_goodput_bps > 0.0] {
            [true, true] => None,
            [false, true] => Some("nothing was transferred in the simulator"),
            [true, false] => Some("nothing was transferred in the emulator"),
            [false, false] => Some("nothing was transferred, neither in the simulator nor in the emulator"),
        }
    }
}

/// The direction of most data: that of the first connection.
fn data_direction(scenario: &Scenario) -> Direction {
    let traffic = scenario.traffic();
    let first = traffic.iter().find(|flow| !matches!(flow.kind, FlowKind::Udp { .. }));
    first.map_or(Direction::Down, |flow| flow.kind.direction())
}

fn link_rows(scenario: &Scenario, pairs: &[(Observation, Observation)]) -> Vec<DirectionAgreement> {
    let seconds = |of: fn(&(Observation, Observation)) -> f64| pairs.iter().map(of).sum::<f64>().max(1e-9);
    let (seconds_a, seconds_b) = (seconds(|pair| pair.0.seconds), seconds(|pair| pair.1.seconds));
    let directions = (0..scenario.links.len()).flat_map(|link| {
        Direction::BOTH.map(|direction| (link, direction, direction_index(link, direction)))
    });
    directions
        .map(|(link, direction, position)| {
            let [a, b] = pooled(pairs, |index| index == position).map(sorted);
            let (simulated, emulated) = (a.bytes as f64 * 8.0 / seconds_a, b.bytes as f64 * 8.0 / seconds_b);
            DirectionAgreement {
                link: scenario.links[link].name.clone(),
                direction,
                simulated_bps: simulated,
                emulated_bps: emulated,
                difference: difference(simulated, emulated),
                ks_distance: ks_distance(&a.delays, &b.delays, 0),
                ks_distance_beyond_1_ms: ks_distance(&a.delays, &b.delays, RESOLUTION_NANOS),
                simulated_delay: figures(&a),
                emulated_delay: figures(&b),
            }
        })
        .collect()
}

/// The packets of some directions of all runs, simulated and emulated.
fn pooled(pairs: &[(Observation, Observation)], wanted: impl Fn(usize) -> bool) -> [Traffic; 2] {
    let mut pools = [Traffic::default(), Traffic::default()];
    for (simulated, emulated) in pairs {
        for (pool, run) in pools.iter_mut().zip([simulated, emulated]) {
            for (_, traffic) in run.directions.iter().enumerate().filter(|(index, _)| wanted(*index)) {
                pool.delays.extend_from_slice(&traffic.delays);
                pool.bytes += traffic.bytes;
                pool.dropped += traffic.dropped;
            }
        }
    }
    pools
}

fn sorted(mut traffic: Traffic) -> Traffic {
    traffic.delays.sort_unstable();
    traffic
}

fn difference(simulated: f64, emulated: f64) -> Option<f64> {
    (simulated > 0.0).then(|| (emulated / simulated - 1.0).abs())
}

fn figures(traffic: &Traffic) -> DelayFigures {
    let mut delays: Vec<f64> = traffic.delays.iter().map(|delay| *delay as f64 / 1e6).collect();
    let mut ms = |share| nearest_rank(&mut delays, share);
    DelayFigures {
        packets: traffic.delays.len() as u64,
        dropped: traffic.dropped,
        p10_ms: ms(0.1),
        p50_ms: ms(0.5),
        p90_ms: ms(0.9),
        p99_ms: ms(0.99),
    }
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seeds: Vec<String> = self.seeds.iter().map(u64::to_string).collect();
        writeln!(f, "{}, {:.1} s, seeds {}\n", self.scenario, self.seconds, seeds.join(" "))?;
        writeln!(
            f,
            "{:<15} {:<5} {:>9} {:>9} {:>7}  {:>6} {:>7}  {:>19} {:>19} {:>13}",
            "Mbit/s",
            "",
            "simulated",
            "emulated",
            "differ",
            "KS",
            ">1 ms",
            "delay p50/p90, sim",
            "delay p50/p90, emu",
            "dropped"
        )?;
        for link in &self.links {
            link.fmt(f)?;
        }
        writeln!(
            f,
            "{:<15} {:<5} {:>9.3} {:>9.3} {:>7}  {:>6} {:>7}\n",
            "goodput",
            "",
            self.simulated_goodput_bps / 1e6,
            self.emulated_goodput_bps / 1e6,
            percent(self.goodput_difference),
            distance(self.ks_distance),
            distance(self.ks_distance_beyond_1_ms),
        )?;
        write!(
            f,
            "the emulator was late by {:.2} ms at the 99th percentile, {:.2} ms at most; {} runs repeated",
            self.emulator_lateness_ms, self.emulator_lateness_max_ms, self.repeated_runs
        )
    }
}

impl fmt::Display for DirectionAgreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let delay = |delay: &DelayFigures| match delay.packets {
            0 => "-".to_owned(),
            _ => format!("{:.2}/{:.2} ms", delay.p50_ms, delay.p90_ms),
        };
        let (a, b) = (&self.simulated_delay, &self.emulated_delay);
        writeln!(
            f,
            "{:<15} {:<5} {:>9.3} {:>9.3} {:>7}  {:>6} {:>7}  {:>19} {:>19} {:>13}",
            self.link,
            self.direction.name(),
            self.simulated_bps / 1e6,
            self.emulated_bps / 1e6,
            percent(self.difference),
            distance(self.ks_distance),
            distance(self.ks_distance_beyond_1_ms),
            delay(a),
            delay(b),
            format!("{} / {}", a.dropped, b.dropped),
        )
    }
}

fn percent(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{:.1} %", share * 100.0))
}

fn distance(distance: Option<f64>) -> String {
    distance.map_or("-".to_owned(), |distance| format!("{distance:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observation(goodput_bps: f64) -> Observation {
        Observation { seconds: 1.0, goodput_bps, directions: Vec::new(), lateness: Default::default() }
    }

    #[test]
    fn no_packets_have_no_delay() {
        let none = figures(&Traffic::default());
        assert!(none.packets == 0 && [none.p10_ms, none.p50_ms, none.p99_ms].iter().all(|ms| ms.is_nan()));
        let some = figures(&Traffic { delays: vec![1_000_000, 2_000_000, 4_000_000], ..Traffic::default() });
        assert_eq!([some.p10_ms, some.p50_ms, some.p90_ms], [1.0, 2.0, 4.0]);
    }

    #[test]
    fn nothing_does_not_agree_with_nothing() {
        let of = |a, b| Agreement::of(&[], &[(observation(a), observation(b))], 0);
        let nothing = of(0.0, 0.0);
        assert_eq!(nothing.goodput_difference, None);
        assert!(nothing.nothing_transferred().is_some_and(|why| why.contains("neither")));
        assert!(!nothing.to_string().contains("0.0 %"), "{nothing}");
        assert!(of(0.0, 8.0).nothing_transferred().is_some_and(|why| why.ends_with("simulator")));
        let some = of(8.0, 6.0);
        assert_eq!((some.goodput_difference, some.nothing_transferred()), (Some(0.25), None));
    }
}
