//! Retry and tokens (RFC 9000 section 8.1).

use std::net::SocketAddr;
use std::time::Duration;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::quic_lb::{QuicLbCodec, QuicLbServer};

struct RetryInfo {
    token: Vec<u8>,
    source: ConnectionId,
}

/// Checks a Retry packet as a client does that sent to `destination` from `source`.
fn read_retry(packet: &[u8], destination: ConnectionId, source: ConnectionId) -> RetryInfo {
    assert!(NullClient::default().is_valid_retry(Version::V1, &destination, packet));
    let Ok(PartialHeader::Retry(retry)) = PartialHeader::decode(packet, source.len()) else {
        panic!("not a Retry")
    };
    assert_eq!(retry.destination_cid, source);
    assert_ne!(retry.source_cid, destination, "RFC 9000 section 17.2.5.1");
    RetryInfo { token: retry.token.to_vec(), source: retry.source_cid }
}

fn strict() -> Endpoint {
    server_with(|config| config.retry_above_handshakes = 0)
}

fn retried(endpoint: &mut Endpoint) -> RetryInfo {
    read_retry(&feed(endpoint, client(), &first_initial()).answer(), cid(1), cid(2))
}

//= rfc9000-8.1.3-12
#[test]
fn a_client_that_answers_a_retry_has_proven_its_address() {
    let mut endpoint = strict();
    let retry = retried(&mut endpoint);
    assert!(endpoint.routes.is_empty() && endpoint.handshakes() == 0, "a Retry leaves no state");

    let second = initial(retry.source, cid(2), &retry.token, 1200);
    let incoming = feed(&mut endpoint, client(), &second).incoming();
    assert!(incoming.is_address_validated() && !incoming.may_retry());
    assert_eq!(incoming.original_destination(), cid(1));
    assert_eq!(incoming.retry_source, Some(retry.source));
    let error = endpoint.retry(NOW, incoming).unwrap_err();
    endpoint.accept(NOW, *error.0, None).unwrap();
}

/// Strangers draw as many Retry packets as they like: these use up no nonces, say that no balancer can route them, and how
/// long they are. The client that answers one is served.
#[test]
fn a_retry_behind_a_balancer_costs_no_nonce() {
    let codec = QuicLbCodec::new(2, 3, 8, Some([1; 16])).unwrap();
    let config = EndpointConfig {
        quic_lb: Some(QuicLbServer::new(codec.clone(), &[1, 2, 3]).unwrap()),
        ..EndpointConfig::new([4; 32])
    };
    let mut server = ServerConfig::new(Arc::new(NullServer::default()), Arc::new(transport()), [3; 32]);
    server.retry_above_handshakes = 0;
    let mut endpoint = Endpoint::new(Arc::new(config), Some(Arc::new(server)), [5; 32]);
    endpoint.use_up_nonces();
    let retry = retried(&mut endpoint);
    assert_eq!((retry.source.len(), retry.source.as_bytes()[0]), (12, 0b111 << 5 | 11));
    assert_eq!(codec.decode(retry.source.as_bytes()), None);
    let second = initial(retry.source, cid(2), &retry.token, 1200);
    let incoming = feed(&mut endpoint, client(), &second).incoming();
    assert!(incoming.is_address_validated());
}

/// Many handshakes from one address, which anybody may have put there: a client has to prove its address, and is served.
//= rfc9000-21.6-1
#[test]
fn a_source_that_begins_many_handshakes_must_prove_its_address() {
    const LIMIT: u32 = 5;
    let mut endpoint = server_with(|config| config.handshakes_per_source = Some(LIMIT));
    for n in 0..LIMIT as u8 {
        let _ = feed(&mut endpoint, client(), &initial(cid(20 + n), cid(2), &[], 1200)).incoming();
    }
    for n in 0..LIMIT as u8 {
        let destination = cid(40 + n);
        let answer = feed(&mut endpoint, client(), &initial(destination, cid(2), &[], 1200)).answer();
        let retry = read_retry(&answer, destination, cid(2));
        let second = initial(retry.source, cid(2), &retry.token, 1200);
        assert!(feed(&mut endpoint, client(), &second).incoming().is_address_validated());
    }
    let answer = feed(&mut endpoint, client(), &initial(cid(60), cid(2), &[], 1200)).answer();
    let retry = read_retry(&answer, cid(60), cid(2));
    let answer = feed(&mut endpoint, client(), &initial(retry.source, cid(2), &retry.token, 1200)).answer();
    assert_eq!(close_code(&answer, retry.source, cid(2)), Code::CONNECTION_REFUSED, "even so");
    let other = feed(&mut endpoint, tuple("192.0.2.8:1"), &initial(cid(61), cid(2), &[], 1200));
    assert!(!other.incoming().is_address_validated(), "others notice nothing");
}

