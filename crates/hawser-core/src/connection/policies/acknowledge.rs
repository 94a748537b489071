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
        self.set.acknowledgements.decide(opportunity)
    }

    /// The path on which acknowledgements leave that are due for the path at `at`; noted for
    /// [`acks_return_on`](Self::acks_return_on).
    pub(crate) fn choose_return_path(&mut self, now: Time, paths: &PathSet, at: usize) -> Option<PathId> {
        let acked = paths.at(at)?.id;
        let mut chosen = None;
        // With one path there is nothing to choose, and on every packet that would cost.
        if paths.len() > 1 {
            let mut candidates = SmallVec::<[ReturnPath; 8]>::new();
            candidates.extend(paths.iter().filter_map(Path::as_return_path));
            let answer = self.set.acknowledgements.return_path(now, acked, &candidates);
            let usable = answer.and_then(|id| paths.get(id)).filter(|path| path.can_transmit());
            chosen = usable.map(|path| path.id);
        }
        let own = || paths.get(acked).filter(|path| path.can_transmit());
        let any = || paths.iter().find(|path| path.can_transmit());
        chosen = chosen.or_else(|| own().or_else(any).map(|path| path.id));
        self.ack_return_paths.resize(paths.len(), None);
        if let Some(entry) = self.ack_return_paths.get_mut(at) {
            *entry = chosen;
        }
        chosen
    }

    /// The path on which acknowledgements for the path at this position were last found to return.
    #[inline]
    pub(crate) fn acks_return_on(&self, at: usize) -> Option<PathId> {
        self.ack_return_paths.get(at).copied().flatten()
    }
}
