//! Tide: rate times delay with a bounded queue, for links whose capacity moves. `docs/tide.md` has the model, and a reason for each
//! constant.
//!
//! Three phases. In [`Startup`](Phase::Startup) the window doubles per round trip until a train shows the capacity. In
//! [`Own`](Phase::Own) the queue is this sender's: the window follows the delivery rate times the round trip without queue and half the
//! bound. In [`Shared`](Phase::Shared) others fill the queue, and the window is CUBIC's.

mod brim;
mod contest;
mod delay;
mod losses;
mod rate;
mod settings;
mod startup;
#[cfg(test)]
mod tests;

use std::time::Duration;

use hawser_policy::{
    Ack, AttachmentPoint, CongestionController, ControllerInit, LinkUpdate, Loss, LossCause, Outage,
    Parameters, Rate, Sent, Siblings, Snapshot, SpuriousLoss, Time,
};

use crate::cubic::{Avoidance, CubicParameters, CubicRule};
use crate::return_path::ReturnPath;
use crate::window::{Window, bytes_that_count};
use crate::window_based::{Acked, PacketRounds, Rule};
use brim::Brim;
use contest::Contest;
use delay::Delay;
use losses::Losses;
use rate::RateFilter;
pub(crate) use settings::info;
use settings::{NAME, Settings};
use startup::{Startup, Step, TRAIN_GAIN};

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
/// Pacing in windows per round trip: room to follow a capacity that rises; where the queue overflows, hardly any.
const PACING: f64 = 1.25;
const TIGHT_PACING: f64 = 1.05;
/// RFC 9002 section 7.2 has two; rate samples need more.
const MIN_DATAGRAMS: f64 = 4.0;
/// A queue below this share of the aim is none.
const EMPTY_SHARE: f64 = 0.1;
/// What it had before it made room for others: the highest rate, which fades by this per round trip. One other flow leaves it half.
const BEST_FADES: f64 = 0.98;
const FAIR_SHARE: f64 = 0.5;
/// On the way back to that share the rate rises by this much, with so many round trips of patience, or the queue is its own after all.
const REGAINED: f64 = 1.15;
const FLAT_ROUNDS: u32 = 2;
/// A dip costs at most a round trip of this many.
const DIP_ROUNDS: f64 = 20.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Startup,
    Own,
    Shared,
}

/// The controller.
#[derive(Clone, Debug)]
pub(crate) struct Tide {
    settings: Settings,
    phase: Phase,
    window: Window,
    initial_window: u64,
    return_path: ReturnPath,
    rounds: PacketRounds,
    delay: Delay,
    rate: RateFilter,
    startup: Startup,
    losses: Losses,
    brim: Brim,
    contest: Contest,
    cubic: CubicRule,
    /// The least queue of this round trip, seconds; infinite before a sample.
    round_queue: f64,
    /// Highest rate lately, bytes per second; and the rate of the last round trip on the way back to it.
    best: f64,
    regained: f64,
    flat_rounds: u32,
    smoothed_rtt: Duration,
    /// Window and CUBIC's memory before the last reduction.
    before_loss: Option<(Window, Avoidance)>,
    attached_to: Option<AttachmentPoint>,
}

/// Makes one for a path.
pub(crate) fn build(init: &ControllerInit, parameters: &Parameters) -> Box<dyn CongestionController> {
    Box::new(Tide::new(init, Settings::read(parameters)))
}

impl Tide {
    fn new(init: &ControllerInit, settings: Settings) -> Tide {
        let mut tide = Tide {
            settings,
            phase: Phase::Startup,
            window: Window::new(init),
            initial_window: init.initial_window,
            return_path: ReturnPath::default(),
            rounds: PacketRounds::default(),
            delay: Delay::new(init.now),
            rate: RateFilter::default(),
            startup: Startup::default(),
            losses: Losses::default(),
            brim: Brim::default(),
            contest: Contest::new(init.now),
            cubic: CubicRule::new(CubicParameters::default()),
            round_queue: f64::INFINITY,
            best: 0.0,
            regained: 0.0,
            flat_rounds: 0,
            smoothed_rtt: Duration::ZERO,
            before_loss: None,
            attached_to: None,
        };
        if let Some(snapshot) = &init.snapshot {
            tide.take_over(snapshot);
        }
        tide
    }

