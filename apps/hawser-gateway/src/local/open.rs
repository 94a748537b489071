//! From a TCP connection of a program to a tunnel.

use std::time::Duration;

use hawser_masque::target::Target;
use tokio::net::TcpStream;

use crate::client::{GatewayClient, OpenError, TcpTunnel};

/// How often it is looked whether a program that waits for its tunnel is still there.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// Opens a tunnel for a program; `None` when the program has gone before it was there.
pub(super) async fn open(
    client: &GatewayClient,
    program: &TcpStream,
    target: &Target,
) -> Option<Result<TcpTunnel, OpenError>> {
    tokio::select! {
        opened = client.tcp(target) => Some(opened),
        () = gone(program) => None,
    }
}

/// Ends when the program has reset its connection. An end alone says that it sends no more, and it may still want to hear.
async fn gone(program: &TcpStream) {
    let mut byte = [0];
    // What it sends ahead stays where it is.
    while program.peek(&mut byte).await.is_ok() {
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
}
