//! Paths that move to another link.

use std::time::Duration;

use hawser_core::FourTuple;
use hawser_link::QueueConfig;
use hawser_policy::{PathId, Time};
use hawser_sim::testing::{SERVER, client_address, link};

use crate::common;

/// The link that the path leaves delivers a megabyte for half a second yet, and the round trips of the one that it moves to say much earlier
/// that this is lost. Acknowledgements of it come all the same.
#[test]
fn what_arrives_after_it_was_declared_lost_is_not_sent_again() {
    let mut network = common::download(7, common::config("default", "cubic"), 1 << 40);
    let mut long = link(20, 40);
    long.queue = QueueConfig::bytes(3_000_000);
    common::links(&mut network, &[long, link(1, 10)]);
    network.run_to(Time::from_millis(2_500));
    let stats = |network: &mut common::Net| {
        let connection = network.server.first_connection().unwrap();
        let path = connection.path_stats(PathId::ZERO).unwrap();
        (path.bytes_in_flight, connection.stats().stream_bytes_retransmitted)
    };
    let (in_flight, before) = stats(&mut network);
    assert!(in_flight > 600_000, "{in_flight}");
    let (now, received) = (network.now(), network.client.application.received);
    let elsewhere = FourTuple { local: client_address(1), remote: SERVER };
    network.client.first_connection().unwrap().migrate_path(now, PathId::ZERO, elsewhere).unwrap();
    network.run_to(now + Duration::from_secs(5));
    let (_, after) = stats(&mut network);
    let again = after - before;
    assert!(again < 150_000, "{again} of {in_flight} bytes are sent again");
    let arrived = network.client.application.received - received;
    assert!(arrived > in_flight + 300_000, "{arrived} bytes arrive in order");
}
