//! Learning curves.

use super::programs::{TRAINED, agent_names, learning_curve};
use crate::data::page::chart::{Line, Scale};
use crate::experiments::verify::{Drawn, Kept, Metric, Plot, Policy, Value, line_chart};

/// By name.
pub(in crate::experiments) const PLOTS: &[Plot] = &[
    Plot { name: "ride-curves", draw: curves },
    Plot { name: "ride-curves-continuous", draw: curves_continuous },
];

/// Item 11: the greedy reward of five training runs in sessions that are reserved for choosing weights, and RR's in the same.
fn curves(kept: &Kept) -> Result<Drawn, String> {
    let mut lines = family("ride")?;
    let metric = Metric { runs: "curve".into(), policy: Policy::System, name: "rr_reward_frames".into() };
    let rr = kept.estimate(&Value::Mean(metric))?.value;
    let points = vec![(0.0, rr), (EPISODES, rr)];
    lines.push(Line { name: "rr".into(), colour: TRAINED, points, dashed: true, steps: false });
    Ok(drawn(lines))
}

/// The same in E2.
fn curves_continuous(_: &Kept) -> Result<Drawn, String> {
    Ok(drawn(family("ride-e2")?))
}

/// 1.2 million decisions.
const EPISODES: f64 = 30_000.0;

fn family(family: &str) -> Result<Vec<Line>, String> {
    let line = |(colour, name): (usize, String)| {
        let points = learning_curve(&name)?;
        Ok(Line { name, colour, points, dashed: false, steps: false })
    };
    agent_names(family).into_iter().enumerate().map(line).collect()
}

fn drawn(lines: Vec<Line>) -> Drawn {
    line_chart("training episodes", "reward of a frame, greedy", Scale::Linear(0.0, EPISODES), lines)
}
