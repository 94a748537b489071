//! Golden values of the chapter's equations, and its filter against the truth.

use hawser_learn::{DifferenceKalman, Kalman, Noise, Random, upper_confidence};
use hawser_policy::LayerPackets;
use hawser_radio::propagation::shannon;
use hawser_radio::{ApLattice, from_db, watts_to_dbm};
use hawser_sched::{
    QcMabContext, QcMabEta, QcMabParameters, qc_mab_block_failure, qc_mab_goodput, qc_mab_on_time,
    qc_mab_reward,
};

use crate::experiments::verify::{Measured, Request};

/// The largest relative error of pairs of a value and what the sheet gives.
fn worst(pairs: &[(f64, f64)]) -> f64 {
    let errors = pairs.iter().map(|(ours, theirs)| ((ours - theirs) / theirs).abs());
    // No number is no agreement.
    errors.fold(0.0, |worst, error| if error <= worst { worst } else { error })
}

/// Item 15: section 10 of the sheet.
pub(super) fn vectors(_: &Request<'_>) -> Result<Measured, String> {
    let blocks = [
        (10, 3, 0.05, 3.103e-3),
        (10, 3, 0.10, 3.416e-2),
        (20, 6, 0.05, 2.210e-4),
        (5, 2, 0.01, 3.396e-5),
        (50, 15, 0.10, 5.381e-4),
        (50, 15, 0.20, 0.2154),
    ]
    .map(|(sources, repairs, loss, expected)| (qc_mab_block_failure(sources, repairs, loss), expected));
    let on_time = [(qc_mab_on_time(0.05, 0.150, 0.040, 0.080), 0.9975)];
    // A window of 100 kB in 80 ms at 5 %: 10 Mbit/s less 5 %; with ten and three, times 10/13 and what is decoded.
    let goodput = [
        (qc_mab_goodput(1e5, 0.08, 0.05, None), 9.5e6),
        (qc_mab_goodput(1e5, 0.08, 0.05, Some((10, 3))), 1e7 * (1.0 - 3.1035e-3) * 10.0 / 13.0),
    ];
    let mut filter = Kalman::new(8.0, 1.0, Noise { process: 0.25, measurement: 2.0 });
    filter.update(11.0);
    let filter = [(filter.gain(), 0.3846154), (filter.estimate(), 9.1538462), (filter.variance(), 0.7692308)];
    let bonus = |pulls, time| upper_confidence(0.0, pulls, time, 2.0);
    // Printed bonuses are `sqrt(2 ln t / N)`.
    let bonuses = [(bonus(1, 2), 1.177410), (bonus(5, 50), 1.250923), (bonus(20, 88), 0.669129)];
    let packets = |all, in_time| LayerPackets { all, in_time };
    let reward =
        |in_time, gamma| qc_mab_reward(packets(20, in_time), packets(80, 60), gamma, QcMabEta::Paper);
    let rewards = [
        (reward(20, 0.99), 0.80),
        (reward(19, 0.90), 0.79),
        (reward(19, 0.95), 0.79),
        (reward(19, 0.99), 0.79),
        (reward(17, 0.99), 0.37),
    ];
    let lattice = ApLattice::default();
    let radio = [(10.0, -66.7, 53.3, 8.9), (38.3, -90.0, 30.0, 5.0)].map(|(distance, rss, snr, capacity)| {
        let strength = watts_to_dbm(0.1) - lattice.path_loss.db(distance);
        let snr_db = strength - (lattice.noise_density + 60.0);
        let rate = shannon(1e6, lattice.efficiency, from_db(snr_db)) / 1e6;
        [strength - rss, snr_db - snr, rate - capacity].into_iter().map(f64::abs).fold(0.0, f64::max)
    });
    let context = QcMabContext::new(&QcMabParameters::default());
    let cells = [(context.cell_of(12.0, 100.0, 5e-4), 22), (context.cell_of(4.0, 60.0, 5e-5), 0)];
    let wrong_cells = cells.iter().filter(|(ours, theirs)| ours != theirs).count();
    Ok(Measured::new("")
        .with("block_failure_off_by", worst(&blocks))
        .with("on_time_off_by", worst(&on_time))
        .with("goodput_off_by", worst(&goodput))
        .with("filter_off_by", worst(&filter))
        .with("bonus_off_by", worst(&bonuses))
        .with("reward_off_by", worst(&rewards))
        .with("radio_off_by", radio.into_iter().fold(0.0, f64::max))
        .with("wrong_cells", wrong_cells as f64))
}

/// Item 14: the error of the filter over that of the samples, on random walks of known noise.
pub(super) fn filter(request: &Request<'_>) -> Result<Measured, String> {
    const SAMPLES: usize = 20_000;
    let mut measured = Measured::new("");
    let cases = [("slow", 0.05, 1.0), ("middle", 0.2, 2.0), ("fast", 1.0, 1.0)];
    for (name, process, measurement) in cases {
        let mut random = Random::new(request.seed);
        let mut truth = 50.0;
        let mut sample = |random: &mut Random| {
            truth += f64::sqrt(process) * random.normal();
            (truth, truth + f64::sqrt(measurement) * random.normal())
        };
        let mut filter: DifferenceKalman<300> = DifferenceKalman::new(sample(&mut random).1);
        let (mut filtered, mut raw) = (0.0, 0.0);
        for _ in 0..SAMPLES {
            let (truth, sample) = sample(&mut random);
            filtered += (filter.update(sample) - truth).powi(2);
            raw += (sample - truth).powi(2);
        }
        measured = measured.with(format!("{name}_error_ratio"), f64::sqrt(filtered / raw));
    }
    Ok(measured)
}
