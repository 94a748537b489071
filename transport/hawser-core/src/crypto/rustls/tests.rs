use std::sync::Arc;

use ::rustls::crypto::CryptoProvider;
use ::rustls::crypto::cipher::{AeadKey, Iv};
use ::rustls::pki_types::PrivateKeyDer;
use ::rustls::{CipherSuite, ClientConfig, RootCertStore, ServerConfig};
use hawser_policy::Side;
use hawser_wire::{ConnectionId, PacketType, PartialHeader, PlainHeader, Version, multipath_nonce};

use super::{RustlsClient, RustlsServer, TlsConfigError, header_key, packet_key};
use crate::Code;
use crate::crypto::provider::aead;
use crate::crypto::tests::{End, Pair, check_keys_match, server_id};
use crate::crypto::{ClientFactory, Keys, Level, OpenError, ServerFactory, default_provider};

const CLIENT_INITIAL: &str = include_str!("../vectors/client_initial.hex");
const CLIENT_INITIAL_V2: &str = include_str!("../vectors/client_initial_v2.hex");
const SERVER_INITIAL: &str = include_str!("../vectors/server_initial.hex");
const SERVER_INITIAL_V2: &str = include_str!("../vectors/server_initial_v2.hex");

fn vector(text: &str) -> Vec<u8> {
    hex::decode(text.split_whitespace().collect::<String>()).unwrap()
}

fn keys(version: Version, side: Side) -> Keys {
    let (client, _) = configs(&[b"test"], &[b"test"]);
    let destination = ConnectionId::new(&vector("8394c8f03e515708")).unwrap();
    RustlsClient::new(client).unwrap().initial_keys(version, &destination, side)
}

/// Protects `header` and `payload` and compares with `expected`; then opens `expected` with the receiver's keys.
fn check_initial(
    version: Version,
    sender: Side,
    header: &str,
    payload: &[u8],
    packet_number: u64,
    expected: &str,
) {
    let expected = vector(expected);
    let (header, sending, receiving) = (vector(header), keys(version, sender), keys(version, sender.peer()));

    let mut packet = [&header[..], payload, &[0; 16]].concat();
    sending.packet.local.seal(0, packet_number, &mut packet, header.len());
    let PartialHeader::Protected(parsed) = PartialHeader::decode(&packet, 8).unwrap() else {
        panic!("protected")
    };
    assert_eq!((parsed.packet_type, parsed.packet_len), (PacketType::Initial, packet.len()));
    assert_eq!(parsed.version, Some(version));
    sending.header_local.protect(parsed.packet_number_offset, &mut packet);
    assert_eq!(hex::encode(&packet), hex::encode(&expected));

    receiving.header_remote.unprotect(parsed.packet_number_offset, &mut packet);
    let plain = PlainHeader::decode(&packet, &parsed).unwrap();
    assert_eq!(u64::from(plain.packet_number.value()), packet_number);
    let (received_header, sealed) = packet.split_at_mut(plain.payload_offset);
    assert_eq!(received_header, header);
    let length = receiving.packet.remote.open(0, packet_number, received_header, sealed).unwrap();
    assert_eq!(&sealed[..length], payload);
}

/// RFC 9001 and RFC 9369, appendix A.2; the keys of A.1 are implied.
//= rfc9001-5.2-2
#[test]
fn client_initial_vector() {
    let mut payload = vector(include_str!("../vectors/client_initial_frame.hex"));
    payload.resize(1162, 0);
    for (version, header, packet) in [
        (Version::V1, "c300000001088394c8f03e5157080000449e00000002", CLIENT_INITIAL),
        (Version::V2, "d36b3343cf088394c8f03e5157080000449e00000002", CLIENT_INITIAL_V2),
    ] {
        check_initial(version, Side::Client, header, &payload, 2, packet);
    }
}

/// RFC 9001 and RFC 9369, appendix A.3.
//= rfc9001-5.2-2
#[test]
fn server_initial_vector() {
    let payload = vector(include_str!("../vectors/server_initial_frames.hex"));
    for (version, header, packet) in [
        (Version::V1, "c1000000010008f067a5502a4262b50040750001", SERVER_INITIAL),
        (Version::V2, "d16b3343cf0008f067a5502a4262b50040750001", SERVER_INITIAL_V2),
    ] {
        check_initial(version, Side::Server, header, &payload, 1, packet);
    }
}

/// The QUIC side of the suite with this name and 32-byte keys.
fn algorithm(name: CipherSuite) -> &'static dyn ::rustls::quic::Algorithm {
    let provider = default_provider();
    let suite = provider.cipher_suites.iter().find(|suite| suite.suite() == name).unwrap();
    suite.tls13().unwrap().quic_suite().unwrap().quic
}

