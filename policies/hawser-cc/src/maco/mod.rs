//! MACO: mobility-aware coupled congestion control for hosts below satellites (W. Yang, dissertation, University of Victoria
//! 2024, chapter 3).
//!
//! | part | does |
//! |---|---|
//! | `bandwidth`, `delay` | bandwidth-delay product from the link's forecast and what was measured (Algorithm 3) |
//! | quick start (here) | begins a path, also on another satellite, from that product and from history (Algorithm 4) |
//! | congestion (here), `valve` | which losses are congestion (Algorithm 5, lines 1 to 5) |
//! | `growth` | coupled growth by the square root of the rates (lines 6 to 10) |
//! | `shared` | what the controllers of a connection know together |
//!
//! Forecasts come with [`LinkUpdate`]: capacity and propagation of the link now and next, what serves it, and when that changes.
//! Without any, rates are learned, and the first slow start ends as everywhere. `docs/maco.md` says what differs from the
//! dissertation, and what was measured.

mod bandwidth;
mod delay;
mod growth;
mod settings;
mod shared;
#[cfg(test)]
mod tests;
mod valve;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hawser_policy::{
    Ack, AttachmentPoint, CongestionController, ControllerFactory, ControllerInit, Figures, LinkUpdate, Loss,
    LossCause, Parameters, PolicyInfo, Rate, Sent, Siblings, Side, Snapshot, SpuriousLoss, Time,
};

use crate::return_path::{ReturnPath, RttSample};
use crate::slow_start::SlowStart;
use crate::window::Window;
use bandwidth::{Bandwidth, LinkForecast};
use settings::Settings;
use shared::{Paths, Shared};
use valve::Valve;

/// What remains of a window after congestion.
const REDUCTION: f64 = 0.5;
/// Of a window that is hardly larger than the bandwidth-delay product, a reduction to that leaves this much.
const LEAST_REDUCTION: f64 = 0.95;
/// Below four datagrams three later ones cannot tell of a loss.
const LEAST_START: f64 = 4.0;
/// Probe timeouts in a row after which a path is reset.
const TIMEOUTS: u32 = 2;
/// Pacing, in windows per round trip.
const QUICK_START_GAIN: (u64, u64) = (5, 4);
const AVOIDANCE_GAIN: (u64, u64) = (11, 10);
/// Round trips after a handover whose samples say nothing of the largest one.
const UNSETTLED_ROUNDS: u32 = 2;
/// Handovers further ahead are not planned for.
const HORIZON: Duration = Duration::from_secs(60);

/// What a registry tells of it.
pub(crate) fn info() -> PolicyInfo {
    Settings::info()
}

/// Controllers of this kind: those of one connection share state.
pub(crate) fn factory(parameters: &Parameters) -> Arc<dyn ControllerFactory> {
    Arc::new(Factory { settings: Settings::read(parameters), shared: None })
}

struct Factory {
    settings: Settings,
    /// That of a connection.
    shared: Option<Arc<Mutex<Paths>>>,
}

impl ControllerFactory for Factory {
    fn build(&self, init: &ControllerInit) -> Box<dyn CongestionController> {
        let shared = self.shared.clone().unwrap_or_default();
        Box::new(Maco::new(self.settings, init, Shared::join(&shared, init.path)))
    }

    fn for_connection(&self, _side: Side, _seed: u64) -> Option<Arc<dyn ControllerFactory>> {
        Some(Arc::new(Factory { settings: self.settings, shared: Some(Arc::default()) }))
    }
}

/// A handover that is expected.
#[derive(Clone, Copy, Debug)]
struct Expected {
    at: Time,
    /// From then on the new satellite carries something.
    until: Time,
    to: AttachmentPoint,
    /// The link behind it, if that is known.
    link: Option<LinkForecast>,
}

/// The controller of a path.
#[derive(Debug)]
struct Maco {
    settings: Settings,
    shared: Shared,
    window: Window,
    initial_window: f64,
    slow_start: SlowStart,
    return_path: ReturnPath,
    bandwidth: Bandwidth,
    valve: Valve,
    smoothed_rtt: Duration,
    point: Option<AttachmentPoint>,
    /// Paths of the connection on this satellite, this one included.
    sharers: usize,
    expected: Option<Expected>,
    /// Since when the path is where it is.
    attached_at: Time,
    /// Losses of what left before are those of a handover.
    trusted_from: Time,
    /// Until what leaves now is acknowledged, quick start paces by the product.
    started_at: Option<Time>,
    /// The last reduction: one per recovery period (RFC 9002 section 7.3.2).
    reduced_at: Option<Time>,
    before_loss: Option<Window>,
}

