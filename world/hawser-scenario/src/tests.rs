use super::*;
use hawser_link::{Jitter, LossModel, MILLISECOND, NEVER, OutagePolicy, QueueConfig, RateModel, SECOND};

fn parse(text: &str) -> Result<Scenario, ScenarioError> {
    Scenario::parse(text, "dir/test.toml", &mut read_file)
}

fn read_file(name: &str) -> Result<String, String> {
    match name {
        "good.trace" => Ok("1\n2\n3\n".to_owned()),
        "bad.trace" => Ok("3\n2\n".to_owned()),
        "delay.txt" => Ok("10\n20.5\n".to_owned()),
        "rate.txt" => Ok("# seconds Mbit/s\n0 10\n1.5, 2.5\n".to_owned()),
        "loss.txt" => Ok("0 0.2\n1 1\n".to_owned()),
        "empty.txt" => Ok("# nothing\n\n".to_owned()),
        "back.txt" => Ok("0 1\n2 1\n1 1\n".to_owned()),
        _ => Err(format!("cannot read {name}")),
    }
}

#[test]
fn every_form_of_every_field() {
    let scenario = parse(
        r#"
        version = 1
        seed = 7
        duration = "2 min"
        mptcp = true
        [[link]]
        name = "wifi0"
        rate = { steps = [["0 s", "40 Mbit/s"], ["10 s", "0 bit/s"], ["20 s", "40 Mbit/s"]], interpolate = "linear" }
        delay = "15 ms"
        jitter = { model = "walk", maximum = "10 ms", step = "1 ms" }
        loss = "0.1 %"
        queue = "50 ms"
        outage = [{ from = "20 s", to = "30 s" }, { from = "90 s" }]
        [link.up]
        rate = "10 Mbit/s"
        jitter = { model = "gamma", mean = "4 ms", deviation = "3 ms" }
        loss = { model = "gilbert-elliott", loss = 0.01, mean_burst = 8 }
        queue = 20000
        [[link]]
        name = "leo0"
        between = ["client", "server"]
        rate = { trace = "good.trace" }
        delay = { series = "delay.txt", interval = "10 ms", repeat = "1 s" }
        outage = { every = "15 s", duration = "300 ms", offset = "12 s" }
        on_outage = "hold"
        down = { rate = { series = "rate.txt" } }
        "#,
    )
    .unwrap();
    assert_eq!((scenario.name.as_str(), scenario.seed, scenario.mptcp), ("test", 7, true));
    assert_eq!(scenario.duration, Some(Duration::from_secs(120)));
    let [wifi, leo] = &scenario.links[..] else { panic!("two links") };
    assert_eq!(wifi.up.rate, RateModel::constant(10_000_000));
    assert_eq!(wifi.up.queue, QueueConfig::bytes(20_000));
    assert_eq!(wifi.up.delay.jitter, Jitter::Gamma { mean: 4 * MILLISECOND, deviation: 3 * MILLISECOND });
    assert_eq!(wifi.up.loss, LossModel::bursts(0.01, 8.0));
    assert_eq!(wifi.down.loss, LossModel::Bernoulli { probability: 0.001 });
    assert_eq!(wifi.down.queue, QueueConfig::bytes(250_000));
    assert_eq!(wifi.down.rate.capacity_bits(20 * SECOND), Some(400_000_000));
    assert_eq!(wifi.down.outages.next_up(95 * SECOND), NEVER);
    assert_eq!(leo.down.rate.capacity_bits(2 * SECOND), Some(15_000_000 + 1_250_000));
    assert!(matches!(leo.up.rate, RateModel::Trace(_)));
    assert_eq!(leo.up.delay.base.value_at(SECOND + 10 * MILLISECOND), 20_500_000);
    assert_eq!(leo.up.outage_policy, OutagePolicy::Hold);
    assert_eq!(leo.up.outages.next_down(0), Some(12 * SECOND));
}

