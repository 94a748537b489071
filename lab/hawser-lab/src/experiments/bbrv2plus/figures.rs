//! The figures of the thesis, from the kept runs. The thesis prints curves without numbers, so there is nothing of it to draw.

use super::loss::BY_LOSS;
use super::steps::COURSE;
use super::{
    BBR, BBR2, BOTH_OLD, FOUR, LIST, OF_ALPHA, OF_LOSS, QUEUE, RATE, RETRANSMITTED, SINGLE_MODE, THREE,
    TOLERANT,
};
use crate::data::page::chart::{Line, Scale};
use crate::experiments::verify::constant::{
    Drawing, Drawn, Figure, Kept, Metric, Policy, Value, bars, line_chart,
};

/// Seconds between two points of a course.
const COURSE_SECONDS: f64 = 0.01 * COURSE as f64;

/// By the names of the thesis.
pub(super) const ALL: &[Figure] = &[
    figure("4.5", "E1: Jain's index beside CUBIC", |kept| by_buffer(kept, &BUFFERS, BOTH_OLD, "jain")),
    figure("4.6", "E2: Jain's index of 40 and 150 ms", |kept| by_buffer(kept, &RTTS, BOTH_OLD, "jain")),
    bars("4.7", "E3: share of packets retransmitted, 100 kB", RETRANSMITTED, SHALLOW, BOTH_OLD),
    bars("4.8a", "E3: throughput, 100 kB of buffer", RATE, SHALLOW, BOTH_OLD),
    bars("4.8b", "E3: throughput, 10 MB of buffer", RATE, &["deep-50-100", "deep-250-75"], BOTH_OLD),
    figure("4.9", "E4: throughput over random loss", loss),
    figure("4.10", "E5: share of packets retransmitted over the loss threshold", alpha),
    figure("4.11", "E1: Jain's index beside CUBIC, BBRv2(20 %, 0.3)", |kept| {
        by_buffer(kept, &MODERATE, &[Policy::Named(BBR2), Policy::Named(TOLERANT)], "jain")
    }),
    figure("4.12", "E6: throughput while the rate rises", |kept| course(kept, "steps-up", BOTH_OLD, true)),
    figure("4.13", "E8: throughput over jitter", |kept| jitter(kept, &FOUR[1..], RATE)),
    figure("4.16", "E6: throughput while the rate rises", |kept| course(kept, "steps-up", THREE, true)),
    figure("4.16-down", "E6: delay of the queue while the rate falls", |kept| {
        course(kept, "steps-down", THREE, false)
    }),
    bars("4.18", "E7: throughput over rates that jump", RATE, &["step-trace"], THREE),
    bars("4.18-delay", "E7: mean time in the queue over rates that jump", QUEUE, &["step-trace"], THREE),
    figure("4.19", "E8: throughput over jitter", |kept| jitter(kept, FOUR, RATE)),
    figure("4.19b", "E8: volume in flight over jitter", |kept| jitter(kept, FOUR, "in_flight_bytes")),
    figure("4.20a", "E1: Jain's index beside CUBIC without the second mode", |kept| {
        let policies = [Policy::Named(BBR), Policy::Named(BBR2), Policy::Named(SINGLE_MODE)];
        by_buffer(kept, &DEEP, &policies, "jain")
    }),
    figure("4.20b", "E1: Jain's index beside CUBIC", |kept| by_buffer(kept, &BUFFERS, THREE, "jain")),
    figure("4.21", "E2: Jain's index of 40 and 150 ms", |kept| by_buffer(kept, &RTTS, THREE, "jain")),
    bars("4.22", "E3: share of packets retransmitted, 0.02 BDP", RETRANSMITTED, &["shallow-500-75"], THREE),
    bars("4.24", "E9: throughput over recorded-like links", RATE, &["stationary", "mobile"], FOUR),
    bars(
        "4.24-delay",
        "E9: mean time in the queue over recorded-like links",
        "link.x0.down.mean_queue_ms",
        &["stationary", "mobile"],
        FOUR,
    ),
];

const SHALLOW: &[&str] = &["shallow-100-75", "shallow-250-50", "shallow-250-150", "shallow-500-75"];

