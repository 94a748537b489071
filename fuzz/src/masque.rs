//! What strangers and gateways say of tunnels: capsules, UDP payloads, addresses and routes, targets, paths, `Proxy-Status`; and IP
//! packets, which come from anybody.
//!
//! The first byte of an input chooses the decoder, the rest is what it reads. What must hold: no panic, an end, no more held
//! than may be, the same result however a stream is cut, and that what was understood means the same when it is written and
//! read again.

use std::time::Duration;

use bytes::Bytes;
use hawser_masque::capsule::{Capsule, CapsuleError, Capsules, DATAGRAM};
use hawser_masque::flows::{Class, FlowTable};
use hawser_masque::ip::{ADDRESS_ASSIGN, ADDRESS_REQUEST, ROUTE_ADVERTISEMENT};
use hawser_masque::order::{self, Reorder};
use hawser_masque::packet::{self, Endpoints, Unreachable};
use hawser_masque::status::ProxyStatus;
use hawser_masque::target::Target;
use hawser_masque::{capsule, ip, udp};

/// Most bytes of a capsule that is read.
const MOST: usize = 1_000;

/// One of the decoders.
pub fn masque(data: &[u8]) {
    let Some((&which, rest)) = data.split_first() else { return };
    let text = std::str::from_utf8(rest);
    match (which % 10, text) {
        (0, _) => capsules(rest),
        (1, _) => payload(rest),
        (2, _) => prefixes(rest),
        (3, _) => routes(rest),
        (4, Ok(text)) => target(text),
        (5, Ok(text)) => path(text),
        (6, Ok(text)) => status(text),
        (7, _) => packet(rest),
        (8, _) => packets(rest),
        (9, _) => numbered(rest),
        _ => {}
    }
}

fn read(bytes: &[u8], piece: usize) -> (Vec<Capsule>, Result<(), CapsuleError>) {
    let kinds = &[DATAGRAM, ADDRESS_ASSIGN, ADDRESS_REQUEST, ROUTE_ADVERTISEMENT];
    let (mut capsules, mut found) = (Capsules::new(kinds, MOST), Vec::new());
    for piece in bytes.chunks(piece) {
        capsules.push(Bytes::copy_from_slice(piece));
        loop {
            match capsules.next() {
                Ok(Some(capsule)) => {
                    assert!(capsule.value.len() <= MOST);
                    found.push(capsule);
                }
                Ok(None) => break,
                Err(error) => return (found, Err(error)),
            }
        }
    }
    (found, capsules.end())
}

fn capsules(bytes: &[u8]) {
    let whole = read(bytes, usize::MAX);
    for piece in [1, 3, 17] {
        assert_eq!(read(bytes, piece), whole, "cut into pieces of {piece}");
    }
    let written: Vec<u8> =
        whole.0.iter().flat_map(|capsule| capsule::encode(capsule.kind, &capsule.value)).collect();
    assert_eq!(read(&written, usize::MAX), (whole.0, Ok(())));
}

fn payload(bytes: &[u8]) {
    if let Ok(Some(payload)) = udp::decode(Bytes::copy_from_slice(bytes)) {
        assert!(payload.len() < bytes.len());
        assert_eq!(udp::decode(udp::encode(&payload)), Ok(Some(payload)));
    }
}

fn prefixes(bytes: &[u8]) {
    if let Ok(entries) = ip::read_assignment(bytes) {
        assert!(entries.len() <= ip::MAX_ENTRIES);
        assert_eq!(ip::read_assignment(&ip::write_prefixes(&entries)), Ok(entries));
    }
    let _ = ip::read_request(bytes);
}

fn routes(bytes: &[u8]) {
    if let Ok(routes) = ip::read_routes(bytes) {
        assert!(routes.len() <= ip::MAX_ENTRIES);
        assert_eq!(ip::write_routes(&routes), bytes);
    }
}

fn target(text: &str) {
    if let Ok(target) = text.parse::<Target>() {
        assert_eq!(target.to_string().parse(), Ok(target));
    }
}

fn path(text: &str) {
    if let Ok(target) = udp::read_path(text) {
        let request = udp::request("proxy:1", &target).expect("a target can be asked for");
        assert_eq!(udp::read_path(request.uri().path()), Ok(target));
    }
}

