//! What interrupts a cellular link: handovers and stalls.

use super::carriers::Carrier;
use crate::math::{nanos, pow};
use crate::profile::{Sample, Steps};
use crate::random::{Draws as _, Random};

/// When each carrier hands over, as gaps.
pub(super) fn handovers(
    carriers: &[Carrier; 2],
    joint: f64,
    duration: f64,
    seed: u64,
) -> [Vec<(u64, u64)>; 2] {
    let draw = |carrier: &Carrier, name: &str, per_minute: f64| {
        let mut random = Random::new(seed, name);
        let table = carrier.handover_duration.table();
        let (mut list, mut at): (Vec<(f64, f64)>, f64) = (Vec::new(), 0.0);
        if per_minute <= 0.0 {
            return list;
        }
        loop {
            at += random.exponential(60.0 / per_minute);
            if at >= duration {
                break;
            }
            list.push((at, table.value(random.normal())));
        }
        list
    };
    let [one, two] = carriers;
    let first = draw(one, "hand-overs of the first", one.handovers_per_minute);
    // A share of the second carrier's follow those of the first; the rest come on their own.
    let share = if one.handovers_per_minute > 0.0 {
        (joint * two.handovers_per_minute / one.handovers_per_minute).min(1.0)
    } else {
        0.0
    };
    let own = two.handovers_per_minute - share * one.handovers_per_minute;
    let mut second = draw(two, "hand-overs of the second", own);
    let table = two.handover_duration.table();
    let mut random = Random::new(seed, "joint hand-overs");
    for &(at, _) in &first {
        if random.chance(share) {
            second.push((at + random.unit(), table.value(random.normal())));
        }
    }
    second.sort_by(|a, b| a.0.total_cmp(&b.0));
    [first, second].map(apart)
}

/// A stall holds packets back: one that enters after a while waits for the rest of it.
pub(super) fn stalls(carrier: &Carrier, duration: f64, seed: u64) -> Vec<(f64, f64)> {
    let mut random = Random::new(seed, &format!("{} stalls", carrier.name));
    let (mut list, mut at) = (Vec::new(), 0.0);
    if carrier.stalls_per_second <= 0.0 {
        return list;
    }
    loop {
        at += random.exponential(1.0 / carrier.stalls_per_second);
        if at >= duration {
            break;
        }
        let length = carrier.shortest_stall * pow(1.0 - random.unit(), -1.0 / carrier.stall_exponent);
        list.push((at, length));
        at += length;
    }
    list
}

/// Handovers as gaps in nanoseconds; one that begins before the last has ended waits for it.
fn apart(list: Vec<(f64, f64)>) -> Vec<(u64, u64)> {
    let mut gaps: Vec<(u64, u64)> = Vec::with_capacity(list.len());
    for (at, length) in list {
        let start = gaps.last().map_or(0, |last| last.1 + 100_000_000).max(nanos(at));
        gaps.push((start, start + nanos(length)));
    }
    gaps
}

/// Adds the remaining time of a stall to the delay, in steps of 20 ms.
pub(super) fn stalled(samples: &[Sample], stalls: &[(f64, f64)]) -> Vec<Sample> {
    const STEP: f64 = 0.020;
    let mut steps = Steps::new();
    let mut index = 0;
    for &(at, length) in stalls {
        let end = nanos(at + length);
        while let Some(sample) = samples.get(index).filter(|sample| sample.at < nanos(at)) {
            steps.push(*sample);
            index += 1;
        }
        let mut state = samples[index.saturating_sub(1)];
        let count = libm::ceil(length / STEP) as u32;
        for part in 0..=count {
            let time = nanos(at + STEP * f64::from(part)).min(end);
            while let Some(sample) = samples.get(index).filter(|sample| sample.at <= time) {
                state = *sample;
                index += 1;
            }
            steps.push(Sample { at: time, delay: state.delay + (end - time), ..state });
        }
    }
    samples[index.min(samples.len())..].iter().for_each(|sample| steps.push(*sample));
    steps.finish()
}
