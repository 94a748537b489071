//! Rate and window by the forecast.

use std::time::Duration;

use hawser_policy::{Ack, CongestionController, ControllerInit, Loss, PathId, Rate, Siblings, Time};

use super::state::Shared;

/// Sends at what the path will carry at the least, whatever is lost. Until that is known the window is the initial one.
#[derive(Debug)]
pub(super) struct LeapController {
    shared: Shared,
    path: PathId,
    /// The window over what the forecast and the least round-trip time make.
    headroom: f64,
    initial_window: u64,
    datagram: u64,
    min_rtt: Duration,
    /// The forecast, in bit/s.
    low: Option<f64>,
}

impl LeapController {
    pub(super) fn new(shared: Shared, headroom: f64, init: &ControllerInit) -> Self {
        LeapController {
            low: shared.low(init.path),
            shared,
            path: init.path,
            headroom,
            initial_window: init.initial_window,
            datagram: init.max_datagram_size.into(),
            min_rtt: init.snapshot.map_or(Duration::ZERO, |snapshot| snapshot.min_rtt),
        }
    }
}

impl CongestionController for LeapController {
    fn name(&self) -> &'static str {
        super::Leap::NAME
    }

    fn on_ack(&mut self, ack: &Ack, _: &Siblings<'_>) {
        self.min_rtt = ack.min_rtt;
        self.low = self.shared.low(self.path);
    }

    /// The forecast alone says how much a path carries; losses are made good by repair symbols.
    fn on_loss(&mut self, _: &Loss, _: &Siblings<'_>) {}

    fn on_path_reset(&mut self, _: Time) {
        self.shared.forget(self.path);
        self.low = None;
    }

    fn on_max_datagram_size(&mut self, bytes: u16) {
        self.datagram = bytes.into();
    }

    fn window(&self) -> u64 {
        let bytes = |low: f64| (self.headroom * low / 8.0 * self.min_rtt.as_secs_f64()) as u64;
        self.low.map_or(self.initial_window, bytes).max(2 * self.datagram)
    }

    fn in_slow_start(&self) -> bool {
        self.low.is_none()
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.low.map(|low| Rate::from_bits_per_second(low.max(1.0) as u64))
    }
}
