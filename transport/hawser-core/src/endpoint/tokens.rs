//! Who gets an address-validation token, and which tokens prove an address (RFC 9000 section 8.1).

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use hawser_policy::Time;
use hawser_wire::{ConnectionId, Version};
use rand::RngCore;
use rustc_hash::FxHashSet;

use crate::ServerConfig;
use crate::crypto::token::{AddressToken, RetryToken, Token, TokenId, TokenKey};

/// How far the clocks of servers that share a token key may be apart.
const CLOCK_SKEW: Duration = Duration::from_secs(10);

/// Tokens remembered as used, per generation; two generations of 16-byte ids are kept, about 2 MiB at most.
const USED_PER_GENERATION: usize = 1 << 15;

/// Real time, for what outlives the process: `Time` counts from an origin without meaning elsewhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WallClock {
    /// Since 1970, at `Time::ZERO`.
    pub(crate) origin: Duration,
}

impl WallClock {
    fn unix_millis(self, now: Time) -> u64 {
        let since_1970 = self.origin.saturating_add(now.since(Time::ZERO));
        u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX)
    }
}

/// Makes the tokens that a server connection gives its client in NEW_TOKEN frames.
#[derive(Clone)]
pub(crate) struct TokenIssuer {
    key: TokenKey,
    clock: WallClock,
    /// How many the connection may give.
    pub(crate) count: u32,
}

impl TokenIssuer {
    /// A token for a later connection in the same version from `ip`, which must be validated.
    pub(crate) fn issue(
        &self,
        now: Time,
        version: Version,
        ip: IpAddr,
        random: &mut impl RngCore,
    ) -> Vec<u8> {
        let issued = self.clock.unix_millis(now);
        self.key.seal(&Token::Address(AddressToken { version, ip, issued }), random)
    }
}

/// What the token of an Initial packet proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing: the token is absent, not from this server, too old, used before, or for another address. The client goes on as if it
    /// had sent none (section 8.1.3).
    Unproven,
    /// The address, by a token of an earlier connection, which must not count again.
    Address(TokenId),
    /// The address, by the token of our Retry.
    Retry { original_destination: ConnectionId },
    /// It is from a Retry of this server, but not for this use: the client will accept no other, so there is no way on
    /// (section 8.1.2).
    InvalidRetry(&'static str),
}

/// Judges tokens.
pub(super) struct TokenGate {
    key: TokenKey,
    /// Keys that make no tokens.
    accepted: Vec<TokenKey>,
    clock: WallClock,
    retry_lifetime: Duration,
    address_lifetime: Duration,
    used: UsedTokens,
}

impl TokenGate {
    pub(super) fn new(config: &ServerConfig, clock: WallClock) -> Self {
        TokenGate {
            key: TokenKey::new(&config.token_key),
            accepted: config.accepted_token_keys.iter().map(TokenKey::new).collect(),
            clock,
            retry_lifetime: config.retry_token_lifetime,
            address_lifetime: config.address_token_lifetime,
            used: UsedTokens::default(),
        }
    }

    /// The same with the lifetimes and key of another configuration; used tokens stay used.
    pub(super) fn reconfigure(self, config: &ServerConfig) -> Self {
        TokenGate { used: self.used, ..TokenGate::new(config, self.clock) }
    }

    pub(super) fn issuer(&self, count: u32) -> TokenIssuer {
        TokenIssuer { key: self.key.clone(), clock: self.clock, count }
    }

    /// The token for a Retry that answers an Initial from `remote` to `original_destination`.
    pub(super) fn retry_token(
        &self,
        now: Time,
        version: Version,
        remote: SocketAddr,
        original_destination: ConnectionId,
        retry_source: ConnectionId,
        random: &mut impl RngCore,
    ) -> Vec<u8> {
        let issued = self.clock.unix_millis(now);
        let token = RetryToken { version, remote, original_destination, retry_source, issued };
        self.key.seal(&Token::Retry(token), random)
    }

    /// Judges the token of an Initial packet from `remote` to `destination`.
    //= multipath-3.1.3-1 (not done): a token is valid for all validated addresses of the client
    //= rfc9000-8.1.3-10: a server validates a token, if it needs to
    //= rfc9000-8.1.3-11: an invalid token counts as none
    //= rfc9000-8.1.4-4: a NEW_TOKEN token names the address
    //= rfc9000-8.1.4-5: a token from another address does not lift the amplification limit
    //= rfc9000-21.3-1: address tokens are limited in use and time
    pub(super) fn judge(
        &self,
        now: Time,
        version: Version,
        token: &[u8],
        remote: SocketAddr,
        destination: &ConnectionId,
    ) -> Verdict {
        let opened = std::iter::once(&self.key).chain(&self.accepted).find_map(|key| key.open(token));
        match opened {
            None => Verdict::Unproven,
            Some((Token::Retry(token), _)) => self.judge_retry(now, version, &token, remote, destination),
            Some((Token::Address(token), id)) => {
                let valid = token.version == version
                    && token.ip == remote.ip().to_canonical()
                    && self.is_fresh(now, token.issued, self.address_lifetime)
                    && !self.used.contains(&id);
                if valid { Verdict::Address(id) } else { Verdict::Unproven }
            }
        }
    }

    /// Notes that a token was used.
    //= rfc9000-8.1.4-6: tokens cannot be replayed at will
    //= rfc9000-8.1.4-8: NEW_TOKEN tokens count once
    pub(super) fn consume(&mut self, id: TokenId) {
        self.used.insert(id);
    }

    //= rfc9000-8.1.2-2: a Retry token that does not hold: INVALID_TOKEN
    //= rfc9000-8.1.4-3: a Retry token names address and port
    //= rfc9000-8.1.4-7: Retry tokens hold for a short time
    fn judge_retry(
        &self,
        now: Time,
        version: Version,
        token: &RetryToken,
        remote: SocketAddr,
        destination: &ConnectionId,
    ) -> Verdict {
        if token.remote.ip() != remote.ip().to_canonical() || token.remote.port() != remote.port() {
            return Verdict::InvalidRetry("Retry token was sent to another address");
        }
        if token.version != version {
            return Verdict::InvalidRetry("Retry token belongs to another QUIC version");
        }
        if token.retry_source != *destination {
            return Verdict::InvalidRetry("Retry token belongs to another connection id");
        }
        if !self.is_fresh(now, token.issued, self.retry_lifetime) {
            return Verdict::InvalidRetry("Retry token has expired");
        }
        Verdict::Retry { original_destination: token.original_destination }
    }

    //= rfc9000-8.1.3-3: tokens expire
    fn is_fresh(&self, now: Time, issued: u64, lifetime: Duration) -> bool {
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let now = self.clock.unix_millis(now);
        issued <= now.saturating_add(millis(CLOCK_SKEW)) && now.saturating_sub(issued) <= millis(lifetime)
    }
}

/// Remembers tokens that were used, as many as fit: when a generation is full, the one before it is forgotten. A
/// client that wants an old token to count twice must first collect and spend that many others.
#[derive(Default)]
struct UsedTokens {
    current: FxHashSet<TokenId>,
    previous: FxHashSet<TokenId>,
}

impl UsedTokens {
    fn contains(&self, id: &TokenId) -> bool {
        self.current.contains(id) || self.previous.contains(id)
    }

    fn insert(&mut self, id: TokenId) {
        if self.current.len() >= USED_PER_GENERATION {
            self.previous = std::mem::take(&mut self.current);
        }
        self.current.insert(id);
    }
}

#[cfg(test)]
mod tests;
