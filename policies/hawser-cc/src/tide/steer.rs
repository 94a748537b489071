//! The window of a sender alone, and in start-up.

use hawser_policy::Ack;

use super::Tide;
use super::startup::{Seen, Step};
use crate::window::bytes_that_count;

/// The queue to aim at, in bounds: swings of the capacity take the other half.
const AIM: f64 = 0.5;
/// A slow flow aims this much higher, one of [`FAIR_RATE`] half as much more: that is what makes flows alike share alike.
const FAIR: f64 = 0.3;
/// 20 Mbit/s in bytes per second.
const FAIR_RATE: f64 = 2_500_000.0;
/// Above the aim by this much, and by [`OVER_SECONDS`], the queue is not what the window asks for.
const OVER: f64 = 1.4;
const OVER_SECONDS: f64 = 0.002;
/// How fast the window approaches what the model asks for, per round trip: half the way. Answers are a round trip late, so that the
/// whole way would overshoot.
const APPROACH: f64 = 0.5;
/// Growth per round trip while the queue is empty: up within three round trips, as the window doubles in two of them.
const EMPTY_GROWTH: f64 = 0.5;
/// A window of which less than this is in flight does not grow: the core holds back more after an outage, and what nobody used
/// would leave at once when that is over.
const USED: f64 = 0.5;
/// RFC 9002 section 7.2 has two; rate samples need more.
const MIN_DATAGRAMS: f64 = 4.0;

impl Tide {
    /// The queue to aim at where nothing overflows, seconds.
    pub(super) fn aim_alone(&self) -> f64 {
        AIM * self.settings.bound
    }

    /// The queue to aim at with this rate, seconds.
    pub(super) fn aim(&self, rate: f64) -> f64 {
        let ceiling =
            self.losses.ceiling().filter(|_| rate > 0.0).map_or(f64::INFINITY, |bytes| bytes / rate);
        self.aim_alone().min(ceiling) * (1.0 + FAIR / (1.0 + rate / FAIR_RATE))
    }

    /// The queue to steer for, seconds. What keeps a part of the aim for swings of the rate is not needed where there are none.
    fn kept(&self, rate: f64) -> f64 {
        let calm = if self.rate.is_calm() { self.settings.calm } else { 1.0 };
        calm * self.aim(rate)
    }

    /// The queue that is over the limit.
    pub(super) fn limit(&self) -> f64 {
        OVER * self.aim(self.rate.present()) + OVER_SECONDS
    }

    pub(super) fn least_window(&self) -> f64 {
        MIN_DATAGRAMS * self.window.datagram()
    }

    /// Rate times round trip without queue and what is kept of the aim.
    fn wanted(&self, rate: f64, base: f64) -> f64 {
        (rate * (base + self.kept(rate))).max(self.least_window())
    }

    /// Whether as much was in flight as the window allows, or nearly.
    fn is_used(&self, ack: &Ack) -> bool {
        let in_flight = (ack.bytes_in_flight + ack.bytes) as f64;
        !ack.limited_by.leaves_window_unused() && in_flight >= USED * self.window.exact()
    }

    /// The window of a sender alone.
    pub(super) fn steer(&mut self, ack: &Ack, base: f64) {
        let (window, queue) = (self.window.exact(), self.delay.standing());
        let present = self.rate.present();
        let aim = self.kept(present);
        if queue > aim {
            // What is acknowledged leaves and nothing follows, until no more is in flight than the present rate asks for.
            let wanted = self.wanted(present.min(self.rate.drained()), base);
            if wanted < window && !self.contest.is_doubtful() {
                self.window.step(-(window - wanted).min(ack.bytes as f64));
            }
            return;
        }
        // After a dip the queue is short because of the dip.
        if !self.is_used(ack) || !self.contest.is_at_rest() {
            return;
        }
        let wanted = self.wanted(self.rate.largest(), base);
        let mut growth = APPROACH * (wanted / window - 1.0);
        if self.losses.ceiling().is_none() {
            let emptiness = if aim > 0.0 { 1.0 - queue / aim } else { 0.0 };
            growth = growth.max(EMPTY_GROWTH * emptiness * emptiness);
        } else if wanted < window {
            // More in flight than rate and ceiling allow: it is where the queue is too short to show as delay.
            self.window.step(-(window - wanted).min(ack.bytes as f64));
        }
        self.window.step(growth.clamp(0.0, 1.0) * ack.bytes as f64);
    }

    /// An acknowledgement in start-up.
    pub(super) fn on_startup(&mut self, ack: &Ack, base: f64, round_over: bool) {
        let (datagram, window) = (self.window.datagram(), self.window.exact());
        let seen = Seen { round_over, datagram, window, base, rate: self.rate.largest() };
        match self.startup.on_ack(ack, &seen) {
            Step::Full(capacity) => {
                if let Some(capacity) = capacity {
                    self.rate.seed(capacity);
                    self.window.set(window.max(capacity * base));
                }
                self.begin_own();
            }
            Step::Grow if self.delay.standing() > self.aim_alone() => self.begin_own(),
            Step::Grow if self.is_used(ack) => self.window.grow(bytes_that_count(ack)),
            Step::Grow => {}
        }
    }
}
