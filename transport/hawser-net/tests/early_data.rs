//! Sessions that are resumed, and data that goes out before the handshake (0-RTT).

use std::sync::Arc;
use std::time::Duration;

use hawser_net::{
    ClientConfig, Connection, EarlyData, Endpoint, FileSessions, Identity, MemorySessions, Pin, ServerConfig,
    SessionStore, Trust,
};

use crate::common::*;

fn server_of(identity: &Identity, early: bool, workers: usize) -> Endpoint {
    let config = ServerConfig::builder(identity.clone()).alpn([ALPN]).early_data(early).workers(workers);
    Endpoint::server(config.build().unwrap(), "127.0.0.1:0".parse().unwrap()).unwrap()
}

/// Serves from the first packet on.
fn serve_early(server: &Endpoint) {
    let server = server.clone();
    tokio::spawn(async move {
        while let Some(incoming) = server.accept().await {
            if let Ok(connecting) = incoming.accept() {
                tokio::spawn(echo(connecting.into_early()));
            }
        }
    });
}

/// A client of another process, as it were: it shares nothing but the store.
fn returning(pin: Pin, store: &Arc<dyn SessionStore>) -> (Endpoint, ClientConfig) {
    let config = ClientConfig::builder()
        .trust(Trust::Pins(vec![pin]))
        .alpn([ALPN])
        .sessions(store.clone())
        .early_data(true)
        .handshake_timeout(Duration::from_secs(5))
        .build()
        .unwrap();
    (Endpoint::client(config.clone(), links(&["127.0.0.1", "127.0.0.2"])).unwrap(), config)
}

async fn ask(connection: &Connection, question: &[u8]) -> Vec<u8> {
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    send.write_all(question).await.unwrap();
    send.finish().unwrap();
    receive.read_to_end(1 << 20).await.unwrap()
}

/// A connection from which the store has tickets of the server.
async fn visit(server: &Endpoint, pin: Pin, store: &Arc<dyn SessionStore>) {
    let (client, config) = returning(pin, store);
    let connection = client.connect_early(&config, &[address_of(server)], "localhost").await.unwrap();
    assert_eq!(connection.early_data(), EarlyData::None, "there was no ticket");
    assert_eq!(ask(&connection, b"hello").await, b"hello");
    connection.confirmed().await.unwrap();
    connection.close(0, b"");
}

#[tokio::test]
async fn data_goes_out_with_the_first_packets_of_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sessions");
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    let pin = identity.pin().unwrap();
    let server = server_of(&identity, true, 1);
    serve_early(&server);
    let open = || Arc::new(FileSessions::open(&file).unwrap()) as Arc<dyn SessionStore>;
    visit(&server, pin, &open()).await;
    // Each time one ticket is used and others come.
    for _ in 0..3 {
        let (client, config) = returning(pin, &open());
        let connection = client.connect_early(&config, &[address_of(&server)], "localhost").await.unwrap();
        assert_eq!(connection.early_data(), EarlyData::Offered);
        assert!(connection.is_handshaking());
        let question = pattern(5_000);
        assert_eq!(ask(&connection, &question).await, question);
        assert!(connection.early_data_accepted().await.unwrap());
        connection.confirmed().await.unwrap();
        eventually("the other link joins in", || connection.paths().len() == 2).await;
        connection.close(0, b"");
    }
}

/// Under which name sessions of this server are kept.
fn key(server: &Endpoint) -> String {
    format!("localhost:{} v1 test", address_of(server).port())
}

/// With a ticket of another server, once of one that would take 0-RTT itself.
#[tokio::test]
async fn a_server_that_does_not_take_it_gets_everything_once() {
    let store = Arc::new(MemorySessions::new()) as Arc<dyn SessionStore>;
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    let pin = identity.pin().unwrap();
    let first = server_of(&identity, true, 1);
    serve_early(&first);
    visit(&first, pin, &store).await;
    for early in [true, false] {
        let second = server_of(&identity, early, 1);
        serve_early(&second);
        store.put_ticket(&key(&second), store.take_ticket(&key(&first)).unwrap());
        let (client, config) = returning(pin, &store);
        let connection = client.connect_early(&config, &[address_of(&second)], "localhost").await.unwrap();
        assert_eq!(connection.early_data(), EarlyData::Offered);
        let question = pattern(20_000);
        assert_eq!(ask(&connection, &question).await, question);
        assert!(!connection.early_data_accepted().await.unwrap());
        assert_eq!(connection.early_data(), EarlyData::Rejected);
    }
}

#[tokio::test]
async fn several_workers_know_the_same_tickets() {
    let store = Arc::new(MemorySessions::new()) as Arc<dyn SessionStore>;
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    let pin = identity.pin().unwrap();
    let server = server_of(&identity, true, 2);
    serve_early(&server);
    visit(&server, pin, &store).await;
    // The kernel chooses the worker by the client's port.
    for _ in 0..6 {
        let (client, config) = returning(pin, &store);
        let connection = client.connect_early(&config, &[address_of(&server)], "localhost").await.unwrap();
        assert_eq!(ask(&connection, b"hello").await, b"hello");
        assert!(connection.early_data_accepted().await.unwrap());
        connection.confirmed().await.unwrap();
    }
}

/// RFC 9000 section 8.1.3: a token of an earlier connection spares the round trip of a Retry.
//= rfc9000-8.1.3-7
#[tokio::test]
async fn address_tokens_are_kept_with_the_tickets() {
    let store = Arc::new(MemorySessions::new()) as Arc<dyn SessionStore>;
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    let pin = identity.pin().unwrap();
    let config = ServerConfig::builder(identity).alpn([ALPN]);
    let server = Endpoint::server(config.build().unwrap(), "127.0.0.1:0".parse().unwrap()).unwrap();
    let accepting = server.clone();
    let (proven, mut seen) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(incoming) = accepting.accept().await {
            proven.send(incoming.is_address_validated()).unwrap();
            if let Ok(connection) = incoming.await {
                tokio::spawn(echo(connection));
            }
        }
    });
    let key = key(&server);
    for has_token in [false, true] {
        let (client, _) = returning(pin, &store);
        let connection = client.connect(address_of(&server), "localhost").await.unwrap();
        assert_eq!(seen.recv().await, Some(has_token));
        assert_eq!(ask(&connection, b"hello").await, b"hello");
        connection.confirmed().await.unwrap();
        assert_eq!(connection.take_token(), None, "the store has it");
        eventually("a token is kept", || {
            let token = store.take_token(&key);
            token.map(|token| store.put_token(&key, token)).is_some()
        })
        .await;
    }
}
