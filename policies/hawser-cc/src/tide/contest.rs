//! Whose queue it is.
//!
//! A queue of this sender's alone is gone a round trip after it sends less than the path carries. One that others fill stays. So where
//! the queue stays above its limit for two round trips, although the window came down to what the model asks for, the sender holds
//! back for a round trip (a dip) and looks. The same dip, every few seconds, shows the delay without queue where it is not seen
//! otherwise.

use std::time::Duration;

use hawser_policy::Time;

use super::dip::{Dip, Found, Kind, ONE, Progress, Seen, Verdict};

/// Another flow's dip takes this much of a round's queue, while the rate stays below this much of what it was.
const JOIN: f64 = 0.6;
const JOIN_RATE: f64 = 1.1;
/// A queue below this share of the longest is none.
const EMPTY: f64 = 0.05;
/// From this share of the longest on a queue is full enough to be tried.
const FULL: f64 = 0.6;
/// Round trips above the limit before a dip.
const OVER_ROUNDS: u32 = 2;
/// Dips of one outcome in a row before the mode changes: a capacity that falls amid a dip looks like another flow.
const VOTES: u32 = 2;
/// Another dip soon after one that found others, in round trips: what it changed has settled by then.
const AGAIN: u32 = 2;
/// And at least so long after it: what a radio adds to its delays may stay the same for some round trips, and look like a queue.
const AGAIN_AT_LEAST: Duration = Duration::from_millis(250);
/// More where it had the path to itself, and loses nothing by waiting.
const AGAIN_WITH_PATH: Duration = Duration::from_millis(500);
/// A rate that fell below this share of what it was, while the queue stayed at least at this share of the limit: another flow pushes.
const PUSHED: f64 = 0.55;
const PUSHED_QUEUE: f64 = 0.6;
/// Next to others, so many round trips in a row with an empty queue: there is room for every flow.
const EMPTY_ROUNDS: u32 = 12;
/// And so many in which it stayed within the limit, although it was longer than this many limits before: who fills it stops there too.
const HELD_ROUNDS: u32 = 20;
const HELD_BELOW: f64 = 1.5;
/// So many dips in a row that found nobody end it.
const RELEASES: u32 = 3;
/// Next to others, a dip after so many round trips, and at least so much time, more after each dip that found them there still.
const CHECK_ROUNDS: u32 = 45;
const FIRST_CHECK: Duration = Duration::from_secs(3);
const LAST_CHECK: Duration = Duration::from_secs(16);
/// Not within so many round trips of a loss: two flows that lost together both have less in the queue.
const AFTER_LOSS: u32 = 4;
/// The queue that a dip emptied is back after so many round trips.
const AFTER_DIP: u32 = 3;
/// Round trips within the limit that make it calm.
const CALM_ROUNDS: u32 = 12;
/// Round trips next to others after which the rate is what they leave.
const SETTLED_ROUNDS: u32 = 20;
/// Before it says that others are there a dip waits for so many round trips: one that decides for flows of this kind to join, a look next to
/// others for the queue to go.
const JOINED: f64 = 3.0;
const SHARED_PATIENCE: f64 = 2.0;

/// Why others are taken to be gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Release {
    /// The queue is empty.
    Room,
    /// It stays as short as this sender would keep it.
    Held,
}

/// The detector.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contest {
    dip: Option<Dip>,
    over_rounds: u32,
    calm_rounds: u32,
    votes: u32,
    rounds_since_loss: u32,
    rounds_since_dip: u32,
    /// No dip before then.
    next_check: Time,
    /// Round trips next to others in which the queue was empty.
    empty_rounds: u32,
    /// And in which it was within the limit.
    held_rounds: u32,
    shared_rounds: u32,
    check_every: Duration,
    /// Whether a dip ever found the queue to be the sender's own: it had the path to itself once.
    had_path: bool,
    /// The queue that was left in the last dip, seconds.
    left: f64,
    /// Queue and rate of the last round.
    last: (f64, f64),
    /// The highest rate since the queue was short.
    crest: f64,
}

