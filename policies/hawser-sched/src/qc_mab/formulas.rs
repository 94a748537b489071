//! The equations of the chapter that are more than a line, as functions over numbers.

use hawser_policy::LayerPackets;

/// What a violated requirement costs (equation 4.19).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum QcMabEta {
    /// As printed: enhancement packets count as 1 / (late base packets), so a single late one costs nothing but itself.
    #[default]
    Paper,
    /// 1 / (1 + late base packets).
    Strict,
}

/// The reward of a frame, 0 to 1: the share of its packets that were in time, of which those of the enhancement layers count
/// less where the base layer misses its requirement `gamma` (equation 4.19).
pub fn qc_mab_reward(base: LayerPackets, enhancement: LayerPackets, gamma: f64, eta: QcMabEta) -> f64 {
    let all = f64::from(base.all) + f64::from(enhancement.all);
    if all == 0.0 {
        return 0.0;
    }
    let late = f64::from(base.all.saturating_sub(base.in_time));
    let is_met = f64::from(base.in_time) >= gamma * f64::from(base.all);
    let weight = match eta {
        _ if is_met || late == 0.0 => 1.0,
        QcMabEta::Paper => 1.0 / late,
        QcMabEta::Strict => 1.0 / (1.0 + late),
    };
    (f64::from(base.in_time) + weight * f64::from(enhancement.in_time)) / all
}

/// Probability that a block of `sources` packets with `repairs` more cannot be decoded when each packet is lost with this
/// probability (equation 4.1).
pub fn qc_mab_block_failure(sources: u32, repairs: u32, loss: f64) -> f64 {
    let all = sources + repairs;
    (repairs + 1..=all).map(|lost| binomial(all, lost, loss)).sum()
}

fn binomial(all: u32, some: u32, probability: f64) -> f64 {
    let ways = (0..some).fold(1.0, |ways, index| ways * f64::from(all - index) / f64::from(index + 1));
    ways * power(probability, some) * power(1.0 - probability, all - some)
}

/// Powers by multiplication: the same on every machine.
fn power(base: f64, exponent: u32) -> f64 {
    (0..exponent).fold(1.0, |power, _| power * base)
}

/// Probability that a packet arrives in time with as many retransmissions as fit before the deadline: `loss` is that of a
/// packet, or the failure of its block; times in seconds.
pub fn qc_mab_on_time(loss: f64, deadline: f64, delay: f64, round_trip: f64) -> f64 {
    let retransmissions = ((deadline - delay) / round_trip).max(0.0) as u32;
    1.0 - power(loss, retransmissions + 1)
}

/// Goodput of a path in bit/s with a window in bytes (equations 4.4 and 4.5): `(sources, repairs)` of its blocks where it is
/// protected.
pub fn qc_mab_goodput(window: f64, round_trip: f64, loss: f64, block: Option<(u32, u32)>) -> f64 {
    let rate = window * 8.0 / round_trip;
    match block {
        None => rate * (1.0 - loss),
        Some((sources, repairs)) => {
            let share = f64::from(sources) / f64::from(sources + repairs);
            rate * (1.0 - qc_mab_block_failure(sources, repairs, loss)) * share
        }
    }
}

/// Thresholds of a quantity: which of three intervals it lies in, lower edges included.
pub(super) fn interval(value: f64, thresholds: [f64; 2]) -> u32 {
    thresholds.iter().filter(|threshold| **threshold <= value).count() as u32
}
