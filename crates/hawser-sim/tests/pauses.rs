//! A server that pauses for longer than the NAT before its client remembers.

#![allow(clippy::unwrap_used)]

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::config;
use hawser_core::ConnectionError;
use hawser_policy::Time;
use hawser_sim::testing::{SERVER, client, client_address, client_config, link, server};
use hawser_sim::{Download, Idle, Network};

/// Less than the first windows allow at once.
const PART: usize = 20_000;
/// When the server goes on.
const RESUMED: Time = Time::from_secs(25);

/// The first half of an answer comes at once, the second after the pause, in the middle of which the NAT forgets the client.
/// When it was complete, and how the connection ended if it was not.
fn answer_with_a_pause(keep_alive: Option<Duration>) -> (Option<Time>, Option<ConnectionError>) {
    let mut transport = config("minrtt", "cubic");
    transport.keep_alive_interval = keep_alive;
    let transport = Arc::new(transport);
    let mut host = client(Download::default(), 3);
    let inside = client_address(0);
    host.connect(Time::ZERO, client_config(transport), inside, SERVER, "server.test").unwrap();
    // What keeps the connection is the client's to know.
    let mut network = Network::new(host, server(Arc::new(config("minrtt", "cubic")), Idle, 3), 3);
    network.add_link(inside.ip(), &link(10, 20), &link(10, 20));
    let mut stream = None;
    network.run_until(Time::from_secs(1), |network| {
        let connection = network.server.first_connection();
        stream = connection.and_then(|connection| connection.accept_stream(true));
        stream.is_some()
    });
    let stream = stream.expect("a request");
    let part = |index: usize| hawser_sim::pattern_bytes((index * PART) as u64, PART as u64);
    network.server.first_connection().unwrap().write_bytes(stream, part(0)).unwrap();
    network.run_to(Time::from_secs(10));
    let mut outside = inside;
    outside.set_port(61_000);
    network.translate(inside, outside);
    network.run_to(RESUMED);
    let connection = network.server.first_connection().unwrap();
    connection.write_bytes(stream, part(1)).unwrap();
    connection.finish(stream).unwrap();
    network.run_to(Time::from_secs(90));
    let download = &network.client.application;
    assert_eq!(download.corrupt_at, None);
    (download.finished_at, download.closed.clone())
}

/// Nothing of the client is under way in the pause, so that the server does not learn where it is now: what it then sends goes
/// where nobody is. Only the application knows that more is to come.
#[test]
fn a_client_that_waits_in_a_pause_is_found_if_it_keeps_itself_known() {
    let (finished, _) = answer_with_a_pause(Some(Duration::from_secs(10)));
    let after = finished.expect("the second half arrives").since(RESUMED);
    assert!(after < Duration::from_secs(1), "{after:?} after the pause");
    let (finished, closed) = answer_with_a_pause(None);
    assert_eq!(finished, None);
    assert_eq!(closed, Some(ConnectionError::TimedOut));
}
