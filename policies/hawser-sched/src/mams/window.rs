//! How a window changes from round to round, and what the three outcomes of a round are.

use crate::deliveries::NewReno;

/// The congestion controller that MAMS assumes. With another one than is installed the number of deliveries is fiction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum MamsWindowModel {
    /// New Reno as QUIC has it: a probe timeout leaves half of the window, a second one in a row the least there is (RFC 9002
    /// section 7.6).
    #[default]
    NewReno,
    /// New Reno as TCP has it: after a timeout the window is one packet.
    Tcp,
    /// A window that neither grows nor is reset, and of which losses take three tenths: what CUBIC and the BBR family do
    /// within a cycle.
    Steady,
}

/// The least window that QUIC leaves, in packets.
const LEAST_WINDOW: f64 = 2.0;

/// What a loss leaves of a steady window.
const STEADY_LEAVES: f64 = 0.7;

/// A window at the beginning of a round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Window {
    pub(super) newreno: NewReno,
    /// Timeouts in a row.
    timeouts: u32,
}

impl Window {
    pub(super) fn new(newreno: NewReno) -> Self {
        Window { newreno, timeouts: 0 }
    }

    /// The same for all that follows: in congestion avoidance the threshold does not matter, and any that is exceeded is as good
    /// as another. `whole` also counts the window in whole packets, as rounds do.
    pub(super) fn normalised(mut self, whole: bool) -> Self {
        let NewReno { window, threshold, .. } = &mut self.newreno;
        if whole {
            *window = window.round();
        }
        if *window >= *threshold {
            *threshold = LEAST_WINDOW.min(*window);
        }
        self.timeouts = self.timeouts.min(1);
        self
    }

    /// All that two windows may differ in.
    pub(super) fn bits(&self) -> [u64; 4] {
        let NewReno { window, threshold, timeout, .. } = self.newreno;
        [window.to_bits(), threshold.to_bits(), timeout.to_bits(), u64::from(self.timeouts)]
    }

    /// The window after a round without loss, after one with fast recovery, and after a timeout.
    pub(super) fn after(&self, model: MamsWindowModel) -> [Window; 3] {
        let next = |newreno, timeouts| Window { newreno, timeouts };
        let timeouts = self.timeouts + 1;
        let NewReno { window, .. } = self.newreno;
        let after_timeout = self.newreno.after_timeout();
        match model {
            MamsWindowModel::Tcp => [
                next(self.newreno.after_clean(), 0),
                next(self.newreno.after_recovery(), 0),
                next(after_timeout, timeouts),
            ],
            MamsWindowModel::NewReno => {
                let half = (window / 2.0).max(LEAST_WINDOW);
                let window = if self.timeouts > 0 { LEAST_WINDOW } else { half };
                [
                    next(self.newreno.after_clean(), 0),
                    next(self.newreno.after_recovery(), 0),
                    next(NewReno { window, threshold: half, ..after_timeout }, timeouts),
                ]
            }
            MamsWindowModel::Steady => {
                let less = (window * STEADY_LEAVES).max(LEAST_WINDOW);
                [
                    next(self.newreno, 0),
                    next(NewReno { window: less, ..self.newreno }, 0),
                    next(NewReno { window: less, timeout: after_timeout.timeout, ..self.newreno }, timeouts),
                ]
            }
        }
    }
}
