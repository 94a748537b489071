//! Training: simulated connections that explore, and learn from what follows.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hawser_learn::{Dqn, DqnSettings, Random, TrainedMlp, Transition};
use hawser_policy::{Event, SendView, Tag};

use super::reward::{Meter, Rewarded};
use super::state::{PATHS, STATE};

/// Who chooses the paths of a training's connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DqnChooser {
    /// The network, or as often as exploration says chance; it learns.
    Learner,
    /// The network as it is.
    Network,
    /// Chance.
    Random,
    /// The path with the lower smoothed round-trip time.
    Fastest,
}

/// A training, shared by the connections that take part, one after the other. Everything is deterministic: the same seed and the
/// same connections give the same network.
#[derive(Clone, Debug)]
pub struct DqnTraining(Arc<Mutex<Course>>);

#[derive(Debug)]
struct Course {
    learner: Dqn,
    chooser: DqnChooser,
    random: Random,
    /// What every decision brought since they were last taken.
    rewards: Vec<f32>,
}

impl DqnTraining {
    /// A network that knows nothing, with the settings of the specification (section 9): 64 and 64 neurons, discount 0.9, Adam with
    /// 1e-3, 50,000 remembered transitions, a target renewed every 500 updates, exploration from 1 to 0.05 over 20,000
    /// decisions. Batches are of 32, and the first update comes with 1,000 transitions; of these it says nothing.
    pub fn new(seed: u64) -> Self {
        let settings = DqnSettings { shapes: vec![STATE, 64, 64, PATHS], ..DqnSettings::default() };
        DqnTraining(Arc::new(Mutex::new(Course {
            learner: Dqn::new(settings, seed),
            chooser: DqnChooser::Learner,
            random: Random::new(seed ^ 0x5eed),
            rewards: Vec::new(),
        })))
    }

    /// Who chooses from now on.
    pub fn choose_by(&self, chooser: DqnChooser) {
        self.course().chooser = chooser;
    }

    /// What every decision brought since this was asked last, in order.
    pub fn take_rewards(&self) -> Vec<f32> {
        std::mem::take(&mut self.course().rewards)
    }

    /// What was learned so far.
    pub fn network(&self) -> TrainedMlp {
        self.course().learner.network().clone()
    }

    fn course(&self) -> MutexGuard<'_, Course> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection's part of a training.
#[derive(Debug)]
pub(super) struct Trainee {
    training: DqnTraining,
    meter: Meter,
}

impl Trainee {
    pub(super) fn new(training: DqnTraining) -> Self {
        Trainee { training, meter: Meter::default() }
    }

    /// The last decision ended here; what the next one is.
    pub(super) fn decide(&mut self, view: &SendView<'_>, state: &[f32; STATE]) -> usize {
        self.meter.end(state);
        let mut course = self.training.course();
        let course = &mut *course;
        while let Some(Rewarded { state, action, reward, next }) = self.meter.take(view) {
            course.rewards.push(reward);
            if course.chooser == DqnChooser::Learner {
                course.learner.learn(&Transition { state: &state, action, reward, next: Some(&next) });
            }
        }
        let action = match course.chooser {
            DqnChooser::Learner => course.learner.explore(state),
            DqnChooser::Network => course.learner.best(state),
            DqnChooser::Random => (course.random.fraction() * PATHS as f64) as usize,
            DqnChooser::Fastest => fastest(state),
        };
        self.meter.begin(view.now, state, action);
        action
    }

    /// The mark of what leaves under the latest decision.
    pub(super) fn tag(&self) -> Tag {
        self.meter.tag()
    }

    /// Others decide for a while: what follows is not the work of the last decision.
    pub(super) fn interrupt(&mut self) {
        self.meter.interrupt();
    }

    pub(super) fn on_event(&mut self, event: &Event<'_>) {
        self.meter.on_event(event);
    }
}

/// By the newest sample.
fn fastest(state: &[f32; STATE]) -> usize {
    let width = STATE / 8;
    let newest = &state[STATE - PATHS * width..];
    usize::from(newest[width] < newest[0])
}
