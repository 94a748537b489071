//! Connections that a client asked for and the application has not decided about.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::BytesMut;
use hawser_policy::Time;
use hawser_wire::ConnectionId;

use super::Datagram;
use super::stateless::InitialCids;
use crate::FourTuple;
use crate::crypto::Keys;

/// Datagrams kept for one connection until it is accepted. The largest ClientHello in use takes two, and a client may
/// send each three times in the time that an application should take; more are dropped and will be sent again.
const MAX_DATAGRAMS: usize = 8;

/// Bytes kept for one connection beyond its first datagram.
const MAX_BYTES: usize = 12 * 1024;

/// Bytes kept for all connections together beyond their first datagrams.
const MAX_TOTAL_BYTES: usize = 4 << 20;

/// Bytes of first datagrams; connections whose first one does not fit are refused. Room for [`MAX_INCOMING`] of the usual
/// size, while one over a network without an MTU may have 64 KiB.
pub(super) const MAX_FIRST_BYTES: usize = 8 << 20;

/// Connections that may wait for a decision; more are refused.
pub(super) const MAX_INCOMING: usize = 4096;

/// A client wants a connection: its Initial packet is authentic and its address is perhaps proven.
///
/// To be given to one of [`accept`](super::Endpoint::accept), [`refuse`](super::Endpoint::refuse),
/// [`retry`](super::Endpoint::retry) and [`ignore`](super::Endpoint::ignore) of the same endpoint.
#[must_use = "decide about the connection, or the endpoint keeps its datagrams for a while"]
pub struct Incoming {
    pub(super) id: u64,
    pub(super) cids: InitialCids,
    /// Destination of the client's very first Initial.
    pub(super) original_destination: ConnectionId,
    /// Source of our Retry, if the client answers one.
    pub(super) retry_source: Option<ConnectionId>,
    pub(super) address_validated: bool,
    pub(super) keys: Keys,
    /// The first datagram.
    pub(super) datagram: Datagram,
}

impl Incoming {
    /// How long the application may take to decide.
    pub const LIFETIME: Duration = Duration::from_secs(10);

    /// Where the client's packets come from. Can be forged unless [`is_address_validated`](Self::is_address_validated).
    pub fn remote_address(&self) -> SocketAddr {
        self.datagram.tuple.remote
    }

    /// Where they arrive.
    pub fn local_address(&self) -> SocketAddr {
        self.datagram.tuple.local
    }

    /// Whether a token proves that the client receives what is sent to its address.
    pub fn is_address_validated(&self) -> bool {
        self.address_validated
    }

    /// Whether the client may be sent a Retry: it has not answered one yet.
    pub fn may_retry(&self) -> bool {
        self.retry_source.is_none()
    }

    /// The connection id to which the client sent its first packet; names the connection in traces.
    pub fn original_destination(&self) -> ConnectionId {
        self.original_destination
    }

    pub(super) fn tuple(&self) -> FourTuple {
        self.datagram.tuple
    }
}

impl std::fmt::Debug for Incoming {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Incoming")
            .field("tuple", &self.datagram.tuple)
            .field("original_destination", &self.original_destination)
            .field("address_validated", &self.address_validated)
            .finish_non_exhaustive()
    }
}

/// What the endpoint keeps for an [`Incoming`] that the application holds.
pub(super) struct Pending {
    pub(super) destination: ConnectionId,
    remote: SocketAddr,
    expires: Time,
    /// What came after the first datagram.
    pub(super) datagrams: Vec<Datagram>,
    bytes: usize,
    /// Bytes of the first datagram, which the [`Incoming`] has.
    first: usize,
}

/// All of them, by id, which is in order of arrival.
#[derive(Default)]
pub(super) struct PendingTable {
    entries: BTreeMap<u64, Pending>,
    next_id: u64,
    bytes: usize,
    first_bytes: usize,
}

impl PendingTable {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether another one may wait, whose first datagram is of this size.
    pub(super) fn has_room(&self, size: usize) -> bool {
        self.entries.len() < MAX_INCOMING && self.first_bytes + size <= MAX_FIRST_BYTES
    }

    pub(super) fn contains(&self, id: u64) -> bool {
        self.entries.contains_key(&id)
    }

    /// Adds one for packets from `remote` to `destination`, the first of `size` bytes, and returns its id.
    pub(super) fn insert(
        &mut self,
        now: Time,
        destination: ConnectionId,
        remote: SocketAddr,
        size: usize,
    ) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        let expires = now + Incoming::LIFETIME;
        let datagrams = Vec::new();
        self.entries.insert(id, Pending { destination, remote, expires, datagrams, bytes: 0, first: size });
        self.first_bytes += size;
        id
    }

    pub(super) fn remove(&mut self, id: u64) -> Option<Pending> {
        let pending = self.entries.remove(&id)?;
        self.bytes -= pending.bytes;
        self.first_bytes -= pending.first;
        Some(pending)
    }

    /// Removes one whose time is over, if there is one.
    pub(super) fn remove_expired(&mut self, now: Time) -> Option<(u64, Pending)> {
        let (&id, oldest) = self.entries.first_key_value()?;
        if oldest.expires > now { None } else { self.remove(id).map(|pending| (id, pending)) }
    }

    /// Keeps a datagram if it is from the same client and there is room.
    pub(super) fn buffer(&mut self, id: u64, datagram: &Datagram) -> bool {
        let size = datagram.payload.len();
        let Some(pending) = self.entries.get_mut(&id) else { return false };
        if pending.remote != datagram.tuple.remote
            || pending.datagrams.len() >= MAX_DATAGRAMS
            || pending.bytes + size > MAX_BYTES
            || self.bytes + size > MAX_TOTAL_BYTES
        {
            return false;
        }
        pending.datagrams.push(own(datagram));
        pending.bytes += size;
        self.bytes += size;
        true
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// The datagram with memory of its own: as a slice it would keep a whole receive buffer alive.
pub(super) fn own(datagram: &Datagram) -> Datagram {
    Datagram { payload: BytesMut::from(&datagram.payload[..]), ..*datagram }
}
