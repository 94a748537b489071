//! What BBRv2+ adds to BBRv2 (Yang's thesis, Sorbonne 2022, chapter 4).
//!
//! The round-trip time of each round says whether a probe is safe: a gentle trial (Try1) goes before each, a successful
//! one (Up) is repeated at once (PostUp), and delay that rises although nothing is probed lets old bandwidth samples expire
//! (Algorithm 1). Where a loss-based flow keeps the queue filled, delay says nothing: then plain BBRv2 takes over until the
//! queue is seen empty again (Algorithm 2). Jitter is added to the window, since RTprop is no mean (Algorithm 3).

mod delay;
mod losses;
mod parameters;

use hawser_policy::{Figures, Loss, Time};

pub(crate) use delay::{DelayStat, DeviationRule};
use parameters::Reference;
pub(crate) use parameters::{PlusParameters, describe};

use super::common::{Common, Sample};
use super::phase::Phase;
use delay::Delay;
use losses::Losses;

#[cfg(test)]
mod tests;

/// Refill, Try1 and Try2: with the wait before them they are the interval from one trial to the next.
const TRIAL_ROUNDS: u64 = 3;
/// A Cruise is judged (Algorithm 2), so each has a round at least.
const LEAST_CRUISE: u64 = 1;

/// Who decides when to probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The cycle of BBRv2+.
    Own,
    /// BBRv2's, against a flow that keeps the queue filled.
    BbrV2,
}

/// What follows Try2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterTry {
    Probe,
    GoDown,
}

/// What follows PostUp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterUp {
    Again,
    GoDown,
}

/// What follows Cruise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CruiseEnd {
    Refill,
    /// The mode changed to BBRv2, which looks for the bandwidth again.
    Restart,
}

/// State of BBRv2+ besides BBRv2's.
#[derive(Clone, Debug)]
pub(crate) struct Plus {
    parameters: PlusParameters,
    mode: Mode,
    delay: Delay,
    losses: Losses,
    /// Rounds from the beginning of a trial to that of the next.
    wait_rounds: u64,
    /// How many have passed since the last one was over, and how many of this Cruise.
    waited_rounds: u64,
    cruise_rounds: u64,
    /// Least round-trip time of the round in which Up began.
    before_probe: Option<f64>,
    /// Rounds that had been counted when Up began.
    up_round: u64,
    /// The fastest sample of the present round, bytes per second, and when the packets of the first one left.
    round_rate: f64,
    round_sent_at: Time,
    /// Cruises in a row with a filled queue, and with an empty one.
    filled: u64,
    empty: u64,
    /// The largest bandwidth, bytes per second, that aged since a Cruise had an empty queue.
    unaged: f64,
    /// Rounds since the bandwidth filter moved on or was confirmed.
    rounds_unconfirmed: u64,
    /// How many tries there were, and how many led to a probe.
    tries: u64,
    probes: u64,
}

impl Plus {
    pub(crate) fn new(parameters: PlusParameters) -> Plus {
        Plus {
            parameters,
            mode: Mode::Own,
            delay: Delay::new(&parameters),
            losses: Losses::default(),
            wait_rounds: parameters.wait_rounds,
            waited_rounds: 0,
            cruise_rounds: 0,
            before_probe: None,
            up_round: 0,
            round_rate: 0.0,
            round_sent_at: Time::ZERO,
            filled: 0,
            empty: 0,
            unaged: 0.0,
            rounds_unconfirmed: 0,
            tries: 0,
            probes: 0,
        }
    }

    /// As new, for another network path.
    pub(crate) fn restarted(&self) -> Plus {
        Plus::new(self.parameters)
    }

    /// Whose cycle runs, trials so far and those that led to a probe, and the jitter that the window covers on top of RTprop
    /// (Algorithm 3).
    pub(crate) fn fill_figures(&self, common: &Common, figures: &mut Figures) {
        figures.word("cycle", if self.is_own_mode() { "own" } else { "bbr2" });
        figures.number("tries", self.tries as f64);
        figures.number("probes", self.probes as f64);
        figures.number("compensation_s", self.compensation(common));
    }

