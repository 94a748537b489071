//! What goes wrong, and how it is told.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use hawser_net::{
    CertificateProblem, ClientConfig, ConnectError, ConnectionError, Endpoint, Identity, Links, Pin,
    ServerConfig, Trust, WriteError, default_transport,
};

use crate::common::*;

#[tokio::test]
async fn a_wrong_pin_is_told_with_both_pins() {
    let (server, pin) = server();
    serve(&server, echo);
    let wrong = Pin::from([9; 32]);
    let error = client(wrong, Links::All).connect(address_of(&server), "localhost").await.unwrap_err();
    match error {
        ConnectError::Certificate(CertificateProblem::WrongPin { expected, presented }) => {
            assert_eq!((expected, presented), (vec![wrong], pin));
        }
        other => panic!("expected a wrong pin, got: {other}"),
    }
}

#[tokio::test]
async fn a_self_made_certificate_is_not_believed_without_its_pin() {
    let (server, pin) = server();
    serve(&server, echo);
    let other = Identity::self_signed(&["localhost"]).unwrap();
    let trust = Trust::Authorities(other.certificates().to_vec());
    let config = ClientConfig::builder().trust(trust).alpn([ALPN]).build().unwrap();
    let client = Endpoint::client(config, Links::All).unwrap();
    let error = client.connect(address_of(&server), "localhost").await.unwrap_err();
    assert!(error.to_string().contains(&pin.to_string()), "the message gives the pin to compare: {error}");
}

