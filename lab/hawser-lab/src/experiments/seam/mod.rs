//! What the list of Hawser's own promises (`lab/reproductions/seam.toml`) measures beyond plain scenarios.

mod courses;
mod delays;
mod programs;
mod returns;

use super::verify::Program;

/// By name.
pub(super) const PROGRAMS: &[Program] = &[
    Program::new("seam-same-seed", programs::same_seed, &["different_traces"]),
    Program::new("seam-one-way-delays", delays::one_way, &["error_ms", "error_of_half_round_trips_ms"]),
    Program::new("seam-case", programs::case, CASE_METRICS),
    Program::new("seam-returns", returns::returns, &["returns", "late_returns", "slowest_ms"]),
    Program::new("seam-course", courses::course, &["failures", "longest_pause_ms"]),
];

/// The measures of the cases of the mobility gauntlet (`hawser_sim::gauntlet`) and of the policy sets (`hawser_sim::sets`).
const CASE_METRICS: &[&str] = &[
    "longer_{ms|per_rebinding_ms|than_on_one_path_ms|than_without_it_ms}",
    "mean_wait_{ms|in_the_marking_queue_ms}",
    "end_s",
    "dropped_{packets|by_the_marking_queue_packets}",
    "{sent_again|beyond_the_window|first_round_trip|window_of_the_trickling_path|copies_that_waited}_kB",
    "smoothed_RTT_ms",
    "marked_packets",
    "paths_left_at_{both_ends|the_client}",
    "until_it_was_suspect_and_left_alone_ms",
    "silence_after_the_link_returned_ms",
    "key_updates",
    "packets_that_could_not_be_opened",
    "{fast|slow}_path_at_least_ms",
    "fast_path_at_most_ms",
    "slow_path_varies_by_ms",
    "later_than_alone_with_a_{short|long}_queue_ms",
    "{before_it_loses_packets|afterwards|afterwards_without_messages|largest_sum_of_windows}_kB",
    "refused_commands",
    "downloads_that_ended",
    "gaps",
    "gaps_that_are_not_what_was_discarded",
    "{frames_in_part|complete_frames|oldest_complete_frame_ms}",
    "ignored_commands",
    "ended",
    "share_of_the_budget",
    "share_of_the_budget_{with_loss|on_one_path}",
    "clean_path_over_lossy_path",
    "{losses|losses_without_a_rest}_packets",
    "unmet_bounds",
];

#[cfg(test)]
mod tests {
    use hawser_sim::{gauntlet, sets};

    use crate::experiments::lists;

    #[test]
    fn every_case_is_an_item() {
        let list = lists::find("seam").unwrap();
        for case in gauntlet::CASES.iter().chain(sets::CASES) {
            assert!(list.runs(case.name).is_some(), "{} is not run", case.name);
            assert!(list.items.iter().any(|item| item.id == case.name), "{} is not judged", case.name);
        }
    }
}
