//! Versions and preferred addresses with real TLS and sockets.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use hawser_net::{
    ClientConfig, Connection, Endpoint, Identity, PreferredAddresses, ServerConfig, Trust, Version,
    VersionPreference, Versions,
};

use crate::common::{ALPN, address_of, echo, eventually, links, pattern, serve};

fn versions(text: &str) -> Versions {
    text.parse().unwrap()
}

/// A server with these versions, and a client configuration that trusts it.
fn server(ours: &str, preference: VersionPreference) -> (Endpoint, hawser_net::Pin) {
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    let pin = identity.pin().unwrap();
    let config = ServerConfig::builder(identity).alpn([ALPN]).versions(versions(ours), preference).build();
    let server = Endpoint::server(config.unwrap(), "[::]:0".parse().unwrap()).unwrap();
    serve(&server, echo);
    (server, pin)
}

fn client(pin: hawser_net::Pin, ours: &str, first: Option<Version>) -> Endpoint {
    let mut builder = ClientConfig::builder()
        .trust(Trust::Pins(vec![pin]))
        .alpn([ALPN])
        .versions(versions(ours))
        .handshake_timeout(Duration::from_secs(5));
    if let Some(first) = first {
        builder = builder.first_version(first);
    }
    Endpoint::client(builder.build().unwrap(), links(&["127.0.0.1"])).unwrap()
}

async fn exchange(connection: &Connection) {
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    let data = pattern(300_000);
    send.write_all(&data).await.unwrap();
    send.finish().unwrap();
    assert_eq!(receive.read_to_end(1 << 20).await.unwrap(), data);
}

#[tokio::test]
async fn both_ends_settle_on_a_version() {
    for (ours, first, theirs, preference, expected) in [
        ("1,2", None, "1,2", VersionPreference::Client, Version::V1),
        ("2,1", None, "1,2", VersionPreference::Client, Version::V2),
        ("1,2", None, "2,1", VersionPreference::Server, Version::V2),
        ("2,1", Some(Version::V2), "1,2", VersionPreference::Server, Version::V1),
        ("2", None, "1,2", VersionPreference::Client, Version::V2),
        // The server answers with Version Negotiation.
        ("2,1", Some(Version::V2), "1", VersionPreference::Client, Version::V1),
    ] {
        let (server, pin) = server(theirs, preference);
        let client = client(pin, ours, first);
        let connection = client.connect(address_of(&server), "localhost").await.unwrap();
        assert_eq!(connection.version(), expected, "{ours} from {first:?} with {theirs}, {preference:?}");
        exchange(&connection).await;
        connection.close(0, b"");
    }
}

#[tokio::test]
async fn without_a_common_version_the_error_says_so() {
    let (server, pin) = server("1", VersionPreference::Client);
    let error = client(pin, "2", None).connect(address_of(&server), "localhost").await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("none of our QUIC versions (2), but 1, 0x"), "{text}");
}

/// RFC 9000 section 9.6.
#[tokio::test]
async fn a_client_goes_to_the_preferred_address() {
    // A port that was free a moment ago.
    let preferred = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let SocketAddr::V4(ipv4) = preferred else { panic!() };
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    let pin = identity.pin().unwrap();
    let config = ServerConfig::builder(identity)
        .alpn([ALPN])
        .preferred_addresses(PreferredAddresses { ipv4: Some(ipv4), ipv6: None });
    let builder = Endpoint::builder().server(config.build().unwrap());
    let server = builder.listen("127.0.0.1:0".parse().unwrap()).listen(preferred).bind().unwrap();
    serve(&server, echo);
    let client = client(pin, "1,2", None);
    let connection = client.connect(address_of(&server), "localhost").await.unwrap();
    eventually("path 0 moves", || {
        connection.paths().first().is_some_and(|path| path.tuple.remote == preferred)
    })
    .await;
    exchange(&connection).await;
    assert_eq!(connection.paths()[0].tuple.remote, preferred, "it is still there");
}
