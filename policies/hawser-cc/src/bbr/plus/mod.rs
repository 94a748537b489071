//! What BBRv2+ adds to BBRv2 (Yang's thesis, Sorbonne 2022, chapter 4).
//!
//! The round-trip time of each round says whether a probe is safe: a gentle trial (Try1) goes before each, a successful
//! one (Up) is repeated at once (PostUp), and delay that rises although nothing is probed lets old bandwidth samples expire
//! (Algorithm 1). Where a loss-based flow keeps the queue filled, delay says nothing: then plain BBRv2 takes over until the
//! queue is seen empty again (Algorithm 2). Jitter is added to the window, since RTprop is no mean (Algorithm 3).

mod delay;
mod parameters;

use hawser_policy::Time;

pub(crate) use delay::DelayStat;
use parameters::Reference;
pub(crate) use parameters::{PlusParameters, describe};

use super::PlusState;
use super::common::{Common, Sample};
use super::phase::Phase;
use delay::Delay;
use hawser_learn::Random;

#[cfg(test)]
mod tests;

/// A path that carries this share of the pacing rate carries all of it.
const AS_PACED: f64 = 0.98;

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
    /// Rounds of Cruise until the next probe, and how many have passed.
    wait_rounds: u64,
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
            wait_rounds: parameters.wait_rounds,
            cruise_rounds: 0,
            before_probe: None,
            up_round: 0,
            round_rate: 0.0,
            round_sent_at: Time::ZERO,
            filled: 0,
            empty: 0,
            rounds_unconfirmed: 0,
            tries: 0,
            probes: 0,
        }
    }

    /// As new, for another network path.
    pub(crate) fn restarted(&self) -> Plus {
        Plus::new(self.parameters)
    }

    /// What an observer is told.
    pub(crate) fn state(&self, common: &Common) -> PlusState {
        PlusState {
            own_mode: self.is_own_mode(),
            tries: self.tries,
            probes: self.probes,
            compensation: self.compensation(common),
        }
    }

    pub(crate) fn is_own_mode(&self) -> bool {
        self.mode == Mode::Own
    }

    pub(crate) fn pick_wait(&mut self, random: &mut Random) {
        let extra =
            if self.parameters.wait_random == 0 { 0 } else { random.below(self.parameters.wait_random) };
        self.wait_rounds = self.parameters.wait_rounds + extra;
    }

    pub(crate) fn start_cruise(&mut self, common: &Common) {
        // Where the wait is longer than the time between two ProbeRTT, its rounds are counted across these: otherwise nothing
        // would ever be probed.
        let rtt = self.delay.current_min().or(common.min_rtt.get()).unwrap_or(0.0);
        if rtt * self.wait_rounds as f64 <= common.min_rtt.interval().as_secs_f64() {
            self.cruise_rounds = 0;
        }
        self.delay.start_cruise();
    }

    pub(crate) fn on_cruise_round(&mut self) {
        self.cruise_rounds += 1;
    }

    pub(crate) fn has_waited(&self) -> bool {
        self.cruise_rounds >= self.wait_rounds
    }

    /// Try1 ends; it began at `from`.
    pub(crate) fn end_try(&mut self, from: Time, now: Time) {
        self.delay.watch_tail(from, now);
    }

    /// Try2 ends: did the trial build a queue?
    pub(crate) fn after_try(&mut self) -> AfterTry {
        self.tries += 1;
        // Not when the wait ends: a trial that ProbeRTT cuts short on a long path follows at once.
        self.cruise_rounds = 0;
        let (before, during) = self.delay.of_try();
        if during.zip(before).is_some_and(|(during, before)| during > self.tolerated(before)) {
            return AfterTry::GoDown;
        }
        self.probes += 1;
        AfterTry::Probe
    }

    /// Up begins, the first time after a trial or once more.
    pub(crate) fn start_up(&mut self, common: &Common) {
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
    /// sends little. Where jitter lets each second round be a slow one, the bandwidth would fall by a quarter with each otherwise.
    fn is_held_down(&self, common: &Common) -> bool {
        let down = matches!(common.phase(), Phase::Down | Phase::DownSlight);
        let paced = common.pacing.unwrap_or(f64::INFINITY);
        down && self.round_sent_at >= common.phases.since() && self.round_rate >= AS_PACED * paced
    }

    /// Algorithm 3: seconds of jitter that the window has to cover on top of RTprop.
    pub(crate) fn compensation(&self, common: &Common) -> f64 {
        let Some(propagation) = common.min_rtt.get() else { return 0.0 };
        let jitter = self.delay.jitter();
        if jitter > self.parameters.mu * propagation { jitter } else { 0.0 }
    }
}
