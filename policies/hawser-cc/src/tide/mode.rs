//! Which mode holds: the sender's own queue, or one that others fill; and the window next to others.

use std::time::Duration;

use hawser_policy::{Ack, Time};

use super::brim::LOSSY;
use super::contest::Release;
use super::dip::Seen;
use super::{Phase, Tide};
use crate::window_based::{Acked, Rule};

/// A queue below this share of the aim is none.
const EMPTY_SHARE: f64 = 0.1;
/// What the path had for this sender alone: the highest rate, which fades by this per round trip, by half in 140. What a ceiling or another flow
/// holds back is not used to that sooner.
const CREST_FADES: f64 = 0.995;
/// A rate below this share of it is held back, by the path or by a ceiling.
const HELD_BACK: f64 = 0.4;
/// From this share of it on it is, as far as is known, all that the path has.
const WHOLE: f64 = 0.85;
/// Held back, a queue below this share of the aim is none.
const SHORT_SHARE: f64 = 0.25;
/// One other flow leaves it half; a loss on the way back to that so much of it.
const FAIR_SHARE: f64 = 0.5;
const LEFT_AFTER_LOSS: f64 = 0.8;
/// On the way back to that share the rate rises by this much, with so many round trips of patience, or the queue is its own after all.
const REGAINED: f64 = 1.15;
const FLAT_ROUNDS: u32 = 2;
/// CUBIC itself loses 1.4 / w^2 with a window of w datagrams where it is small (RFC 9438 section 5.2, the Reno-friendly region).
const OF_CUBIC: f64 = 4.0;
/// A window of so many datagrams has a rate that tells whether the path is steady.
const TELLING: f64 = 30.0;
/// A dip costs at most a round trip of this many.
const DIP_ROUNDS: f64 = 20.0;

impl Tide {
    /// How long without an empty queue until one is made, seconds.
    fn rest(&self, base: f64) -> f64 {
        self.settings.probe.max(DIP_ROUNDS * base)
    }

    /// From here on the queue is the sender's own.
    pub(super) fn begin_own(&mut self) {
        self.phase = Phase::Own;
        self.window.set_threshold_here();
        // The first packets of a radio that slept take longer, and while others fill the queue its least length moves: neither is a flow
        // that makes room now.
        self.delay.take_fallen();
    }

    /// Others fill the queue: CUBIC from here on. It begins as a new CUBIC would, by slow start; a sender that had the path to itself knows
    /// what the share of one of two is, and stops there.
    fn begin_shared(&mut self, now: Time, base: f64) {
        self.phase = Phase::Shared;
        self.member.enter(now, self.window.exact());
        self.cubic.restart();
        self.window.start_below(self.window.exact(), self.share(base));
        (self.regained, self.flat_rounds) = (self.rate.largest(), 0);
    }

    /// Makes room as a CUBIC does. A sender on its way to its share, which a flow that came has pushed aside, goes on to what a loss leaves of
    /// that.
    pub(super) fn make_room(&mut self, now: Time) {
        let share = if self.window.in_slow_start() { self.window.exact_threshold() } else { 0.0 };
        self.cubic.cut(&mut self.window);
        self.member.on_cut(now);
        self.brim.begin_again();
        self.regain(share);
    }

    /// After a loss: on to what it leaves of this share, where that is known.
    fn regain(&mut self, share: f64) {
        if share.is_finite() {
            self.window.start_below(self.window.exact(), LEFT_AFTER_LOSS * share);
            (self.regained, self.flat_rounds) = (self.rate.largest(), 0);
        }
    }

    /// The window of half the path, as far as its rate is known; otherwise infinite.
    fn share(&self, base: f64) -> f64 {
        let round_trip = (base + self.delay.standing()).max(self.smoothed_rtt.as_secs_f64());
        if self.contest.had_path() { FAIR_SHARE * self.crest * round_trip } else { f64::INFINITY }
    }

    /// The window next to others.
    pub(super) fn compete(&mut self, acked: &Acked<'_>, round_over: bool) {
        let part = self.member.on_ack(acked.ack, self.window.exact());
        self.cubic.set_part(part.share);
        if part.make_room {
            self.make_room(acked.ack.now);
        }
        if round_over && self.window.in_slow_start() {
            let rate = self.rate.largest();
            self.flat_rounds = if rate < REGAINED * self.regained { self.flat_rounds + 1 } else { 0 };
            if self.flat_rounds > FLAT_ROUNDS {
                self.window.set_threshold_here();
            }
            self.regained = self.regained.max(rate);
        }
        let left = self.window.grow_to_threshold(acked.bytes);
        if left > 0.0 {
            self.cubic.avoid(&mut self.window, acked, left);
        } else {
            self.cubic.on_unused(acked.ack);
        }
    }

