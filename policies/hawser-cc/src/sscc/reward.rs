//! The reward of a unit (F. Yang 2022, equations 5.8 and 5.9): throughput per delay, as a share of the best that was seen.

use super::DataUnit;

/// Weight of lost against delivered bytes (zeta).
const LOSS_WEIGHT: f64 = 5.0;
/// Delay up to which a queue costs nothing, in least delays (beta).
const DELAY_TOLERANCE: f64 = 1.25;

/// How delay counts beyond the tolerance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RewardForm {
    /// Equation 5.9: in full from the threshold on, at which the reward jumps to 1/1.25.
    #[default]
    Thesis,
    /// As Orca has it, from which the thesis took its form: `max(1, delay / (1.25 delay_min)) delay_min`.
    Continuous,
}

/// The reward, at most 1; below zero where more than a fifth as much is lost as is delivered.
pub fn reward(unit: &DataUnit, form: RewardForm) -> f64 {
    let least = unit.delay_min;
    let delay = match form {
        RewardForm::Thesis if unit.delay <= DELAY_TOLERANCE * least => least,
        RewardForm::Thesis => unit.delay,
        RewardForm::Continuous => (unit.delay / (DELAY_TOLERANCE * least)).max(1.0) * least,
    };
    ((unit.tput - LOSS_WEIGHT * unit.loss) / delay) / (unit.tput_max / least)
}

#[cfg(test)]
mod tests {
    use super::super::testing::unit;
    use super::*;

    /// By hand, least delay 40 ms, largest rate 20 Mbit/s.
    #[test]
    fn rewards_by_hand() {
        for (tput, loss, delay, thesis, continuous) in [
            (20.0, 0.0, 40.0, 1.0, 1.0),
            (20.0, 0.0, 50.0, 1.0, 1.0),
            (20.0, 0.0, 50.5, 40.0 / 50.5, 50.0 / 50.5),
            (20.0, 0.0, 80.0, 0.5, 0.625),
            (10.0, 1.0, 40.0, 0.25, 0.25),
            (10.0, 2.0, 80.0, 0.0, 0.0),
            (10.0, 4.0, 40.0, -0.5, -0.5),
        ] {
            let unit = unit(tput, loss, delay);
            assert!((reward(&unit, RewardForm::Thesis) - thesis).abs() < 1e-12, "{unit:?}");
            assert!((reward(&unit, RewardForm::Continuous) - continuous).abs() < 1e-12, "{unit:?}");
        }
    }
}
