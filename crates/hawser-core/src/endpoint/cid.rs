//! Connection ids and the reset tokens that go with them.

use std::sync::Arc;

use hawser_wire::{ConnectionId, StatelessResetToken};
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::group::{EndpointGroup, Membership};
use crate::EndpointConfig;
use crate::crypto::provider::hmac;

/// The least length of our connection ids in bytes: that of a client's first destination (RFC 9000 section 7.2), and
/// enough that random ones do not meet.
pub(crate) const MIN_CID_LENGTH: usize = 8;

// Ids have a byte for the member, and a nonce beside it.
const _: () = assert!(EndpointGroup::MAX_MEMBERS < 256 && MIN_CID_LENGTH > 1);

/// The length of all connection ids that an endpoint with this configuration issues.
pub(crate) fn local_cid_length(config: &EndpointConfig) -> usize {
    config.connection_id_length.clamp(MIN_CID_LENGTH, ConnectionId::MAX_LEN)
}

/// Derives the stateless reset token of a connection id, so that it can be derived again after a crash
/// (RFC 9000 section 10.3.2).
#[derive(Clone)]
pub(crate) struct ResetKey(Arc<hmac::Key>);

impl ResetKey {
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        ResetKey(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, key)))
    }

    /// The token of `id`: HMAC-SHA256, cut to 16 bytes.
    pub(crate) fn token(&self, id: &[u8]) -> StatelessResetToken {
        let tag = hmac::sign(&self.0, id);
        StatelessResetToken(*tag.as_ref().first_chunk().expect("SHA-256 gives 32 bytes"))
    }
}

/// Makes the connection ids of one connection: random bytes, with nothing in them that links two of them.
pub(crate) struct CidIssuer {
    length: usize,
    key: ResetKey,
    // Eight rounds suffice: no attack is known on more than seven.
    random: ChaCha8Rng,
    /// Whom the ids name, if several endpoints serve one address.
    membership: Option<Membership>,
}

impl CidIssuer {
    /// Issues ids of `length` bytes, [`MIN_CID_LENGTH`] to 20.
    pub(crate) fn new(length: usize, key: ResetKey, seed: [u8; 32]) -> Self {
        debug_assert!((MIN_CID_LENGTH..=ConnectionId::MAX_LEN).contains(&length));
        CidIssuer { length, key, random: ChaCha8Rng::from_seed(seed), membership: None }
    }

    /// The same, with ids that name a member of a group to the other members, and nothing to anyone else.
    pub(super) fn signing_as(self, membership: Membership) -> Self {
        CidIssuer { membership: Some(membership), ..self }
    }

    /// A new connection id and its stateless reset token.
    pub(crate) fn issue(&mut self) -> (ConnectionId, StatelessResetToken) {
        let mut id = random_cid(self.length, &mut self.random);
        if let Some(membership) = &self.membership {
            id = membership.sign(id);
        }
        (id, self.token(&id))
    }

    /// The stateless reset token of an id that this endpoint issued.
    pub(crate) fn token(&self, id: &ConnectionId) -> StatelessResetToken {
        self.key.token(id.as_bytes())
    }
}

/// A connection id of `length` random bytes, at most 20.
pub(crate) fn random_cid(length: usize, random: &mut impl RngCore) -> ConnectionId {
    let mut bytes = [0; ConnectionId::MAX_LEN];
    random.fill_bytes(&mut bytes);
    ConnectionId::new(bytes.get(..length).unwrap_or(&bytes)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
