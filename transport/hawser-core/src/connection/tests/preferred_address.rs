//! A server that would rather be reached elsewhere (RFC 9000 section 9.6).

use std::net::SocketAddr;
use std::time::Duration;

use hawser_policy::{PathId, PathStatus, Side, Time};

use super::pair::{Pair, Sent, Settings, client_address, from};
use crate::{Event, FourTuple, PathError, PreferredAddresses};

const PREFERRED: &str = "198.51.100.77:4433";

fn preferred() -> SocketAddr {
    PREFERRED.parse().unwrap()
}

fn to_preferred() -> FourTuple {
    FourTuple { remote: preferred(), ..from(client_address(0)) }
}

fn settings() -> Settings {
    let ipv4 = Some(PREFERRED.parse().unwrap());
    Settings { preferred: PreferredAddresses { ipv4, ipv6: None }, ..Settings::default() }
}

fn tuples(pair: &mut Pair) -> [FourTuple; 2] {
    [pair.client().paths()[0].tuple, pair.server().paths()[0].tuple]
}

/// Section 9.6.1: after the handshake is confirmed, with the connection id that came along, the number 1.
//= rfc9000-9.6.1-1, rfc9000-9.6.1-2, rfc9000-9.6.2-2, rfc9000-18.2-5
#[test]
fn a_client_goes_to_the_preferred_address_once_the_handshake_is_confirmed() {
    let mut pair = Pair::connected(settings());
    let handshake = from(client_address(0)).remote;
    let confirmed_at = pair.datagrams(Side::Client, Time::ZERO).find(|sent| sent.tuple.remote == preferred());
    let confirmed_at = confirmed_at.expect("the client went there").at;
    let before = pair.sent.iter().filter(|sent| sent.at < confirmed_at && sent.by.is_client());
    assert!(before.clone().all(|sent| sent.tuple.remote == handshake) && before.count() >= 2);

    let began = pair.now;
    let id = pair.write(Side::Client, 300_000);
    pair.run(Duration::from_secs(2));
    assert_eq!(pair.server().accept_stream(false), Some(id));
    let [client, server] = tuples(&mut pair);
    assert_eq!((client.remote, server.local), (preferred(), preferred()));
    assert_eq!(pair.bytes_to(Side::Client, handshake, began), 0, "nothing goes to the old address");
    let by_server = pair.datagrams(Side::Server, began);
    assert!(by_server.into_iter().all(|sent| sent.tuple.local == preferred()));
    // Its connection id is in use there; that of the handshake was retired.
    let used = pair.client().paths.remote_cid(PathId::ZERO, None).unwrap();
    assert_ne!(Some(used), pair.client().ends.identity.server_source);
    assert_eq!(pair.server().stats().packets_dropped, 0);
}

/// Sections 9.6.1 and 21.5.3: the address of the handshake goes on, and nothing but probes goes to the other one.
//= rfc9000-9.6.1-3, rfc9000-9.6.2-1, rfc9000-21.5.3-1
#[test]
fn a_preferred_address_that_does_not_answer_gets_nothing_but_probes() {
    let mut pair = Pair::new(settings());
    pair.lose = |sent: &Sent| sent.tuple.remote == preferred() || sent.tuple.local == preferred();
    pair.run(Duration::from_millis(300));
    let probed_with = pair.client().paths.remote_cid(PathId::ZERO, Some(&to_preferred()));
    assert!(probed_with.is_some() && probed_with != pair.client().paths.remote_cid(PathId::ZERO, None));
    let id = pair.write(Side::Client, 100_000);
    pair.run(Duration::from_millis(300));
    assert_eq!(pair.server().accept_stream(false), Some(id));
    assert!(pair.server().stats().bytes_received > 100_000, "no time is lost");
    pair.run(Duration::from_secs(10));
    let probes = pair.datagrams(Side::Client, Time::ZERO).filter(|sent| sent.tuple.remote == preferred());
    let sizes: Vec<usize> = probes.map(|sent| sent.payload.len()).collect();
    assert!((1..=4).contains(&sizes.len()) && sizes.iter().all(|size| *size == 1_200), "{sizes:?}");
    // Section 9.5: the connection id that went there goes nowhere else.
    let cids = &pair.client().paths.get(PathId::ZERO).unwrap().control.remote_cids;
    assert!(cids.next() != probed_with && cids.current() != probed_with);
    let [client, server] = tuples(&mut pair);
    let handshake = from(client_address(0)).remote;
    assert_eq!((client.remote, server.local), (handshake, handshake));
    assert_eq!(pair.client.closed(), None);
}

/// Section 18.2: a server that forbids migration forbids it towards the address of the handshake only.
#[test]
fn disable_active_migration_does_not_forbid_the_preferred_address() {
    let mut pair = Pair::new(settings());
    while !pair.client.events.contains(&Event::Connected) {
        pair.run(Duration::from_millis(1));
    }
    assert!(!pair.client.events.contains(&Event::HandshakeConfirmed));
    pair.client().ends.peer.disable_active_migration = true;
    pair.run(Duration::from_millis(300));
    let [client, _] = tuples(&mut pair);
    assert_eq!(client.remote, preferred());
    let now = pair.now;
    let back = pair.client().migrate_path(now, PathId::ZERO, from(client_address(3)));
    assert_eq!(back, Err(PathError::MigrationForbidden));
    let elsewhere = FourTuple { remote: preferred(), ..from(client_address(3)) };
    assert_eq!(pair.client().migrate_path(now, PathId::ZERO, elsewhere), Ok(()));
}

/// The other paths stay where they were opened to; all go on.
#[test]
fn several_paths_and_a_preferred_address() {
    let mut pair = Pair::connected(settings());
    let (now, tuple) = (pair.now, FourTuple { remote: preferred(), ..from(client_address(1)) });
    let second = pair.client().open_path(now, tuple, PathStatus::Available, None).unwrap();
    pair.run(Duration::from_millis(200));
    pair.write(Side::Server, 400_000);
    pair.run(Duration::from_secs(2));
    for id in [PathId::ZERO, second] {
        let received = pair.client().path_stats(id).unwrap().bytes_received;
        assert!(received > 50_000, "{received} bytes on path {id}");
    }
    assert!(pair.client.events.contains(&Event::Connected) && pair.client.closed().is_none());
}