#[tokio::test]
async fn a_refused_port_is_known_at_once() {
    let unused = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let started = Instant::now();
    let error = client(Pin::from([0; 32]), Links::All).connect(unused, "localhost").await.unwrap_err();
    assert!(matches!(error, ConnectError::Refused { remote } if remote == unused), "{error}");
    assert!(started.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn a_silent_server_is_given_up_in_time() {
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let config = ClientConfig::builder()
        .trust(Trust::Insecure)
        .handshake_timeout(Duration::from_millis(300))
        .build()
        .unwrap();
    let client = Endpoint::client(config, Links::All).unwrap();
    let error = client.connect(silent.local_addr().unwrap(), "localhost").await.unwrap_err();
    assert!(matches!(error, ConnectError::TimedOut { .. }), "{error}");
    assert!(error.to_string().contains("firewall"));
}

#[tokio::test]
async fn a_link_that_leads_nowhere_does_not_delay_the_handshake() {
    let (server, pin) = server();
    serve(&server, echo);
    // Of the server's two addresses the first swallows everything.
    let black_hole = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let addresses = [black_hole.local_addr().unwrap(), address_of(&server)];
    let client = client(pin, Links::All);
    let started = Instant::now();
    let connection = client.connect_with(&client_config(pin), &addresses, "localhost").await.unwrap();
    assert!(started.elapsed() < Duration::from_millis(1_000), "{:?}", started.elapsed());
    assert_eq!(connection.remote_address(), addresses[1]);
}

#[tokio::test]
async fn links_that_do_not_exist_are_named() {
    let client = client(Pin::from([0; 32]), links(&["nosuchlink0"]));
    let error = client.connect("127.0.0.1:1".parse().unwrap(), "localhost").await.unwrap_err();
    assert!(error.to_string().contains("nosuchlink0"), "{error}");
    let error = client.connect("127.0.0.1:1".parse().unwrap(), "no name").await.unwrap_err();
    assert!(matches!(error, ConnectError::InvalidServerName(_)), "{error}");
}

#[tokio::test]
async fn a_close_reaches_the_peer_with_code_and_reason() {
    let (server, pin) = server();
    let client = client(pin, Links::All);
    let address = address_of(&server);
    let (accepted, connected) =
        tokio::join!(async { server.accept().await.unwrap().await.unwrap() }, async {
            client.connect(address, "localhost").await.unwrap()
        });
    connected.close(42, b"enough");
    assert_eq!(connected.closed().await, ConnectionError::LocallyClosed);
    let reason = accepted.closed().await;
    assert_eq!(reason, ConnectionError::PeerApplication { code: 42, reason: "enough".into() }, "{reason}");
    assert!(accepted.open_uni().await.is_err());
    tokio::time::timeout(Duration::from_secs(5), client.wait_idle()).await.expect("the client is idle");
    tokio::time::timeout(Duration::from_secs(5), server.wait_idle()).await.expect("the server is idle");
}

#[tokio::test]
async fn dropping_the_last_handle_closes() {
    let (server, pin) = server();
    let client = client(pin, Links::All);
    let address = address_of(&server);
    let (accepted, connected) =
        tokio::join!(async { server.accept().await.unwrap().await.unwrap() }, async {
            client.connect(address, "localhost").await.unwrap()
        });
    let stream = connected.open_uni().await.unwrap();
    drop(connected);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(accepted.close_reason(), None, "a stream is still held");
    drop(stream);
    assert!(matches!(accepted.closed().await, ConnectionError::PeerApplication { code: 0, .. }));
}

#[tokio::test]
async fn an_idle_connection_times_out_at_both_ends() {
    let mut transport = default_transport();
    transport.max_idle_timeout = Some(Duration::from_millis(300));
    let (server, pin) = server_with(transport);
    let client = client(pin, Links::All);
    let address = address_of(&server);
    let (accepted, connected) =
        tokio::join!(async { server.accept().await.unwrap().await.unwrap() }, async {
            client.connect(address, "localhost").await.unwrap()
        });
    let both = async { tokio::join!(accepted.closed(), connected.closed()) };
    let ends = tokio::time::timeout(Duration::from_secs(5), both).await.expect("both time out");
    assert_eq!(ends, (ConnectionError::TimedOut, ConnectionError::TimedOut));
}

#[tokio::test]
async fn a_killed_server_is_noticed_by_the_idle_timeout_and_writers_are_woken() {
    let mut transport = default_transport();
    transport.max_idle_timeout = Some(Duration::from_millis(500));
    let (server, pin) = server();
    serve(&server, |connection| async move {
        let _held = connection.accept_uni().await;
        connection.closed().await;
    });
    // A relay whose end looks like the server's sudden death.
    let (relay, address) = relay_to(address_of(&server)).await;
    let client = Endpoint::client(client_config_with(pin, transport), Links::All).unwrap();
    let connection = client.connect(address, "localhost").await.unwrap();
    let mut send = connection.open_uni().await.unwrap();
    send.write_all(b"x").await.unwrap();
    relay.abort();
    let error = loop {
        if let Err(error) = send.write_all(&[0; 65_536]).await {
            break error;
        }
    };
    assert_eq!(error, WriteError::ConnectionLost(ConnectionError::TimedOut));
}

#[tokio::test]
async fn a_restarted_server_with_the_same_key_says_that_the_connection_is_gone() {
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    let pin = identity.pin().unwrap();
    let start = move |port: u16| {
        let config = ServerConfig::builder(identity.clone()).alpn([ALPN]).build().unwrap();
        let address = SocketAddr::new("127.0.0.1".parse().unwrap(), port);
        Endpoint::builder().server(config).listen(address).reset_key([3; 32]).bind()
    };
    // The first server lives in a runtime of its own, which ends without a goodbye.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let first = runtime.spawn({
        let start = start.clone();
        async move {
            let first = start(0).unwrap();
            serve(&first, echo);
            first
        }
    });
    let first = first.await.unwrap();
    let address = first.listening()[0];
    let connection = client(pin, Links::All).connect(address, "localhost").await.unwrap();
    connection.confirmed().await.unwrap();
    runtime.shutdown_background();
    drop(first);
    let mut second = None;
    eventually("the port is free again", || {
        second = start(address.port()).ok();
        second.is_some()
    })
    .await;
    let mut send = connection.open_uni().await.unwrap();
    send.write_all(&[1; 3_000]).await.unwrap();
    let reason = tokio::time::timeout(Duration::from_secs(5), connection.closed()).await.expect("a reset");
    assert_eq!(reason, ConnectionError::Reset);
}

