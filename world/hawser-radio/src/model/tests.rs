use super::*;
use crate::{EventKind, Sample};

const SECOND: u64 = 1_000_000_000;

fn sound(samples: &[Sample], name: &str) {
    assert_eq!(samples.first().map(|sample| sample.at), Some(0), "{name}: the first sample is at 0");
    for pair in samples.windows(2) {
        assert!(pair[0].at < pair[1].at, "{name}: {pair:?}");
        let same = Sample { at: pair[1].at, ..pair[0] };
        assert_ne!(same, pair[1], "{name}: only changes have a sample");
    }
    for sample in samples {
        assert!((0.0..=1.0).contains(&sample.loss), "{name}: {sample:?}");
        assert!(sample.delay < 120 * SECOND, "{name}: {sample:?}");
        assert!(sample.rate < 2_000_000_000, "{name}: {sample:?}");
        assert!(!sample.up || sample.rate > 0, "{name}: {sample:?}");
    }
}

#[test]
fn every_model_keeps_the_contract_of_a_profile() {
    for name in Model::NAMES {
        let model = Model::named(name).expect("a model of the list");
        let profiles = model.profiles(130 * SECOND, 7).expect("the defaults are possible");
        assert_eq!(profiles.len(), model.links(), "{name}");
        for profile in &profiles {
            for samples in [&profile.up, &profile.down, &profile.forecast.up, &profile.forecast.down] {
                sound(samples, name);
            }
            assert!(
                profile.events.windows(2).all(|pair| pair[0].at <= pair[1].at),
                "{name}: {:?}",
                profile.events
            );
            assert!(profile.positions.windows(2).all(|pair| pair[0].at < pair[1].at), "{name}");
            assert!(!profile.name.is_empty(), "{name}");
        }
    }
}

#[test]
fn a_seed_gives_the_same_links_always_and_another_seed_others() {
    for name in Model::NAMES {
        let model = Model::named(name).expect("a model of the list");
        let run = |seed| model.profiles(70 * SECOND, seed).expect("possible");
        assert_eq!(run(1), run(1), "{name}");
        assert_ne!(run(1), run(2), "{name}");
    }
}

/// A hash of all bits of a profile: a change of any draw shows here, on any machine.
fn fingerprint(model: &Model) -> u64 {
    let mut hash = 0_u64;
    let mut add = |value: u64| hash = crate::random::mix(hash.rotate_left(7) ^ value);
    for profile in model.profiles(60 * SECOND, 42).expect("possible") {
        for sample in profile.up.iter().chain(&profile.down).chain(&profile.forecast.down) {
            add(sample.at);
            add(sample.rate);
            add(sample.delay);
            add(sample.loss.to_bits());
            add(u64::from(sample.up));
        }
    }
    hash
}

/// The same bits on every machine. A change of a draw or a default shows here and has to be meant.
#[test]
fn profiles_have_the_bits_they_had() {
    let known = [
        ("highway", 0x957c_8349_d93c_2539),
        ("constellation", 0x700e_ba38_16a3_8482),
        ("wifi-encounters", 0x08ba_a6fa_5501_e2d9),
        ("two-carriers", 0x4599_28d4_fbb2_80da),
    ];
    for (name, wanted) in known {
        let model = Model::named(name).expect("a model of the list");
        assert_eq!(fingerprint(&model), wanted, "{name}");
    }
}

#[test]
fn a_longer_run_begins_like_a_shorter_one() {
    // Recorded or replayed in parts, a scene must not depend on how long it is asked for.
    for name in Model::NAMES {
        let model = Model::named(name).expect("a model of the list");
        let short = model.profiles(40 * SECOND, 3).expect("possible");
        let long = model.profiles(80 * SECOND, 3).expect("possible");
        for (short, long) in short.iter().zip(&long) {
            let until = 39 * SECOND;
            let part = |samples: &[Sample]| -> Vec<Sample> {
                samples.iter().copied().filter(|sample| sample.at < until).collect()
            };
            assert_eq!(part(&short.up), part(&long.up), "{name}");
            assert_eq!(part(&short.down), part(&long.down), "{name}");
        }
    }
}

#[test]
fn names_are_those_of_the_models() {
    for name in Model::NAMES {
        let model = Model::named(name).expect("a model of the list");
        let known = model.name();
        assert!(known == name || known == "substitute", "{name} {known}");
    }
    assert_eq!(Model::named("nonsense"), None);
}

