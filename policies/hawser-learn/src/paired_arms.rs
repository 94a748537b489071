//! Two arms that are tried in turns, then followed as far as a comparison in like circumstances says.

mod round;

use std::time::Duration;

use crate::{LinUcb, Random};
use round::Round;

/// Decisions after which it is checked whether what was learned still holds.
const CHECK_AFTER: u64 = 800;

/// Shares of decisions that differ by more than this start a new learning round (Wu 2020).
const RELEARN: f64 = 0.15;

/// Where the bandit is trusted, and where the opposite is done (Wu 2020: BD1, BD0).
const TRUST: f64 = 0.7;
const MISTRUST: f64 = 0.3;

/// The learner of Peekaboo (Wu, Alay, Brunstrom, Ferlin, Caso: IEEE JSAC 2020), without the network.
///
/// A learning round alternates steps that always play arm 0 with steps that always play arm 1, and gives [`LinUcb`] the
/// circumstances at the start of each and its reward, the sum of what came of it. Steps of both arms in like circumstances are
/// compared in pairs; how often arm 0 won says how far to trust the bandit. It is then followed with that probability, until
/// its decisions drift away from what was learned and a new round starts.
///
/// Times are since any instant, the same for all calls.
#[derive(Clone, Debug)]
pub struct PairedArms<const FEATURES: usize> {
    bandit: LinUcb,
    random: Random,
    learning_amount: u64,
    phase: Phase<FEATURES>,
}

#[derive(Clone, Debug)]
enum Phase<const FEATURES: usize> {
    Learn(Box<Round<FEATURES>>),
    Deploy(Deployment),
}

/// What a learning round found, and the decisions since.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deployment {
    /// How often arm 0 won; arm 1 won the others.
    pub first_won: f64,
    /// With which probability the bandit is followed when it says this arm.
    pub follow: [f64; 2],
    /// How often it said this arm.
    pub decisions: [u64; 2],
}

impl<const FEATURES: usize> PairedArms<FEATURES> {
    /// With LinUCB's exploration, the amount that is done in a learning round, and the seed of the decisions that chance makes.
    pub fn new(alpha: f64, learning_amount: u64, seed: u64) -> Self {
        PairedArms {
            bandit: LinUcb::new(2, FEATURES, alpha),
            random: Random::new(seed),
            learning_amount,
            phase: Phase::Learn(Box::default()),
        }
    }

    /// Starts and ends the steps of a learning round. `done` counts what is learned from, since any start; a step lasts three
    /// times `reference`.
    pub fn advance(&mut self, now: Duration, done: u64, reference: Duration, context: &[f64; FEATURES]) {
        let Phase::Learn(round) = &mut self.phase else { return };
        let found = round.advance(now, done, reference, self.learning_amount, context, &mut self.bandit);
        if let Some(deployment) = found {
            self.phase = Phase::Deploy(deployment);
        }
    }

    /// The arm to play.
    pub fn choose(&mut self, context: &[f64; FEATURES]) -> usize {
        let deployment = match &mut self.phase {
            Phase::Learn(round) => return round.arm(),
            Phase::Deploy(deployment) => deployment,
        };
        let best = self.bandit.choose(context);
        deployment.decisions[best] += 1;
        let arm = if self.random.fraction() < deployment.follow[best] { best } else { 1 - best };
        if deployment.has_drifted() {
            self.phase = Phase::Learn(Box::default());
        }
        arm
    }

    /// The step to which belongs what is done now; 0: none, nothing is being learned.
    pub fn step(&self) -> u64 {
        match &self.phase {
            Phase::Learn(round) => round.step(),
            Phase::Deploy(_) => 0,
        }
    }

    /// Something that was done at `at` within a step earned a reward, which counts for less the later in the step it was done.
    /// Steps that are over earn nothing.
    pub fn reward(&mut self, step: u64, at: Duration, reward: f64) {
        if let Phase::Learn(round) = &mut self.phase {
            round.reward(step, at, reward);
        }
    }

    /// What is followed; `None` during a learning round.
    pub fn deployment(&self) -> Option<Deployment> {
        match &self.phase {
            Phase::Learn(_) => None,
            Phase::Deploy(deployment) => Some(*deployment),
        }
    }
}

impl Deployment {
    /// Of a learning round in which arm 0 won so often, and in which the bandit was off by so much for each arm.
    fn new(first_won: f64, errors: [f64; 2]) -> Self {
        let sum = errors[0] + errors[1];
        let indifferent = errors.map(|error| if sum > 0.0 { error / sum } else { 0.5 });
        let follow = [trust(first_won, indifferent[0]), trust(1.0 - first_won, indifferent[1])];
        Deployment { first_won, follow, decisions: [0; 2] }
    }

    fn has_drifted(&self) -> bool {
        let all = self.decisions[0] + self.decisions[1];
        let first = self.decisions[0] as f64 / all.max(1) as f64;
        // The shares of the other arm differ by the same.
        all >= CHECK_AFTER && (first - self.first_won).abs() > RELEARN
    }
}

/// The probability with which an arm is followed that won so often.
fn trust(won: f64, indifferent: f64) -> f64 {
    if won > TRUST {
        0.9
    } else if won < MISTRUST {
        0.1
    } else {
        indifferent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFERENCE: Duration = Duration::from_millis(100);

    /// Asks every 10 ms until it has learned; what is done with an arm earns `reward` after 50 ms.
    fn learn(arms: &mut PairedArms<2>, reward: impl Fn(usize) -> f64) -> Vec<usize> {
        let mut played = Vec::new();
        for number in 0..2_000u32 {
            let now = 10 * Duration::from_millis(1) * number;
            arms.advance(now, u64::from(number), REFERENCE, &[1.0, 2.0]);
            if arms.deployment().is_some() {
                break;
            }
            let arm = arms.choose(&[1.0, 2.0]);
            played.push(arm);
            arms.reward(arms.step(), now, reward(arm));
        }
        played
    }

    /// A step lasts three references, so 30 decisions.
    #[test]
    fn arms_are_tried_in_turns() {
        let played = learn(&mut PairedArms::new(0.8, 200, 0), |_| 1.0);
        assert_eq!((&played[..30], &played[30..60]), (&[0; 30][..], &[1; 30][..]));
        assert_eq!(played[60..90], [0; 30]);
    }

    #[test]
    fn the_better_arm_is_followed_and_the_other_tried_once_in_ten_times() {
        for better in [0, 1] {
            let mut arms = PairedArms::new(0.8, 200, 0);
            learn(&mut arms, |arm| if arm == better { 10.0 } else { 1.0 });
            let found = arms.deployment().unwrap();
            assert_eq!(found.first_won, if better == 0 { 1.0 } else { 0.0 });
            assert_eq!((found.follow[better], found.follow[1 - better]), (0.9, 0.1));
            let followed = (0..200).filter(|_| arms.choose(&[1.0, 2.0]) == better).count();
            assert!((160..=200).contains(&followed), "{better}: {followed} of 200");
        }
    }

    #[test]
    fn between_the_bounds_the_errors_decide() {
        assert_eq!([0.71, 0.7, 0.3, 0.29].map(|won| trust(won, 0.4)), [0.9, 0.4, 0.4, 0.1]);
    }

    #[test]
    fn decisions_that_drift_away_start_a_new_round() {
        let drift = |decisions| Deployment { first_won: 0.8, follow: [0.9, 0.1], decisions }.has_drifted();
        assert!(!drift([660, 140]) && !drift([0, 799]), "not far enough, not enough");
        assert!(drift([510, 290]));
    }
}
