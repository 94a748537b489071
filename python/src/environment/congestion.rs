//! A congestion controller that learns: a step per round trip of each path.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use hawser_policy::{
    Ack, CongestionController, ControllerFactory, ControllerInit, Loss, PolicyInfo, Siblings, Side, Time,
};
use numpy::PyArray1;
use pyo3::prelude::*;

use super::course::{Asker, Claim, Course, Next, Question};
use super::{BYTES_SCALE, RATE_SCALE, RTT_SCALE, saturated};
use crate::scenario::Source;
use crate::wrong;

const VALUES: usize = 6;
/// No shorter round trip is waited for.
const SHORTEST: Duration = Duration::from_millis(1);
/// Datagrams below which no window goes, and bytes above.
const LEAST_WINDOW: u64 = 2;
const MOST_WINDOW: f64 = 1e9;

/// Observation, reward, terminated, truncated, seconds since the start, path.
type Step<'py> = (Bound<'py, PyArray1<f32>>, f64, bool, bool, f64, Option<u32>);

/// A run whose controllers are asked from outside.
#[pyclass(module = "hawser._native")]
pub(crate) struct CongestionCourse {
    course: Course,
}

#[pymethods]
impl CongestionCourse {
    #[new]
    fn new(py: Python<'_>, source: Source, seed: u64) -> PyResult<Self> {
        let course = py.detach(|| {
            Course::start(&source, "congestion", seed, |registry, claim, side| {
                let fallback = registry.congestion("default").ok();
                registry.add_controllers(PolicyInfo::new("environment", "asked from outside"), move |_| {
                    Arc::new(Factory { claim: claim.clone(), side, end: None, fallback: fallback.clone() })
                });
                "environment"
            })
        })?;
        Ok(CongestionCourse { course })
    }

    /// The first observation.
    fn first<'py>(&mut self, py: Python<'py>) -> PyResult<Step<'py>> {
        self.next(py)
    }

    /// Multiplies the window by two to the power of `action`, -1 to 1; then the next observation.
    fn step<'py>(&mut self, py: Python<'py>, action: f64) -> PyResult<Step<'py>> {
        if !(-1.0..=1.0).contains(&action) {
            return Err(wrong(format!("action: expected -1 to 1, found {action}")));
        }
        self.course.answer(action);
        self.next(py)
    }
}

impl CongestionCourse {
    fn next<'py>(&mut self, py: Python<'py>) -> PyResult<Step<'py>> {
        match self.course.next(py)? {
            Next::Question(Question { observation, reward, now, path }) => {
                Ok((PyArray1::from_vec(py, observation), reward, false, false, now, path))
            }
            Next::End(ended) => {
                let observation = PyArray1::zeros(py, VALUES, false);
                Ok((observation, 0.0, ended.finished, !ended.finished, ended.seconds, None))
            }
        }
    }
}

/// All controllers of the connection that claimed the asker share it.
type Shared = Arc<std::sync::Mutex<Asker>>;

struct Factory {
    claim: Claim,
    /// The end that sends.
    side: Side,
    /// Of a connection: its asker, if it has one.
    end: Option<Shared>,
    fallback: Option<Arc<dyn ControllerFactory>>,
}

impl ControllerFactory for Factory {
    fn build(&self, init: &ControllerInit) -> Box<dyn CongestionController> {
        match (&self.end, &self.fallback) {
            (Some(asker), _) => Box::new(Asked::new(asker.clone(), init)),
            (None, Some(fallback)) => fallback.build(init),
            (None, None) => Box::new(hawser_cc::Cubic::new(init)),
        }
    }

    fn for_connection(&self, side: Side, _seed: u64) -> Option<Arc<dyn ControllerFactory>> {
        let mut claim = self.claim.lock().unwrap_or_else(PoisonError::into_inner);
        let asker = claim.take_if(|_| side == self.side);
        Some(Arc::new(Factory {
            claim: self.claim.clone(),
            side: self.side,
            end: asker.map(|asker| Arc::new(std::sync::Mutex::new(asker))),
            fallback: self.fallback.clone(),
        }))
    }
}

/// The controller in the run.
struct Asked {
    asker: Shared,
    path: u32,
    datagram: u64,
    window: u64,
    /// Since the last question: when that was, bytes acknowledged and lost.
    since: Time,
    acked: u64,
    lost: u64,
}

impl std::fmt::Debug for Asked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Asked").field("path", &self.path).field("window", &self.window).finish()
    }
}

impl Asked {
    fn new(asker: Shared, init: &ControllerInit) -> Self {
        Asked {
            asker,
            path: init.path.0,
            datagram: u64::from(init.max_datagram_size),
            window: init.initial_window,
            since: init.now,
            acked: 0,
            lost: 0,
        }
    }

    /// What the last round trip was like, and what it is worth.
    fn question(&self, ack: &Ack) -> Question {
        let seconds = ack.now.since(self.since).as_secs_f64().max(1e-9);
        let rate = self.acked as f64 * 8.0 / seconds;
        let loss = self.lost as f64 / (self.acked + self.lost).max(1) as f64;
        let (rtt, least) = (ack.smoothed_rtt.as_secs_f64(), ack.min_rtt.as_secs_f64().max(1e-6));
        let inflation = (rtt / least).max(1.0);
        let observation = vec![
            saturated(rate, RATE_SCALE),
            saturated(rtt, RTT_SCALE),
            saturated(inflation - 1.0, 1.0),
            loss as f32,
            saturated(self.window as f64, BYTES_SCALE),
            if ack.limited_by.leaves_window_unused() { 1.0 } else { 0.0 },
        ];
        let reward = (1.0 + rate / 1e6).log2() - 0.5 * inflation.log2() - 10.0 * loss;
        Question { observation, reward, now: ack.now.as_secs_f64(), path: Some(self.path) }
    }
}

impl CongestionController for Asked {
    fn name(&self) -> &'static str {
        "environment"
    }

    fn on_ack(&mut self, ack: &Ack, _siblings: &Siblings<'_>) {
        self.acked += ack.bytes;
        if ack.now.since(self.since) < ack.smoothed_rtt.max(SHORTEST) {
            return;
        }
        let question = self.question(ack);
        let answer = self.asker.lock().unwrap_or_else(PoisonError::into_inner).ask(question);
        let window = self.window as f64 * answer.unwrap_or(0.0).exp2();
        self.window = (window.min(MOST_WINDOW) as u64).max(LEAST_WINDOW * self.datagram);
        (self.since, self.acked, self.lost) = (ack.now, 0, 0);
    }

    fn on_loss(&mut self, loss: &Loss, _siblings: &Siblings<'_>) {
        self.lost += loss.bytes;
    }

    fn on_max_datagram_size(&mut self, bytes: u16) {
        self.datagram = u64::from(bytes);
    }

    fn window(&self) -> u64 {
        self.window
    }

    fn in_slow_start(&self) -> bool {
        false
    }
}
