//! What is asked of the learner itself: that it repeats itself, and that it is quick.

use std::hint::black_box;
use std::time::Instant;

use hawser_policy::Time;
use hawser_sched::{QcMabKey, QcMabLearner, QcMabObservation, QcMabParameters, QcMabPoint, QcMabSample};

use super::programs::{DECISION, watched};
use crate::data::statistics::quantile_of;
use crate::data::sweep::digest;
use crate::experiments::verify::{Measured, Request};

/// Digits of a digest that stand in for a trace hash.
const DIGITS: usize = 16;

/// Item 13: what is noted of all decisions, twice with the same seed, and once with another.
pub(super) fn same_seed(request: &Request<'_>) -> Result<Measured, String> {
    let log = |seed: u64| {
        let request = Request { seed, ..*request };
        let (notes, _) = watched(&request)?;
        let decisions = notes.iter().filter(|note| note.name == DECISION);
        let moves = decisions.clone().filter(|note| note.number("moves") == Some(1.0)).count();
        let decisions = decisions.count();
        Ok::<_, String>((decisions, format!("{notes:?}"), moves as f64 / decisions.max(1) as f64))
    };
    let (decisions, first, moves) = log(request.seed)?;
    let (_, again, _) = log(request.seed)?;
    let (_, other, _) = log(request.seed + 1_000)?;
    Ok(Measured::new(&digest(first.as_bytes())[..DIGITS])
        .with("decisions", decisions as f64)
        .with("moves_share", moves)
        .with("logs_differ", f64::from(u8::from(first != again)))
        .with("other_seed_same_log", f64::from(u8::from(first == other))))
}

/// Item 13: microseconds of a slot with as many access points as a link may report, in the median of batches.
pub(super) fn cost(_: &Request<'_>) -> Result<Measured, String> {
    const SLOTS: u64 = 2_000;
    let points: Vec<QcMabPoint> =
        (0..16).map(|point| QcMabPoint { point, strength: Some(-60.0 - point as f64) }).collect();
    // All of them are arms.
    let parameters = QcMabParameters { key: QcMabKey::Point, strongest: 0, ..QcMabParameters::default() };
    let mut learner = QcMabLearner::new(parameters, 1);
    let mut times = Vec::new();
    let mut slot = 0;
    for _ in 0..20 {
        let began = Instant::now();
        for _ in 0..SLOTS {
            slot += 1;
            // All cells in turn, so that every pair is known in the end.
            let [rate, delay, loss] = [slot % 3, slot / 3 % 3, slot / 9 % 3].map(|level| level as f64);
            let observation = QcMabObservation {
                now: Time::from_millis(150 * slot),
                sample: Some(QcMabSample {
                    rate: 4.0 + 4.0 * rate,
                    app_limited: false,
                    delay: 60.0 + 40.0 * delay,
                    loss: 5e-4 * loss,
                    capacity: Some(12.0),
                }),
                features: [0.0; 11],
                current: Some(slot % 16),
                points: black_box(&points),
            };
            if let Some(decision) = black_box(learner.on_slot(&observation)) {
                learner.reward(decision.id, 0.5);
            }
        }
        times.push(began.elapsed().as_secs_f64() * 1e6 / SLOTS as f64);
    }
    Ok(Measured::new("").with("slot_us", quantile_of(&times, 0.5)))
}
