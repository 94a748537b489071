//! A scenario as a table.

use std::fmt;

use hawser_emu::{Direction, DirectionConfig, Scenario};
use serde::Serialize;

use crate::units;

/// How far a scenario without an end is looked at, in seconds.
const HORIZON: f64 = 60.0;

/// What a scenario file means.
#[derive(Debug, Serialize)]
pub(crate) struct ScenarioTable {
    name: String,
    description: String,
    seed: u64,
    duration_seconds: Option<f64>,
    mptcp: bool,
    directions: Vec<Row>,
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
    /// Mean, 0 to 1.
    loss: f64,
    queue_bytes: u64,
    /// Seconds without service in the whole duration.
    down_seconds: f64,
}

impl ScenarioTable {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let duration_seconds = scenario.duration.map(|duration| duration.as_secs_f64());
        let until = (duration_seconds.unwrap_or(HORIZON) * 1e9) as u64;
        let rows = scenario.links.iter().flat_map(|link| {
            [(Direction::Up, &link.up), (Direction::Down, &link.down)]
                .map(|(direction, config)| Row::new(&link.name, direction, config, until))
        });
        ScenarioTable {
            name: scenario.name.clone(),
            description: scenario.description.clone(),
            seed: scenario.seed,
            duration_seconds,
            mptcp: scenario.mptcp,
            directions: rows.collect(),
        }
    }
}

impl Row {
    fn new(link: &str, direction: Direction, config: &DirectionConfig, until: u64) -> Self {
        let delays = config.delay.base.points().iter().map(|point| point.1 as f64 / 1e6);
        Row {
            link: link.to_owned(),
            direction: direction.name(),
            peak_rate_bps: config.rate.peak(),
            mean_rate_bps: config.mean_rate(until),
            delay_ms: (delays.clone().fold(f64::INFINITY, f64::min), delays.fold(0.0, f64::max)),
            jitter: config.delay.jitter != hawser_emu::Jitter::None,
            loss: config.loss.mean(),
            queue_bytes: config.queue_bytes,
            down_seconds: config.outages.total(until) as f64 / 1e9,
        }
    }
}

impl fmt::Display for ScenarioTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.name, self.description)?;
        let end = self.duration_seconds.map_or("no end".to_owned(), |seconds| format!("at most {seconds} s"));
        let mptcp = if self.mptcp { ", with the kernel's MPTCP" } else { "" };
        writeln!(f, "seed {}, {end}{mptcp}\n", self.seed)?;
        writeln!(
            f,
            "{:<15} {:<5} {:>13} {:>13} {:>14} {:>8} {:>10} {:>8}",
            "link", "", "peak rate", "mean rate", "delay", "loss", "queue", "down"
        )?;
        let rate =
            |rate: Option<u64>| rate.map_or("unlimited".to_owned(), |rate| units::bit_rate(rate as f64));
        for row in &self.directions {
            let (least, most) = row.delay_ms;
            let mut delay = if least == most { format!("{least}") } else { format!("{least}-{most}") };
            if row.jitter {
                delay.push('+');
            }
            writeln!(
                f,
                "{:<15} {:<5} {:>13} {:>13} {:>11} ms {:>6.2} % {:>10} {:>6.1} s",
                row.link,
                row.direction,
                rate(row.peak_rate_bps),
                rate(row.mean_rate_bps),
                delay,
                row.loss * 100.0,
                units::bytes(row.queue_bytes),
                row.down_seconds
            )?;
        }
        Ok(())
    }
}
