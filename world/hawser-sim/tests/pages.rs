//! A page as a browser fetches it: objects, six at a time.

use hawser_scenario::Scenario;
use hawser_sim::run::{FlowOutcome, NoRecorder, Options, Simulation};

use crate::common;

/// Objects of a page, six at a time, over one link of 10 Mbit/s and 60 ms there and back.
fn page(bytes: u64, objects: u64) -> FlowOutcome {
    let text = format!(
        r#"
        version = 1
        seed = 1
        duration = "20 s"
        [[link]]
        name = "lte0"
        rate = "10 Mbit/s"
        delay = "30 ms"
        queue = "100 kB"
        [[flow]]
        name = "page"
        kind = "requests"
        response = {bytes}
        parallel = 6
        number = {objects}
        think = "0 s"
        "#,
    );
    let scenario = Scenario::parse(&text, "pages.toml", &mut |_| Err(String::new()));
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let mut simulation =
        Simulation::new(&scenario, &common::registry(), Options::default()).expect("it can run");
    simulation.run(&mut NoRecorder).flows.swap_remove(0)
}

/// Where six answers come a packet of each in turn, they end together, and the link is idle until the next six requests have come: 20 kB
/// take 1.122 s then.
#[test]
fn a_page_keeps_its_link_busy() {
    // Six of them are more than the link holds.
    for (bytes, objects) in [(20_000, 50), (50_000, 20)] {
        let outcome = page(bytes, objects);
        let took =
            outcome.completion_seconds.expect("it ends") - outcome.connect_seconds.expect("it connects");
        // A round trip, and 1 MB at 10 Mbit/s with 4 % of headers.
        let least = 0.06 + 1.04e6 * 8.0 / 10e6;
        println!("{objects} objects of {bytes} bytes: {took:.3} s; at the least {least:.3} s");
        assert!(took < 1.15 * least, "{took:.3} s; at the least {least:.3} s");
    }
}
