//! Stateless resets (RFC 9000 section 10.3).

use hawser_wire::StatelessResetToken;

use super::super::cid::CidScheme;
use super::super::{ANSWERS, CidIssuer, EndpointEvent, RESETS, ResetKey};
use super::*;

fn short(destination: ConnectionId, length: usize) -> Vec<u8> {
    let mut packet = vec![0x41];
    packet.extend_from_slice(destination.as_bytes());
    packet.resize(length, 0xaa);
    packet
}

#[test]
fn a_packet_for_a_lost_connection_is_answered_with_its_token() {
    // The connection id was issued before a crash, by an endpoint with the same reset key.
    let (lost, token) = CidIssuer::new(CidScheme::random(8), ResetKey::new(&[4; 32]), [77; 32]).issue();
    let reset = feed(&mut server(), client(), &short(lost, 100)).answer();
    assert_eq!(StatelessResetToken::at_end_of(&reset), Some(token));
}

//= rfc9000-10.3-6
#[test]
fn what_cannot_be_a_packet_of_ours_is_not_answered() {
    let mut endpoint = server();
    assert!(feed(&mut endpoint, client(), &short(cid(1), 21)).is_nothing(), "too short to answer with less");
    let mut other_protocol = short(cid(1), 100);
    other_protocol[0] &= !0x40;
    assert!(feed(&mut endpoint, client(), &other_protocol).is_nothing(), "no fixed bit");
    assert!(feed(&mut endpoint, client(), &[0x41; 8]).is_nothing(), "no whole connection id");
}

//= rfc9000-10.3.3-1
#[test]
fn two_endpoints_without_state_stop_answering_each_other() {
    let (mut one, mut other) = (server(), server());
    let mut packet = short(cid(1), 1400);
    for round in 0..1_300 {
        match feed(if round % 2 == 0 { &mut one } else { &mut other }, client(), &packet) {
            Outcome::Answer(answer) => {
                assert!(answer.bytes.len() < packet.len());
                packet = answer.bytes;
            }
            Outcome::Nothing => return,
            other => panic!("{other:?}"),
        }
    }
    panic!("still answering");
}

/// Of this many packets for unknown connections, how many are answered.
fn answered(endpoint: &mut Endpoint, packets: u32, source: impl Fn(u32) -> FourTuple) -> u32 {
    let is_answered = |n: &u32| matches!(feed(endpoint, source(*n), &short(cid(1), 100)), Outcome::Answer(_));
    (0..packets).filter(is_answered).count() as u32
}

#[test]
fn resets_are_rate_limited() {
    let mut endpoint = server();
    let many = |n: u32| tuple(&format!("10.{}.{}.1:4000", n / 250, n % 250));
    assert_eq!(answered(&mut endpoint, 10 * RESETS.total.burst, many), RESETS.total.burst);
}

#[test]
fn a_flood_from_one_address_leaves_resets_for_others() {
    let mut endpoint = server();
    let flood = answered(&mut endpoint, 10 * RESETS.total.burst, |_| client());
    assert_eq!(flood, RESETS.per_source.burst);
    assert_eq!(answered(&mut endpoint, 1, |_| tuple("192.0.2.77:4000")), 1, "somebody else's turn");
}

#[test]
fn a_flood_from_one_network_leaves_answers_for_others() {
    let mut endpoint = server_with(|config| config.retry_above_handshakes = 0);
    let retries = |endpoint: &mut Endpoint, packets: u32, source: &dyn Fn(u32) -> FourTuple| {
        let is_answered =
            |n: &u32| matches!(feed(endpoint, source(*n), &first_initial()), Outcome::Answer(_));
        (0..packets).filter(is_answered).count() as u32
    };
    // IPv6 gives everybody a whole network: it counts as one source.
    let flood = retries(&mut endpoint, 2 * ANSWERS.total.burst, &|n| tuple(&format!("[2001:db8::{n:x}]:1")));
    assert_eq!(flood, ANSWERS.per_source.burst);
    assert_eq!(retries(&mut endpoint, 1, &|_| tuple("[2001:db8:0:1::1]:1")), 1);
    assert_eq!(retries(&mut endpoint, 1, &|_| client()), 1);
}

//= rfc9000-10.3-8, rfc9000-10.3.1-1
#[test]
fn a_reset_finds_its_connection_by_token_and_address() {
    let mut endpoint = server();
    let incoming = feed(&mut endpoint, client(), &first_initial()).incoming();
    let (handle, _connection) = endpoint.accept(NOW, incoming, None).unwrap();
    let token = StatelessResetToken([0x5a; 16]);
    let peer = client().remote;
    endpoint.handle_event(handle, EndpointEvent::ResetTokenAdded { remote: peer, token });
    for first in [0x40, 0xc0] {
        // Section 10.3: a long header may be a reset as well.
        let mut reset = vec![first; 25];
        reset.extend_from_slice(&token.0);
        let found = feed(&mut endpoint, client(), &reset);
        assert!(matches!(found, Outcome::Routed(Routed::Connection(found, _)) if found == handle));
        let elsewhere = feed(&mut endpoint, tuple("192.0.2.1:4001"), &reset);
        assert!(!matches!(elsewhere, Outcome::Routed(_)), "from another address it means nothing");
    }
    let reset = [&[0x40; 25][..], &token.0].concat();
    endpoint.handle_event(handle, EndpointEvent::ResetTokenRemoved { remote: peer, token });
    assert!(!matches!(feed(&mut endpoint, client(), &reset), Outcome::Routed(_)));
    endpoint.handle_event(handle, EndpointEvent::ResetTokenAdded { remote: peer, token });
    endpoint.handle_event(handle, EndpointEvent::Drained);
    assert!(endpoint.routes.is_empty());
}