/// Where on the axis runs lie.
type Points = [(f64, &'static str)];

const BUFFERS: [(f64, &str); 8] = [
    (0.2, "fairness-0.2"),
    (0.5, "fairness-0.5"),
    (1.0, "fairness-1"),
    (1.5, "fairness-1.5"),
    (2.0, "fairness-2"),
    (4.0, "fairness-4"),
    (8.0, "fairness-8"),
    (16.0, "fairness-16"),
];
const MODERATE: [(f64, &str); 4] =
    [(0.2, "fairness-0.2"), (0.5, "fairness-0.5"), (1.0, "fairness-1"), (2.0, "fairness-2")];
const DEEP: [(f64, &str); 3] = [(4.0, "fairness-4"), (8.0, "fairness-8"), (16.0, "fairness-16")];
const RTTS: [(f64, &str); 3] = [(0.2, "rtt-0.2"), (2.0, "rtt-2"), (8.0, "rtt-8")];
const JITTERS: [(f64, &str); 5] =
    [(0.0, "jitter-0"), (20.0, "jitter-20"), (40.0, "jitter-40"), (80.0, "jitter-80"), (120.0, "jitter-120")];
const ALPHAS: [f64; 6] = [2.0, 5.0, 10.0, 20.0, 50.0, 100.0];

const fn figure(name: &'static str, title: &'static str, draw: fn(&Kept) -> Result<Drawn, String>) -> Figure {
    Figure { name, title, drawing: Drawing::Custom(draw) }
}

fn by_buffer(kept: &Kept, points: &Points, policies: &[Policy], name: &'static str) -> Result<Drawn, String> {
    let lines = lines(kept, points, policies, name, 1.0)?;
    let scale = Scale::Log(points[0].0, points[points.len() - 1].0);
    Ok(line_chart("buffer, bandwidth-delay products", "Jain's index", scale, lines))
}

fn jitter(kept: &Kept, policies: &[Policy], name: &'static str) -> Result<Drawn, String> {
    let (unit, label) = if name == RATE { (1e6, "Mbit/s") } else { (1e3, "kB in flight") };
    let lines = lines(kept, &JITTERS, policies, name, unit)?;
    Ok(line_chart("mean jitter, ms", label, Scale::Linear(0.0, 120.0), lines))
}

fn loss(kept: &Kept) -> Result<Drawn, String> {
    let percent = |runs: &'static str| (runs["loss-".len()..].parse().unwrap_or(0.0), runs);
    let lines = lines(kept, &BY_LOSS.map(percent), OF_LOSS, RATE, 1e6)?;
    Ok(line_chart("random loss, %", "Mbit/s", Scale::Linear(0.0, 30.0), lines))
}

/// A line per buffer.
fn alpha(kept: &Kept) -> Result<Drawn, String> {
    let mut lines = Vec::new();
    for (index, runs) in ["alpha-0.2", "alpha-0.5", "alpha-1", "alpha-1.5", "alpha-2"].into_iter().enumerate()
    {
        let mut points = Vec::new();
        for (percent, policy) in ALPHAS.into_iter().zip(OF_ALPHA) {
            points
                .push((percent, 100.0 * mean(kept, Metric { runs, policy: *policy, name: RETRANSMITTED })?));
        }
        let name = format!("{} BDP", &runs["alpha-".len()..]);
        lines.push(Line { name, colour: index, points, dashed: false, steps: false });
    }
    Ok(line_chart("loss threshold alpha, %", "packets retransmitted, %", Scale::Log(2.0, 100.0), lines))
}

/// Throughput or delay over time, of the first seed.
fn course(kept: &Kept, runs: &'static str, policies: &[Policy], throughput: bool) -> Result<Drawn, String> {
    let mut lines = Vec::new();
    for (index, policy) in policies.iter().enumerate() {
        let (ending, unit) = if throughput { ("throughput_bps", 1e6) } else { ("queue_ms", 1.0) };
        let values = kept.course(&(&Metric { runs, policy: *policy, name: "course." }).into(), ending);
        if values.is_empty() {
            return Err(format!("there is no course of {runs}"));
        }
        let point = |(at, value): (usize, f64)| ((at as f64 + 1.0) * COURSE_SECONDS, value / unit);
        let points = values.into_iter().enumerate().map(point).collect();
        lines.push(Line { name: name_of(kept, *policy), colour: index, points, dashed: false, steps: false });
    }
    let label = if throughput { "Mbit/s" } else { "ms" };
    Ok(line_chart("seconds", label, Scale::Linear(0.0, 20.0), lines))
}

fn lines(
    kept: &Kept,
    at: &Points,
    policies: &[Policy],
    name: &'static str,
    unit: f64,
) -> Result<Vec<Line>, String> {
    let mut lines = Vec::new();
    for (index, policy) in policies.iter().enumerate() {
        let mut points = Vec::new();
        for (x, runs) in at {
            points.push((*x, mean(kept, Metric { runs, policy: *policy, name })? / unit));
        }
        lines.push(Line { name: name_of(kept, *policy), colour: index, points, dashed: false, steps: false });
    }
    Ok(lines)
}

fn mean(kept: &Kept, metric: Metric) -> Result<f64, String> {
    Ok(kept.estimate(&(&Value::Mean(metric)).into())?.value)
}

fn name_of(kept: &Kept, policy: Policy) -> String {
    kept.policy(&(&Metric { runs: LIST.runs[0].name, policy, name: RATE }).into()).to_owned()
}
