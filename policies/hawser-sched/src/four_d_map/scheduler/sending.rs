//! What each path gets, and what leaves next.

use hawser_policy::{Assignment, Decision, PathId, PathView, Selection, SendView};
use smallvec::SmallVec;

use super::super::dispatch::{FourDMapPath, four_d_map_shares};
use super::super::features::MAX_PATHS;
use super::FourDMapScheduler;
use crate::choose::{by_rtt, fastest_sendable, positions};
use crate::placement::datagram;

impl FourDMapScheduler {
    /// Gives bytes to paths: frames with copies to the path that loses least, then all others by Dispatch.
    pub(super) fn allocate(&mut self, view: &SendView<'_>) {
        if self.buffers.unassigned() == 0 {
            return;
        }
        if self.buffers.has_copied() {
            self.allocate_copied(view);
        }
        self.dispatched.clear();
        for at in 0..self.usable.len() {
            let path = &view.paths[self.usable[at]];
            let window = if self.is_stalled(path.id) { 0 } else { path.congestion_window };
            let held = self.buffers.of(path.id).map_or(0, |buffer| buffer.bytes());
            let outstanding = path.bytes_in_flight.saturating_add(held);
            self.dispatched.push(FourDMapPath { rtt: path.smoothed_rtt, window, outstanding });
        }
        let mut left = self.buffers.unassigned();
        four_d_map_shares(&self.dispatched, left, self.parameters.cap, &mut self.shares);
        for at in 0..self.usable.len() {
            let path = &view.paths[self.usable[at]];
            let share = self.shares[at];
            // Less than a datagram waits until there is room for one.
            if share == left || share >= datagram(path) {
                self.buffers.assign(view.now, path.id, share);
                left -= share;
            }
        }
    }

    /// Gives bytes of which others get copies to the path that loses least of those with room in their windows, as long as one
    /// has some. What is left is Dispatch's: it would wait for a path that loses little because it carries little.
    fn allocate_copied(&mut self, view: &SendView<'_>) {
        self.measure_loss(view);
        let mut order: SmallVec<[&PathView; MAX_PATHS]> =
            self.usable.iter().map(|at| &view.paths[*at]).collect();
        order.sort_by(|one, other| {
            let loss = |path: &PathView| self.paths.loss_rate(path.id);
            loss(one).total_cmp(&loss(other)).then(by_rtt(one).cmp(&by_rtt(other)))
        });
        for path in order {
            if self.is_stalled(path.id) {
                continue;
            }
            let held = self.buffers.of(path.id).map_or(0, |buffer| buffer.bytes());
            let room = path.window_left().saturating_sub(held);
            if room >= datagram(path) {
                self.buffers.assign_copied(view.now, path.id, room);
            }
        }
    }

    fn is_stalled(&self, id: PathId) -> bool {
        self.buffers.of(id).is_some_and(|buffer| buffer.is_stalled)
    }

    /// The first bytes of the fastest path that has some and can send them.
    pub(super) fn send(&self, view: &SendView<'_>) -> Option<Decision> {
        for path in self.usable.iter().map(|at| &view.paths[*at]).filter(|path| path.sendable() > 0) {
            let Some(piece) = self.buffers.of(path.id).and_then(|buffer| buffer.first()) else { continue };
            let mut assignment = Assignment::next(path.id).with(|assignment| {
                assignment.selection = Selection::Range {
                    stream: piece.stream,
                    start: piece.range.start,
                    // The last packet is filled up with what follows.
                    end: self.buffers.filled_up(piece),
                };
                assignment.max_bytes = piece.range.end - piece.range.start;
            });
            if piece.is_copied {
                self.add_copies(view, path, &mut assignment);
            }
            return Some(Decision::Send(assignment));
        }
        None
    }

    /// Copies for every other path that has room for a packet, and no more bytes at a time than all of these have room for.
    fn add_copies(&self, view: &SendView<'_>, primary: &PathView, assignment: &mut Assignment) {
        let room = |path: &PathView| path.window_left().saturating_sub(path.copies_queued);
        let others = || {
            let usable = self.usable.iter().map(|at| &view.paths[*at]);
            usable.filter(|path| path.id != primary.id && room(path) >= datagram(path))
        };
        assignment.copies = positions(view, others());
        if let Some(least) = others().map(room).min() {
            assignment.max_bytes = assignment.max_bytes.min(least);
        }
    }

    /// While there is no plan: the head of the queue on the fastest path.
    pub(super) fn from_head(view: &SendView<'_>) -> Decision {
        fastest_sendable(view).map_or(Decision::Wait(None), |path| Decision::Send(Assignment::next(path.id)))
    }
}
