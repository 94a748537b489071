use hawser_policy::{Ack, ControllerInit, Snapshot};

/// Upper bound of any window, 1 TiB: far above every bandwidth-delay product, far below where `f64` loses bytes.
pub(crate) const MAXIMUM: f64 = (1u64 << 40) as f64;

/// A congestion window with its slow-start threshold, and the rules that all loss-based controllers share.
///
/// Invariant: two datagrams <= window <= 1 TiB, and never NaN, whatever is asked of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    bytes: f64,
    /// Infinite until the first slow start ends.
    threshold: f64,
    datagram: f64,
}

impl Window {
    pub(crate) fn new(init: &ControllerInit) -> Window {
        let mut window = Window {
            bytes: 0.0,
            threshold: f64::INFINITY,
            datagram: f64::from(init.max_datagram_size.max(1)),
        };
        window.set(init.initial_window as f64);
        if let Some(snapshot) = &init.snapshot {
            window.take_over(snapshot);
        }
        window
    }

    /// Takes over from another controller on a running path, or what was
    /// known of a 4-tuple to which the path is back.
    pub(crate) fn take_over(&mut self, from: &Snapshot) {
        let delivered_per_round = from.max_delivery_rate.map_or(0, |rate| rate.bytes_in(from.min_rtt));
        let wanted = from.bytes_in_flight.max(delivered_per_round) as f64;
        // Never more than the predecessor allowed: the path has not shown that it carries more.
        self.set(wanted.max(4.0 * self.datagram).min(from.congestion_window as f64));
        // BBR has no threshold; for it "the pipe is full" says that start-up is over.
        let is_over = from.pipe_full && from.slow_start_threshold == u64::MAX;
        let was_in_slow_start = !is_over && from.congestion_window < from.slow_start_threshold;
        self.threshold = match (was_in_slow_start, from.slow_start_threshold) {
            (false, _) => self.bytes,
            (true, u64::MAX) => f64::INFINITY,
            (true, threshold) => threshold as f64,
        };
    }

    /// The window in whole bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    pub(crate) fn exact(&self) -> f64 {
        self.bytes
    }

    pub(crate) fn datagram(&self) -> f64 {
        self.datagram
    }

    /// The threshold in bytes, `u64::MAX` before the first congestion.
    pub(crate) fn threshold(&self) -> u64 {
        if self.threshold.is_finite() { self.threshold as u64 } else { u64::MAX }
    }

    pub(crate) fn in_slow_start(&self) -> bool {
        self.bytes < self.threshold
    }

    /// Whether this is the slow start at the beginning of the path, with nothing known of its capacity.
    pub(crate) fn in_first_slow_start(&self) -> bool {
        self.threshold.is_infinite()
    }

    /// RFC 9002 section 7.2: the minimum window is two datagrams.
    fn minimum(&self) -> f64 {
        2.0 * self.datagram
    }

    pub(crate) fn set(&mut self, bytes: f64) {
        // `f64::max` drops a NaN, so the invariant holds even if a formula went wrong.
        self.bytes = bytes.max(self.minimum()).min(MAXIMUM.max(self.minimum()));
    }

    pub(crate) fn grow(&mut self, bytes: f64) {
        self.set(self.bytes + bytes);
    }

    /// A step of congestion avoidance, which coupled controllers also take downwards. The threshold follows, so that
    /// a step down does not start slow start again.
    pub(crate) fn step(&mut self, bytes: f64) {
        self.grow(bytes);
        self.threshold = self.threshold.min(self.bytes);
    }

    /// Infinite where slow start ends with a loss only.
    pub(crate) fn exact_threshold(&self) -> f64 {
        self.threshold
    }

    /// Adds `bytes` in slow start, not beyond the threshold; returns what is left for congestion avoidance.
    pub(crate) fn grow_to_threshold(&mut self, bytes: f64) -> f64 {
        let taken = bytes.min((self.threshold - self.bytes).max(0.0));
        self.grow(taken);
        bytes - taken
    }

    /// Ends slow start here.
    pub(crate) fn set_threshold_here(&mut self) {
        self.threshold = self.bytes;
    }

    /// Slow start from here up to a threshold, perhaps an infinite one.
    pub(crate) fn start_below(&mut self, bytes: f64, threshold: f64) {
        self.set(bytes);
        // `f64::max` drops a NaN.
        self.threshold = threshold.max(self.bytes);
    }

    /// No more than this, without a slow start back to what it was.
    pub(crate) fn limit(&mut self, bytes: f64) {
        self.set(self.bytes.min(bytes));
        self.threshold = self.threshold.min(bytes.max(self.bytes));
    }

    /// One congestion event: window and threshold become `factor` of the window.
    //= rfc9002-7.3.1-1: loss or an ECN mark ends slow start
    //= rfc9002-7.3.2-2: the window becomes the slow start threshold
    pub(crate) fn reduce(&mut self, factor: f64) {
        self.set(self.bytes * factor);
        self.threshold = self.bytes;
    }

    /// RFC 9002 section 7.6.2: persistent congestion leaves the minimum window; slow start leads back to the threshold.
    //= rfc9002-7.6.2-4: persistent congestion reduces the window to the least
    pub(crate) fn collapse(&mut self) {
        self.bytes = self.minimum();
    }

    /// Undoes a reduction; what grew since then stays if it is more.
    pub(crate) fn restore(&mut self, before: &Window) {
        self.set(self.bytes.max(before.bytes));
        self.threshold = self.threshold.max(before.threshold);
    }

    /// RFC 9000 section 9.4: a new network path starts from the initial window.
    pub(crate) fn restart(&mut self, initial_window: u64) {
        self.threshold = f64::INFINITY;
        self.set(initial_window as f64);
    }

    pub(crate) fn set_datagram(&mut self, bytes: u16) {
        self.datagram = f64::from(bytes.max(1));
        self.set(self.bytes);
    }
}

/// Acknowledged bytes that may open the window: none of those sent before the recovery epoch began (RFC 9002
/// section 7.3.2), and none at all while the application leaves the window unused (section 7.8).
//= rfc9002-7.8-1: a window that is not used does not grow
pub(crate) fn bytes_that_count(ack: &Ack) -> f64 {
    if ack.limited_by.leaves_window_unused() {
        0.0
    } else {
        ack.bytes.saturating_sub(ack.bytes_in_recovery) as f64
    }
}
