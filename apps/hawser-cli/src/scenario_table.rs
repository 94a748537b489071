//! A scenario as a table.

mod parts;

use std::fmt;

use hawser_emu::{DirectionConfig, RateModel};
use hawser_scenario::{Direction, Scenario, SceneSource};
use parts::{FlowPart, LinkPart, TransportPart};
use serde::Serialize;

use hawser::Registry;
use hawser_command::units;

/// How far a scenario without an end is looked at, in seconds.
const HORIZON: f64 = 60.0;
/// Directions of segments that are printed; JSON has all.
const MOST_ROWS: usize = 16;
/// In nanoseconds.
const SECOND: u64 = 1_000_000_000;
/// Seconds of a trace that are looked at for the best one.
const MOST_SECONDS: u64 = 86_400;

/// What a scenario file means.
#[derive(Debug, Serialize)]
pub(crate) struct ScenarioTable {
    name: String,
    description: String,
    seed: u64,
    duration_seconds: Option<f64>,
    mptcp: bool,
    /// What the scenes were made from.
    scenes: Vec<SceneSource>,
    hosts: Vec<String>,
    directions: Vec<Row>,
    links: Vec<LinkPart>,
    /// Directions of the links inside the network.
    segments: Vec<Row>,
    flows: Vec<FlowPart>,
    transport: TransportPart,
}

/// One direction of a link.
#[derive(Debug, Serialize)]
struct Row {
    link: String,
    /// `up` leads to the server.
    direction: &'static str,
    /// Bit/s at most; none: unlimited.
    peak_rate_bps: Option<u64>,
    /// Bit/s over the whole duration, outages counted as zero.
    mean_rate_bps: Option<u64>,
    /// Least and most, one way, without jitter.
    delay_ms: (f64, f64),
    jitter: bool,
    /// Mean, 0 to 1; none: it depends on the traffic.
    loss: Option<f64>,
    queue_bytes: u64,
    /// Seconds without service in the whole duration.
    down_seconds: f64,
}

impl ScenarioTable {
    pub(crate) fn new(scenario: &Scenario, registry: &Registry) -> Self {
        let duration_seconds = scenario.duration.map(|duration| duration.as_secs_f64());
        let until = (duration_seconds.unwrap_or(HORIZON) * 1e9) as u64;
        let rows = |name: &str, up: &DirectionConfig, down: &DirectionConfig| {
            [(Direction::Up, up), (Direction::Down, down)]
                .map(|(direction, config)| Row::new(name, direction, config, until))
        };
        let links = scenario.links.iter();
        let segments = scenario.segments.iter();
        ScenarioTable {
            name: scenario.name.clone(),
            description: scenario.description.clone(),
            seed: scenario.seed,
            duration_seconds,
            mptcp: scenario.mptcp,
            scenes: scenario.scenes.clone(),
            hosts: scenario.hosts.clone(),
            directions: links.clone().flat_map(|link| rows(&link.name, &link.up, &link.down)).collect(),
            links: links.map(|link| LinkPart::new(scenario, link)).collect(),
            segments: segments.flat_map(|link| rows(&link.name, &link.up, &link.down)).collect(),
            flows: scenario.traffic().iter().map(|flow| FlowPart::new(scenario, flow, registry)).collect(),
            transport: TransportPart::new(&scenario.transport, registry),
        }
    }
}

impl Row {
    fn new(link: &str, direction: Direction, config: &DirectionConfig, until: u64) -> Self {
        let delays = config.delay.base.points().iter().map(|point| point.1 as f64 / 1e6);
        Row {
            link: link.to_owned(),
            direction: direction.name(),
            peak_rate_bps: peak_rate(config, until),
            mean_rate_bps: config.mean_rate(until),
            delay_ms: (delays.clone().fold(f64::INFINITY, f64::min), delays.fold(0.0, f64::max)),
            jitter: config.delay.jitter != hawser_emu::Jitter::None,
            loss: config.loss.mean(),
            queue_bytes: config.queue.most_bytes(config.mtu, config.rate.peak()),
            down_seconds: config.outages.total(until) as f64 / 1e9,
        }
    }
}

