//! What all connections of a set of sockets share: routing, accepting, and answers that need no connection.
//!
//! An [`Endpoint`] is asked about every received datagram. It finds the connection by the destination connection id,
//! which it knows because connections report theirs as [`EndpointEvent`]s. What is for no connection is, at a server,
//! perhaps the first packet of a new one; otherwise it is answered without keeping anything (Version Negotiation,
//! Retry, a refusal, a stateless reset) or dropped.
//!
//! What strangers can make the endpoint keep is bounded: [`Incoming`] connections by number and by the datagrams
//! buffered for them, connections in the handshake by Retry, connections by number. What it answers is bounded too: no
//! answer is longer than what it answers, and the rate is limited, for each source and in total.

mod accept;
mod answer_limit;
pub(crate) mod cid;
mod group;
mod incoming;
mod keyed_hash;
mod member;
mod nonces;
mod receive;
mod routes;
mod stateless;
pub(crate) mod tokens;
pub(crate) mod types;

use std::sync::Arc;

use hawser_policy::{LinkId, Side, Time};
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha20Rng;

use self::answer_limit::{AnswerLimit, AnswerRates, HandshakeLimit, Rate};
use self::cid::{CidScheme, MIN_CID_LENGTH, ResetKey, random_cid};
use self::incoming::PendingTable;
use self::routes::Routes;
use self::tokens::{TokenGate, WallClock};
use crate::connection::handshake::Tls;
use crate::connection::init::ConnectionInit;
use crate::connection::parameters::{self, OurHandshakeCids};
use crate::connection::version::{ClientStart, VersionState};
use crate::{ClientConfig, Connection, EndpointConfig, FourTuple, ServerConfig};

pub(crate) use self::cid::{CidIssuer, local_cid_length};
pub use self::group::EndpointGroup;
pub use self::incoming::Incoming;
pub(crate) use self::tokens::TokenIssuer;
pub use self::types::{
    AcceptError, AcceptErrorReason, ConnectError, ConnectionHandle, Datagram, EndpointEvent, RetryError,
    Routed, StatelessDatagram, Transmit,
};

/// Stateless resets. They only speed up what a timeout does as well.
const RESETS: AnswerRates = AnswerRates {
    total: Rate { per_second: 500, burst: 100 },
    per_source: Rate { per_second: 50, burst: 10 },
};

/// Other answers to strangers: Version Negotiation, Retry and refusals. They are shorter than what they answer; the
/// limit only keeps a flood from taking the upstream as well.
const ANSWERS: AnswerRates = AnswerRates {
    total: Rate { per_second: 50_000, burst: 5_000 },
    per_source: Rate { per_second: 5_000, burst: 500 },
};

/// Routes datagrams to connections, and makes connections.
pub struct Endpoint {
    config: Arc<EndpointConfig>,
    cid_length: usize,
    reset_key: ResetKey,
    clock: WallClock,
    /// How connections are accepted, or were: refusals need what it says, too.
    server: Option<Server>,
    /// Whether it accepts none any more.
    is_withdrawn: bool,
    reject_new: bool,
    random: ChaCha20Rng,
    routes: Routes,
    cid_scheme: CidScheme,
    pending: PendingTable,
    reset_limit: AnswerLimit,
    answer_limit: AnswerLimit,
    /// Where a packet is decrypted whose bytes are still needed.
    scratch: Vec<u8>,
}

struct Server {
    config: Arc<ServerConfig>,
    gate: TokenGate,
    handshake_limit: Option<HandshakeLimit>,
}

impl Endpoint {
    /// An endpoint that opens connections, and also accepts them if `server` is given.
    ///
    /// All that is random in it and its connections derives from `seed`, which must be secret and new each time, except
    /// in simulations.
    pub fn new(config: Arc<EndpointConfig>, server: Option<Arc<ServerConfig>>, seed: [u8; 32]) -> Self {
        let mut random = ChaCha20Rng::from_seed(seed);
        let mut hash_keys = [[0; 16]; 2];
        hash_keys.iter_mut().for_each(|key| random.fill_bytes(key));
        let routes = Routes::new(hash_keys);
        let source_key = routes.source_key();
        let mut endpoint = Endpoint {
            cid_length: local_cid_length(&config),
            reset_key: ResetKey::of(&config),
            clock: WallClock { origin: config.unix_time_at_origin },
            cid_scheme: CidScheme::new(&config, &mut random),
            config,
            server: None,
            is_withdrawn: true,
            reject_new: false,
            random,
            routes,
            pending: PendingTable::default(),
            reset_limit: AnswerLimit::new(&RESETS, source_key.clone()),
            answer_limit: AnswerLimit::new(&ANSWERS, source_key),
            scratch: Vec::new(),
        };
        endpoint.set_server_config(server);
        endpoint
    }

    /// Changes how connections are accepted from now on; `None`: not at all, and new clients are refused, as with
    /// [`reject_new`](Self::reject_new) (an endpoint that never accepted any answers none). Tokens sealed with another key than the new
    /// one no longer prove anything.
    pub fn set_server_config(&mut self, server: Option<Arc<ServerConfig>>) {
        self.is_withdrawn = server.is_none();
        let Some(config) = server else { return };
        let gate = match self.server.take() {
            Some(previous) => previous.gate.reconfigure(&config),
            None => TokenGate::new(&config, self.clock),
        };
        let key = self.routes.source_key();
        let per_second = config.handshakes_per_source;
        let handshake_limit = per_second.map(|per_second| HandshakeLimit::new(per_second, &key));
        self.server = Some(Server { config, gate, handshake_limit });
    }

