//! MPCC (Gilad and others, CoNEXT 2020): each path learns its rate as PCC Vivace does, with a utility in which the rates of all
//! paths of the connection are.
//!
//! | file | subject |
//! |---|---|
//! | `interval` | a monitor interval: what was sent, what was lost, how the round-trip time moved |
//! | `utility` | what that is worth |
//! | `learner` | the rate: doubled while the utility rises, then moved along the gradient of pairs of intervals |
//! | `published` | the rates that the paths of a connection publish for each other |
//! | `settings` | parameters |
//!
//! What came of an interval is known a round trip after its end. Until then the path sends at the rate between the two of the pair,
//! as the implementation of PCC in the kernel does.

mod interval;
mod learner;
mod published;
mod settings;
#[cfg(test)]
mod tests;
mod utility;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hawser_policy::{
    Ack, CongestionController, ControllerFactory, ControllerInit, Figures, Loss, LossCause, Parameters,
    PolicyInfo, Rate, Sent, Siblings, Side, Snapshot, Time,
};

use crate::return_path::ReturnPath;
use crate::window::MAXIMUM;
use hawser_learn::Random;
use interval::{Interval, Measured};
use learner::{Learner, Trial};
use published::{Published, Rates};
use settings::Settings;

/// Round trips of the rate that may be in flight. The rate is what is controlled; the window only stops a path that hears nothing. It
/// must leave room for a queue as long as the path, or it would hide from an interval at a higher rate what that costs. As in
/// the implementation of PCC in the kernel.
const WINDOW_ROUND_TRIPS: f64 = 2.0;
/// Datagrams per round trip that are always sent (RFC 9002 section 7.2: the minimum window).
const LEAST_DATAGRAMS: f64 = 2.0;
/// Bytes per second of a Mbit/s.
const BYTES_PER_MEGABIT: f64 = 125_000.0;

/// What a registry tells of it.
pub(crate) fn info() -> PolicyInfo {
    Settings::info()
}

/// Makes its factory.
pub(crate) fn factory(parameters: &Parameters) -> Arc<dyn ControllerFactory> {
    Arc::new(Factory { settings: Settings::read(parameters), rates: None })
}

struct Factory {
    settings: Settings,
    /// Those of a connection.
    rates: Option<Arc<Mutex<Rates>>>,
}

impl ControllerFactory for Factory {
    fn build(&self, init: &ControllerInit) -> Box<dyn CongestionController> {
        let rates = self.rates.clone().unwrap_or_default();
        Box::new(Mpcc::new(self.settings, init, Published::join(&rates, init.path)))
    }

    fn for_connection(&self, _side: Side, _seed: u64) -> Option<Arc<dyn ControllerFactory>> {
        Some(Arc::new(Factory { settings: self.settings, rates: Some(Arc::default()) }))
    }
}

/// The controller of a path.
#[derive(Debug)]
struct Mpcc {
    settings: Settings,
    published: Published,
    random: Random,
    return_path: ReturnPath,
    datagram: f64,
    initial_window: f64,
    smoothed_rtt: Duration,
    /// From the first round-trip sample on.
    learning: Option<Learning>,
}

/// The rate, and the intervals under way.
#[derive(Clone, Copy, Debug)]
struct Learning {
    learner: Learner,
    trial: Trial,
    slots: [Slot; 2],
    /// How many of them are in use.
    used: usize,
}

/// An interval that is to be sent, is being sent, or was.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Mbit/s.
    rate: f64,
    interval: Option<Interval>,
    measured: Option<Measured>,
}

impl Slot {
    fn new(rate: f64) -> Slot {
        Slot { rate, interval: None, measured: None }
    }

    fn is_sent(&self) -> bool {
        self.measured.is_some() || self.interval.is_some_and(|interval| interval.has_ended())
    }
}

impl Learning {
    fn new(learner: Learner, others: f64, random: &mut Random) -> Learning {
        let slots = [Slot::new(learner.rate()); 2];
        let mut learning = Learning { learner, trial: learner.trial(others), slots, used: 0 };
        learning.plan(others, random);
        learning
    }

