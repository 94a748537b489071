//! Which metrics runs have, before they are made.

use hawser_scenario::Scenario;

use super::error::unknown;
use super::list::Runs;

/// The numbers of a scenario's outcome, as [`super::Measured::of`] names them. `*` stands for the name of a flow, a link, or the
/// number of a path.
pub(super) const OUTCOME: &[&str] = &[
    "seed",
    "simulated_seconds",
    "packets",
    "events",
    "goodput_bps",
    "flow.*.{start|connect|completion}_seconds",
    "flow.*.{bytes|goodput_bps|longest_gap_ms|completed|sent|intact|broken}",
    "flow.*.delay.{count|mean_ms|min_ms|p50_ms|p95_ms|p99_ms|max_ms}",
    "flow.*.copies.{copied_bytes|needless_bytes|needless_share|duplicate_bytes|duplicate_share}",
    "flow.*.repair.{retransmitted_bytes|symbols_sent|symbols_received|recovered_bytes}",
    "path.*.*.{path|bytes_sent|packets_sent|packets_lost|packets_spuriously_lost|lost_share|bytes_acked|share}",
    "path.*.*.{smoothed_rtt_ms|min_rtt_ms|congestion_window|probe_timeouts|times_suspect}",
    "link.*.{up|down}.{capacity_bps|utilisation|mean_queue_ms}",
    "link.*.{up|down}.one_way_delay.{count|mean_ms|min_ms|p50_ms|p95_ms|p99_ms|max_ms}",
    "link.*.{up|down}.{offered|delivered}_{packets|bytes}",
    "link.*.{up|down}.dropped_{queue|aqm|loss|down|mtu}",
    "link.*.{up|down}.{marked|duplicated|corrupted|held_back|queue_peak_bytes|queue_time_total}",
];

/// What applications measure: layered video, live video, tiles of 360-degree video.
const MEASURES: &[&str] = &[
    "flow.*.measures.{interruption_share|mean_quality|mean_representation|base_in_time_share|base_packets}",
    "flow.*.measures.{enhancement_in_time_share|decoded_bps|layers_refused}",
    "flow.*.measures.base_within_{50|100|200|400}ms_share",
    "flow.*.measures.{rebuffering_s|stalls|stream_delay_ms|longest_delay_ms|assim_modelled|startup_s}",
    "flow.*.measures.{frames|frames_complete|frames_damaged|frames_late|frames_unheard|frames_shown|key_frames_damaged}",
    "flow.*.measures.{reordering_p60|bytes_lacking|largest_backlog}",
    "flow.*.measures.{frames_made|bytes_written|bytes_cut|corrupt}",
    "flow.*.measures.{reward_frames|i_zero_share|p_zero_share|b_zero_share|useful_share|arrived_share}",
    "flow.*.measures.{viewing_bps|delay_p95_ms|units|units_made|units_refused}",
];

/// Whether runs have a metric.
///
/// # Errors
/// They do not; says which are known.
pub(super) fn check(runs: &Runs, metric: &str) -> Result<(), String> {
    let outcome = if runs.program.is_none_or(|program| program.outcome) { OUTCOME } else { &[] };
    let measures = if outcome.is_empty() { &[] } else { MEASURES };
    let own = runs.program.map_or(&[][..], |program| program.metrics);
    let known = || own.iter().chain(outcome).chain(measures).flat_map(|pattern| alternatives(pattern));
    if known().any(|pattern| fits(&pattern, metric)) {
        return Ok(());
    }
    let known: Vec<String> = known().collect();
    Err(unknown("metric", metric, known.iter().map(String::as_str)) + &format!(" (runs {})", runs.name))
}

/// Whether what a metric of an outcome is named after is in the scenario: a flow, a link or a segment.
///
/// # Errors
/// It is not; says which are.
pub(super) fn check_in(scenario: &Scenario, runs: &Runs, metric: &str) -> Result<(), String> {
    if runs.program.is_some_and(|program| !program.outcome) {
        return Ok(());
    }
    let Some((kind, rest)) = metric.split_once('.') else { return Ok(()) };
    let traffic = scenario.traffic();
    let known: Vec<&str> = match kind {
        "flow" | "path" => traffic.iter().map(|flow| flow.name.as_str()).collect(),
        "link" => {
            let segments = scenario.segments.iter().map(|segment| segment.name.as_str());
            scenario.links.iter().map(|link| link.name.as_str()).chain(segments).collect()
        }
        _ => return Ok(()),
    };
    if known.iter().any(|name| rest.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'))) {
        return Ok(());
    }
    let name = rest.split('.').next().unwrap_or(rest);
    Err(unknown(if kind == "link" { "link" } else { "flow" }, name, known.into_iter()))
}

/// A pattern with each of its `{a|b}` written out.
fn alternatives(pattern: &str) -> Vec<String> {
    let Some((before, rest)) = pattern.split_once('{') else { return vec![pattern.to_owned()] };
    let Some((inner, after)) = rest.split_once('}') else { return vec![pattern.to_owned()] };
    let after = alternatives(after);
    inner.split('|').flat_map(|one| after.iter().map(move |after| format!("{before}{one}{after}"))).collect()
}

/// Whether a name is as a pattern says, in which `*` stands for letters without a dot, or at the end for any.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else { return pattern == name };
    let Some(rest) = name.strip_prefix(before) else { return false };
    // The name of a copy of a flow has a dot in it.
    rest.match_indices('.').map(|(at, _)| at).chain([rest.len()]).any(|at| at > 0 && fits(after, &rest[at..]))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hawser_sim::run::{NoRecorder, Options, Simulation};

    use super::super::Measured;
    use super::super::list::Seeds;
    use super::*;

    /// Every number of an outcome is declared.
    #[test]
    fn outcomes_have_no_other_numbers() {
        let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/wifi-lte.toml");
        let set = ["duration=1 s".to_owned(), "flow.main.count=2".to_owned()];
        let scenario = hawser_scenario::load(scenario.as_ref(), &set).unwrap();
        let registry = Arc::new(hawser_net::policies());
        let mut simulation = Simulation::new(&scenario, &registry, Options::default()).unwrap();
        let measured = Measured::of(&simulation.run(&mut NoRecorder));
        let runs = Runs {
            name: "runs".to_owned(),
            scenarios: Vec::new(),
            set: Vec::new(),
            program: None,
            policies: Vec::new(),
            seeds: Seeds::ONCE,
            line: 1,
        };
        for (name, _) in &measured.metrics {
            check(&runs, name).unwrap();
            check_in(&scenario, &runs, name).unwrap();
        }
        assert!(check_in(&scenario, &runs, "flow.man.bytes").unwrap_err().contains("known are main"));
    }

    #[test]
    fn patterns_are_written_out() {
        assert_eq!(alternatives("{a|b}.{c|d}_s"), ["a.c_s", "a.d_s", "b.c_s", "b.d_s"]);
        assert!(fits("flow.*.delay.p99_ms", "flow.main.1.delay.p99_ms"));
        assert!(!fits("flow.*.delay.p99_ms", "flow.main.delay.p99") && !fits("flow.*.x", "flow..x"));
        assert!(fits("course.*", "course.001.queue_ms"));
    }
}