impl Maco {
    fn new(settings: Settings, init: &ControllerInit, shared: Shared) -> Maco {
        let datagram = f64::from(init.max_datagram_size.max(1));
        let initial_window = (init.initial_window as f64).min(settings.first_window * datagram);
        let start = init.clone().with(|init| init.initial_window = initial_window as u64);
        Maco {
            settings,
            shared,
            window: Window::new(&start),
            initial_window,
            slow_start: SlowStart::new(true),
            return_path: ReturnPath::default(),
            bandwidth: Bandwidth::new(&settings),
            valve: Valve::default(),
            smoothed_rtt: init.snapshot.map_or(Duration::ZERO, |before| before.smoothed_rtt),
            point: None,
            sharers: 1,
            expected: None,
            attached_at: Time::ZERO,
            trusted_from: Time::ZERO,
            started_at: None,
            reduced_at: None,
            before_loss: None,
        }
    }

    /// Four datagrams: the least that quick start begins with.
    fn least_start(&self) -> f64 {
        LEAST_START * self.window.datagram()
    }

    /// Algorithm 4: threshold and first window from bandwidth-delay product and history. The threshold stays as it is while
    /// the window grows, since a product that is measured meanwhile is the window's own.
    fn enter_quick_start(&mut self, now: Time, at_least: f64) {
        let least = self.least_start();
        let product = self.bandwidth.mean_product(now, self.smoothed_rtt, self.sharers);
        let product = product.map_or(f64::INFINITY, |product| product.max(least));
        let start = match self.shared.remembered(now, self.settings.history) {
            Some(window) => (self.settings.gamma * product.min(window)).max(least),
            None => self.initial_window.min(product),
        };
        let start = start.max(at_least);
        self.window.start_below(start, product.max(start));
        self.slow_start = SlowStart::new(true);
        self.started_at = Some(now);
        self.before_loss = None;
    }

    /// Nothing came back for too long.
    fn start_anew(&mut self, now: Time) {
        if self.settings.quick_start {
            self.enter_quick_start(now, 0.0);
        } else {
            // As everywhere: slow start up to half of the window.
            let half = self.window.exact() * REDUCTION;
            self.window.start_below(self.initial_window, half);
        }
    }

    /// The path was attached elsewhere, which began at `began`.
    fn attach(&mut self, now: Time, began: Time, to: AttachmentPoint, link: Option<LinkForecast>) {
        let is_hand_over = self.point.is_some();
        self.point = Some(to);
        self.shared.attach(self.point);
        self.expected = self.expected.filter(|expected| expected.to != to);
        if link.is_some() {
            self.bandwidth.set_link(link);
        }
        self.sharers = self.count_sharers();
        if !is_hand_over {
            return;
        }
        self.attached_at = now;
        self.trusted_from = now.max(began + self.smoothed_rtt);
        self.bandwidth.on_hand_over(link.is_some());
        if !self.settings.keeps_largest_rtt {
            self.shared.forget_largest_rtt();
        }
        if self.settings.quick_start {
            self.enter_quick_start(now, 0.0);
        }
    }

    fn count_sharers(&self) -> usize {
        if self.settings.own_sharing { self.shared.sharers() } else { 1 }
    }

    /// Another path has come to this satellite, or left it. Who has to share has at once no more than the share.
    fn update_sharers(&mut self) {
        let sharers = self.count_sharers();
        if sharers == self.sharers {
            return;
        }
        let fewer = sharers < std::mem::replace(&mut self.sharers, sharers);
        self.bandwidth.forget_products();
        if let Some(product) =
            self.bandwidth.product(sharers).filter(|_| !fewer && self.bandwidth.knows_link())
        {
            self.window.limit(product.max(self.least_start()));
        }
    }

    /// Shortly before a handover nothing is sent that the new satellite could not carry.
    fn limit_before_hand_over(&mut self, now: Time) {
        let Some(expected) = self.expected.filter(|_| self.settings.pre_handover) else { return };
        let ahead = self.smoothed_rtt.mul_f64(self.settings.pre_handover_rtts);
        let Some(link) = expected.link.filter(|_| now >= expected.at - ahead) else { return };
        let sharers = if self.settings.own_sharing { self.shared.sharers_at(expected.to) } else { 1 };
        self.window.limit(self.bandwidth.product_over(&link, sharers).max(self.least_start()));
    }

