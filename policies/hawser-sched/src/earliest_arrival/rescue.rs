//! Copies: of what is late on one path to another, and of messages so small that a copy costs nothing.

use std::time::Duration;

use hawser_policy::{Command, Commands, PathId, PathView, Rate, SendView, Time};

use super::EarliestArrival;
use super::placement::delivered_before;
use super::progress::{Alarm, Pace, Progress};
use crate::arrival::paced_rate;

/// Needless copies that are put up with at the start of a connection, and with each second of it: an answer of 64 kB, and
/// two small messages.
const INITIAL_BUDGET: u64 = 64_000;
const BUDGET_PER_SECOND: u64 = 2_000;

/// What is only probably late is copied while more than this is left: an outage will need it.
const RESERVE: u64 = INITIAL_BUDGET / 2;

/// What became of copies that were ordered so long ago is known.
const OUTCOME: Duration = Duration::from_millis(250);

/// A path spends all of its rate on copies for another, or while data is queued one half of it, after a first burst of
/// datagrams.
const COPY_SHARE: u32 = 2;
const FIRST_BURST: u64 = 8;

/// While data is queued, a path that answers is rescued only when it is later than usual by this, and by the delay of
/// the path that would take over: what is in the queue arrives in the meantime.
const BUSY_LATENESS: Duration = Duration::from_millis(250);

/// What copies may cost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Budget {
    started: Option<Time>,
    /// Copies ordered since a moment at most [`OUTCOME`] ago.
    recent: u64,
    recent_since: Time,
    /// Copies of messages that were ordered: needless ones among them are no fault of what is late.
    messages: u64,
}

impl Budget {
    /// Bytes that may be copied now. Of copies whose outcome is unknown one half counts as needless.
    pub(super) fn left(&mut self, view: &SendView<'_>, share: f64) -> u64 {
        let started = *self.started.get_or_insert(view.now);
        if view.now.since(self.recent_since) >= OUTCOME {
            (self.recent, self.recent_since) = (0, view.now);
        }
        let acked = view.paths.iter().fold(0u64, |sum, path| sum.saturating_add(path.bytes_acked));
        let age = BUDGET_PER_SECOND as f64 * view.now.since(started).as_secs_f64();
        let allowed = INITIAL_BUDGET.saturating_add((acked as f64 * share + age) as u64);
        let allowed = allowed.saturating_add(self.messages);
        allowed.saturating_sub(view.segments.needless_copies().saturating_add(self.recent / 2))
    }

    /// Copies of messages, which have a budget of their own.
    pub(super) fn put_up_with(&mut self, bytes: u64) {
        self.messages = self.messages.saturating_add(bytes);
    }

    pub(super) fn spend(&mut self, bytes: u64) {
        self.recent = self.recent.saturating_add(bytes);
    }
}

/// A path that is slower than another by this factor does not deliver enough itself to be spared the rest.
const MUCH_SLOWER: u64 = 4;

/// What is to be copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wanted {
    /// So many bytes since the alarm began.
    bytes: u64,
    /// The newest ones, rather than the oldest.
    newest: bool,
    /// Because they are late, rather than slow.
    is_urgent: bool,
}

/// An application that refills its send buffer does so within this time.
pub(super) fn refill_time(fast: &PathView) -> Duration {
    (fast.smoothed_rtt / 4).max(Duration::from_millis(2))
}

impl EarliestArrival {
    /// Orders copies of what is late, where another path would deliver it sooner.
    #[inline(never)]
    pub(super) fn rescue(&mut self, view: &SendView<'_>, commands: &mut Commands) {
        // Until copies that wait have left, the next order, for another path, would be for the same packets.
        if view.paths.iter().any(|path| path.copies_queued > 0 && !self.watch.is_avoided(path)) {
            return;
        }
        let mut last = None;
        while let Some(from) = next_in_flight(view, last) {
            last = Some(from.id);
            let Some(to) = self.rescuer(view, from) else { continue };
            let Some(progress) = self.watch.of_mut(from.id) else { continue };
            let alarm = progress.alarm().unwrap_or(Alarm { since: view.now, ordered: 0 });
            let elapsed = view.now.since(alarm.since);
            let wanted = match self.empty_since {
                Some(since) => {
                    let is_over = view.now.since(since) >= refill_time(to);
                    wanted_at_the_end(progress, from, to, view.now, elapsed)
                        .filter(|wanted| is_over || wanted.is_urgent)
                }
                None => wanted_amid_work(progress, to, elapsed),
            };
            let Some(wanted) = wanted else {
                progress.set_alarm(None);
                continue;
            };
            progress.set_alarm(Some(alarm));
            self.order(view, from, to, wanted, commands);
        }
    }

