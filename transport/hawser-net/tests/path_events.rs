//! A subscriber to events of paths receives those of every path, however late the subscription.

use std::time::Duration;

use hawser_net::policy::{PathEvent, PathId, PathState};
use hawser_net::{Connection, PathEventError};

use crate::common::*;

async fn two_paths() -> Connection {
    let (server, pin) = server();
    serve(&server, echo);
    let client = client(pin, links(&["127.0.0.1", "127.0.0.2"]));
    let connection = client.connect(address_of(&server), "localhost").await.unwrap();
    let active = || connection.paths().iter().filter(|path| path.state == PathState::Active).count();
    eventually("two paths", || active() == 2).await;
    connection
}

type Told = Result<PathEvent, PathEventError>;

async fn soon(event: impl Future<Output = Told>) -> Told {
    tokio::time::timeout(Duration::from_secs(1), event).await.expect("an event")
}

#[tokio::test]
async fn paths_that_opened_before_the_subscription_are_told_first() {
    let connection = two_paths().await;
    let mut events = connection.path_events();
    for id in [PathId(0), PathId(1)] {
        assert_eq!(soon(events.recv()).await, Ok(PathEvent::Established(id)));
    }
    assert_eq!(events.try_recv(), Ok(None));
    connection.abandon_path(PathId(0)).unwrap();
    assert_eq!(soon(events.recv()).await, Ok(PathEvent::Closed(PathId(0))));
    // A later subscriber receives those that are left.
    assert_eq!(soon(connection.path_events().recv()).await, Ok(PathEvent::Established(PathId(1))));
}

#[tokio::test]
async fn what_happened_before_the_end_is_told_and_then_the_end() {
    let connection = two_paths().await;
    let mut events = connection.path_events();
    connection.abandon_path(PathId(1)).unwrap();
    connection.close(0, b"");
    let mut told = Vec::new();
    let end = loop {
        match soon(events.recv()).await {
            Ok(event) => told.push(event),
            Err(error) => break error,
        }
    };
    let [first, second] = [PathId(0), PathId(1)];
    let expected = [PathEvent::Established(first), PathEvent::Established(second), PathEvent::Closed(second)];
    assert_eq!((told.as_slice(), end), (&expected[..], PathEventError::Ended));
}
