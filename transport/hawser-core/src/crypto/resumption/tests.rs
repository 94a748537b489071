use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use ::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use ::rustls::{CipherSuite, ClientConfig, RootCertStore, ServerConfig};
use hawser_wire::Version;
use proptest::prelude::*;

use super::ticket::Ticket;
use super::*;
use crate::crypto::tests::Pair;
use crate::crypto::{ClientFactory, RustlsClient, RustlsServer, ServerFactory, ServerId, default_provider};

const SERVER: ServerId<'_> = ServerId { name: "server.test", port: 443 };

/// What several clients share that know nothing of each other.
#[derive(Default)]
struct Memory(Mutex<HashMap<String, Vec<Vec<u8>>>>);

impl SessionStore for Memory {
    fn put_ticket(&self, server: &str, ticket: Vec<u8>) {
        self.0.lock().unwrap().entry(server.to_owned()).or_default().push(ticket);
    }

    fn take_ticket(&self, server: &str) -> Option<Vec<u8>> {
        self.0.lock().unwrap().get_mut(server)?.pop()
    }

    fn put_token(&self, _: &str, _: Vec<u8>) {}

    fn take_token(&self, _: &str) -> Option<Vec<u8>> {
        None
    }

    fn put_application_state(&self, _: &str, _: Vec<u8>) {}

    fn application_state(&self, _: &str) -> Option<Vec<u8>> {
        None
    }
}

struct Server {
    factory: RustlsServer,
    certificate: CertificateDer<'static>,
}

fn server() -> Server {
    let certified = rcgen::generate_simple_self_signed(vec!["server.test".into()]).unwrap();
    let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
    let certificate = certified.cert.der().clone();
    let mut config = ServerConfig::builder_with_provider(default_provider())
        .with_protocol_versions(&[&::rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    config.max_early_data_size = u32::MAX;
    config.alpn_protocols = vec![b"one".to_vec(), b"two".to_vec()];
    Server { factory: RustlsServer::new(Arc::new(config)).unwrap(), certificate }
}

/// A client of another process, as it were: nothing is shared but the store.
fn client(store: &Arc<Memory>, trusted: &[&CertificateDer<'static>], protocol: &str) -> RustlsClient {
    let mut roots = RootCertStore::empty();
    trusted.iter().for_each(|certificate| roots.add((*certificate).clone()).unwrap());
    let provider = default_provider();
    let verifier =
        ::rustls::client::WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&::rustls::version::TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(ResumableVerifier::new(verifier.build().unwrap())))
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    config.enable_early_data = true;
    RustlsClient::with_sessions(Arc::new(config), store.clone()).unwrap()
}

fn parameters() -> Vec<u8> {
    let parameters = hawser_wire::TransportParameters {
        initial_max_data: 77,
        initial_source_connection_id: hawser_wire::ConnectionId::new(&[1; 8]),
        original_destination_connection_id: hawser_wire::ConnectionId::new(&[2; 8]),
        ..hawser_wire::TransportParameters::default()
    };
    parameters.to_vec(None)
}

/// A whole handshake, tickets included; whether it began with keys for 0-RTT, and whether the server took them.
fn connect(client: &RustlsClient, server: &Server) -> (bool, bool) {
    connect_to(SERVER, client, server)
}

fn connect_to(id: ServerId<'_>, client: &RustlsClient, server: &Server) -> (bool, bool) {
    let client = client.start(Version::V1, id, b"client parameters".to_vec()).unwrap();
    let remembered = client.peer_transport_parameters().map(<[u8]>::to_vec);
    let offered = client.early_keys().is_some();
    assert_eq!(remembered, offered.then(parameters), "limits come with the ticket");
    let mut pair = Pair::new(client, server.factory.start(Version::V1, parameters()).unwrap());
    pair.handshake().unwrap();
    (offered, pair.client.session.early_data_accepted() == Some(true))
}

//= rfc9001-9.2-1
#[test]
fn a_ticket_outlives_the_client_and_is_used_once() {
    let (store, server) = (Arc::new(Memory::default()), server());
    let trusted = [&server.certificate];
    assert_eq!(connect(&client(&store, &trusted, "one"), &server), (false, false));
    let kept = store.0.lock().unwrap().clone();
    assert_eq!(kept.keys().collect::<Vec<_>>(), ["server.test:443 v1 one"]);
    assert_eq!(connect(&client(&store, &trusted, "one"), &server), (true, true));
    // The same tickets again: the server knows that it has seen them.
    *store.0.lock().unwrap() = kept;
    assert_eq!(connect(&client(&store, &trusted, "one"), &server), (true, false));
}

//= rfc9000-8.1.3-7
#[test]
fn a_ticket_is_for_one_name_port_protocol_and_trust() {
    let (store, server, other) = (Arc::new(Memory::default()), server(), self::server());
    connect(&client(&store, &[&server.certificate], "one"), &server);
    assert_eq!(connect(&client(&store, &[&server.certificate], "two"), &server), (false, false));
    // RFC 9000 section 8.1.3: the server at another port is another one.
    let elsewhere = ServerId { port: 8_443, ..SERVER };
    assert_eq!(
        connect_to(elsewhere, &client(&store, &[&server.certificate], "one"), &server),
        (false, false)
    );
    // A client that trusts another authority only does not trust the part that kept the ticket.
    let stranger = client(&store, &[&other.certificate], "one");
    let session = stranger.start(Version::V1, SERVER, Vec::new()).unwrap();
    assert!(session.early_keys().is_none());
    assert!(store.0.lock().unwrap()["server.test:443 v1 one"].is_empty(), "and forgets it");
}

#[test]
fn a_store_with_rubbish_does_no_harm() {
    let (store, server) = (Arc::new(Memory::default()), server());
    let trusted = [&server.certificate];
    connect(&client(&store, &trusted, "one"), &server);
    let whole = store.take_ticket("server.test:443 v1 one").unwrap();
    for at in 0..whole.len() {
        let mut broken = whole.clone();
        broken[at] ^= 0x55;
        store.put_ticket("server.test:443 v1 one", broken);
        // Whatever is left of it: there is a session, or at worst a handshake that the server ends.
        client(&store, &trusted, "one").start(Version::V1, SERVER, Vec::new()).unwrap();
        store.0.lock().unwrap().clear();
    }
}

proptest! {
    #[test]
    fn tickets_are_read_as_they_were_written(
        suite in any::<u16>(),
        received_at in any::<u64>(),
        fields in prop::array::uniform3(prop::collection::vec(any::<u8>(), 0..200)),
        chain in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..100), 0..5),
    ) {
        let [key, message, parameters] = fields;
        let chain = chain.into_iter().map(CertificateDer::from).collect();
        let ticket = Ticket { suite: CipherSuite::from(suite), received_at, key, message, parameters, chain };
        let encoded = ticket.encode();
        prop_assert!(Ticket::decode(&encoded).is_some_and(|decoded| decoded == ticket));
        prop_assert!(Ticket::decode(&encoded[..encoded.len() - 1]).is_none());
    }

    #[test]
    fn rubbish_is_no_ticket(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let _ = Ticket::decode(&bytes);
    }
}
