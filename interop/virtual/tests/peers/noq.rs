//! Two paths carry data in both directions, one is abandoned, a third takes its place; and what noq does with paths that
//! Hawser does not.

use std::time::Duration;

use hawser_core::PathStats;
use hawser_interop_virtual::noq::{self, Noq};
use hawser_interop_virtual::scenario::is_complete;
use hawser_interop_virtual::tls::Identity;
use hawser_interop_virtual::{End, Foreign, Multipath, Ours, client, close, server};
use hawser_policy::{PathId, Time};
use hawser_sim::testing::{SERVER, client_address, link};
use hawser_sim::{Host, LinkHandle, Network, Verdict};

use crate::origin;

const LENGTH: u64 = 4_000_000;
/// Bytes that count as "carries data"; far more than acknowledgements come to.
const DATA: u64 = 300_000;

/// Access to the Hawser end of a network, whichever it is.
trait WithOurs {
    fn ours(&mut self) -> &mut Host<Ours>;
}

impl WithOurs for Network<Host<Ours>, Foreign<Noq>> {
    fn ours(&mut self) -> &mut Host<Ours> {
        &mut self.client
    }
}

impl WithOurs for Network<Foreign<Noq>, Host<Ours>> {
    fn ours(&mut self) -> &mut Host<Ours> {
        &mut self.server
    }
}

fn stats(ours: &mut Host<Ours>, path: u32) -> PathStats {
    ours.first_connection().and_then(|c| c.path_stats(PathId(path))).unwrap_or_default()
}

fn carries(ours: &mut Host<Ours>, path: u32) -> bool {
    let stats = stats(ours, path);
    stats.bytes_sent > DATA && stats.bytes_received > DATA
}

fn describe<C: End, S: End>(network: &mut Network<C, S>) -> String
where
    Network<C, S>: WithOurs,
{
    let paths: Vec<PathStats> = (0..3).map(|path| stats(network.ours(), path)).collect();
    let now = network.now();
    let (client, server) = (network.client.exchange(), network.server.exchange());
    format!("at {now:?}\npaths {paths:#?}\nclient {client:?}\nserver {server:?}")
}

/// Runs until `condition` holds and fails with the whole state if it does not within ten seconds.
fn reach<C: End, S: End>(
    network: &mut Network<C, S>,
    what: &str,
    mut condition: impl FnMut(&mut Network<C, S>) -> bool,
) where
    Network<C, S>: WithOurs,
{
    let deadline = network.now() + Duration::from_secs(10);
    let reached = network.run_until(deadline, |n| condition(n));
    assert!(reached, "not reached: {what}; {}", describe(network));
}

fn play<C: Multipath, S: Multipath>(
    mut network: Network<C, S>,
    abandoned: u32,
    by_client: bool,
) -> Network<C, S>
where
    Network<C, S>: WithOurs,
{
    for n in 0..3 {
        network.add_link(client_address(n).ip(), &link(20, 10), &link(20, 10));
    }
    reach(&mut network, "path 1 opened", |n| {
        let now = n.now();
        n.client.open(now, 1).is_some()
    });
    reach(&mut network, "paths 0 and 1 carry data both ways", |n| {
        carries(n.ours(), 0) && carries(n.ours(), 1)
    });
    assert!(!network.client.exchange().is_complete(), "there must be something left to transfer");

    let now = network.now();
    let done = if by_client {
        network.client.abandon(now, abandoned)
    } else {
        network.server.abandon(now, abandoned)
    };
    assert!(done, "abandoning path {abandoned}; {}", describe(&mut network));
    reach(&mut network, "path 2 opened", |n| {
        let now = n.now();
        n.client.open(now, 2).is_some()
    });
    // What was on its way has arrived, and the peer knows.
    network.run_to(now + Duration::from_millis(200));
    let at_rest = stats(network.ours(), abandoned);
    reach(&mut network, "path 2 carries data both ways", |n| carries(n.ours(), 2));
    reach(&mut network, "everything arrives", is_complete);
    let at_end = stats(network.ours(), abandoned);
    assert_eq!(at_rest.bytes_sent, at_end.bytes_sent, "an abandoned path is not sent on");
    assert_eq!(at_rest.bytes_received, at_end.bytes_received, "nor does the peer");
    network
}

