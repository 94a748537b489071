//! A connection to a server, for the subcommands that are clients.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use h3::client::SendRequest;
use tokio::sync::OnceCell;
use tokio::task::JoinHandle;

use crate::exit::{Exit, Failure};
use crate::http_client::describe_connection;
use crate::interrupt::Interrupt;
use crate::left_out;
use crate::options::ClientSetup;
use crate::output::Output;
use crate::path_log;
use crate::paths::{PathCounters, PathTable};
use crate::server_scheduler::{ServerScheduler, Wish};
use crate::silence::{self, Shown};
use crate::url::Url;
use hawser::policy::PathState;
use hawser::{Connection, EarlyData, Endpoint, LinkStateFile};

/// The types that `h3` makes of our streams.
pub type Requests = SendRequest<hawser::h3::OpenStreams, Bytes>;
/// One request and its response.
pub type Exchange = h3::client::RequestStream<hawser::h3::BidiStream<Bytes>, Bytes>;

/// How long the goodbye may take before the command ends anyway.
const GOODBYE: Duration = Duration::from_millis(500);
/// RFC 9114 section 8.1.
const H3_NO_ERROR: u64 = 0x100;
/// How much longer than a round trip it takes.
const GOODBYE_MARGIN: Duration = Duration::from_millis(10);

/// A connection in the words of `hawser ctl`.
pub type Status = Box<hawser_status::model::Connection>;

/// A connection and the endpoint it stands on.
pub struct Session {
    /// The sockets.
    pub endpoint: Endpoint,
    /// The connection to the server.
    pub connection: Connection,
    /// When connecting began.
    pub started: Instant,
    /// How long the name look-up and the handshake took.
    pub connected_after: Duration,
    /// How long a transfer may stand still while the server answers; `None`: as long as it likes.
    pub stall: Option<Duration>,
    /// Whether what the server gives for the next connection is to be waited for.
    keeps_sessions: bool,
    /// The wish for the server's scheduler, if there is one.
    wish: Option<Wish>,
    /// What happens to its paths is noted by this task, if at all.
    path_log: Option<JoinHandle<()>>,
    /// What says that the server fell silent, and what the progress shows of that.
    silence: Option<JoinHandle<()>>,
    shown: Shown,
    /// HTTP, once begun. h3 closes the connection when the last of these goes.
    requests: OnceCell<Requests>,
}

impl Session {
    /// Looks the host up and connects over the links that were chosen.
    ///
    /// # Errors
    /// Why there is no connection.
    pub async fn connect(
        host: &str,
        port: u16,
        client: &ClientSetup,
        interrupt: &mut Interrupt,
    ) -> Result<Self, Failure> {
        Session::begin(host, port, client, false, &KnownAddresses::default(), interrupt).await
    }

    /// The same, where the look-up may depend on the connection that is to be made: what it said the last time will do.
    ///
    /// # Errors
    /// Why there is no connection.
    pub async fn connect_again(
        host: &str,
        port: u16,
        client: &ClientSetup,
        known: &KnownAddresses,
        interrupt: &mut Interrupt,
    ) -> Result<Self, Failure> {
        Session::begin(host, port, client, false, known, interrupt).await
    }

    /// The same, but a connection that can send 0-RTT is there at once, and closed if the server does not answer in time.
    ///
    /// # Errors
    /// Why there is no connection.
    pub async fn connect_early(
        host: &str,
        port: u16,
        client: &ClientSetup,
        interrupt: &mut Interrupt,
    ) -> Result<Self, Failure> {
        Session::begin(host, port, client, true, &KnownAddresses::default(), interrupt).await
    }

