//! What the other end of a tunnel can make us compute: the smallest form of each capsule, and of packets with numbers, next to a
//! reference work.

use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use hawser_masque::capsule::{Capsules, DATAGRAM, encode};
use hawser_masque::flows::{Class, FlowTable, Verdict};
use hawser_masque::ip::{self, ADDRESS_ASSIGN, ADDRESS_REQUEST, MAX_LENGTH, ROUTE_ADVERTISEMENT};
use hawser_masque::order::{self, Reorder};
use hawser_masque::{packet, udp};
use hawser_toll::{PACKET, measure};

/// Bytes of a DATAGRAM frame before its content: type, length, stream.
const FRAME: usize = 3;

/// Reads capsules as a tunnel for packets does.
fn read(bytes: &Bytes) {
    let kinds = &[DATAGRAM, ADDRESS_ASSIGN, ADDRESS_REQUEST, ROUTE_ADVERTISEMENT];
    let mut capsules = Capsules::new(kinds, MAX_LENGTH);
    for start in (0..bytes.len()).step_by(PACKET) {
        capsules.push(bytes.slice(start..bytes.len().min(start + PACKET)));
        while let Ok(Some(capsule)) = capsules.next() {
            match capsule.kind {
                DATAGRAM => drop(udp::decode(capsule.value)),
                ADDRESS_ASSIGN => drop(ip::read_assignment(&capsule.value)),
                ADDRESS_REQUEST => drop(ip::read_request(&capsule.value)),
                _ => drop(ip::read_routes(&capsule.value)),
            }
        }
    }
}

#[test]
fn no_capsule_costs_more_than_its_bytes() {
    for kind in 0..0x40 {
        for length in 0..2 {
            let bytes = Bytes::from(encode(kind, &[0; 1][..length]).repeat(10_000));
            measure(&format!("capsule {kind:#x} with {length} bytes"), || {
                read(&bytes);
                bytes.len()
            });
        }
    }
    let addresses = [1, 4, 10, 0, 0, 1, 32].repeat(ip::MAX_ENTRIES);
    let route = |n: u32| [&[4][..], &(2 * n).to_be_bytes(), &(2 * n).to_be_bytes(), &[0]].concat();
    let routes: Vec<u8> = (0..1_024).flat_map(route).collect();
    for (kind, value) in
        [(ADDRESS_ASSIGN, &addresses), (ADDRESS_REQUEST, &addresses), (ROUTE_ADVERTISEMENT, &routes)]
    {
        let bytes = Bytes::from(encode(kind, value).repeat(10));
        measure(&format!("capsule {kind:#x} with all entries"), || {
            read(&bytes);
            bytes.len()
        });
    }
}

/// Sends `count` empty packets with these headers, microseconds apart, to a tunnel that reads as Hawser does.
fn numbered(name: &str, count: u32, headers: impl Fn(u32) -> (Class, u16, u32)) {
    measure(name, || {
        let mut reorder = Reorder::default();
        // Somebody came late, so that others are waited for.
        for (at, number) in [(0, 0), (1, 2), (100, 1)] {
            take(&mut reorder, Duration::from_millis(at), (Class::Bulk, 65_535, number));
        }
        for n in 0..count {
            take(&mut reorder, Duration::from_micros(101_000 + u64::from(n)), headers(n));
        }
        count as usize * (FRAME + order::HEADER)
    });
}

fn take(reorder: &mut Reorder, now: Duration, (class, flow, number): (Class, u16, u32)) {
    let datagram = Bytes::copy_from_slice(&order::header(&Verdict { class, flow, number }));
    reorder.push(now, order::read(datagram).expect("a header"));
    while reorder.pop().is_some() {}
    if reorder.next_release(now).is_some_and(|at| at <= now) {
        reorder.release(now);
    }
}

#[test]
fn no_number_of_a_packet_costs_more_than_its_bytes() {
    use Class::{Bulk, RealTime};
    numbered("numbers in order", 50_000, |n| (Bulk, 1, n));
    numbered("every second number", 50_000, |n| (Bulk, 1, 2 * n));
    numbered("gaps as large as may be", 50_000, |n| (Bulk, 1, n.wrapping_mul(32_767)));
    numbered("gaps filled from behind", 50_000, |n| {
        (Bulk, 1, if n % 2 == 0 { n } else { 30_000 - n % 30_000 })
    });
    numbered("gaps filled in their middle", 50_000, |n| {
        (Bulk, 1, if n < 10_000 { 3 * n } else { 3 * (n % 10_000) + 1 })
    });
    numbered("a flow for each packet", 200_000, |n| (Bulk, n as u16, 0));
    numbered("flows that all wait", 200_000, |n| (Bulk, (n % 4_000) as u16, 2 * (n / 4_000)));
    numbered("more flows that wait than there may be", 200_000, |n| {
        (Bulk, (n % 5_000) as u16, 2 * (n / 5_000) + 1)
    });
    numbered("a flow for each packet, once", 200_000, |n| (RealTime, n as u16, 0));
    numbered("numbers that jump, once", 50_000, |n| (RealTime, 1, n.wrapping_mul(32_769)));
}

/// Packets of hosts behind a tunnel, each of another flow: what they cost the end that sends them into it.
#[test]
fn no_packet_of_a_host_costs_more_than_its_bytes() {
    for (name, flows) in [("packets of few flows", 100), ("a flow for each packet", 60_000)] {
        let mut table = FlowTable::default();
        let (mut bytes, head) =
            (BytesMut::new(), [0x45, 0, 0, 28, 0, 0, 0, 0, 64, packet::UDP, 0, 0, 10, 0, 0, 1, 10, 0]);
        measure(name, || {
            for n in 0..20_000_u16 {
                bytes.clear();
                bytes.put_slice(&head);
                bytes.put_u16(n % flows);
                bytes.put_slice(&[0, 53, 0, 53, 0, 8, 0, 0]);
                let read = packet::read(&bytes).expect("a packet");
                // At the same time, so that none of them is silent.
                table.judge(Duration::from_millis(1), &bytes, &read);
            }
            20_000 * 28
        });
    }
}
