//! A policy set that is not of the project, over sockets.

#![allow(clippy::unwrap_used)]

#[allow(unreachable_pub)] // In its own crate it is public.
#[path = "../../hawser-sim/src/sets/advised.rs"]
mod advised;
mod common;

use common::*;
use hawser_net::policy::{Composition, PathId, PathState};
use hawser_net::{Endpoint, TransportConfig, policies};

/// The transport of a set by name.
fn policy(text: &str) -> TransportConfig {
    let mut registry = policies();
    advised::register(&mut registry);
    TransportConfig::with_policies(registry.set(&Composition::of(text.parse().unwrap())).unwrap())
}

/// Downloads over two paths and returns what each carried towards the client.
async fn download(client_set: &str, server_set: &str) -> [u64; 2] {
    const LENGTH: usize = 8 << 20;
    let (server, pin) = server_with(policy(server_set));
    serve(&server, |connection| async move {
        while let Ok((mut send, _receive)) = connection.accept_bi().await {
            let _ = send.write_all(&pattern(LENGTH)).await;
            let _ = send.finish();
            let _ = send.stopped().await;
        }
    });
    let config = client_config_with(pin, policy(client_set));
    let client = Endpoint::client(config, links(&["127.0.0.1", "127.0.0.2"])).unwrap();
    let connection = client.connect(address_of(&server), "localhost").await.unwrap();
    let active = || connection.paths().iter().filter(|path| path.state == PathState::Active).count();
    eventually("a second path", || active() == 2).await;
    // The advice is on its way as soon as the second path is there.
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    send.write_all(b"request").await.unwrap();
    send.finish().unwrap();
    assert!(receive.read_to_end(LENGTH).await.unwrap() == pattern(LENGTH), "what came differs");
    [PathId::ZERO, PathId(1)].map(|id| connection.path_stats(id).map_or(0, |stats| stats.bytes_received))
}

/// The receiver prefers a path, and the sender follows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_steers_the_sender() {
    for first in [0, 1] {
        // Packets may be lost on a busy machine; the preference is to stay all the same.
        let carried = download(&format!("advised,first={first},threshold=1"), "advised").await;
        println!("{carried:?}");
        assert!(carried[first] > 8 << 20 && carried[1 - first] < 100_000, "path {first}: {carried:?}");
    }
}

/// Advice that the sender does not understand is not sent, and nothing else changes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_feature_data_arrives() {
    let carried = download("advised,first=1", "advised,messages=off").await;
    assert!(carried[0] + carried[1] > 8 << 20, "{carried:?}");
}
