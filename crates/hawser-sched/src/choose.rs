//! Path comparisons that several schedulers share. Ties go to the lower id, so that no decision depends on the
//! order in which the view lists the paths.

use std::time::Duration;

use hawser_policy::{PathId, PathView, SendView};

/// Datagrams in flight allowed on a path without a round-trip sample while others have one: enough to get a sample
/// and to survive the loss of one datagram, too little to hurt when the path turns out dead.
const EXPLORATION_DATAGRAMS: u64 = 2;

/// Order of preference by delay.
pub(crate) fn by_rtt(path: &PathView) -> (Duration, PathId) {
    (path.smoothed_rtt, path.id)
}

/// A path that has no round-trip sample yet and may send now to get one. When no path has a sample (the start of a
/// connection) there is nothing to compare, and the ordinary rule applies.
pub(crate) fn unexplored<'a>(view: &SendView<'a>) -> Option<&'a PathView> {
    if !view.preferred().any(|path| path.has_rtt_sample) {
        return None;
    }
    view.preferred()
        .filter(|path| !path.has_rtt_sample && path.sendable() > 0 && exploration_left(path) > 0)
        .min_by_key(|path| path.id)
}

/// Bytes that may still be risked on an unexplored path.
pub(crate) fn exploration_left(path: &PathView) -> u64 {
    (EXPLORATION_DATAGRAMS * u64::from(path.max_datagram_size)).saturating_sub(path.bytes_in_flight)
}

/// Preferred paths whose delay is known; all preferred ones while none is known.
pub(crate) fn explored<'a>(view: &SendView<'a>) -> impl Iterator<Item = &'a PathView> + use<'a> {
    let any_sample = view.preferred().any(|path| path.has_rtt_sample);
    view.preferred().filter(move |path| path.has_rtt_sample || !any_sample)
}

/// The explored path with the lowest round-trip time that can send now.
pub(crate) fn fastest_sendable<'a>(view: &SendView<'a>) -> Option<&'a PathView> {
    explored(view).filter(|path| path.sendable() > 0).min_by_key(|path| by_rtt(path))
}