    async fn begin(
        host: &str,
        port: u16,
        client: &ClientSetup,
        early: bool,
        known: &KnownAddresses,
        interrupt: &mut Interrupt,
    ) -> Result<Self, Failure> {
        let started = Instant::now();
        let ClientSetup { config, links, metered, registry, link_state, .. } = client;
        let builder = Endpoint::builder().client(config.clone()).links(links.clone());
        let mut builder =
            builder.policies(registry.clone()).metered(metered.iter().cloned()).dscp(client.dscp);
        if let Some(path) = link_state {
            builder = builder.link_observer(LinkStateFile::new(path));
        }
        if let Some(caps) = &client.caps {
            builder = builder.cost_caps(caps.shared());
        }
        if let Some(hub) = &client.hub {
            builder = builder.link_uses(hub.link_uses());
        }
        let endpoint = builder.bind()?;
        if let Some(hub) = &client.hub {
            hub.attach(&endpoint);
        }
        let connect = async {
            let addresses = known.resolve(host, port).await?;
            tracing::debug!(?addresses, "resolved");
            if !early {
                return Ok::<_, Failure>(endpoint.connect_with(config, &addresses, host).await?);
            }
            let connection = endpoint.connect_early(config, &addresses, host).await?;
            tokio::spawn(close_unanswered(connection.clone(), client.connect_timeout));
            Ok(connection)
        };
        let connection = tokio::select! {
            connection = connect => connection?,
            () = interrupt.raised() => return Err(Failure::new(Exit::Signal, "stopped before there was a connection")),
        };
        let connected_after = started.elapsed();
        let shown = Shown::default();
        if let Some(caps) = &client.caps {
            caps.begin_connection(shown.clone(), &endpoint.links());
        }
        if let Some(path) = connection.paths().first() {
            left_out::tell(links, path.tuple.remote.ip().to_canonical()).await;
        }
        let path_log = path_log::start(endpoint.clone(), connection.clone(), connected_after);
        Ok(Session {
            endpoint,
            connection,
            started,
            connected_after,
            stall: client.stall,
            keeps_sessions: client.keeps_sessions,
            wish: None,
            path_log,
            silence: None,
            shown,
            requests: OnceCell::new(),
        })
    }

    /// Says from now on when the server falls silent.
    pub fn watch_silence(&mut self, client: &ClientSetup, output: Output) {
        let (endpoint, connection) = (self.endpoint.clone(), self.connection.clone());
        let watch = silence::watch(endpoint, connection, client.timeout, self.shown.clone(), output);
        self.silence = Some(watch);
    }

    /// The server is the end that sends: asks it for the scheduler that was chosen, if one was.
    pub fn request_scheduler(&mut self, client: &ClientSetup, output: Output) {
        self.wish = Wish::send(&self.connection, client, output);
    }

    /// What the server said to that, if it was asked.
    pub async fn server_scheduler(&self) -> Option<ServerScheduler> {
        self.wish.clone()?.answer().await
    }

    /// Speaks HTTP/3 from now on.
    ///
    /// # Errors
    /// When the connection is lost.
    pub async fn http(&self) -> Result<Requests, Failure> {
        let begin = || async {
            let connection = hawser::h3::Connection::new(self.connection.clone());
            let http = hawser::h3::client_builder().build(connection).await;
            let (mut driver, requests) = http.map_err(|error| lost(&error))?;
            tokio::spawn(async move { driver.wait_idle().await });
            Ok(requests)
        };
        self.requests.get_or_try_init(begin).await.cloned()
    }

    /// Whether it went on from an earlier session, if these are kept.
    pub fn is_resumed(&self) -> Option<bool> {
        self.keeps_sessions.then(|| self.connection.is_resumed())
    }

    /// What became of 0-RTT, in a word.
    pub fn early_data(&self) -> &'static str {
        match self.connection.early_data() {
            EarlyData::None => "none",
            EarlyData::Offered => "offered",
            EarlyData::Accepted => "accepted",
            EarlyData::Rejected => "rejected",
        }
    }

    /// Its connection as the status of a command shows it, without rates.
    pub fn status(&self) -> Option<Status> {
        hawser_status::connections(&self.endpoint).into_iter().next().map(Box::new)
    }

    /// A table of its paths, of all that they did.
    pub fn path_table(&self) -> PathTable {
        self.path_table_since(PathCounters::new())
    }

    /// A table of its paths without what they had done before.
    pub fn path_table_since(&self, before: PathCounters) -> PathTable {
        let table = PathTable::new(self.endpoint.clone(), self.connection.clone(), before);
        table.beside(self.shown.clone())
    }

    /// How long a server may take to answer the goodbye, which goes over all paths at once. Whatever it sends before it knows
    /// that the connection is over arrives within a round trip, and is answered with the goodbye once more. The rest of the
    /// closing period (RFC 9000 section 10.2: three probe timeouts) is for packets that are late, which the kernel of a process
    /// that is gone drops just as well.
    fn goodbye(&self) -> Duration {
        let paths = self.connection.paths().into_iter();
        let round_trips = paths.filter_map(|path| {
            let stats = self.connection.path_stats(path.id)?;
            Some((path.state, stats.smoothed_rtt + 4 * stats.rtt_variance))
        });
        goodbye(round_trips)
    }

    /// Says goodbye.
    pub async fn close(self, code: u64) {
        if self.keeps_sessions && self.connection.early_data() != EarlyData::None {
            // An answer to 0-RTT is there a round trip before the tickets for the next time.
            let _ = tokio::time::timeout(GOODBYE, self.connection.confirmed()).await;
        }
        let patience = self.goodbye();
        if let Some(silence) = &self.silence {
            silence.abort();
        }
        self.connection.close(code, b"");
        // Until the server has answered. Those who do not wait for the packet to leave make it wait for its idle timeout.
        let _ = tokio::time::timeout(patience, self.endpoint.wait_idle()).await;
        // What happened last is still to be noted.
        if let Some(path_log) = self.path_log {
            let _ = tokio::time::timeout(GOODBYE, path_log).await;
        }
    }
}

