use hawser_radio::City;

use super::*;
use crate::{Phase, Profile};

fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * share) as usize]
}

fn to_address(encounters: &[Encounter]) -> Vec<f64> {
    encounters.iter().filter(|it| it.failed_in.is_none()).map(Encounter::total_s).collect()
}

#[test]
fn the_fast_client_is_there_within_two_seconds_and_the_stock_one_probes() {
    let drive = Drive::in_city(City::Bologna, 4.0, 1).unwrap();
    let [fast, stock, without] =
        [Profile::FAST, Profile::STOCK, Profile::STOCK_WITHOUT_PROBES].map(|profile| drive.run(&profile));
    assert!(to_address(&fast).len() > 200);
    assert!(quantile(to_address(&fast), 0.9) < 2.0);
    let [stock_median, fast_median, without_median] =
        [&stock, &fast, &without].map(|run| quantile(to_address(run), 0.5));
    assert!(stock_median - fast_median > 4.0, "{stock_median} {fast_median}");
    assert!(stock_median - without_median > 0.6 * (stock_median - fast_median), "{without_median}");
    assert!(usable(&fast) > 1.3 * usable(&stock), "{} {}", usable(&fast), usable(&stock));
}

#[test]
fn a_lease_that_is_known_and_a_resumed_session_save_exchanges() {
    let drive = Drive::in_city(City::Bologna, 2.0, 1).unwrap();
    let (cold, resuming) = (drive.run(&Profile::FAST), drive.run(&Profile::FAST_RESUMING));
    let median = |run: &[Encounter], phase| {
        quantile(
            run.iter().filter(|it| it.failed_in.is_none()).filter_map(|it| it.phase_s(phase)).collect(),
            0.5,
        )
    };
    assert!(resuming.iter().filter(|it| it.is_known_address).count() > 100);
    assert!(median(&resuming, Phase::Dhcp) < 0.7 * median(&cold, Phase::Dhcp));
    assert!(median(&resuming, Phase::Eap) < 0.7 * median(&cold, Phase::Eap));
}

#[test]
fn the_same_seed_is_the_same_drive_for_every_client() {
    let drive = |seed| Drive::in_city(City::Paris, 0.5, seed).unwrap();
    assert_eq!(drive(3).run(&Profile::FAST), drive(3).run(&Profile::FAST));
    assert_ne!(drive(3).run(&Profile::FAST), drive(4).run(&Profile::FAST));
    assert!(drive(3).points().iter().all(|point| point.mhz < 3000), "Paris has 2.4 GHz only");
}

#[test]
fn a_silent_server_and_a_deaf_access_point_cost_six_transmissions() {
    let drive = Drive::in_city(City::Paris, 2.0, 1).unwrap();
    let run = drive.run(&Profile::FAST);
    let failed = |phase| run.iter().filter(move |it| it.failed_in == Some(phase));
    assert!(failed(Phase::Dhcp).count() > 20 && failed(Phase::Authenticate).count() > 20);
    let longest = |phase| failed(phase).filter_map(|it| it.phase_s(phase)).fold(0.0, f64::max);
    assert!((longest(Phase::Authenticate) - 0.6).abs() < 1e-6);
    // OFFER may have come, and no ACK.
    assert!(longest(Phase::Dhcp) < 1.2 + 0.1);
}
