//! Whether and how strongly data is protected.

use hawser_policy::{BlockReport, Interests, PathId, Protection, ProtectionView, Time};

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

    /// How a block is protected that begins with this range.
    pub(crate) fn decide_protection(
        &mut self,
        now: Time,
        path: PathId,
        range: &SentStream,
        paths: &PathSet,
        streams: &Streams,
    ) -> Option<Protection> {
        let protection = self.set.protection.as_mut()?;
        paths.fill_views(now, &mut self.views);
        let paths = &self.views;
        let mut answer = None;
        streams.visit_sent(range, &mut |segment| {
            answer = protection.protect(&ProtectionView { now, path, paths, segment });
        });
        answer
    }

    /// What became of a block.
    pub(crate) fn on_block(&mut self, report: &BlockReport) {
        if let Some(protection) = &mut self.set.protection {
            protection.on_block(report);
        }
    }
}
