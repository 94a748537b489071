//! What a tunnel carries of a household, all of it at once: a download, pages, a call and a game.

use hawser_sim::run::{FlowOutcome, NoRecorder, Options, Simulation};

use crate::common;

/// 2 x 100 Mbit/s with 25 ms one way; 300 Mbit/s with 10 ms and 80 Mbit/s with 30 ms; queues of 2,000 packets.
const LINKS: [&str; 2] = ["tunnel-mix-a.toml", "tunnel-mix-b.toml"];

struct Tunnel {
    trace_hash: String,
    flow: FlowOutcome,
}

impl Tunnel {
    /// A run of 20 s with fields set otherwise; what came of the call is printed.
    fn run(file: &str, seed: u64, set: &[&str]) -> Tunnel {
        let seed_text = format!("seed={seed}");
        let all: Vec<&str> =
            ["duration=20 s", seed_text.as_str()].into_iter().chain(set.iter().copied()).collect();
        let scenario = common::load(file, &all);
        let mut simulation =
            Simulation::new(&scenario, &common::registry(), Options::default()).expect("it can run");
        let outcome = simulation.run(&mut NoRecorder);
        let flow = outcome.flows.into_iter().next().expect("it has one");
        assert!(flow.intact, "a wrong byte");
        let tunnel = Tunnel { trace_hash: outcome.trace_hash, flow };
        println!(
            "{file} {set:?}, seed {seed}: {:.1} Mbit/s, page {:.0} ms, call {:.1} / {:.1} ms (p50, p99; least {:.1}), jitter {:.2} ms, lost {}",
            tunnel.flow.goodput_bps / 1e6,
            tunnel.measure("page_mean_ms"),
            tunnel.measure("call_down_delay_p50_ms"),
            tunnel.measure("call_down_delay_p99_ms"),
            tunnel.measure("call_down_delay_least_ms"),
            tunnel.measure("call_down_jitter_ms"),
            tunnel.lost(),
        );
        tunnel
    }

    fn measure(&self, key: &str) -> f64 {
        let measure = self.flow.measures.iter().find(|measure| measure.key() == key);
        measure.unwrap_or_else(|| panic!("no {key} in {:?}", self.flow.measures)).value
    }

    /// Of the call's packets either way.
    fn lost(&self) -> f64 {
        self.measure("call_down_lost") + self.measure("call_up_lost")
    }

    /// By how much the 99th percentile of the call's delay is above the least, in the worse direction.
    fn beyond_idle(&self) -> f64 {
        let beyond = |way: &str| {
            self.measure(&format!("call_{way}_delay_p99_ms"))
                - self.measure(&format!("call_{way}_delay_least_ms"))
        };
        beyond("down").max(beyond("up"))
    }
}

/// Tide aims at half its bound of 50 ms. CUBIC fills the queue of 240 ms, or of 80 where the near link is faster.
#[test]
fn call_in_a_tunnel_waits_as_long_as_the_controller_lets_the_queue_stand() {
    for file in LINKS {
        let own = Tunnel::run(file, 1, &[]);
        assert!(own.beyond_idle() < 28.0, "{} ms", own.beyond_idle());
        assert!(own.lost() == 0.0 && own.measure("call_down_late") == 0.0);
        assert!(own.measure("call_down_jitter_ms") < 1.0 && own.measure("call_up_jitter_ms") < 1.0);
        let cubic = Tunnel::run(file, 1, &["transport.congestion=cubic"]);
        assert!(cubic.beyond_idle() > 60.0, "{} ms", cubic.beyond_idle());
    }
}

/// Links that carry the same all the time, which is known after 30 round trips, keep 0.6 of that queue.
#[test]
fn call_waits_less_where_links_do_not_move() {
    for file in LINKS {
        let beyond = |tunnel: &Tunnel| {
            tunnel.measure("call_down_delay_p50_ms") - tunnel.measure("call_down_delay_least_ms")
        };
        let (own, all) =
            (Tunnel::run(file, 2, &[]), Tunnel::run(file, 2, &["transport.congestion=tide,bound=50ms"]));
        assert!(beyond(&own) <= 18.0 && beyond(&all) > 22.0, "{} and {} ms", beyond(&own), beyond(&all));
        assert!(own.flow.goodput_bps > 0.99 * all.flow.goodput_bps);
    }
}

#[test]
fn call_loses_nothing_when_a_link_dies_and_something_without_copies() {
    for (file, link) in LINKS.into_iter().zip(["a0", "fast0"]) {
        let dies = format!("link.{link}.outage=[{{ from = \"10 s\" }}]");
        let mut lost_without = 0.0;
        for seed in 1..=3 {
            assert_eq!(Tunnel::run(file, seed, &[&dies]).lost(), 0.0);
            lost_without += Tunnel::run(file, seed, &[&dies, "flow.tunnel.copies=false"]).lost();
        }
        assert!(lost_without > 0.0, "{file}: nothing was lost without copies either");
    }
}

/// Where the scheduler chooses the path, one that takes turns sends every other packet over the link that is 20 ms longer.
#[test]
fn default_keeps_a_call_on_the_near_link_and_roundrobin_does_not() {
    let run = |scheduler: &str| {
        let scheduler = format!("transport.scheduler={scheduler}");
        Tunnel::run(LINKS[1], 1, &["flow.tunnel.copies=false", &scheduler])
    };
    let [own, turns] = ["default", "roundrobin"].map(run);
    let [near, mixed] = [&own, &turns].map(|tunnel| tunnel.measure("call_down_delay_p50_ms"));
    assert!(near < 27.0 && own.measure("call_down_jitter_ms") < 1.0, "{near} ms");
    assert!(mixed > near + 18.0 && turns.measure("call_down_jitter_ms") > 10.0, "{mixed} ms");
}

#[test]
fn page_next_to_a_download_takes_at_most_1_6_times_as_long() {
    for file in LINKS {
        let page = |set: &[&str]| Tunnel::run(file, 1, set).measure("page_mean_ms");
        let alone = page(&["flow.tunnel.bulk=false"]);
        let (busy, cubic) = (page(&[]), page(&["transport.congestion=cubic"]));
        assert!(busy < 1.6 * alone, "{busy} ms next to {alone}");
        assert!(cubic > 2.0 * alone, "{cubic} ms next to {alone}");
    }
}

#[test]
fn download_over_udp_and_upload_cross_the_same_tunnel() {
    let set = ["flow.tunnel.udp={ rate = \"40 Mbit/s\" }", "flow.tunnel.bulk={ direction = \"up\" }"];
    let tunnel = Tunnel::run(LINKS[1], 1, &set);
    assert!(tunnel.measure("udp_down_lost") < 0.001, "{}", tunnel.measure("udp_down_lost"));
    assert!(tunnel.flow.goodput_bps > 0.85 * 380e6, "{}", tunnel.flow.goodput_bps);
    // The queue of the upload, and what it grows by when it begins.
    assert!(tunnel.beyond_idle() < 35.0, "{}", tunnel.beyond_idle());
}

#[test]
fn seed_of_a_mix_repeats_its_run() {
    let run = |seed| Tunnel::run(LINKS[1], seed, &["duration=5 s"]).trace_hash;
    let first = run(7);
    assert_eq!(run(7), first);
    assert_ne!(run(8), first);
}
