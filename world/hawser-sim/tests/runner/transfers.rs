//! Cases about files over a link that loses nothing but for its queue.

use hawser_core::Ecn;
use hawser_policy::{Side, Time};
use hawser_wire::packet::PacketType;

use crate::bed::{Bed, Case, KB, MB, SIMPLE};

#[test]
fn transfer() {
    let mut bed = Case::new(SIMPLE, &[2 * MB, 3 * MB, 5 * MB]).start();
    bed.finish(9.3);
}

#[test]
fn multiplexing() {
    let mut bed = Case::new(SIMPLE, &[32; 1_999]).start();
    bed.finish(1.5);
    let records = bed.records(Side::Client);
    let is_servers = |record: &&serde_json::Value| {
        record["name"] == "quic:parameters_set" && record["data"]["initiator"] == "remote"
    };
    let limit = &records.iter().find(is_servers).unwrap()["data"]["initial_max_streams_bidi"];
    assert!(limit.as_u64().unwrap() <= 1_000, "{limit}");
}

#[test]
fn blackhole() {
    let link = "blackhole --delay=15ms --bandwidth=10Mbps --queue=25 --on=5s --off=2s";
    let mut bed = Case::new(link, &[10 * MB]).start();
    // Two seconds, and until a probe notices their end.
    bed.finish(12.5);
}

#[test]
fn keyupdate() {
    let mut bed = Case::new(SIMPLE, &[3 * MB]).start();
    bed.run_to(Time::from_secs(1));
    let now = bed.network.now();
    assert!(bed.network.client.node.first_connection().unwrap().initiate_key_update(now));
    bed.finish(3.0);
    for side in [Side::Client, Side::Server] {
        let records = bed.records(side);
        let sent = bed.sent(side, &records);
        let of_phase = |phase| {
            let packets = sent.iter().filter(|packet| packet.header.kind == PacketType::OneRtt);
            packets.filter(|packet| packet.key_phase == phase).count()
        };
        assert!(of_phase(0) > 10 && of_phase(1) > 10, "{side:?}: {} and {}", of_phase(0), of_phase(1));
    }
    assert_eq!((bed.client().ended[0].key_updates, bed.server().ended[0].key_updates), (1, 1));
    assert_eq!(bed.client().ended[0].packets_undecryptable, 0);
}

/// The marks of what an end sent, and how many of its acknowledgements count those of the other.
fn marks(bed: &Bed, side: Side) -> (Vec<Option<Ecn>>, usize) {
    let records = bed.records(side);
    let sent = bed.sent(side, &records);
    let acks = sent.iter().flat_map(|packet| packet.frames("ack").chain(packet.frames("path_ack")));
    let counting = acks.filter(|ack| ack["ect0"].as_u64().is_some_and(|count| count > 0)).count();
    (sent.iter().map(|packet| packet.sent.ecn).collect(), counting)
}

#[test]
fn ecn() {
    let mut bed = Case::new(SIMPLE, &[100 * KB]).start();
    bed.finish(0.25);
    for side in [Side::Client, Side::Server] {
        let (marks, counting) = marks(&bed, side);
        // Packets of the handshake are not marked, nor is the CONNECTION_CLOSE.
        assert!(marks.iter().all(|mark| matches!(mark, None | Some(Ecn::Ect0))), "{side:?}: {marks:?}");
        let marked = marks.iter().filter(|mark| mark.is_some()).count();
        assert!(marked + 6 >= marks.len(), "{side:?}: {marked} of {}", marks.len());
        assert!(counting > 1, "{side:?} sends ACK frames with ECN counts");
    }
}
