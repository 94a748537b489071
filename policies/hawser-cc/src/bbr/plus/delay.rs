//! Round-trip times by round (table 4.1 of the thesis).

use std::time::Duration;

use hawser_policy::Time;

use super::super::common::Sample;
use super::super::filter::RoundWindow;
use super::super::phase::Phase;
use super::PlusParameters;

/// What stands for the round-trip time of a round when it is compared with the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DelayStat {
    /// Least sample of the packets that left in the second half of the trial: sees the queue of the first half.
    TailMin,
    /// Moving average within the round: sees a queue that grows during it.
    RoundEwma,
    /// Least sample of the round, as printed: the first packet of a trial meets no queue, so it hardly ever sees one.
    RoundMin,
}

/// How long RTprop of Algorithm 2 reaches back; a competitor's standing queue must not become part of it.
const LONG_TERM: Duration = Duration::from_secs(120);
const LONG_TERM_ROUNDS: u64 = 1_500;
const EWMA_GAIN: f64 = 1.0 / 8.0;
/// The mean deviation starts at half of the first sample (RFC 9002 section 5.3), and that decays by a quarter with each further
/// one: after so many it is a hundredth.
const DEVIATION_WARM_UP: u32 = 16;
/// Gains of the smoothed round-trip time and of its mean deviation (RFC 9002 section 5.3).
const SMOOTHED_GAIN: f64 = 1.0 / 8.0;
const DEVIATION_GAIN: f64 = 1.0 / 4.0;
/// What is left of it for a sample that fell by more than the deviation.
const FALLING_SHARE: f64 = 1.0 / 8.0;

/// Which mean deviation stands for the jitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviationRule {
    /// As Linux' `tcp_rtt_estimator`: round-trip times that fall raise it by an eighth of what those raise it that rise. After a stall
    /// they fall.
    Linux,
    /// RFC 9002 section 5.3: both alike.
    Rfc9002,
}

/// Smoothed round-trip time and mean deviation, seconds.
#[derive(Clone, Copy, Debug)]
struct Deviation {
    rule: DeviationRule,
    smoothed: Option<f64>,
    mean: f64,
}

impl Deviation {
    fn new(rule: DeviationRule) -> Deviation {
        Deviation { rule, smoothed: None, mean: 0.0 }
    }

    fn on_sample(&mut self, rtt: f64) -> f64 {
        let Some(smoothed) = self.smoothed else {
            (self.smoothed, self.mean) = (Some(rtt), rtt / 2.0);
            return self.mean;
        };
        let error = rtt - smoothed;
        let rise = error.abs() - self.mean;
        let is_damped = self.rule == DeviationRule::Linux && error < 0.0 && rise > 0.0;
        self.mean += rise * DEVIATION_GAIN * if is_damped { FALLING_SHARE } else { 1.0 };
        self.smoothed = Some(smoothed + SMOOTHED_GAIN * error);
        self.mean
    }
}

/// One round.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    min: Option<f64>,
    ewma: Option<f64>,
}

impl Round {
    fn on_sample(&mut self, rtt: f64) {
        self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
        self.ewma = Some(self.ewma.map_or(rtt, |ewma| ewma + EWMA_GAIN * (rtt - ewma)));
    }
}

/// Least value of a long window, in two halves that take turns: it reaches back one to two windows.
#[derive(Clone, Debug, Default)]
struct LongTermMin {
    halves: [Option<f64>; 2],
    since: Time,
    since_round: u64,
}

impl LongTermMin {
    fn on_sample(&mut self, rtt: f64, now: Time, round: u64) {
        let old =
            now.since(self.since) > LONG_TERM && round.saturating_sub(self.since_round) > LONG_TERM_ROUNDS;
        if old {
            self.halves = [self.halves[1], None];
            (self.since, self.since_round) = (now, round);
        }
        self.halves[1] = Some(self.halves[1].map_or(rtt, |min| min.min(rtt)));
    }

    fn get(&self) -> Option<f64> {
        self.halves.iter().flatten().copied().reduce(f64::min)
    }
}

