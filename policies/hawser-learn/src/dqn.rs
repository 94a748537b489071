//! Deep Q-learning.

use crate::{Adam, Random, ReplayBuffer, TrainedMlp, Transition};

/// What can be set of a [`Dqn`].
#[derive(Debug, Clone, PartialEq)]
pub struct DqnSettings {
    /// Widths of the layers: the numbers of a state first, the number of actions last.
    pub shapes: Vec<usize>,
    /// What a reward is worth a decision later, from 0 to 1.
    pub discount: f32,
    /// Of Adam.
    pub rate: f32,
    /// Transitions that are remembered.
    pub replay: usize,
    /// Transitions that an update is made of.
    pub batch: usize,
    /// Transitions that are there before the first update.
    pub warm_up: usize,
    /// Updates after which the target network becomes the one that learns.
    pub target_every: u64,
    /// How often chance decides: at first, and in the end.
    pub exploration: [f64; 2],
    /// Decisions over which the first becomes the second, evenly.
    pub exploration_steps: u64,
}

/// Deep Q-learning (Mnih and others, Nature 2015): a network learns what each action is worth in a state, that is its reward and
/// what the best next one is worth, by the word of a copy of itself that is renewed now and then.
///
/// A decision is the action of the largest value, or, as often as exploration says, any. Each transition that is taken in brings
/// one update, from a batch of remembered ones; errors beyond 1 count as 1 (Huber's loss, as in the paper).
///
/// ```
/// use hawser_learn::{Dqn, DqnSettings, Transition};
/// let mut learner = Dqn::new(DqnSettings { shapes: vec![1, 8, 2], batch: 4, warm_up: 4, ..DqnSettings::default() }, 1);
/// for number in 0..400 {
///     let action = learner.explore(&[1.0]);
///     let reward = if action == 1 { 1.0 } else { 0.0 };
///     learner.learn(&Transition { state: &[1.0], action, reward, next: None });
/// }
/// assert_eq!(learner.best(&[1.0]), 1);
/// ```
#[derive(Debug, Clone)]
pub struct Dqn {
    settings: DqnSettings,
    network: TrainedMlp,
    target: TrainedMlp,
    optimiser: Adam,
    memory: ReplayBuffer,
    random: Random,
    gradient: Vec<f32>,
    slopes: Vec<f32>,
    decisions: u64,
    updates: u64,
}

impl Default for DqnSettings {
    /// A state of one number and two actions; all else as the papers have it where they agree.
    fn default() -> Self {
        DqnSettings {
            shapes: vec![1, 64, 64, 2],
            discount: 0.9,
            rate: 1e-3,
            replay: 50_000,
            batch: 32,
            warm_up: 1_000,
            target_every: 500,
            exploration: [1.0, 0.05],
            exploration_steps: 20_000,
        }
    }
}

impl Dqn {
    /// A learner that knows nothing. The same seed and the same transitions give the same network.
    ///
    /// # Panics
    /// If the settings have no layers, no room, or an empty batch.
    pub fn new(settings: DqnSettings, seed: u64) -> Self {
        assert!(settings.batch > 0, "a batch of something");
        let mut random = Random::new(seed);
        let network = TrainedMlp::new(&settings.shapes, &mut random);
        let parameters = network.parameters().len();
        let actions = settings.shapes.last().copied().unwrap_or_default();
        Self {
            optimiser: Adam::new(parameters, settings.rate),
            memory: ReplayBuffer::new(settings.replay, settings.shapes[0]),
            target: network.clone(),
            network,
            random,
            gradient: vec![0.0; parameters],
            slopes: vec![0.0; actions],
            decisions: 0,
            updates: 0,
            settings,
        }
    }

    /// What is learned.
    pub fn network(&self) -> &TrainedMlp {
        &self.network
    }

    /// Decisions taken by [`Self::explore`].
    pub fn decisions(&self) -> u64 {
        self.decisions
    }

    /// How often chance decides now.
    pub fn exploration(&self) -> f64 {
        let [first, last] = self.settings.exploration;
        let passed = self.decisions as f64 / self.settings.exploration_steps.max(1) as f64;
        first + (last - first) * passed.min(1.0)
    }

    /// The action of the largest value; the first of equals.
    pub fn best(&mut self, state: &[f32]) -> usize {
        largest(self.network.forward(state)).0
    }

    /// The best action, or any.
    pub fn explore(&mut self, state: &[f32]) -> usize {
        let by_chance = self.random.fraction() < self.exploration();
        self.decisions += 1;
        if by_chance {
            (self.random.fraction() * self.slopes.len() as f64) as usize
        } else {
            self.best(state)
        }
    }

    /// Takes in a transition and learns from those that are remembered. One whose action does not exist, or whose reward or state
    /// is not finite, is ignored.
    pub fn learn(&mut self, transition: &Transition<'_>) {
        let numbers = transition.state.iter().chain(transition.next.unwrap_or_default());
        let is_sound = transition.reward.is_finite() && numbers.copied().all(f32::is_finite);
        if !is_sound || transition.action >= self.slopes.len() {
            return;
        }
        self.memory.push(transition);
        if self.memory.len() >= self.settings.warm_up.max(1) {
            self.update();
        }
    }

    /// One step of Adam against the error of a batch.
    fn update(&mut self) {
        self.gradient.fill(0.0);
        let share = 1.0 / self.settings.batch as f32;
        for _ in 0..self.settings.batch {
            let Some(drawn) = self.memory.draw(&mut self.random) else { return };
            let ahead = drawn.next.map_or(0.0, |next| largest(self.target.forward(next)).1);
            let wanted = drawn.reward + self.settings.discount * ahead;
            let error = self.network.forward(drawn.state)[drawn.action] - wanted;
            self.slopes.fill(0.0);
            self.slopes[drawn.action] = share * error.clamp(-1.0, 1.0);
            self.network.backward(&self.slopes, &mut self.gradient);
        }
        self.optimiser.step(self.network.parameters_mut(), &self.gradient);
        self.updates += 1;
        if self.updates.is_multiple_of(self.settings.target_every.max(1)) {
            self.target.parameters_mut().copy_from_slice(self.network.parameters());
        }
    }
}

/// The largest value and its position, the first of equals; no number is less than any.
fn largest(values: &[f32]) -> (usize, f32) {
    let first = (0, f32::NEG_INFINITY);
    values
        .iter()
        .enumerate()
        .fold(first, |best, (at, value)| if *value > best.1 { (at, *value) } else { best })
}

#[cfg(test)]
mod tests;
