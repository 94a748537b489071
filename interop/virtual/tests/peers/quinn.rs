//! A peer that knows one path only.

use hawser_core::{FourTuple, PathError};
use hawser_interop_virtual::scenario::is_complete;
use hawser_interop_virtual::tls::Identity;
use hawser_interop_virtual::{End, client, quinn, server};
use hawser_policy::{PathStatus, Time};
use hawser_sim::Network;
use hawser_sim::testing::{SERVER, client_address, link};

use crate::origin;

const LENGTH: u64 = 3_000_000;

fn finish<C: End, S: End>(network: &mut Network<C, S>) {
    network.add_link(client_address(0).ip(), &link(20, 10), &link(20, 10));
    network.add_link(client_address(1).ip(), &link(20, 10), &link(20, 10));
    let complete = network.run_until(Time::from_secs(10), is_complete);
    assert!(complete, "client {:?}\nserver {:?}", network.client.exchange(), network.server.exchange());
    // 24 Mbit take 1.2 s; a path that works leaves little of the link unused.
    assert!(network.now() < Time::from_millis(1_700), "{:?}", network.now());
}

#[test]
fn hawser_client_quinn_server() {
    let identity = Identity::new();
    let server = quinn::server(&identity, LENGTH, 1, origin());
    let mut network = Network::new(client(&identity, LENGTH, 1), server, 1);
    finish(&mut network);
    let now = network.now();
    let connection = network.client.first_connection().expect("a connection");
    assert!(!connection.is_multipath());
    let second = FourTuple { local: client_address(1), remote: SERVER };
    let refused = connection.open_path(now, second, PathStatus::Available, None);
    assert_eq!(refused, Err(PathError::NotNegotiated));
    assert_eq!(connection.paths().len(), 1);
}

#[test]
fn quinn_client_hawser_server() {
    let identity = Identity::new();
    let client = quinn::client(&identity, LENGTH, 1, origin());
    let mut network = Network::new(client, server(&identity, LENGTH, 1), 1);
    finish(&mut network);
    let connection = network.server.first_connection().expect("a connection");
    assert!(!connection.is_multipath());
    assert_eq!(connection.paths().len(), 1);
}
