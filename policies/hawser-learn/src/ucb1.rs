//! UCB1: a bandit without context.

/// `mean + sqrt(factor ln(time) / pulls)`, the upper confidence bound of an arm; infinite before its first pull. The factor is 2
/// in UCB1.
pub fn upper_confidence(mean: f64, pulls: u64, time: u64, factor: f64) -> f64 {
    if pulls == 0 {
        return f64::INFINITY;
    }
    mean + (factor * libm::log(time.max(1) as f64) / pulls as f64).sqrt()
}

/// UCB1 (Auer, Cesa-Bianchi and Fischer, Machine Learning 47, 2002): each arm once, then the arm with the largest
/// `mean + c * sqrt(2 ln n / n_a)`, where `n` counts all pulls and `n_a` those of the arm. Rewards lie in 0 to 1.
///
/// ```
/// let mut bandit = hawser_learn::Ucb1::new(2, 1.0);
/// for _ in 0..200 {
///     let arm = bandit.choose();
///     bandit.update(arm, if arm == 1 { 0.8 } else { 0.2 });
/// }
/// assert!(bandit.pulls(1) > 150);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Ucb1 {
    exploration: f64,
    /// Pulls and mean reward.
    arms: Vec<(u64, f64)>,
}

impl Ucb1 {
    /// A bandit with so many arms, at least one; `exploration` is `c`, 1 in the paper.
    pub fn new(arms: usize, exploration: f64) -> Self {
        Self { exploration, arms: vec![(0, 0.0); arms.max(1)] }
    }

    /// The arm to pull next; the first of equals.
    pub fn choose(&self) -> usize {
        if let Some(untried) = self.arms.iter().position(|(pulls, _)| *pulls == 0) {
            return untried;
        }
        let mut best = (0, f64::NEG_INFINITY);
        for arm in 0..self.arms.len() {
            let bound = self.bound(arm);
            if bound > best.1 {
                best = (arm, bound);
            }
        }
        best.0
    }

    /// The upper confidence bound of an arm; infinite before its first pull.
    pub fn bound(&self, arm: usize) -> f64 {
        let Some(&(pulls, mean)) = self.arms.get(arm).filter(|(pulls, _)| *pulls > 0) else {
            return f64::INFINITY;
        };
        let all: u64 = self.arms.iter().map(|(pulls, _)| pulls).sum();
        mean + self.exploration * (2.0 * libm::log(all as f64) / pulls as f64).sqrt()
    }

    /// Takes in the reward of a pull. An arm that does not exist is ignored.
    pub fn update(&mut self, arm: usize, reward: f64) {
        if let Some((pulls, mean)) = self.arms.get_mut(arm) {
            *pulls += 1;
            *mean += (reward - *mean) / *pulls as f64;
        }
    }

    /// How often an arm was pulled.
    pub fn pulls(&self, arm: usize) -> u64 {
        self.arms.get(arm).map_or(0, |(pulls, _)| *pulls)
    }

    /// The mean reward of an arm; 0 before its first pull.
    pub fn mean(&self, arm: usize) -> f64 {
        self.arms.get(arm).map_or(0.0, |(_, mean)| *mean)
    }
}

#[cfg(test)]
mod tests {
    use super::Ucb1;

    /// Rewards 1 and 0 once each: bounds 1 + sqrt(2 ln 2) and sqrt(2 ln 2).
    #[test]
    fn bounds_are_those_of_the_paper() {
        let mut bandit = Ucb1::new(2, 1.0);
        assert_eq!((bandit.choose(), bandit.bound(0)), (0, f64::INFINITY));
        bandit.update(0, 1.0);
        assert_eq!(bandit.choose(), 1);
        bandit.update(1, 0.0);
        assert!((bandit.bound(0) - 2.177_410).abs() < 1e-6 && (bandit.bound(1) - 1.177_410).abs() < 1e-6);
        assert_eq!(bandit.choose(), 0);
        assert_eq!((bandit.mean(0), bandit.pulls(0), bandit.mean(7)), (1.0, 1, 0.0));
    }

    /// Regret grows with the logarithm: a bad arm is pulled at most 8 ln n / gap^2 + 1 + pi^2 / 3 times (theorem 1).
    #[test]
    fn the_worse_arm_is_pulled_as_seldom_as_the_theorem_says() {
        let mut bandit = Ucb1::new(2, 1.0);
        let rewards = [0.4, 0.9];
        for _ in 0..10_000 {
            let arm = bandit.choose();
            bandit.update(arm, rewards[arm]);
        }
        let bound = 8.0 * 10_000f64.ln() / 0.25 + 4.3;
        assert!((bandit.pulls(0) as f64) < bound && bandit.pulls(0) > 5, "{}", bandit.pulls(0));
    }
}
