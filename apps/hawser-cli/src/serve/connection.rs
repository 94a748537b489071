//! One connection of a server, from its first packet to its end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use h3::server::RequestResolver;
use hawser::LoggedAddress;
use tokio::task::JoinSet;

use super::limits::Share;
use super::{H3_NO_ERROR, Server, hq, respond};
use hawser_command::client_certificate::refused_client;
use hawser_command::interrupt::Interrupt;
use hawser_command::sources::{Client, STALL_TIMEOUT, Taken, Waiting};

/// A request whose header is still to come.
type Resolver = RequestResolver<hawser::h3::Connection, Bytes>;

/// How long a client without running requests may take to close its connection when the server stops.
pub(super) const IDLE_PATIENCE: Duration = Duration::from_secs(1);
/// RFC 9114 section 8.1.
const H3_EXCESSIVE_LOAD: u64 = 0x107;

/// The handshake, and then all requests. With early data requests are answered while it runs.
pub(super) async fn accept(server: Arc<Server>, waiting: Waiting, early_data: bool, interrupt: Interrupt) {
    let remote = waiting.remote;
    let client = match early_data {
        true => waiting.connect_early(H3_EXCESSIVE_LOAD).map(Some),
        false => waiting.try_connect(H3_EXCESSIVE_LOAD).await,
    };
    match client {
        Ok(Some(client)) => serve(&server, client, interrupt).await,
        Ok(None) => {}
        Err(error) => match refused_client(&error) {
            Some(reason) => server.access_log.refuse(LoggedAddress(remote), &reason, server.output),
            None => tracing::info!(remote = %LoggedAddress(remote), %error, "no connection"),
        },
    }
}

/// One connection, until it ends or, after Ctrl-C, its requests are done.
//= rfc9114-3.3-6: GOAWAY comes before the end of a connection
//= rfc9114-5.2-1: requests after GOAWAY are rejected
//= rfc9114-5.2-2: requests after GOAWAY are rejected as long as they come
//= rfc9114-5.2-4: servers send GOAWAY before they end
//= rfc9114-5.2-5: the id in GOAWAY does not rise
//= rfc9114-5.2-7: a graceful end: H3_NO_ERROR
//= rfc9114-7.2.7-2: servers send no MAX_PUSH_ID
async fn serve(server: &Arc<Server>, client: Client, mut interrupt: Interrupt) {
    let (connection, remote) = (client.connection.clone(), client.remote);
    tracing::info!(remote = %LoggedAddress(remote), version = %connection.version(), multipath = connection.is_multipath(), "connected");
    if server.hq {
        return hq::serve(server, &connection, remote, interrupt).await;
    }
    let http = hawser::h3::server_builder().build(hawser::h3::Connection::new(connection.clone())).await;
    let mut http: h3::server::Connection<_, Bytes> = match http {
        Ok(http) => http,
        Err(error) => return tracing::info!(remote = %LoggedAddress(remote), %error, "no HTTP"),
    };
    let share = server.limits.share(remote.ip());
    let mut stopping = false;
    let mut patience = IDLE_PATIENCE;
    // Our own count: h3 never forgets requests that ended before their header.
    let mut requests = JoinSet::new();
    // The next one, until there is room for it. The only one of a connection needs none: however many others are behind the address,
    // one request is answered.
    let mut next = None;
    while !stopping || !requests.is_empty() {
        if requests.is_empty()
            && let Some(resolver) = next.take()
        {
            requests.spawn(answer(server, &share, &connection, remote, resolver, None));
        }
        let accepted = tokio::select! {
            accepted = http.accept(), if next.is_none() => accepted,
            place = share.request(), if next.is_some() => {
                if let Some(resolver) = next.take() {
                    requests.spawn(answer(server, &share, &connection, remote, resolver, Some(place)));
                }
                continue;
            }
            Some(_) = requests.join_next() => continue,
            () = interrupt.raised(), if !stopping => {
                stopping = true;
                while requests.try_join_next().is_some() {}
                if let Some(resolver) = next.take() {
                    requests.spawn(answer(server, &share, &connection, remote, resolver, None));
                }
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
            Ok(Some(resolver)) => next = Some(resolver),
            Ok(None) => break,
            Err(error) => {
                if !error.is_h3_no_error() {
                    tracing::info!(remote = %LoggedAddress(remote), %error, "the connection ended");
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

/// Answers one request, and then gives its place back.
fn answer(
    server: &Arc<Server>,
    share: &Share,
    connection: &hawser::Connection,
    remote: SocketAddr,
    resolver: Resolver,
    place: Option<Taken>,
) -> impl Future<Output = ()> + use<> {
    let (server, share, connection) = (server.clone(), share.clone(), connection.clone());
    async move {
        respond::respond(&server, &share, remote, &connection, resolver).await;
        drop(place);
    }
}