    fn take_over(&mut self, from: &Snapshot) {
        self.delay.seed(from);
        self.smoothed_rtt = from.smoothed_rtt;
        if let Some(rate) = from.max_delivery_rate.filter(|_| !self.window.in_slow_start()) {
            self.rate.seed(rate.bits_per_second() as f64 / 8.0);
            self.phase = Phase::Own;
        }
    }

    /// The queue to aim at with this rate, seconds.
    fn aim(&self, rate: f64) -> f64 {
        let ceiling =
            self.losses.ceiling().filter(|_| rate > 0.0).map_or(f64::INFINITY, |bytes| bytes / rate);
        (AIM * self.settings.bound).min(ceiling) * (1.0 + FAIR / (1.0 + rate / FAIR_RATE))
    }

    /// The queue that is over the limit.
    fn limit(&self) -> f64 {
        OVER * self.aim(self.rate.present()) + OVER_SECONDS
    }

    fn least_window(&self) -> f64 {
        MIN_DATAGRAMS * self.window.datagram()
    }

    /// Rate times round trip without queue and the aim.
    fn wanted(&self, rate: f64, base: f64) -> f64 {
        (rate * (base + self.aim(rate))).max(self.least_window())
    }

    /// How long without an empty queue until one is made, seconds.
    fn rest(&self, base: f64) -> f64 {
        self.settings.probe.max(DIP_ROUNDS * base)
    }