    /// Algorithm 5, lines 1 to 5: whether a loss is congestion. Others are only retransmitted: the window stays.
    fn is_congestion(&self, cause: LossCause) -> bool {
        // With nothing known of the path, every loss ends the first slow start as it does everywhere.
        let is_blind = self.window.in_first_slow_start();
        let risen = !self.settings.delay_condition || self.bandwidth.delay.has_risen();
        cause == LossCause::EcnMark
            || is_blind
            || (self.bandwidth.is_below_access() && risen)
            || self.valve.is_open(&self.settings)
    }

    fn reduce(&mut self, now: Time) {
        self.before_loss = Some(self.window);
        self.shared.record(now, self.window.exact());
        let product = self.bandwidth.product(self.sharers).filter(|_| self.settings.reduces_to_product);
        let share = product.map_or(REDUCTION, |product| product / self.window.exact().max(1.0));
        self.window.reduce(share.clamp(REDUCTION, LEAST_REDUCTION));
        self.reduced_at = Some(now);
        self.valve.close();
    }

    /// Takes in what an acknowledgement tells; its round-trip sample, if that is of the present network.
    fn measure(&mut self, ack: &Ack) -> Option<RttSample> {
        let is_present = ack.largest_sent_at >= self.attached_at;
        let sample = self.return_path.sample(ack).filter(|_| is_present);
        if let Some(sample) = sample {
            if sample.changed {
                self.bandwidth.delay.forget();
            }
            let rtt = sample.adjusted.as_secs_f64();
            self.bandwidth.delay.on_sample(ack.now, rtt);
            let unsettled = self.smoothed_rtt * UNSETTLED_ROUNDS;
            if self.attached_at == Time::ZERO || ack.now.since(self.attached_at) > unsettled {
                self.shared.on_rtt(rtt);
            }
        }
        if is_present {
            self.bandwidth.on_ack(ack, self.window.datagram());
        }
        self.bandwidth.note_product(ack.now, self.smoothed_rtt, self.sharers);
        sample
    }

    fn grow(&mut self, ack: &Ack, sample: Option<RttSample>, siblings: &Siblings<'_>) {
        let before_reduction = self.reduced_at.is_some_and(|at| ack.largest_sent_at <= at);
        let unused = ack.limited_by.leaves_window_unused();
        let mut bytes = if before_reduction || unused { 0.0 } else { ack.bytes as f64 };
        if self.window.in_slow_start() {
            bytes = self.slow_start.on_ack(&mut self.window, ack, sample, bytes);
        }
        if bytes > 0.0 {
            let rtt = self.smoothed_rtt.as_secs_f64().max(1e-6);
            let coupled = self.settings.coupled;
            self.window.grow(bytes * growth::increase(&self.window, rtt, coupled, &self.shared, siblings));
        }
    }

    /// What is expected of the link's next handover. What serves it later is in the first forecast after that.
    fn note_hand_over(&mut self, update: &LinkUpdate<'_>) {
        let Some(hand_over) = update.state.hand_over else { return };
        let Some(to) = hand_over.to.filter(|to| self.point.is_some_and(|point| point != *to)) else { return };
        if hand_over.at <= update.now || hand_over.at.since(update.now) > HORIZON {
            return;
        }
        let until = hand_over.at + hand_over.interruption.unwrap_or_default().min(HORIZON);
        let later = update.forecasts.iter().find(|it| it.at >= until && it.state.attached_to == Some(to));
        let link = later.and_then(|forecast| LinkForecast::of_state(&forecast.state));
        let known = self.expected.filter(|expected| expected.to == to).and_then(|expected| expected.link);
        self.expected = Some(Expected { at: hand_over.at, until, to, link: link.or(known) });
    }

    fn restart(&mut self) {
        self.window.restart(self.initial_window as u64);
        self.slow_start = SlowStart::new(true);
        self.return_path = ReturnPath::default();
        let link = self.bandwidth.take_link();
        self.bandwidth = Bandwidth::new(&self.settings);
        self.bandwidth.set_link(link);
        self.valve = Valve::default();
        self.shared.forget_largest_rtt();
        (self.reduced_at, self.before_loss, self.started_at) = (None, None, None);
        self.smoothed_rtt = Duration::ZERO;
    }
}

