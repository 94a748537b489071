//! A packet scheduler that learns: each question of the core is a step.

use std::sync::PoisonError;

use hawser_policy::{Assignment, Commands, Decision, PathView, Scheduler, SchedulerInit, SendView};
use numpy::PyArray1;
use pyo3::prelude::*;

use super::course::{Asker, Course, Next, Question};
use super::{BYTES_SCALE, RATE_SCALE, RTT_SCALE, saturated};
use crate::scenario::Source;
use crate::wrong;

/// Values of an observation per path, and of the connection.
const PER_PATH: usize = 7;
const COMMON: usize = 2;
/// More links than that no scenario of a learning task has.
const MOST_PATHS: usize = 16;

/// Observation, reward, terminated, truncated, seconds since the start.
type Step<'py> = (Bound<'py, PyArray1<f32>>, f64, bool, bool, f64);

/// A run whose scheduler is asked from outside.
#[pyclass(module = "hawser._native")]
pub(crate) struct SchedulerCourse {
    course: Course,
    paths: usize,
    /// Seconds since the start at the last step.
    at: f64,
}

#[pymethods]
impl SchedulerCourse {
    /// `paths` of the connection are seen, 1 to 16; a decision is about `quantum` datagrams, 1 to 1000.
    #[new]
    fn new(py: Python<'_>, source: Source, seed: u64, paths: usize, quantum: u64) -> PyResult<Self> {
        if !(1..=MOST_PATHS).contains(&paths) {
            return Err(wrong(format!("paths: expected 1 to {MOST_PATHS}, found {paths}")));
        }
        if !(1..=1_000).contains(&quantum) {
            return Err(wrong(format!("quantum: expected 1 to 1000 datagrams, found {quantum}")));
        }
        let course = py.detach(|| {
            Course::start(&source, "scheduler", seed, |registry, claim, side| {
                let fallback = registry.scheduler("default");
                registry.add_scheduler("environment", move |init: &SchedulerInit| {
                    let mut claim = claim.lock().unwrap_or_else(PoisonError::into_inner);
                    match (claim.take_if(|_| init.side == side), &fallback) {
                        (Some(asker), _) => Box::new(Asked { asker, paths, quantum, last: 0.0 }),
                        (None, Ok(fallback)) => fallback.build(init),
                        (None, Err(_)) => Box::new(hawser_sched::MinRtt),
                    }
                });
                "environment"
            })
        })?;
        Ok(SchedulerCourse { course, paths, at: 0.0 })
    }

    /// The first observation.
    fn first<'py>(&mut self, py: Python<'py>) -> PyResult<Step<'py>> {
        self.next(py)
    }

    /// Sends on a path by its place in the observation, or waits; then the next observation.
    fn step<'py>(&mut self, py: Python<'py>, action: usize) -> PyResult<Step<'py>> {
        if action > self.paths {
            return Err(wrong(format!("action: expected 0 to {}, found {action}", self.paths)));
        }
        self.course.answer(action as f64);
        self.next(py)
    }
}

impl SchedulerCourse {
    fn next<'py>(&mut self, py: Python<'py>) -> PyResult<Step<'py>> {
        match self.course.next(py)? {
            Next::Question(question) => {
                self.at = question.now;
                let observation = PyArray1::from_vec(py, question.observation);
                Ok((observation, question.reward, false, false, self.at))
            }
            Next::End(ended) => {
                let reward = self.at - ended.seconds;
                self.at = ended.seconds;
                let observation = PyArray1::zeros(py, self.paths * PER_PATH + COMMON, false);
                Ok((observation, reward, ended.finished, !ended.finished, ended.seconds))
            }
        }
    }
}

/// The scheduler in the run.
struct Asked {
    asker: Asker,
    paths: usize,
    quantum: u64,
    /// Seconds since the start at the last question.
    last: f64,
}

impl Asked {
    fn observe(&self, view: &SendView<'_>) -> Vec<f32> {
        let mut values = vec![0.0; self.paths * PER_PATH + COMMON];
        for (path, values) in view.paths.iter().zip(values.chunks_exact_mut(PER_PATH)).take(self.paths) {
            values.copy_from_slice(&of_path(path));
        }
        let common = self.paths * PER_PATH;
        values[common] = saturated(view.queue.unsent as f64, BYTES_SCALE);
        values[common + 1] = saturated(view.queue.retransmit as f64, BYTES_SCALE);
        values
    }
}

fn of_path(path: &PathView) -> [f32; PER_PATH] {
    let sendable = path.sendable();
    [
        if sendable > 0 { 1.0 } else { 0.0 },
        saturated(path.congestion_window as f64, BYTES_SCALE),
        (path.bytes_in_flight as f64 / path.congestion_window.max(1) as f64).min(1.0) as f32,
        saturated(path.smoothed_rtt.as_secs_f64(), RTT_SCALE),
        saturated(path.min_rtt.as_secs_f64(), RTT_SCALE),
        (f64::from(path.loss_ppm) / 1e6).min(1.0) as f32,
        saturated(path.delivery_rate.map_or(0.0, |rate| rate.bits_per_second() as f64), RATE_SCALE),
    ]
}

impl Scheduler for Asked {
    fn name(&self) -> &'static str {
        "environment"
    }

    fn schedule(&mut self, view: &SendView<'_>, _commands: &mut Commands) -> Decision {
        let now = view.now.as_secs_f64();
        let reward = self.last - now;
        self.last = now;
        let observation = self.observe(view);
        let answer = self.asker.ask(Question { observation, reward, now, path: None });
        let path =
            answer.and_then(|place| view.paths.get(place as usize).filter(|_| (place as usize) < self.paths));
        path.map_or(Decision::Wait(None), |path| {
            let max_bytes = self.quantum * u64::from(path.max_datagram_size);
            Decision::Send(Assignment::next(path.id).with(|assignment| assignment.max_bytes = max_bytes))
        })
    }
}
