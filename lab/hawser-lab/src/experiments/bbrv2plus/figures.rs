//! Figures of the thesis that are neither bars nor lines over a number that runs differ by.

use super::steps::COURSE;
use crate::data::page::chart::{Line, Scale};
use crate::experiments::verify::{Drawn, Kept, Metric, Plot, Policy, Value, line_chart};

/// Seconds between two points of a course.
const COURSE_SECONDS: f64 = 0.01 * COURSE as f64;
/// The older members of the family.
const OLD: [&str; 2] = ["bbr", "bbr2"];
/// Loss thresholds in per cent, and buffers in bandwidth-delay products.
const ALPHAS: [(f64, &str); 6] =
    [(2.0, "0.02"), (5.0, "0.05"), (10.0, "0.1"), (20.0, "0.2"), (50.0, "0.5"), (100.0, "1")];
const BUFFERS: [&str; 5] = ["0.2", "0.5", "1", "1.5", "2"];

/// By the names of the thesis.
pub(in crate::experiments) const PLOTS: &[Plot] = &[
    Plot { name: "bbrv2plus-alpha", draw: alpha },
    Plot { name: "bbrv2plus-rise-of-old", draw: |kept| course(kept, "steps-up", false, true) },
    Plot { name: "bbrv2plus-rise", draw: |kept| course(kept, "steps-up", true, true) },
    Plot { name: "bbrv2plus-fall", draw: |kept| course(kept, "steps-down", true, false) },
];

/// E5: a line per buffer.
fn alpha(kept: &Kept) -> Result<Drawn, String> {
    let mut lines = Vec::new();
    for (index, buffer) in BUFFERS.into_iter().enumerate() {
        let mut points = Vec::new();
        for (percent, alpha) in ALPHAS {
            let metric = Metric {
                runs: format!("alpha-{buffer}"),
                policy: Policy::Named(format!("bbr2-alpha-beta,alpha={alpha}")),
                name: "path.x.0.lost_share".to_owned(),
            };
            points.push((percent, 100.0 * kept.estimate(&Value::Mean(metric))?.value));
        }
        let name = format!("{buffer} BDP");
        lines.push(Line { name, colour: index, points, dashed: false, steps: false });
    }
    Ok(line_chart("loss threshold alpha, %", "packets retransmitted, %", Scale::Log(2.0, 100.0), lines))
}

/// E6: throughput or delay over time, of the first seed; with the system or without.
fn course(kept: &Kept, runs: &str, with_system: bool, throughput: bool) -> Result<Drawn, String> {
    let system = with_system.then_some(Policy::System);
    let policies = system.into_iter().chain(OLD.map(|name| Policy::Named(name.to_owned())));
    let mut lines = Vec::new();
    for (index, policy) in policies.enumerate() {
        let (ending, unit) = if throughput { ("throughput_bps", 1e6) } else { ("queue_ms", 1.0) };
        let metric = Metric { runs: runs.to_owned(), policy, name: "course.".to_owned() };
        let values = kept.course(&metric, ending);
        if values.is_empty() {
            return Err(format!("there is no course of {runs}"));
        }
        let point = |(at, value): (usize, f64)| ((at as f64 + 1.0) * COURSE_SECONDS, value / unit);
        let points = values.into_iter().enumerate().map(point).collect();
        let name = kept.policy(&metric).to_owned();
        lines.push(Line { name, colour: index, points, dashed: false, steps: false });
    }
    let label = if throughput { "Mbit/s" } else { "ms" };
    Ok(line_chart("seconds", label, Scale::Linear(0.0, 20.0), lines))
}
