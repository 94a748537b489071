//! Data over one and several paths of a loopback interface.

use std::time::Duration;

use bytes::Bytes;
use hawser_net::policy::{FrameInfo, PathId, PathState, PathStatus, Reliability};
use hawser_net::{Chunk, Endpoint, FrameError, Links, default_transport};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::common::*;

#[tokio::test]
async fn an_echo_over_one_path() {
    let (server, pin) = server();
    serve(&server, echo);
    let connection = client(pin, Links::All).connect(address_of(&server), "localhost").await.unwrap();
    assert_eq!(connection.application_protocol().as_deref(), Some(ALPN.as_bytes()));
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    send.write_all(b"hello").await.unwrap();
    send.finish().unwrap();
    assert_eq!(receive.read_to_end(100).await.unwrap(), b"hello");
    assert_eq!(send.stopped().await, Ok(None));
}

#[tokio::test]
async fn clients_are_established_until_the_endpoint_is_closed_or_nobody_wants_them() {
    let (server, pin) = server();
    let established = server.established();
    for _ in 0..2 {
        let connection =
            client(pin, links(&["127.0.0.1"])).connect(address_of(&server), "localhost").await.unwrap();
        let accepted = established.next().await.unwrap();
        assert_eq!(accepted.application_protocol(), connection.application_protocol());
    }
    let pending = established.next();
    drop(established);
    assert!(pending.await.is_none(), "nobody wants one any more");
    let again = server.established();
    server.close(0, b"");
    assert!(again.next().await.is_none(), "closed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_transfer_arrives_whole_in_both_directions() {
    let (server, pin) = server();
    serve(&server, echo);
    let connection = client(pin, Links::All).connect(address_of(&server), "localhost").await.unwrap();
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    let data = Bytes::from(pattern(32 << 20));
    let sent = data.clone();
    let sending = tokio::spawn(async move {
        send.write_chunk(sent).await.unwrap();
        send.finish().unwrap();
        send
    });
    let received = receive.read_to_end(data.len()).await.unwrap();
    assert!(received == data, "what came back differs");
    sending.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_addresses_are_two_paths_and_both_carry_data() {
    let (server, pin) = server();
    serve(&server, echo);
    let client = client(pin, links(&["127.0.0.1", "127.0.0.2"]));
    let connection = client.connect(address_of(&server), "localhost").await.unwrap();
    let active = || connection.paths().iter().filter(|path| path.state == PathState::Active).count();
    eventually("a second path", || active() == 2).await;
    assert!(connection.is_multipath());
    let data = pattern(16 << 20);
    let carried = || connection.paths().into_iter().filter_map(|path| connection.path_stats(path.id));
    // Where nothing is scarce one path may carry a whole transfer now and then.
    for _ in 0..8 {
        let (mut send, mut receive) = connection.open_bi().await.unwrap();
        let (_, received) = tokio::join!(
            async {
                send.write_all(&data).await.unwrap();
                send.shutdown().await.unwrap();
            },
            async {
                let mut received = Vec::new();
                AsyncReadExt::read_to_end(&mut receive, &mut received).await.unwrap();
                received
            }
        );
        assert!(received == data, "what came back differs");
        if carried().all(|stats| stats.bytes_sent > 100_000 && stats.bytes_received > 100_000) {
            return;
        }
    }
    panic!("{:?}", carried().collect::<Vec<_>>());
}

#[tokio::test]
async fn a_backup_path_is_opened_as_backup() {
    let (server, pin) = server();
    serve(&server, echo);
    let client = client(pin, links_with_backup("127.0.0.1", "127.0.0.2"));
    let connection = client.connect(address_of(&server), "localhost").await.unwrap();
    eventually("a second path", || connection.paths().len() == 2).await;
    let statuses: Vec<_> = connection.paths().iter().map(|path| path.status).collect();
    assert_eq!(statuses, [PathStatus::Available, PathStatus::Backup]);
}

#[tokio::test]
async fn an_abandoned_path_is_replaced() {
    let (server, pin) = server();
    serve(&server, echo);
    let client = client(pin, links(&["127.0.0.1", "127.0.0.2"]));
    let connection = client.connect(address_of(&server), "localhost").await.unwrap();
    let active = || {
        let paths = connection.paths();
        paths.iter().filter(|path| path.state == PathState::Active).map(|path| path.id).collect::<Vec<_>>()
    };
    eventually("a second path", || active().len() == 2).await;
    connection.abandon_path(PathId::ZERO).unwrap();
    eventually("a third path", || active() == [PathId(1), PathId(2)]).await;
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    send.write_all(b"still here").await.unwrap();
    send.finish().unwrap();
    assert_eq!(receive.read_to_end(100).await.unwrap(), b"still here");
}

#[tokio::test]
async fn datagrams_travel_on_the_path_of_choice() {
    let (server, pin) = server();
    serve(&server, |connection| async move {
        while let Ok(datagram) = connection.read_datagram().await {
            connection.send_datagram_wait(datagram).await.unwrap();
        }
    });
    let client = client(pin, links(&["127.0.0.1", "127.0.0.2"]));
    let connection = client.connect(address_of(&server), "localhost").await.unwrap();
    eventually("a second path", || {
        connection.paths().iter().filter(|path| path.state == PathState::Active).count() == 2
    })
    .await;
    let max = connection.max_datagram_size().unwrap();
    assert!(max > 1_000, "{max}");
    for path in [PathId(0), PathId(1)] {
        let sent = Bytes::from(vec![path.0 as u8; 900]);
        connection.send_datagram_on(sent.clone(), path).unwrap();
        assert_eq!(connection.read_datagram().await.unwrap(), sent);
    }
}

#[tokio::test]
async fn many_streams_at_once() {
    let (server, pin) = server();
    serve(&server, echo);
    let connection = client(pin, Links::All).connect(address_of(&server), "localhost").await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    // More than the peer allows at a time, so that opening has to wait for others to end.
    for number in 0..500_u32 {
        let connection = connection.clone();
        tasks.spawn(async move {
            let (mut send, mut receive) = connection.open_bi().await.unwrap();
            let question = number.to_be_bytes().repeat(number as usize % 50 + 1);
            send.write_all(&question).await.unwrap();
            send.finish().unwrap();
            assert_eq!(receive.read_to_end(1_000).await.unwrap(), question);
        });
    }
    while let Some(result) = tasks.join_next().await {
        result.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_connections_at_once() {
    let (server, pin) = server();
    serve(&server, echo);
    let client = client(pin, Links::All);
    let mut tasks = tokio::task::JoinSet::new();
    let address = address_of(&server);
    for _ in 0..100 {
        let client = client.clone();
        tasks.spawn(async move {
            let connection = client.connect(address, "localhost").await.unwrap();
            let (mut send, mut receive) = connection.open_bi().await.unwrap();
            send.write_all(&[7; 5_000]).await.unwrap();
            send.finish().unwrap();
            assert_eq!(receive.read_to_end(10_000).await.unwrap(), [7; 5_000]);
            connection.close(0, b"done");
        });
    }
    while let Some(result) = tasks.join_next().await {
        result.unwrap();
    }
    tokio::time::timeout(Duration::from_secs(15), client.wait_idle())
        .await
        .expect("the server answers each close");
    // Three probe timeouts, of connections that shared two cores with a hundred others.
    eventually("closed connections go", || client.open_connections() == 0).await;
}

/// Receive times of the kernel become one-way delays of the sender. The offset between the ends is unknown, but it is one
/// for all paths.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_way_delays_are_measured_on_every_path() {
    let asking = || default_transport().with(|transport| transport.receive_timestamps = Some(32));
    let (server, pin) = server_with(asking());
    serve(&server, echo);
    let config = client_config_with(pin, asking());
    let client = Endpoint::client(config, links(&["127.0.0.1", "127.0.0.2"])).unwrap();
    let connection = client.connect(address_of(&server), "localhost").await.unwrap();
    let active = || connection.paths().iter().filter(|path| path.state == PathState::Active).count();
    eventually("a second path", || active() == 2).await;
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    let data = pattern(4 << 20);
    let (_, received) = tokio::join!(
        async {
            send.write_all(&data).await.unwrap();
            send.shutdown().await.unwrap();
        },
        receive.read_to_end(data.len()),
    );
    assert!(received.unwrap() == data);
    let paths: Vec<_> = connection.paths().iter().map(|path| path.id).collect();
    let delay = |id: &PathId| connection.path_stats(*id).unwrap().one_way_delay;
    let delays: Vec<_> = paths.iter().map(|id| delay(id).expect("reported")).collect();
    assert_eq!(delays.len(), 2);
    assert!(delays[0].abs_diff(delays[1]) < Duration::from_secs(1), "{delays:?}");
}

#[tokio::test]
async fn frames_that_are_cancelled_are_gaps_for_the_reader() {
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
    let connection = client(pin, Links::All).connect(address_of(&server), "localhost").await.unwrap();
    assert!(connection.can_discard());
    let mut stream = connection.open_uni().await.unwrap();
    stream.set_class(7).unwrap();
    let expired = Some(connection.now());
    for (id, deadline) in [(0, None), (1, expired), (2, None)] {
        let info = FrameInfo::default().with(|frame| {
            frame.id = id;
            frame.deadline = deadline;
            frame.reliability = Reliability::UntilDeadline;
        });
        stream.write_frame(&info, Bytes::from(vec![id as u8; 1_000])).await.unwrap();
    }
    assert_eq!(stream.cancel_frame(9), Err(FrameError::Unknown));
    stream.finish().unwrap();
    assert_eq!(stream.stopped().await, Ok(None), "all was received or is known to be missing");
    let mut gaps = Vec::new();
    let mut at = 0;
    while let Some(chunk) = pieces.recv().await {
        match chunk {
            Chunk::Data { offset, bytes } => {
                assert_eq!(offset, at);
                assert!(bytes.iter().all(|&byte| byte != 1));
                at += bytes.len() as u64;
            }
            Chunk::Gap { offset, length } => {
                gaps.push((offset, length));
                at = offset + length;
            }
            Chunk::End => break,
        }
    }
    assert_eq!((at, gaps), (3_000, vec![(1_000, 1_000)]));
}
