//! 1-RTT keys and their phases (RFC 9001 section 6, draft-ietf-quic-multipath-21 section 4).

use std::time::Duration;

use hawser_policy::Time;

use crate::crypto::{HeaderKey, Keys, OpenError, PacketKey, PacketKeys};

/// Packets short of the confidentiality limit at which the key is changed although a silent path has not acknowledged
/// it.
const URGENT_MARGIN: u64 = 10_000;

/// Keys of the 1-RTT level in up to three phases: the current one, the next (derived ahead so that accepting an
/// update takes no longer than any other packet, RFC 9001 section 9.5), and the previous one for late packets.
//= rfc9001-6.3-1: an apparent key update takes as long to process as any packet
//= rfc9001-6.3-3: current keys and those of the next phase are there at any time
pub(crate) struct OneRttKeys {
    pub(crate) header_local: Box<dyn HeaderKey>,
    pub(crate) header_remote: Box<dyn HeaderKey>,
    current: PacketKeys,
    next: PacketKeys,
    previous: Option<Previous>,
    phase: bool,
    sealed: u64,
    /// Packets sealed in one phase after which the next one is due: half of what the key allows, or fewer.
    update_after: u64,
    /// When an update may begin; `None` until a packet of the current phase is acknowledged.
    not_before: Option<Time>,
}

struct Previous {
    remote: Box<dyn PacketKey>,
    /// `None` until a packet of the present phase arrives.
    until: Option<Time>,
}

/// How far the present key phase has come on one path.
///
/// All paths share the keys, but packet numbers are of each path, and by them a receiver tells the phase before from
/// the next one. draft-ietf-quic-multipath-21 section 4 therefore asks that every path carries a packet of a phase, and
/// has it acknowledged, before the next phase begins.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PathKeyPhase {
    /// Lowest packet number received in it.
    first_received: Option<u64>,
    /// Packet number from which on packets were sent in it.
    first_sent: u64,
    acknowledged: bool,
}

impl PathKeyPhase {
    /// Begins with the packet numbered `next`.
    pub(crate) fn new(next: u64) -> Self {
        PathKeyPhase { first_received: None, first_sent: next, acknowledged: false }
    }

    /// A packet of the phase arrived. Returns whether it is the path's first.
    #[inline]
    pub(crate) fn on_received(&mut self, packet_number: u64) -> bool {
        match self.first_received {
            Some(first) if first <= packet_number => false,
            known => {
                self.first_received = Some(packet_number);
                known.is_none()
            }
        }
    }

    /// A packet was acknowledged. Returns whether it is the first of the phase.
    #[inline]
    pub(crate) fn on_acked(&mut self, packet_number: u64) -> bool {
        let is_first = !self.acknowledged && packet_number >= self.first_sent;
        self.acknowledged |= is_first;
        is_first
    }

    /// Lowest packet number received in the phase.
    pub(crate) fn first_received(&self) -> Option<u64> {
        self.first_received
    }

    /// Whether the peer acknowledged a packet of the phase.
    pub(crate) fn is_acknowledged(&self) -> bool {
        self.acknowledged
    }
}

/// Which keys a packet asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyChoice {
    Current,
    Previous,
    Next,
}

impl OneRttKeys {
    /// `update_after`: packets of a phase after which to change the keys; `None` when the key is half used up.
    pub(crate) fn new(keys: Keys, next: PacketKeys, update_after: Option<u64>) -> Self {
        let half = keys.packet.local.confidentiality_limit() / 2;
        OneRttKeys {
            header_local: keys.header_local,
            header_remote: keys.header_remote,
            current: keys.packet,
            next,
            previous: None,
            phase: false,
            sealed: 0,
            update_after: update_after.map_or(half, |packets| packets.clamp(1, half)),
            not_before: None,
        }
    }

    /// The key phase bit of what we send.
    #[inline]
    pub(crate) fn phase(&self) -> bool {
        self.phase
    }

    /// The key for sending.
    //= rfc9001-6.4-1: packets with higher numbers have the same keys or newer ones
    //= rfc9001-6.6-1: packets that a key encrypts are counted
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
    /// same path in the current phase: numbers below belong to the previous phase (RFC 9001 section 6.5). Where the path
    /// received nothing in it, the packet is late while the previous keys exist, and the next phase's afterwards.
    //= rfc9001-5.5-1: packets that do not open with this key or the next are dropped
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
    //= rfc9001-6.3-2: the keys of the next phase are kept
    //= rfc9001-9.5-3: the keys of the next phase are derived ahead
    pub(crate) fn update(&mut self, following: PacketKeys) {
        let next = std::mem::replace(&mut self.next, following);
        let current = std::mem::replace(&mut self.current, next);
        self.previous = Some(Previous { remote: current.remote, until: None });
        self.phase = !self.phase;
        self.sealed = 0;
        self.not_before = None;
    }

    /// A packet that the peer sent in the current phase arrived. RFC 9001 section 6.5: the previous keys open late packets
    /// for `3 x the largest PTO of all paths` more. They must go then: on a path that carried nothing in this phase they
    /// would be taken for the keys of the next.
    //= rfc9001-6.1-3: old keys stay until a packet of the new phase opened
    //= rfc9001-6.1-4: old keys stay for some time after the first packet of the new phase
    //= rfc9001-6.5-2: old read keys stay for three PTO after an update
    pub(crate) fn on_received(&mut self, now: Time, three_pto: Duration) {
        if let Some(previous) = &mut self.previous {
            previous.until.get_or_insert(now + three_pto);
        }
    }

    /// A packet sent in the current phase was acknowledged on some path: an update may come when `three_pto` is over,
    /// after which the peer has no use for its previous keys.
    //= rfc9001-6.5-1: three PTO pass between the acknowledgement of an update and the next update
    pub(crate) fn on_acknowledged(&mut self, now: Time, three_pto: Duration) {
        self.not_before.get_or_insert(now + three_pto);
    }

    /// Whether we may start an update now, as far as time goes.
    //= multipath-2.5-1: a key update waits three times the largest PTO after the last is acknowledged
    //= rfc9001-6.1-2: no key update before a packet of the present phase was acknowledged
    pub(crate) fn may_update(&self, now: Time) -> bool {
        self.previous.is_none() && self.not_before.is_some_and(|time| now >= time)
    }

    /// Whether the current key is half used up, or as far as the application wants: time to change it at leisure.
    #[inline]
    pub(crate) fn wants_update(&self) -> bool {
        self.sealed >= self.update_after
    }

    /// Whether the current key is nearly used up.
    #[inline]
    pub(crate) fn needs_update(&self) -> bool {
        self.sealed.saturating_add(URGENT_MARGIN) >= self.current.local.confidentiality_limit()
    }

    /// Whether the current key must not seal another packet.
    #[inline]
    pub(crate) fn is_exhausted(&self) -> bool {
        self.sealed >= self.current.local.confidentiality_limit()
    }

    /// Drops the previous keys once late packets are no longer expected.
    //= rfc9001-6.5-3: old read keys are discarded three PTO after an update
    pub(crate) fn discard_expired(&mut self, now: Time) {
        if self.previous.as_ref().is_some_and(|previous| previous.until.is_some_and(|until| now >= until)) {
            self.previous = None;
        }
    }

    pub(crate) fn expiry(&self) -> Option<Time> {
        self.previous.as_ref().and_then(|previous| previous.until)
    }
}
