//! What a program hands in: TLS configurations, sockets, the list of interfaces.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hawser_net::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use hawser_net::rustls::server::WebPkiClientVerifier;
use hawser_net::rustls::{self, RootCertStore};
use hawser_net::{
    ClientConfig, ConfigError, Endpoint, EndpointError, Identity, Interface, LinkUse, Links, ServerConfig,
    SocketFactory, SocketRequest, Trust,
};
use tokio::sync::watch;

use crate::common::{ALPN, address_of, client_config, echo, serve, server};

/// A certificate that signs itself, and is its own authority.
fn certificate(name: &str) -> (CertificateDer<'static>, PrivateKeyDer<'static>, Arc<RootCertStore>) {
    let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let der = made.cert.der().clone();
    let mut roots = RootCertStore::empty();
    roots.add(der.clone()).unwrap();
    (der, PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap(), Arc::new(roots))
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    hawser_net::default_provider()
}

fn mutual() -> (ServerConfig, rustls::ClientConfig, rustls::ClientConfig) {
    let (server_certificate, server_key, server_roots) = certificate("localhost");
    let (client_certificate, client_key, client_roots) = certificate("client");
    let verifier = WebPkiClientVerifier::builder_with_provider(client_roots, provider()).build().unwrap();
    let tls = rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![server_certificate], server_key)
        .unwrap();
    let server = ServerConfig::from_rustls(tls).alpn([ALPN]).build().unwrap();
    let begin = || {
        rustls::ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_root_certificates(server_roots.clone())
    };
    let known = begin().with_client_auth_cert(vec![client_certificate], client_key).unwrap();
    (server, known, begin().with_no_client_auth())
}

#[tokio::test]
async fn client_certificates_are_asked_for_and_shown_to_the_application() {
    let (config, known, unknown) = mutual();
    let server = Endpoint::server(config, "127.0.0.1:0".parse().unwrap()).unwrap();
    let address = server.listening()[0];
    let config = ClientConfig::from_rustls(known).alpn([ALPN]).build().unwrap();
    let client = Endpoint::client(config, Links::Routed).unwrap();
    let (ours, theirs) = tokio::join!(client.connect(address, "localhost"), async {
        server.accept().await.unwrap().await.unwrap()
    });
    ours.unwrap();
    let shown = theirs.peer_identity().unwrap().downcast::<Vec<CertificateDer<'static>>>().unwrap();
    assert_eq!(shown.len(), 1);

    let config = ClientConfig::from_rustls(unknown).alpn([ALPN]).build().unwrap();
    client.set_client_config(config);
    let (_connected, accepted) =
        tokio::join!(client.connect(address, "localhost"), async { server.accept().await.unwrap().await });
    assert!(accepted.is_err(), "a client without a certificate was accepted");
}

#[tokio::test]
async fn settings_that_contradict_a_rustls_configuration_are_refused() {
    let (_, known, _) = mutual();
    let refused = ClientConfig::from_rustls(known).trust(Trust::Insecure).build().unwrap_err();
    assert!(matches!(refused, ConfigError::SaidByRustls { setting: "trust" }), "{refused}");
}

#[tokio::test]
async fn connections_are_accepted_on_a_socket_that_was_handed_in() {
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    let pin = identity.pin().unwrap();
    let config =
        |workers| ServerConfig::builder(identity.clone()).alpn([ALPN]).workers(workers).build().unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let copy = socket.try_clone().unwrap();
    let refused = Endpoint::builder().server(config(2)).listen_on(copy).bind().unwrap_err();
    assert!(matches!(refused, EndpointError::WorkersOfOneSocket { workers: 2 }), "{refused}");
    let server = Endpoint::builder().server(config(1)).listen_on(socket).bind().unwrap();
    assert_eq!(server.listening(), [address]);
    serve(&server, echo);
    let client = Endpoint::client(client_config(pin), Links::Routed).unwrap();
    let connection = client.connect(address, "localhost").await.unwrap();
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    send.write_all(b"handed in").await.unwrap();
    send.finish().unwrap();
    assert_eq!(receive.read_to_end(100).await.unwrap(), b"handed in");
}

/// Binds as asked, but to no device, and counts.
#[derive(Debug, Default)]
struct Counting(AtomicUsize);

impl SocketFactory for Counting {
    fn bind(&self, request: &SocketRequest<'_>) -> io::Result<UdpSocket> {
        assert!(request.device.is_some(), "an interface was named");
        self.0.fetch_add(1, Ordering::Relaxed);
        UdpSocket::bind(request.address)
    }
}

#[tokio::test]
async fn sockets_and_interfaces_come_from_the_program() {
    let (server, pin) = server();
    serve(&server, echo);
    let address = address_of(&server);
    let interface = |index, name: &str, ip: &str| Interface::new(index, name, vec![ip.parse().unwrap()]);
    let list = vec![interface(7, "first", "127.0.0.2"), interface(8, "second", "127.0.0.3")];
    let (publish, list) = watch::channel(Arc::new(list));
    let made = Arc::new(Counting::default());
    let client =
        Endpoint::builder().client(client_config(pin)).interfaces(list).sockets(made.clone()).bind().unwrap();
    let connection = client.connect(address, "localhost").await.unwrap();
    crate::common::eventually("two paths", || connection.paths().len() == 2).await;
    assert_eq!(made.0.load(Ordering::Relaxed), 2);
    publish.send_replace(Arc::new(vec![interface(8, "second", "127.0.0.3")]));
    crate::common::eventually("one path", || connection.paths().len() == 1).await;
}

#[tokio::test]
async fn a_controller_is_set_for_all_paths_and_those_to_come() {
    let (server, pin) = server();
    serve(&server, echo);
    let client =
        Endpoint::client(client_config(pin), crate::common::links(&["127.0.0.2", "127.0.0.3"])).unwrap();
    client.set_link_use("127.0.0.3", LinkUse::Paused).ok();
    let connection = client.connect(address_of(&server), "localhost").await.unwrap();
    let controllers = || -> Vec<String> {
        let of = |path: &hawser_net::PathInfo| {
            connection.path_stats(path.id).map(|stats| stats.controller.to_string())
        };
        connection.paths().iter().filter_map(of).collect()
    };
    connection.set_controllers("cubic").unwrap();
    assert!(controllers().iter().all(|name| name == "cubic"), "{:?}", controllers());
    client.set_link_use("127.0.0.3", LinkUse::Available).unwrap();
    crate::common::eventually("two paths", || controllers() == ["cubic", "cubic"]).await;
    let unknown = connection.set_controllers("cubc").unwrap_err();
    assert!(unknown.to_string().contains("cubic"), "{unknown}");
}
