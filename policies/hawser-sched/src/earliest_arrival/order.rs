//! The paths, compared by when they deliver.

use std::time::Duration;

use hawser_policy::{PathId, PathMask, PathState, PathStatus, PathView, SendView};

use super::progress::Watch;
use crate::arrival::{noise, paced_rate};
use crate::choose::{explored, positions};

/// The paths that are relied on, compared by when they deliver. Delays are not computed ahead: most decisions only ask
/// which one is first.
pub(super) struct Order<'v, 'a> {
    paths: &'a [PathView],
    relied: Relied,
    /// The progress of the paths, if one is degraded.
    watch: Option<&'v Watch>,
    /// Whether paths that are to be avoided are left out.
    avoids: bool,
    /// Whether every path reports a one-way delay; a mixture could not be compared.
    one_way: bool,
}

/// On which paths.
enum Relied {
    /// All of them: as a rule there is no backup, none to be explored, none about to go.
    All,
    /// On these positions.
    Some(PathMask),
}

/// A path that is relied on.
#[derive(Clone, Copy)]
pub(super) struct Candidate<'a> {
    pub(super) path: &'a PathView,
    /// For comparison with other paths only.
    ///
    /// One-way delays share the unknown clock offset, so their difference is exact. Without them the round-trip times
    /// must do, and their whole difference is taken, not half: acknowledgements usually return on the fastest path, so
    /// that each round trip contains its path's forward delay and the same way back. A path whose oldest packet is
    /// late has a longer delay than its round trips told.
    pub(super) delay: Duration,
}

impl Candidate<'_> {
    #[inline]
    fn is_before(self, other: Option<Candidate<'_>>) -> bool {
        other.is_none_or(|other| (self.delay, self.path.id) < (other.delay, other.path.id))
    }
}

impl<'v, 'a> Order<'v, 'a> {
    pub(super) fn new(view: &SendView<'a>, watch: &'v Watch, amiss: bool) -> Self {
        let is_plain = |path: &PathView| {
            path.state == PathState::Active && path.status == PathStatus::Available && path.has_rtt_sample
        };
        let (relied, one_way) = if view.paths.iter().all(is_plain) {
            (Relied::All, view.paths.iter().all(|path| path.one_way_delay.is_some()))
        } else {
            let one_way = explored(view).all(|path| path.one_way_delay.is_some());
            (Relied::Some(positions(view, explored(view))), one_way)
        };
        // When every path is silent, none is worse than the others.
        let avoids = amiss && !view.preferred().all(|path| watch.is_avoided(path));
        Order { paths: view.paths, relied, watch: amiss.then_some(watch), avoids, one_way }
    }

    #[inline]
    fn candidates(&self) -> impl Iterator<Item = Candidate<'a>> + use<'_, 'v, 'a> {
        let relied = self.paths.iter().enumerate().filter(|(at, _)| match self.relied {
            Relied::All => true,
            Relied::Some(positions) => positions.contains(*at),
        });
        relied.filter_map(|(_, path)| {
            let delay = path.one_way_delay.filter(|_| self.one_way).unwrap_or(path.smoothed_rtt);
            let Some(watch) = self.watch else { return Some(Candidate { path, delay }) };
            let delay = delay.saturating_add(watch.lateness(path));
            (!self.avoids || !watch.is_avoided(path)).then_some(Candidate { path, delay })
        })
    }

    /// The one that delivers soonest, whether it can send now or not; and of those that can.
    #[inline]
    pub(super) fn soonest(&self) -> (Option<Candidate<'a>>, Option<Candidate<'a>>) {
        let (mut soonest, mut sendable) = (None, None);
        for candidate in self.candidates() {
            if candidate.is_before(soonest) {
                soonest = Some(candidate);
            }
            if candidate.path.sendable() > 0 && candidate.is_before(sendable) {
                sendable = Some(candidate);
            }
        }
        (soonest, sendable)
    }

    /// The one that can send now and delivers soonest but for one path.
    pub(super) fn soonest_sendable_beside(&self, path: PathId) -> Option<Candidate<'a>> {
        let others = self.candidates().filter(|other| other.path.id != path && other.path.sendable() > 0);
        others.min_by_key(|candidate| (candidate.delay, candidate.path.id))
    }

    /// The gap of STMS, for any number of paths: bytes that the faster paths deliver before a byte sent on `slow` now
    /// arrives. What lies within the gap arrives sooner if it is left to them.
    ///
    /// A lag within the noise of the measurement is none: paths of equal delay share the head of the queue, which cuts
    /// it into fewer pieces.
    pub(super) fn gap(&self, slow: Candidate<'_>) -> u64 {
        let mut gap = 0_u64;
        for fast in self.candidates().filter(|fast| fast.delay < slow.delay) {
            let lag = slow.delay - fast.delay;
            if lag > noise(fast.path) && lag > noise(slow.path) {
                gap = gap.saturating_add(paced_rate(fast.path).bytes_in(lag));
            }
        }
        gap
    }
}
