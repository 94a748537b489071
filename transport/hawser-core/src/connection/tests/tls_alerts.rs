//! Clients that break the rules of TLS: servers close with its alerts (RFC 9001 section 4.8).

use std::sync::Arc;
use std::time::Duration;

use ::rustls::pki_types::PrivateKeyDer;
use ::rustls::{ClientConfig, RootCertStore, ServerConfig};
use hawser_policy::{PathId, Side, Time};
use hawser_wire::Version;
use hawser_wire::frame::{Crypto, Frame};

use super::forge::encode;
use super::pair::{Pair, Settings, at_server, client_address};
use super::violations::{SOON, verdict};
use crate::crypto::tests::server_id;
use crate::crypto::{ClientFactory, Level, RustlsClient, RustlsServer, default_provider};
use crate::{Code, Event};

/// TLS alert unexpected_message.
const UNEXPECTED_MESSAGE: Code = Code::crypto(10);

/// TLS messages that QUIC does without (RFC 9001 sections 6 and 8.3): KeyUpdate and EndOfEarlyData.
const NOT_IN_QUIC: [&[u8]; 2] = [&[24, 0, 0, 1, 1], &[5, 0, 0, 0]];

fn tls() -> (Arc<RustlsClient>, Arc<RustlsServer>) {
    let certified = rcgen::generate_simple_self_signed(vec!["server.test".into()]).unwrap();
    let chain = vec![certified.cert.der().clone()];
    let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(chain[0].clone()).unwrap();
    let tls13 = &[&::rustls::version::TLS13];
    let server = ServerConfig::builder_with_provider(default_provider())
        .with_protocol_versions(tls13)
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let client = ClientConfig::builder_with_provider(default_provider())
        .with_protocol_versions(tls13)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    (
        Arc::new(RustlsClient::new(Arc::new(client)).unwrap()),
        Arc::new(RustlsServer::new(Arc::new(server)).unwrap()),
    )
}

fn crypto(data: &[u8]) -> Vec<u8> {
    encode(&[Frame::Crypto(Crypto { offset: 0, data })])
}

#[test]
fn messages_that_quic_does_without_are_unexpected_in_handshake_packets() {
    let (client, server) = tls();
    for message in NOT_IN_QUIC {
        let mut pair = Pair::with_crypto(Settings::default(), client.clone(), server.clone());
        // The client has the server's flight, and its own Finished is lost.
        pair.lose = |sent| sent.by.is_client() && sent.at > Time::ZERO;
        pair.run(Duration::from_millis(25));
        let packet = pair.client().forge_long(Level::Handshake, None, &crypto(message), 100);
        pair.receive(Side::Server, at_server(client_address(0)), &packet);
        pair.run(SOON);
        assert_eq!(verdict(&mut pair, Side::Client).0, UNEXPECTED_MESSAGE, "{message:?}");
    }
}

//= rfc9001-6-2
#[test]
fn messages_that_quic_does_without_are_unexpected_in_1_rtt_packets() {
    let (client, server) = tls();
    for message in NOT_IN_QUIC {
        let mut pair = Pair::with_crypto(Settings::default(), client.clone(), server.clone());
        pair.run(Duration::from_millis(300));
        assert!(pair.server.events.contains(&Event::HandshakeConfirmed));
        pair.inject(Side::Client, PathId::ZERO, &crypto(message));
        pair.run(SOON);
        assert_eq!(verdict(&mut pair, Side::Client).0, UNEXPECTED_MESSAGE, "{message:?}");
    }
}

/// A ClientHello that has this in the extension of this number.
fn client_hello(client: &RustlsClient, extension: [u8; 2], parameters: &[u8]) -> Vec<u8> {
    let mut session = client.start(Version::V1, server_id("server.test"), parameters.to_vec()).unwrap();
    let mut hello = Vec::new();
    assert!(session.write_handshake(&mut hello).is_none());
    let length = u8::try_from(parameters.len()).unwrap();
    let whole = [&[0, 0x39, 0, length], parameters].concat();
    let at = hello.windows(whole.len()).position(|window| window == whole).unwrap();
    hello[at..at + 2].copy_from_slice(&extension);
    hello
}

/// A client's transport parameters: its source connection id, as it has to be, and something more.
fn parameters(pair: &mut Pair, more: &[u8]) -> Vec<u8> {
    let source = pair.client().ends.identity.local_cid;
    let source = source.as_bytes();
    [&[0x0f, u8::try_from(source.len()).unwrap()], source, more].concat()
}

/// A server has got this ClientHello, and the client nothing else to say.
fn greet(pair: &mut Pair, hello: &[u8]) {
    let packet = pair.client().forge_long(Level::Initial, None, &crypto(hello), 1_200);
    pair.lose = |sent| sent.by.is_client();
    pair.receive(Side::Server, at_server(client_address(0)), &packet);
    pair.run(SOON);
}

/// RFC 9001 section 8.2. The second number is that of the drafts, which rustls takes as well.
//= rfc9001-8.2-1
#[test]
fn a_client_hello_without_transport_parameters_misses_an_extension() {
    let (client, server) = tls();
    for extension in [[0xfa, 0x39], [0xff, 0xa5]] {
        let mut pair = Pair::with_crypto(Settings::default(), client.clone(), server.clone());
        let parameters = parameters(&mut pair, &[]);
        greet(&mut pair, &client_hello(&client, extension, &parameters));
        let (code, _) = verdict(&mut pair, Side::Client);
        assert_eq!(code, Code::crypto(109), "missing_extension: {extension:x?}");
    }
}

/// RFC 9000 sections 7.3, 7.4 and 18.2.
#[test]
fn transport_parameters_that_a_client_may_not_send() {
    let (client, server) = tls();
    let greeted = |parameters: &dyn Fn(&mut Pair) -> Vec<u8>| {
        let mut pair = Pair::with_crypto(Settings::default(), client.clone(), server.clone());
        let parameters = parameters(&mut pair);
        greet(&mut pair, &client_hello(&client, [0, 0x39], &parameters));
        pair
    };
    assert_eq!(greeted(&|pair| parameters(pair, &[])).server.closed(), None, "those that are right");
    let preferred_address = [&[0x0d, 49][..], &[0; 24], &[8], &[1; 8], &[2; 16]].concat();
    let wrong: [(&str, &[u8]); 7] = [
        ("original_destination_connection_id", b"\x00\x0812345678"),
        ("stateless_reset_token", b"\x02\x100123456789abcdef"),
        ("preferred_address", &preferred_address),
        ("retry_source_connection_id", b"\x10\x0812345678"),
        ("max_udp_payload_size of 1199", b"\x03\x02\x44\xaf"),
        ("ack_delay_exponent of 21", b"\x0a\x01\x15"),
        ("max_ack_delay of 2^14", b"\x0b\x04\x80\x00\x40\x00"),
    ];
    for (name, more) in wrong {
        let mut pair = greeted(&|pair| parameters(pair, more));
        assert_eq!(verdict(&mut pair, Side::Client).0, Code::TRANSPORT_PARAMETER_ERROR, "{name}");
    }
    let mut pair = greeted(&|_| b"\x04\x01\x00".to_vec());
    let (code, _) = verdict(&mut pair, Side::Client);
    assert_eq!(code, Code::TRANSPORT_PARAMETER_ERROR, "no initial_source_connection_id");
}
