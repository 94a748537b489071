//! One connection of a client.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hawser_net::{Connection, LoggedAddress};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::client::Client;
use super::{H3_NO_ERROR, Inner, request};
use crate::flows::Flows;

/// How long a client without tunnels may take to close its connection when the gateway stops.
const IDLE_PATIENCE: Duration = Duration::from_secs(1);

/// Serves it, until it ends or the gateway stops and its tunnels are done.
pub(super) async fn serve(gateway: &Arc<Inner>, connection: Connection) {
    let remote = connection.remote_address();
    tracing::info!(remote = %LoggedAddress(remote), multipath = connection.is_multipath(), "connected");
    let http = hawser_h3::Connection::new(connection.clone());
    let flows = Flows::start(http.datagrams());
    let http = hawser_h3::tunnel_server_builder().build(http).await;
    let mut http: h3::server::Connection<_, Bytes> = match http {
        Ok(http) => http,
        Err(error) => return tracing::info!(remote = %LoggedAddress(remote), %error, "no HTTP"),
    };
    let client = Arc::new(Client::new(connection.clone(), flows));
    let mut draining = gateway.draining.subscribe();
    let (mut stopping, mut requests) = (false, JoinSet::new());
    while !stopping || !requests.is_empty() {
        let accepted = tokio::select! {
            accepted = http.accept() => accepted,
            Some(_) = requests.join_next() => continue,
            () = begun(&mut draining), if !stopping => {
                stopping = true;
                // GOAWAY: tunnels that run go on (RFC 9114 section 5.2), new ones are the next gateway's.
                if http.shutdown(1).await.is_err() {
                    break;
                }
                while requests.try_join_next().is_some() {}
                continue;
            }
        };
        match accepted {
            Ok(Some(resolver)) => {
                let (gateway, client) = (gateway.clone(), client.clone());
                requests.spawn(async move { request::respond(&gateway, &client, resolver).await });
            }
            Ok(None) => break,
            Err(error) => {
                tracing::info!(remote = %LoggedAddress(remote), %error, "the connection ended");
                break;
            }
        }
    }
    // Those that run find out themselves that the connection has ended.
    requests.detach_all();
    if stopping {
        let _ = tokio::time::timeout(IDLE_PATIENCE, connection.closed()).await;
    }
    gateway.directory.forget_connection(connection.number());
    connection.close(H3_NO_ERROR, b"");
}

/// Waits until the gateway stops.
async fn begun(draining: &mut watch::Receiver<bool>) {
    // The sender lives as long as the gateway.
    if draining.wait_for(|draining| *draining).await.is_err() {
        std::future::pending::<()>().await;
    }
}
