use hawser_policy::{
    Assignment, Commands, Decision, ParameterInfo, PolicyInfo, Scheduler, Selection, SendView,
};

use crate::arrival::arrivals;
use crate::choose::explore;

/// STMS, Slide Together Multipath Scheduler (Shi and others: USENIX ATC 2018).
///
/// The fast path takes the head of the queue. A slower path takes bytes so far ahead that the fast path has just
/// delivered everything before them when they arrive; if the queue is shorter than that, it idles. Bytes arrive in
/// order over unequal paths, and the receiver buffers little.
///
/// The authors correct the gap by acknowledgement feedback; here it is recomputed from the measured delays and
/// rates at every decision, and over any number of faster paths.
#[derive(Clone, Copy, Debug)]
pub struct Stms {
    gap_factor: f64,
}

impl Default for Stms {
    fn default() -> Self {
        Stms::with_gap_factor(1.0)
    }
}

impl Stms {
    /// Its name in the registry.
    pub const NAME: &'static str = "stms";

    /// Slower paths take bytes so many times the computed gap ahead, zero or more.
    pub fn with_gap_factor(gap_factor: f64) -> Self {
        Stms { gap_factor }
    }

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        PolicyInfo::new(Self::NAME, "later bytes on the slower path, so that all arrive in order")
            .source("Shi and others, USENIX ATC 2018")
            .parameter(
                ParameterInfo::number("gap_factor", 0.0..=10.0, 1.0)
                    .meaning("slower paths take bytes so many times the computed gap ahead")
                    .source("Shi 2018, section 3; there the gap is corrected by feedback"),
            )
    }
}

impl Scheduler for Stms {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn schedule(&mut self, view: &SendView<'_>, _commands: &mut Commands) -> Decision {
        if let Some(decision) = explore(view) {
            return decision;
        }
        let arrivals = arrivals(view, |_| true);
        let Some(fast) = arrivals.soonest() else { return Decision::Wait(None) };
        let Some(path) = arrivals.soonest_sendable() else { return Decision::Wait(fast.next_release) };
        if path.id == fast.id {
            return Decision::Send(Assignment::next(path.id));
        }
        // Any slower path has a larger gap still, so one answer settles it.
        let gap = (arrivals.gap(path) as f64 * self.gap_factor) as u64;
        let unsent = view.queue.unsent;
        if gap >= unsent {
            return Decision::Wait(fast.next_release);
        }
        Decision::Send(Assignment::next(path.id).with(|assignment| {
            assignment.selection = Selection::Skip(gap);
            assignment.max_bytes = unsent - gap;
        }))
    }
}

#[cfg(test)]
mod tests;
