//! Many environments at once.

use crate::{Config, ConfigError, Environment, PATHS};

/// Environments that take a step together. A frame that ends is followed by the next at once.
#[derive(Clone, Debug)]
pub struct Batch {
    environments: Vec<Environment>,
}

impl Batch {
    /// So many environments with seeds from `seed` on. They share their videos.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn new(config: Config, seed: u64, count: usize) -> Result<Self, ConfigError> {
        let first = Environment::new(config, seed)?;
        let others = (1..count as u64).map(|number| first.another(seed.wrapping_add(number)));
        let others: Vec<Environment> = others.collect();
        let mut environments = vec![first];
        environments.extend(others);
        Ok(Batch { environments })
    }

    /// The environments.
    pub fn environments(&self) -> &[Environment] {
        &self.environments
    }

    /// Starts all of them again with seeds from `seed` on.
    pub fn reset(&mut self, seed: u64) {
        for (number, environment) in self.environments.iter_mut().enumerate() {
            environment.reset(seed.wrapping_add(number as u64));
        }
    }

    /// Number of values of all observations.
    pub fn observations_length(&self) -> usize {
        self.environments.len() * self.environments[0].observation_length()
    }

    /// Writes all observations, one environment after the other.
    ///
    /// # Panics
    /// If `out` is shorter than [`Self::observations_length`].
    pub fn observe(&self, out: &mut [f32]) {
        let length = self.environments[0].observation_length();
        for (environment, out) in self.environments.iter().zip(out.chunks_exact_mut(length)) {
            environment.observe(out);
        }
    }

    /// A decision in each environment, and what is observed then. `ends` becomes true where a frame ended.
    ///
    /// # Panics
    /// If a slice is shorter than there are environments, or an action is above [`PATHS`].
    pub fn step_batch(
        &mut self,
        actions: &[u8],
        observations: &mut [f32],
        rewards: &mut [f32],
        ends: &mut [bool],
    ) {
        let length = self.environments[0].observation_length();
        for (at, environment) in self.environments.iter_mut().enumerate() {
            let step = environment.step(usize::from(actions[at]));
            (rewards[at], ends[at]) = (step.reward as f32, step.ends_frame);
            environment.observe(&mut observations[at * length..(at + 1) * length]);
        }
    }

    /// Whether all of them are actions.
    pub fn are_actions(actions: &[u8]) -> bool {
        actions.iter().all(|action| usize::from(*action) <= PATHS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Purpose;

    #[test]
    fn a_batch_does_what_each_does_alone() {
        let config = Config { frames: 100, ..Config::episodic(Purpose::Training) };
        let mut batch = Batch::new(config.clone(), 40, 3).unwrap();
        let mut alone = Environment::new(config, 42).unwrap();
        let mut observations = vec![0.0; batch.observations_length()];
        let (mut rewards, mut ends) = ([0.0; 3], [false; 3]);
        let mut observation = [0.0; 10];
        for step in 0..5_000u32 {
            let action = (step * 7 % 3) as u8;
            batch.step_batch(&[0, 1, action], &mut observations, &mut rewards, &mut ends);
            let own = alone.step(usize::from(action));
            alone.observe(&mut observation);
            assert_eq!((rewards[2], ends[2]), (own.reward as f32, own.ends_frame));
            assert_eq!(observations[20..], observation);
        }
        assert_eq!(batch.environments()[2].trace_hash(), alone.trace_hash());
    }
}