fn status(text: &str) {
    if let Some(status) = ProxyStatus::parse(text) {
        assert_eq!(ProxyStatus::parse(&status.to_field("p")), Some(status));
    }
}

/// What the headers say lies within the packet, answers are sound and never answered, other ends keep what is sound so.
fn packet(bytes: &[u8]) {
    let Ok(read) = packet::read(bytes) else { return };
    assert!(read.payload <= bytes.len());
    let _ = packet::ports(bytes, &read);
    for why in [Unreachable::Network, Unreachable::Host, Unreachable::Prohibited, Unreachable::TooBig(1_280)]
    {
        let Some(answer) = packet::unreachable(bytes, &read, why) else { continue };
        let back = packet::read(&answer).expect("a sound answer");
        assert_eq!((back.source, back.destination), (read.destination, read.source));
        assert!(packet::unreachable(&answer, &back, why).is_none());
    }
    if let Some(clamped) = packet::clamp_mss(bytes, &read, 1_240) {
        assert_eq!(packet::is_transport_sound(&clamped, &read), packet::is_transport_sound(bytes, &read));
        assert!(packet::clamp_mss(&clamped, &read, 1_240).is_none());
    }
    let Some(segment) = packet::segment(bytes, &read) else { return };
    if let Some(reset) = packet::reset(&read, &segment) {
        let back = packet::read(&reset).expect("a sound reset");
        assert!(packet::is_transport_sound(&reset, &back));
        assert!(packet::reset(&back, &packet::segment(&reset, &back).expect("a segment")).is_none());
    }
    let (mut other, was_sound) = (bytes.to_vec(), packet::is_transport_sound(bytes, &read));
    let ends = |source: &str, destination: &str| Endpoints {
        source: source.parse().expect("an address"),
        destination: destination.parse().expect("an address"),
    };
    let ends = if read.source.is_ipv4() {
        ends("198.18.45.2:7", "198.18.45.1:700")
    } else {
        ends("[fd00::2]:7", "[fd00::1]:700")
    };
    if packet::rewrite(&mut other, &read, &ends, false) {
        let back = packet::read(&other).expect("the same packet");
        assert_eq!((back.source, back.destination), (ends.source.ip(), ends.destination.ip()));
        assert!(!was_sound || packet::is_transport_sound(&other, &back));
    }
    for (start, offset) in [(read.payload, 16), (0, usize::MAX), (usize::MAX, 16)] {
        packet::complete_checksum(&mut other, start, offset);
    }
}

/// Packets one behind the other, each behind its length: what is remembered of their flows is bounded.
fn packets(mut bytes: &[u8]) {
    let mut flows = FlowTable::default();
    let mut now = Duration::ZERO;
    while let Some((&length, rest)) = bytes.split_first() {
        let (one, rest) = rest.split_at(rest.len().min(length.into()));
        if let Ok(read) = packet::read(one) {
            flows.judge(now, one, &read);
        }
        now += Duration::from_millis(length.into());
        bytes = rest;
    }
    assert!(flows.len() <= 4_096);
}

/// Numbered packets as they arrive, each behind the milliseconds since the one before: no more come out than go in, and none stays.
fn numbered(mut bytes: &[u8]) {
    let (mut reorder, mut now) = (Reorder::default(), Duration::ZERO);
    let (mut ordered, mut once, mut handed) = (0_usize, 0_usize, 0_usize);
    while let Some((&[pause, datagram @ ..], rest)) = bytes.split_first_chunk::<{ order::HEADER + 1 }>() {
        now += Duration::from_millis(pause.into());
        reorder.release(now);
        if let Some(numbered) = order::read(Bytes::copy_from_slice(&datagram)) {
            match numbered.verdict.class {
                Class::Bulk => ordered += 1,
                Class::RealTime => once += 1,
            }
            reorder.push(now, numbered);
        }
        handed += std::iter::from_fn(|| reorder.pop()).count();
        bytes = rest;
    }
    reorder.release(now + order::LONGEST_WAIT);
    handed += std::iter::from_fn(|| reorder.pop()).count();
    assert_eq!(reorder.held(), 0);
    assert!(handed <= ordered + once, "{handed} of {ordered} and {once}");
}
