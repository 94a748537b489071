//! Messages on two paths.

use std::time::Duration;

use hawser_policy::{Assignment, Commands, Decision, PathId, PathMask, PathView, Selection, SendView};

use super::{EarliestArrival, EarliestArrivalParameters};
use crate::allowance::Allowance;
use crate::arrival::noise;
use crate::choose::{by_rtt, explore, explored, mask};

/// Copies of messages, paid from a budget. What is not used of it adds up to a window.
#[derive(Clone, Debug, Default)]
pub(super) struct Messages {
    allowance: Allowance,
    /// Bytes sent, but for copies, when what is sent now began: before it nothing was queued for a moment.
    began: u64,
    /// A queue that is short is a message, however much was sent before it without a pause.
    always: bool,
    /// The paths as if no copies were queued; kept, so that no decision allocates.
    paths: Vec<PathView>,
}

impl Messages {
    pub(super) fn new(longest: u64, budget: f64) -> Self {
        // The first message of a connection is copied as well.
        let allowance = if budget > 0.0 { Allowance::starting_with(longest) } else { Allowance::default() };
        Messages { allowance, ..Messages::default() }
    }

    /// What leaves from now on is another message than what left before.
    fn begin(&mut self, view: &SendView<'_>) {
        self.began = sent(view);
    }
}

/// Bytes sent, but for copies.
fn sent(view: &SendView<'_>) -> u64 {
    let sent = view.paths.iter().fold(0, |sum: u64, path| sum.saturating_add(path.bytes_sent));
    sent.saturating_sub(view.segments.copied_bytes())
}

impl EarliestArrival {
    /// The same for an application that sends messages only, one after the other: what is queued is one if it is no longer than that.
    pub(crate) fn for_messages(message: u64, budget: f64) -> Self {
        let parameters =
            EarliestArrivalParameters { message, budget, ..EarliestArrivalParameters::default() };
        let mut scheduler = EarliestArrival::with_parameters(parameters);
        scheduler.messages.always = true;
        scheduler
    }

    /// Whether what is queued is worth two paths: with what left since the queue was empty it is no more than a message. So the end of a
    /// transfer is none, and neither is a small buffer that is refilled.
    pub(super) fn is_message(&mut self, view: &SendView<'_>) -> bool {
        let EarliestArrivalParameters { message, budget, .. } = self.parameters;
        let streams = view.queue.unsent.saturating_add(view.queue.retransmit);
        if streams == 0 || budget <= 0.0 || view.paths.len() < 2 {
            return false;
        }
        // What was lost belongs to what left before.
        if view.queue.unsent > 0 && self.end(view).is_none() && self.empty_since.is_some() {
            self.messages.begin(view);
        }
        if streams > message || view.queue.datagrams > 0 {
            return false;
        }
        self.messages.always
            || sent(view).saturating_sub(self.messages.began).saturating_add(view.queue.unsent) <= message
    }

    /// Places a message. New data goes first, where it would rather wait for a full path at once on another; the copy goes on the best
    /// of the others, which is one that answers if there is any, in the room that is left. Paths of equal delay share what is new: each
    /// sends a part of it, and then a copy of the other part, so that a message takes no longer than on one of them, and half as long
    /// if both deliver.
    #[inline(never)]
    pub(super) fn place_message(&mut self, view: &SendView<'_>, commands: &mut Commands) -> Decision {
        self.messages.allowance.settle(view, self.parameters.budget);
        if !self.messages.always && !self.is_worth_two_paths(view) {
            return self.place(view, commands);
        }
        // What is new goes first, on all paths that have room; copies fill up what is left.
        let mut paths = std::mem::take(&mut self.messages.paths);
        paths.clear();
        paths.extend(view.paths.iter().map(|path| path.clone().with(|path| path.copies_queued = 0)));
        let decision = self.place(&(*view).with(|view| view.paths = &paths), commands);
        self.messages.paths = paths;
        match decision {
            Decision::Send(assignment) => {
                let assignment = self.shared(view, assignment);
                Decision::Send(self.with_copy(view, assignment))
            }
            Decision::Wait(_) => {
                let ahead = self.on_two_paths(view).map(Decision::Send);
                ahead.or_else(|| explore(view)).unwrap_or(decision)
            }
        }
    }

