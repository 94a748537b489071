//! 1-RTT keys and their phases (RFC 9001 section 6, draft-ietf-quic-multipath-21 section 4).

use std::time::Duration;

use hawser_policy::Time;

use crate::crypto::{HeaderKey, Keys, OpenError, PacketKey, PacketKeys};

/// Packets short of the confidentiality limit at which the key is changed.
const UPDATE_MARGIN: u64 = 10_000;

/// Keys of the 1-RTT level in up to three phases: the current one, the next (derived ahead so that accepting an
/// update takes no longer than any other packet, RFC 9001 section 9.5), and the previous one for late packets.
pub(crate) struct OneRttKeys {
    pub(crate) header_local: Box<dyn HeaderKey>,
    pub(crate) header_remote: Box<dyn HeaderKey>,
    current: PacketKeys,
    next: PacketKeys,
    previous: Option<Previous>,
    phase: bool,
    sealed: u64,
    /// Whether the peer acknowledged a packet of the current phase; before that no update may begin.
    acknowledged: bool,
    not_before: Option<Time>,
}

struct Previous {
    remote: Box<dyn PacketKey>,
    until: Option<Time>,
}

/// Which keys a packet asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyChoice {
    Current,
    Previous,
    Next,
}

impl OneRttKeys {
    pub(crate) fn new(keys: Keys, next: PacketKeys) -> Self {
        OneRttKeys {
            header_local: keys.header_local,
            header_remote: keys.header_remote,
            current: keys.packet,
            next,
            previous: None,
            phase: false,
            sealed: 0,
            acknowledged: false,
            not_before: None,
        }
    }

    /// The key phase bit of what we send.
    #[inline]
    pub(crate) fn phase(&self) -> bool {
        self.phase
    }

    /// The key for sending.
    #[inline]
    pub(crate) fn local(&mut self) -> &dyn PacketKey {
        self.sealed += 1;
        &*self.current.local
    }

    pub(crate) fn tag_length(&self) -> usize {
        self.current.local.tag_length()
    }

    pub(crate) fn integrity_limit(&self) -> u64 {
        self.current.remote.integrity_limit()
    }

    /// Which keys open a packet with this phase bit. `first_of_phase` is the lowest packet number received on the
    /// same path in the current phase: numbers below belong to the previous phase (RFC 9001 section 6.5), and the
    /// draft makes this a matter of each path.
    #[inline]
    pub(crate) fn choose(
        &self,
        phase: bool,
        packet_number: u64,
        first_of_phase: impl FnOnce() -> Option<u64>,
    ) -> KeyChoice {
        if phase == self.phase {
            return KeyChoice::Current;
        }
        let late = first_of_phase().is_none_or(|first| packet_number < first);
        if self.previous.is_some() && late { KeyChoice::Previous } else { KeyChoice::Next }
    }

    /// Decrypts in place.
    pub(crate) fn open(
        &self,
        choice: KeyChoice,
        path: u32,
        packet_number: u64,
        header: &[u8],
        payload: &mut [u8],
    ) -> Result<usize, OpenError> {
        let key = match choice {
            KeyChoice::Current => &self.current.remote,
            KeyChoice::Next => &self.next.remote,
            KeyChoice::Previous => &self.previous.as_ref().ok_or(OpenError)?.remote,
        };
        key.open(path, packet_number, header, payload)
    }

    /// Moves to the next phase, on our initiative or because a packet of the peer opened with the next keys.
    /// `following` are the keys after those.
    pub(crate) fn update(&mut self, following: PacketKeys) {
        let next = std::mem::replace(&mut self.next, following);
        let current = std::mem::replace(&mut self.current, next);
        self.previous = Some(Previous { remote: current.remote, until: None });
        self.phase = !self.phase;
        self.sealed = 0;
        self.acknowledged = false;
        self.not_before = None;
    }

    /// A packet sent in the current phase was acknowledged. The previous keys go, and the next update may come,
    /// `3 x the largest PTO of all paths` later (draft-ietf-quic-multipath-21 section 4).
    pub(crate) fn on_acknowledged(&mut self, now: Time, three_pto: Duration) {
        if self.acknowledged {
            return;
        }
        self.acknowledged = true;
        self.not_before = Some(now + three_pto);
        if let Some(previous) = &mut self.previous {
            previous.until.get_or_insert(now + three_pto);
        }
    }

    /// Whether a packet of the current phase was acknowledged.
    #[inline]
    pub(crate) fn is_acknowledged(&self) -> bool {
        self.acknowledged
    }

    /// Whether we may start an update now.
    pub(crate) fn may_update(&self, now: Time) -> bool {
        self.acknowledged && self.previous.is_none() && self.not_before.is_none_or(|time| now >= time)
    }

    /// Whether the current key is nearly used up.
    #[inline]
    pub(crate) fn wants_update(&self) -> bool {
        self.sealed.saturating_add(UPDATE_MARGIN) >= self.current.local.confidentiality_limit()
    }

    /// Whether the current key must not seal another packet.
    #[inline]
    pub(crate) fn is_exhausted(&self) -> bool {
        self.sealed >= self.current.local.confidentiality_limit()
    }

    /// Drops the previous keys once late packets are no longer expected.
    pub(crate) fn discard_expired(&mut self, now: Time) {
        if self.previous.as_ref().is_some_and(|previous| previous.until.is_some_and(|until| now >= until)) {
            self.previous = None;
        }
    }

    pub(crate) fn expiry(&self) -> Option<Time> {
        self.previous.as_ref().and_then(|previous| previous.until)
    }
}