/// Passes datagrams between one client and a server until it is aborted.
async fn relay_to(server: SocketAddr) -> (tokio::task::AbortHandle, SocketAddr) {
    let front = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = front.local_addr().unwrap();
    let back = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    back.connect(server).await.unwrap();
    let keep_open = std::sync::Arc::new(front);
    let kept = keep_open.clone();
    // The port stays bound, so that no ICMP error gives the death away.
    tokio::spawn(async move {
        let _kept = kept;
        std::future::pending::<()>().await;
    });
    let task = tokio::spawn(async move {
        let (mut from_client, mut from_server) = ([0; 65_536], [0; 65_536]);
        let mut client = None;
        loop {
            tokio::select! {
                received = keep_open.recv_from(&mut from_client) => {
                    let (length, from) = received.unwrap();
                    client = Some(from);
                    let _ = back.send(&from_client[..length]).await;
                }
                received = back.recv(&mut from_server) => {
                    if let (Ok(length), Some(client)) = (received, client) {
                        let _ = keep_open.send_to(&from_server[..length], client).await;
                    }
                }
            }
        }
    });
    (task.abort_handle(), address)
}

#[tokio::test]
async fn a_protocol_that_the_server_does_not_speak_is_named() {
    let (server, pin) = server();
    serve(&server, echo);
    let connect = async |offered: &[&str]| {
        let config = ClientConfig::builder().trust(Trust::Pins(vec![pin])).alpn(offered).build().unwrap();
        let client = Endpoint::client(config, Links::Routed).unwrap();
        client.connect(address_of(&server), "localhost").await.unwrap_err().to_string()
    };
    let words = connect(&["one", "two"]).await;
    assert_eq!(
        words,
        "the server speaks none of the application protocols (ALPN) that were offered: one, two"
    );
    let words = connect(&[]).await;
    assert!(words.contains("(ALPN), and none was offered"), "{words}");
}

#[tokio::test]
async fn names_of_a_certificate_are_told_as_names() {
    let made =
        rcgen::generate_simple_self_signed(["demo.example".to_owned(), "192.0.2.1".to_owned()]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = (folder.path().join("certificate.pem"), folder.path().join("key.pem"));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let identity = Identity::from_pem_files(&certificate, &key).unwrap();
    let config = ServerConfig::builder(identity).alpn([ALPN]).build().unwrap();
    let server = Endpoint::server(config, "127.0.0.1:0".parse().unwrap()).unwrap();
    serve(&server, echo);
    let trust = Trust::authorities_from_file(&certificate).unwrap();
    let config = ClientConfig::builder().trust(trust).alpn([ALPN]).build().unwrap();
    let client = Endpoint::client(config, Links::Routed).unwrap();
    let words = client.connect(server.listening()[0], "other.example").await.unwrap_err().to_string();
    assert!(words.ends_with("is not for the name other.example but for demo.example, 192.0.2.1"), "{words}");
}

#[test]
fn files_of_a_key_and_a_certificate_that_do_not_belong_together_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str| {
        let folder = folder.path().join(name);
        Identity::load_or_create(&folder, &["localhost"]).unwrap();
        (folder.join("certificate.pem"), folder.join("key.pem"))
    };
    let ((certificate, _), (_, key)) = (make("one"), make("two"));
    let words = Identity::from_pem_files(&certificate, &key).err().unwrap().to_string();
    let (key, certificate) = (key.display(), certificate.display());
    assert_eq!(words, format!("the key in {key} is not that of the certificate in {certificate}"));
}

#[tokio::test]
async fn a_link_of_the_wrong_scope_is_not_said_to_be_of_another_family() {
    let client = client(Pin::from([0; 32]), links(&["127.0.0.1"]));
    let error = client.connect("192.0.2.1:1".parse().unwrap(), "localhost").await.unwrap_err();
    assert!(matches!(error, ConnectError::NoLink { .. }), "{error}");
    assert!(error.to_string().contains("loopback leads to this machine only"), "{error}");
}
