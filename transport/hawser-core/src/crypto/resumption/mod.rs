//! Sessions of clients that outlive the process (RFC 8446 section 2.2).
//!
//! A [`SessionStore`] keeps tickets as bytes. rustls 0.23 keeps a ticket as a value that can be neither written nor made:
//! it comes from a handshake, and from nothing else. So that is how it is made again ([`replica`]): the ticket is given to
//! rustls at the end of a handshake in memory, with a server that has the certificates, transport parameters and cipher
//! suite of the real one, and the one secret that is different, the key of the ticket, is put in its place on the way
//! ([`tap`]). The handshake asks the client's verifier about the certificates, so a ticket is of no use to a client that
//! would not trust its server any more, wherever it was kept.

mod replica;
pub(super) mod tap;
#[cfg(test)]
mod tests;
mod ticket;

use std::sync::{Arc, Mutex, PoisonError};

use ::rustls::client::{ClientSessionStore, Resumption, Tls12ClientSessionValue, Tls13ClientSessionValue};
use ::rustls::pki_types::ServerName;
use ::rustls::{ClientConfig, Error, NamedGroup, quic};
use hawser_wire::Version;

pub use self::replica::ResumableVerifier;
use self::ticket::Ticket;
use super::ServerId;
use super::rustls::library_version;

/// Where a client keeps what servers gave it for later connections. What it keeps is secret: with a ticket one can read the
/// 0-RTT data of the connection that uses it.
///
/// Servers are told apart by a text: the name that was asked for, the port, the QUIC version and the application protocols that
/// were offered.
pub trait SessionStore: Send + Sync {
    /// Keeps a ticket, at most 32 KiB. Of several the newest is worth most.
    fn put_ticket(&self, server: &str, ticket: Vec<u8>);

    /// Gives a ticket out and forgets it: used twice, it would tell those on the way that it is the same client
    /// (RFC 8446 appendix C.4), and servers take 0-RTT only once.
    fn take_ticket(&self, server: &str) -> Option<Vec<u8>>;

    /// Keeps an address token (RFC 9000 section 8.1.3).
    fn put_token(&self, server: &str, token: Vec<u8>);

    /// Gives a token out and forgets it (RFC 9000 section 8.1.3: not to be used twice).
    fn take_token(&self, server: &str) -> Option<Vec<u8>>;

    /// Keeps what the application protocol wants to remember with the tickets of a server, at most
    /// 512 bytes: it holds for 0-RTT of the next connection, as the SETTINGS of HTTP/3 do (RFC 9114
    /// section 7.2.4.2). Tickets are for the state that was kept with them: when another one takes its place, they are
    /// forgotten.
    fn put_application_state(&self, server: &str, state: Vec<u8>);

    /// What was kept of the application protocol.
    fn application_state(&self, server: &str) -> Option<Vec<u8>>;
}

/// Bytes that an application protocol may keep of a server. More are not kept.
pub const MAX_APPLICATION_STATE: usize = 512;

/// Bytes of a ticket in a [`SessionStore`]: it holds a certificate chain. Larger ones are not kept.
pub const MAX_TICKET: usize = 32 * 1024;

/// Tickets kept of one connection. Servers send as many as they like.
const MAX_TICKETS_PER_CONNECTION: usize = 4;

/// Stored tickets that are tried for one connection: old ones cannot be used any more.
const MAX_TRIES: usize = 4;

/// Bytes of a handshake message that is looked into. rustls takes no longer ones.
const MAX_MESSAGE: usize = 0xffff;

/// TLS handshake type new_session_ticket.
const NEW_SESSION_TICKET: u8 = 4;

/// The text by which a [`SessionStore`] knows a server. Tickets and tokens are for one version (RFC 9369 section 5).
//= rfc9000-8.1.3-7: a token goes to its server only
pub(crate) fn server_key(version: Version, server: ServerId<'_>, protocols: &[Vec<u8>]) -> String {
    let protocols = protocols.iter().map(|protocol| protocol.escape_ascii().to_string());
    let server = [format!("{}:{}", server.name.to_ascii_lowercase(), server.port), format!("v{version}")];
    server.into_iter().chain(protocols).collect::<Vec<_>>().join(" ")
}

/// A client configuration whose tickets are kept in a store.
pub(super) struct StoredSessions {
    store: Arc<dyn SessionStore>,
    /// The ticket for the connection that begins. New ones are kept by the [`TicketKeeper`].
    next: Arc<Slot>,
    /// One connection begins at a time, or another one would get its ticket.
    beginning: Mutex<()>,
}

impl StoredSessions {
    /// The store, and the configuration that uses it.
    pub(super) fn new(config: &ClientConfig, store: Arc<dyn SessionStore>) -> (Self, Arc<ClientConfig>) {
        let next = Arc::new(Slot::new(false));
        let mut config = config.clone();
        config.resumption = Resumption::store(next.clone());
        (StoredSessions { store, next, beginning: Mutex::new(()) }, Arc::new(config))
    }

