//! Messages on two paths.

use std::time::Duration;

use hawser_policy::{
    Assignment, Commands, Decision, Event, PathId, PathMask, PathView, Scheduler, Selection, SendView,
};

use crate::allowance::Allowance;
use crate::arrival::noise;
use crate::choose::{by_rtt, explore, explored, mask};
use crate::{EarliestArrival, EarliestArrivalParameters};

/// The default scheduler, and a copy of what is a message: of all that is queued, if that is no more than a given length. New data
/// goes first, where it would rather wait for a full path at once on another; the copy goes on the best of the others, which is one
/// that answers if there is any, in the room that is left. Paths of equal delay share what is new: each sends a part of it, and then a
/// copy of the other part, so that a message takes no longer than on one of them, and half as long if both deliver. Copies are paid
/// from a budget; what is not used of it adds up to a window.
#[derive(Debug)]
pub(super) struct LowLatency {
    inner: EarliestArrival,
    message: u64,
    budget: f64,
    allowance: Allowance,
    /// The paths as if no copies were queued; kept, so that no decision allocates.
    paths: Vec<PathView>,
}

impl LowLatency {
    pub(super) fn new(message: u64, budget: f64) -> Self {
        // The first message of a connection is copied as well.
        let allowance = if budget > 0.0 { Allowance::starting_with(message) } else { Allowance::default() };
        // What it copies of what is late has a limit of its own for needless copies, which those of messages would use up.
        let defaults = EarliestArrivalParameters::default();
        let needless = defaults.needless + budget;
        let inner = EarliestArrival::with_parameters(EarliestArrivalParameters { needless, ..defaults });
        LowLatency { inner, message, budget, allowance, paths: Vec::new() }
    }

    pub(super) fn schedule(&mut self, view: &SendView<'_>, commands: &mut Commands) -> Decision {
        self.allowance.settle(view, self.budget);
        if !is_message(view, self.message) {
            return self.inner.schedule(view, commands);
        }
        // What is new goes first, on all paths that have room; copies fill up what is left.
        self.paths.clear();
        self.paths.extend(view.paths.iter().map(|path| PathView { copies_queued: 0, ..path.clone() }));
        let decision = self.inner.schedule(&SendView { paths: &self.paths, ..*view }, commands);
        match decision {
            Decision::Send(assignment) => {
                let assignment = self.shared(view, assignment);
                Decision::Send(self.with_copy(view, assignment))
            }
            Decision::Wait(_) => {
                let ahead = || self.on_two_paths(view).map(Decision::Send);
                ahead().or_else(|| explore(view)).unwrap_or(decision)
            }
        }
    }

    /// Paths from the best one on.
    fn preference(&self, path: &PathView) -> (bool, (Duration, PathId)) {
        (self.inner.is_avoided(path), by_rtt(path))
    }

    /// The part that the emptier of two paths of equal delay takes, if there is another one besides that of the assignment.
    fn shared(&self, view: &SendView<'_>, assignment: Assignment) -> Assignment {
        let unsent = view.queue.unsent;
        let Some(path) = view.path(assignment.path) else { return assignment };
        if assignment.selection != Selection::Next || view.queue.retransmit > 0 {
            return assignment;
        }
        let twins = explored(view).filter(|other| other.id != path.id && other.sendable() > 0);
        let twins = twins.filter(|other| is_as_quick(path, other) && !self.inner.is_avoided(other));
        let Some(twin) = twins.min_by_key(|other| (other.bytes_in_flight, other.id)) else {
            return assignment;
        };
        let (emptier, fuller) =
            if twin.bytes_in_flight < path.bytes_in_flight { (twin, path) } else { (path, twin) };
        let ahead = fuller.bytes_in_flight - emptier.bytes_in_flight;
        let part = unsent.saturating_add(ahead).div_ceil(2).min(unsent);
        Assignment { path: emptier.id, max_bytes: assignment.max_bytes.min(part), ..assignment }
    }

    fn with_copy(&self, view: &SendView<'_>, assignment: Assignment) -> Assignment {
        let Some(path) = view.path(assignment.path) else { return assignment };
        let others = explored(view).filter(|other| other.id != path.id);
        let Some(second) = others.min_by_key(|path| self.preference(path)) else { return assignment };
        let queued = view.queue.unsent.saturating_add(view.queue.retransmit);
        let bytes = assignment.max_bytes.min(queued).min(path.sendable());
        let bytes = self.allowance.whole_datagrams(path, bytes);
        if bytes == 0 {
            return assignment;
        }
        let copies = mask(view, |other| other.id == second.id);
        Assignment { max_bytes: bytes, copies, ..assignment }
    }

    /// The best path is full: the message goes at once on the best of those that have room.
    fn on_two_paths(&self, view: &SendView<'_>) -> Option<Assignment> {
        let sendable = explored(view).filter(|path| path.sendable() > 0);
        let path = sendable.min_by_key(|path| self.preference(path))?;
        let assignment = self.with_copy(view, Assignment::next(path.id));
        (assignment.copies != PathMask::NONE).then_some(assignment)
    }

    pub(super) fn on_event(&mut self, event: &Event<'_>, commands: &mut Commands) {
        self.inner.on_event(event, commands);
    }
}

/// Whether the round-trip times of two paths differ by no more than the noise of their measurement.
fn is_as_quick(path: &PathView, other: &PathView) -> bool {
    path.smoothed_rtt.abs_diff(other.smoothed_rtt) <= noise(path).min(noise(other))
}

/// Whether what is queued is worth two paths.
fn is_message(view: &SendView<'_>, longest: u64) -> bool {
    let streams = view.queue.unsent.saturating_add(view.queue.retransmit);
    view.queue.datagrams == 0 && streams > 0 && streams <= longest
}
