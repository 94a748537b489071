//! When bytes arrive: the reasoning shared by the schedulers that send later bytes over slower paths.

use std::time::Duration;

use hawser_policy::{PathId, PathView, Rate, SendView};

use crate::choose::explored;

/// The paths of one view, compared by the time at which a byte sent now arrives.
pub(crate) struct Arrivals<P> {
    /// Whether every path reports a one-way delay; a mixture could not be compared.
    one_way: bool,
    /// Those that are relied on.
    paths: P,
}

/// Compares the paths of which `trusted` holds.
pub(crate) fn arrivals<'a>(
    view: &SendView<'a>,
    trusted: impl Fn(&PathView) -> bool + Copy,
) -> Arrivals<impl Iterator<Item = &'a PathView> + Clone> {
    let explored = explored(view);
    let one_way = explored.clone().all(|path| path.one_way_delay.is_some());
    Arrivals { one_way, paths: explored.filter(move |path| trusted(path)) }
}

impl<'a, P> Arrivals<P>
where
    P: Iterator<Item = &'a PathView> + Clone,
{
    /// Delay for comparison with other paths only.
    ///
    /// One-way delays share the unknown clock offset, so their difference is exact. Without them the round-trip times
    /// must do. Their whole difference is taken, not half: acknowledgements usually return on the fastest path, so that
    /// each round trip contains its path's forward delay and the same way back. Where they return on their own path,
    /// this errs on the side of sending too late a byte, which costs the receiver memory; the opposite error would
    /// cost every reader time.
    fn delay(&self, path: &PathView) -> Duration {
        match path.one_way_delay {
            Some(delay) if self.one_way => delay,
            _ => path.smoothed_rtt,
        }
    }

    fn order(&self, path: &PathView) -> (Duration, PathId) {
        (self.delay(path), path.id)
    }

    /// How much later a byte sent on `slow` arrives than one sent on `fast` at the same time.
    pub(crate) fn lag(&self, slow: &PathView, fast: &PathView) -> Duration {
        self.delay(slow).saturating_sub(self.delay(fast))
    }

    /// The path that delivers soonest, whether it can send now or not.
    pub(crate) fn soonest(&self) -> Option<&'a PathView> {
        self.paths.clone().min_by_key(|path| self.order(path))
    }

    /// The path that delivers soonest among those that can send now.
    pub(crate) fn soonest_sendable(&self) -> Option<&'a PathView> {
        self.paths.clone().filter(|path| path.sendable() > 0).min_by_key(|path| self.order(path))
    }

    /// The gap of STMS, for any number of paths: bytes that the faster paths deliver before a byte sent on `path` now
    /// arrives. What lies within the gap arrives sooner if it is left to them.
    ///
    /// A lag within the noise of the measurement is none: paths of equal delay share the head of the queue, which cuts
    /// it into fewer pieces.
    pub(crate) fn gap(&self, path: &PathView) -> u64 {
        self.paths
            .clone()
            .filter(|fast| fast.id != path.id)
            .map(|fast| (fast, self.lag(path, fast)))
            .filter(|(fast, lag)| *lag > noise(fast) && *lag > noise(path))
            .map(|(fast, lag)| paced_rate(fast).bytes_in(lag))
            .fold(0, u64::saturating_add)
    }
}

/// What a path that uses its window carries, and its pacer lets out: a controller by rate has a window of twice that, for
/// acknowledgements that come late.
pub(crate) fn paced_rate(path: &PathView) -> Rate {
    Rate::from_bytes_over(path.congestion_window, path.smoothed_rtt).min(path.pacing_rate)
}

/// The same in a round trip: the window that is used. Who counts on all of a window leaves to a path what it delivers a round trip later.
pub(crate) fn paced_window(path: &PathView) -> u64 {
    path.congestion_window.min(path.pacing_rate.bytes_in(path.smoothed_rtt))
}

/// What is free of it.
pub(crate) fn paced_window_left(path: &PathView) -> u64 {
    paced_window(path).saturating_sub(path.bytes_in_flight)
}

/// Differences of delay below this mean nothing.
pub(crate) fn noise(path: &PathView) -> Duration {
    path.rtt_variance.max(path.smoothed_rtt / 8)
}
