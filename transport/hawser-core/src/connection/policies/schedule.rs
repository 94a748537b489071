//! Which data goes where next, and why sending stopped.

use hawser_policy::{
    Assignment, Decision, Interests, LimitedBy, PathMask, QueueView, Selection, SendView, Time,
};

use super::wait::Wait;
use super::waiting::Waiting;
use super::{Policies, Targets};
use crate::connection::datagrams::DatagramQueue;
use crate::connection::paths::life_cycle::LifeCycle;
use crate::connection::paths::path::Path;
use crate::connection::paths::set::PathSet;
use crate::connection::streams::Streams;

/// What waits to be sent, as schedulers see it.
pub(crate) fn queue_view(streams: &Streams, datagrams: &DatagramQueue) -> QueueView {
    streams.queue().with(|queue| {
        queue.datagrams = datagrams.queued_for_any();
        queue.datagram_count = datagrams.count_for_any();
    })
}

/// Whether there is anything in it.
#[inline]
pub(crate) fn has_waiting(streams: &Streams, datagrams: &DatagramQueue) -> bool {
    streams.has_queued() || datagrams.has_for_any()
}

/// Whether data waits that a pacer may hold back.
#[inline]
pub(crate) fn has_queued(paths: &PathSet, streams: &Streams, datagrams: &DatagramQueue) -> bool {
    has_waiting(streams, datagrams) || has_copies(paths)
}

/// Whether ranges wait that another path carries too.
fn has_copies(paths: &PathSet) -> bool {
    paths.iter().any(|path| !path.copies.is_empty())
}

/// Whether an acknowledgement is outstanding on any path, so that a timer runs there.
fn is_outstanding(paths: &PathSet) -> bool {
    paths.iter().any(|path| path.life().can_send() && path.recovery.outstanding_since().is_some())
}

impl Policies {
    /// Asks the scheduler where data goes, if there is something to ask about; the answer is clamped to what the path
    /// allows.
    pub(crate) fn next_assignment(&mut self, targets: &mut Targets<'_>) -> Option<Assignment> {
        if self.pending_assignment.is_some() {
            return self.pending_assignment.take();
        }
        if self.wait.is_waiting() {
            return None;
        }
        let repair = if self.places_repair() { targets.repair.unplaced() } else { 0 };
        let is_queued = repair > 0 || has_queued(targets.paths, targets.streams, targets.datagrams);
        if !is_queued && !self.is_asked_when_idle(targets) {
            return None;
        }
        let now = targets.now;
        if !targets.paths.iter().any(|path| path.can_send_data(now)) {
            return None;
        }
        let queue = queue_view(targets.streams, targets.datagrams).with(|queue| queue.repair = repair);
        let mut decision = self.ask(queue, targets);
        if !self.commands.is_empty() {
            self.apply_commands(targets);
            // What it has just ordered to be copied would wait as well.
            if matches!(decision, Decision::Wait(_)) && has_copies(targets.paths) {
                decision = self.ask(queue, targets);
                self.apply_commands(targets);
            }
        }
        let named = match decision {
            Decision::Send(assignment) if self.is_sendable(&assignment) => {
                return Some(
                    assignment
                        .with(|made| made.copies = self.set_positions(assignment.copies, targets.paths)),
                );
            }
            Decision::Send(_) => None,
            Decision::Wait(until) => until,
        };
        let patience = targets.paths.largest_probe_timeout();
        self.wait = Wait::asked(now, named, patience);
        None
    }

    fn ask(&mut self, queue: QueueView, targets: &mut Targets<'_>) -> Decision {
        let now = targets.now;
        targets.paths.fill_views(now, &mut self.views);
        let waiting = Waiting::new(targets);
        let view = SendView::new(now, &self.views, queue, &waiting);
        self.set.scheduler.schedule(&view, &mut self.commands)
    }

    /// Keeps an assignment while something more urgent is sent.
    pub(crate) fn keep(&mut self, assignment: Option<Assignment>) {
        self.pending_assignment = assignment;
    }

    fn is_asked_when_idle(&self, targets: &Targets<'_>) -> bool {
        self.scheduler_interests.contains(Interests::IDLE)
            && targets.streams.has_unacked()
            && is_outstanding(targets.paths)
    }

    fn is_sendable(&self, assignment: &Assignment) -> bool {
        self.views.iter().any(|view| view.id == assignment.path && view.sendable() > 0)
    }

    /// Positions in the view, which has no abandoned paths, as positions in the set of open ones.
    fn set_positions(&self, mask: PathMask, paths: &PathSet) -> PathMask {
        if mask == PathMask::NONE {
            return mask;
        }
        let chosen = self.views.iter().enumerate().filter(|(at, _)| mask.contains(*at));
        let positions = chosen.filter_map(|(_, view)| paths.position(view.id));
        positions.fold(PathMask::NONE, PathMask::with)
    }

    /// Nothing of an assignment could be written. Copies that were acknowledged meanwhile are gone from their queue now, so
    /// that the scheduler can be asked at once; a selection beyond the queue is taken as its head; anything else has to
    /// wait, or the same answer would come again and again.
    pub(crate) fn on_unwritten(&mut self, assignment: &Assignment, targets: &Targets<'_>) {
        let is_queued = has_waiting(targets.streams, targets.datagrams);
        match assignment.selection {
            Selection::Copies if is_queued || has_copies(targets.paths) => {}
            Selection::Skip(_)
            | Selection::Unsent(_)
            | Selection::Range { .. }
            | Selection::Datagrams
            | Selection::Repair
                if is_queued =>
            {
                let head = (*assignment).with(|assignment| assignment.selection = Selection::Next);
                self.pending_assignment = Some(head);
            }
            _ => {
                let until = targets.now + targets.paths.largest_probe_timeout();
                self.wait = Wait::Unwritable { until };
            }
        }
    }

    /// Nothing more is sent now: each path learns why.
    pub(crate) fn on_stopped(&self, targets: Targets<'_>) {
        let is_empty = !has_waiting(targets.streams, targets.datagrams);
        let flow_controlled = is_empty && targets.streams.is_held_by_flow_control();
        for path in targets.paths.iter_mut().filter(|path| path.life() == LifeCycle::Active) {
            let reason = match (is_empty && path.copies.is_empty(), flow_controlled) {
                (false, _) => why_stopped(path, targets.now),
                (true, true) => LimitedBy::FlowControl,
                (true, false) => LimitedBy::Application,
            };
            path.recovery.on_stopped(reason);
        }
    }
}

/// Why a path sends nothing although data is queued.
fn why_stopped(path: &Path, now: Time) -> LimitedBy {
    let datagram = u64::from(path.recovery.max_datagram_size());
    if path.recovery.window_left() < datagram {
        LimitedBy::CongestionWindow
    } else if (path.amplification_room() as u64) < datagram {
        LimitedBy::Amplification
    } else if path.recovery.pacing_budget(now) < datagram {
        LimitedBy::Pacing
    } else {
        LimitedBy::Scheduler
    }
}
