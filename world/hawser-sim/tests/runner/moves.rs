//! Cases in which the client's address changes.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use hawser_core::FourTuple;
use hawser_policy::{PathId, Side, Time};
use hawser_sim::testing::{SERVER, client_address};

use crate::bed::{Bed, Case, MB, SIMPLE};
use crate::wire::Opened;

/// Where the server sent packets, in the order of the first of each. That must hold a PATH_CHALLENGE, and the client must
/// have answered it (RFC 9000 section 9.3).
fn validated_paths(bed: &Bed) -> Vec<SocketAddr> {
    let records = bed.records(Side::Server);
    let mut paths = Vec::new();
    let mut challenges = BTreeSet::new();
    for packet in bed.sent(Side::Server, &records) {
        if paths.contains(&packet.remote()) {
            continue;
        }
        if !paths.is_empty() {
            let challenge = packet.frames("path_challenge").next();
            let challenge = challenge.unwrap_or_else(|| panic!("no challenge to {}", packet.remote()));
            challenges.insert(challenge["data"].to_string());
        }
        paths.push(packet.remote());
    }
    let records = bed.records(Side::Client);
    let sent = bed.sent(Side::Client, &records);
    let responses = sent.iter().flat_map(|packet: &Opened<'_>| packet.frames("path_response"));
    let responses: BTreeSet<String> = responses.map(|response| response["data"].to_string()).collect();
    assert!(challenges.is_subset(&responses), "{challenges:?} without responses among {responses:?}");
    paths
}

#[test]
fn rebind_port() {
    let link = "rebind --delay=15ms --bandwidth=10Mbps --queue=25 --first-rebind=1s --rebind-freq=5s";
    let mut bed = Case::new(link, &[10 * MB]).start();
    bed.finish(9.6);
    let paths = validated_paths(&bed);
    assert_eq!((paths.len(), bed.rebinds), (3, 2), "{paths:?}");
}

#[test]
fn rebind_addr() {
    let link =
        "rebind --delay=15ms --bandwidth=10Mbps --queue=25 --first-rebind=1s --rebind-freq=5s --rebind-addr";
    let mut bed = Case::new(link, &[10 * MB]).start();
    bed.finish(9.9);
    let paths = validated_paths(&bed);
    let addresses: BTreeSet<IpAddr> = paths.iter().map(SocketAddr::ip).collect();
    assert_eq!((addresses.len(), bed.rebinds), (3, 2), "{paths:?}");
}

#[test]
fn connectionmigration() {
    let mut bed = Case { addresses: 2, ..Case::new(SIMPLE, &[2 * MB]) }.start();
    bed.run_to(Time::from_millis(500));
    let (now, tuple) = (bed.network.now(), FourTuple { local: client_address(1), remote: SERVER });
    let connection = bed.network.client.node.first_connection().unwrap();
    connection.migrate_path(now, PathId::ZERO, tuple).unwrap();
    bed.finish(2.3);
    assert_eq!(validated_paths(&bed), [client_address(0), client_address(1)]);
    // RFC 9000 section 9.5: another address, another connection id.
    let used = |address: SocketAddr| -> BTreeSet<&[u8]> {
        let sent = bed.network.client.packets().filter(|(sent, _)| sent.tuple.local == address);
        sent.map(|(_, header)| &header.destination[..]).collect()
    };
    let (old, new) = (used(client_address(0)), used(client_address(1)));
    assert!(old.is_disjoint(&new), "{old:x?} and {new:x?}");
}
