//! Whether and how strongly data is protected.

use hawser_policy::{BlockReport, Interests, PathId, Protection, ProtectionView, Reliability, Time};

use super::Policies;
use crate::connection::frames::SentStream;
use crate::connection::paths::set::PathSet;
use crate::connection::streams::Streams;

impl Policies {
    /// Whether the set has a protection policy.
    pub(crate) fn protects(&self) -> bool {
        self.set.protection.is_some()
    }

    /// Whether the scheduler places repair symbols for which the protection policy names no path.
    pub(crate) fn places_repair(&self) -> bool {
        self.scheduler_interests.contains(Interests::REPAIR)
    }

    /// How a block is protected that begins with this range, and when its data is given up.
    pub(crate) fn decide_protection(
        &mut self,
        now: Time,
        path: PathId,
        range: &SentStream,
        paths: &PathSet,
        streams: &Streams,
    ) -> (Option<Protection>, Option<Time>) {
        let Some(protection) = self.set.protection.as_mut() else { return (None, None) };
        paths.fill_views(now, &mut self.views);
        let paths = &self.views;
        let (mut answer, mut expires) = (None, None);
        streams.visit_sent(range, &mut |segment| {
            expires = segment.deadline.filter(|_| segment.reliability == Reliability::UntilDeadline);
            answer = protection.protect(&ProtectionView::new(now, path, paths, segment));
        });
        (answer, expires)
    }

    /// What became of a block.
    pub(crate) fn on_block(&mut self, report: &BlockReport) {
        if let Some(protection) = &mut self.set.protection {
            protection.on_block(report);
        }
    }
}