/// The highest rate. That of a trace, which has chances to send and no rate, is what its best second carries; a token bucket sends as
/// fast as it may while it has saved tokens.
fn peak_rate(config: &DirectionConfig, until: u64) -> Option<u64> {
    let peak = match &config.rate {
        RateModel::Trace(_) => busiest_second(&config.rate, until)?,
        RateModel::TokenBucket(bucket) => bucket.peak_rate.unwrap_or(bucket.rate),
        other => other.peak()?,
    };
    // A burst may be most of a short run.
    Some(config.mean_rate(until).map_or(peak, |mean| peak.max(mean)))
}

/// Most bits that can be sent in a second.
fn busiest_second(rate: &RateModel, until: u64) -> Option<u64> {
    let (mut most, mut before) = (0, 0);
    for second in 1..=until.div_ceil(SECOND).clamp(1, MOST_SECONDS) {
        let bits = rate.capacity_bits(second * SECOND)?;
        most = most.max(bits - before);
        before = bits;
    }
    Some(most)
}

impl fmt::Display for ScenarioTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.name, self.description)?;
        let end = self.duration_seconds.map_or("no end".to_owned(), |seconds| format!("at most {seconds} s"));
        let mptcp = if self.mptcp { ", with the kernel's MPTCP" } else { "" };
        writeln!(f, "seed {}, {end}{mptcp}", self.seed)?;
        self.scenes.iter().try_for_each(|scene| writeln!(f, "{scene}"))?;
        writeln!(f)?;
        writeln!(
            f,
            "{:<15} {:<5} {:>13} {:>13} {:>14} {:>8} {:>10} {:>8}",
            "link", "", "peak rate", "mean rate", "delay", "loss", "queue", "down"
        )?;
        let shown = self.segments.len().min(MOST_ROWS);
        for row in self.directions.iter().chain(&self.segments[..shown]) {
            writeln!(f, "{row}")?;
        }
        if self.segments.len() > shown {
            writeln!(f, "and {} more segments", (self.segments.len() - shown) / 2)?;
        }
        let links: Vec<_> = self.links.iter().filter_map(LinkPart::line).collect();
        if !links.is_empty() {
            writeln!(f, "\n{}", links.join("\n"))?;
        }
        writeln!(f)?;
        for flow in &self.flows {
            writeln!(f, "{}", flow.line())?;
        }
        Ok(())
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate =
            |rate: Option<u64>| rate.map_or("unlimited".to_owned(), |rate| units::bit_rate(rate as f64));
        let round = |value: f64| (value * 100.0).round() / 100.0;
        let (least, most) = (round(self.delay_ms.0), round(self.delay_ms.1));
        let mut delay = if least == most { format!("{least}") } else { format!("{least}-{most}") };
        if self.jitter {
            delay.push('+');
        }
        write!(
            f,
            "{:<15} {:<5} {:>13} {:>13} {:>11} ms {:>8} {:>10} {:>6.1} s",
            self.link,
            self.direction,
            rate(self.peak_rate_bps),
            rate(self.mean_rate_bps),
            delay,
            self.loss.map_or("?".to_owned(), |loss| format!("{:.2} %", loss * 100.0)),
            units::bytes(self.queue_bytes),
            self.down_seconds
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_scenario::ReadOptions;

    #[test]
    fn peak_is_never_below_the_mean() {
        let rates = |rate: &str| {
            let text = format!("version = 1\nduration = \"3 s\"\n[[link]]\nname = \"a0\"\nrate = {rate}\n");
            // Nineteen chances in the first of two seconds, and one at their end.
            let mut files = |_: &str| {
                let chances = (1..20).map(|chance| format!("{}\n", chance * 50)).chain(["2000\n".to_owned()]);
                Ok(chances.collect::<String>())
            };
            let options = ReadOptions {
                text: &text,
                file: "t.toml",
                overrides: &[],
                files: &mut files,
                registry: None,
            };
            let scenario = Scenario::read(options).unwrap();
            let table = ScenarioTable::new(&scenario, &hawser::policies());
            (table.directions[0].peak_rate_bps.unwrap(), table.directions[0].mean_rate_bps.unwrap())
        };
        let (peak, mean) = rates("{ trace = \"t.down\" }");
        assert!((19 * 12_000..=20 * 12_000).contains(&peak), "{peak}");
        assert!(mean < peak, "{mean}");
        let (peak, mean) = rates("{ model = \"token-bucket\", rate = \"1 Mbit/s\", burst = \"500 kB\" }");
        assert!(peak >= mean && mean > 1_000_000, "{peak} {mean}");
        assert_eq!(rates("\"5 Mbit/s\""), (5_000_000, 5_000_000));
    }
}