fn key32(text: &str) -> AeadKey {
    AeadKey::from(<[u8; 32]>::try_from(vector(text)).unwrap())
}

/// RFC 9001 appendix A.5.
#[test]
fn chacha20_short_header_vector() {
    let chacha = algorithm(CipherSuite::TLS13_CHACHA20_POLY1305_SHA256);
    let iv: [u8; 12] = vector("e0459b3474bdd0e44a41c144").try_into().unwrap();
    let key = key32("c6d98ff3441c3fe1b2182094f69caa2ed4b716b65488960a7a984979fb23e1c8");
    let header_protection = key32("25a282b9e82f06f21f488917a4fc8f1b73573685608597d0efcb076b0ab7a7a4");
    let packet_key = packet_key(chacha.packet_key(key, Iv::from(iv)));
    let header_key = header_key(chacha.header_protection_key(header_protection));

    let mut packet = [&vector("4200bff4")[..], &[0x01], &[0; 16]].concat();
    packet_key.seal(0, 654_360_564, &mut packet, 4);
    header_key.protect(1, &mut packet);
    assert_eq!(hex::encode(&packet), "4cfe4189655e5cd55c41f69080575d7999c25a5bfb");

    header_key.unprotect(1, &mut packet);
    let (header, payload) = packet.split_at_mut(4);
    assert_eq!(header, vector("4200bff4"));
    assert_eq!(packet_key.open(0, 654_360_564, header, payload), Ok(1));
    assert_eq!(payload[0], 0x01);
}

/// draft-ietf-quic-multipath-21 section 2.4: what is sealed for path 3 opens under the nonce of the draft's example.
#[test]
fn path_enters_the_nonce() {
    let iv: [u8; 12] = vector("6b26114b9cba2b63a9e8dd4f").try_into().unwrap();
    let key = packet_key(
        algorithm(CipherSuite::TLS13_CHACHA20_POLY1305_SHA256)
            .packet_key(AeadKey::from([9; 32]), Iv::from(iv)),
    );
    let mut packet = [&[0x40, 1][..], b"payload", &[0; 16]].concat();
    key.seal(3, 54_321, &mut packet, 2);
    let (header, sealed) = packet.split_at_mut(2);
    let nonce = multipath_nonce(&iv, 3, 54_321);
    assert_eq!(hex::encode(nonce), "6b2611489cba2b63a9e8097e");
    let reference =
        aead::LessSafeKey::new(aead::UnboundKey::new(&aead::CHACHA20_POLY1305, &[9; 32]).unwrap());
    let nonce = aead::Nonce::assume_unique_for_key(nonce);
    let opened =
        reference.open_in_place(nonce, aead::Aad::from(&*header), &mut sealed.to_vec()).unwrap().to_vec();
    assert_eq!(opened, b"payload");
    assert_eq!(key.open(2, 54_321, header, &mut sealed.to_vec()), Err(OpenError), "another path");
    assert_eq!(key.open(3, 54_321, header, sealed), Ok(7));
}

fn configs(client_protocols: &[&[u8]], server_protocols: &[&[u8]]) -> (Arc<ClientConfig>, Arc<ServerConfig>) {
    configs_with(&default_provider(), client_protocols, server_protocols)
}

fn configs_with(
    provider: &Arc<CryptoProvider>,
    client_protocols: &[&[u8]],
    server_protocols: &[&[u8]],
) -> (Arc<ClientConfig>, Arc<ServerConfig>) {
    let certified = rcgen::generate_simple_self_signed(vec!["server.test".into()]).unwrap();
    let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
    let chain = vec![certified.cert.der().clone()];
    let mut roots = RootCertStore::empty();
    roots.add(chain[0].clone()).unwrap();
    let tls13 = &[&::rustls::version::TLS13];
    let mut server = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(tls13)
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let mut client = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(tls13)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    client.alpn_protocols = client_protocols.iter().map(|name| name.to_vec()).collect();
    server.alpn_protocols = server_protocols.iter().map(|name| name.to_vec()).collect();
    (Arc::new(client), Arc::new(server))
}

fn pair(name: &str, client_protocols: &[&[u8]], server_protocols: &[&[u8]]) -> Pair {
    let (client, server) = configs(client_protocols, server_protocols);
    Pair::new(
        RustlsClient::new(client)
            .unwrap()
            .start(Version::V1, server_id(name), b"client parameters".to_vec())
            .unwrap(),
        RustlsServer::new(server).unwrap().start(Version::V1, b"server parameters".to_vec()).unwrap(),
    )
}

