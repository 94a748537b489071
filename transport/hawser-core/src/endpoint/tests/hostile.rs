//! What strangers can make the endpoint do and keep.

use hawser_wire::codepoints::version;
use proptest::prelude::*;

use super::super::incoming::{MAX_FIRST_BYTES, MAX_INCOMING};
use super::super::{ANSWERS, MIN_CID_LENGTH};
use super::*;

//= rfc9000-5.2.2-5, rfc9000-7.2-1, rfc9000-14.1-3
#[test]
fn initials_that_break_the_rules_are_dropped() {
    let mut endpoint = server();
    assert!(feed(&mut endpoint, client(), &initial(cid(1), cid(2), &[], 1199)).is_nothing(), "too small");
    let short_id = ConnectionId::new(&[1; MIN_CID_LENGTH - 1]).unwrap();
    assert!(
        feed(&mut endpoint, client(), &initial(short_id, cid(2), &[], 1200)).is_nothing(),
        "id too short"
    );
    for byte in [0, 1, 6, 30, 600, 1199] {
        let mut damaged = first_initial();
        damaged[byte] ^= 0x21;
        let outcome = feed(&mut endpoint, client(), &damaged);
        let answered = matches!(&outcome, Outcome::Answer(_)) && byte == 1;
        assert!(outcome.is_nothing() || answered, "byte {byte}: {outcome:?}");
    }
    let mut handshake = first_initial();
    handshake[0] |= 0x20;
    assert!(feed(&mut endpoint, client(), &handshake).is_nothing(), "Handshake packet of no connection");
    assert!(endpoint.routes.is_empty());
    assert_eq!(endpoint.handshakes(), 0);
}

/// RFC 9000 sections 5.2.2 and 6.1.
//= rfc9000-5.2.2-1, rfc9000-5.2.2-2, rfc9000-5.2.2-3, rfc9000-6.1-1, rfc9000-17.2-4, rfc9000-17.2.1-4,
//= rfc9000-17.2.1-5, rfc9000-17.2.1-6, rfc9000-17.2.1-7
#[test]
fn unknown_versions_are_told_the_known_ones() {
    let mut endpoint = server();
    let unknown = |length| {
        let mut packet = vec![0xc0, 0x1a, 0x2a, 0x3a, 0x4a, 30];
        packet.extend_from_slice(&[7; 30]);
        packet.push(3);
        packet.extend_from_slice(&[9; 3]);
        packet.resize(length, 0);
        packet
    };
    let answer = feed(&mut endpoint, client(), &unknown(1200)).answer();
    let Ok(PartialHeader::VersionNegotiation(negotiation)) = PartialHeader::decode(&answer, 8) else {
        panic!()
    };
    assert_eq!((negotiation.destination_cid, negotiation.source_cid), (&[9; 3][..], &[7; 30][..]));
    assert!(negotiation.versions().any(|offered| offered == version::V1));
    assert!(feed(&mut endpoint, client(), &unknown(1199)).is_nothing(), "too small to begin a connection");
    let mut echo = unknown(1200);
    echo[1..5].fill(0);
    assert!(feed(&mut endpoint, client(), &echo).is_nothing(), "Version Negotiation is not answered");
    let mut client_only = Endpoint::new(std::sync::Arc::new(EndpointConfig::new([4; 32])), None, [5; 32]);
    assert!(feed(&mut client_only, client(), &unknown(1200)).is_nothing(), "only servers negotiate");
}

/// RFC 9308 section 8.1: the packet is forged, and the answer would go to a DNS server or the like.
#[test]
fn ports_of_services_that_answer_everybody_get_no_answer() {
    let mut endpoint = server();
    let mut unknown_version = first_initial();
    unknown_version[1] ^= 0x7a;
    let short = vec![0x45; 100];
    for port in [0, 53, 123, 161, 389, 1900, 11211] {
        let from = tuple(&format!("192.0.2.9:{port}"));
        for packet in [&first_initial(), &unknown_version, &short] {
            assert!(feed(&mut endpoint, from, packet).is_nothing(), "port {port}");
        }
    }
    assert!(!feed(&mut endpoint, tuple("192.0.2.9:54"), &first_initial()).is_nothing());
}

#[test]
fn what_waits_for_acceptance_is_bounded_per_connection() {
    let mut endpoint = server();
    let incoming = feed(&mut endpoint, client(), &first_initial()).incoming();
    for _ in 0..100 {
        assert!(feed(&mut endpoint, client(), &first_initial()).is_nothing());
    }
    let kept = endpoint.pending.bytes();
    assert_eq!(kept, 8 * 1200);
    assert!(feed(&mut endpoint, tuple("192.0.2.2:1"), &first_initial()).is_nothing());
    endpoint.ignore(incoming);
    assert_eq!(endpoint.pending.bytes(), 0);

    let incoming = feed(&mut endpoint, client(), &first_initial()).incoming();
    feed(&mut endpoint, tuple("192.0.2.2:1"), &first_initial());
    assert_eq!(endpoint.pending.bytes(), 0, "another client's packets are not kept");
    for _ in 0..5 {
        feed(&mut endpoint, client(), &initial(cid(1), cid(2), &[], 5_000));
    }
    assert_eq!(endpoint.pending.bytes(), 2 * 5_000);
    endpoint.accept(NOW, incoming, None).unwrap();
    assert_eq!(endpoint.pending.bytes(), 0);
}

