//! Limits what is sent to an address that nobody has vouched for (RFC 9000 section 8).

/// Bytes that may be sent to an unvalidated address per byte received from it (RFC 9000 section 8).
pub(super) const AMPLIFICATION_FACTOR: u64 = 3;

/// Bytes received from and sent to one 4-tuple, counted as UDP payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Amplification {
    received: u64,
    sent: u64,
    validated: bool,
}

impl Amplification {
    /// For an address that may be spoofed.
    pub(crate) const fn unvalidated() -> Self {
        Amplification { received: 0, sent: 0, validated: false }
    }

    /// For an address known to be the peer's: the server's of a client, or one that was validated before.
    pub(crate) const fn validated() -> Self {
        Amplification { received: 0, sent: 0, validated: true }
    }

    /// A datagram came from there. Only what belongs to this connection counts.
    #[inline]
    pub(crate) fn on_received(&mut self, bytes: usize) {
        self.received = self.received.saturating_add(bytes as u64);
    }

    /// A datagram went there.
    #[inline]
    pub(crate) fn on_sent(&mut self, bytes: usize) {
        self.sent = self.sent.saturating_add(bytes as u64);
    }

    /// The address is the peer's.
    pub(crate) fn validate(&mut self) {
        self.validated = true;
    }

    /// Whether the address is known to be the peer's.
    #[inline]
    pub(crate) fn is_validated(&self) -> bool {
        self.validated
    }

    /// Bytes that may be sent now; [`u64::MAX`] without limit.
    //= rfc9000-8-1: an address that has not answered is sent three times what came from it
    //= rfc9000-8.1-1: before validation a server sends a client three times what came from it
    //= rfc9000-14.1-4: a server limits its answers until the client's address is validated
    #[inline]
    pub(crate) fn allowance(&self) -> u64 {
        if self.validated {
            return u64::MAX;
        }
        self.received.saturating_mul(AMPLIFICATION_FACTOR).saturating_sub(self.sent)
    }
}

#[cfg(test)]
mod tests;
