//! Links that follow a radio scene.

use hawser_radio::{ForecastQuality, Model, Scene};

use super::*;

fn with_scene(scene: &str, link: &str) -> Result<Scenario, ScenarioError> {
    parse(&format!("version = 1\nduration = \"30 s\"\n[scene.road]\n{scene}\n[link.a]\n{link}\n"))
}

#[test]
fn every_model_can_be_a_channel() {
    for name in Model::NAMES {
        let model = Model::named(name).unwrap();
        let profile = model.profile(30 * SECOND, derive_seed(1, "scene/road")).unwrap();
        let link = format!("channel = {{ scene = \"road\", link = \"{}\" }}", profile.name);
        let scenario = with_scene(&format!("model = \"{name}\""), &link).unwrap();
        let link = &scenario.links[0];
        assert_eq!(link.forecasts.as_ref().map(|forecasts| &*forecasts.profile), Some(&profile), "{name}");
        for (direction, samples) in [(&link.up, &profile.up), (&link.down, &profile.down)] {
            let RateModel::Scheduled(rate) = &direction.rate else { panic!("a schedule") };
            for sample in samples {
                assert_eq!(rate.value_at(sample.at), sample.rate);
                assert_eq!(direction.delay.base.value_at(sample.at), sample.delay);
                assert_eq!(direction.outages.is_down(sample.at), !sample.up);
                match &direction.loss {
                    LossModel::Series(loss) => assert_eq!(loss.value_at(sample.at), sample.loss),
                    _ => assert_eq!(sample.loss, 0.0),
                }
            }
        }
        assert_eq!(link.marks.len(), profile.events.len());
    }
}

#[test]
fn parameters_lie_over_those_of_the_model() {
    let scene = r#"
        model = "highway"
        speed = "72 km/h"
        seed = 5
        links = [{ name = "wifi", nominal_rate = "20 Mbit/s", hand_over = { outage = "300 ms" } }, { name = "lte" }]
    "#;
    let link = r#"
        channel = { scene = "road", link = "wifi" }
        delay = "5 ms"
        queue = "100 kB"
        forecast = { delayed = "500 ms" }
    "#;
    let scenario = with_scene(scene, link).unwrap();
    let Some(Model::Highway(mut highway)) = Model::named("highway") else { panic!("a highway") };
    highway.links[0].nominal_rate = 20e6;
    highway.links[0].hand_over.outage = 0.3;
    let profile = &highway.profiles(30 * SECOND, 5).unwrap()[0];
    let forecasts = scenario.links[0].forecasts.clone().unwrap();
    assert_eq!(*forecasts.profile, *profile);
    assert_eq!(forecasts.quality, ForecastQuality::Delayed(Duration::from_millis(500)));
    let delay = scenario.links[0].up.delay.base.value_at(0);
    assert_eq!(delay, profile.up[0].delay + 5 * MILLISECOND);
    assert_eq!(scenario.links[0].up.queue, QueueConfig::bytes(100_000));
    // The same by name, variants, and one link of several.
    let by_name = scene.replace("[{ name = \"wifi\", ", "{ wifi = { ").replace(", { name = \"lte\" }]", " }");
    assert_eq!(with_scene(&by_name, link).unwrap(), scenario);
    let fading = scene
        .replace("{ outage = \"300 ms\" }", "{ outage = \"300 ms\" }, fading = { rician = { k_db = 6 } }");
    assert!(with_scene(&fading, link).is_ok());
    let noisy = with_scene(
        "model = \"itsn\"",
        "channel = { scene = \"road\", link = \"satellite-1\" }\nforecast = { noise = 0.2 }",
    );
    let quality = noisy.unwrap().links[0].forecasts.clone().unwrap().quality;
    assert!(matches!(quality, ForecastQuality::Noisy { deviation, .. } if deviation == 0.2));
    let city = with_scene("model = \"wifi-encounters\"\ncity = \"paris\"", "channel = \"road\"").unwrap();
    assert_eq!(city.links.len(), 1);
}

#[test]
fn a_new_address_is_a_rebinding() {
    let text = |duration: &str| {
        format!(
            "version = 1\nduration = \"{duration}\"\n[scene.city]\nmodel = \"wifi-encounters\"\n[link.a]\nchannel = \"city\"\nnat_rebinding = [\"1 s\"]\n"
        )
    };
    let scenario = parse(&text("20 min")).unwrap();
    let changes = scenario.links[0].marks.iter().filter(|mark| mark.1.starts_with("address change")).count();
    assert!(changes > 0);
    assert_eq!(scenario.links[0].nat_rebinding.len(), changes + 1);
    assert!(scenario.links[0].nat_rebinding.is_sorted());
}