#[test]
fn impossible_values_are_named() {
    let message = |result: Result<Vec<Profile>, RadioError>| result.expect_err("impossible").to_string();
    let highway = Highway { spacing: 0.0, ..Highway::default() };
    assert_eq!(
        message(highway.profiles(SECOND, 1)),
        "highway: spacing = 0 is impossible: expected a finite number above 0"
    );
    let none = Highway { links: Vec::new(), ..Highway::default() };
    assert_eq!(
        message(none.profiles(SECOND, 1)),
        "highway: links = an empty list is impossible: expected at least one network"
    );
    let joint = TwoCarriers { joint_outage_down: 0.5, ..TwoCarriers::default() };
    assert!(message(joint.profiles(SECOND, 1)).contains("joint_outage_down = 0.5"));
    assert_eq!(
        message(Highway::default().profiles(0, 1)),
        "highway: the duration is zero: expected at least one nanosecond"
    );
    let pole = crate::orbit::Place::new(-89.0, 0.0);
    let dark = Constellation { user: pole, ..Constellation::default() };
    assert!(message(dark.profiles(SECOND, 1)).contains("no satellite above 25 degrees at -89, 0"));
}

#[test]
fn links_of_one_scene_share_what_they_share() {
    let links = Highway::default().profiles(300 * SECOND, 5).expect("possible");
    assert_eq!(links[0].positions, links[1].positions, "one car");
    let starts = |link: &Profile| -> Vec<u64> {
        let hand_over = |event: &&crate::Event| event.kind == EventKind::HandOverStart;
        link.events.iter().filter(hand_over).map(|event| event.at).collect()
    };
    assert!(starts(&links[0]).iter().all(|at| !starts(&links[1]).contains(at)), "half a spacing apart");
}

#[cfg(feature = "serde")]
mod files {
    use super::*;
    use crate::{City, Fading, Motion, WifiEncounters};

    #[test]
    fn models_are_read_from_toml_with_defaults_for_what_is_not_said() {
        let read = |text: &str| toml::from_str::<Model>(text).expect("well formed");
        let text = "model = 'highway'\nspeed = 40.0\n\
                    [[links]]\nname = 'lte'\nfading = 'rayleigh'\nhand_over = { outage = 0.1 }\n\
                    [[links]]\nfading = { rician = { k_db = 6.0 } }\n";
        let Model::Highway(highway) = read(text) else { panic!("a highway") };
        assert_eq!((highway.speed, highway.spacing, highway.links.len()), (40.0, 4000.0, 2));
        assert_eq!(highway.links[0].fading, Fading::Rayleigh);
        assert_eq!(
            (highway.links[0].hand_over.outage, highway.links[0].hand_over.threshold_dbm),
            (0.1, -90.0)
        );
        assert_eq!(highway.links[1].fading, Fading::Rician { k_db: 6.0 });
        assert_eq!(
            read("model = 'wifi-encounters'\ncity = 'los-angeles'\n"),
            Model::WifiEncounters(WifiEncounters::in_city(City::LosAngeles))
        );
        let Model::Roaming(roaming) = read("model = 'roaming'\nmotion = { still = { at = [3.0, 4.0] } }")
        else {
            panic!("roaming")
        };
        assert_eq!(roaming.motion, Motion::Still { at: [3.0, 4.0] });
        let Model::Constellation(sky) =
            read("model = 'constellation'\norbits = { walker = { planes = 10 } }")
        else {
            panic!("a constellation")
        };
        assert!(format!("{:?}", sky.orbits).contains("planes: 10, per_plane: 22"));
    }

    #[test]
    fn unknown_keys_models_and_cities_are_refused() {
        let error = |text: &str| toml::from_str::<Model>(text).expect_err("refused").to_string();
        assert!(
            error("model = 'highway'\nsped = 3.0\n")
                .contains("unknown field `sped`, expected one of `speed`")
        );
        assert!(
            error("model = 'hihgway'\n").contains("unknown variant `hihgway`, expected one of `highway`")
        );
        assert!(error("model = 'wifi-encounters'\ncity = 'rome'\n").contains("paris, bologna, los-angeles"));
    }

    #[test]
    fn every_model_survives_writing_and_reading() {
        for name in Model::NAMES {
            let model = Model::named(name).expect("a model of the list");
            let text = toml::to_string(&model).expect("writable");
            assert_eq!(toml::from_str::<Model>(&text).expect("readable"), model, "{text}");
        }
    }
}