    /// The path to take over from another: the one that delivers soonest of those that answer. While that has no room another one
    /// takes what the first would not deliver before it.
    fn rescuer<'a>(&self, view: &SendView<'a>, from: &PathView) -> Option<&'a PathView> {
        let delay = |path: &PathView| path.smoothed_rtt.saturating_add(self.watch.lateness(path));
        let answering = view
            .preferred()
            .filter(|path| path.id != from.id && path.has_rtt_sample && !self.watch.is_avoided(path));
        let best = answering.clone().min_by_key(|path| (delay(path), path.id))?;
        let meanwhile = |path: &PathView| delivered_before(best, delay(path).saturating_sub(delay(best)));
        answering
            .filter(|path| path.copies_queued == 0 && path.sendable() > 0)
            .filter(|path| path.id == best.id || from.bytes_in_flight > meanwhile(path))
            .min_by_key(|path| (delay(path), path.id))
    }

    fn order(
        &mut self,
        view: &SendView<'_>,
        from: &PathView,
        to: &PathView,
        wanted: Wanted,
        commands: &mut Commands,
    ) {
        let left = self.budget.left(view, self.parameters.needless);
        let Some(progress) = self.watch.of_mut(from.id) else { return };
        let Some(alarm) = progress.alarm() else { return };
        if left < RESERVE && progress.is_doubtful(from, view.now) {
            return;
        }
        // What is in flight may be copied once.
        let bytes = wanted.bytes.min(from.bytes_in_flight).saturating_sub(alarm.ordered);
        let bytes = bytes.min(left).min(to.sendable());
        if bytes < u64::from(to.max_datagram_size).min(from.bytes_in_flight).max(1) {
            return;
        }
        progress.set_alarm(Some(Alarm { ordered: alarm.ordered.saturating_add(bytes), ..alarm }));
        self.budget.spend(bytes);
        commands.push(match wanted.newest {
            true => Command::ReinjectNewest { from: from.id, to: to.id, max_bytes: bytes },
            false => Command::Reinject { from: from.id, to: to.id, max_bytes: bytes },
        });
    }
}

/// The path with the next higher id that has something in flight. By id, since an alarm of one path decides whether it may take over
/// from the next: the order in which the view lists the paths must not.
fn next_in_flight<'a>(view: &SendView<'a>, last: Option<PathId>) -> Option<&'a PathView> {
    let is_next = |path: &&PathView| path.bytes_in_flight > 0 && last.is_none_or(|last| path.id > last);
    view.preferred().filter(is_next).min_by_key(|path| path.id)
}

/// A first burst, and then what the path carries in this time.
fn burst_and(to: &PathView, time: Duration) -> u64 {
    (FIRST_BURST * u64::from(to.max_datagram_size)).saturating_add(paced_rate(to).bytes_in(time))
}

/// Nothing is queued any more. What is about to be acknowledged is waited for: the copy would come no sooner.
fn wanted_at_the_end(
    progress: &Progress,
    from: &PathView,
    to: &PathView,
    now: Time,
    elapsed: Duration,
) -> Option<Wanted> {
    let oldest = |bytes, is_urgent| Some(Wanted { bytes, newest: false, is_urgent });
    let patience = to.smoothed_rtt.saturating_mul(if to.bytes_in_flight == 0 { 1 } else { 2 });
    let is_late = progress.lateness() > Duration::ZERO;
    match progress.pace(from, now) {
        Pace::Quiet => oldest(u64::MAX, true),
        _ if progress.is_silent() => oldest(u64::MAX, true),
        _ if progress.time_left(from, now) > patience => oldest(u64::MAX, false),
        Pace::Hole => oldest(burst_and(to, elapsed), true),
        Pace::Steady(rate) => {
            let bytes = shared(from.bytes_in_flight, rate, to);
            if bytes <= u64::from(to.max_datagram_size) {
                return None;
            }
            // Flow control ends the queue as well, and what it waits for is the oldest. From a path that dribbles it is worth
            // taking everything.
            let dribbles = rate < paced_rate(to).scaled(1, MUCH_SLOWER);
            if dribbles {
                oldest(u64::MAX, is_late)
            } else {
                Some(Wanted { bytes, newest: true, is_urgent: is_late })
            }
        }
        // It is late, and a few of its packets have arrived: how long the rest takes is not known.
        Pace::Unknown if is_late => oldest(burst_and(to, elapsed), true),
        Pace::Unknown => None,
    }
}

/// The part of what is in flight that another path should carry as well, so that both are done at the same time: the slow one
/// delivers from the front, the other one, after a round trip, from the back. Nothing, unless that saves a third of the time.
fn shared(in_flight: u64, rate: Rate, to: &PathView) -> u64 {
    if rate.time_for(in_flight) < to.smoothed_rtt.saturating_mul(3) / 2 {
        return 0;
    }
    let (slow, quick) = (rate.bits_per_second() as f64, paced_rate(to).bits_per_second() as f64);
    if slow <= 0.0 || quick <= 0.0 {
        return if quick > 0.0 { in_flight } else { 0 };
    }
    let before = slow / 8.0 * to.smoothed_rtt.as_secs_f64();
    let bytes = (in_flight as f64 - before) * quick / (slow + quick);
    if bytes > 0.0 { bytes as u64 } else { 0 }
}

/// Data is queued, and the other path has enough to do.
fn wanted_amid_work(progress: &Progress, to: &PathView, elapsed: Duration) -> Option<Wanted> {
    let is_late = progress.lateness() > BUSY_LATENESS.saturating_add(to.smoothed_rtt);
    let bytes = burst_and(to, elapsed / COPY_SHARE);
    let is_held_up = progress.is_silent() || progress.is_clogged() || is_late;
    is_held_up.then_some(Wanted { bytes, newest: false, is_urgent: true })
}
