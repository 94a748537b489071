//! Paths with windows, for senders that decide packet by packet.
//!
//! Packets and acknowledgements run in a time of their own, which never goes back: in E1 frames overlap, and each finds the paths
//! as if nothing had been sent before.

use std::collections::VecDeque;

use hawser_learn::Ewma;

use crate::config::Kind;
use crate::network::PathTrace;
use crate::paths::OVERHEAD;
use crate::{Environment, PATHS, PathView};

/// A packet whose acknowledgement is on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlight {
    pub(crate) payload: f64,
    pub(crate) sent_at: f64,
    pub(crate) acknowledged_at: f64,
    /// The sender's mark.
    pub(crate) mark: u64,
}

/// A path as such a sender sees it.
#[derive(Clone, Debug)]
pub(crate) struct WindowedPath {
    /// Window of the frame, bytes.
    pub(crate) window: f64,
    /// As measured, seconds.
    pub(crate) rtt: f64,
    pub(crate) bytes_in_flight: f64,
    rate: f64,
    base_rtt: f64,
    measured: Ewma,
    free_at: f64,
    in_flight: VecDeque<InFlight>,
}

/// All paths.
#[derive(Clone, Debug)]
pub(crate) struct WindowedPaths {
    pub(crate) paths: [WindowedPath; PATHS],
    pub(crate) now: f64,
    /// Of the environment's time over this one.
    ahead: f64,
    /// The release of the frame that is being sent.
    release: Option<f64>,
}

impl WindowedPaths {
    pub(crate) fn new() -> Self {
        let path = || WindowedPath {
            window: 0.0,
            rtt: 0.0,
            bytes_in_flight: 0.0,
            rate: 0.0,
            base_rtt: 0.0,
            measured: Ewma::new(1.0 / 8.0),
            free_at: 0.0,
            in_flight: VecDeque::new(),
        };
        WindowedPaths { paths: [(); PATHS].map(|()| path()), now: 0.0, ahead: 0.0, release: None }
    }

    /// Comes to the environment's next unit; packets whose acknowledgements have come meanwhile.
    pub(crate) fn come_to(&mut self, environment: &Environment) -> Vec<InFlight> {
        let release = environment.unit().release;
        let mut acknowledged = Vec::new();
        if self.release != Some(release) {
            let is_another_session = self.release.is_none_or(|last| release < last);
            self.release = Some(release);
            if environment.config().kind == Kind::Episodic || is_another_session {
                acknowledged = self.empty();
                self.ahead = release - self.now;
            } else {
                self.now = self.now.max(release - self.ahead);
            }
        }
        for (path, view) in self.paths.iter_mut().zip(environment.paths()) {
            path.find(&view, environment.config().kind);
        }
        acknowledged
    }

    /// Waits for everything.
    fn empty(&mut self) -> Vec<InFlight> {
        let last = |path: &WindowedPath| path.in_flight.back().map_or(0.0, |packet| packet.acknowledged_at);
        self.now = self.paths.iter().map(last).fold(self.now, f64::max);
        let acknowledged = self.acknowledgements();
        self.paths.iter_mut().for_each(|path| path.free_at = self.now);
        acknowledged
    }

    /// Packets whose acknowledgements have come.
    pub(crate) fn acknowledgements(&mut self) -> Vec<InFlight> {
        let mut acknowledged = Vec::new();
        for path in &mut self.paths {
            while path.in_flight.front().is_some_and(|packet| packet.acknowledged_at <= self.now) {
                let Some(packet) = path.in_flight.pop_front() else { break };
                path.bytes_in_flight -= OVERHEAD * packet.payload;
                path.measured.update(packet.acknowledged_at - packet.sent_at);
                acknowledged.push(packet);
            }
        }
        acknowledged
    }

    /// Goes to the next acknowledgement.
    pub(crate) fn wait_for_one(&mut self) {
        let first = |path: &WindowedPath| path.in_flight.front().map(|packet| packet.acknowledged_at);
        let next = self.paths.iter().filter_map(first).fold(f64::INFINITY, f64::min);
        if next.is_finite() {
            self.now = self.now.max(next);
        }
    }

    /// Sends a packet on a path, from 0; when it has left, by the environment's clock.
    pub(crate) fn send(&mut self, environment: &Environment, path: usize, payload: f64, mark: u64) -> f64 {
        let (now, ahead) = (self.now, self.ahead);
        let (trace, path) = (&environment.traces()[path], &mut self.paths[path]);
        let starts = now.max(path.free_at);
        let bytes = OVERHEAD * payload;
        path.free_at = match environment.config().kind {
            Kind::Episodic => starts + 8.0 * bytes / path.rate,
            Kind::Continuous => PathTrace::departure(trace, starts + ahead, bytes) - ahead,
        };
        let acknowledged_at = path.free_at + path.base_rtt;
        path.bytes_in_flight += bytes;
        path.in_flight.push_back(InFlight { payload, sent_at: now, acknowledged_at, mark });
        path.free_at + ahead
    }
}

impl WindowedPath {
    /// What the frame finds.
    fn find(&mut self, view: &PathView, kind: Kind) {
        (self.window, self.rate, self.base_rtt) = (view.window, view.rate, view.base_rtt);
        // In E1 round-trip times are the trace's, without queues of this flow.
        self.rtt = match kind {
            Kind::Episodic => view.base_rtt,
            Kind::Continuous => self.measured.value().unwrap_or(view.base_rtt),
        };
    }

    /// Whether a packet fits into the window; one always does.
    pub(crate) fn has_room(&self, payload: f64) -> bool {
        self.in_flight.is_empty() || self.bytes_in_flight + OVERHEAD * payload <= self.window
    }
}