    pub(crate) fn is_own_mode(&self) -> bool {
        self.mode == Mode::Own
    }

    /// A trial or probe is over, or ProbeRTT.
    pub(crate) fn start_wait(&mut self, common: &mut Common) {
        let extra = match self.parameters.wait_random {
            0 => 0,
            values => common.random.below(values),
        };
        self.wait_rounds = self.parameters.wait_rounds + extra;
        // Where the wait is longer than the time between two ProbeRTT, its rounds are counted across these: otherwise nothing
        // would ever be probed.
        let rtt = self.delay.current_min().or(common.min_rtt.get()).unwrap_or(0.0);
        let outlasts = rtt * self.wait_rounds as f64 > common.min_rtt.interval().as_secs_f64();
        if !outlasts || common.phase() != Phase::ProbeRtt {
            self.waited_rounds = 0;
        }
    }

    pub(crate) fn start_cruise(&mut self) {
        self.cruise_rounds = 0;
        self.delay.start_cruise();
        self.losses.start_cruise();
    }

    /// A round of Cruise or of the two Downs is over.
    pub(crate) fn on_waiting_round(&mut self, in_cruise: bool) {
        self.waited_rounds += 1;
        self.cruise_rounds += u64::from(in_cruise);
    }

    pub(crate) fn has_waited(&self) -> bool {
        self.waited_rounds + TRIAL_ROUNDS >= self.wait_rounds && self.cruise_rounds >= LEAST_CRUISE
    }

    /// Losses of a detection: of a trial or probe, or not.
    pub(crate) fn on_loss(&mut self, loss: &Loss) {
        self.losses.on_loss(loss);
    }

    /// Try1 begins.
    pub(crate) fn start_try(&mut self, now: Time) {
        self.losses.start_trial(now);
    }

    /// Try1 ends; it began at `from`.
    pub(crate) fn end_try(&mut self, from: Time, now: Time) {
        self.delay.watch_tail(from, now);
    }

    /// Try2 ends: did the trial build a queue?
    pub(crate) fn after_try(&mut self) -> AfterTry {
        self.tries += 1;
        // A full buffer may be a shorter queue than the tolerance: then only losses show it.
        if self.losses.show_no_room(self.parameters.try_loss) {
            return AfterTry::GoDown;
        }
        let (before, during) = self.delay.of_try();
        if during.zip(before).is_some_and(|(during, before)| during > self.tolerated(before)) {
            return AfterTry::GoDown;
        }
        self.probes += 1;
        AfterTry::Probe
    }

    /// Up begins, the first time after a trial or once more.
    pub(crate) fn start_up(&mut self, common: &Common, now: Time) {
        self.losses.start_trial(now);
        self.before_probe = self.delay.current_min();
        self.up_round = common.rounds.count;
    }

    /// Up ends because it has put enough in flight.
    pub(crate) fn end_up(&mut self, common: &Common, now: Time) {
        self.delay.watch_tail(common.phases.since(), now);
        self.delay.end_probe(common.rounds.count > self.up_round);
    }

    /// PostUp ends: was there room for more?
    pub(crate) fn after_up(&mut self) -> AfterUp {
        if self.losses.show_no_room(self.parameters.try_loss) {
            return AfterUp::GoDown;
        }
        let during = self.delay.of_probe();
        match during.zip(self.before_probe) {
            Some((during, before)) if during <= self.tolerated(before) => AfterUp::Again,
            _ => AfterUp::GoDown,
        }
    }

    /// What a round-trip time may rise to while it counts as unchanged.
    fn tolerated(&self, before: f64) -> f64 {
        let slack = (self.parameters.gamma - 1.0) * before;
        before + slack.min(self.parameters.gamma_cap.as_secs_f64())
    }

    /// A sample confirmed the bandwidth.
    pub(crate) fn on_bandwidth_confirmed(&mut self) {
        self.rounds_unconfirmed = 0;
    }

