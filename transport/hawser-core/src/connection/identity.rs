//! Who the ends of a connection are during the handshake: addresses, connection ids, tokens.

use std::net::SocketAddr;

use hawser_wire::ConnectionId;

use super::version::ClientStart;

/// What both ends call each other until the handshake is over (RFC 9000 sections 7.2 and 7.3).
pub(crate) struct Identity {
    /// Where the peer was during the handshake.
    pub(crate) remote: SocketAddr,
    /// Our connection id in long headers.
    pub(crate) local_cid: ConnectionId,
    /// What the client's first Initial was sent to.
    pub(crate) original_destination: ConnectionId,
    /// The server's id from a Retry packet.
    pub(crate) retry_source: Option<ConnectionId>,
    /// The server's id from its first Initial.
    pub(crate) server_source: Option<ConnectionId>,
    /// Whether to go where the server would rather be reached (client).
    pub(crate) follow_preferred: bool,
    /// Where that is, until the handshake is confirmed (client).
    pub(crate) preferred: Option<SocketAddr>,
    /// Token for Initial packets (client).
    pub(crate) token: Vec<u8>,
    /// To check a Retry and start again, until the handshake is complete (client).
    pub(crate) client: Option<Box<ClientStart>>,
}

impl Identity {
    /// The client heard from the server under this connection id; whether it was for the first time.
    //= rfc9000-7.2-4: the destination connection id changes with the first Initial or Retry only
    pub(crate) fn on_server_source(&mut self, source: ConnectionId) -> bool {
        let is_first = self.server_source.is_none();
        self.server_source.get_or_insert(source);
        is_first
    }
}