//= rfc9000-8.1.2-2
#[test]
fn a_retry_token_used_elsewhere_closes_with_invalid_token() {
    let mut endpoint = strict();
    let retry = retried(&mut endpoint);
    let good = initial(retry.source, cid(2), &retry.token, 1200);
    let answer = feed(&mut endpoint, tuple("192.0.2.1:4001"), &good).answer();
    assert_eq!(close_code(&answer, retry.source, cid(2)), Code::INVALID_TOKEN, "another port");
    let elsewhere = initial(cid(6), cid(2), &retry.token, 1200);
    let answer = feed(&mut endpoint, client(), &elsewhere).answer();
    assert_eq!(close_code(&answer, cid(6), cid(2)), Code::INVALID_TOKEN, "another connection id");
    let answer = feed_at(&mut endpoint, NOW + Duration::from_secs(16), client(), &good).answer();
    assert_eq!(close_code(&answer, retry.source, cid(2)), Code::INVALID_TOKEN, "too late");
    assert!(endpoint.routes.is_empty());
}

//= rfc9000-8.1.3-11
#[test]
fn a_token_that_nobody_knows_counts_as_none() {
    let mut endpoint = strict();
    read_retry(
        &feed(&mut endpoint, client(), &initial(cid(1), cid(2), b"from another server", 1200)).answer(),
        cid(1),
        cid(2),
    );
    let mut easy = server();
    let incoming = feed(&mut easy, client(), &initial(cid(1), cid(2), &[9; 80], 1200)).incoming();
    assert!(!incoming.is_address_validated() && incoming.may_retry());
}

//= rfc9001-4.7-1
#[test]
fn retry_begins_with_load() {
    let mut endpoint = server_with(|config| config.retry_above_handshakes = 2);
    let one = feed(&mut endpoint, client(), &initial(cid(10), cid(2), &[], 1200)).incoming();
    let _two = feed(&mut endpoint, client(), &initial(cid(11), cid(2), &[], 1200)).incoming();
    let third = initial(cid(12), cid(2), &[], 1200);
    read_retry(&feed(&mut endpoint, client(), &third).answer(), cid(12), cid(2));
    endpoint.ignore(one);
    let _ = feed(&mut endpoint, client(), &third).incoming();
}

#[test]
fn the_application_may_ask_for_proof() {
    let mut endpoint = server();
    let incoming = feed(&mut endpoint, client(), &first_initial()).incoming();
    let retry = read_retry(&endpoint.retry(NOW, incoming).unwrap().bytes, cid(1), cid(2));
    assert!(endpoint.routes.is_empty());
    let incoming =
        feed(&mut endpoint, client(), &initial(retry.source, cid(2), &retry.token, 1200)).incoming();
    assert!(incoming.is_address_validated());
}

//= rfc9000-8.1.3-1, rfc9000-8.1.3-6, rfc9000-8.1.3-10, rfc9000-8.1.3-12, rfc9000-8.1.4-8
#[test]
fn an_address_token_spares_the_retry_once() {
    let mut endpoint = strict();
    let issuer = endpoint.server.as_ref().unwrap().gate.issuer(1);
    let address: SocketAddr = remote("192.0.2.1:1");
    let token = issuer.issue(NOW, Version::V1, address.ip(), &mut ChaCha8Rng::from_seed([1; 32]));
    let with_token = |destination| initial(destination, cid(2), &token, 1200);

    let stranger = feed(&mut endpoint, tuple("192.0.2.7:4000"), &with_token(cid(20))).answer();
    read_retry(&stranger, cid(20), cid(2));
    let mut damaged = with_token(cid(21));
    *damaged.last_mut().unwrap() ^= 1;
    assert!(
        feed(&mut endpoint, client(), &damaged).is_nothing(),
        "a damaged packet does not spend the token"
    );
    let incoming = feed(&mut endpoint, client(), &with_token(cid(22))).incoming();
    assert!(incoming.is_address_validated() && incoming.may_retry());
    assert_eq!(incoming.original_destination(), cid(22));
    let replay = feed(&mut endpoint, client(), &with_token(cid(23))).answer();
    read_retry(&replay, cid(23), cid(2));
}
