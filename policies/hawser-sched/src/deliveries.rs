//! How many packets a path delivers within a time: the New Reno model of LATE and MAMS.
//!
//! A round sends the window. With the loss rate `l`, `w (1-l)` packets arrive; then the window grows (nothing was lost), is
//! halved (fast recovery), or is reset after a timeout (fewer than three packets survived, so that no duplicate
//! acknowledgements tell). The expectation over the three cases is taken round by round until the time is used up (LATE: Yang,
//! Wang and others 2021; MAMS: Yang and others, IEEE/ACM ToN 2024, equations 9 to 21).

use hawser_policy::PathView;

use crate::arrival::paced_window;
use crate::placement::datagram;

/// A path as the model sees it; times in seconds, windows in packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NewReno {
    pub(crate) window: f64,
    pub(crate) threshold: f64,
    pub(crate) rtt: f64,
    /// The retransmission timeout.
    pub(crate) timeout: f64,
    /// 0 to 1.
    pub(crate) loss: f64,
}

/// Longest timeout, in seconds (RFC 6298 section 2.5).
const MAX_TIMEOUT: f64 = 60.0;

/// Times that differ by less are equal.
const TOLERANCE: f64 = 1e-9;

/// Rounds that are followed at most: a bound on the work, far beyond what a scheduler asks for.
const MAX_ROUNDS: u32 = 64;

impl NewReno {
    /// A path by what is known of it; `loss` is given because schedulers differ in where they take it from.
    pub(crate) fn of(path: &PathView, loss: f64) -> Self {
        let window = paced_window(path) as f64 / datagram(path) as f64;
        NewReno {
            window,
            threshold: if path.in_slow_start { f64::INFINITY } else { window },
            rtt: path.smoothed_rtt.as_secs_f64(),
            timeout: path.probe_timeout.as_secs_f64(),
            loss,
        }
    }

    /// Packets that are expected to arrive within `budget` seconds. Branches less likely than `least` are cut off.
    pub(crate) fn deliveries(&self, budget: f64, least: f64) -> f64 {
        self.expected(budget, 1.0, least, MAX_ROUNDS)
    }

    fn expected(&self, budget: f64, likelihood: f64, least: f64, rounds: u32) -> f64 {
        if budget < self.rtt / 2.0 - TOLERANCE || likelihood < least || rounds == 0 || self.rtt <= 0.0 {
            return 0.0;
        }
        let sent = (self.window + TOLERANCE).floor();
        if sent < 1.0 {
            return 0.0;
        }
        let [clean, recovery, timeout] = outcomes(sent, self.loss);
        let mut expected = sent * (1.0 - self.loss);
        for (probability, next, cost) in [
            (clean, self.after_clean(), self.rtt),
            (recovery, self.after_recovery(), self.rtt),
            (timeout, self.after_timeout(), self.timeout.max(self.rtt)),
        ] {
            if probability > 0.0 {
                let rest = next.expected(budget - cost, likelihood * probability, least, rounds - 1);
                expected += probability * rest;
            }
        }
        expected
    }

    pub(crate) fn after_clean(&self) -> Self {
        let slow_start = self.window < self.threshold;
        let window = if slow_start { (2.0 * self.window).min(self.threshold) } else { self.window + 1.0 };
        NewReno { window, ..*self }
    }

    pub(crate) fn after_recovery(&self) -> Self {
        let half = (self.window / 2.0).max(2.0);
        NewReno { window: half, threshold: half, ..*self }
    }

    pub(crate) fn after_timeout(&self) -> Self {
        let threshold = (self.window / 2.0).max(2.0);
        NewReno { window: 1.0, threshold, timeout: (2.0 * self.timeout).min(MAX_TIMEOUT), ..*self }
    }
}

/// How likely it is that of `sent` packets none is lost, that some are and at least three survive, that fewer do (MAMS, table
/// II, for few packets as they must be: with less than four sent each loss ends in a timeout).
pub fn outcomes(sent: f64, loss: f64) -> [f64; 3] {
    let arrive = 1.0 - loss;
    let clean = libm::pow(arrive, sent);
    if sent < 4.0 {
        return [clean, 0.0, 1.0 - clean];
    }
    let two = sent * (sent - 1.0) / 2.0 * arrive.powi(2) * libm::pow(loss, sent - 2.0);
    let one = sent * arrive * libm::pow(loss, sent - 1.0);
    let timeout = (libm::pow(loss, sent) + one + two).min(1.0 - clean);
    [clean, (1.0 - clean - timeout).max(0.0), timeout]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MAMS, section V: expected deliveries without a limit of capacity.
    #[test]
    fn expected_deliveries_are_those_of_the_model() {
        for (budget, window, threshold, rtt, timeout, loss, expected) in [
            (0.075, 10.0, 64.0, 0.05, 0.25, 0.0, 30.0),
            (0.075, 10.0, 64.0, 0.05, 0.25, 0.01, 28.2801),
            (0.075, 10.0, 64.0, 0.05, 0.25, 0.10, 18.2072),
            (0.175, 10.0, 64.0, 0.05, 0.25, 0.01, 98.2758),
            (0.175, 10.0, 8.0, 0.05, 0.25, 0.05, 31.1114),
            (0.150, 32.0, 16.0, 0.02, 0.20, 0.02, 142.5032),
        ] {
            let path = NewReno { window, threshold, rtt, timeout, loss };
            let found = path.deliveries(budget, 0.0);
            assert!((found - expected).abs() < 1e-3, "{path:?}: {found}");
        }
    }

    #[test]
    fn the_three_outcomes_are_all_there_are() {
        for sent in 1..=200 {
            for loss in [0.0, 0.01, 0.1, 0.5, 0.99, 1.0] {
                let outcomes = outcomes(f64::from(sent), loss);
                let sum: f64 = outcomes.iter().sum();
                assert!(
                    (sum - 1.0).abs() < 1e-12 && outcomes.iter().all(|part| *part >= 0.0),
                    "{sent} {loss}"
                );
            }
        }
    }

    #[test]
    fn unlikely_branches_hardly_matter() {
        let path = NewReno { window: 100.0, threshold: 64.0, rtt: 0.02, timeout: 0.2, loss: 0.01 };
        let (exact, cut) = (path.deliveries(0.15, 0.0), path.deliveries(0.15, 1e-4));
        assert!((exact - cut).abs() / exact < 0.01, "{exact} {cut}");
    }
}
