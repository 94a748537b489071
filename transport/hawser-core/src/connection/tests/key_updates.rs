//! Key updates with several paths (RFC 9001 section 6, draft-ietf-quic-multipath-21 section 4).

use std::time::Duration;

use hawser_policy::{PathId, Side, StreamId};

use super::pair::{Pair, Sent, Settings, client_address};
use crate::Code;

/// Neither direction of path 0 carries anything.
fn path_zero_is_dead(sent: &Sent) -> bool {
    [sent.tuple.local, sent.tuple.remote].contains(&client_address(0))
}

fn path_one_is_dead(sent: &Sent) -> bool {
    [sent.tuple.local, sent.tuple.remote].contains(&client_address(1))
}

fn update(pair: &mut Pair) -> bool {
    let now = pair.now;
    pair.client().initiate_key_update(now)
}

/// Sends a little and lets it arrive.
fn exchange(pair: &mut Pair) {
    pair.write(Side::Client, 500);
    pair.run(Duration::from_millis(500));
}

fn read_all(pair: &mut Pair, id: StreamId) -> usize {
    while pair.server().accept_stream(false).is_some() {}
    let chunks = std::iter::from_fn(|| pair.server().read_chunk(id, 1 << 20).ok().flatten());
    chunks.map(|chunk| chunk.len()).sum()
}

/// Both updates were heard on path 0 only, and then this dies: what comes on path 1 opens all the same.
//= rfc9001-6.1-3, rfc9001-6.1-4
#[test]
fn two_updates_while_a_path_is_idle() {
    let mut pair = Pair::connected(Settings::default());
    pair.open(1);
    assert!(update(&mut pair));
    exchange(&mut pair);
    pair.lose = path_zero_is_dead;
    assert!(update(&mut pair), "every path acknowledged a packet of the first");
    let id = pair.write(Side::Client, 5_000);
    pair.run(Duration::from_secs(5));
    assert_eq!(read_all(&mut pair, id), 5_000, "client {:?}", pair.client.closed());
    assert_eq!(pair.server().stats().key_updates, 2);
    assert_eq!(pair.server().stats().packets_undecryptable, 0);
}

/// A peer that keeps the rule of RFC 9001 only, and waits for an acknowledgement on any path. The server has nothing
/// to send that would be acknowledged; its previous keys must go by what it *receives* (RFC 9001 section 6.5).
//= rfc9001-6.5-2, rfc9001-6.5-3
#[test]
fn a_peer_that_updates_twice_without_using_a_path() {
    let mut pair = Pair::connected(Settings::default());
    pair.open(1);
    for _ in 0..2 {
        let now = pair.now;
        pair.client().roll_keys(now).unwrap();
        pair.client().paths.iter_mut().for_each(|path| path.probes = 0);
        exchange(&mut pair);
    }
    pair.lose = path_zero_is_dead;
    let id = pair.write(Side::Client, 5_000);
    pair.run(Duration::from_secs(5));
    assert_eq!(read_all(&mut pair, id), 5_000, "client {:?}", pair.client.closed());
    assert_eq!(pair.server().stats().packets_undecryptable, 0);
}

/// Even one that does not wait at all: packets are lost until the previous keys are gone, the connection is not.
//= rfc9001-5.5-1
#[test]
fn a_peer_that_updates_twice_at_once() {
    let mut pair = Pair::connected(Settings::default());
    pair.open(1);
    pair.lose = path_one_is_dead;
    let now = pair.now;
    pair.client().roll_keys(now).unwrap();
    pair.write(Side::Client, 500);
    pair.run(Duration::from_millis(30));
    pair.lose = path_zero_is_dead;
    let now = pair.now;
    pair.client().roll_keys(now).unwrap();
    let id = pair.write(Side::Client, 5_000);
    pair.run(Duration::from_secs(5));
    assert_eq!(read_all(&mut pair, id), 5_000, "client {:?}", pair.client.closed());
}

//= multipath-2.5-1, rfc9001-6.1-2, rfc9001-6.5-1
#[test]
fn an_update_is_told_on_every_path_and_the_next_one_waits_for_all_of_them() {
    let mut pair = Pair::connected(Settings::default());
    let second = pair.open(1);
    pair.run(Duration::from_secs(1));
    let began = pair.now;
    assert!(update(&mut pair));
    pair.run(Duration::from_millis(100));
    for n in [0, 1] {
        let on =
            pair.datagrams(Side::Client, began).filter(|sent| sent.tuple.local == client_address(n)).count();
        assert!(on > 0, "nothing on path {n}, although both are idle");
    }
    pair.run(Duration::from_secs(1));
    pair.lose = path_one_is_dead;
    assert!(update(&mut pair));
    exchange(&mut pair);
    pair.run(Duration::from_secs(1));
    assert!(!update(&mut pair), "path 1 has acknowledged nothing of this phase");
    let now = pair.now;
    pair.client().abandon_path(now, second, Code::NO_ERROR).unwrap();
    assert!(update(&mut pair), "an abandoned path does not count");
    exchange(&mut pair);
    assert_eq!(pair.server().stats().key_updates, 3);
    assert_eq!(pair.client().paths().first().map(|path| path.id), Some(PathId::ZERO));
}

/// An end that answers an update can begin the next one: its own packets of the phase are acknowledged on every path too.
//= rfc9001-6.2-1, rfc9001-6.2-2, rfc9001-6.3-3
#[test]
fn both_ends_take_turns() {
    let mut pair = Pair::connected(Settings::default());
    pair.open(1);
    for turn in 0..6 {
        pair.run(Duration::from_secs(1));
        let now = pair.now;
        let end = if turn % 2 == 0 { pair.client() } else { pair.server() };
        assert!(end.initiate_key_update(now), "turn {turn}");
        exchange(&mut pair);
    }
    assert_eq!((pair.client().stats().key_updates, pair.server().stats().key_updates), (6, 6));
    assert_eq!(pair.server().stats().packets_undecryptable + pair.client().stats().packets_undecryptable, 0);
}

/// Keys are updated as often as the application wants, but no earlier than the last update is known to have arrived.
//= rfc9001-5.3-3, rfc9001-6.6-1, rfc9001-6.6-3
#[test]
fn keys_are_updated_after_a_number_of_packets() {
    let settings = Settings {
        client: crate::TransportConfig { key_update_after: Some(50), ..super::pair::transport() },
        ..Settings::default()
    };
    let mut pair = Pair::connected(settings);
    let id = pair.write(Side::Client, 3_000_000);
    let mut read = 0;
    for _ in 0..100 {
        pair.run(Duration::from_millis(100));
        read += read_all(&mut pair, id);
    }
    assert_eq!(read, 3_000_000, "client {:?}", pair.client.closed());
    let sent = pair.client().stats().datagrams_sent;
    let updates = pair.server().stats().key_updates;
    assert!(updates >= 3 && updates <= sent / 50, "{updates} updates in {sent} packets");
    assert_eq!(pair.client().stats().key_updates, updates);
    assert_eq!(pair.server().stats().packets_undecryptable + pair.client().stats().packets_undecryptable, 0);
}
