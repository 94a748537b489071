//! Endpoints that serve one address together, as a server with a worker per core has them.
//!
//! The kernel spreads datagrams over the sockets of one address by the addresses in them. A connection has paths from
//! several addresses, and clients move, so a datagram may arrive at any member of the group. Whose it is says its
//! destination connection id: the last byte is the member's number, encrypted with the bytes before it as the nonce, as
//! load balancers do it with server ids (draft-ietf-quic-load-balancers). No table is shared for that, and without the key
//! an id is as random, and as little like another one of the same connection, as before. Ids that name this server to a
//! balancer have the member's number in their nonce instead (`nonces.rs`).
//!
//! Ids that clients choose name a member by chance or none. Then the datagram stays where it arrived, and the member that
//! accepts the connection owns it from then on; the way of most datagrams is therefore the kernel's alone.
//!
//! Stateless resets carry an id that nobody issued. Their tokens are the one thing that members look up in common, and
//! only for datagrams that they know nothing of.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hawser_wire::{ConnectionId, StatelessResetToken};
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha20Rng;

use super::keyed_hash::KeyedState;
use crate::crypto::provider::aead::quic::{AES_128, HeaderProtectionKey};

/// What the members of a group have in common.
pub struct EndpointGroup {
    /// Encrypts the numbers in connection ids: one AES block per id, as for header protection.
    key: HeaderProtectionKey,
    /// For nonces of connection ids that balancers read without a key.
    nonce_key: [u8; 16],
    loads: Box<[Load]>,
    resets: Mutex<HashMap<ResetRoute, usize, KeyedState>>,
}

/// Where a connection's packets go, and what a datagram from there ends in if it resets the connection.
type ResetRoute = (SocketAddr, StatelessResetToken);

/// What a member has to do, as it last told the others.
#[derive(Debug, Default)]
struct Load {
    connections: AtomicUsize,
    handshakes: AtomicUsize,
}

impl EndpointGroup {
    /// The most members that a group may have. An id that a client chose names one of `n` members by chance in `n` of 256
    /// cases, and the connection is then away from the socket that the kernel prefers: more members would defeat the
    /// purpose.
    pub const MAX_MEMBERS: usize = 64;

    /// A group of 1 to [`MAX_MEMBERS`](Self::MAX_MEMBERS) members; other numbers are taken for the nearest of these.
    /// `seed` must be secret and new each time, except in simulations.
    pub fn new(members: usize, seed: [u8; 32]) -> Self {
        let mut nonce_key = [0; 16];
        ChaCha20Rng::from_seed(seed).fill_bytes(&mut nonce_key);
        let (key, hash_key) = seed.split_at(16);
        let hash_key = u128::from_le_bytes(*hash_key.first_chunk().expect("half of 32 bytes"));
        EndpointGroup {
            key: HeaderProtectionKey::new(&AES_128, key).expect("16 bytes are a key of AES-128"),
            nonce_key,
            loads: (0..members.clamp(1, Self::MAX_MEMBERS)).map(|_| Load::default()).collect(),
            resets: Mutex::new(HashMap::with_hasher(KeyedState(hash_key))),
        }
    }

    /// How many members the group has.
    pub fn members(&self) -> usize {
        self.loads.len()
    }

    /// What the last byte of an id is combined with: different for each id, and nothing to those without the key.
    fn pad(&self, nonce: &[u8]) -> u8 {
        let mut sample = [0; 16];
        let length = nonce.len().min(sample.len());
        sample[..length].copy_from_slice(&nonce[..length]);
        let [pad, ..] = self.key.new_mask(&sample).expect("a sample has 16 bytes");
        pad
    }

    /// The member that a local id names.
    fn named(&self, id: &[u8]) -> Option<usize> {
        let (last, nonce) = id.split_last()?;
        Some(usize::from(last ^ self.pad(nonce))).filter(|member| *member < self.members())
    }

    fn resets(&self) -> MutexGuard<'_, HashMap<ResetRoute, usize, KeyedState>> {
        self.resets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for EndpointGroup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EndpointGroup").field("loads", &self.loads).finish_non_exhaustive()
    }
}

/// A member's place in its group.
#[derive(Clone, Debug)]
pub(super) struct Membership {
    group: Arc<EndpointGroup>,
    index: usize,
}

impl Membership {
    /// The member `index` of a group.
    pub(super) fn new(group: Arc<EndpointGroup>, index: usize) -> Self {
        debug_assert!(index < group.members());
        Membership { group, index }
    }

    /// Which member it is, of how many.
    pub(super) fn place(&self) -> (usize, usize) {
        (self.index, self.group.members())
    }

    /// A secret of the group.
    pub(super) fn nonce_key(&self) -> [u8; 16] {
        self.group.nonce_key
    }

    /// The other member that a local id names.
    //= rfc9000-5.2.3-2: simple load balancing makes no oracle for stateless resets
    //= rfc9000-21.11-1: packets of a connection id reach the worker that has its connection
    pub(super) fn named_elsewhere(&self, id: &[u8]) -> Option<usize> {
        self.group.named(id).filter(|member| *member != self.index)
    }

    /// Makes a random id one that names this member.
    //= rfc9000-5.1-1: connection ids tell outsiders nothing
    pub(super) fn sign(&self, id: ConnectionId) -> ConnectionId {
        let mut bytes = [0; ConnectionId::MAX_LEN];
        let bytes = &mut bytes[..id.len()];
        bytes.copy_from_slice(id.as_bytes());
        if let Some((last, nonce)) = bytes.split_last_mut() {
            // A group has fewer members than a byte has values.
            *last = self.group.pad(nonce) ^ self.index as u8;
        }
        ConnectionId::new(bytes).unwrap_or(id)
    }

    pub(super) fn add_reset(&self, remote: SocketAddr, token: StatelessResetToken) {
        self.group.resets().entry((remote, token)).or_insert(self.index);
    }

    pub(super) fn remove_reset(&self, remote: SocketAddr, token: StatelessResetToken) {
        let mut resets = self.group.resets();
        if resets.get(&(remote, token)) == Some(&self.index) {
            resets.remove(&(remote, token));
        }
    }

    /// The other member that has a connection which a datagram from `remote` with this token resets.
    //= rfc9000-21.11-2: no reset for a connection that another process may have
    pub(super) fn reset_owner_elsewhere(
        &self,
        remote: SocketAddr,
        token: StatelessResetToken,
    ) -> Option<usize> {
        let owner = self.group.resets().get(&(remote, token)).copied();
        owner.filter(|member| *member != self.index)
    }

    /// Tells the other members how much there is to do here.
    pub(super) fn publish(&self, connections: usize, handshakes: usize) {
        if let Some(load) = self.group.loads.get(self.index) {
            load.connections.store(connections, Ordering::Relaxed);
            load.handshakes.store(handshakes, Ordering::Relaxed);
        }
    }

    /// Connections and handshakes of the other members.
    pub(super) fn elsewhere(&self) -> (usize, usize) {
        let others = self.group.loads.iter().enumerate().filter(|(index, _)| *index != self.index);
        others.fold((0, 0), |(connections, handshakes), (_, load)| {
            let read = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
            (connections + read(&load.connections), handshakes + read(&load.handshakes))
        })
    }
}

#[cfg(test)]
mod tests;