#[test]
fn what_waits_for_acceptance_is_bounded_in_all() {
    let mut endpoint = server_with(|config| config.retry_above_handshakes = usize::MAX);
    let mut held = Vec::new();
    let mut refused = 0;
    for number in 0..MAX_INCOMING as u64 + 20 {
        let id = ConnectionId::new(&(number + (1 << 40)).to_be_bytes()).unwrap();
        match feed(&mut endpoint, client(), &initial(id, cid(2), &[], 1200)) {
            Outcome::Routed(Routed::Incoming(incoming)) => {
                for _ in 0..8 {
                    feed(&mut endpoint, client(), &initial(id, cid(2), &[], 1500));
                }
                held.push(incoming);
            }
            Outcome::Answer(_) => refused += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((held.len(), refused), (MAX_INCOMING, 20));
    let bytes = endpoint.pending.bytes();
    assert!(bytes <= 4 << 20 && bytes > (4 << 20) - 1500, "{bytes}");
}

#[test]
fn first_datagrams_of_any_size_are_bounded_in_all() {
    let mut endpoint = server_with(|config| config.retry_above_handshakes = usize::MAX);
    let mut held = Vec::new();
    let mut refused = 0;
    for number in 0..200_u64 {
        let id = ConnectionId::new(&(number + (1 << 40)).to_be_bytes()).unwrap();
        let mut jumbo = initial(id, cid(2), &[], 1200);
        jumbo.resize(64 << 10, 0);
        match feed(&mut endpoint, client(), &jumbo) {
            Outcome::Routed(Routed::Incoming(incoming)) => held.push(incoming),
            Outcome::Answer(_) => refused += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((held.len(), refused), (MAX_FIRST_BYTES / (64 << 10), 200 - MAX_FIRST_BYTES / (64 << 10)));
    held.into_iter().for_each(|incoming| endpoint.ignore(incoming));
    let _ = feed(&mut endpoint, client(), &first_initial()).incoming();
}

#[test]
fn answers_to_floods_are_rate_limited() {
    let mut endpoint = server_with(|config| config.retry_above_handshakes = 0);
    let packet = first_initial();
    let source = |n: u32| tuple(&format!("10.{}.{}.1:1", n / 250, n % 250));
    let answered = (0..2 * ANSWERS.total.burst)
        .filter(|n| matches!(feed(&mut endpoint, source(*n), &packet), Outcome::Answer(_)))
        .count();
    assert_eq!(answered, ANSWERS.total.burst as usize);
}

proptest! {
    /// Random bytes, and packets with bytes changed, leave no state; no answer is longer than the question.
    //= rfc9000-5.2.2-6
    #[test]
    fn garbage_leaves_no_trace(
        bytes in prop::collection::vec(any::<u8>(), 0..1500),
        first in prop::sample::select(vec![0x00_u8, 0x40, 0x80, 0xc0, 0xd0, 0xe0, 0xf0]),
        version in prop::sample::select(vec![0_u32, 1, 0x1a2a_3a4a]),
        id_length in 0..30_u8,
    ) {
        let mut endpoint = server();
        let mut packet = bytes.clone();
        for (at, byte) in [first].into_iter().chain(version.to_be_bytes()).chain([id_length]).enumerate() {
            if let Some(place) = packet.get_mut(at) {
                *place = byte;
            }
        }
        for payload in [&bytes, &packet] {
            match feed(&mut endpoint, client(), payload) {
                Outcome::Answer(answer) => prop_assert!(answer.bytes.len() < payload.len()),
                Outcome::Nothing => {}
                Outcome::Routed(routed) => prop_assert!(false, "{:?}", routed),
            }
        }
        prop_assert!(endpoint.routes.is_empty());
        prop_assert_eq!(endpoint.handshakes(), 0);
    }

    //= rfc9001-7-1
    #[test]
    fn a_changed_initial_begins_nothing(byte in 0..1200_usize, bit in 0..8_u32) {
        let mut endpoint = server();
        let mut packet = first_initial();
        packet[byte] ^= 1_u8 << bit;
        let outcome = feed(&mut endpoint, client(), &packet);
        prop_assert!(!matches!(outcome, Outcome::Routed(_)), "{:?}", outcome);
        prop_assert_eq!(endpoint.handshakes(), 0);
    }
}
