use hawser_policy::{Assignment, Commands, Decision, Scheduler, Selection, SendView};

use crate::arrival::arrivals;
use crate::choose::explore;

/// STMS, Slide Together Multipath Scheduler (Shi and others: USENIX ATC 2018).
///
/// The fast path takes the head of the queue. A slower path takes bytes so far ahead that the fast path has just
/// delivered everything before them when they arrive; if the queue is shorter than that, it idles. Bytes arrive in
/// order over unequal paths, and the receiver buffers little.
///
/// The authors correct the gap by acknowledgement feedback; here it is computed anew from the measured delays and
/// rates at every decision, and over any number of faster paths.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stms;

impl Stms {
    /// Its name in the registry.
    pub const NAME: &'static str = "stms";
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
        let (gap, unsent) = (arrivals.gap(path), view.queue.unsent);
        if gap >= unsent {
            return Decision::Wait(fast.next_release);
        }
        Decision::Send(Assignment {
            selection: Selection::Skip(gap),
            max_bytes: unsent - gap,
            ..Assignment::next(path.id)
        })
    }
}

#[cfg(test)]
mod tests;
