use hawser_policy::{
    Ack, CongestionController, ControllerInit, Loss, LossCause, ParameterInfo, PolicyInfo, Siblings,
    Snapshot, Time,
};

use crate::window::{Window, bytes_that_count};

/// RFC 9002 section 7.3.2 and appendix B: kLossReductionFactor.
const LOSS_REDUCTION: f64 = 0.5;

/// NewReno as RFC 9002 section 7 and appendix B describe it: doubles per round trip up to the threshold, then one
/// datagram per round trip; halves once per recovery epoch.
#[derive(Clone, Debug)]
pub struct NewReno {
    /// What remains of the window after congestion.
    beta: f64,
    window: Window,
    /// Before the last reduction, to go back to if the losses turn out to be reordering.
    before_loss: Option<Window>,
    initial_window: u64,
}

impl NewReno {
    /// Its name in the registry.
    pub const NAME: &'static str = "newreno";

    /// A controller for a new or a running path.
    pub fn new(init: &ControllerInit) -> Self {
        NewReno::with_beta(init, LOSS_REDUCTION)
    }

    /// The same where `beta` of the window remains after congestion.
    pub fn with_beta(init: &ControllerInit, beta: f64) -> Self {
        NewReno { beta, window: Window::new(init), before_loss: None, initial_window: init.initial_window }
    }

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        PolicyInfo::new(NewReno::NAME, "one datagram more per round, half after congestion")
            .source("RFC 9002 section 7")
            .parameter(
                ParameterInfo::number("beta", 0.1..=0.95, LOSS_REDUCTION)
                    .meaning("what remains of the window after congestion")
                    .source("RFC 9002 section 7.3.2"),
            )
    }
}

impl CongestionController for NewReno {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn on_ack(&mut self, ack: &Ack, _siblings: &Siblings<'_>) {
        let left = self.window.grow_to_threshold(bytes_that_count(ack));
        // RFC 9002 section 7.3.3: at most one datagram per window acknowledged.
        self.window.grow(self.window.datagram() * left / self.window.exact());
    }

    fn on_loss(&mut self, loss: &Loss, _siblings: &Siblings<'_>) {
        if loss.new_epoch {
            self.before_loss = Some(self.window);
            self.window.reduce(self.beta);
        }
        if loss.cause == LossCause::Persistent {
            self.before_loss = None;
            self.window.collapse();
        }
    }

    fn on_spurious_loss(&mut self, _now: Time) {
        if let Some(before) = self.before_loss.take() {
            self.window.restore(&before);
        }
    }

    fn on_path_reset(&mut self, _now: Time) {
        self.window.restart(self.initial_window);
        self.before_loss = None;
    }

    fn on_path_return(&mut self, before: &Snapshot) {
        self.window.take_over(before);
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
}

#[cfg(test)]
mod tests;
