//! How large a datagram a path carries: DPLPMTUD (RFC 8899, RFC 9000 section 14.3). All sizes are UDP payload.

use std::time::Duration;

use hawser_policy::Time;

use super::MIN_DATAGRAM_SIZE;

/// Probes of one size before it counts as too large (RFC 8899 section 5.1.2, MAX_PROBES).
const MAX_PROBES: u8 = 3;

/// The search ends when less than this could still be gained.
const SEARCH_STEP: u16 = 16;

/// How long a result below the maximum is kept before a larger size is tried (RFC 8899 section 5.1.1,
/// PMTU_RAISE_TIMER).
const RAISE_INTERVAL: Duration = Duration::from_secs(600);

/// The same after a black hole, which a handover may have caused and the next one may cure.
const BLACK_HOLE_INTERVAL: Duration = Duration::from_secs(60);

/// Times in a row that large packets, and only those, were found lost before the path counts as a black hole.
const BLACK_HOLE_LOSSES: u8 = 3;

/// Probe timeouts in a row after which large packets are no longer tried: nothing at all is acknowledged then, and
/// so nothing is found lost either. Most such silences are outages, which say nothing about sizes: the first
/// acknowledgement after one begins the search again, at the size that was in use.
const BLACK_HOLE_PROBE_TIMEOUTS: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The path is not validated yet.
    Waiting,
    /// Between a size that works and one that may.
    Searching { high: u16, probe: u16, failures: u8, in_flight: Option<u64> },
    /// Done until the timer.
    Complete { raise_at: Time },
    /// There is nothing to find.
    Off,
}

/// The search for the largest datagram of one path. Restarts when its addresses change.
//= rfc9000-14.2-1: the datagram size is discovered
#[derive(Clone, Debug)]
pub(crate) struct MtuDiscovery {
    initial: u16,
    maximum: u16,
    current: u16,
    state: State,
    /// Largest acknowledged packet number among large packets.
    largest_acked: Option<u64>,
    /// Detections in a row with large packets lost, and the largest number sent when the last one was counted.
    losses: u8,
    counted_up_to: Option<u64>,
    /// The size in use before probe timeouts in a row, and the largest that was still searched for; until something is
    /// acknowledged.
    before_silence: Option<(u16, u16)>,
}

impl MtuDiscovery {
    /// `initial` and `maximum` as configured (`initial_mtu`, `max_mtu`).
    //= rfc9000-14.2-2: datagrams have 1200 bytes as long as no larger size is proven
    //= rfc9000-14.3-1: datagram size discovery begins at 1200 bytes
    pub(crate) fn new(initial: u16, maximum: u16) -> Self {
        let initial = initial.max(MIN_DATAGRAM_SIZE);
        MtuDiscovery {
            initial,
            maximum: maximum.max(initial),
            current: initial,
            state: State::Waiting,
            largest_acked: None,
            losses: 0,
            counted_up_to: None,
            before_silence: None,
        }
    }

    /// The peer's max_udp_payload_size. Values below 1200 are invalid and rejected elsewhere.
    pub(crate) fn set_peer_limit(&mut self, limit: u64) {
        let limit = u16::try_from(limit).unwrap_or(u16::MAX).max(MIN_DATAGRAM_SIZE);
        self.maximum = self.maximum.min(limit);
        self.initial = self.initial.min(limit);
        self.current = self.current.min(limit);
    }

    /// The largest datagram to send, in bytes.
    #[inline]
    pub(crate) fn current(&self) -> u16 {
        self.current
    }

    /// The addresses are validated and the handshake is confirmed: the search may begin.
    pub(crate) fn start(&mut self) {
        if self.state == State::Waiting {
            self.search_up_to(self.maximum);
        }
    }

    /// The addresses changed.
    pub(crate) fn reset(&mut self) {
        *self = MtuDiscovery::new(self.initial, self.maximum);
    }

    /// The size of the probe to send now. A probe holds PING and PADDING and is no sign of congestion when lost
    /// (RFC 9000 section 14.4).
    #[inline]
    pub(crate) fn next_probe(&self) -> Option<u16> {
        match self.state {
            State::Searching { probe, in_flight: None, .. } => Some(probe),
            _ => None,
        }
    }

    /// The probe left in this packet.
    pub(crate) fn on_probe_sent(&mut self, packet_number: u64) {
        if let State::Searching { in_flight, .. } = &mut self.state {
            *in_flight = Some(packet_number);
        }
    }