    /// The window of a sender alone.
    fn steer(&mut self, ack: &Ack, base: f64) {
        let (window, queue) = (self.window.exact(), self.delay.standing());
        let present = self.rate.present();
        let aim = self.aim(present);
        if queue > aim {
            // What is acknowledged leaves and nothing follows, until no more is in flight than the present rate asks for.
            let wanted = self.wanted(present, base);
            if wanted < window && !self.contest.is_doubtful() {
                self.window.step(-(window - wanted).min(ack.bytes as f64));
            }
            return;
        }
        // After a dip the queue is short because of the dip.
        if ack.limited_by.leaves_window_unused() || !self.contest.is_at_rest() {
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

    fn on_startup(&mut self, ack: &Ack, base: f64, round_over: bool) {
        let (datagram, window) = (self.window.datagram(), self.window.exact());
        let seen = startup::Seen { round_over, datagram, window, base, rate: self.rate.largest() };
        match self.startup.on_ack(ack, &seen) {
            Step::Full(capacity) => {
                if let Some(capacity) = capacity {
                    self.rate.seed(capacity);
                    self.window.set(window.max(capacity * base));
                }
                self.begin_own();
            }
            Step::Grow if self.delay.standing() > AIM * self.settings.bound => self.begin_own(),
            Step::Grow => self.window.grow(bytes_that_count(ack)),
        }
    }

    fn begin_own(&mut self) {
        self.phase = Phase::Own;
        self.window.set_threshold_here();
    }

    /// Others fill the queue: CUBIC from here on. It begins as a new CUBIC would, by slow start, but not beyond the share of one of two.
    fn begin_shared(&mut self, base: f64) {
        self.phase = Phase::Shared;
        self.cubic.restart();
        let share = FAIR_SHARE * self.best * (base + self.delay.standing());
        self.window.start_below(self.window.exact(), share);
        (self.regained, self.flat_rounds) = (self.rate.largest(), 0);
    }

    /// The window next to others.
    fn compete(&mut self, acked: &Acked<'_>, round_over: bool) {
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

    /// The others are gone. What the queue holds was seen meanwhile.
    fn leave_shared(&mut self) {
        self.losses.leave_room(self.brim.longest() * self.rate.largest());
        self.begin_own();
    }

    /// A round trip is over.
    fn on_round(&mut self, ack: &Ack, base: f64) {
        let queue = std::mem::replace(&mut self.round_queue, f64::INFINITY);
        let is_empty = self.contest.is_at_rest() && queue < EMPTY_SHARE * self.aim(self.rate.present());
        self.losses.on_round(self.window.datagram(), is_empty);
        self.losses.forget_above(2.0 * self.rate.largest() * self.settings.bound);
        let rate = match self.phase {
            Phase::Own => self.rate.present(),
            _ => self.rate.largest(),
        };
        if queue.is_finite() {
            let seen = contest::Seen { now: ack.now, rate, base, queue, least_window: self.least_window() };
            match self.phase {
                Phase::Startup => {}
                Phase::Own => {
                    let quiet = ack.now.since(self.delay.emptied_at()).as_secs_f64() / self.rest(base);
                    let fallen = self.delay.take_fallen();
                    self.contest.on_own_round(&seen, self.limit(), quiet, fallen);
                }
                Phase::Shared => {
                    let longest = self.brim.longest();
                    let short = longest < AIM * self.settings.bound;
                    let released = self.contest.on_shared_round(&seen, longest, short);
                    if released || short && self.rate.is_wild() {
                        self.leave_shared();
                    }
                }
            }
        }
        self.brim.on_round();
        self.best = self.rate.present().max(BEST_FADES * self.best);
        if self.losses.take_foreign() && self.phase == Phase::Own && self.rate.is_steady() {
            if self.settings.competitive {
                self.contest.enter(ack.now);
                self.begin_shared(base);
                self.cubic.cut(&mut self.window);
            }
        }
        self.rate.next_round(self.contest.is_at_rest());
    }

    fn on_dip(&mut self, ack: &Ack, base: f64) {
        let queue = self.delay.queue();
        let verdict =
            self.contest.on_ack(ack.now, ack.largest_sent_at, ack.bytes_in_flight as f64, queue, base);
        let Some(verdict) = verdict else { return };
        let rest = Duration::try_from_secs_f64(self.rest(base) / 2.0).unwrap_or(Duration::MAX);
        match self.phase {
            Phase::Startup => {}
            Phase::Own => {
                let contested = self.contest.is_contested(verdict, ack.now, ack.smoothed_rtt, rest);
                if self.settings.competitive && contested {
                    self.begin_shared(base);
                }
            }
            Phase::Shared => {
                if self.contest.is_released(verdict, ack.now, ack.smoothed_rtt) {
                    self.leave_shared();
                }
            }
        }
    }

    /// Whether what was lost overflowed the queue. `None`: it cannot be told.
    fn overflowed(&self) -> Option<bool> {
        self.brim.overflowed(self.window.exact() / self.window.datagram())
    }

    /// Bytes that wait in the queue.
    fn queued(&self) -> f64 {
        self.delay.queue() * self.rate.present()
    }
}

impl CongestionController for Tide {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.rounds.on_sent(sent.packet_number);
        self.cubic.on_sent(sent);
    }

    fn on_ack(&mut self, ack: &Ack, siblings: &Siblings<'_>) {
        let rtt = self.return_path.sample(ack);
        let sampled = self.delay.on_ack(ack, rtt, self.phase == Phase::Shared);
        self.smoothed_rtt = ack.smoothed_rtt;
        self.losses.on_ack(ack.bytes as f64);
        self.brim.on_ack(ack.packets as f64, self.delay.queue());
        if let Some(delivery) = &ack.delivery {
            self.rate.on_sample(delivery);
        }
        if sampled {
            let queue = self.delay.queue();
            self.round_queue = self.round_queue.min(queue);
        }
        let round_over = self.rounds.on_ack(ack.largest_acked);
        let Some(base) = self.delay.base() else { return };
        if self.contest.dip_window().is_some() {
            self.on_dip(ack, base);
        } else {
            match self.phase {
                Phase::Startup => self.on_startup(ack, base, round_over),
                Phase::Own => self.steer(ack, base),
                Phase::Shared => {
                    let bytes = bytes_that_count(ack);
                    self.compete(&Acked { ack, rtt, bytes, siblings }, round_over);
                }
            }
        }
        if round_over {
            self.on_round(ack, base);
        }
    }

    fn on_loss(&mut self, loss: &Loss, siblings: &Siblings<'_>) {
        let datagram = self.window.datagram();
        match loss.cause {
            LossCause::EcnMark => self.losses.on_mark(self.queued(), datagram),
            LossCause::Loss | LossCause::Persistent => {
                let (queued, window) = (self.queued(), self.window.exact());
                self.losses.on_loss(loss.bytes as f64, queued, self.delay.queue(), (window, datagram));
                self.contest.on_loss();
                self.brim.on_loss(loss.packets as f64, self.delay.queue());
                if self.phase == Phase::Own && self.rate.is_steady() && self.overflowed() == Some(true) {
                    self.losses.on_overflow(queued, datagram);
                    self.brim.begin_again();
                }
            }
        }
        if loss.new_epoch {
            self.before_loss = Some((self.window, self.cubic.memory()));
            match self.phase {
                Phase::Startup if loss.packets > 2 => self.begin_own(),
                Phase::Startup | Phase::Own => {}
                Phase::Shared if self.overflowed() == Some(false) => {}
                Phase::Shared => {
                    self.cubic.reduce(&mut self.window, loss, siblings);
                    self.brim.begin_again();
                }
            }
        }
        if loss.cause == LossCause::Persistent {
            self.before_loss = None;
            self.cubic.on_persistent_congestion();
            self.window.collapse();
            self.window.set_threshold_here();
        }
    }

    fn on_outage(&mut self, outage: &Outage) {
        self.cubic.on_outage(outage);
    }

    fn on_spurious_loss(&mut self, loss: &SpuriousLoss) {
        // What an earlier epoch took is no longer known.
        if loss.undone == Some(0)
            && let Some((window, memory)) = self.before_loss.take()
            && self.phase == Phase::Shared
        {
            self.window.restore(&window);
            self.cubic.undo(memory, loss.now);
        }
    }

    fn on_path_reset(&mut self, now: Time) {
        self.window.restart(self.initial_window);
        self.phase = Phase::Startup;
        self.return_path = ReturnPath::default();
        self.delay = Delay::new(now);
        self.rate = RateFilter::default();
        self.startup = Startup::default();
        self.losses = Losses::default();
        self.brim = Brim::default();
        self.contest = Contest::new(now);
        self.cubic.restart();
        (self.round_queue, self.best, self.before_loss) = (f64::INFINITY, 0.0, None);
    }

    fn on_path_return(&mut self, before: &Snapshot) {
        self.window.take_over(before);
        self.take_over(before);
    }

    fn on_max_datagram_size(&mut self, bytes: u16) {
        self.window.set_datagram(bytes);
    }

    fn window(&self) -> u64 {
        let least = self.least_window();
        match self.contest.dip_window() {
            Some(dip) => self.window.exact().min(dip.max(least)) as u64,
            None => self.window.bytes(),
        }
    }

    fn slow_start_threshold(&self) -> u64 {
        if self.phase == Phase::Startup { self.window.threshold() } else { self.window.bytes() }
    }

    fn in_slow_start(&self) -> bool {
        self.phase == Phase::Startup
    }

    fn pacing_rate(&self) -> Option<Rate> {
        let base = self.delay.base()?;
        let round_trip = base + self.delay.standing();
        let (gain, round_trip) = match self.phase {
            Phase::Startup => (TRAIN_GAIN, round_trip),
            _ if self.contest.dip_window().is_some() => (1.0, round_trip),
            // What a dip left of the queue is no reason to hurry: whoever fills it first loses.
            Phase::Shared if !self.contest.is_at_rest() => {
                (1.0, round_trip.max(self.smoothed_rtt.as_secs_f64()))
            }
            Phase::Shared => (PACING, round_trip.max(self.smoothed_rtt.as_secs_f64())),
            Phase::Own if self.losses.ceiling().is_some() => (TIGHT_PACING, round_trip),
            Phase::Own => (PACING, round_trip),
        };
        let bytes = gain * self.window() as f64 / round_trip;
        // At least a datagram per second, so that nothing stops for good.
        Some(Rate::from_bits_per_second((8.0 * bytes.max(self.window.datagram())) as u64))
    }

    /// A new satellite or cell has another delay.
    fn on_link_update(&mut self, update: &LinkUpdate<'_>) {
        let point = update.state.attached_to;
        if point.is_some() && self.attached_to.is_some() && point != self.attached_to {
            self.delay.forget_least();
        }
        self.attached_to = point.or(self.attached_to);
    }

    fn fill_snapshot(&self, snapshot: &mut Snapshot) {
        snapshot.pipe_full = self.phase != Phase::Startup;
        self.cubic.fill_snapshot(snapshot);
    }
}
