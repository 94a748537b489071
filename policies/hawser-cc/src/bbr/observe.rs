//! What a controller of the family knows after each acknowledgement, for experiments: its phase, its bounds, its mode.

use std::fmt;
use std::sync::Arc;

use hawser_policy::Time;

use super::Model;
use super::common::Common;

/// State of a controller after an acknowledgement. Volumes in bytes, rates in bytes per second, times in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelState {
    /// Which of the controllers that the registry made, from zero.
    pub controller: u64,
    /// When.
    pub now: Time,
    /// Phase, such as `Cruise`.
    pub phase: &'static str,
    /// The bandwidth filter (BtlBW).
    pub bandwidth: f64,
    /// Short-term bound of the bandwidth; infinite without one.
    pub bandwidth_lo: f64,
    /// Short-term bound of the volume in flight, likewise.
    pub inflight_lo: f64,
    /// Long-term bound of the volume in flight, likewise.
    pub inflight_hi: f64,
    /// Round-trip time without queue (RTprop).
    pub propagation: Option<f64>,
    /// Congestion window.
    pub window: f64,
    /// Packet-timed rounds so far.
    pub rounds: u64,
    /// Moves between phases that the table does not have. They were not made.
    pub illegal_moves: u64,
    /// Of BBRv2+.
    pub plus: Option<PlusState>,
}

/// What BBRv2+ adds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlusState {
    /// Whether its own cycle runs, not that of BBRv2.
    pub own_mode: bool,
    /// Trials so far.
    pub tries: u64,
    /// Of these, the ones that led to a probe.
    pub probes: u64,
    /// Jitter that the window covers on top of RTprop (Algorithm 3).
    pub compensation: f64,
}

/// Is told of each acknowledgement.
pub trait ModelObserver: Send + Sync {
    /// State after an acknowledgement.
    fn on_state(&self, state: &ModelState);
}

/// An observer of one controller.
#[derive(Clone)]
pub(super) struct Watcher {
    observer: Arc<dyn ModelObserver>,
    controller: u64,
}

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "watcher of {}", self.controller)
    }
}

impl Watcher {
    /// `controller`: which of those that its registry made.
    pub(super) fn new(observer: Arc<dyn ModelObserver>, controller: u64) -> Watcher {
        Watcher { observer, controller }
    }

    pub(super) fn tell<M: Model>(&self, common: &Common, model: &M, now: Time) {
        let mut state = ModelState {
            controller: self.controller,
            now,
            phase: common.phase().name(),
            bandwidth: model.bandwidth(),
            bandwidth_lo: f64::INFINITY,
            inflight_lo: f64::INFINITY,
            inflight_hi: f64::INFINITY,
            propagation: common.min_rtt.get(),
            window: common.window,
            rounds: common.rounds.count,
            illegal_moves: common.phases.illegal_moves(),
            plus: None,
        };
        model.fill_state(common, &mut state);
        self.observer.on_state(&state);
    }
}
