//! Policy sets that are not of the project, over sockets: the same files that the simulator's cases use.

#[allow(unreachable_pub)] // In its own crate it is public.
#[path = "../../../world/hawser-sim/src/sets/advised.rs"]
mod advised;
#[allow(unreachable_pub)]
#[path = "../../../world/hawser-sim/src/sets/budget.rs"]
mod budget;
#[allow(unreachable_pub)]
#[path = "../../../world/hawser-sim/src/sets/punctual.rs"]
mod punctual;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use hawser_net::policy::{Composition, FrameInfo, PathId, PathState, Reliability};
use hawser_net::{Chunk, Connection, Endpoint, TransportConfig, policies};

use crate::common::*;

/// The transport of a set by name.
fn policy(text: &str) -> TransportConfig {
    let mut registry = policies();
    advised::register(&mut registry);
    budget::register(&mut registry);
    punctual::register(&mut registry);
    TransportConfig::with_policies(registry.set(&Composition::of(text.parse().unwrap())).unwrap())
}

/// A client with two paths to a server.
async fn connect(server: &Endpoint, config: hawser_net::ClientConfig) -> Connection {
    let client = Endpoint::client(config, links(&["127.0.0.1", "127.0.0.2"])).unwrap();
    let connection = client.connect(address_of(server), "localhost").await.unwrap();
    let active = || connection.paths().iter().filter(|path| path.state == PathState::Active).count();
    eventually("a second path", || active() == 2).await;
    connection
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
    let connection = connect(&server, client_config_with(pin, policy(client_set))).await;
    // The advice is on its way as soon as the second path is there.
    tokio::time::sleep(Duration::from_millis(200)).await;
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

/// Scheduler and controllers of a connection share one budget: the windows of both paths never add up to more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_windows_of_all_paths_share_a_budget() {
    const LENGTH: usize = 16 << 20;
    const BUDGET: u64 = 100_000;
    let (server, pin) = server_with(policy(&format!("budget,bytes={BUDGET}")));
    let largest = Arc::new(AtomicU64::new(0));
    let seen = largest.clone();
    serve(&server, move |connection| {
        let seen = seen.clone();
        async move {
            let (mut send, _receive) = connection.accept_bi().await.unwrap();
            for piece in pattern(LENGTH).chunks(64 << 10) {
                send.write_all(piece).await.unwrap();
                let paths = connection.paths();
                let windows = paths.iter().filter_map(|path| connection.path_stats(path.id));
                seen.fetch_max(windows.map(|stats| stats.congestion_window).sum(), Ordering::Relaxed);
            }
            send.finish().unwrap();
            connection.closed().await;
        }
    });
    let connection = connect(&server, client_config(pin)).await;
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    send.write_all(b"request").await.unwrap();
    assert!(receive.read_to_end(LENGTH).await.unwrap() == pattern(LENGTH), "what came differs");
    let largest = largest.load(Ordering::Relaxed);
    assert!((BUDGET / 2..=BUDGET).contains(&largest), "{largest} bytes of windows");
}

/// A frame that would be late is discarded before it leaves: the application hears of it, the reader sees the gap.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frame_that_would_be_late_is_a_gap() {
    let (server, pin) = server();
    let (read, mut pieces) = tokio::sync::mpsc::unbounded_channel();
    serve(&server, move |connection| {
        let read = read.clone();
        async move {
            let mut stream = connection.accept_uni().await.unwrap();
            loop {
                let chunk = stream.next_chunk(1 << 20).await.unwrap();
                let is_end = chunk == Chunk::End;
                read.send(chunk).unwrap();
                if is_end {
                    break;
                }
            }
            connection.closed().await;
        }
    });
    let connection = connect(&server, client_config_with(pin, policy("punctual,margin=1s"))).await;
    let mut stream = connection.open_uni().await.unwrap();
    // The second one is expected after its deadline, by the margin, long before that has passed.
    for (id, time_left) in [(0, 60_000), (1, 900), (2, 60_000)] {
        let deadline = Some(connection.now() + Duration::from_millis(time_left));
        let info = FrameInfo::default().with(|frame| {
            frame.id = id;
            frame.deadline = deadline;
            frame.reliability = Reliability::UntilDeadline;
        });
        stream.write_frame(&info, Bytes::from(vec![id as u8; 5_000])).await.unwrap();
    }
    stream.finish().unwrap();
    let told = connection.read_policy_message().await.unwrap();
    assert_eq!(told.feature, punctual::DISCARDED);
    assert_eq!(told.payload[..], [5_000_u64, 5_000].map(u64::to_be_bytes).concat());
    assert_eq!(stream.stopped().await, Ok(None), "all was received or is known to be missing");
    let (mut at, mut gaps) = (0, Vec::new());
    while let Some(chunk) = pieces.recv().await {
        match chunk {
            Chunk::Data { offset, bytes } => {
                assert!(offset == at && bytes.iter().all(|&byte| byte != 1));
                at += bytes.len() as u64;
            }
            Chunk::Gap { offset, length } => {
                gaps.push((offset, length));
                at = offset + length;
            }
            Chunk::End => break,
        }
    }
    assert_eq!((at, gaps), (15_000, vec![(5_000, 5_000)]));
}