    /// Whether there are two calm paths, and all of the message can be paid: it is as late as its last byte.
    fn is_worth_two_paths(&self, view: &SendView<'_>) -> bool {
        let queued = view.queue.unsent.saturating_add(view.queue.retransmit);
        self.messages.allowance.left() >= queued && explored(view).filter(|path| is_calm(path)).count() >= 2
    }

    /// Whether a copy on the second path is worth its bytes. What comes later than a rescue of what is late is worth nothing.
    fn is_worth_a_copy(&self, path: &PathView, second: &PathView) -> bool {
        let rescue = path.smoothed_rtt.saturating_mul(2).saturating_add(self.parameters.shortest_silence);
        self.messages.always || is_calm(second) && second.smoothed_rtt <= rescue
    }

    /// Paths from the best one on.
    fn preference(&self, path: &PathView) -> (bool, (Duration, PathId)) {
        (self.is_avoided(path), by_rtt(path))
    }

    /// The part that the emptier of two paths of equal delay takes, if there is another one besides that of the assignment.
    fn shared(&self, view: &SendView<'_>, assignment: Assignment) -> Assignment {
        let unsent = view.queue.unsent;
        let Some(path) = view.path(assignment.path) else { return assignment };
        if assignment.selection != Selection::Next || view.queue.retransmit > 0 {
            return assignment;
        }
        let twins = explored(view).filter(|other| other.id != path.id && other.sendable() > 0);
        let twins = twins.filter(|other| is_as_quick(path, other) && !self.is_avoided(other));
        let Some(twin) = twins.min_by_key(|other| (other.bytes_in_flight, other.id)) else {
            return assignment;
        };
        let (emptier, fuller) =
            if twin.bytes_in_flight < path.bytes_in_flight { (twin, path) } else { (path, twin) };
        let ahead = fuller.bytes_in_flight - emptier.bytes_in_flight;
        let part = unsent.saturating_add(ahead).div_ceil(2).min(unsent);
        assignment.with(|made| {
            made.path = emptier.id;
            made.max_bytes = assignment.max_bytes.min(part);
        })
    }

    fn with_copy(&mut self, view: &SendView<'_>, assignment: Assignment) -> Assignment {
        let Some(path) = view.path(assignment.path) else { return assignment };
        let others = explored(view).filter(|other| other.id != path.id && !self.costs.is_metered(other));
        let others = others.filter(|second| self.is_worth_a_copy(path, second));
        let Some(second) = others.min_by_key(|path| self.preference(path)) else { return assignment };
        let queued = view.queue.unsent.saturating_add(view.queue.retransmit);
        let bytes = assignment.max_bytes.min(queued).min(path.sendable());
        let bytes = self.messages.allowance.whole_datagrams(path, bytes);
        if bytes == 0 {
            return assignment;
        }
        let copies = mask(view, |other| other.id == second.id);
        self.budget.put_up_with(bytes);
        assignment.with(|assignment| {
            assignment.max_bytes = bytes;
            assignment.copies = copies;
        })
    }

    /// The best path is full: the message goes at once on the best of those that have room.
    fn on_two_paths(&mut self, view: &SendView<'_>) -> Option<Assignment> {
        let sendable = explored(view).filter(|path| path.sendable() > 0 && !self.costs.is_metered(path));
        let path = sendable.min_by_key(|path| self.preference(path))?;
        let assignment = self.with_copy(view, Assignment::next(path.id));
        (assignment.copies != PathMask::NONE).then_some(assignment)
    }
}

/// Whether a path's round trips are not far from its least. A copy on one that collapsed shows when it is back: what comes after would
/// follow, and meet its next collapse.
fn is_calm(path: &PathView) -> bool {
    !path.has_rtt_sample || path.smoothed_rtt <= path.min_rtt.saturating_mul(2)
}

/// Whether the round-trip times of two paths differ by no more than the noise of their measurement.
fn is_as_quick(path: &PathView, other: &PathView) -> bool {
    path.smoothed_rtt.abs_diff(other.smoothed_rtt) <= noise(path).min(noise(other))
}

#[cfg(test)]
mod tests;
