use super::*;
use crate::math::{exp, from_db, gamma_lower};
use crate::random::Random;

fn close(got: f64, wanted: f64, relative: f64) {
    assert!((got - wanted).abs() <= relative * wanted.abs(), "{got} is not {wanted}");
}

/// MAMS (ToN 2024), equations (6) to (8): QPSK, 1460 bytes.
#[test]
fn packet_loss_of_qpsk_is_the_cliff_of_the_paper() {
    let loss = |db: f64, repairable| packet_error_rate(bit_error_rate(4, from_db(db)), 11_680, repairable);
    close(loss(10.0, 0), 1.000, 1e-3);
    close(loss(11.0, 0), 0.896, 1e-3);
    close(loss(12.0, 0), 0.330, 2e-3);
    close(loss(13.0, 0), 0.0453, 2e-3);
    close(loss(16.0, 0), 1.6e-6, 0.05);
    close(loss(9.0, 8), 1.000, 1e-3);
    close(loss(10.0, 8), 0.563, 1e-3);
    close(loss(11.0, 8), 5.8e-4, 0.02);
    assert_eq!(loss(40.0, 0), 0.0, "never below zero");
}

#[test]
fn bit_errors_of_qpsk_and_16_qam_meet_textbook_values() {
    // QPSK: Q(sqrt(Es/N0)). 16-QAM in this approximation: 3/4 Q(sqrt(Es/N0 / 5)).
    close(bit_error_rate(4, 9.0), crate::math::normal_tail(3.0), 1e-12);
    close(bit_error_rate(16, 45.0), 0.75 * crate::math::normal_tail(3.0), 1e-12);
    assert_eq!(bit_error_rate(4, 0.0), 0.5);
}

#[test]
fn packet_errors_of_independent_bits_count_up_to_one() {
    // Two bits, one wrong at most: 1 - p^2.
    close(packet_error_rate(0.1, 2, 1), 0.01, 1e-12);
    assert_eq!(packet_error_rate(0.1, 2, 2), 0.0);
    assert_eq!(packet_error_rate(1.0, 8, 7), 1.0);
    assert_eq!(packet_error_rate(0.0, 8, 0), 0.0);
}

#[test]
fn outage_is_exponential_for_rayleigh_and_milder_for_larger_m() {
    close(outage_loss(1.0, 1.0, 10.0), 1.0 - exp(-0.1), 1e-12);
    close(outage_loss(2.0, 1.0, 10.0), gamma_lower(2.0, 0.2), 1e-12);
    assert!(outage_loss(4.0, 1.0, 10.0) < outage_loss(1.0, 1.0, 10.0));
    assert_eq!(outage_loss(1.0, 1.0, 0.0), 1.0);
    let model = LossModel::Outage { threshold_db: 0.0 };
    close(model.mean(10.0, &Fading::Nakagami { m: 1.0 }), 1.0 - exp(-0.1), 1e-12);
    close(model.mean(10.0, &Fading::Rayleigh), 1.0 - exp(-0.1), 1e-12);
}

const KINDS: [Fading; 5] = [
    Fading::Rayleigh,
    Fading::Nakagami { m: 0.5 },
    Fading::Nakagami { m: 3.0 },
    Fading::Rician { k_db: 10.0 },
    Fading::Rician { k_db: -5.0 },
];

/// The draws follow the law that the forecaster uses (Kolmogorov and Smirnov at the 1 % level).
#[test]
fn fading_is_drawn_from_its_law() {
    let count = 20_000;
    for fading in KINDS {
        let mut random = Random::new(3, "fading");
        let mut draws: Vec<f64> = (0..count).map(|_| fading.draw(&mut random)).collect();
        draws.sort_by(f64::total_cmp);
        let mean = draws.iter().sum::<f64>() / f64::from(count);
        assert!((mean - 1.0).abs() < 0.03, "{fading:?}: mean gain {mean}");
        let distance = draws
            .iter()
            .enumerate()
            .map(|(index, gain)| (fading.cdf(*gain) - index as f64 / f64::from(count)).abs())
            .fold(0.0, f64::max);
        assert!(distance < 1.63 / f64::from(count).sqrt(), "{fading:?}: distance {distance}");
    }
}

