//! What is in the packets of each plan.

use std::time::Duration;

use bytes::Bytes;
use hawser_policy::{PathId, PathStatus, Side};
use hawser_wire::Frame;
use hawser_wire::packet::PartialHeader;

use super::forge::encode;
use super::pair::{DELAY, Pair, Settings, client_address, from};
use super::sent_packets::{at_rest, fill_windows, poll, queue};

const SECOND: PathId = PathId(1);

fn receive_pings(pair: &mut Pair, id: PathId) {
    let tuple = pair.client().paths.get(id).unwrap().tuples.current();
    for _ in 0..2 {
        let packet = pair.server().forge(id, &encode(&[Frame::Ping]));
        pair.receive(Side::Client, tuple, &packet);
    }
}

//= rfc9221-5-1
#[test]
fn a_packet_is_filled_with_the_most_urgent_first() {
    let mut pair = at_rest(0);
    let now = pair.now;
    receive_pings(&mut pair, PathId::ZERO);
    let client = pair.client();
    client.set_path_status(now, PathId::ZERO, PathStatus::Backup).unwrap();
    queue(client, 100);
    client.send_datagram(Bytes::from_static(&[1; 50]), None).unwrap();
    let batch = poll(&mut pair, Side::Client).unwrap();
    assert_eq!(batch.frames(), [["Ack", "PathStatus", "Datagram", "Stream"]]);
}

/// One call of the system sends it: equal sizes but for the last, and nothing is said twice.
#[test]
fn a_batch_is_full_datagrams_and_a_rest() {
    let mut pair = at_rest(0);
    receive_pings(&mut pair, PathId::ZERO);
    queue(pair.client(), 4_000);
    let path = pair.client().paths.get(PathId::ZERO).unwrap();
    let (size, window) = (usize::from(path.mtu.current()), path.recovery.window_left() as usize);
    assert!(size > 1_200 && window > 7_000, "{size} {window}");
    let batch = poll(&mut pair, Side::Client).unwrap();
    assert_eq!(batch.tuple, from(client_address(0)));
    let (last, full) = batch.sizes().split_last().map(|(last, full)| (*last, full.to_vec())).unwrap();
    assert!(full.len() == 2 && full.iter().all(|length| *length == size) && last < size, "{full:?} {last}");
    let mut frames = batch.frames();
    assert_eq!(frames.remove(0), ["Ack", "Stream"]);
    assert!(frames.iter().all(|frames| frames == &["Stream"]), "{frames:?}");
}

/// Neither window nor pacer is exceeded by the batch that uses them up.
//= rfc9002-7-2
#[test]
fn a_batch_keeps_within_the_window() {
    let mut pair = at_rest(0);
    queue(pair.client(), 25_000);
    for _ in 0..200 {
        let now = pair.now;
        let recovery = &pair.client().paths.get(PathId::ZERO).unwrap().recovery;
        let granted = recovery.window_left().min(recovery.pacing_budget(now));
        let Some(batch) = poll(&mut pair, Side::Client) else { break };
        let total: usize = batch.sizes().iter().sum();
        assert!(total as u64 <= granted, "{total} bytes where {granted} were granted");
    }
    let recovery = &pair.client().paths.get(PathId::ZERO).unwrap().recovery;
    assert!(recovery.bytes_in_flight() > 0 && recovery.bytes_in_flight() <= recovery.window());
}

/// RFC 9002 section 6.2.4. Where another path takes the data, a PING asks whether this one is there; a silent one gets
/// nothing that would have to be sent again. It asks with IMMEDIATE_ACK where the peer takes that.
//= rfc9002-6.2.4-2, rfc9002-6.2.4-5
#[test]
fn a_probe_carries_data_only_where_no_other_path_does() {
    let mut pair = at_rest(1);
    receive_pings(&mut pair, SECOND);
    queue(pair.client(), 1_000);
    pair.client().paths.get_mut(SECOND).unwrap().probes = 1;
    let with_other = poll(&mut pair, Side::Client).unwrap().frames();
    assert_eq!(with_other, [["Ack", "Ping"]]);

    let mut pair = at_rest(1);
    receive_pings(&mut pair, SECOND);
    let now = pair.now;
    pair.client().suspect(now, SECOND);
    pair.client().paths.get_mut(SECOND).unwrap().probes = 1;
    let mut silent = poll(&mut pair, Side::Client).unwrap().frames().remove(0);
    silent.retain(|kind| kind != "Padding");
    assert_eq!(silent, ["ImmediateAck"]);

    let mut pair = at_rest(0);
    fill_windows(&mut pair);
    pair.client().paths.get_mut(PathId::ZERO).unwrap().probes = 1;
    let alone = poll(&mut pair, Side::Client).unwrap();
    assert_eq!(
        (alone.frames(), alone.sizes().len()),
        (vec![vec!["Stream".to_owned()]], 1),
        "the window is full"
    );
}