    /// The next trial.
    fn plan(&mut self, others: f64, random: &mut Random) {
        self.trial = self.learner.trial(others);
        let rates = match self.trial {
            Trial::Single(rate) => [rate, rate],
            // In either order, or a trend of the path would always favour the same one.
            Trial::Pair { low, high } if random.below(2) == 0 => [low, high],
            Trial::Pair { low, high } => [high, low],
        };
        self.slots = rates.map(Slot::new);
        self.used = if matches!(self.trial, Trial::Single(_)) { 1 } else { 2 };
    }

    fn slots(&mut self) -> &mut [Slot] {
        &mut self.slots[..self.used]
    }

    /// Mbit/s at which packets leave now: of the interval that is to be sent, or that of the path while results are awaited.
    fn sending(&self) -> f64 {
        let slots = &self.slots[..self.used];
        slots.iter().find(|slot| !slot.is_sent()).map_or(self.learner.rate(), |slot| slot.rate)
    }

    fn on_sent(&mut self, sent: &Sent, length: Duration, packets: u64) {
        let Some(at) = self.slots().iter().position(|slot| !slot.is_sent()) else { return };
        let slots = self.slots();
        match &mut slots[at].interval {
            // Nobody had more to send: what it would have brought is not known.
            Some(_) if sent.limited_by.leaves_window_unused() => {
                slots[at].interval = Some(Interval::begin(sent));
            }
            Some(interval) => {
                let is_over = sent.now.since(interval.began()) >= length && interval.packets() >= packets;
                if !is_over {
                    return interval.add(sent);
                }
                interval.end(sent.now);
                if let Some(next) = slots.get_mut(at + 1).filter(|next| !next.is_sent()) {
                    next.interval = Some(Interval::begin(sent));
                }
            }
            None => slots[at].interval = Some(Interval::begin(sent)),
        }
    }

    fn on_rtt(&mut self, ack: &Ack, rtt: f64) {
        for interval in self.slots().iter_mut().filter_map(|slot| slot.interval.as_mut()) {
            interval.on_rtt(ack.largest_acked, ack.largest_sent_at, rtt);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.slots().iter_mut().filter_map(|slot| slot.interval.as_mut()).for_each(|slot| slot.on_loss(loss));
    }

    /// Looks whether the intervals are known by now; whether all of them are.
    fn on_ack(&mut self, ack: &Ack) -> bool {
        for slot in self.slots() {
            if let Some(interval) = slot.interval.filter(|interval| interval.is_known(ack)) {
                // One that shows nothing is sent again.
                (slot.measured, slot.interval) = (interval.measured(), None);
            }
        }
        self.slots().iter().all(|slot| slot.measured.is_some())
    }

    /// What all intervals showed moves the rate.
    fn learn(&mut self, others: f64) {
        match (self.trial, self.slots.map(|slot| slot.measured)) {
            (Trial::Single(_), [Some(measured), _]) => self.learner.start(measured, others),
            (Trial::Pair { low, high }, [Some(first), Some(second)]) => {
                let is_low_first = self.slots[0].rate <= self.slots[1].rate;
                let (at_low, at_high) = if is_low_first { (first, second) } else { (second, first) };
                self.learner.learn(&at_low, &at_high, high - low, others);
            }
            _ => {}
        }
    }
}

impl Mpcc {
    fn new(settings: Settings, init: &ControllerInit, published: Published) -> Mpcc {
        let mut mpcc = Mpcc {
            settings,
            published,
            random: Random::new(init.seed),
            return_path: ReturnPath::default(),
            datagram: f64::from(init.max_datagram_size.max(1)),
            initial_window: init.initial_window as f64,
            smoothed_rtt: Duration::ZERO,
            learning: None,
        };
        if let Some(snapshot) = &init.snapshot {
            mpcc.take_over(snapshot);
        }
        mpcc
    }

    /// Mbit/s of so many bytes in each round trip.
    fn per_round_trip(&self, bytes: f64) -> f64 {
        bytes / BYTES_PER_MEGABIT / self.smoothed_rtt.as_secs_f64().max(1e-9)
    }

    fn least(&self) -> f64 {
        self.per_round_trip(LEAST_DATAGRAMS * self.datagram)
    }

