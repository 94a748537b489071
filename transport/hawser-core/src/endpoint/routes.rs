//! Which connection a datagram is for.

use std::collections::HashMap;
use std::net::SocketAddr;

use hawser_wire::{ConnectionId, StatelessResetToken};
use rustc_hash::FxHashMap;
use slab::Slab;
use smallvec::SmallVec;

use super::ConnectionHandle;
use super::group::Membership;
use super::keyed_hash::KeyedState;

/// Where packets to a connection id go that a client chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InitialRoute {
    Connection(ConnectionHandle),
    /// The id of an [`Incoming`](super::Incoming).
    Pending(u64),
}

/// What is known of a connection, to be forgotten with it.
#[derive(Debug, Default)]
struct Known {
    local: SmallVec<[ConnectionId; 4]>,
    initial: Option<ConnectionId>,
    resets: SmallVec<[(SocketAddr, StatelessResetToken); 2]>,
    handshaking: bool,
}

/// All connections and the tables that lead to them. None is ever iterated, so their order does not matter.
pub(super) struct Routes {
    connections: Slab<Known>,
    handshaking: usize,
    /// Ids that we chose at random: the fast hash can do no harm.
    local: FxHashMap<ConnectionId, ConnectionHandle>,
    /// Ids that clients chose, who must not be able to choose them so that they collide.
    initial: HashMap<ConnectionId, InitialRoute, KeyedState>,
    /// Looked up by a keyed hash, so that the time taken tells nothing about tokens (RFC 9000 section 10.3.1).
    resets: HashMap<(SocketAddr, StatelessResetToken), ConnectionHandle, KeyedState>,
    /// Where other endpoints of the same address look for `resets`.
    shared: Option<Membership>,
}

impl Routes {
    pub(super) fn new(hash_keys: [[u8; 16]; 2]) -> Self {
        let [initial, resets] = hash_keys.map(|key| KeyedState(u128::from_le_bytes(key)));
        Routes {
            connections: Slab::new(),
            handshaking: 0,
            local: FxHashMap::default(),
            initial: HashMap::with_hasher(initial),
            resets: HashMap::with_hasher(resets),
            shared: None,
        }
    }

    /// A key for a table of sources, which strangers must not be able to choose so that they collide.
    pub(super) fn source_key(&self) -> KeyedState {
        self.resets.hasher().derive(b"sources")
    }

    /// Lets the other members of a group find out which resets are for connections of this endpoint.
    pub(super) fn share_resets(&mut self, membership: Membership) {
        self.shared = Some(membership);
    }

    /// Connections that exist.
    pub(super) fn len(&self) -> usize {
        self.connections.len()
    }

    /// Connections in the handshake.
    pub(super) fn handshaking(&self) -> usize {
        self.handshaking
    }

    /// The connection that issued this id.
    //= rfc9000-5.1.1-2: issued connection ids are recognised until they are retired
    #[inline]
    pub(super) fn by_local(&self, id: &[u8]) -> Option<ConnectionHandle> {
        self.local.get(id).copied()
    }

    /// Where packets to an id go that a client chose for its first packets.
    pub(super) fn by_initial(&self, id: &ConnectionId) -> Option<InitialRoute> {
        self.initial.get(id).copied()
    }

    /// The connection that a datagram from `remote` resets if it ends so.
    //= rfc9000-10.3.1-3: the comparison of reset tokens takes the same time for all tokens
    pub(super) fn by_reset(
        &self,
        remote: SocketAddr,
        token: StatelessResetToken,
    ) -> Option<ConnectionHandle> {
        if self.resets.is_empty() { None } else { self.resets.get(&(remote, token)).copied() }
    }

    /// A new connection in the handshake, reached by `local`.
    pub(super) fn insert(&mut self, local: ConnectionId) -> ConnectionHandle {
        let handle =
            ConnectionHandle(self.connections.insert(Known { handshaking: true, ..Known::default() }));
        self.handshaking += 1;
        self.add_local(handle, local);
        handle
    }

    pub(super) fn add_local(&mut self, handle: ConnectionHandle, id: ConnectionId) {
        let Some(known) = self.connections.get_mut(handle.0) else { return };
        if let std::collections::hash_map::Entry::Vacant(entry) = self.local.entry(id) {
            entry.insert(handle);
            known.local.push(id);
        }
    }

    pub(super) fn remove_local(&mut self, handle: ConnectionHandle, id: ConnectionId) {
        let Some(known) = self.connections.get_mut(handle.0) else { return };
        if let Some(position) = known.local.iter().position(|local| *local == id) {
            known.local.swap_remove(position);
            self.local.remove(&id);
        }
    }

    /// A client's own choice of id leads to an incoming connection.
    pub(super) fn add_pending(&mut self, id: ConnectionId, pending: u64) {
        self.initial.insert(id, InitialRoute::Pending(pending));
    }

    pub(super) fn remove_pending(&mut self, id: &ConnectionId, pending: u64) {
        if self.initial.get(id) == Some(&InitialRoute::Pending(pending)) {
            self.initial.remove(id);
        }
    }

    /// A client's own choice of id leads to this connection, as long as it exists: Initial packets may come late.
    pub(super) fn set_initial(&mut self, handle: ConnectionHandle, id: ConnectionId) {
        let Some(known) = self.connections.get_mut(handle.0) else { return };
        known.initial = Some(id);
        self.initial.insert(id, InitialRoute::Connection(handle));
    }

    pub(super) fn add_reset(
        &mut self,
        handle: ConnectionHandle,
        remote: SocketAddr,
        token: StatelessResetToken,
    ) {
        let Some(known) = self.connections.get_mut(handle.0) else { return };
        if let std::collections::hash_map::Entry::Vacant(entry) = self.resets.entry((remote, token)) {
            entry.insert(handle);
            known.resets.push((remote, token));
            if let Some(shared) = &self.shared {
                shared.add_reset(remote, token);
            }
        }
    }

    pub(super) fn remove_reset(
        &mut self,
        handle: ConnectionHandle,
        remote: SocketAddr,
        token: StatelessResetToken,
    ) {
        let Some(known) = self.connections.get_mut(handle.0) else { return };
        if let Some(position) = known.resets.iter().position(|reset| *reset == (remote, token)) {
            known.resets.swap_remove(position);
            self.resets.remove(&(remote, token));
            if let Some(shared) = &self.shared {
                shared.remove_reset(remote, token);
            }
        }
    }

    pub(super) fn handshake_done(&mut self, handle: ConnectionHandle) {
        if let Some(known) = self.connections.get_mut(handle.0) {
            self.handshaking -= usize::from(std::mem::take(&mut known.handshaking));
        }
    }

    /// Forgets a connection and all that leads to it.
    //= rfc9000-10.2-3: all state is freed when closing or draining ends
    pub(super) fn remove(&mut self, handle: ConnectionHandle) {
        let Some(known) = self.connections.try_remove(handle.0) else { return };
        self.handshaking -= usize::from(known.handshaking);
        for id in known.local {
            self.local.remove(&id);
        }
        for reset in known.resets {
            self.resets.remove(&reset);
            if let Some(shared) = &self.shared {
                shared.remove_reset(reset.0, reset.1);
            }
        }
        if let Some(id) = known.initial
            && self.initial.get(&id) == Some(&InitialRoute::Connection(handle))
        {
            self.initial.remove(&id);
        }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.connections.is_empty()
            && self.local.is_empty()
            && self.initial.is_empty()
            && self.resets.is_empty()
    }
}