    /// A probe arrived. Returns whether datagrams may be larger now.
    pub(crate) fn on_probe_acked(&mut self, now: Time, packet_number: u64) -> bool {
        let State::Searching { high, probe, in_flight, .. } = self.state else { return false };
        if in_flight != Some(packet_number) {
            return false;
        }
        self.current = probe;
        self.largest_acked = self.largest_acked.max(Some(packet_number));
        self.losses = 0;
        self.narrow(now, high);
        true
    }

    /// A probe is lost.
    pub(crate) fn on_probe_lost(&mut self, now: Time, packet_number: u64) {
        let State::Searching { high, probe, failures, in_flight } = self.state else { return };
        if in_flight != Some(packet_number) {
            return;
        }
        if failures + 1 < MAX_PROBES {
            self.state = State::Searching { high, probe, failures: failures + 1, in_flight: None };
        } else {
            self.narrow(now, probe - 1);
        }
    }

    /// A packet that is not a probe arrived. To be called before the losses found by the same acknowledgement.
    #[inline]
    pub(crate) fn on_acked(&mut self, packet_number: u64, size: u16) {
        if let Some((probe, high)) = self.before_silence.take() {
            self.state = State::Searching { high, probe, failures: 0, in_flight: None };
        }
        if size > MIN_DATAGRAM_SIZE {
            self.largest_acked = self.largest_acked.max(Some(packet_number));
            self.losses = 0;
        }
    }

    /// A packet that is not a probe is lost; `largest_sent` is the largest number sent on the path so far. Returns
    /// whether the path turned out to be a black hole for large datagrams, which are smaller from now on.
    ///
    /// One burst of losses counts once, however many packets it takes; only detections whose packets were sent after
    /// the one before was known count as repeated.
    pub(crate) fn on_lost(&mut self, now: Time, packet_number: u64, size: u16, largest_sent: u64) -> bool {
        let is_old = Some(packet_number) <= self.largest_acked || Some(packet_number) <= self.counted_up_to;
        if size <= MIN_DATAGRAM_SIZE || is_old {
            return false;
        }
        self.counted_up_to = Some(largest_sent);
        // Without bound while the path is not validated.
        self.losses = self.losses.saturating_add(1);
        self.losses >= BLACK_HOLE_LOSSES && self.fall_to_base(now)
    }

    /// Probe timeouts (RFC 9002 section 6.2) followed each other without an acknowledgement. Returns whether datagrams
    /// are smaller from now on.
    pub(crate) fn on_probe_timeout(&mut self, now: Time, consecutive: u32) -> bool {
        let high = match self.state {
            State::Searching { high, .. } => high,
            _ => self.current,
        };
        let before = (self.current, high);
        let fell = consecutive >= BLACK_HOLE_PROBE_TIMEOUTS && self.fall_to_base(now);
        if fell {
            self.before_silence = Some(before);
        }
        fell
    }

    /// When [`on_timeout`](Self::on_timeout) is to be called.
    pub(crate) fn timeout(&self) -> Option<Time> {
        match self.state {
            State::Complete { raise_at } if self.current < self.maximum => Some(raise_at),
            _ => None,
        }
    }

    /// Tries larger sizes again if it is time.
    pub(crate) fn on_timeout(&mut self, now: Time) {
        if self.timeout().is_some_and(|at| at <= now) {
            self.search_up_to(self.maximum);
        }
    }

    /// The top first: most paths carry it, and then one probe is all.
    fn search_up_to(&mut self, high: u16) {
        self.state = if high > self.current {
            State::Searching { high, probe: high, failures: 0, in_flight: None }
        } else {
            State::Off
        };
    }

    /// Halves what lies between the size that works and the largest that may.
    fn narrow(&mut self, now: Time, high: u16) {
        let span = high.saturating_sub(self.current);
        self.state = if span < SEARCH_STEP {
            State::Complete { raise_at: now + RAISE_INTERVAL }
        } else {
            let probe = high - span / 2;
            State::Searching { high, probe, failures: 0, in_flight: None }
        };
    }

    fn fall_to_base(&mut self, now: Time) -> bool {
        if self.current <= MIN_DATAGRAM_SIZE || self.state == State::Waiting {
            return false;
        }
        self.current = MIN_DATAGRAM_SIZE;
        self.losses = 0;
        self.state = State::Complete { raise_at: now + BLACK_HOLE_INTERVAL };
        true
    }
}

#[cfg(test)]
mod tests;
