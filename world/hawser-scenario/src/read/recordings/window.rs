//! A recording that begins somewhere within itself, and goes on from its beginning when it is over.

use hawser_link::Nanos;

/// The steps of a function of time that repeats after `period`, seen from `from` on.
pub(super) fn steps_from(steps: &[(Nanos, f64)], from: Nanos, period: Nanos) -> Vec<(Nanos, f64)> {
    let next = steps.partition_point(|step| step.0 <= from);
    let (before, after) = steps.split_at(next);
    // What holds at `from` began before it, or at the end of the repetition before.
    let held = before.last().or(steps.last()).map(|step| (0, step.1));
    let later = after.iter().map(|step| (step.0 - from, step.1));
    let again = before.iter().filter(|step| step.0 < from).map(|step| (step.0 + period - from, step.1));
    held.into_iter().chain(later).chain(again).collect()
}

/// The same of times `[from, to)` within the period: those that are cut in two are two.
pub(super) fn times_from(times: &[(Nanos, Nanos)], from: Nanos, period: Nanos) -> Vec<(Nanos, Nanos)> {
    let after = times.iter().filter(|time| time.1 > from);
    let after = after.map(|time| (time.0.max(from) - from, time.1 - from));
    let before = times.iter().filter(|time| time.0 < from);
    let before = before.map(|time| (time.0 + period - from, time.1.min(from) + period - from));
    after.chain(before).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: [(Nanos, f64); 3] = [(0, 1.0), (10, 2.0), (20, 3.0)];

    #[test]
    fn a_window_begins_with_what_holds_there_and_ends_before_it() {
        assert_eq!(steps_from(&STEPS, 0, 30), STEPS);
        assert_eq!(steps_from(&STEPS, 10, 30), [(0, 2.0), (10, 3.0), (20, 1.0)]);
        assert_eq!(steps_from(&STEPS, 15, 30), [(0, 2.0), (5, 3.0), (15, 1.0), (25, 2.0)]);
        assert_eq!(steps_from(&[], 15, 30), []);
    }

    #[test]
    fn each_moment_has_the_value_that_was_recorded() {
        let value =
            |steps: &[(Nanos, f64)], at| steps.iter().rev().find(|step| step.0 <= at).map(|step| step.1);
        for from in 0..30 {
            let window = steps_from(&STEPS, from, 30);
            for at in 0..30 {
                assert_eq!(value(&window, at), value(&STEPS, (from + at) % 30), "{from} {at}");
            }
        }
    }

    #[test]
    fn an_outage_at_the_edge_is_cut_in_two() {
        assert_eq!(times_from(&[(2, 5), (8, 10)], 0, 30), [(2, 5), (8, 10)]);
        assert_eq!(times_from(&[(2, 5), (8, 10)], 3, 30), [(0, 2), (5, 7), (29, 30)]);
        assert_eq!(times_from(&[(2, 5), (8, 10)], 6, 30), [(2, 4), (26, 29)]);
    }
}