    fn begin(&mut self, rate: f64, starts: bool, others: f64) {
        let learner = Learner::new(self.settings, rate, self.least(), starts);
        self.published.set(learner.rate());
        self.learning = Some(Learning::new(learner, others, &mut self.random));
    }

    /// From another controller, or from what was known of a 4-tuple: what the path delivered, and no more than the window allowed.
    fn take_over(&mut self, from: &Snapshot) {
        if from.smoothed_rtt.is_zero() {
            return;
        }
        self.smoothed_rtt = from.smoothed_rtt;
        let allowed = self.per_round_trip(from.congestion_window as f64);
        let delivered = from.max_delivery_rate.map_or(allowed, |rate| rate.megabits_per_second());
        let starts = !from.pipe_full && from.congestion_window < from.slow_start_threshold;
        self.begin(delivered.min(allowed), starts, 0.0);
    }

    /// Mbit/s at which packets leave now.
    fn sending(&self) -> Option<f64> {
        self.learning.as_ref().map(Learning::sending)
    }
}

impl CongestionController for Mpcc {
    fn name(&self) -> &'static str {
        "mpcc"
    }

    fn fill_figures(&self, figures: &mut Figures) {
        if let Some(learning) = &self.learning {
            figures.number("rate_bps", 1e6 * learning.learner.rate());
            figures.number("sending_bps", 1e6 * learning.sending());
        }
    }

    fn on_sent(&mut self, sent: &Sent) {
        let length = self.settings.interval(self.smoothed_rtt);
        if let Some(learning) = &mut self.learning {
            learning.on_sent(sent, length, self.settings.packets);
        }
    }

    fn on_ack(&mut self, ack: &Ack, siblings: &Siblings<'_>) {
        self.smoothed_rtt = ack.smoothed_rtt;
        let rtt = self.return_path.sample(ack);
        let least = self.least();
        let Some(learning) = &mut self.learning else {
            if !self.smoothed_rtt.is_zero() {
                let others = self.published.others(siblings);
                self.begin(self.per_round_trip(self.initial_window), true, others);
            }
            return;
        };
        learning.learner.set_least(least);
        if let Some(rtt) = rtt {
            learning.on_rtt(ack, rtt.adjusted.as_secs_f64());
        }
        if learning.on_ack(ack) {
            let others = self.published.others(siblings);
            learning.learn(others);
            self.published.set(learning.learner.rate());
            learning.plan(others, &mut self.random);
        }
    }

    fn on_loss(&mut self, loss: &Loss, siblings: &Siblings<'_>) {
        if loss.cause == LossCause::Persistent && self.learning.is_some() {
            // RFC 9002 section 7.6.2.
            let others = self.published.others(siblings);
            return self.begin(0.0, true, others);
        }
        if let Some(learning) = &mut self.learning {
            learning.on_loss(loss);
        }
    }

    fn on_path_reset(&mut self, _now: Time) {
        self.published.set(0.0);
        (self.learning, self.smoothed_rtt) = (None, Duration::ZERO);
        self.return_path = ReturnPath::default();
    }

    fn on_path_return(&mut self, before: &Snapshot) {
        self.take_over(before);
    }

    fn on_max_datagram_size(&mut self, bytes: u16) {
        self.datagram = f64::from(bytes.max(1));
    }

    fn window(&self) -> u64 {
        let wanted = self.sending().map_or(self.initial_window, |rate| {
            WINDOW_ROUND_TRIPS * rate * BYTES_PER_MEGABIT * self.smoothed_rtt.as_secs_f64()
        });
        let least = LEAST_DATAGRAMS * self.datagram;
        wanted.max(least).min(MAXIMUM.max(least)) as u64
    }

    /// Doubling counts as slow start.
    fn in_slow_start(&self) -> bool {
        self.learning.as_ref().is_none_or(|learning| learning.learner.is_starting())
    }

    fn pacing_rate(&self) -> Option<Rate> {
        // At least a bit per second, so that nothing stops for good.
        self.sending().map(|rate| Rate::from_bits_per_second((rate * 1e6).max(1.0) as u64))
    }

    fn wants_siblings(&self) -> bool {
        true
    }

    fn fill_snapshot(&self, snapshot: &mut Snapshot) {
        snapshot.pipe_full = !self.in_slow_start();
    }
}