//= rfc9000-7-1, rfc9001-8.1-4
#[test]
fn handshake_yields_matching_keys_and_parameters() {
    let mut pair = pair("server.test", &[b"other", b"hawser"], &[b"hawser"]);
    pair.handshake().unwrap();
    check_keys_match(&mut pair);
    assert_eq!(pair.client.session.peer_transport_parameters(), Some(&b"server parameters"[..]));
    assert_eq!(pair.server.session.peer_transport_parameters(), Some(&b"client parameters"[..]));
    assert_eq!(pair.client.session.application_protocol().as_deref(), Some(&b"hawser"[..]));
    assert_eq!(pair.server.session.server_name().as_deref(), Some("server.test"));
    let chain = pair.client.session.peer_identity().unwrap();
    assert!(chain.downcast_ref::<Vec<::rustls::pki_types::CertificateDer<'static>>>().is_some());
}

/// The server's keys are the library's own: so are those that the client derives for the version that it turned to.
#[test]
fn a_client_follows_its_server_into_another_version() {
    for name in [
        CipherSuite::TLS13_AES_128_GCM_SHA256,
        CipherSuite::TLS13_AES_256_GCM_SHA384,
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
    ] {
        for (first, then) in [(Version::V1, Version::V2), (Version::V2, Version::V1)] {
            let mut provider = CryptoProvider::clone(&default_provider());
            provider.cipher_suites.sort_by_key(|suite| suite.suite() != name);
            let (client, server) = configs_with(&Arc::new(provider), &[b"test"], &[b"test"]);
            let client =
                RustlsClient::new(client).unwrap().start(first, server_id("server.test"), vec![1]).unwrap();
            let server = RustlsServer::new(server).unwrap().start(then, vec![2]).unwrap();
            let mut pair = Pair::new(client, server);
            pair.client.session.set_version(then);
            pair.handshake().unwrap();
            check_header_keys(&pair);
            check_keys_match(&mut pair);
        }
    }
}

#[test]
fn keys_of_different_versions_differ() {
    let (client, server) = configs(&[b"test"], &[b"test"]);
    let client =
        RustlsClient::new(client).unwrap().start(Version::V1, server_id("server.test"), vec![1]).unwrap();
    let server = RustlsServer::new(server).unwrap().start(Version::V2, vec![2]).unwrap();
    let mut pair = Pair::new(client, server);
    pair.handshake().unwrap();
    let (client, server) = (pair.client.one_rtt.unwrap(), pair.server.one_rtt.unwrap());
    let mut packet = vec![0; 40];
    client.packet.local.seal(0, 9, &mut packet, 4);
    let (header, sealed) = packet.split_at_mut(4);
    assert_eq!(server.packet.remote.open(0, 9, header, sealed), Err(OpenError));
}

/// Headers that one end protects, the other one reads.
fn check_header_keys(pair: &Pair) {
    for (one, other) in [
        (&pair.client.handshake, &pair.server.handshake),
        (&pair.server.handshake, &pair.client.handshake),
        (&pair.client.one_rtt, &pair.server.one_rtt),
        (&pair.server.one_rtt, &pair.client.one_rtt),
    ] {
        let (one, other) = (one.as_ref().unwrap(), other.as_ref().unwrap());
        for first in [0x43, 0xc1] {
            let plain: Vec<u8> = std::iter::once(first).chain(1..60).collect();
            let mut packet = plain.clone();
            one.header_local.protect(9, &mut packet);
            assert_ne!(packet, plain);
            other.header_remote.unprotect(9, &mut packet);
            assert_eq!(packet, plain);
        }
    }
}

//= rfc9000-7-2, rfc9001-4.8-1, rfc9001-8.1-1, rfc9001-8.1-2, rfc9001-8.1-5
#[test]
fn failures_are_tls_alerts() {
    let error = pair("server.test", &[b"one"], &[b"two"]).handshake().unwrap_err();
    assert_eq!(error.code, Code::crypto(120), "no_application_protocol: {error}");
    let error = pair("other.test", &[b"one"], &[b"one"]).handshake().unwrap_err();
    assert_eq!(error.code, Code::crypto(42), "bad_certificate: {error}");
    let mut garbage = pair("server.test", &[b"one"], &[b"one"]);
    let error = garbage.server.session.read_handshake(Level::Initial, &[0xff; 64]).unwrap_err();
    assert_eq!(error.code, Code::crypto(50), "decode_error: {error}");
}

//= rfc9001-4.1.3-1, rfc9001-4.1.3-2
#[test]
fn handshake_bytes_of_a_past_level_are_a_violation() {
    let mut pair = pair("server.test", &[b"one"], &[b"one"]);
    pair.handshake().unwrap();
    for end in [&mut pair.client, &mut pair.server] {
        for level in [Level::Initial, Level::Handshake] {
            let error = end.session.read_handshake(level, &[4, 0, 0, 0]).unwrap_err();
            assert_eq!(error.code, Code::PROTOCOL_VIOLATION);
        }
    }
}

/// RFC 9001 section 4.4. Other messages in the wrong place are alerts of TLS (RFC 8446 section 6.2).
//= rfc9001-4.4-3
#[test]
fn a_certificate_request_after_the_handshake_is_a_violation() {
    let mut pair = pair("server.test", &[b"one"], &[b"one"]);
    pair.handshake().unwrap();
    // Type and length, a context of no bytes, and one extension: signature_algorithms with ed25519.
    let request = [13, 0, 0, 11, 0, 0, 8, 0, 13, 0, 4, 0, 2, 8, 7];
    let error = pair.client.session.read_handshake(Level::OneRtt, &request).unwrap_err();
    assert_eq!(error.code, Code::PROTOCOL_VIOLATION, "{error}");
    // An empty Certificate message.
    let error = pair.server.session.read_handshake(Level::OneRtt, &[11, 0, 0, 4, 0, 0, 0, 0]).unwrap_err();
    assert_eq!(error.code, Code::crypto(10), "unexpected_message: {error}");
}

/// RFC 9001 sections 6 and 8.3: QUIC updates keys and ends 0-RTT by itself.
//= rfc9001-6-2
#[test]
fn key_updates_and_the_end_of_early_data_are_unexpected() {
    for message in [&[24, 0, 0, 1, 0][..], &[24, 0, 0, 1, 1], &[5, 0, 0, 0]] {
        let refused = |end: &mut End, level, bytes: &[u8]| {
            let error = end.session.read_handshake(level, bytes).unwrap_err();
            assert_eq!(error.code, Code::crypto(10), "unexpected_message to {message:?}: {error}");
        };
        // In place of the client's Finished, and of the server's EncryptedExtensions.
        let mut pair = self::pair("server.test", &[b"one"], &[b"one"]);
        let hello = pair.client.write();
        let flight = pair.server.read(&hello).unwrap();
        refused(&mut pair.server, Level::Handshake, message);
        pair.client.read(&flight[..1]).unwrap();
        refused(&mut pair.client, Level::Handshake, message);
        // Behind the client's Finished, at its level.
        let mut pair = self::pair("server.test", &[b"one"], &[b"one"]);
        let hello = pair.client.write();
        let flight = pair.server.read(&hello).unwrap();
        let finished = pair.client.read(&flight).unwrap();
        let [(Level::Handshake, finished)] = &finished[..] else { panic!("{finished:?}") };
        refused(&mut pair.server, Level::Handshake, &[&finished[..], message].concat());
        // After the handshake.
        let mut pair = self::pair("server.test", &[b"one"], &[b"one"]);
        pair.handshake().unwrap();
        refused(&mut pair.client, Level::OneRtt, message);
        refused(&mut pair.server, Level::OneRtt, message);
    }
}

/// RFC 9001 section 8.2. What a server makes of a ClientHello like that, `connection/tests/tls_alerts.rs` shows.
//= rfc9001-8.2-1
#[test]
fn a_server_without_transport_parameters_misses_an_extension() {
    let mut pair = pair("server.test", &[], &[]);
    let hello = pair.client.write();
    let flight = pair.server.read(&hello).unwrap();
    pair.client.read(&flight[..1]).unwrap();
    // EncryptedExtensions with no extension.
    let error = pair.client.session.read_handshake(Level::Handshake, &[8, 0, 0, 2, 0, 0]).unwrap_err();
    assert_eq!(error.code, Code::crypto(109), "missing_extension: {error}");
}

fn client_with(suites: impl Fn(CipherSuite) -> bool) -> Result<RustlsClient, TlsConfigError> {
    let mut provider = (*default_provider()).clone();
    provider.cipher_suites.retain(|suite| suites(suite.suite()));
    let config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&::rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    RustlsClient::new(Arc::new(config))
}

/// RFC 9001 section 5.2: Initial packets have a suite of their own.
#[test]
fn initial_keys_do_not_depend_on_the_suites_that_are_offered() {
    let destination = ConnectionId::new(&vector("8394c8f03e515708")).unwrap();
    let only = client_with(|suite| suite == CipherSuite::TLS13_CHACHA20_POLY1305_SHA256).unwrap();
    let (only, all) =
        (only.initial_keys(Version::V1, &destination, Side::Client), keys(Version::V1, Side::Client));
    let sealed = [only, all].map(|keys| {
        let mut packet = [7; 64];
        keys.packet.local.seal(0, 1, &mut packet, 20);
        packet
    });
    assert_eq!(sealed[0], sealed[1]);
}

#[test]
fn a_name_that_is_none_is_refused() {
    let (client, _) = configs(&[], &[]);
    let error = RustlsClient::new(client)
        .unwrap()
        .start(Version::V1, server_id("not a name"), Vec::new())
        .err()
        .unwrap();
    assert_eq!(error.code, Code::INTERNAL_ERROR);
}
