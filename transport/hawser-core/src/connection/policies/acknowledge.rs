//! When acknowledgements leave, and on which path.

use hawser_policy::{AckDecision, AckOpportunity, PathId, ReturnPath, Time};
use smallvec::SmallVec;

use super::Policies;
use crate::connection::paths::path::Path;
use crate::connection::paths::set::PathSet;

impl Policies {
    /// When an ack-eliciting packet is to be acknowledged.
    #[inline]
    pub(crate) fn decide_ack(&mut self, opportunity: &AckOpportunity) -> AckDecision {
        self.set.acks.decide(opportunity)
    }

    /// The peer lists no features of Hawser.
    pub(crate) fn on_foreign_peer(&mut self) {
        self.set.acks.on_foreign_peer();
    }

    /// The path on which acknowledgements leave that are due for the path at `at`; noted for
    /// [`acks_return_on`](Self::acks_return_on).
    pub(crate) fn choose_return_path(&mut self, now: Time, paths: &PathSet, at: usize) -> Option<PathId> {
        let path = paths.at(at)?;
        let acked = path.id;
        let is_usable = |path: &&Path| path.can_transmit() && !path.is_held_up;
        let usable = |id: PathId| paths.get(id).filter(is_usable).map(|path| path.id);
        let elsewhere = path.acks_leave_on.and_then(usable);
        // With one path there is nothing to choose, and on every packet that would cost.
        let choose = |policies: &mut Self| policies.wanted_return_path(now, paths, acked);
        let wanted = elsewhere.or_else(|| if paths.len() > 1 { choose(self) } else { None });
        let transmitting = || paths.iter().filter(|path| path.can_transmit());
        let any = || transmitting().min_by_key(|path| path.is_held_up).map(|path| path.id);
        let chosen = wanted.and_then(usable).or_else(|| usable(acked)).or_else(any);
        while self.ack_return_paths.len() < paths.len() {
            self.ack_return_paths.push(None);
        }
        self.ack_return_paths.truncate(paths.len());
        if let Some(entry) = self.ack_return_paths.get_mut(at) {
            *entry = chosen;
        }
        chosen
    }

    /// The path on which acknowledgements are to return: as commanded, if that is possible, or as the policy says.
    fn wanted_return_path(&mut self, now: Time, paths: &PathSet, acked: PathId) -> Option<PathId> {
        let commanded = self.ack_return_commands.iter().find(|(path, _)| *path == acked).map(|(_, on)| *on);
        if let Some(on) = commanded.filter(|on| paths.get(*on).is_some_and(Path::can_transmit)) {
            return Some(on);
        }
        let mut candidates = SmallVec::<[ReturnPath; 8]>::new();
        for candidate in paths.iter().filter_map(Path::as_return_path) {
            candidates.push(candidate);
        }
        self.set.acks.return_path(now, acked, &candidates)
    }

    /// Acknowledgements for `acked` leave on another path from now on, or where the policy says. Whether there are such
    /// paths.
    pub(super) fn command_return_path(&mut self, paths: &PathSet, acked: PathId, on: Option<PathId>) -> bool {
        // Those of paths that are gone go, so that there are never more than paths.
        self.ack_return_commands.retain(|(path, _)| *path != acked && paths.get(*path).is_some());
        let exists = paths.get(acked).is_some() && on.is_none_or(|id| paths.get(id).is_some());
        if let Some(on) = on.filter(|_| exists) {
            self.ack_return_commands.push((acked, on));
        }
        exists
    }

    /// The path on which acknowledgements for the path at this position were last found to return.
    #[inline]
    pub(crate) fn acks_return_on(&self, at: usize) -> Option<PathId> {
        self.ack_return_paths.get(at).copied().flatten()
    }
}
