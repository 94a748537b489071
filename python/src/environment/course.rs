//! A run that asks, and the thread that it runs on.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use hawser_policy::{Registry, Side};
use hawser_scenario::{Direction, Scenario};
use hawser_sim::run::{End, Options, Simulation};
use pyo3::prelude::*;

use crate::policies;
use crate::recorder::{Columns, Watch};
use crate::scenario::Source;
use crate::trouble::{Stop, Trouble};
use crate::wrong;

/// Between two looks for signals while the simulator thinks.
const LOOK: Duration = Duration::from_millis(50);

/// What a policy of the run asks.
pub(super) struct Question {
    pub(super) observation: Vec<f32>,
    pub(super) reward: f64,
    /// Seconds since the start of the run.
    pub(super) now: f64,
    /// The path that it is about, if it is about one.
    pub(super) path: Option<u32>,
}

/// How a run ended.
#[derive(Clone, Copy)]
pub(super) struct Ended {
    /// Whether its flows did their work; otherwise its time was over.
    pub(super) finished: bool,
    pub(super) seconds: f64,
}

/// What comes next of a run.
pub(super) enum Next {
    Question(Question),
    End(Ended),
}

/// The asking end, for a policy: of a run it belongs to the first object of the sending end that claims it.
pub(super) struct Asker {
    questions: SyncSender<Question>,
    answers: Receiver<f64>,
    stop: Stop,
}

impl Asker {
    /// Asks, and waits for the answer. None: nobody listens any more, and the run ends.
    pub(super) fn ask(&mut self, question: Question) -> Option<f64> {
        let answer = match self.questions.send(question) {
            Ok(()) => self.answers.recv().ok(),
            Err(_) => None,
        };
        if answer.is_none() {
            self.stop.set();
        }
        answer
    }
}

/// Handed to factories of policies; the first one takes it.
pub(super) type Claim = Arc<Mutex<Option<Asker>>>;

/// A run under way.
pub(super) struct Course {
    questions: Mutex<Receiver<Question>>,
    answers: Option<SyncSender<f64>>,
    thread: Option<JoinHandle<Result<Ended, String>>>,
    ended: Option<Ended>,
}

/// The end that sends the data of the first flow.
pub(super) fn sender_of(scenario: &Scenario) -> Side {
    let direction = scenario.traffic().first().map_or(Direction::Down, |flow| flow.kind.direction());
    if direction == Direction::Up { Side::Client } else { Side::Server }
}

impl Course {
    /// Starts a run with a policy `kind` that `add` puts into the registry under a name, for the given end.
    ///
    /// # Errors
    /// `ValueError` for a scenario that cannot be run.
    pub(super) fn start(
        source: &Source,
        kind: &str,
        seed: u64,
        add: impl FnOnce(&mut Registry, Claim, Side) -> &'static str,
    ) -> PyResult<Self> {
        let (questions, asked) = sync_channel(1);
        let (answers, answered) = sync_channel(1);
        let stop = Stop::default();
        let asker = Asker { questions, answers: answered, stop: stop.clone() };
        let claim: Claim = Arc::new(Mutex::new(Some(asker)));
        let side = sender_of(&source.read(&policies::registry(), &[], Some(seed))?);
        let mut registry = Registry::clone(&policies::registry());
        let name = add(&mut registry, claim, side);
        let scenario = source.read(&registry, &[(kind.to_owned(), name.to_owned())], Some(seed))?;
        // A simulation stays on its thread. The factories hold the claim: they go with it, or the questions would never end.
        let run = move || {
            let mut simulation = Simulation::new(&scenario, &registry, Options::default())
                .map_err(|error| error.to_string())?;
            drop(registry);
            let watch = Watch::new(Trouble::default(), stop, false);
            let outcome = simulation.run(&mut Columns::new(None, false, watch));
            Ok(Ended { finished: outcome.end == End::Finished, seconds: outcome.simulated_seconds })
        };
        let thread = std::thread::Builder::new().name("hawser-course".into()).spawn(run);
        let thread = thread.map_err(|error| wrong(format!("cannot start a thread: {error}")))?;
        Ok(Course { questions: Mutex::new(asked), answers: Some(answers), thread: Some(thread), ended: None })
    }

    /// Answers the question that was asked last.
    pub(super) fn answer(&self, answer: f64) {
        if let Some(answers) = &self.answers {
            // One who is gone has ended, and `next` says so.
            let _ = answers.send(answer);
        }
    }

    /// Waits for the next question, or the end.
    ///
    /// # Errors
    /// `ValueError` for a scenario that nothing ends; `KeyboardInterrupt`; `RuntimeError` if the simulator panicked.
    pub(super) fn next(&mut self, py: Python<'_>) -> PyResult<Next> {
        if let Some(ended) = self.ended {
            return Ok(Next::End(ended));
        }
        loop {
            let questions = &self.questions;
            let received =
                py.detach(|| questions.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LOOK));
            match received {
                Ok(question) => return Ok(Next::Question(question)),
                Err(RecvTimeoutError::Timeout) => {
                    py.check_signals()?;
                    if self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
                        continue;
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {}
            }
            let Some(thread) = self.thread.take() else {
                return Err(pyo3::exceptions::PyRuntimeError::new_err("the run is gone"));
            };
            let ended = py.detach(|| thread.join());
            let ended = ended.map_err(|_| {
                pyo3::exceptions::PyRuntimeError::new_err("the simulator panicked; see stderr")
            })?;
            let ended = ended.map_err(wrong)?;
            self.ended = Some(ended);
            return Ok(Next::End(ended));
        }
    }
}

impl Drop for Course {
    /// Nobody answers any more: the run ends at its next question. The thread holds nothing of the interpreter.
    fn drop(&mut self) {
        self.answers = None;
        drop(std::mem::replace(&mut self.questions, Mutex::new(sync_channel(1).1)));
    }
}
