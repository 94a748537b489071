//! Tide: rate times delay with a bounded queue, for links whose capacity moves. `docs/tide.md` has the model, and a reason for each
//! constant.
//!
//! Three phases. In [`Startup`](Phase::Startup) the window doubles per round trip until a train shows the capacity. In
//! [`Own`](Phase::Own) the queue is this sender's: the window follows the delivery rate times the round trip without queue and half the
//! bound. In [`Shared`](Phase::Shared) others fill the queue, and the window is CUBIC's.

mod brim;
mod contest;
mod delay;
mod dip;
mod losses;
mod mode;
mod pool;
mod rate;
mod settings;
mod startup;
mod steer;
#[cfg(test)]
mod tests;
mod unreported;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hawser_policy::{
    Ack, AttachmentPoint, CongestionController, ControllerFactory, ControllerInit, Figures, LinkUpdate, Loss,
    LossCause, Outage, Parameters, Rate, Sent, Siblings, Side, Snapshot, SpuriousLoss, Time,
};

use crate::cubic::{Avoidance, CubicParameters, CubicRule};
use crate::return_path::ReturnPath;
use crate::window::{Window, bytes_that_count};
use crate::window_based::{Acked, PacketRounds, Rule};
use brim::Brim;
use contest::Contest;
use delay::Delay;
use losses::Losses;
use pool::{Member, Pool};
use rate::RateFilter;
pub(crate) use settings::info;
use settings::{NAME, Settings};
use startup::{Startup, TRAIN_GAIN};
use unreported::Unreported;

/// Pacing in windows per round trip: room to follow a capacity that rises; where the queue overflows, hardly any.
const PACING: f64 = 1.25;
const TIGHT_PACING: f64 = 1.05;
const SLOW_START_PACING: f64 = 2.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Startup,
    Own,
    Shared,
}

impl Phase {
    fn name(self) -> &'static str {
        match self {
            Phase::Startup => "startup",
            Phase::Own => "own queue",
            Phase::Shared => "shared queue",
        }
    }
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
    /// Its part of what the paths of the connection have next to others.
    member: Arc<Member>,
    /// The least queue of this round trip, seconds; infinite before a sample.
    round_queue: f64,
    /// Highest recent rate, bytes per second; and the highest on the way back to a share of it.
    crest: f64,
    regained: f64,
    flat_rounds: u32,
    /// Whether the rate was restless when the queue was within its limit last.
    was_restless: bool,
    smoothed_rtt: Duration,
    /// Window and CUBIC's memory before the last reduction.
    before_loss: Option<(Window, Avoidance)>,
    attached_to: Option<AttachmentPoint>,
}

/// Makes those of a connection.
pub(crate) fn factory(parameters: &Parameters) -> Arc<dyn ControllerFactory> {
    Arc::new(Factory { settings: Settings::read(parameters), pool: None })
}

struct Factory {
    settings: Settings,
    /// That of a connection.
    pool: Option<Arc<Mutex<Pool>>>,
}

impl ControllerFactory for Factory {
    fn build(&self, init: &ControllerInit) -> Box<dyn CongestionController> {
        let pool = self.pool.clone().unwrap_or_else(Pool::shared);
        let tide = Tide::new(init, self.settings, Member::new(pool, init.path));
        match self.settings.forward {
            true => Box::new(Unreported::new(init, tide)),
            false => Box::new(tide),
        }
    }

    fn for_connection(&self, _side: Side, _seed: u64) -> Option<Arc<dyn ControllerFactory>> {
        Some(Arc::new(Factory { settings: self.settings, pool: Some(Pool::shared()) }))
    }

    fn wants_receive_timestamps(&self) -> bool {
        self.settings.forward
    }
}

impl Tide {
    fn new(init: &ControllerInit, settings: Settings, member: Member) -> Tide {
        let first = (settings.first * init.initial_window as f64) as u64;
        let init = &init.clone().with(|init| init.initial_window = first);
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
            member: Arc::new(member),
            round_queue: f64::INFINITY,
            crest: 0.0,
            regained: 0.0,
            flat_rounds: 0,
            was_restless: false,
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

    /// So many bytes per second, and a datagram at least, so that nothing stops for good.
    fn at_least_a_datagram(&self, bytes: f64) -> Option<Rate> {
        Some(Rate::from_bits_per_second((8.0 * bytes.max(self.window.datagram())) as u64))
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
        self.rate.on_ack(ack.now, ack.bytes as f64, self.delay.base());
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

    fn on_loss(&mut self, loss: &Loss, _siblings: &Siblings<'_>) {
        let datagram = self.window.datagram();
        let mut unusual = false;
        match loss.cause {
            LossCause::EcnMark => self.losses.on_mark(self.queued(), datagram),
            _ => {
                let (queued, window) = (self.queued(), self.window.exact());
                let queue = self.delay.queue();
                unusual = self.losses.on_loss(loss.bytes as f64, queued, queue, (window, datagram));
                self.contest.on_loss();
                if self.phase == Phase::Shared {
                    self.member.on_loss(loss.now, loss.packets);
                }
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
                Phase::Shared if self.overflowed() == Some(false) && !unusual => {}
                Phase::Shared if self.member.has_made_room(loss.now, self.smoothed_rtt) => {}
                Phase::Shared => self.make_room(loss.now),
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
        self.member.leave();
        (self.round_queue, self.crest) = (f64::INFINITY, 0.0);
        self.was_restless = false;
        self.before_loss = None;
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
        if let Some(pace) = self.contest.dip_pace() {
            return self.at_least_a_datagram(pace);
        }
        let (gain, round_trip) = match self.phase {
            Phase::Startup => (TRAIN_GAIN, round_trip),
            _ if self.contest.dip_window().is_some() => (1.0, round_trip),
            // A new CUBIC's.
            Phase::Shared if self.window.in_slow_start() => {
                (SLOW_START_PACING, round_trip.max(self.smoothed_rtt.as_secs_f64()))
            }
            // What a dip left of the queue is no reason to hurry: the flow that fills it first loses.
            Phase::Shared if !self.contest.is_at_rest() => {
                (1.0, round_trip.max(self.smoothed_rtt.as_secs_f64()))
            }
            Phase::Shared => (PACING, round_trip.max(self.smoothed_rtt.as_secs_f64())),
            Phase::Own if self.losses.ceiling().is_some() => (TIGHT_PACING, round_trip),
            Phase::Own => (PACING, round_trip),
        };
        self.at_least_a_datagram(gain * self.window() as f64 / round_trip)
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

    fn fill_figures(&self, figures: &mut Figures) {
        figures.word("phase", self.phase.name());
        figures.number("rate_bps", 8.0 * self.rate.present());
        if let Some(base) = self.delay.base() {
            figures.number("base_rtt_ms", 1e3 * base);
        }
        figures.number("queue_ms", 1e3 * self.delay.queue());
        figures.number("bound_ms", 1e3 * self.settings.bound);
        if let Some(ceiling) = self.losses.ceiling() {
            figures.number("queue_ceiling_bytes", ceiling);
        }
        if self.contest.dip_window().is_some() {
            figures.word("probe", "empties the queue");
        }
    }
}