/// RFC 9000 section 14.4: it may get lost, so it carries nothing else.
#[test]
fn a_probe_of_the_datagram_size_is_padded_to_it() {
    let mut pair = at_rest(0);
    let mtu = &mut pair.client().paths.get_mut(PathId::ZERO).unwrap().mtu;
    mtu.reset();
    mtu.start();
    let size = usize::from(mtu.next_probe().unwrap());
    queue(pair.client(), 500);
    let batch = poll(&mut pair, Side::Client).unwrap();
    assert_eq!(
        (batch.sizes(), batch.frames().remove(0)),
        (vec![size], vec!["Ping".into(), "Padding".into()])
    );
    assert_eq!(poll(&mut pair, Side::Client).unwrap().frames(), [["Stream"]], "data follows at once");
}

/// The types and lengths of the packets in a datagram; 1-RTT packets have no type.
fn coalesced(mut datagram: &[u8]) -> Vec<(Option<u8>, usize)> {
    let mut found = Vec::new();
    while !datagram.is_empty() {
        let length =
            PartialHeader::decode(datagram, 8).map_or(datagram.len(), |header| header.packet_len(datagram));
        let is_long = datagram[0] & 0x80 != 0;
        found.push((is_long.then_some(datagram[0] >> 4 & 3), length));
        datagram = &datagram[length.min(datagram.len())..];
    }
    found
}

/// RFC 9000 section 14.1: datagrams with Initial packets have 1200 bytes, a server's too if they elicit acknowledgements.
/// Handshake packets fill them up.
//= rfc9000-12.2-1, rfc9000-12.2-2, rfc9000-12.2-3, rfc9000-12.2-5, rfc9001-4-2
#[test]
fn initial_and_handshake_packets_share_datagrams() {
    const INITIAL: Option<u8> = Some(0);
    const HANDSHAKE: Option<u8> = Some(2);
    let mut pair = Pair::new(Settings::default());
    pair.run(DELAY * 2 + Duration::from_millis(1));
    for side in [Side::Client, Side::Server] {
        let first = pair.sent.iter().find(|sent| sent.by == side).unwrap();
        assert_eq!((side, first.payload.len()), (side, 1_200));
        let packets = coalesced(&first.payload);
        let types: Vec<_> = packets.iter().map(|(kind, _)| *kind).collect();
        let expected: &[_] = if side.is_client() { &[INITIAL] } else { &[INITIAL, HANDSHAKE] };
        assert_eq!(types, expected, "{side:?}: {packets:?}");
        assert_eq!(packets.iter().map(|(_, length)| length).sum::<usize>(), 1_200);
    }
    // The server's address is known to be right; the client's is proved by its Handshake packet.
    let (mut to_server, mut to_client) = (0, 0);
    for sent in &pair.sent {
        if sent.by.is_client() { to_server += sent.payload.len() } else { to_client += sent.payload.len() }
    }
    assert!(to_client <= 3 * to_server, "{to_client} bytes for {to_server}");
}

/// RFC 9000 section 17.4.
//= rfc9000-17.4-1, rfc9000-17.4-5
#[test]
fn the_spin_bit_is_random() {
    let mut pair = at_rest(0);
    let began = pair.now;
    pair.write(Side::Client, 100_000);
    pair.run(Duration::from_millis(300));
    let sent: Vec<bool> =
        pair.datagrams(Side::Client, began).map(|sent| sent.payload[0] & 0x20 != 0).collect();
    let set = sent.iter().filter(|bit| **bit).count();
    assert!(sent.len() > 30 && set > sent.len() / 4 && set < sent.len() * 3 / 4, "{set} of {}", sent.len());
}

/// RFC 9000 section 10.3: 22 bytes more than our connection ids have, or a stateless reset would not pass for one.
//= rfc9000-10.3-3
#[test]
fn no_packet_is_too_short_to_be_answered_by_a_reset() {
    let mut pair = at_rest(0);
    pair.client().paths.get_mut(PathId::ZERO).unwrap().probes = 1;
    let ping = poll(&mut pair, Side::Client).unwrap();
    assert_eq!((ping.frames()[0][0].as_str(), ping.sizes()), ("Ping", vec![8 + 22]));
}
