//! A server that pauses for longer than the NAT before its client remembers.

use std::sync::Arc;
use std::time::Duration;

use hawser_policy::Time;
use hawser_sim::testing::{SERVER, client, client_address, client_config, link, server};
use hawser_sim::{Download, Idle, Network};

use crate::common::config;

/// Less than the first windows allow at once.
const PART: usize = 20_000;
/// When the server goes on.
const RESUMED: Time = Time::from_secs(25);

/// The first half of an answer comes at once, the second after a pause, in which the NAT forgets the client. How long after the
/// pause it was complete.
fn answer_with_a_pause(keep_alive: Option<Duration>) -> Duration {
    let mut transport = config("minrtt", "cubic");
    transport.keep_alive_interval = keep_alive;
    let transport = Arc::new(transport);
    let mut host = client(Download::default(), 3);
    let inside = client_address(0);
    host.connect(Time::ZERO, client_config(transport), inside, SERVER, "server.test").unwrap();
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
    network.run_to(Time::from_secs(20));
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
    let finished = download.finished_at.unwrap_or_else(|| panic!("not finished: {:?}", download.closed));
    finished.since(RESUMED)
}

/// What the server sends after the pause goes where nobody is, until the client sends something. Without keep-alives that is a
/// question, and the pauses between questions double: the client waits once more for as long as it did.
#[test]
fn a_client_that_waits_in_a_pause_is_found_sooner_if_it_keeps_itself_known() {
    let after = answer_with_a_pause(Some(Duration::from_secs(10)));
    assert!(after < Duration::from_secs(1), "{after:?} after the pause");
    let after = answer_with_a_pause(None);
    println!("without keep-alives {after:?} after the pause");
    assert!((2..25).contains(&after.as_secs()), "{after:?} after the pause");
}