#[test]
fn mean_loss_is_the_mean_over_the_draws() {
    let models = [
        LossModel::Outage { threshold_db: 0.0 },
        LossModel::Modulation { m: 4, bits: 11_680, repairable: 0 },
        LossModel::Logistic { middle_db: 27.0, slope_db: 1.2, floor: 1e-4 },
    ];
    for (model, mean_db) in models.iter().zip([8.0, 18.0, 32.0]) {
        for fading in KINDS {
            let mut random = Random::new(5, "loss");
            let mean = from_db(mean_db);
            let count = 20_000;
            let drawn: f64 =
                (0..count).map(|_| model.at(mean * fading.draw(&mut random))).sum::<f64>() / f64::from(count);
            let known = model.mean(mean, &fading);
            assert!((drawn - known).abs() < 0.012, "{model:?} {fading:?}: drawn {drawn}, known {known}");
        }
    }
}

/// MAMS (ToN 2024), equation (8) under fading: for uncoded QPSK the outage with the SNR of half loss stands for the whole
/// average.
#[test]
fn the_outage_formula_approximates_the_averaged_cliff() {
    let whole = LossModel::Modulation { m: 4, bits: 11_680, repairable: 0 };
    let short = LossModel::Outage { threshold_db: 11.6 };
    for mean_db in [12.0, 16.0, 20.0, 25.0] {
        let (a, b) = (
            whole.mean(from_db(mean_db), &Fading::Rayleigh),
            short.mean(from_db(mean_db), &Fading::Rayleigh),
        );
        assert!((a - b).abs() < 0.02, "{mean_db} dB: {a} and {b}");
    }
}

/// The topology of QC-MAB (W. Yang 2024, section 4.5.2).
#[test]
fn the_logistic_error_rate_meets_the_sheet() {
    let loss = LossModel::Logistic { middle_db: 27.0, slope_db: 1.2, floor: 1e-4 };
    close(loss.at(from_db(30.0)), 0.076, 0.01);
    close(loss.at(from_db(35.0)), 0.0013, 0.05);
    close(loss.at(from_db(38.0)), 1e-4, 0.1);
    assert_eq!(loss.at(0.0), 1.0);
}

#[test]
fn path_loss_falls_by_the_exponent_and_free_space_agrees_with_friis() {
    let law = PathLoss { exponent: 3.5, reference_db: 40.0, reference_distance: 10.0 };
    close(law.db(10.0), 40.0, 1e-12);
    close(law.db(100.0), 75.0, 1e-12);
    let wavelength = 0.125;
    close(
        PathLoss::free_space(wavelength).db(100.0),
        -crate::to_db(free_space_gain(wavelength, 100.0)),
        1e-9,
    );
}

#[test]
fn capacity_and_its_inverse() {
    close(shannon(5e6, 0.98, 1.0), 4.9e6, 1e-12);
    close(snr_for_rate(5e6, 0.98, shannon(5e6, 0.98, 12.3)), 12.3, 1e-9);
    assert_eq!(shannon(5e6, 1.0, -0.1), 0.0);
    close(sinr(4.0, 1.0, 1.0), 2.0, 1e-12);
}

#[test]
fn shadowing_has_its_deviation_and_forgets_over_its_distance() {
    let parameters = Shadowing { deviation_db: 6.0, decorrelation: 10.0 };
    let mut field = ShadowField::new(parameters, 9);
    let values: Vec<f64> = (0..40_000).map(|step| field.towards(1, f64::from(step) * 2.0)).collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / n;
    let lag = 5; // 10 m
    let covariance =
        values.windows(lag + 1).map(|part| (part[0] - mean) * (part[lag] - mean)).sum::<f64>() / n;
    assert!((variance.sqrt() - 6.0).abs() < 0.3, "deviation {}", variance.sqrt());
    assert!((covariance / variance - exp(-1.0)).abs() < 0.04, "correlation {}", covariance / variance);
    // At rest nothing changes, and what a site gives does not depend on who else is looked at.
    let still = field.towards(1, 80_000.0);
    assert_eq!(field.towards(1, 80_000.0), still);
    let mut other = ShadowField::new(parameters, 9);
    other.towards(2, 0.0);
    assert_eq!(other.towards(1, 0.0), values[0]);
}
