//! What an endpoint creates a connection from.

use std::sync::Arc;

use hawser_policy::{LinkId, Side, Time};
use hawser_wire::ConnectionId;

use super::handshake::Tls;
use super::version::{ClientStart, VersionState};
use crate::crypto::Keys;
use crate::endpoint::{CidIssuer, TokenIssuer};
use crate::{EndpointConfig, FourTuple, TransportConfig};

/// All that a new [`Connection`](super::Connection) starts from.
pub(crate) struct ConnectionInit {
    pub(crate) side: Side,
    pub(crate) now: Time,
    /// The addresses of the handshake.
    pub(crate) tuple: FourTuple,
    /// Client: the local link of these addresses, if it is known.
    pub(crate) link: Option<LinkId>,
    /// TLS, with our transport parameters in it already.
    pub(crate) tls: Tls,
    pub(crate) version: VersionState,
    pub(crate) initial_keys: Keys,
    /// The local one, sequence number 0 of path 0. The endpoint routes it already: no event is due.
    pub(crate) local_cid: ConnectionId,
    /// Server: the local one with sequence number 1, if a preferred address was announced with it. The endpoint routes it, too.
    pub(crate) preferred_cid: Option<ConnectionId>,
    /// Client: whether to move to the address that the server prefers.
    pub(crate) follow_preferred_address: bool,
    /// Where the first packet goes. Client: random, as `original_destination`. Server: what the client chose.
    pub(crate) remote_cid: ConnectionId,
    /// Destination of the client's very first Initial, before any Retry.
    pub(crate) original_destination: ConnectionId,
    /// Server: source of the Retry that this client answered.
    pub(crate) retry_source: Option<ConnectionId>,
    /// Client: token for its Initial packets; empty if it has none.
    pub(crate) token: Vec<u8>,
    /// Server: a token proved the client's address.
    pub(crate) address_validated: bool,
    pub(crate) transport: Arc<TransportConfig>,
    pub(crate) endpoint: Arc<EndpointConfig>,
    pub(crate) cids: CidIssuer,
    /// Client: to check a Retry, and to start again.
    pub(crate) client: Option<Box<ClientStart>>,
    /// Server: makes tokens for NEW_TOKEN frames.
    pub(crate) token_issuer: Option<TokenIssuer>,
    /// For all else that is random in the connection.
    pub(crate) seed: [u8; 32],
}
