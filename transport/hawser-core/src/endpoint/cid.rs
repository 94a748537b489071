//! Connection ids and the reset tokens that go with them.

use std::sync::Arc;

use hawser_wire::{ConnectionId, StatelessResetToken};
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::group::{EndpointGroup, Membership};
use super::nonces::{self, Nonces};
use crate::EndpointConfig;
use crate::crypto::provider::hmac;
use crate::quic_lb::{self, QuicLbServer};

/// The least length of our connection ids in bytes: that of a client's first destination (RFC 9000 section 7.2), and
/// enough that random ones do not meet.
pub(crate) const MIN_CID_LENGTH: usize = quic_lb::MIN_LENGTH;

// Ids have a byte for the member, and a nonce next to it.
const _: () = assert!(EndpointGroup::MAX_MEMBERS < 256 && MIN_CID_LENGTH > 1);

/// The length of all connection ids that an endpoint with this configuration issues.
//= multipath-2.1-3: an endpoint that offers multipath has connection ids of non-zero length
//= rfc9000-10.3.2-2: all connection ids of an endpoint have one length
pub(crate) fn local_cid_length(config: &EndpointConfig) -> usize {
    let length =
        config.quic_lb.as_ref().map_or(config.connection_id_length, QuicLbServer::connection_id_length);
    length.clamp(MIN_CID_LENGTH, ConnectionId::MAX_LEN)
}

/// Derives the stateless reset token of a connection id, so that it can be derived again after a crash
/// (RFC 9000 section 10.3.2).
#[derive(Clone)]
pub(crate) struct ResetKey(Arc<hmac::Key>);

impl ResetKey {
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        ResetKey(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, key)))
    }

    /// The key of an endpoint. With each configuration of balancers another one: the same id may come again in a new one,
    /// and its token must not be known to those who had it before (section 9.5 of draft-ietf-quic-load-balancers).
    pub(super) fn of(config: &EndpointConfig) -> Self {
        let key = ResetKey::new(&config.reset_key);
        let Some(server) = &config.quic_lb else { return key };
        let tag = hmac::sign(&key.0, &[b"quic-lb", &server.scope()[..]].concat());
        ResetKey::new(tag.as_ref().first_chunk().expect("SHA-256 gives 32 bytes"))
    }

    /// The token of `id`: HMAC-SHA256, cut to 16 bytes.
    //= rfc9000-10.3.2-1: reset tokens are hard to guess
    //= rfc9000-10.3.2-5: each connection id has its own reset token
    pub(crate) fn token(&self, id: &[u8]) -> StatelessResetToken {
        let tag = hmac::sign(&self.0, id);
        StatelessResetToken(*tag.as_ref().first_chunk().expect("SHA-256 gives 32 bytes"))
    }
}

/// How an endpoint makes its connection ids, which all have one length.
#[derive(Clone)]
pub(super) struct CidScheme {
    length: usize,
    /// Whom the ids name, if several endpoints serve one address.
    membership: Option<Membership>,
    /// If a balancer is to route by them.
    nonces: Option<Arc<Nonces>>,
}

impl CidScheme {
    /// For an endpoint that serves its address alone.
    pub(super) fn new(config: &EndpointConfig, random: &mut impl RngCore) -> Self {
        let nonces = config.quic_lb.clone().map(|server| {
            let mut secret = [0; 16];
            random.fill_bytes(&mut secret);
            Arc::new(Nonces::new(server, (0, 1), &secret, random))
        });
        CidScheme { nonces, ..CidScheme::random(local_cid_length(config)) }
    }

    /// Random ids of `length` bytes, [`MIN_CID_LENGTH`] to 20, with nothing in them.
    pub(super) fn random(length: usize) -> Self {
        debug_assert!((MIN_CID_LENGTH..=ConnectionId::MAX_LEN).contains(&length));
        CidScheme { length, membership: None, nonces: None }
    }

    /// The same, with ids that name a member of a group to the other members, and nothing to anyone else.
    pub(super) fn join(
        &mut self,
        config: &EndpointConfig,
        membership: Membership,
        random: &mut impl RngCore,
    ) {
        self.nonces = config
            .quic_lb
            .clone()
            .map(|server| Arc::new(Nonces::new(server, membership.place(), &membership.nonce_key(), random)));
        self.membership = Some(membership);
    }

