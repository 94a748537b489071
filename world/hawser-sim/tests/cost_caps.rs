//! Budgets of links: what goes over a link in a period, when it rests and comes back, and what is left when all are used up.
//!
//! Bytes are those that the models of the links counted, which know nothing of budgets.

use hawser_scenario::Scenario;
use hawser_sim::run::{End, NoRecorder, Options, Outcome, Simulation};
use proptest::prelude::*;

use crate::common;

/// Of `lte0`: 40 Mbit/s for the time of a round trip of 60 ms. What is on its way when the link comes to rest is at most that.
const LTE_IN_FLIGHT: u64 = 40_000_000 / 8 * 60 / 1_000;
/// Of `wifi0`: 10 Mbit/s and 20 ms.
const WIFI_IN_FLIGHT: u64 = 10_000_000 / 8 * 20 / 1_000;

/// A transfer over `wifi0` (10 Mbit/s) and `lte0` (40 Mbit/s), with what is said of these links.
fn run(seconds: u64, flow: &str, wifi: &str, lte: &str) -> Outcome {
    let text = format!(
        r#"
        version = 1
        seed = 5
        duration = "{seconds} s"
        [link.wifi0]
        rate = "10 Mbit/s"
        delay = "10 ms"
        queue = "50 ms"
        {wifi}
        [link.lte0]
        rate = "40 Mbit/s"
        delay = "30 ms"
        queue = "60 ms"
        {lte}
        [flow.main]
        kind = "bulk"
        {flow}
        "#
    );
    let scenario = Scenario::parse(&text, "cost-caps.toml", &mut |_| Err(String::new()));
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let mut simulation =
        Simulation::new(&scenario, &common::registry(), Options::default()).expect("it can run");
    simulation.run(&mut NoRecorder)
}

/// What the user of this link would be billed: bytes of both directions.
fn billed(outcome: &Outcome, link: &str) -> u64 {
    outcome.links.iter().filter(|of| of.link == link).map(|of| of.counters.offered_bytes).sum()
}

/// What came out of this link: bytes of both directions.
fn carried(outcome: &Outcome, link: &str) -> u64 {
    outcome.links.iter().filter(|of| of.link == link).map(|of| of.counters.delivered_bytes).sum()
}

/// Bytes over `lte0` by the middle of each of three periods of ten seconds, when it rests already, and at the end of the run.
fn billed_by_period(flow: &str) -> [u64; 3] {
    let until = |seconds| run(seconds, flow, "", "cap = \"5MB/10s\"");
    let [first, second, third] = [9, 19, 29].map(|seconds| {
        let outcome = until(seconds);
        assert_eq!(outcome.flows[0].error, None);
        // The other link goes on.
        let of_wifi = billed(&outcome, "wifi0");
        assert!(of_wifi > seconds * 10_000_000 / 8 * 85 / 100, "{of_wifi} bytes in {seconds} s");
        billed(&outcome, "lte0")
    });
    [first, second - first, third - second]
}

fn assert_within_cap(periods: [u64; 3]) {
    println!("5 MB in each period: {periods:?}");
    for bytes in periods {
        assert!(bytes <= 5_000_000 + LTE_IN_FLIGHT, "{periods:?}");
        assert!(bytes >= 4_300_000, "most of a budget is used: {periods:?}");
    }
}

#[test]
fn received_bytes_stay_within_the_cap_of_each_period() {
    assert_within_cap(billed_by_period("direction = \"down\""));
}

#[test]
fn sent_bytes_stay_within_the_cap_of_each_period() {
    assert_within_cap(billed_by_period("direction = \"up\""));
}

#[test]
fn a_backup_with_a_cap_is_used_in_need_and_no_further() {
    let flow = "direction = \"down\"";
    let lte = "backup = true\ncap = \"5MB/1h\"";
    let idle = billed(&run(10, flow, "", lte), "lte0");
    assert!(idle < 20_000, "only validation and probes: {idle}");
    // What the first slow start overflows the queue by, now little and now a window, is dropped there and reaches nobody.
    let needed = carried(&run(10, flow, "outage = [{ from = \"2 s\" }]", lte), "lte0");
    assert!((4_000_000..=5_000_000 + LTE_IN_FLIGHT).contains(&needed), "{needed}");
}

#[test]
fn a_link_without_a_budget_carries_nothing() {
    let outcome = run(3, "", "", "cap = \"0B/24h\"");
    assert_eq!(billed(&outcome, "lte0"), 0);
    assert!(outcome.goodput_bps > 8.5e6, "{}", outcome.goodput_bps);
}

#[test]
fn a_connection_whose_links_are_all_used_up_says_so() {
    let outcome = run(60, "size = \"100 MB\"", "cap = \"2MB/1h\"", "cap = \"5MB/1h\"");
    let error = outcome.flows[0].error.as_deref().unwrap_or_default();
    assert!(error.contains("NO_VIABLE_PATH"), "{error:?}");
    let (wifi, lte) = (billed(&outcome, "wifi0"), billed(&outcome, "lte0"));
    println!("{wifi} and {lte} bytes, end after {} s", outcome.simulated_seconds);
    assert!(wifi <= 2_000_000 + WIFI_IN_FLIGHT, "{wifi}");
    assert!(lte <= 5_000_000 + LTE_IN_FLIGHT, "{lte}");
    assert!(
        outcome.flows[0].bytes > 5_500_000,
        "most of both budgets was of use: {}",
        outcome.flows[0].bytes
    );
    assert!(outcome.simulated_seconds < 5.0, "it does not wait for the idle timeout");
}

#[test]
fn without_any_budget_nothing_is_sent() {
    let outcome = run(5, "", "cap = \"0B/1h\"", "cap = \"0B/1h\"");
    assert_eq!((outcome.packets, outcome.end), (0, End::Quiet));
    let error = outcome.flows[0].error.as_deref().unwrap_or_default();
    assert!(error.contains("the budgets of all links are used up"), "{error:?}");
}

#[test]
fn caps_that_are_never_reached_change_nothing() {
    let free = run(5, "", "", "");
    let capped = run(5, "", "cap = \"1GB/1h\"", "cap = \"1TB/30d\"");
    assert_eq!(capped.trace_hash, free.trace_hash);
    assert_ne!(run(5, "", "", "cap = \"5MB/1h\"").trace_hash, free.trace_hash);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_budget_is_ever_exceeded_by_more_than_is_in_flight(
        kilobytes in 0_u64..12_000,
        period in 1_u64..4,
        upload in any::<bool>(),
    ) {
        let seconds = 5;
        let flow = if upload { "direction = \"up\"" } else { "direction = \"down\"" };
        let outcome = run(seconds, flow, "", &format!("cap = \"{kilobytes}kB/{period}s\""));
        let bytes = billed(&outcome, "lte0");
        let periods = seconds.div_ceil(period);
        let most = if kilobytes == 0 { 0 } else { periods * (1_000 * kilobytes + LTE_IN_FLIGHT) };
        prop_assert!(bytes <= most, "{} bytes, at most {}", bytes, most);
    }
}
