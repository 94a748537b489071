//! The nonces of routable connection ids: never the same twice, and the worker's number in them.
//!
//! A nonce is a number, counted up from a random one (section 9.6 of draft-ietf-quic-load-balancers). Those of the
//! member `m` of a group of `n` leave the remainder `m` when divided by `n`: section 7.2 of the draft has a balancer take
//! the number of a process for a part of the nonce, and no byte of it is lost that way. A holder of the key reads it back.
//!
//! Without a key nonces must not tell that they are of one server, let alone count: then they are encrypted by themselves,
//! with a key that the members make up.

use std::sync::atomic::{AtomicU64, Ordering};

use hawser_wire::ConnectionId;
use rand::RngCore;

use crate::quic_lb::{CidCipher, QuicLbServer, UNROUTABLE};

/// Bytes of a nonce that count; those before them are random.
const COUNTED: usize = 8;
/// Numbers below 2^63 suffice, and their sums fit.
const COUNTED_BITS: u32 = 63;

/// Makes the routable ids of one member of a group, for all of its connections.
pub(super) struct Nonces {
    server: QuicLbServer,
    member: u64,
    members: u64,
    /// If the server id is not encrypted.
    cipher: Option<CidCipher>,
    start: u64,
    used: AtomicU64,
    /// Nonces that the member has.
    limit: u64,
}

impl Nonces {
    /// For the member `member` of `members`, which have the same `secret`.
    pub(super) fn new(
        server: QuicLbServer,
        (member, members): (usize, usize),
        secret: &[u8; 16],
        random: &mut impl RngCore,
    ) -> Self {
        let bits = (8 * server.codec().nonce_length() as u32).min(COUNTED_BITS);
        Nonces::with_bits(server, (member, members), secret, random, bits)
    }

    /// As if nonces had no more than so many bits.
    fn with_bits(
        server: QuicLbServer,
        (member, members): (usize, usize),
        secret: &[u8; 16],
        random: &mut impl RngCore,
        bits: u32,
    ) -> Self {
        let members = members.max(1) as u64;
        let limit = (1 << bits) / members;
        let cipher = (!server.codec().is_encrypted()).then(|| CidCipher::new(secret));
        let start = random.next_u64() % limit;
        Nonces { server, member: member as u64, members, cipher, start, used: AtomicU64::new(0), limit }
    }

    /// The next id; `None` when all nonces have been used.
    pub(super) fn next(&self, random: &mut impl RngCore) -> Option<ConnectionId> {
        let take = |used: u64| (used < self.limit).then_some(used + 1);
        let used = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()?;
        if used == self.limit - self.limit / 8 {
            tracing::warn!(
                "seven eighths of the nonces for connection ids are used; a new configuration is needed"
            );
        } else if used + 1 == self.limit {
            tracing::error!(
                "the nonces for connection ids are used up; new connections are routed by address"
            );
        }
        let number = (self.start + used) % self.limit * self.members + self.member;
        let bytes = random_bytes(random);
        let mut nonce = bytes;
        let nonce = nonce.get_mut(..self.server.codec().nonce_length())?;
        // The low bytes of the number: it has no more bits than the nonce.
        nonce.iter_mut().rev().zip(number.to_le_bytes()).for_each(|(to, from)| *to = from);
        if let Some(cipher) = &self.cipher {
            cipher.encrypt(nonce);
        }
        self.server.finish(nonce, random_bytes(random))
    }

    /// An id that no balancer can route, which costs no nonce.
    pub(super) fn unroutable(&self, random: &mut impl RngCore) -> ConnectionId {
        self.server.unroutable(random_bytes(random)).unwrap_or_default()
    }

    /// The member that an id of this server names.
    pub(super) fn member_named(&self, id: &[u8]) -> Option<usize> {
        let plaintext = self.server.codec().decode(id)?;
        if plaintext.server_id() != self.server.server_id() {
            return None;
        }
        let mut nonce = [0; ConnectionId::MAX_LEN];
        let nonce = nonce.get_mut(..plaintext.nonce().len())?;
        nonce.copy_from_slice(plaintext.nonce());
        if let Some(cipher) = &self.cipher {
            cipher.decrypt(nonce);
        }
        let mut number = [0; COUNTED];
        number.iter_mut().zip(nonce.iter().rev()).for_each(|(to, from)| *to = *from);
        usize::try_from(u64::from_le_bytes(number) % self.members).ok()
    }

    #[cfg(test)]
    pub(super) fn use_up(&self) {
        self.used.store(self.limit, Ordering::Relaxed);
    }
}

/// Whether an id made here leads to this server, from whatever address.
pub(super) fn is_routable(id: &ConnectionId) -> bool {
    id.as_bytes().first().is_some_and(|first| first >> 5 != UNROUTABLE)
}

fn random_bytes(random: &mut impl RngCore) -> [u8; ConnectionId::MAX_LEN] {
    let mut bytes = [0; ConnectionId::MAX_LEN];
    random.fill_bytes(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests;