    /// The others are gone, or were never there. `room`: the queue was filled meanwhile, so that what it holds is known.
    fn leave_shared(&mut self, room: bool) {
        let longest = self.brim.longest() * self.rate.largest();
        self.losses.leave_room(room.then_some(longest));
        self.contest.leave();
        self.member.leave();
        self.begin_own();
    }

    /// A round trip is over.
    pub(super) fn on_round(&mut self, ack: &Ack, base: f64) {
        let queue = std::mem::replace(&mut self.round_queue, f64::INFINITY);
        let is_empty = self.contest.is_at_rest() && self.is_short(queue);
        self.losses.on_round(self.window.datagram(), is_empty);
        self.losses.forget_above(2.0 * self.rate.largest() * self.settings.bound);
        let rate = match self.phase {
            Phase::Own => self.rate.present(),
            _ => self.rate.largest(),
        };
        if queue.is_finite() {
            let seen = Seen {
                now: ack.now,
                rate,
                base,
                queue,
                is_whole: rate > WHOLE * self.crest,
                least_window: self.least_window(),
            };
            match self.phase {
                Phase::Startup => {}
                Phase::Own => {
                    let quiet = ack.now.since(self.delay.emptied_at()).as_secs_f64() / self.rest(base);
                    let fallen = self.delay.take_fallen();
                    self.contest.on_own_round(&seen, self.limit(), quiet, fallen);
                    if self.contest.is_calm() {
                        self.was_restless = self.rate.is_restless();
                    }
                }
                Phase::Shared => {
                    let longest = self.brim.longest();
                    let short = longest < self.aim_alone();
                    let release = self.contest.on_shared_round(&seen, longest, self.limit(), short);
                    if release.is_some() || self.is_lonely() {
                        self.leave_shared(release == Some(Release::Room));
                    }
                }
            }
        }
        self.brim.on_round();
        self.crest = self.rate.present().max(CREST_FADES * self.crest);
        let foreign = self.losses.take_foreign() && self.phase == Phase::Own;
        if self.settings.competitive && foreign && self.rate.is_steady() && !self.is_lossy() {
            self.contest.enter(ack.now);
            self.begin_shared(ack.now, base);
            self.cubic.cut(&mut self.window);
            self.regain(self.share(base));
        }
        self.rate.next_round(self.contest.is_at_rest());
    }

    /// Whether a queue, in seconds, is so short that a ceiling may hold the sender back. What a radio adds to its delays is longer than
    /// some ceilings: then the rate tells, far below what it was.
    pub(super) fn is_short(&self, queue: f64) -> bool {
        let present = self.rate.present();
        let is_held_back = present < HELD_BACK * self.crest;
        queue < if is_held_back { SHORT_SHARE * self.aim_alone() } else { EMPTY_SHARE * self.aim(present) }
    }

    /// An acknowledgement in a dip.
    pub(super) fn on_dip(&mut self, ack: &Ack, base: f64) {
        let queue = self.delay.queue();
        let verdict =
            self.contest.on_ack(ack.now, ack.largest_sent_at, ack.bytes_in_flight as f64, queue, base);
        let Some(verdict) = verdict else { return };
        let rest = Duration::try_from_secs_f64(self.rest(base) / 2.0).unwrap_or(Duration::MAX);
        match self.phase {
            Phase::Startup => {}
            Phase::Own => {
                if !self.contest.is_contested(verdict, ack.now, ack.smoothed_rtt, rest) {
                    return;
                }
                if self.settings.competitive && !self.is_lossy() && !self.was_restless {
                    self.begin_shared(ack.now, base);
                } else {
                    // What stays is not this sender's doing, nor that of a flow that would make room for it: the path is that long.
                    self.delay.adopt(ack.now, self.contest.left());
                }
            }
            Phase::Shared => {
                if self.contest.is_released(verdict, ack.now, ack.smoothed_rtt) {
                    self.leave_shared(true);
                }
            }
        }
    }

    /// Whether so much is lost at random that no flow that reacts to losses fills the queue.
    fn is_lossy(&self) -> bool {
        let datagrams = self.window.exact() / self.window.datagram();
        let of_cubic = OF_CUBIC / (datagrams * datagrams);
        self.brim.is_lossy() || self.losses.mean() > LOSSY.max(of_cubic)
    }

    /// Whether nobody can be there: no flow that reacts to losses, or a capacity that moves more than others move it.
    fn is_lonely(&self) -> bool {
        // A few datagrams have no rate to speak of.
        let has_rate = self.window.exact() > TELLING * self.window.datagram();
        self.is_lossy() || has_rate && self.contest.is_settled() && self.rate.is_wild() && self.was_restless
    }

    /// Whether what was lost overflowed the queue. `None`: it cannot be told.
    pub(super) fn overflowed(&self) -> Option<bool> {
        self.brim.overflowed(self.window.exact() / self.window.datagram())
    }
}
