//! How much of a user's traffic passes.

use std::time::{Duration, Instant};

use hawser_gateway::client::OpenError;
use hawser_gateway::local::TCP_IDLE;
use hawser_masque::status::ProxyError;
use hawser_masque::target::Target;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::ip::{client, transport};
use crate::support::Setup;

/// Downloads so many bytes through a tunnel, and returns how many came and how long that took.
async fn download(setup: &Setup, bytes: usize) -> (usize, Duration) {
    let host = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = Target::from(host.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut far, _) = host.accept().await.unwrap();
        let _ = far.write_all(&vec![7; bytes]).await;
    });
    let tunnel = client(setup, &setup.key).await.tcp(&target).await.unwrap();
    let local = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut near = TcpStream::connect(local.local_addr().unwrap()).await.unwrap();
    let (program, _) = local.accept().await.unwrap();
    tokio::spawn(tunnel.relay(program, TCP_IDLE));
    let (begun, mut count, mut buffer) = (Instant::now(), 0, vec![0; 65_536]);
    while let Ok(read @ 1..) = near.read(&mut buffer).await {
        count += read;
    }
    (count, begun.elapsed())
}

#[tokio::test]
async fn a_user_with_a_rate_keeps_to_it() {
    let setup = Setup::start(transport()).await;
    setup.grant("alice", |grants| grants.rate = Some(16_000_000)).await;
    let (count, took) = download(&setup, 2_000_000).await;
    assert_eq!(count, 2_000_000);
    // 2 MB/s, and 0.1 s of it at once.
    assert!((Duration::from_millis(850)..Duration::from_secs(4)).contains(&took), "{took:?}");
    setup.grant("alice", |grants| grants.rate = None).await;
    let (count, took) = download(&setup, 2_000_000).await;
    assert_eq!(count, 2_000_000);
    assert!(took < Duration::from_millis(800), "{took:?}");
}

#[tokio::test]
async fn a_user_whose_volume_is_used_up_is_told_so_and_others_go_on() {
    let setup = Setup::start(transport()).await;
    setup.grant("alice", |grants| grants.volume = Some(1_000_000)).await;
    let (count, _) = download(&setup, 5_000_000).await;
    // What was on its way when it was reset is lost.
    assert!((1..1_200_000).contains(&count), "{count}");
    let host = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = Target::from(host.local_addr().unwrap());
    match client(&setup, &setup.key).await.tcp(&target).await {
        Err(OpenError::Refused(status)) => {
            assert_eq!(status.error, ProxyError::ConnectionLimitReached);
            assert!(status.details.contains("within 30 days"), "{}", status.details);
        }
        _ => panic!("a tunnel"),
    }
    assert!(client(&setup, &setup.other_key).await.tcp(&target).await.is_ok());
    setup.grant("alice", |grants| grants.volume = Some(1 << 30)).await;
    assert!(client(&setup, &setup.key).await.tcp(&target).await.is_ok());
}
