//! What the application may do with an incoming connection.

use std::sync::Arc;

use hawser_policy::{Side, Time};

use super::stateless;
use super::tokens::TokenGate;
use super::{
    AcceptError, AcceptErrorReason, ConnectionHandle, Datagram, Endpoint, Incoming, RetryError,
    StatelessDatagram,
};
use crate::connection::handshake::{FirstFlight, Tls};
use crate::connection::init::ConnectionInit;
use crate::connection::parameters::{self, OurHandshakeCids};
use crate::connection::version::VersionState;
use crate::{Code, Connection, ServerConfig, TransportError};

impl Endpoint {
    /// Makes a connection of it and gives it what the client has sent so far. With `config` it behaves as said there, not
    /// as the endpoint's server configuration says.
    ///
    /// # Errors
    /// It waited too long, or `config` does not speak the client's version; the client is told by the response in the error.
    pub fn accept(
        &mut self,
        now: Time,
        incoming: Incoming,
        config: Option<Arc<ServerConfig>>,
    ) -> Result<(ConnectionHandle, Connection), AcceptError> {
        let (handle, mut connection, datagrams) = self.admit(now, incoming, config)?;
        for datagram in datagrams {
            connection.handle_datagram(now, datagram);
        }
        Ok((handle, connection))
    }

    /// Makes a connection of it, and returns what the client has sent so far, which the connection is to be handed next by
    /// [`Connection::handle_datagram`]. That is where the cryptography of the handshake is, for which the endpoint is not
    /// needed: drivers that share it do the rest without holding it.
    ///
    /// # Errors
    /// As [`accept`](Self::accept).
    pub fn admit(
        &mut self,
        now: Time,
        incoming: Incoming,
        config: Option<Arc<ServerConfig>>,
    ) -> Result<(ConnectionHandle, Connection, Vec<Datagram>), AcceptError> {
        let Some(pending) = self.pending.remove(incoming.id) else {
            return Err(AcceptError { reason: AcceptErrorReason::Expired, response: None });
        };
        self.routes.remove_pending(&incoming.cids.destination, incoming.id);
        let Some(config) = config.or_else(|| self.accepting().map(|server| server.config.clone())) else {
            return Err(AcceptError {
                reason: AcceptErrorReason::NoServerConfig,
                response: refusal(&incoming).map(Box::new),
            });
        };
        let (version, destination) = (incoming.cids.version, incoming.cids.destination);
        if !config.versions.contains(version) {
            return Err(AcceptError {
                reason: AcceptErrorReason::Version(version),
                response: refusal(&incoming).map(Box::new),
            });
        }
        let (init, first) = self.server_init(now, incoming, &config);
        let handle = self.routes.insert(init.local_cid);
        if let Some(id) = init.preferred_cid {
            self.routes.add_local(handle, id);
        }
        self.routes.set_initial(handle, destination);
        let datagrams = std::iter::once(first).chain(pending.datagrams).collect();
        Ok((handle, Connection::new(init), datagrams))
    }

    /// Tells the client that it will not be served. The answer is to be sent if there is one.
    //= rfc9000-5.2.2-4: a refused connection gets CONNECTION_REFUSED
    pub fn refuse(&mut self, incoming: Incoming) -> Option<StatelessDatagram> {
        let response = refusal(&incoming);
        self.ignore(incoming);
        response
    }

    /// Asks the client to prove its address first. The answer is to be sent; the client's next Initial packet makes a new
    /// [`Incoming`].
    ///
    /// # Errors
    /// It has answered a Retry already, or there is no server configuration any more to make a token with.
    pub fn retry(&mut self, now: Time, incoming: Incoming) -> Result<StatelessDatagram, RetryError> {
        let remote = incoming.tuple().remote;
        let packet = incoming.may_retry().then(|| self.retry_packet(now, remote, &incoming.cids)).flatten();
        let Some(bytes) = packet else { return Err(RetryError(Box::new(incoming))) };
        let tuple = incoming.tuple();
        self.ignore(incoming);
        Ok(StatelessDatagram::new(tuple, bytes))
    }

    /// Forgets it without an answer. If the client tries again, that is a new one.
    pub fn ignore(&mut self, incoming: Incoming) {
        self.pending.remove(incoming.id);
        self.routes.remove_pending(&incoming.cids.destination, incoming.id);
    }

    /// Whether it can still be accepted. One that waited for [`Incoming::LIFETIME`] can not: a caller that keeps a queue of them
    /// may drop it, and with that the queue is no longer than the endpoint lets connections wait.
    pub fn is_pending(&self, incoming: &Incoming) -> bool {
        self.pending.contains(incoming.id)
    }

    //= rfc9000-7.2-5: a server sends to the source connection id of the first Initial
    fn server_init(
        &mut self,
        now: Time,
        incoming: Incoming,
        config: &ServerConfig,
    ) -> (ConnectionInit, super::Datagram) {
        let mut cids = self.cid_issuer();
        let (local_cid, reset_token) = cids.issue();
        let preferred = parameters::preferred_address(&config.preferred_addresses, &mut cids);
        let ours = OurHandshakeCids::Server {
            initial_source: local_cid,
            reset_token,
            original_destination: incoming.original_destination,
            retry_source: incoming.retry_source,
            preferred,
            is_routable: cids.is_routable(&local_cid),
        };
        let parameters = parameters::local_parameters(&config.transport, &self.config, &ours);
        let parameters = parameters::encode(&parameters, config.transport.grease, &mut self.random);
        let version = incoming.cids.version;
        let first_flight = FirstFlight {
            crypto: config.crypto.clone(),
            parameters,
            versions: config.versions.clone(),
            preference: config.version_preference,
            reserved: parameters::reserved_version(config.transport.grease, &local_cid),
            original: version,
            destination: incoming.cids.destination,
            received: Vec::new(),
        };
        // Tokens come back to the endpoint, so they are sealed with its key if it has one.
        let token_issuer = match &self.server {
            Some(server) => server.gate.issuer(config.tokens_per_connection),
            None => TokenGate::new(config, self.clock).issuer(config.tokens_per_connection),
        };
        let init = ConnectionInit {
            side: Side::Server,
            now,
            tuple: incoming.tuple(),
            link: None,
            tls: Tls::FirstFlight(Box::new(first_flight)),
            version: VersionState::new(version, config.versions.clone()),
            initial_keys: incoming.keys,
            local_cid,
            preferred_cid: preferred.map(|preferred| preferred.connection_id),
            follow_preferred_address: false,
            remote_cid: incoming.cids.source,
            original_destination: incoming.original_destination,
            retry_source: incoming.retry_source,
            token: Vec::new(),
            address_validated: incoming.address_validated,
            transport: config.transport.clone(),
            endpoint: self.config.clone(),
            cids,
            client: None,
            token_issuer: Some(token_issuer),
            seed: self.seed(),
        };
        (init, incoming.datagram)
    }
}

/// RFC 9000 section 5.2.2.
fn refusal(incoming: &Incoming) -> Option<StatelessDatagram> {
    let error = TransportError::new(Code::CONNECTION_REFUSED, "");
    let bytes = stateless::initial_close(&incoming.cids, &incoming.keys, &error).ok()?;
    Some(StatelessDatagram::new(incoming.tuple(), bytes))
}
