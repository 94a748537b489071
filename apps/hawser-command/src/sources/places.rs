//! Places for clients, which they take when their handshake is complete.

use std::future::IntoFuture;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use hawser::{AcceptError, Connection, Endpoint, Incoming, LoggedAddress, ServerConfigBuilder};

use super::pool::{Pool, Taken};
use super::seats::{Occupant, Seat, Seats};

/// Handshakes that one source may begin per second, unless an option says otherwise.
const HANDSHAKES_PER_SECOND: u32 = 200;
/// Handshakes under way whose clients have proven their address. Those of others have the limit of
/// [`ServerConfigBuilder::retry_above_handshakes`].
const MAX_PROVEN: usize = 4096;
/// Handshakes of addresses that may be forged, above which clients must prove theirs.
const MAX_UNPROVEN: usize = 1000;
/// How long a handshake may take: as long as clients wait for one.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes on the wire that count as much as one of a stream.
const WIRE_BYTES: u64 = 64;
/// What a client is told for which there is no place.
const TOO_MANY: &[u8] = b"too many connections from this address";
/// What a client is told that has lost its place.
const GAVE_WAY: &[u8] = b"others wait for a place, and this connection did nothing";

/// The clients of a server, and what their sources have. Cheap to clone.
///
/// Before the handshake only those are turned away whose source has its share of places already. Packets with a forged source
/// take none: a place is taken when the handshake proves that the client is there. From half of the places on clients prove
/// their address first (Retry).
///
/// Who comes when his source has its share, or when there is no place left at all, gets that of a connection that does less than
/// [`LEAST_RATE`](super::pace::LEAST_RATE): somebody behind the same address cannot lock him out by opening connections.
#[derive(Clone, Debug)]
pub struct Sources {
    most: usize,
    places: Seats<Seated>,
    proven: Pool,
    handshakes_per_second: u32,
}

/// A client that asks for a connection.
#[derive(Debug)]
pub struct Waiting {
    /// The handshake to accept or refuse.
    pub incoming: Incoming,
    /// Where it comes from.
    pub remote: SocketAddr,
    proven: Option<Taken>,
    places: Seats<Seated>,
}

/// A connection that has a place.
#[derive(Debug)]
struct Seated {
    connection: Connection,
    /// What it is told when it loses it.
    code: u64,
}

impl Occupant for Seated {
    fn moved(&self) -> u64 {
        let stats = self.connection.stats();
        // A part of all that is on the wire stands for what tunnels carry in datagrams: little enough that probes are nothing.
        let wire = stats.bytes_sent.saturating_add(stats.bytes_received) / WIRE_BYTES;
        stats.stream_bytes_acked.saturating_add(stats.stream_bytes_received).saturating_add(wire)
    }

    fn give_way(self) {
        self.connection.close(self.code, GAVE_WAY);
    }
}

/// A client whose handshake is complete, with its place.
#[derive(Debug)]
pub struct Client {
    /// The connection.
    pub connection: Connection,
    /// The address that it connected from.
    pub remote: SocketAddr,
    _place: Place,
}

/// What a client keeps as long as it is served.
#[derive(Debug)]
enum Place {
    Taken {
        _place: Seat<Seated>,
    },
    /// To be taken when the handshake is complete; the task ends with this value.
    Later {
        _task: JoinSet<()>,
    },
}

impl Sources {
    /// So many places, of which a source has at most an eighth.
    pub fn new(most: usize) -> Self {
        Sources {
            most,
            places: Seats::new(most),
            proven: Pool::new(MAX_PROVEN),
            handshakes_per_second: HANDSHAKES_PER_SECOND,
        }
    }

    /// With so many places for one source; `None`: as many as there are.
    #[must_use]
    pub fn places_per_source(mut self, most: Option<usize>) -> Self {
        self.places = Seats::with_share(self.most, most.unwrap_or(self.most));
        self
    }

    /// With so many handshakes per second for one source; 0: no limit.
    #[must_use]
    pub fn handshakes_per_second(mut self, limit: u32) -> Self {
        self.handshakes_per_second = limit;
        self
    }

    /// What the endpoint itself has to see to.
    pub fn server(&self, builder: ServerConfigBuilder) -> ServerConfigBuilder {
        let unproven = (self.most / 2).clamp(1, MAX_UNPROVEN);
        let builder = builder.retry_above_handshakes(unproven);
        match self.handshakes_per_second {
            0 => builder,
            limit => builder.handshakes_per_source(limit),
        }
    }

