//! X25519 (RFC 7748) with keys from the lent randomness: the TLS libraries draw theirs from the operating system only.

use rustls::crypto::{ActiveKeyExchange, SharedSecret, SupportedKxGroup};
use rustls::ffdhe_groups::FfdheGroup;
use rustls::{Error, NamedGroup, PeerMisbehaved};
use x25519_dalek::{X25519_BASEPOINT_BYTES, x25519};

use super::randomness;

/// The group.
#[derive(Debug)]
pub(super) struct X25519;

impl SupportedKxGroup for X25519 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let mut secret = [0; 32];
        randomness::fill(&mut secret)?;
        Ok(Box::new(Exchange { secret, public: x25519(secret, X25519_BASEPOINT_BYTES) }))
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

struct Exchange {
    secret: [u8; 32],
    public: [u8; 32],
}

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let invalid = Error::PeerMisbehaved(PeerMisbehaved::InvalidKeyShare);
        let Ok(peer) = <[u8; 32]>::try_from(peer) else { return Err(invalid) };
        let shared = x25519(self.secret, peer);
        // RFC 8446 section 7.4.2: a point of small order gives all zeros.
        if shared == [0; 32] { Err(invalid) } else { Ok(SharedSecret::from(&shared[..])) }
    }

    fn pub_key(&self) -> &[u8] {
        &self.public
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}
