//! A run that is watched: what the controller of the sender knows after each acknowledgement, and samples of flows and links.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hawser_cc::{ModelObserver, ModelState, register_observed};
use hawser_policy::Time;
use hawser_scenario::Direction;
use hawser_sim::run::{FlowSample, LinkSample, Options, Outcome, PathSample, Recorder, Simulation};

use crate::experiments::verify::Request;

/// The segment whose queue is looked at.
const BOTTLENECK: &str = "bottleneck";
/// The flow whose controller is verified.
pub(super) const FLOW: &str = "x";

/// What came of a run.
pub(super) struct Watched {
    pub(super) outcome: Outcome,
    /// Of the sender of the flow; empty where its controller is not one of the family.
    pub(super) states: Vec<ModelState>,
    pub(super) samples: Samples,
}

/// The queue of the bottleneck at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueueSample {
    pub(super) at: Time,
    pub(super) queued: u64,
    pub(super) delivered: u64,
}

/// Samples of a run.
#[derive(Debug, Default)]
pub(super) struct Samples {
    interval: Duration,
    pub(super) queue: Vec<QueueSample>,
    /// By flow: when, and bytes received so far.
    pub(super) flows: BTreeMap<String, Vec<(Time, u64)>>,
    /// Bytes in flight of the flow.
    pub(super) in_flight: Vec<(Time, u64)>,
}

impl Recorder for Samples {
    fn sample_interval(&self) -> Option<Duration> {
        Some(self.interval)
    }

    fn flow(&mut self, sample: &FlowSample<'_>) {
        if let Some(known) = self.flows.get_mut(sample.flow) {
            known.push((sample.at, sample.bytes));
        } else {
            self.flows.insert(sample.flow.to_owned(), vec![(sample.at, sample.bytes)]);
        }
    }

    fn path(&mut self, sample: &PathSample<'_>) {
        if sample.flow == FLOW {
            self.in_flight.push((sample.at, sample.stats.bytes_in_flight));
        }
    }

    fn link(&mut self, sample: &LinkSample<'_>) {
        if sample.link == BOTTLENECK && sample.direction == Direction::Up {
            let LinkSample { at, queued_bytes: queued, delivered_bytes: delivered, .. } = *sample;
            self.queue.push(QueueSample { at, queued, delivered });
        }
    }
}

/// Keeps what it is told.
#[derive(Default)]
struct Log(Mutex<Vec<ModelState>>);

impl ModelObserver for Log {
    fn on_state(&self, state: &ModelState) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(*state);
    }
}

/// Runs the scenario of the request and samples it this often.
pub(super) fn watch(request: &Request<'_>, interval: Duration) -> Result<Watched, String> {
    let log = Arc::new(Log::default());
    let observer: Arc<dyn ModelObserver> = log.clone();
    let mut registry = (**request.registry).clone();
    register_observed(&mut registry, &observer);
    let scenario = request.scenario(&[request.chosen()])?;
    let simulation = Simulation::new(&scenario, &registry, Options::default());
    let mut samples = Samples { interval, ..Samples::default() };
    let outcome = simulation.map_err(|error| error.to_string())?.run(&mut samples);
    let states = std::mem::take(&mut *log.0.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(Watched { outcome, states: of_the_sender(states), samples })
}

/// Both ends of a connection have a controller; that of the sender hears more.
fn of_the_sender(mut states: Vec<ModelState>) -> Vec<ModelState> {
    let mut heard: BTreeMap<u64, usize> = BTreeMap::new();
    for state in &states {
        *heard.entry(state.controller).or_default() += 1;
    }
    let sender = heard.into_iter().max_by_key(|(_, times)| *times).map(|(controller, _)| controller);
    states.retain(|state| Some(state.controller) == sender);
    states
}