impl Contest {
    pub(crate) fn new(now: Time) -> Contest {
        Contest {
            dip: None,
            over_rounds: 0,
            calm_rounds: 0,
            votes: 0,
            rounds_since_loss: AFTER_LOSS,
            rounds_since_dip: AFTER_DIP,
            next_check: now,
            empty_rounds: 0,
            held_rounds: 0,
            shared_rounds: 0,
            check_every: FIRST_CHECK,
            had_path: false,
            left: 0.0,
            last: (0.0, 0.0),
            crest: 0.0,
        }
    }

    /// The window in a dip.
    pub(crate) fn dip_window(&self) -> Option<f64> {
        self.dip.map(|dip| dip.window())
    }

    /// The rate of a dip, bytes per second; `None` outside a dip, and in one that decides, which has no rate of its own.
    pub(crate) fn dip_pace(&self) -> Option<f64> {
        self.dip.and_then(|dip| dip.pace())
    }

    /// Whether a dip found others, so that the next one decides: until then the window stays.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.votes > 0
    }

    /// The queue that was left in the last dip, seconds.
    pub(crate) fn left(&self) -> f64 {
        self.left
    }

    /// Whether the sender had the path to itself once, so that its highest rate was the path's.
    pub(crate) fn had_path(&self) -> bool {
        self.had_path
    }

    /// Whether the queue has been within its limit for a while: what is seen now is the path, not another flow.
    pub(crate) fn is_calm(&self) -> bool {
        self.calm_rounds >= CALM_ROUNDS
    }

    /// Whether no dip is under way, nor was one just now.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.dip.is_none() && self.rounds_since_dip >= AFTER_DIP
    }

    /// Whether what the change of the mode itself made of the rate is over.
    pub(crate) fn is_settled(&self) -> bool {
        self.shared_rounds >= SETTLED_ROUNDS
    }

    pub(crate) fn on_loss(&mut self) {
        self.rounds_since_loss = 0;
    }

    /// A round trip in which the queue is the sender's own as far as it knows. `limit`: above it the queue is not what it aims for.
    /// `quiet`: how long no empty queue was seen, in times that are allowed.
    pub(crate) fn on_own_round(&mut self, seen: &Seen, limit: f64, quiet: f64, fallen: bool) {
        self.rounds_since_loss = self.rounds_since_loss.saturating_add(1);
        self.rounds_since_dip = self.rounds_since_dip.saturating_add(1);
        let (queue, rate) = std::mem::replace(&mut self.last, (seen.queue, seen.rate));
        if self.dip.is_some() {
            return;
        }
        self.over_rounds = if seen.queue > limit { self.over_rounds + 1 } else { 0 };
        let is_calm = self.over_rounds == 0 && self.votes == 0;
        self.calm_rounds = if is_calm { self.calm_rounds.saturating_add(1) } else { 0 };
        self.crest = if seen.queue < PUSHED_QUEUE * limit { seen.rate } else { self.crest.max(seen.rate) };
        let pushed = seen.rate < PUSHED * self.crest;
        let patience = if self.votes > 0 { JOINED } else { ONE };
        if self.over_rounds >= OVER_ROUNDS && (seen.now >= self.next_check || self.votes == 0) {
            self.begin(seen, limit, Kind::Deciding, patience);
        }
        // A queue that falls although the rate does not rise: another flow of this kind looks for the delay without queue. Only if all
        // do so together they find it.
        let others_dip = quiet > 0.5 && seen.queue < JOIN * queue && seen.rate < JOIN_RATE * rate;
        let is_suspicious = self.votes > 0 || fallen || pushed;
        if seen.now >= self.next_check && (quiet > 1.0 || others_dip || is_suspicious) {
            self.crest = seen.rate;
            let kind = if is_suspicious { Kind::Deciding } else { Kind::Routine };
            self.begin(seen, limit, kind, patience);
        }
    }

    /// A round trip next to others. `limit`: what is not above it is as short as a queue of a sender's own; `short`: the longest is within the
    /// bound, so that nothing is lost by staying. Returns why they are gone, if they are.
    pub(crate) fn on_shared_round(
        &mut self,
        seen: &Seen,
        longest: f64,
        limit: f64,
        short: bool,
    ) -> Option<Release> {
        self.rounds_since_loss = self.rounds_since_loss.saturating_add(1);
        self.rounds_since_dip = self.rounds_since_dip.saturating_add(1);
        self.shared_rounds = self.shared_rounds.saturating_add(1);
        self.empty_rounds = if seen.queue < EMPTY * longest { self.empty_rounds + 1 } else { 0 };
        // A flow that reacts to losses alone would have filled it further.
        let is_held =
            seen.queue <= limit && longest > HELD_BELOW * limit && self.rounds_since_loss > HELD_ROUNDS;
        self.held_rounds = if is_held { self.held_rounds + 1 } else { 0 };
        let (queue, _) = std::mem::replace(&mut self.last, (seen.queue, seen.rate));
        // Another flow of this kind that looks leaves this one its rate.
        let others_dip = self.rounds_since_dip > CHECK_ROUNDS && seen.queue < JOIN * queue;
        let is_settled = self.rounds_since_loss >= AFTER_LOSS && (seen.now >= self.next_check || others_dip);
        // Right after a flow made room the queue is short for a while, whichever flow fills it.
        let is_full = seen.queue.max(queue) > FULL * longest;
        if self.dip.is_none() && is_settled && is_full && !short {
            self.begin(seen, limit, Kind::NextToOthers, SHARED_PATIENCE);
        }
        if self.empty_rounds >= EMPTY_ROUNDS {
            Some(Release::Room)
        } else if self.held_rounds >= HELD_ROUNDS {
            Some(Release::Held)
        } else {
            None
        }
    }

    fn begin(&mut self, seen: &Seen, limit: f64, kind: Kind, patience: f64) {
        if self.dip.is_none() {
            self.rounds_since_dip = 0;
            self.dip = Some(Dip::new(seen, limit, kind, patience));
        }
    }

    /// An acknowledgement in a dip, of a packet that left at `sent_at` and met this queue. Returns what the dip found when it is
    /// over.
    pub(crate) fn on_ack(
        &mut self,
        now: Time,
        sent_at: Time,
        in_flight: f64,
        queue: f64,
        base: f64,
    ) -> Option<Verdict> {
        let dip = self.dip.as_mut()?;
        let found = match dip.on_ack(now, sent_at, in_flight, queue, base) {
            Progress::Going => return None,
            Progress::Over(found) => found,
        };
        self.dip = None;
        let Found { verdict, left, is_certain } = found?;
        self.left = left;
        self.had_path |= verdict == Verdict::Own && is_certain;
        Some(verdict)
    }

    /// A dip is over and the queue was taken for the sender's own. True: it is not, from now on. `rest`: until the next look.
    pub(crate) fn is_contested(
        &mut self,
        verdict: Verdict,
        now: Time,
        smoothed_rtt: Duration,
        rest: Duration,
    ) -> bool {
        self.over_rounds = 0;
        self.votes = if verdict == Verdict::Own { 0 } else { self.votes + 1 };
        if self.votes < VOTES {
            let least = if self.had_path { AGAIN_WITH_PATH } else { AGAIN_AT_LEAST };
            let again = smoothed_rtt.saturating_mul(AGAIN).max(least);
            self.next_check = now + if self.votes == 0 { rest } else { again };
            return false;
        }
        self.enter(now);
        true
    }

    /// Others fill the queue from now on.
    pub(crate) fn enter(&mut self, now: Time) {
        self.leave();
        (self.empty_rounds, self.held_rounds, self.shared_rounds) = (0, 0, 0);
        self.check_every = FIRST_CHECK;
        self.next_check = now + self.check_every;
    }

    /// What was looked for does not count any more.
    pub(crate) fn leave(&mut self) {
        self.dip = None;
        (self.over_rounds, self.votes) = (0, 0);
    }

    /// A dip is over and others were taken to be there. True: they are gone.
    pub(crate) fn is_released(&mut self, verdict: Verdict, now: Time, smoothed_rtt: Duration) -> bool {
        if verdict == Verdict::Own {
            self.votes += 1;
            self.next_check = now + smoothed_rtt.saturating_mul(AFTER_LOSS);
        } else {
            self.votes = 0;
            self.check_every = (self.check_every * 3 / 2).min(LAST_CHECK);
            self.next_check = now + self.check_every.max(smoothed_rtt.saturating_mul(CHECK_ROUNDS));
        }
        let released = self.votes >= RELEASES;
        if released {
            self.votes = 0;
        }
        released
    }
}

#[cfg(test)]
mod tests;