    /// A bandwidth of so many bytes per second ages.
    pub(crate) fn on_aged(&mut self, bandwidth: f64) {
        if self.parameters.restarts_unaged {
            self.unaged = self.unaged.max(bandwidth);
        }
    }

    /// What the bandwidth was before it aged for a queue that was another's; zero if none did.
    pub(crate) fn unaged(&self) -> f64 {
        self.unaged
    }

    /// Algorithm 2, at the end of each Cruise.
    pub(crate) fn end_cruise(&mut self, common: &Common) -> CruiseEnd {
        let p = &self.parameters;
        let propagation = self.delay.long_term_min().or(common.min_rtt.get());
        let Some((cruise, propagation)) = self.delay.cruise_min().zip(propagation) else {
            return CruiseEnd::Refill;
        };
        if !p.dual_mode {
            return CruiseEnd::Refill;
        }
        if cruise <= p.lambda1 * propagation {
            self.unaged = 0.0;
        }
        match self.mode {
            Mode::Own => {
                self.filled = if cruise > p.lambda1 * propagation { self.filled + 1 } else { 0 };
                if self.filled >= p.eta1 {
                    (self.mode, self.filled) = (Mode::BbrV2, 0);
                    return CruiseEnd::Restart;
                }
            }
            Mode::BbrV2 => {
                self.empty = if cruise <= p.lambda2 * propagation { self.empty + 1 } else { 0 };
                if self.empty >= p.eta2 {
                    (self.mode, self.empty) = (Mode::Own, 0);
                }
            }
        }
        CruiseEnd::Refill
    }

    /// Takes in a sample, after the phases were decided on what was known before it. True when old bandwidth samples are
    /// to be forgotten (Algorithm 1, or too long without news).
    pub(crate) fn on_sample(&mut self, common: &Common, sample: &Sample) -> bool {
        if sample.return_path_changed {
            self.delay = Delay::new(&self.parameters);
        }
        let mut advance = false;
        if sample.round_start {
            self.rounds_unconfirmed += 1;
            advance = self.is_own_mode() && !sample.limited && self.bandwidth_is_old(common);
            if advance {
                self.rounds_unconfirmed = 0;
            }
            (self.round_rate, self.round_sent_at) = (0.0, sample.sent_at);
        }
        self.losses.on_sample(sample, common.phase());
        self.round_rate = self.round_rate.max(sample.rate.unwrap_or(0.0));
        self.delay.on_sample(sample, common.phase(), common.rounds.count);
        advance
    }

    fn bandwidth_is_old(&self, common: &Common) -> bool {
        let reference = match self.parameters.decrease_reference {
            Reference::Window => self.delay.recent_min(),
            Reference::RtProp => common.min_rtt.get(),
        };
        let waits = matches!(common.phase(), Phase::Cruise | Phase::Down | Phase::DownSlight);
        let risen = self
            .delay
            .current_min()
            .zip(reference)
            .is_some_and(|(current, reference)| current > self.parameters.theta * reference);
        (waits && risen && !self.is_held_down(common))
            || self.rounds_unconfirmed >= self.parameters.safety_rounds
    }

    /// Whether the round that ends brought what Down let out: then its rate is no news of the path, as that of an application that
    /// sends little. Where jitter lets each second round be a slow one, the bandwidth would fall by a quarter with each otherwise. The
    /// fastest sample of a round is as fast as it was paced unless the path carries less, if only a hundredth less: then a Down cannot drain
    /// the queue, and does not end before the bandwidth ages.
    fn is_held_down(&self, common: &Common) -> bool {
        let down = matches!(common.phase(), Phase::Down | Phase::DownSlight);
        let paced = common.pacing.unwrap_or(f64::INFINITY);
        down && self.round_sent_at >= common.phases.since() && self.round_rate >= paced
    }

    /// Algorithm 3: seconds of jitter that the window has to cover on top of RTprop.
    pub(crate) fn compensation(&self, common: &Common) -> f64 {
        let Some(propagation) = common.min_rtt.get() else { return 0.0 };
        let jitter = self.delay.jitter();
        if jitter > self.parameters.mu * propagation { jitter } else { 0.0 }
    }
}
