//! A link that loses its address while it is down (`detaches`), as WiFi does: what the host makes of being told.

use hawser_scenario::Scenario;
use hawser_sim::run::{NoRecorder, Options, Outcome, Simulation};

use crate::common;

/// A download over WiFi of 20 Mbit/s, which is there for 4 s of every 8 s, and over a cellular link.
fn run(wifi: &str) -> Outcome {
    let text = format!(
        r#"
        version = 1
        duration = "40 s"
        [link.lte0]
        rate = "10 Mbit/s"
        delay = "30 ms"
        queue = "256 kB"
        [link.wifi0]
        rate = "20 Mbit/s"
        delay = "20 ms"
        queue = "256 kB"
        {wifi}
        [flow.main]
        kind = "bulk"
        "#
    );
    let scenario = Scenario::parse(&text, "detaching.toml", &mut |_| Err(String::new()));
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let mut simulation =
        Simulation::new(&scenario, &common::registry(), Options::default()).expect("it can run");
    simulation.run(&mut NoRecorder)
}

/// Bytes that WiFi has brought.
fn over_wifi(outcome: &Outcome) -> u64 {
    let down = |link: &&hawser_sim::run::LinkOutcome| {
        link.link == "wifi0" && link.direction == hawser_scenario::Direction::Down
    };
    outcome.links.iter().find(down).map_or(0, |link| link.counters.delivered_bytes)
}

#[test]
fn a_host_that_is_told_uses_a_link_as_soon_as_it_is_back() {
    const COMES_AND_GOES: &str = "outage = { every = \"8 s\", duration = \"4 s\" }";
    let told = run(&format!("{COMES_AND_GOES}\ndetaches = true"));
    let silent = run(COMES_AND_GOES);
    let (with, without) = (over_wifi(&told), over_wifi(&silent));
    println!("over WiFi: {with} bytes when told, {without} when not");
    // Five times four seconds of 20 Mbit/s are 50 MB.
    assert!(with > 44_000_000, "{with}");
    // What is not told finds out within a fifth of a second.
    assert!(with > without / 100 * 99, "{with} {without}");
    assert_eq!(told.flows[0].error, None);
    // The first time the WiFi is not there yet: the handshake took the other link.
    assert!(told.flows[0].connect_seconds.is_some_and(|seconds| seconds < 0.2), "{:?}", told.flows[0]);
    assert!(told.flows[0].longest_gap_ms < 500.0, "{}", told.flows[0].longest_gap_ms);
}

/// A path that the client opened and gave up before anything of it arrived is unknown to the server, which sends: those after it
/// count all the same.
#[test]
fn a_path_that_the_sender_never_saw_hides_no_later_one() {
    let scenario = r#"
        version = 1
        duration = "12 s"
        [link.lte0]
        rate = "10 Mbit/s"
        delay = "30 ms"
        queue = "256 kB"
        [link.street0]
        rate = "20 Mbit/s"
        loss = "100 %"
        delay = "20 ms"
        outage = { every = "4 s", duration = "3990 ms", offset = "0 s" }
        detaches = true
        [link.wifi0]
        rate = "20 Mbit/s"
        delay = "20 ms"
        queue = "256 kB"
        outage = { every = "100 s", duration = "6 s", offset = "0 s" }
        detaches = true
        [flow.main]
        kind = "bulk"
        "#;
    let scenario = Scenario::parse(scenario, "detaching.toml", &mut |_| Err(String::new()));
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let mut simulation =
        Simulation::new(&scenario, &common::registry(), Options::default()).expect("it can run");
    let outcome = simulation.run(&mut NoRecorder);
    let links: Vec<&str> = outcome.paths.iter().map(|path| path.link.as_str()).collect();
    assert!(over_wifi(&outcome) > 5_000_000, "{links:?}");
    assert!(links.contains(&"wifi0"), "{links:?}");
}