/// Round-trip times of this round, the last, some more, this Cruise, and of all.
#[derive(Clone, Debug)]
pub(super) struct Delay {
    stat: DelayStat,
    current: Round,
    previous: Round,
    cruise_min: Option<f64>,
    /// When the packets left whose samples are the tail of a trial or probe, and the least of them.
    tail: Option<(Time, Time)>,
    tail_min: Option<f64>,
    /// Up was over before a round was.
    short_probe: bool,
    /// Least of each of the last rounds, the present one not among them.
    recent: RoundWindow,
    deviation: Deviation,
    jitter: RoundWindow,
    samples: u32,
    long_term: LongTermMin,
}

impl Delay {
    pub(super) fn new(parameters: &PlusParameters) -> Delay {
        Delay {
            stat: parameters.delay_stat,
            current: Round::default(),
            previous: Round::default(),
            cruise_min: None,
            tail: None,
            tail_min: None,
            short_probe: false,
            recent: RoundWindow::new(parameters.reference_rounds),
            deviation: Deviation::new(parameters.deviation),
            jitter: RoundWindow::new(parameters.jitter_rounds),
            samples: 0,
            long_term: LongTermMin::default(),
        }
    }

    pub(super) fn on_sample(&mut self, sample: &Sample, phase: Phase, round: u64) {
        if sample.round_start {
            if let Some(min) = self.current.min {
                self.recent.next_round();
                self.recent.lower(min);
                self.previous = self.current;
            }
            self.current = Round::default();
            self.jitter.next_round();
        }
        let Some(rtt) = sample.rtt else { return };
        self.current.on_sample(rtt);
        self.samples = self.samples.saturating_add(1);
        let deviation = self.deviation.on_sample(sample.whole_rtt.unwrap_or(rtt));
        if self.samples > DEVIATION_WARM_UP {
            self.jitter.raise(deviation);
        }
        self.long_term.on_sample(rtt, sample.now, round);
        if phase == Phase::Cruise {
            self.cruise_min = Some(self.cruise_min.map_or(rtt, |min| min.min(rtt)));
        }
        if self.tail.is_some_and(|(from, to)| (from..=to).contains(&sample.sent_at)) {
            self.tail_min = Some(self.tail_min.map_or(rtt, |min| min.min(rtt)));
        }
    }

    pub(super) fn start_cruise(&mut self) {
        self.cruise_min = None;
    }

    /// A trial or probe that began at `from` ends: its second half is what counts as its tail.
    pub(super) fn watch_tail(&mut self, from: Time, now: Time) {
        self.tail = Some((from + now.since(from) / 2, now));
        self.tail_min = None;
    }

    /// Up ends, in which a round has ended or not.
    pub(super) fn end_probe(&mut self, round_ended: bool) {
        self.short_probe = !round_ended;
    }

    /// Before and during the trial. The round that ends brought the acknowledgements of Try1, the one before those of
    /// Refill.
    pub(super) fn of_try(&self) -> (Option<f64>, Option<f64>) {
        match self.stat {
            DelayStat::RoundEwma => (self.previous.ewma, self.current.ewma),
            DelayStat::RoundMin => (self.previous.min, self.current.min),
            DelayStat::TailMin => (self.previous.min, self.tail_min),
        }
    }

    /// During Up. As in the prototype it is the round that was acknowledged during Up; `tail_min` takes packets of Up. In a
    /// standing queue Up is over before a round is: then the round before it knows nothing of Up, and the one that began with Up
    /// and ends now is judged. Not what came during Up alone, since of fewer samples jitter makes the least one larger.
    pub(super) fn of_probe(&self) -> Option<f64> {
        match self.stat {
            DelayStat::TailMin => self.tail_min,
            DelayStat::RoundEwma | DelayStat::RoundMin if self.short_probe => self.current.min,
            DelayStat::RoundEwma | DelayStat::RoundMin => self.previous.min,
        }
    }

    pub(super) fn current_min(&self) -> Option<f64> {
        self.current.min
    }

    pub(super) fn cruise_min(&self) -> Option<f64> {
        self.cruise_min
    }

    pub(super) fn recent_min(&self) -> Option<f64> {
        self.recent.min()
    }

    pub(super) fn long_term_min(&self) -> Option<f64> {
        self.long_term.get()
    }

    /// Largest mean deviation of the last rounds, seconds.
    pub(super) fn jitter(&self) -> f64 {
        self.jitter.max().unwrap_or(0.0)
    }
}