    /// Begins a connection with a ticket from the store, if there is one that can be used.
    //= rfc9001-4.5-1: tickets are not used twice
    pub(super) fn connect(
        &self,
        config: &Arc<ClientConfig>,
        version: Version,
        name: ServerName<'static>,
        port: u16,
        parameters: Vec<u8>,
    ) -> Result<(quic::ClientConnection, TicketKeeper), Error> {
        let host = name.to_str().into_owned();
        let server = server_key(version, ServerId { name: &host, port }, &config.alpn_protocols);
        let _beginning = self.beginning.lock().unwrap_or_else(PoisonError::into_inner);
        let stored = std::iter::from_fn(|| self.store.take_ticket(&server)).take(MAX_TRIES);
        let restored =
            stored.filter_map(|bytes| replica::restore(config, &name, &Ticket::decode(&bytes)?)).next();
        self.next.set(restored);
        let connection =
            quic::ClientConnection::new(config.clone(), library_version(version), name, parameters);
        self.next.set(None);
        let left = MAX_TICKETS_PER_CONNECTION;
        let (store, config) = (self.store.clone(), config.clone());
        Ok((connection?, TicketKeeper { store, config, host, port, pending: Vec::new(), left }))
    }
}

/// Room for one ticket, where rustls finds it or leaves it.
#[derive(Debug)]
struct Slot {
    /// Whether rustls may leave one.
    takes_new: bool,
    ticket: Mutex<Option<Tls13ClientSessionValue>>,
}

impl Slot {
    fn new(takes_new: bool) -> Self {
        Slot { takes_new, ticket: Mutex::new(None) }
    }

    fn set(&self, ticket: Option<Tls13ClientSessionValue>) {
        *self.ticket.lock().unwrap_or_else(PoisonError::into_inner) = ticket;
    }

    fn take(&self) -> Option<Tls13ClientSessionValue> {
        self.ticket.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl ClientSessionStore for Slot {
    fn set_kx_hint(&self, _: ServerName<'static>, _: NamedGroup) {}

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        None
    }

    fn set_tls12_session(&self, _: ServerName<'static>, _: Tls12ClientSessionValue) {}

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        None
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {}

    fn insert_tls13_ticket(&self, _: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        if self.takes_new {
            self.set(Some(ticket));
        }
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.take()
    }
}

/// Keeps the tickets of one connection.
pub(super) struct TicketKeeper {
    store: Arc<dyn SessionStore>,
    config: Arc<ClientConfig>,
    /// Name and port of the server.
    host: String,
    port: u16,
    /// The beginning of a message after the handshake.
    pending: Vec<u8>,
    /// How many more are kept.
    left: usize,
}

impl TicketKeeper {
    /// Reads messages that come after the handshake, one by one.
    /// `version` is that of the connection.
    pub(super) fn read(
        &mut self,
        version: Version,
        connection: &mut quic::Connection,
        data: &[u8],
    ) -> Result<(), Error> {
        if self.left == 0 {
            let pending = std::mem::take(&mut self.pending);
            if !pending.is_empty() {
                connection.read_hs(&pending)?;
            }
            return connection.read_hs(data);
        }
        self.pending.extend_from_slice(data);
        while let Some(length) = self.next_length() {
            if length > MAX_MESSAGE {
                self.left = 0;
                return self.read(version, connection, &[]);
            }
            if length > self.pending.len() {
                break;
            }
            let rest = self.pending.split_off(length);
            let message = std::mem::replace(&mut self.pending, rest);
            let (read, key) = tap::watch(None, || connection.read_hs(&message));
            read?;
            if let Some(key) = key.filter(|_| message.first() == Some(&NEW_SESSION_TICKET) && self.left > 0) {
                self.keep(version, connection, message, key);
            }
        }
        Ok(())
    }

    /// Length of the message at the beginning of what is pending.
    fn next_length(&self) -> Option<usize> {
        let &[_, a, b, c] = self.pending.first_chunk::<4>()?;
        Some(4 + u32::from_be_bytes([0, a, b, c]) as usize)
    }

    fn keep(&mut self, version: Version, connection: &quic::Connection, message: Vec<u8>, key: Vec<u8>) {
        let (Some(suite), Some(parameters), Some(chain), Some(now)) = (
            connection.negotiated_cipher_suite(),
            connection.quic_transport_parameters(),
            connection.peer_certificates(),
            self.config.time_provider.current_time(),
        ) else {
            return;
        };
        let ticket = Ticket {
            suite: suite.suite(),
            received_at: now.as_secs(),
            key,
            message,
            parameters: parameters.to_vec(),
            chain: chain.iter().map(|certificate| certificate.clone().into_owned()).collect(),
        };
        let encoded = ticket.encode();
        if encoded.len() <= MAX_TICKET {
            self.left -= 1;
            let server = ServerId { name: &self.host, port: self.port };
            let server = server_key(version, server, &self.config.alpn_protocols);
            self.store.put_ticket(&server, encoded);
        }
    }
}