impl CongestionController for Maco {
    fn name(&self) -> &'static str {
        "maco"
    }

    fn fill_figures(&self, figures: &mut Figures) {
        figures.word("phase", if self.window.in_slow_start() { "slow start" } else { "avoidance" });
        if let Some(expected) = self.expected {
            figures.number("hand_over_at_s", expected.at.since(Time::ZERO).as_secs_f64());
        }
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.slow_start.on_sent(sent.packet_number);
        self.valve.on_sent(sent.packet_number);
    }

    fn on_ack(&mut self, ack: &Ack, siblings: &Siblings<'_>) {
        self.smoothed_rtt = ack.smoothed_rtt.min(HORIZON);
        if self.started_at.is_some_and(|at| ack.largest_sent_at >= at) {
            self.started_at = None;
        }
        self.valve.on_ack(ack);
        let sample = self.measure(ack);
        self.update_sharers();
        self.grow(ack, sample, siblings);
        self.limit_before_hand_over(ack.now);
    }

    fn on_loss(&mut self, loss: &Loss, _siblings: &Siblings<'_>) {
        if loss.cause == LossCause::Persistent {
            self.shared.record(loss.now, self.window.exact());
            self.start_anew(loss.now);
            return;
        }
        let is_of_hand_over = loss.cause == LossCause::Loss && loss.largest_sent_at < self.trusted_from;
        if is_of_hand_over {
            return;
        }
        self.valve.on_loss(loss.bytes);
        let is_of_last_reduction = self.reduced_at.is_some_and(|at| loss.largest_sent_at <= at);
        if !is_of_last_reduction && self.is_congestion(loss.cause) {
            self.reduce(loss.now);
        }
    }

    fn on_spurious_loss(&mut self, spurious: &SpuriousLoss) {
        if spurious.undone == Some(0)
            && let Some(window) = self.before_loss.take()
        {
            self.window.restore(&window);
            self.reduced_at = None;
        }
    }

    fn on_path_reset(&mut self, _now: Time) {
        self.restart();
    }

    fn on_path_return(&mut self, before: &Snapshot) {
        self.window.take_over(before);
        self.smoothed_rtt = before.smoothed_rtt.min(HORIZON);
    }

    fn on_max_datagram_size(&mut self, bytes: u16) {
        self.window.set_datagram(bytes);
    }

    fn window(&self) -> u64 {
        self.window.bytes()
    }

    fn slow_start_threshold(&self) -> u64 {
        self.window.threshold()
    }

    fn in_slow_start(&self) -> bool {
        self.window.in_slow_start()
    }

    fn pacing_rate(&self) -> Option<Rate> {
        let is_blind = !self.bandwidth.knows_link() || self.window.in_first_slow_start();
        if is_blind || self.smoothed_rtt.is_zero() {
            return None; // as the core does
        }
        let (bytes, gain, round) = match (self.started_at, self.window.in_slow_start()) {
            // Half a product in one burst would overflow the satellite's queue; at the rate of the product it does not.
            (Some(_), true) => {
                let round = self.bandwidth.delay.without_queue().clamp(1e-6, HORIZON.as_secs_f64());
                (self.window.threshold(), (1, 1), Duration::from_secs_f64(round))
            }
            (None, true) => (self.window.bytes(), QUICK_START_GAIN, self.smoothed_rtt),
            (_, false) => (self.window.bytes(), AVOIDANCE_GAIN, self.smoothed_rtt),
        };
        let rate = Rate::from_bytes_over(bytes, round).scaled(gain.0, gain.1);
        Some(rate.max(Rate::from_bits_per_second(1)))
    }

    fn on_probe_timeout(&mut self, now: Time, count: u32) {
        if count == TIMEOUTS {
            self.start_anew(now);
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.expected.map(|expected| expected.until)
    }

    fn on_timeout(&mut self, now: Time) {
        if let Some(expected) = self.expected.take_if(|expected| expected.until <= now) {
            self.attach(now, expected.at, expected.to, expected.link);
        }
    }

    fn on_link_update(&mut self, update: &LinkUpdate<'_>) {
        let state = update.state;
        self.note_hand_over(update);
        if !state.is_up {
            return;
        }
        let was_known = self.bandwidth.knows_link();
        let link = LinkForecast::of(update);
        match state.attached_to {
            Some(point) if self.point != Some(point) => self.attach(update.now, update.now, point, link),
            Some(_) => {}
            None => {
                self.point = None;
                self.shared.attach(None);
            }
        }
        self.bandwidth.set_link(link);
        self.update_sharers();
        if !was_known && link.is_some() && self.window.in_first_slow_start() && self.settings.quick_start {
            self.enter_quick_start(update.now, self.window.exact());
        }
    }

    fn wants_siblings(&self) -> bool {
        true
    }

    fn fill_snapshot(&self, snapshot: &mut Snapshot) {
        snapshot.window_before_loss = self.before_loss.map(|window| window.bytes());
    }
}
