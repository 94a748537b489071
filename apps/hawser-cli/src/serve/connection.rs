//! One connection of a server, from its first packet to its end.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::{H3_NO_ERROR, Server, hq, respond};
use crate::interrupt::Interrupt;
use crate::sources::{Client, STALL_TIMEOUT, Waiting};

/// How long a client without running requests may take to close its connection when the server stops.
pub(super) const IDLE_PATIENCE: Duration = Duration::from_secs(1);
/// RFC 9114 section 8.1.
const H3_EXCESSIVE_LOAD: u64 = 0x107;

/// The handshake, and then all requests. With early data requests are answered while it runs.
pub(super) async fn accept(server: Arc<Server>, waiting: Waiting, early_data: bool, interrupt: Interrupt) {
    let remote = waiting.remote;
    let client = match early_data {
        true => waiting.connect_early(H3_EXCESSIVE_LOAD).map(Some),
        false => Ok(waiting.connect(H3_EXCESSIVE_LOAD).await),
    };
    match client {
        Ok(Some(client)) => serve(&server, client, interrupt).await,
        Ok(None) => {}
        Err(error) => tracing::info!(%remote, %error, "no connection"),
    }
}

/// One connection, until it ends or, after Ctrl-C, its requests are done.
async fn serve(server: &Arc<Server>, client: Client, mut interrupt: Interrupt) {
    let (connection, remote) = (client.connection.clone(), client.remote);
    tracing::info!(%remote, version = %connection.version(), multipath = connection.is_multipath(), "connected");
    if server.hq {
        return hq::serve(server, &connection, remote, interrupt).await;
    }
    let http = hawser::h3::server_builder().build(hawser::h3::Connection::new(connection.clone())).await;
    let mut http: h3::server::Connection<_, bytes::Bytes> = match http {
        Ok(http) => http,
        Err(error) => return tracing::info!(%remote, %error, "no HTTP"),
    };
    let share = server.limits.share(remote.ip());
    let mut stopping = false;
    let mut patience = IDLE_PATIENCE;
    // Our own count: h3 never forgets requests that ended before their header.
    let mut requests = JoinSet::new();
    while !stopping || !requests.is_empty() {
        let accepted = tokio::select! {
            accepted = http.accept() => accepted,
            Some(_) = requests.join_next() => continue,
            () = interrupt.raised(), if !stopping => {
                stopping = true;
                while requests.try_join_next().is_some() {}
                if !requests.is_empty() {
                    patience = STALL_TIMEOUT;
                }
                // GOAWAY with the id after the last request: the running ones are finished, then accept() ends
                // (RFC 9114 section 5.2).
                if http.shutdown(1).await.is_err() {
                    break;
                }
                continue;
            }
        };
        match accepted {
            Ok(Some(resolver)) => {
                let (server, share, connection) = (server.clone(), share.clone(), connection.clone());
                requests.spawn(async move {
                    respond::respond(&server, &share, remote, &connection, resolver).await
                });
            }
            Ok(None) => break,
            Err(error) => {
                if !error.is_h3_no_error() {
                    tracing::info!(%remote, %error, "the connection ended");
                }
                break;
            }
        }
    }
    // They find out themselves, and say what became of them.
    requests.detach_all();
    if stopping {
        // What was written last is still on its way; a client that has it all closes the connection.
        let _ = tokio::time::timeout(patience, connection.closed()).await;
    }
    connection.close(H3_NO_ERROR, b"");
}