#[test]
fn hawser_client_noq_server() {
    for (abandoned, by_client) in [(0, true), (1, true), (0, false), (1, false)] {
        println!("path {abandoned} abandoned by the {}", if by_client { "client" } else { "server" });
        let identity = Identity::new();
        let network =
            Network::new(client(&identity, LENGTH, 1), noq::server(&identity, LENGTH, 1, origin()), 1);
        let mut network = play(network, abandoned, by_client);
        assert!(network.server.is_multipath());
        let now = network.now();
        close(&mut network.client, now, 77);
        network.run_to(now + Duration::from_secs(1));
        assert_eq!(network.server.exchange.closed.as_deref(), Some("closed by peer: done (code 77)"));
    }
}

#[test]
fn noq_client_hawser_server() {
    for (abandoned, by_client) in [(0, true), (1, true), (0, false), (1, false)] {
        println!("path {abandoned} abandoned by the {}", if by_client { "client" } else { "server" });
        let identity = Identity::new();
        let network =
            Network::new(noq::client(&identity, LENGTH, 1, origin()), server(&identity, LENGTH, 1), 1);
        let mut network = play(network, abandoned, by_client);
        let now = network.now();
        network.client.close(now, 77);
        network.run_to(now + Duration::from_secs(1));
        let closed = network.server.exchange().closed.clone().unwrap_or_default();
        assert!(closed.contains("77") && closed.contains("done"), "{closed:?}");
        assert!(network.now() > Time::ZERO);
    }
}

/// A noq client and a Hawser server with two links, connected.
fn connected(length: u64) -> (Network<Foreign<Noq>, Host<Ours>>, [LinkHandle; 2]) {
    let identity = Identity::new();
    let client = noq::client(&identity, length, 2, origin());
    let mut network = Network::new(client, server(&identity, length, 2), 2);
    let links = [0, 1].map(|n| network.add_link(client_address(n).ip(), &link(20, 15), &link(20, 20)));
    (network, links)
}

#[test]
fn path_opened_before_its_connection_ids_arrive() {
    // noq's 1-RTT packets on the first link are lost for a while, and with them the connection ids that the server needs to
    // answer on the second path. The server must wait for them: neither spin nor give up.
    let (mut network, [first, _]) = connected(1_000_000);
    network.set_filter(move |now, link, packet| {
        let is_one_rtt = packet.payload[0] & 0x80 == 0;
        let lost =
            link == first && packet.tuple.remote == SERVER && is_one_rtt && now < Time::from_millis(400);
        if lost { Verdict::Drop } else { Verdict::Pass }
    });
    reach(&mut network, "path 1 opened", |n| {
        let now = n.now();
        n.client.open(now, 1).is_some()
    });
    assert!(network.now() < Time::from_millis(200), "opened at {}", network.now());
    reach(&mut network, "everything arrives", is_complete);
    assert!(stats(network.ours(), 1).bytes_received > 100_000);
}

#[test]
fn last_known_path_abandoned_before_the_next_is_seen() {
    // The first packets on the new path are lost while PATH_ABANDON for the old one arrives: for a moment the server
    // knows no path at all.
    let (mut network, [_, second]) = connected(1_000_000);
    network.run_to(Time::from_millis(250));
    network.set_filter(move |now, link, _| {
        if link == second && now < Time::from_millis(500) { Verdict::Drop } else { Verdict::Pass }
    });
    let now = network.now();
    assert_eq!(network.client.open(now, 1), Some(1));
    assert!(network.client.abandon(now, 0));
    network.run_to(Time::from_millis(490));
    assert!(network.server.exchange().path_events.iter().any(|(_, event)| event == "Closed(path 0)"));
    assert_eq!(stats(network.ours(), 1).bytes_received, 0);
    reach(&mut network, "everything arrives", is_complete);
}

#[test]
fn last_path_abandoned_for_good_ends_the_connection_with_the_idle_timeout() {
    let (mut network, [_, second]) = connected(4_000_000);
    network.run_to(Time::from_millis(250));
    network.force(second, Some(false));
    let now = network.now();
    assert_eq!(network.client.open(now, 1), Some(1));
    assert!(network.client.abandon(now, 0));
    // Another path may be on its way through a dead zone: it is waited for as long as a silent peer is, 30 s.
    network.run_to(Time::from_secs(25));
    assert_eq!(network.server.exchange().closed, None);
    network.run_to(Time::from_secs(45));
    let closed = network.server.exchange().closed.clone().unwrap_or_default();
    assert!(closed.contains("NO_VIABLE_PATH") || closed.contains("timed out"), "{closed:?}");
}
