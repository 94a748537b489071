//! Policy sets of several parts over two links: what each is for, measured ([`hawser_sim::sets::CASES`]), and what happens
//! where only one end has them.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use hawser_core::TransportConfig;
use hawser_policy::{Composition, PathStatus, PolicyKind, Registry, Time};
use hawser_sim::gauntlet::Setting;
use hawser_sim::testing::{SERVER, client, client_address, client_config, link, server};
use hawser_sim::{Download, Network, Serve, Verdict, sets};

use crate::common;
use crate::common::{Net, client_side, finish, open};

/// What comes with the project, and the sets of these tests.
fn registry() -> Registry {
    let mut registry = common::registry();
    sets::register(&mut registry);
    registry
}

/// Runs a case with three seeds and prints what it measured.
fn check(name: &str) {
    let registry = common::registry();
    let case = sets::CASES.iter().find(|case| case.name == name).expect("it is listed");
    let mut broken = Vec::new();
    for seed in 1..=3 {
        let setting = Setting {
            registry: &registry,
            scheduler: "default",
            controller: "cubic",
            seed,
            priorities: true,
        };
        let measures = case.run(&setting);
        println!("seed {seed}: {}", measures.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));
        broken
            .extend(measures.iter().filter(|m| !m.holds()).map(|measure| format!("seed {seed}: {measure}")));
    }
    assert!(broken.is_empty(), "{name}: {broken:#?}");
}

#[test]
fn windows_share_a_budget() {
    check("set-shares-state");
}

#[test]
fn a_receiver_steers_the_sender_off_a_lossy_link() {
    check("set-steers-the-sender");
}

#[test]
fn late_frames_are_gaps_and_the_others_are_in_time() {
    check("set-leaves-exact-gaps");
}

/// The transport of a set by name.
fn policy(text: &str) -> TransportConfig {
    let wanted = Composition::of(text.parse().expect("it is a policy"));
    TransportConfig::with_policies(registry().set(&wanted).expect("it is registered"))
}

/// A download with sets of their own at both ends.
fn download(seed: u64, client_set: &str, server_set: &str, length: u64) -> Net {
    println!("seed {seed}, {client_set} from {server_set}");
    let mut host = client(Download::default(), seed);
    let config = client_config(Arc::new(policy(client_set)));
    host.connect(Time::ZERO, config, client_address(0), SERVER, "server.test").expect("the address is valid");
    Network::new(host, server(Arc::new(policy(server_set)), Serve::new(length), seed), seed)
}

#[test]
fn each_set_tells_of_its_parameters() {
    let registry = registry();
    let names: Vec<_> = registry.names(PolicyKind::Set).collect();
    assert!(["advised", "budget", "punctual"].iter().all(|name| names.contains(name)), "{names:?}");
    let wrong = |text: &str| {
        let wanted = Composition::of(text.parse().expect("it is a policy"));
        registry.set(&wanted).err().map(|error| error.to_string())
    };
    assert!(wrong("budget,bytes=5").is_some_and(|error| error.contains("20000")));
    assert!(wrong("advised,interval=1h").is_some());
    assert_eq!(wrong("advised,interval=1s,messages=off"), None);
}

/// Six intervals to count in, twice as long when there are few packets; one way for the message; what the queue of 100 ms
/// holds.
const PATIENCE: Duration = Duration::from_millis(800);

/// A download of 30 MB during which every tenth packet of a link is lost after two seconds. Returns the bytes that this link
/// was given in the half second before, and those more than [`PATIENCE`] later.
fn lossy_link(seed: u64, bad: usize, ends: [&str; 2]) -> ([u64; 2], Time, Net) {
    let mut network = download(seed, ends[0], ends[1], 30_000_000);
    let handles = [(40, 10), (30, 20)].map(|(rate, delay)| (link(rate, delay), delay));
    let handles =
        [0, 1].map(|n| network.add_link(client_address(n as u8).ip(), &handles[n].0, &handles[n].0));
    open(&mut network, 1, PathStatus::Available);
    let (carried, mut n) = (Rc::new(Cell::new([0, 0])), seed);
    let (counted, lossy, from) = (carried.clone(), handles[bad], Time::from_secs(2));
    network.set_filter(move |now, link, packet| {
        if link != lossy || packet.tuple.local != SERVER {
            return Verdict::Pass;
        }
        let [mut before, mut after] = counted.get();
        let bytes = packet.payload.len() as u64;
        before += if now < from && now + Duration::from_millis(500) > from { bytes } else { 0 };
        after += if now > from + PATIENCE { bytes } else { 0 };
        counted.set([before, after]);
        n += u64::from(now >= from);
        if now >= from && n % 10 == 0 { Verdict::Drop } else { Verdict::Pass }
    });
    let at = finish(&mut network, 60);
    (carried.get(), at, network)
}

/// Without messages both links are used all the time, whichever end does without.
#[test]
fn without_the_feature_the_connection_works() {
    for (seed, ends) in [
        (1, ["advised", "advised,messages=off"]),
        (2, ["advised,messages=off", "advised"]),
        (3, ["advised", "minrtt"]),
        (4, ["minrtt", "advised"]),
    ] {
        let ([_, carried], at, mut network) = lossy_link(seed, 1, ends);
        let ignored = client_side(&mut network).stats().policy_commands_ignored;
        println!("{ends:?}: {carried} bytes afterwards, done at {at}, {ignored} commands ignored");
        assert!(carried > 100_000, "{carried}");
        // The receiver that speaks to nobody is refused, and that is all.
        assert_eq!(ignored > 0, ends[0].starts_with("advised"), "{ignored}");
    }
}
