use super::interval::Measured;
use super::settings::Settings;
use super::utility::utility;

/// No path carries more, Mbit/s.
const MOST: f64 = 1e6;
/// A step is no more than this share of the path's own rate, however much the others have.
const MOST_OF_OWN: f64 = 0.5;

/// Learns the rate of a path: doubles it while the utility rises, then follows the gradient of pairs of intervals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Learner {
    settings: Settings,
    /// Mbit/s.
    rate: f64,
    /// Not below this.
    least: f64,
    phase: Phase,
    /// Whether the last change was upwards, and how many in a row were like it.
    upwards: bool,
    confidence: f64,
    /// How often in a row a change reached its bound.
    reached: f64,
}

/// What is learned.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The rate doubles; that of the interval before, and what it showed.
    Starting(Option<(f64, Measured)>),
    Probing,
}

/// Rates to be tried next; all in Mbit/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Trial {
    /// One interval.
    Single(f64),
    /// Two, in either order.
    Pair { low: f64, high: f64 },
}

impl Learner {
    pub(super) fn new(settings: Settings, rate: f64, least: f64, starts: bool) -> Learner {
        let phase = if starts { Phase::Starting(None) } else { Phase::Probing };
        let mut learner =
            Learner { settings, rate: 0.0, least, phase, upwards: true, confidence: 0.0, reached: 0.0 };
        learner.set(rate);
        learner
    }

    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    pub(super) fn is_starting(&self) -> bool {
        matches!(self.phase, Phase::Starting(_))
    }

    /// The least rate, which follows the round-trip time.
    pub(super) fn set_least(&mut self, least: f64) {
        self.least = least;
    }

    fn set(&mut self, rate: f64) {
        self.rate = rate.max(self.least).min(MOST.max(self.least));
    }

    /// What shares are of.
    fn reference(&self, others: f64) -> f64 {
        if self.settings.of_total { self.rate + others } else { self.rate }
    }

    /// What to try now, while the other paths have published so much.
    pub(super) fn trial(&self, others: f64) -> Trial {
        if self.is_starting() {
            return Trial::Single(self.rate);
        }
        let step = (self.settings.step * self.reference(others)).min(MOST_OF_OWN * self.rate);
        Trial::Pair { low: self.rate - step, high: self.rate + step }
    }

    /// What an interval at the present rate showed, in the beginning.
    pub(super) fn start(&mut self, measured: Measured, others: f64) {
        let Phase::Starting(before) = self.phase else { return };
        let utility = |measured: &Measured| utility(&self.settings, measured, others);
        match before {
            Some((rate, at_half)) if utility(&measured) <= utility(&at_half) => {
                self.phase = Phase::Probing;
                self.set(rate);
            }
            _ => {
                self.phase = Phase::Starting(Some((self.rate, measured)));
                self.set(2.0 * self.rate);
            }
        }
    }

    /// What a pair showed. The utilities of both are taken at one reading of the other paths' rates: what those changed meanwhile is
    /// not this path's doing. A pair that was not sent as planned teaches nothing.
    pub(super) fn learn(&mut self, low: &Measured, high: &Measured, planned: f64, others: f64) {
        let apart = high.rate - low.rate;
        if apart < planned / 2.0 {
            return;
        }
        let gain = utility(&self.settings, high, others) - utility(&self.settings, low, others);
        self.follow(gain / apart, others);
    }

    /// A step along the gradient: larger with each one in the same direction, and bounded; the bound grows while it is reached.
    fn follow(&mut self, gradient: f64, others: f64) {
        let upwards = gradient > 0.0;
        if upwards == self.upwards {
            self.confidence += 1.0;
        } else {
            (self.upwards, self.confidence, self.reached) = (upwards, 1.0, 0.0);
        }
        let Settings { theta, bound, bound_step, .. } = self.settings;
        let wanted = (self.confidence * theta * gradient).abs();
        let reference = self.reference(others);
        let most = (bound + self.reached * bound_step) * reference;
        let change = wanted.min(most);
        if wanted > most {
            self.reached += 1.0;
        } else {
            // As often as it takes for such a change to be allowed.
            let needed = ((wanted / reference.max(f64::MIN_POSITIVE) - bound) / bound_step).ceil();
            self.reached = needed.clamp(0.0, self.reached);
        }
        self.set(if upwards { self.rate + change } else { self.rate - change });
    }
}

#[cfg(test)]
mod tests;
