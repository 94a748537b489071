//! Which packets a link loses at random.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::random::generator;

/// Random loss of one direction. Probabilities lie in `0.0..=1.0`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LossModel {
    /// Nothing is lost.
    None,
    /// Each packet is lost with the same probability, independently.
    Bernoulli {
        /// Probability that a packet is lost.
        probability: f64,
    },
    /// Two states with a loss probability each; the state may change before every packet.
    ///
    /// E. N. Gilbert (1960), E. O. Elliott (1963). Stationary share of the bad state:
    /// `good_to_bad / (good_to_bad + bad_to_good)`; mean stay in it: `1 / bad_to_good` packets.
    GilbertElliott {
        /// Probability to enter the bad state, per packet.
        good_to_bad: f64,
        /// Probability to leave the bad state, per packet.
        bad_to_good: f64,
        /// Loss probability in the good state.
        loss_good: f64,
        /// Loss probability in the bad state.
        loss_bad: f64,
    },
}

impl LossModel {
    /// Gilbert's model with given mean loss and mean length of a run of losses, in packets (1 or more).
    ///
    /// The bad state loses everything, the good one nothing.
    pub fn bursts(loss: f64, mean_burst: f64) -> Self {
        let bad_to_good = 1.0 / mean_burst;
        let good_to_bad = if loss < 1.0 { (bad_to_good * loss / (1.0 - loss)).min(1.0) } else { 1.0 };
        Self::GilbertElliott { good_to_bad, bad_to_good, loss_good: 0.0, loss_bad: 1.0 }
    }

    /// Long-run share of packets that is lost.
    pub fn mean(&self) -> f64 {
        match *self {
            Self::None => 0.0,
            Self::Bernoulli { probability } => probability,
            Self::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => {
                let moves = good_to_bad + bad_to_good;
                let bad = if moves > 0.0 { good_to_bad / moves } else { 0.0 };
                bad * loss_bad + (1.0 - bad) * loss_good
            }
        }
    }
}

/// Decides for one packet after the other.
#[derive(Debug, Clone)]
pub(crate) struct LossProcess {
    model: LossModel,
    random: ChaCha8Rng,
    bad: bool,
}

impl LossProcess {
    pub(crate) fn new(model: LossModel, seed: u64) -> Self {
        Self { model, random: generator(seed, "loss"), bad: false }
    }

    /// Whether the next packet is lost.
    pub(crate) fn loses(&mut self) -> bool {
        match self.model {
            LossModel::None => false,
            LossModel::Bernoulli { probability } => self.random.random::<f64>() < probability,
            LossModel::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => {
                let change = if self.bad { bad_to_good } else { good_to_bad };
                self.bad ^= self.random.random::<f64>() < change;
                self.random.random::<f64>() < if self.bad { loss_bad } else { loss_good }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(model: LossModel) -> Vec<bool> {
        let mut process = LossProcess::new(model, 11);
        (0..400_000).map(|_| process.loses()).collect()
    }

    fn share(lost: &[bool]) -> f64 {
        lost.iter().filter(|&&lost| lost).count() as f64 / lost.len() as f64
    }

    /// Mean length of the runs of losses.
    fn mean_run(lost: &[bool]) -> f64 {
        let losses = lost.iter().filter(|&&lost| lost).count();
        let runs = lost.windows(2).filter(|pair| pair[0] && !pair[1]).count();
        losses as f64 / runs as f64
    }

    #[test]
    fn bernoulli_loses_its_share_without_memory() {
        let lost = lost(LossModel::Bernoulli { probability: 0.03 });
        assert!((share(&lost) - 0.03).abs() < 0.001);
        assert!((mean_run(&lost) - 1.0 / 0.97).abs() < 0.02);
    }

    #[test]
    fn bursts_have_their_share_and_length() {
        for (loss, burst) in [(0.01, 5.0), (0.1, 20.0), (0.2, 2.0)] {
            let model = LossModel::bursts(loss, burst);
            assert!((model.mean() - loss).abs() < 1e-9);
            let lost = lost(model);
            assert!((share(&lost) / loss - 1.0).abs() < 0.1, "share {} for {loss}", share(&lost));
            assert!((mean_run(&lost) / burst - 1.0).abs() < 0.1, "run {} for {burst}", mean_run(&lost));
        }
    }

    #[test]
    fn gilbert_elliott_matches_its_stationary_loss() {
        let model = LossModel::GilbertElliott {
            good_to_bad: 0.02,
            bad_to_good: 0.1,
            loss_good: 0.001,
            loss_bad: 0.4,
        };
        assert!((share(&lost(model)) / model.mean() - 1.0).abs() < 0.05);
    }
}