    /// The group, if there is one.
    pub(super) fn membership(&self) -> Option<&Membership> {
        self.membership.as_ref()
    }

    /// The other member that a local id names.
    pub(super) fn named_elsewhere(&self, id: &[u8]) -> Option<usize> {
        let membership = self.membership.as_ref()?;
        match self.nonces.as_ref().and_then(|nonces| nonces.member_named(id)) {
            Some(member) => Some(member).filter(|member| *member != membership.place().0),
            // Without a configuration for balancers, and when their nonces are used up.
            None => membership.named_elsewhere(id),
        }
    }

    /// A new id to reach this endpoint by from every address; `None` if there are no more.
    fn routable(&self, random: &mut impl RngCore) -> Option<ConnectionId> {
        match &self.nonces {
            Some(nonces) => nonces.next(random),
            None => Some(self.signed(random)),
        }
    }

    /// A new id that says nothing to balancers, and to the members of the group whose it is.
    fn signed(&self, random: &mut impl RngCore) -> ConnectionId {
        let id = self.for_retry(random);
        self.membership.as_ref().map_or(id, |membership| membership.sign(id))
    }

    /// The source id of a Retry packet. Anybody may draw one, so that it costs no nonce; the token that comes back with it
    /// is good at this address only, so that a balancer that routes it by address finds the same server.
    pub(super) fn for_retry(&self, random: &mut impl RngCore) -> ConnectionId {
        match &self.nonces {
            Some(nonces) => nonces.unroutable(random),
            None => random_cid(self.length, random),
        }
    }

    #[cfg(test)]
    pub(super) fn use_up_nonces(&self) {
        self.nonces.iter().for_each(|nonces| nonces.use_up());
    }
}

/// Makes the connection ids of one connection, with nothing in them that links two of them to those without a key.
pub(crate) struct CidIssuer {
    scheme: CidScheme,
    key: ResetKey,
    // Eight rounds suffice: no attack is known on more than seven.
    random: ChaCha8Rng,
}

impl CidIssuer {
    pub(super) fn new(scheme: CidScheme, key: ResetKey, seed: [u8; 32]) -> Self {
        CidIssuer { scheme, key, random: ChaCha8Rng::from_seed(seed) }
    }

    /// The id of a handshake, and its stateless reset token. If no id can be routed any more, one of which balancers know
    /// that (section 9.6 of draft-ietf-quic-load-balancers).
    //= rfc9000-5.1-1: connection ids tell outsiders nothing
    //= rfc9000-5.1-2: no connection id is issued twice
    pub(crate) fn issue(&mut self) -> (ConnectionId, StatelessResetToken) {
        let routable = self.scheme.routable(&mut self.random);
        let id = routable.unwrap_or_else(|| self.scheme.signed(&mut self.random));
        (id, self.token(&id))
    }

    /// A further id, to be reached from other addresses, too; `None` if there are no more of these. Section 3.2 of the
    /// draft: a server without ids for balancers gives each client one id.
    pub(crate) fn issue_further(&mut self) -> Option<(ConnectionId, StatelessResetToken)> {
        let id = self.scheme.routable(&mut self.random)?;
        Some((id, self.token(&id)))
    }

    /// Whether packets with this id arrive here from whatever address.
    pub(crate) fn is_routable(&self, id: &ConnectionId) -> bool {
        self.scheme.nonces.is_none() || nonces::is_routable(id)
    }

    /// The stateless reset token of an id that this endpoint issued.
    pub(crate) fn token(&self, id: &ConnectionId) -> StatelessResetToken {
        self.key.token(id.as_bytes())
    }
}

/// A connection id of `length` random bytes, at most 20.
//= rfc9000-10.3.2-3: a connection id and a reset key are used for one connection
//= rfc9000-10.3.2-4: a connection id whose reset token was revealed is not used again
pub(crate) fn random_cid(length: usize, random: &mut impl RngCore) -> ConnectionId {
    let mut bytes = [0; ConnectionId::MAX_LEN];
    random.fill_bytes(&mut bytes);
    ConnectionId::new(bytes.get(..length).unwrap_or(&bytes)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
