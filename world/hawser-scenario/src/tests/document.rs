//! Includes and overrides.

use super::*;

const BASE: &str = r#"
version = 1
seed = 3
duration = "60 s"
[[link]]
name = "wifi0"
rate = "40 Mbit/s"
delay = "15 ms"
[link.up]
rate = "10 Mbit/s"
loss = 0.01
[[link]]
name = "lte0"
rate = { trace = "lte.trace" }
[[flow]]
name = "main"
kind = "bulk"
size = "5 MB"
[transport]
scheduler = "minrtt"
controller = "newreno"
"#;

fn read(text: &str, overrides: &[&str]) -> Result<Scenario, ScenarioError> {
    let overrides: Vec<_> = overrides.iter().map(|&text| text.to_owned()).collect();
    Scenario::read(ReadOptions {
        text,
        file: "dir/test.toml",
        overrides: &overrides,
        files: &mut |name: &str| match name {
            "base/base.toml" => Ok(BASE.to_owned()),
            "base/lte.trace" => Ok("1\n2\n".to_owned()),
            "loop.toml" => Ok("include = [\"x/../loop2.toml\"]".to_owned()),
            "loop2.toml" => Ok("include = [\"test.toml\"]".to_owned()),
            "broken.toml" => Ok("version = 1\n\n[[link]]\nname = \"a\"\nrate = 7\n".to_owned()),
            _ => Err(format!("cannot read {name}")),
        },
        registry: None,
    })
}

const OVER: &str = r#"
version = 1
include = ["base/base.toml"]
seed = 9
[link.wifi0]
rate = "30 Mbit/s"
up.loss = 0.02
[link.leo0]
rate = "1 Mbit/s"
[flow.main]
size = "7 MB"
[transport]
scheduler = "ecf"
"#;

#[test]
fn the_including_file_wins_field_by_field() {
    let scenario = read(OVER, &[]).unwrap();
    assert_eq!((scenario.seed, scenario.duration), (9, Some(Duration::from_secs(60))));
    let names: Vec<_> = scenario.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["wifi0", "lte0", "leo0"]);
    let wifi = &scenario.links[0];
    // A field of the link as a whole replaces what was said below about one direction.
    assert_eq!((&wifi.up.rate, &wifi.down.rate), (&wifi.down.rate, &RateModel::constant(30_000_000)));
    assert_eq!(wifi.up.loss, LossModel::Bernoulli { probability: 0.02 });
    assert_eq!(wifi.down.delay.base.value_at(0), 15 * MILLISECOND);
    assert_eq!(scenario.flows[0].kind, FlowKind::Bulk { direction: Direction::Down, size: Some(7_000_000) });
    // The former name of `congestion` is understood.
    assert_eq!(scenario.transport.policies.to_string(), "scheduler = ecf, congestion = newreno");
}

/// Twenty-five small files that each include the next one twice are 2^25 includes.
#[test]
fn includes_that_double_end() {
    let mut reads = 0;
    let error = Scenario::read(ReadOptions {
        text: "include = [\"1.toml\", \"1.toml\"]",
        file: "0.toml",
        overrides: &[],
        files: &mut |name: &str| {
            reads += 1;
            let number: u32 =
                name.trim_end_matches(".toml").parse().map_err(|_| "no such file".to_owned())?;
            let next = number + 1;
            Ok(if number < 25 {
                format!("include = [\"{next}.toml\", \"{next}.toml\"]")
            } else {
                String::new()
            })
        },
        registry: None,
    });
    let words = error.unwrap_err().to_string();
    assert!(words.contains("at most 256 files"), "{words}");
    assert!(reads <= 256, "{reads}");
}

#[test]
fn overrides_replace_single_values() {
    let scenario = read(
        OVER,
        &[
            "link.wifi0.rate=20 Mbit/s",
            "link.wifi0.up.rate = \"5 Mbit/s\"",
            "link.*.delay=1 ms",
            "link.leo0.outage=[{ from = \"1 s\" }]",
            "link.leo0.outage.0.to=2 s",
            "transport.scheduler=redundant",
            "flow.main.size=\"1 MB\"",
            "limits.events=5",
            "seed=12",
            "name=over",
        ],
    )
    .unwrap();
    let wifi = &scenario.links[0];
    assert_eq!(
        (&wifi.up.rate, &wifi.down.rate),
        (&RateModel::constant(5_000_000), &RateModel::constant(20_000_000))
    );
    assert!(scenario.links.iter().all(|link| link.up.delay.base.value_at(0) == MILLISECOND));
    assert_eq!(scenario.links[2].up.outages.next_up(SECOND), 2 * SECOND);
    assert_eq!((scenario.seed, scenario.name.as_str(), scenario.limits.events), (12, "over", 5));
    assert_eq!(scenario.transport.policies.scheduler, Some("redundant".parse().unwrap()));
    assert_eq!(scenario.flows[0].kind, FlowKind::Bulk { direction: Direction::Down, size: Some(1_000_000) });
}

#[test]
fn mistakes_name_the_file_or_the_override() {
    for (text, message) in [
        (
            "include = [\"loop.toml\"]",
            "loop2.toml:1: include[0]: a file includes itself: test.toml -> loop.toml",
        ),
        ("include = [\"broken.toml\"]", "dir/broken.toml:5: link.a.rate: expected a rate"),
        ("\ninclude = [\"none.toml\"]", "dir/test.toml:2: include[0]: cannot read none.toml"),
        ("include = \"base.toml\"", "dir/test.toml:1: include: expected an array"),
        ("link.a = 5", "dir/test.toml:1: link.a: expected a table; links are written as [[link]]"),
        ("link = 5", "dir/test.toml:1: link: expected [[link]], or [link.NAME], found integer"),
        ("[link.a]\nname = \"b\"", "dir/test.toml:2: link.a.name: the name is given by [link.a] already"),
    ] {
        let found = read(text, &[]).expect_err(text).to_string();
        assert!(found.contains(message), "{text:?} gives {found:?}");
    }
    for (set, part) in [
        ("link.wifi0.rate", "expected KEY=VALUE"),
        ("link..rate=1", "is no path"),
        ("link.wifi1.rate=1 Mbit/s", "link.wifi1: there is no link \"wifi1\"; there are: wifi0, lte0, leo0"),
        ("segment.x.rate=1 Mbit/s", "segment.x: the scenario has no [[segment]]"),
        ("link.wifi0=1", "link.wifi0: a link cannot be replaced"),
        ("link=1", "say which link"),
        ("link.wifi0.rate=20 Mbps", "link.wifi0.rate: expected a rate"),
        (
            "link.wifi0.speed=3",
            "link.wifi0.speed: unknown field; allowed here: attach_outage, backup, between",
        ),
        ("link.wifi0.rate.mean=3", "link.wifi0.rate: is no table but a string"),
        ("link.leo0.outage.0.to=3", "link.leo0.outage"),
        ("link.wifi0.down.speed=3", "link.wifi0.down.speed: unknown field"),
        ("sede=4", "sede: unknown field"),
        ("seed=four", "seed: expected a whole number"),
        ("include=[]", "cannot be set"),
        ("transport.fec=1", "transport.fec: unknown field; allowed here: acks, congestion"),
    ] {
        let found = read(OVER, &[set]).expect_err(set).to_string();
        assert!(found.starts_with(&format!("--set {set}: ")), "{found:?}");
        assert!(found.contains(part), "{set:?} gives {found:?}");
    }
}
