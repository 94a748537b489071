//! The round-trip time without queue, and the phase that looks for it (draft-ietf-ccwg-bbr section 5.3.4).

use std::time::Duration;

use hawser_policy::{ParameterInfo, Parameters, Time};

/// How long ProbeRTT lasts at least.
const PROBE_DURATION: Duration = Duration::from_millis(200);

/// What RTprop is made of where packets overtake each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reordered {
    /// Smoothed round-trip times.
    Smoothed,
    /// Samples, as the family is published: the least one is of the luckiest packet.
    Least,
}

impl Reordered {
    const NAME: &'static str = "reordered_rtt";

    pub(crate) fn parameter() -> ParameterInfo {
        ParameterInfo::choice(Self::NAME, ["smoothed", "least"])
            .meaning("what RTprop is made of where packets overtake each other; least: as published")
            .source("Hawser")
    }

    pub(crate) fn read(parameters: &Parameters) -> Reordered {
        match parameters.choice(Self::NAME) {
            "least" => Reordered::Least,
            _ => Reordered::Smoothed,
        }
    }
}

/// RTprop: a minimum over ten seconds, fed by one over the probing interval.
#[derive(Clone, Debug)]
pub(crate) struct MinRtt {
    /// How long a minimum holds.
    window: Duration,
    /// How long without a new minimum until it is looked for.
    interval: Duration,
    minimum: Option<Duration>,
    minimum_at: Time,
    probe_minimum: Option<Duration>,
    probe_minimum_at: Time,
    expired: bool,
    /// In ProbeRTT, once little is in flight: when it may end.
    done_at: Option<Time>,
    round_done: bool,
}

/// What ProbeRTT comes to with an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProbeRtt {
    /// It goes on.
    Wait,
    /// Little is in flight: from now on a round trip counts.
    Begin,
    /// It is over.
    Done,
}

impl MinRtt {
    pub(crate) fn new(window: Duration, interval: Duration, now: Time) -> MinRtt {
        MinRtt {
            window,
            interval,
            minimum: None,
            minimum_at: now,
            probe_minimum: None,
            probe_minimum_at: now,
            expired: false,
            done_at: None,
            round_done: false,
        }
    }

    /// From the predecessor on the same path.
    pub(crate) fn seed(&mut self, minimum: Duration, at: Time) {
        if !minimum.is_zero() {
            (self.minimum, self.minimum_at) = (Some(minimum), at);
            (self.probe_minimum, self.probe_minimum_at) = (Some(minimum), at);
        }
    }

    /// Forgets everything: another network path.
    pub(crate) fn restart(&mut self, now: Time) {
        *self = MinRtt::new(self.window, self.interval, now);
    }

    /// Seconds; `None` before the first sample.
    pub(crate) fn get(&self) -> Option<f64> {
        self.minimum.map(|minimum| minimum.as_secs_f64())
    }

    pub(crate) fn duration(&self) -> Duration {
        self.minimum.unwrap_or_default()
    }

    /// Takes in a sample, or the absence of one.
    pub(crate) fn on_ack(&mut self, now: Time, rtt: Option<Duration>) {
        self.expired = now > self.probe_minimum_at + self.interval;
        if let Some(rtt) = rtt.filter(|rtt| self.expired || self.probe_minimum.is_none_or(|min| *rtt < min)) {
            (self.probe_minimum, self.probe_minimum_at) = (Some(rtt), now);
        }
        let outdated = now > self.minimum_at + self.window;
        if let Some(probe) =
            self.probe_minimum.filter(|probe| outdated || self.minimum.is_none_or(|min| *probe < min))
        {
            (self.minimum, self.minimum_at) = (Some(probe), self.probe_minimum_at);
        }
    }

    /// How long without a new minimum until it is looked for.
    pub(crate) fn interval(&self) -> Duration {
        self.interval
    }

    /// Whether the last acknowledgement found the minimum too old.
    pub(crate) fn expired(&self) -> bool {
        self.expired
    }

    /// ProbeRTT begins.
    pub(crate) fn enter(&mut self) {
        (self.done_at, self.round_done) = (None, false);
    }

    /// An acknowledgement in ProbeRTT. `quiet`: no more is in flight than ProbeRTT allows.
    pub(crate) fn probe(&mut self, now: Time, quiet: bool, round_start: bool) -> ProbeRtt {
        match self.done_at {
            None if quiet => {
                (self.done_at, self.round_done) = (Some(now + PROBE_DURATION), false);
                ProbeRtt::Begin
            }
            None => ProbeRtt::Wait,
            Some(_) => {
                self.round_done |= round_start;
                if self.round_done && self.finish(now) { ProbeRtt::Done } else { ProbeRtt::Wait }
            }
        }
    }

    /// Whether the time is over; then the next probe is an interval away. Also asked after silence, during which nothing
    /// was in flight anyway.
    pub(crate) fn finish(&mut self, now: Time) -> bool {
        let done = self.done_at.is_some_and(|at| now > at);
        if done {
            self.probe_minimum_at = now;
        }
        done
    }
}