#[test]
fn a_segment_may_follow_a_scene() {
    let text = r#"
        version = 1
        duration = "30 s"
        [scene.sky]
        model = "maco-satellites"
        [segment.beam]
        channel = { scene = "sky", link = "subflow-0" }
        queue = "500 kB"
        [link.sat0]
        rate = "unlimited"
        via = ["beam"]
        forecast = "perfect"
        [link.other0]
        between = ["neighbour", "server"]
        rate = "unlimited"
    "#;
    let scenario = parse(text).unwrap();
    let forecasts = scenario.links[0].forecasts.as_ref().unwrap();
    assert_eq!((forecasts.profile.name.as_str(), forecasts.quality), ("subflow-0", ForecastQuality::Perfect));
    assert_eq!(
        scenario.segments[0].up.rate.peak(),
        forecasts.profile.up.iter().map(|sample| sample.rate).max()
    );
    assert!(!scenario.links[0].marks.is_empty() && scenario.links[1].forecasts.is_none());
}

#[test]
fn mistakes_in_scenes() {
    for (scene, link, part) in [
        (
            "model = \"motorway\"",
            "rate = \"1 Mbit/s\"",
            ":4: scene.road.model: unknown model \"motorway\"; allowed: \"highway\"",
        ),
        ("speed = 3", "rate = \"1 Mbit/s\"", ":3: scene.road: the field `model` is missing"),
        (
            "model = \"highway\"\nsped = 3",
            "channel = \"road\"",
            ":5: scene.road.sped: unknown field `sped`, expected",
        ),
        (
            "model = \"highway\"\nspeed = \"fast\"",
            "channel = \"road\"",
            ":5: scene.road.speed: expected a number, or",
        ),
        (
            "model = \"highway\"\nspeed = \"40 mph\"",
            "channel = \"road\"",
            "(units: m, km, m/s, km/s, km/h, Hz, kHz, MHz, GHz, W, mW, W/Hz, dB, dBi, dBm, dBW, dBm/Hz, deg, %, bit/s, kbit/s, Mbit/s, Gbit/s, ns, us, µs, ms, s, min, h), found \"40 mph\"",
        ),
        (
            "model = \"highway\"\nlinks.wifi.hand_over.outage = true",
            "channel = \"road\"",
            "expected a number, or a quantity such as",
        ),
        (
            "model = \"highway\"\nspeed = \"1001 km/s\"",
            "channel = \"road\"",
            ":5: scene.road.speed: highway: speed = 1001000 is impossible: expected at most 1000000 m/s",
        ),
        (
            "model = \"highway\"\nspacing = \"0.5 m\"",
            "channel = \"road\"",
            ":5: scene.road.spacing: highway: spacing = 0.5 is impossible: expected at least 1 m",
        ),
        (
            "model = \"highway\"\nspeed = -3",
            "channel = \"road\"",
            ":5: scene.road.speed: highway: speed = -3",
        ),
        ("model = \"highway\"\nlinks = { umts = {} }", "channel = \"road\"", "there are: wifi, lte"),
        ("model = \"highway\"\nlinks = []", "channel = \"road\"", ":5: scene.road.links: highway: links"),
        ("model = \"highway\"", "channel = \"road\"", ":6: link.a.channel: the scene has 2 links"),
        ("model = \"highway\"", "channel = \"sea\"", "there is no scene \"sea\"; there are: road"),
        (
            "model = \"highway\"",
            "channel = { scene = \"road\", link = \"5g\" }",
            "no link \"5g\"; it has: wifi, lte",
        ),
        (
            "model = \"five-g\"",
            "channel = \"road\"\nrate = \"1 Mbit/s\"",
            ":7: link.a.rate: the `channel` says so",
        ),
        (
            "model = \"five-g\"",
            "channel = \"road\"\nforecast = \"good\"",
            ":7: link.a.forecast: unknown value",
        ),
        (
            "model = \"five-g\"",
            "channel = \"road\"\nforecast = { noise = 0.1, delayed = \"1 s\" }",
            "expected \"absent\"",
        ),
        (
            "model = \"five-g\"",
            "rate = \"1 Mbit/s\"\nforecast = \"perfect\"",
            "or with an `outage` can be foreseen",
        ),
        (
            "model = \"five-g\"",
            "rate = \"1 Mbit/s\"\noutage = { every = \"9 s\", duration = \"1 s\" }\nforecast = { noise = 0.2 }",
            "its outages are not off by a share",
        ),
        (
            "model = \"constellation\"\norbits = { tle = { file = \"none.tle\" } }",
            "channel = \"road\"",
            ":5: scene.road.orbits: cannot read none.tle",
        ),
    ] {
        let message = with_scene(scene, link).expect_err(scene).to_string();
        assert!(message.contains(part), "{scene:?} gives {message:?}");
    }
    let text = "version = 1\n[scene.road]\nmodel = \"five-g\"\n[link.a]\nchannel = \"road\"\n";
    let message = parse(text).unwrap_err().to_string();
    assert!(message.contains(":2: scene.road: a scene needs the scenario's `duration`"), "{message}");
}