    /// The next client that there may be a place for; `None` when the endpoint is closed.
    pub async fn accept(&self, endpoint: &Endpoint) -> Option<Waiting> {
        loop {
            let incoming = endpoint.accept().await?;
            if let Some(waiting) = self.judge(incoming) {
                return Some(waiting);
            }
        }
    }

    fn judge(&self, incoming: Incoming) -> Option<Waiting> {
        let remote = incoming.remote_address();
        let turn_away = |incoming: Incoming| {
            tracing::info!(remote = %LoggedAddress(remote), "refused: there is no place left for this address");
            incoming.refuse();
            None
        };
        if !self.places.has_room(remote.ip(), Instant::now()) {
            return turn_away(incoming);
        }
        if !incoming.is_address_validated() {
            // A client that cannot be asked again is handed back.
            let incoming = match self.places.free() <= self.most / 2 {
                true => match incoming.retry() {
                    Ok(()) => return None,
                    Err(incoming) => *incoming,
                },
                false => incoming,
            };
            return Some(Waiting { incoming, remote, proven: None, places: self.places.clone() });
        }
        match self.proven.try_take(remote.ip(), 1) {
            Some(proven) => {
                Some(Waiting { incoming, remote, proven: Some(proven), places: self.places.clone() })
            }
            None => turn_away(incoming),
        }
    }
}

impl Waiting {
    /// Completes the handshake. Says to the log why there is no connection, and to a client for which there is no place
    /// any more that it is refused (`code` of the application).
    pub async fn connect(self, code: u64) -> Option<Client> {
        let remote = self.remote;
        self.try_connect(code).await.unwrap_or_else(|error| {
            tracing::info!(remote = %LoggedAddress(remote), %error, "no connection");
            None
        })
    }

    /// The same, where the caller has to know how a handshake failed. `None`: it took too long, or there is no place.
    ///
    /// # Errors
    /// The handshake failed.
    pub async fn try_connect(self, code: u64) -> Result<Option<Client>, AcceptError> {
        let Waiting { incoming, remote, proven, places } = self;
        let Ok(connected) = tokio::time::timeout(HANDSHAKE_TIMEOUT, incoming.into_future()).await else {
            tracing::info!(remote = %LoggedAddress(remote), "no connection: the handshake took too long");
            return Ok(None);
        };
        drop(proven);
        Ok(seat(connected?, remote, &places, code))
    }

    /// A connection that is used before its handshake is complete (0-RTT). Its place is taken then, and it is closed if all
    /// are taken, or if the handshake takes too long.
    ///
    /// # Errors
    /// It cannot be accepted.
    pub fn connect_early(self, code: u64) -> Result<Client, AcceptError> {
        let Waiting { incoming, remote, proven, places } = self;
        let connection = incoming.accept()?.into_early();
        let early = connection.clone();
        let mut task = JoinSet::new();
        task.spawn(async move {
            let complete = tokio::time::timeout(HANDSHAKE_TIMEOUT, early.handshake_complete()).await;
            drop(proven);
            match complete {
                Ok(Ok(_)) => match take(&early, remote, &places, code) {
                    Some(_place) => std::future::pending().await,
                    None => early.close(code, TOO_MANY),
                },
                Ok(Err(_)) => {}
                Err(_) => early.close(code, b"the handshake took too long"),
            }
        });
        Ok(Client { connection, remote, _place: Place::Later { _task: task } })
    }
}

/// A place for a connection whose handshake is complete.
fn take(
    connection: &Connection,
    remote: SocketAddr,
    places: &Seats<Seated>,
    code: u64,
) -> Option<Seat<Seated>> {
    let seated = Seated { connection: connection.clone(), code };
    places.try_take(remote.ip(), Instant::now(), seated)
}

fn seat(connection: Connection, remote: SocketAddr, places: &Seats<Seated>, code: u64) -> Option<Client> {
    let Some(place) = take(&connection, remote, places, code) else {
        connection.close(code, TOO_MANY);
        return None;
    };
    Some(Client { connection, remote, _place: Place::Taken { _place: place } })
}

#[cfg(test)]
mod tests {
    use hawser::{ClientConfig, Identity, Links, ServerConfig, Trust};

    use super::*;

    const CODE: u64 = 7;

    /// A server with these places, and a client for it.
    fn pair(sources: &Sources) -> (Endpoint, Endpoint) {
        let identity = Identity::self_signed(&["localhost"]).unwrap();
        let trust = Trust::Pins(vec![identity.pin().unwrap()]);
        let config =
            sources.server(ServerConfig::builder(identity).alpn([b"test".as_slice()])).build().unwrap();
        let server = Endpoint::server(config, "127.0.0.1:0".parse().unwrap()).unwrap();
        let config = ClientConfig::builder().trust(trust).alpn([b"test".as_slice()]).build().unwrap();
        (server, Endpoint::client(config, Links::All).unwrap())
    }