/// How long the goodbye takes with such paths: of the slowest that is in use, since of one that never answered the round trip
/// is a guess, and of one that fell silent nothing will come.
fn goodbye(paths: impl Iterator<Item = (PathState, Duration)>) -> Duration {
    let in_use = paths.filter(|(state, _)| *state == PathState::Active);
    let longest = in_use.map(|(_, round_trip)| round_trip).max().unwrap_or(GOODBYE);
    (longest + GOODBYE_MARGIN).min(GOODBYE)
}

/// Ends a connection whose handshake takes too long.
async fn close_unanswered(connection: Connection, patience: Duration) {
    if tokio::time::timeout(patience, connection.handshake_complete()).await.is_err() {
        connection.close(H3_NO_ERROR, b"no answer in time");
    }
}

/// The failure for an HTTP connection that ended.
fn lost(error: &h3::error::ConnectionError) -> Failure {
    Failure::new(Exit::ConnectionLost, describe_connection("server", error))
}

/// Connects to the host of a URL.
pub async fn connect_to(
    url: &Url,
    client: &ClientSetup,
    interrupt: &mut Interrupt,
) -> Result<Session, Failure> {
    Session::connect(&url.host, url.port, client, interrupt).await
}

/// The addresses of a host.
///
/// # Errors
/// When it has none.
pub async fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, Failure> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let failed = |error: Option<io::Error>| {
        let detail = error.map_or_else(String::new, |error| format!(": {error}"));
        Failure::new(Exit::NotResolved, format!("cannot find the address of `{host}`{detail}"))
    };
    let found: Vec<SocketAddr> =
        tokio::net::lookup_host((host, port)).await.map_err(|error| failed(Some(error)))?.collect();
    if found.is_empty() { Err(failed(None)) } else { Ok(found) }
}

/// What a look-up said the last time.
#[derive(Debug, Default)]
pub struct KnownAddresses(Mutex<Vec<SocketAddr>>);

impl KnownAddresses {
    /// How long a look-up may take where its last answer is known.
    const PATIENCE: Duration = Duration::from_secs(2);

    /// What was found.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Looks the host up, or returns what was found the last time.
    async fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, Failure> {
        let known = self.addresses();
        let found = if known.is_empty() {
            resolve(host, port).await?
        } else {
            match tokio::time::timeout(KnownAddresses::PATIENCE, resolve(host, port)).await {
                Ok(Ok(found)) => found,
                Ok(Err(_)) | Err(_) => return Ok(known),
            }
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = found.clone();
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second link that never answered has a guess of a third of a second: nobody waits for it.
    #[test]
    fn the_goodbye_is_for_paths_in_use() {
        let ms = Duration::from_millis;
        let paths =
            [(PathState::Active, ms(20)), (PathState::Validating, ms(999)), (PathState::Suspect, ms(400))];
        assert_eq!(goodbye(paths.into_iter()), ms(20) + GOODBYE_MARGIN);
        assert_eq!(goodbye([(PathState::Active, ms(3000))].into_iter()), GOODBYE);
        assert_eq!(goodbye(std::iter::empty()), GOODBYE);
    }
}