    /// How connections are accepted now, if they are.
    fn accepting(&self) -> Option<&Server> {
        self.server.as_ref().filter(|_| !self.is_withdrawn)
    }

    /// Whether to refuse every new connection, as before a shutdown.
    pub fn reject_new(&mut self, reject: bool) {
        self.reject_new = reject;
    }

    /// Connections that exist, those that are closing included.
    pub fn connections(&self) -> usize {
        self.routes.len()
    }

    /// Connections whose handshake is not complete, and those not yet accepted.
    pub fn handshakes(&self) -> usize {
        self.routes.handshaking() + self.pending.len()
    }

    /// The length of all connection ids that this endpoint issues, in bytes.
    pub fn connection_id_length(&self) -> usize {
        self.cid_length
    }

    /// Opens a connection over `tuple` to the server that TLS is to know as `server_name`.
    ///
    /// # Errors
    /// The address cannot be reached in principle, or TLS does not take the name.
    pub fn connect(
        &mut self,
        now: Time,
        config: ClientConfig,
        tuple: FourTuple,
        server_name: &str,
    ) -> Result<(ConnectionHandle, Connection), ConnectError> {
        self.connect_over(now, config, tuple, None, server_name)
    }

    /// The same, where the local link of `tuple` is known: path 0 is of this link from the start, so that its congestion
    /// controller knows it, too.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    //= rfc9000-7.2-1: the first destination connection id has 8 bytes at least
    //= rfc9000-8.1.3-6: a token that the client has is used
    pub fn connect_over(
        &mut self,
        now: Time,
        config: ClientConfig,
        tuple: FourTuple,
        link: Option<LinkId>,
        server_name: &str,
    ) -> Result<(ConnectionHandle, Connection), ConnectError> {
        if tuple.remote.port() == 0 || tuple.remote.ip().is_unspecified() {
            return Err(ConnectError::InvalidRemote(tuple.remote));
        }
        let version = config.first_version;
        if !config.versions.contains(version) {
            return Err(ConnectError::FirstVersion(version));
        }
        let mut cids = self.cid_issuer();
        let (local_cid, _) = cids.issue();
        // RFC 9000 section 7.2: unpredictable, and at least 8 bytes.
        let destination = random_cid(MIN_CID_LENGTH, &mut self.random);
        let ours = OurHandshakeCids::Client { initial_source: local_cid };
        let parameters = parameters::local_parameters(&config.transport, &self.config, &ours);
        let parameters = parameters::encode(&parameters, config.transport.grease, &mut self.random);
        let start = ClientStart {
            crypto: config.crypto,
            server_name: server_name.to_owned(),
            port: tuple.remote.port(),
            parameters,
            reserved: parameters::reserved_version(config.transport.grease, &local_cid),
        };
        let session = start.session(version, &config.versions).map_err(ConnectError::Tls)?;
        let token = config.token.filter(|_| config.token_version == version);
        let connection = Connection::new(ConnectionInit {
            side: Side::Client,
            now,
            tuple,
            link,
            tls: Tls::Session(session),
            version: VersionState::new(version, config.versions),
            initial_keys: start.crypto.initial_keys(version, &destination, Side::Client),
            local_cid,
            preferred_cid: None,
            follow_preferred_address: config.follow_preferred_address,
            remote_cid: destination,
            original_destination: destination,
            retry_source: None,
            token: token.unwrap_or_default(),
            address_validated: true,
            transport: config.transport,
            endpoint: self.config.clone(),
            cids,
            client: Some(Box::new(start)),
            token_issuer: None,
            seed: self.seed(),
        });
        Ok((self.routes.insert(local_cid), connection))
    }

    /// Takes what a connection reports. Must happen before the next datagram is handled, or late packets are taken for
    /// strangers.
    pub fn handle_event(&mut self, connection: ConnectionHandle, event: EndpointEvent) {
        match event {
            EndpointEvent::CidAdded(id) => self.routes.add_local(connection, id),
            EndpointEvent::CidRemoved(id) => self.routes.remove_local(connection, id),
            EndpointEvent::ResetTokenAdded { remote, token } => {
                self.routes.add_reset(connection, remote, token)
            }
            EndpointEvent::ResetTokenRemoved { remote, token } => {
                self.routes.remove_reset(connection, remote, token);
            }
            EndpointEvent::HandshakeDone => self.routes.handshake_done(connection),
            EndpointEvent::Drained => self.routes.remove(connection),
        }
    }

    fn cid_issuer(&mut self) -> CidIssuer {
        CidIssuer::new(self.cid_scheme.clone(), self.reset_key.clone(), self.seed())
    }

    #[cfg(test)]
    pub(crate) fn use_up_nonces(&self) {
        self.cid_scheme.use_up_nonces();
    }

    fn seed(&mut self) -> [u8; 32] {
        let mut seed = [0; 32];
        self.random.fill_bytes(&mut seed);
        seed
    }
}

#[cfg(test)]
mod tests;
