//! A learning round: steps of one arm and steps of the other, in turns.

use std::time::Duration;

use super::Deployment;
use crate::{LinUcb, nearest_pairs};

/// What is done in the first, second and third reference time of a step, or later, counts for so much.
const DISCOUNTS: [f64; 3] = [0.9, 0.7, 0.5];

/// Steps that are kept of a round: its lists stay small however long it takes.
const MAX_STEPS: usize = 512;

#[derive(Clone, Debug)]
pub(super) struct Round<const FEATURES: usize> {
    /// The step that is running, and the one before, of which rewards still come in.
    current: Option<Step<FEATURES>>,
    previous: Option<Step<FEATURES>>,
    /// Number of the step that is running, from 1.
    number: u64,
    done_at_start: u64,
    /// Everything that was asked for has been done; the last rewards are waited for.
    settling_since: Option<Duration>,
    /// Finished steps, by arm.
    finished: [Vec<Finished<FEATURES>>; 2],
}

#[derive(Clone, Copy, Debug)]
struct Step<const FEATURES: usize> {
    number: u64,
    arm: usize,
    started: Duration,
    reference: Duration,
    context: [f64; FEATURES],
    reward: f64,
}

#[derive(Clone, Copy, Debug)]
struct Finished<const FEATURES: usize> {
    context: [f64; FEATURES],
    reward: f64,
    /// Of the bandit's prediction.
    error: f64,
}

impl<const FEATURES: usize> Default for Round<FEATURES> {
    fn default() -> Self {
        Round {
            current: None,
            previous: None,
            number: 0,
            done_at_start: 0,
            settling_since: None,
            finished: Default::default(),
        }
    }
}

impl<const FEATURES: usize> Round<FEATURES> {
    /// What is done in the step that is running.
    pub(super) fn arm(&self) -> usize {
        self.current.map_or(0, |step| step.arm)
    }

    /// The number of the step that is running, 0 between steps.
    pub(super) fn step(&self) -> u64 {
        self.current.map_or(0, |step| step.number)
    }

    /// Ends a step that is over and starts the next; what was learned, when the round is over.
    pub(super) fn advance(
        &mut self,
        now: Duration,
        done: u64,
        reference: Duration,
        learning_amount: u64,
        context: &[f64; FEATURES],
        bandit: &mut LinUcb,
    ) -> Option<Deployment> {
        if let Some(since) = self.settling_since {
            if now < since + reference {
                return None;
            }
            self.finish(bandit);
            return Some(self.judge());
        }
        match self.current {
            Some(step) if now < step.started + step.reference.saturating_mul(3) => return None,
            Some(_) => self.finish_previous(bandit),
            None => self.done_at_start = done,
        }
        self.previous = self.current.take();
        // One step of each arm, or there is nothing to compare.
        if self.number >= 2 && done.saturating_sub(self.done_at_start) >= learning_amount {
            self.settling_since = Some(now);
            return None;
        }
        self.number += 1;
        let arm = if self.number % 2 == 1 { 0 } else { 1 };
        let context = *context;
        self.current = Some(Step { number: self.number, arm, started: now, reference, context, reward: 0.0 });
        None
    }

    pub(super) fn reward(&mut self, number: u64, at: Duration, reward: f64) {
        let steps = [&mut self.current, &mut self.previous];
        let Some(step) = steps.into_iter().flatten().find(|step| step.number == number) else { return };
        let stage = at.saturating_sub(step.started).as_nanos() / step.reference.as_nanos().max(1);
        let last = DISCOUNTS.len() - 1;
        step.reward += DISCOUNTS[usize::try_from(stage).unwrap_or(last).min(last)] * reward;
    }

    fn finish(&mut self, bandit: &mut LinUcb) {
        self.finish_previous(bandit);
        self.previous = self.current.take();
        self.finish_previous(bandit);
    }

    /// All rewards of the previous step are in.
    fn finish_previous(&mut self, bandit: &mut LinUcb) {
        let Some(step) = self.previous.take() else { return };
        bandit.update(step.arm, &step.context, step.reward);
        let error = (bandit.score(step.arm, &step.context) - step.reward).abs();
        let finished = &mut self.finished[step.arm];
        if finished.len() < MAX_STEPS {
            finished.push(Finished { context: step.context, reward: step.reward, error });
        }
    }

    /// Compares steps in like circumstances.
    fn judge(&self) -> Deployment {
        let contexts = |arm: usize| self.finished[arm].iter().map(|step| step.context).collect::<Vec<_>>();
        let pairs = nearest_pairs(&contexts(0), &contexts(1));
        let reward = |arm: usize, at: usize| self.finished[arm].get(at).map_or(0.0, |step| step.reward);
        let wins = pairs.iter().filter(|(first, second)| reward(0, *first) >= reward(1, *second)).count();
        let first_won = if pairs.is_empty() { 0.5 } else { wins as f64 / pairs.len() as f64 };
        let error = |arm: usize| {
            let steps = &self.finished[arm];
            steps.iter().map(|step| step.error).sum::<f64>() / steps.len().max(1) as f64
        };
        Deployment::new(first_won, [error(0), error(1)])
    }
}