/// One mistake per line: what replaces `rate = "1 Mbit/s"` on line 4, and what the message must contain.
#[test]
fn mistakes_name_line_field_and_what_is_allowed() {
    let cases = [
        ("", &["link.a", "`rate` is missing"][..]),
        ("rate = \"1 Mbps\"", &[":4: link.a.rate:", "Mbit/s", "1 Mbps"]),
        ("rate = 40", &[":4: link.a.rate:", "in quotes"]),
        ("rate = \"0 bit/s\"", &[":4: link.a.rate:", "never above zero"]),
        (
            "rate = \"1 Mbit/s\"\nspeed = 3",
            &[":5: link.a.speed: unknown field", "delay, detaches, down, duplicate, forecast, jitter"],
        ),
        ("rate = \"1 Mbit/s\"\nloss = 1.5", &[":5: link.a.loss:", "0.0 to 1.0"]),
        ("rate = \"1 Mbit/s\"\nloss = -0.1", &[":5: link.a.loss:", "0.0 to 1.0"]),
        ("rate = \"1 Mbit/s\"\nqueue = \"10 B\"", &[":5: link.a.queue:", "holds no packet"]),
        ("rate = \"1 Mbit/s\"\nqueue = \"big\"", &[":5: link.a.queue:", "kB", "100 ms"]),
        ("rate = \"1 Mbit/s\"\nmtu = 100", &[":5: link.a.mtu:", "from 576 to 9000"]),
        ("rate = \"1 Mbit/s\"\non_outage = \"wait\"", &[":5: link.a.on_outage:", "\"drop\", \"hold\""]),
        (
            "rate = \"1 Mbit/s\"\noutage = [{ from = \"2 s\", to = \"1 s\" }]",
            &[":5: link.a.outage[0]:", "end after"],
        ),
        (
            "rate = \"1 Mbit/s\"\njitter = { model = \"uniform\" }",
            &["link.a.jitter:", "`maximum` is missing"],
        ),
        ("rate = \"1 Mbit/s\"\nbetween = [\"client\"]", &[":5: link.a.between:", "two hosts"]),
        ("rate = \"1 Mbit/s\"\nbetween = [\"car\", \"car\"]", &[":5: link.a.between[1]:", "to itself"]),
        ("rate = \"1 Mbit/s\"\nbetween = [\"a b\", \"car\"]", &[":5: link.a.between[0]:", "name a host"]),
        ("rate = \"1 Mbit/s\"\nmedium = \"lte\"", &[":5: link.a.medium:", "\"cellular\""]),
        (
            "rate = \"1 Mbit/s\"\nnat_rebinding = [\"2 s\", \"1 s\"]",
            &[":5: link.a.nat_rebinding:", "increase"],
        ),
        ("rate = \"1 Mbit/s\"\nvia = [\"core\"]", &[":5: link.a.via[0]:", "no segment \"core\""]),
        ("rate = \"1 Mbit/s\"\nvia = \"core\"", &[":5: link.a.via:", "a list of segments"]),
        ("rate = \"1 Mbit/s\"\nvia = { grid = \"core\", row = 1 }", &[":5: link.a.via.grid:", "no grid"]),
        ("rate = \"1 Mbit/s\"\nqueue = \"0 ms\"", &[":5: link.a.queue:", "holds no packet"]),
        (
            "rate = \"1 Mbit/s\"\nqueue = 0",
            &[
                ":5: link.a.queue: expected 1 to 1000000000000 bytes, \"50 packets\", or a duration such as \"100 ms\" at the highest rate, found 0",
            ],
        ),
        ("rate = \"-1 Mbit/s\"", &[":4: link.a.rate:", "-1 Mbit/s"]),
        ("rate = { series = \"empty.txt\" }", &[":4: link.a.rate.series:", "is empty"]),
        ("rate = { series = \"back.txt\" }", &[":4: link.a.rate.series: back.txt:3: 1 s is not later"]),
        ("rate = \"1 Mbit/s\"\ndelay = \"900000 h\"", &[":5: link.a.delay:", "100 years"]),
        ("rate = \"1 Mbit/s\"\n[link.up]\ndelay = \"-1 ms\"", &[":6: link.a.up.delay:", "units: ns"]),
        ("rate = \"1 Mbit/s\"\n[link.up]\nmtu = 1400", &[":6: link.a.up.mtu: unknown field"]),
        ("rate = { trace = \"none.trace\" }", &[":4: link.a.rate.trace: cannot read none.trace"]),
        ("rate = { trace = \"bad.trace\" }", &[":4: link.a.rate.trace: bad.trace:2: 2 ms comes after 3 ms"]),
        ("rate = { series = \"delay.txt\" }", &[":4: link.a.rate.series: delay.txt:1:", "`interval`"]),
        (
            "rate = { steps = [[\"1 s\", \"1 bit/s\"], [\"1 s\", \"2 bit/s\"]] }",
            &[":4: link.a.rate.steps:", "increase"],
        ),
        (
            "rate = \"1 Mbit/s\"\n[[link]]\nname = \"a\"\nrate = \"1 Mbit/s\"",
            &[":6: link[1].name:", "two links"],
        ),
        ("rate = \"1 Mbit/s\"\n[[link]]\nname = \"a b\"", &[":6: link[1].name:", "cannot name an interface"]),
        ("rate = ", &[":4", "not valid TOML"]),
    ];
    for (line, parts) in cases {
        let text = format!("version = 1\n[[link]]\nname = \"a\"\n{line}\n");
        let message = parse(&text).expect_err(line).to_string();
        for part in parts {
            assert!(message.contains(part), "{line:?} gives {message:?}, without {part:?}");
        }
        assert!(message.starts_with("dir/test.toml:"), "{message}");
    }
}

#[test]
fn mistakes_at_the_top_level() {
    for (text, part) in [
        ("", "`version` is missing"),
        ("version = 2", ":1: version: expected 1, found 2"),
        ("version = 1\nsped = 2\n[link.a]\nrate = \"unlimited\"", "duration, flow, grid, include, limits"),
        ("version = 1", "no link"),
        ("version = 1\nseed = \"x\"\n[[link]]\nname=\"a\"\nrate=\"unlimited\"", "test.toml:2: seed:"),
        ("version = 1\n[link]\nname=\"a\"", "[[link]]"),
        (
            "version = 1\nmptcp = 1\n[[link]]\nname=\"a\"\nrate=\"unlimited\"",
            "test.toml:2: mptcp: expected true or false",
        ),
    ] {
        let message = parse(text).expect_err(text).to_string();
        assert!(message.contains(part), "{text:?} gives {message:?}");
    }
}

mod arbitrary;
mod document;
mod mix;
mod models;
mod policies;
mod recordings;
mod scenes;
mod topology;