    async fn connect(client: &Endpoint, server: &Endpoint) -> Option<Connection> {
        client.connect(server.listening()[0], "localhost").await.ok()
    }

    /// The next client of a server that another task connects meanwhile, whether it had proven its address, and its own end.
    async fn next(
        sources: &Sources,
        server: &Endpoint,
        client: &Endpoint,
    ) -> (Option<Client>, bool, Option<Connection>) {
        let accepting = async {
            let waiting = sources.accept(server).await.unwrap();
            let is_proven = waiting.proven.is_some();
            (waiting.connect(CODE).await, is_proven)
        };
        let ((seated, is_proven), connected) = tokio::join!(accepting, connect(client, server));
        (seated, is_proven, connected)
    }

    /// Moves so much that the server does not call the connection idle for a while.
    async fn upload(connection: &Connection, seated: &Client) {
        let mut stream = connection.open_uni().await.unwrap();
        stream.write_all(&[0; 200_000]).await.unwrap();
        stream.finish().unwrap();
        let mut arrived = seated.connection.accept_uni().await.unwrap();
        assert_eq!(arrived.read_to_end(1 << 20).await.unwrap().len(), 200_000);
    }

    #[tokio::test]
    async fn a_source_that_has_its_share_is_turned_away_until_it_leaves() {
        let sources = Sources::new(8);
        let (server, client) = pair(&sources);
        let (first, _, connection) = next(&sources, &server, &client).await;
        let first = first.unwrap();
        upload(&connection.unwrap(), &first).await;
        let refused = tokio::select! {
            refused = connect(&client, &server) => refused,
            _ = sources.accept(&server) => panic!("there is no place for it"),
        };
        assert!(refused.is_none());
        drop(first);
        assert!(next(&sources, &server, &client).await.0.is_some());
    }

    #[tokio::test]
    async fn an_idle_connection_gives_way_to_who_comes_from_the_same_address() {
        let sources = Sources::new(16);
        let (server, client) = pair(&sources);
        let (busy, _, uploading) = next(&sources, &server, &client).await;
        let (busy, uploading) = (busy.unwrap(), uploading.unwrap());
        upload(&uploading, &busy).await;
        let (idle, _, idling) = next(&sources, &server, &client).await;
        // What looks for larger packets right after the handshake is soon over.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let (late, _, connection) = next(&sources, &server, &client).await;
        assert!(late.is_some() && connection.is_some());
        let told = idling.unwrap().closed().await;
        assert!(matches!(told, hawser::ConnectionError::PeerApplication { code: CODE, .. }), "{told:?}");
        drop(idle);
        assert_eq!(sources.places.free(), 14, "its place was taken already");
        upload(&uploading, &busy).await;
    }

    #[tokio::test]
    async fn from_half_of_the_places_on_clients_prove_their_address() {
        let sources = Sources::new(4).places_per_source(None);
        let (server, client) = pair(&sources);
        let mut held = Vec::new();
        for proves in [false, false, true, true] {
            let (seated, is_proven, connection) = next(&sources, &server, &client).await;
            held.push((seated.unwrap(), connection));
            assert_eq!(is_proven, proves, "place {}", held.len());
        }
        assert_eq!((sources.places.free(), sources.proven.free()), (0, MAX_PROVEN));
    }

    /// Two handshakes run at the same time, and there is one place.
    #[tokio::test]
    async fn a_place_is_taken_when_the_handshake_is_complete() {
        let sources = Sources::new(1);
        let (server, client) = pair(&sources);
        let accepting = async {
            let (first, second) =
                (sources.accept(&server).await.unwrap(), sources.accept(&server).await.unwrap());
            tokio::join!(first.connect(CODE), second.connect(CODE))
        };
        let ((first, second), one, other) =
            tokio::join!(accepting, connect(&client, &server), connect(&client, &server));
        // Who was first has done nothing yet: he gives way.
        let told = tokio::select! {
            told = one.as_ref().unwrap().closed() => told,
            told = other.as_ref().unwrap().closed() => told,
        };
        assert!(matches!(told, hawser::ConnectionError::PeerApplication { code: CODE, .. }), "{told:?}");
        assert!(first.is_some() && second.is_some());
        assert_eq!(sources.places.free(), 0, "the other one has the place");
    }
}
