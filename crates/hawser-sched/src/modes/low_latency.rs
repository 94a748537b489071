//! Messages on two paths.

use hawser_policy::{Assignment, Commands, Decision, Event, PathView, Scheduler, Selection, SendView};

use crate::allowance::Allowance;
use crate::choose::{by_rtt, explored, mask};
use crate::{EarliestArrival, EarliestArrivalParameters};

/// The default scheduler, and a copy of what is a message: of all that is queued, if that is no more than a given length. The
/// copy goes on the fastest of the other paths that answer. Copies are paid from a budget; what is not used of it adds up to a
/// window.
#[derive(Debug)]
pub(super) struct LowLatency {
    inner: EarliestArrival,
    message: u64,
    budget: f64,
    allowance: Allowance,
}

impl LowLatency {
    pub(super) fn new(message: u64, budget: f64) -> Self {
        // The first message of a connection is copied as well.
        let allowance = if budget > 0.0 { Allowance::starting_with(message) } else { Allowance::default() };
        // What it copies of what is late has a limit of its own for needless copies, which those of messages would use up.
        let defaults = EarliestArrivalParameters::default();
        let needless = defaults.needless + budget;
        let inner = EarliestArrival::with_parameters(EarliestArrivalParameters { needless, ..defaults });
        LowLatency { inner, message, budget, allowance }
    }

    pub(super) fn schedule(&mut self, view: &SendView<'_>, commands: &mut Commands) -> Decision {
        self.allowance.credit(view, self.budget);
        let decision = self.inner.schedule(view, commands);
        match decision {
            Decision::Send(assignment) if self.is_message(view, &assignment) => {
                Decision::Send(self.with_copy(view, assignment))
            }
            other => other,
        }
    }

    fn is_message(&self, view: &SendView<'_>, assignment: &Assignment) -> bool {
        let streams = view.queue.unsent.saturating_add(view.queue.retransmit);
        let is_head = assignment.selection == Selection::Next && assignment.copies == Default::default();
        is_head && view.queue.datagrams == 0 && streams > 0 && streams <= self.message
    }

    fn with_copy(&mut self, view: &SendView<'_>, assignment: Assignment) -> Assignment {
        let answers = |path: &&PathView| path.id != assignment.path && !self.inner.is_avoided(path);
        let second = explored(view).filter(answers).min_by_key(|path| by_rtt(path));
        let (Some(second), Some(path)) = (second, view.path(assignment.path)) else { return assignment };
        let queued = view.queue.unsent.saturating_add(view.queue.retransmit);
        let bytes = assignment.max_bytes.min(queued).min(path.sendable());
        let bytes = self.allowance.whole_datagrams(path, bytes);
        if bytes == 0 {
            return assignment;
        }
        self.allowance.spend(bytes);
        let copies = mask(view, |other| other.id == second.id);
        Assignment { max_bytes: bytes, copies, ..assignment }
    }

    pub(super) fn on_event(&mut self, event: &Event<'_>, commands: &mut Commands) {
        self.inner.on_event(event, commands);
    }
}
