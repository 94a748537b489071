//! Path comparisons that several schedulers share. Ties go to the lower id, so that no decision depends on the
//! order in which the view lists the paths.

use std::time::Duration;

use hawser_policy::{Assignment, Decision, PathId, PathMask, PathView, Selection, SendView};

/// Datagrams in flight allowed on a path without a round-trip sample while others have one: enough to get a sample
/// and to survive the loss of one datagram, too little to hurt when the path turns out dead.
const EXPLORATION_DATAGRAMS: u64 = 2;

/// Order of preference by delay.
pub(crate) fn by_rtt(path: &PathView) -> (Duration, PathId) {
    (path.smoothed_rtt, path.id)
}

/// What comes before any comparison of paths: a path without a round-trip sample gets two datagrams to take one, and
/// the fastest known path gets copies of them, so that trying an unknown path delays nobody (as multipath QUIC did from
/// the start: De Coninck 2017). At the start of a connection, when no path has a sample, there is nothing to compare and
/// the ordinary rule applies.
pub(crate) fn explore(view: &SendView<'_>) -> Option<Decision> {
    // The rule, and it is asked for every decision: nothing is copied, no path unknown.
    if view.paths.iter().all(|path| path.has_rtt_sample && path.copies_queued == 0) {
        return None;
    }
    if let Some(path) = view
        .preferred()
        .filter(|path| path.copies_queued > 0)
        .filter(can_send)
        .min_by_key(|path| by_rtt(path))
    {
        return Some(Decision::Send(
            Assignment::next(path.id).with(|assignment| assignment.selection = Selection::Copies),
        ));
    }
    let unknown = view
        .preferred()
        .filter(|path| !path.has_rtt_sample && exploration_left(path) > 0)
        .filter(can_send)
        .min_by_key(|path| path.id)?;
    let known = view.preferred().filter(|path| path.has_rtt_sample).min_by_key(|path| by_rtt(path))?;
    if view.queue.total() == 0 {
        return None;
    }
    Some(Decision::Send(Assignment::next(unknown.id).with(|assignment| {
        assignment.max_bytes = exploration_left(unknown);
        assignment.copies = mask(view, |path| path.id == known.id);
    })))
}

fn can_send(path: &&PathView) -> bool {
    path.sendable() > 0
}

/// The preferred paths that `select` picks, as positions in the view.
pub(crate) fn mask(view: &SendView<'_>, select: impl Fn(&PathView) -> bool) -> PathMask {
    positions(view, view.preferred().filter(|path| select(path)))
}

/// Paths of the view as positions in it.
pub(crate) fn positions<'a>(view: &SendView<'a>, paths: impl Iterator<Item = &'a PathView>) -> PathMask {
    paths
        .filter_map(|path| view.paths.iter().position(|other| other.id == path.id))
        .fold(PathMask::NONE, PathMask::with)
}

/// Bytes that may still be risked on an unexplored path.
fn exploration_left(path: &PathView) -> u64 {
    (EXPLORATION_DATAGRAMS * u64::from(path.max_datagram_size)).saturating_sub(path.bytes_in_flight)
}

/// Preferred paths whose delay is known; all preferred ones while none is known.
pub(crate) fn explored<'a>(view: &SendView<'a>) -> impl Iterator<Item = &'a PathView> + Clone + use<'a> {
    let preferred = view.preferred();
    let any_sample = preferred.clone().any(|path| path.has_rtt_sample);
    preferred.filter(move |path| path.has_rtt_sample || !any_sample)
}

/// The explored path with the lowest round-trip time that can send now.
pub(crate) fn fastest_sendable<'a>(view: &SendView<'a>) -> Option<&'a PathView> {
    explored(view).filter(|path| path.sendable() > 0).min_by_key(|path| by_rtt(path))
}

/// The fastest explored path, and the fastest that can send: where they differ, a scheduler may wait for the former. `None` if
/// none can send.
pub(crate) fn fastest_and_sendable<'a>(view: &SendView<'a>) -> Option<(&'a PathView, &'a PathView)> {
    let fast = explored(view).min_by_key(|path| by_rtt(path))?;
    let sendable = if fast.sendable() > 0 { fast } else { fastest_sendable(view)? };
    Some((fast, sendable))
}
