//! Paths that the program opens itself, next to those of the path manager.

use std::sync::Arc;

use hawser_net::policy::{PathState, PathStatus};
use hawser_net::{Connection, CostCaps, Endpoint, OpenPathError, PathError};

use crate::common::*;

async fn over_one_link(server: &Endpoint, client: &Endpoint) -> Connection {
    let connection = client.connect(address_of(server), "localhost").await.unwrap();
    connection.confirmed().await.unwrap();
    connection
}

#[tokio::test]
async fn program_opens_a_path_that_the_path_manager_leaves_alone() {
    let (server, pin) = server();
    serve(&server, echo);
    let connection = over_one_link(&server, &client(pin, links(&["127.0.0.1"]))).await;
    let remote = connection.remote_address();
    let local = "127.0.0.2:0".parse().unwrap();
    // The peer's connection ids for further paths may still be on their way.
    let mut opened = connection.open_path(local, remote, PathStatus::Backup).await;
    while matches!(opened, Err(OpenPathError::Path(PathError::NoConnectionIds(_) | PathError::NoPathId(_)))) {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        opened = connection.open_path(local, remote, PathStatus::Backup).await;
    }
    let id = opened.unwrap();
    let path = || connection.paths().into_iter().find(|path| path.id == id);
    eventually("the path is validated", || path().is_some_and(|path| path.state == PathState::Active)).await;
    let path = path().unwrap();
    assert_eq!(path.tuple.local.ip(), local.ip());
    assert_eq!(path.status, PathStatus::Backup);
    // Without the first path everything goes over it.
    connection.abandon_path(hawser_net::policy::PathId::ZERO).unwrap();
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    send.write_all(b"over the path of the program").await.unwrap();
    send.finish().unwrap();
    assert_eq!(receive.read_to_end(100).await.unwrap(), b"over the path of the program");
    assert!(connection.path_stats(id).unwrap().bytes_sent > 0);
}

#[tokio::test]
async fn path_that_cannot_be_opened_says_why() {
    let (server, pin) = server();
    let client = client(pin, links(&["127.0.0.1"]));
    let (connection, accepted) = tokio::join!(over_one_link(&server, &client), async {
        server.accept().await.unwrap().await.unwrap()
    });
    let remote = connection.remote_address();
    // TEST-NET-1 (RFC 5737) is no address of this machine.
    let foreign = "192.0.2.1:0".parse().unwrap();
    let refused = connection.open_path(foreign, remote, PathStatus::Available).await.unwrap_err();
    assert!(matches!(refused, OpenPathError::Socket { local, .. } if local == foreign), "{refused}");

    let refused =
        accepted.open_path("127.0.0.1:0".parse().unwrap(), accepted.remote_address(), PathStatus::Available);
    assert!(matches!(refused.await, Err(OpenPathError::Path(PathError::NotClient))));

    connection.close(0, b"");
    let late = connection.open_path("127.0.0.2:0".parse().unwrap(), remote, PathStatus::Available).await;
    assert!(matches!(late, Err(OpenPathError::ConnectionLost(_))));
}

#[tokio::test]
async fn endpoint_that_counts_opens_no_path_over_a_link_that_it_does_not_know() {
    let (server, pin) = server();
    serve(&server, echo);
    let caps = Arc::new(CostCaps::new([("wwan0".to_owned(), "1GB/24h".parse().unwrap())]));
    let client = Endpoint::builder().client(client_config(pin)).cost_caps(caps).bind().unwrap();
    let connection = over_one_link(&server, &client).await;
    let remote = "192.0.2.9:4433".parse().unwrap();
    let local = "192.0.2.1:0".parse().unwrap();
    let refused = connection.open_path(local, remote, PathStatus::Available).await.unwrap_err();
    assert!(matches!(refused, OpenPathError::UnknownLink(ip) if ip == local.ip()), "{refused}");
}
