//! A simulation in words.

use std::fmt::Write as _;

use hawser_media::Measure;
use hawser_sim::run::{End, FlowOutcome, LinkOutcome, PathOutcome};

use super::run::RunReport;
use hawser_command::units;

/// The tables printed without `--json`.
pub(super) fn text(report: &RunReport) -> String {
    let outcome = &report.outcome;
    let end = match outcome.end {
        End::Finished => "all flows done",
        End::Duration => "the duration is over",
        End::Quiet => "nothing left to happen",
        End::Events => "given up",
        End::Stopped => "stopped",
    };
    let mut text = format!(
        "{}, seed {}: {:.3} s in {:.2} s ({end}); {}, trace {}\n",
        outcome.scenario,
        outcome.seed,
        outcome.simulated_seconds,
        report.wall_seconds,
        units::count(outcome.packets, "packet"),
        outcome.trace_hash
    );
    for scene in &outcome.scenes {
        let _ = writeln!(text, "{scene}");
    }
    text.push('\n');
    let _ = writeln!(
        text,
        "{:<16} {:>13} {:>10} {:>9} {:>10} {:>9}  ",
        "flow", "goodput", "received", "time", "delay p99", "longest"
    );
    outcome.flows.iter().for_each(|flow| flow_row(&mut text, flow));
    outcome.flows.iter().for_each(|flow| measures(&mut text, flow));
    if !outcome.paths.is_empty() {
        let _ = writeln!(
            text,
            "\n{:<16} {:<15} {:>7} {:>8} {:>8} {:>10} {:>10}",
            "path of", "link", "share", "packets", "lost", "RTT", "least RTT"
        );
        outcome.paths.iter().for_each(|path| path_row(&mut text, path));
    }
    let _ = writeln!(
        text,
        "\n{:<15} {:<5} {:>13} {:>8} {:>10} {:>9} {:>9} {:>9}",
        "link", "", "rate", "used", "queue", "dropped", "lost", "down"
    );
    outcome.links.iter().for_each(|link| link_row(&mut text, link));
    text
}

fn flow_row(text: &mut String, flow: &FlowOutcome) {
    let time = flow.completion_seconds.map_or("-".to_owned(), |seconds| format!("{seconds:.3} s"));
    let delay = if flow.delay.count > 0 { format!("{:.1} ms", flow.delay.p99_ms) } else { "-".to_owned() };
    let _ = write!(
        text,
        "{:<16} {:>13} {:>10} {:>9} {:>10} {:>6.0} ms",
        flow.flow,
        units::bit_rate(flow.goodput_bps),
        units::bytes(flow.bytes),
        time,
        delay,
        flow.longest_gap_ms
    );
    if !flow.intact {
        text.push_str("  CORRUPT");
    }
    if let Some(error) = &flow.error {
        let _ = write!(text, "  {error}");
    }
    text.push('\n');
}

/// What an application measured, three figures to a line.
fn measures(text: &mut String, flow: &FlowOutcome) {
    let figure = |measure: &Measure| {
        let name = measure.name.replace('_', " ");
        let digits = if measure.value.fract() == 0.0 { 0 } else { 3 };
        format!("{:<34}", format!("{name} {:.digits$} {}", measure.value, measure.unit))
    };
    for (line, figures) in flow.measures.chunks(3).enumerate() {
        let name = if line == 0 { flow.flow.as_str() } else { "" };
        if line == 0 {
            text.push('\n');
        }
        let figures: String = figures.iter().map(figure).collect();
        let _ = writeln!(text, "{name:<16} {}", figures.trim_end());
    }
}

fn path_row(text: &mut String, path: &PathOutcome) {
    let _ = writeln!(
        text,
        "{:<16} {:<15} {:>5.1} % {:>8} {:>8} {:>7.1} ms {:>7.1} ms",
        path.flow,
        path.link,
        path.share * 100.0,
        path.packets_sent,
        path.packets_lost,
        path.smoothed_rtt_ms,
        path.min_rtt_ms
    );
}

fn link_row(text: &mut String, link: &LinkOutcome) {
    let rate = link.capacity_bps.map_or("unlimited".to_owned(), |rate| units::bit_rate(rate as f64));
    let used = link.utilisation.map_or("-".to_owned(), |used| format!("{:.1} %", used * 100.0));
    let _ = writeln!(
        text,
        "{:<15} {:<5} {:>13} {:>8} {:>7.1} ms {:>9} {:>9} {:>9}",
        link.link,
        link.direction.name(),
        rate,
        used,
        link.mean_queue_ms,
        link.counters.dropped_queue,
        link.counters.dropped_loss,
        link.counters.dropped_down
    );
}
