//! When something must happen on a path although nothing arrives: loss timer, probe timeout, silence.

use std::time::Duration;

use hawser_policy::Time;

use super::PathRecovery;
use super::space::{PacketNumberSpace, SpaceKind};

#[cfg(test)]
mod tests;

/// Doublings of the probe timeout. The idle timeout ends the connection long before.
const MAX_BACKOFF: u32 = 16;

/// Jitter shortens a backed-off timeout by up to this part of it: probes at equal intervals would meet every outage of a link
/// that fails periodically with the same period.
const JITTER_DIVISOR: u32 = 4;

/// So many packets in flight are not all unanswered by chance, even where every third is lost in runs.
const TELLING: u64 = 32;

/// How far the probe timeout backs off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BackOff {
    /// As RFC 9002 says: there never is another path, and the timeout doubles until the connection ends.
    Unlimited,
    /// Up to this, or to a round trip where that is longer, and with jitter: multipath is negotiated.
    ///
    /// RFC 9002 section 6.2.1 doubles it without a bound and trusts the idle timeout to end the connection. For hosts with several links
    /// that is the wrong trade, and most of all while they have one path only, since then they stand in a dead zone: a path that
    /// drops every eighth packet loses some probes in a row, and a link that returns after a tunnel must be found while it is
    /// there.
    Capped(Duration),
}

impl BackOff {
    /// Once multipath is negotiated and while data waits for an acknowledgement: a link that returns is found within a fifth of
    /// a second and a round trip. At most one packet per round trip burdens no path.
    pub(crate) const WITH_DATA: BackOff = BackOff::Capped(Duration::from_millis(180));
    /// Once multipath is negotiated while there is no data.
    pub(crate) const WITHOUT_DATA: BackOff = BackOff::Capped(Duration::from_secs(2));
}

impl PathRecovery {
    /// Probe timeout of application data, without back-off (RFC 9002 section 6.2.1).
    #[inline]
    pub(crate) fn probe_timeout(&self) -> Duration {
        self.rtt.probe_timeout()
    }

    /// When silence makes the path suspect, if there is another. One that loses many packets at random falls silent all the time while
    /// few are in flight, and as suspect it would carry nothing: there the answers of some probes are waited for.
    #[inline]
    pub(crate) fn silence_timer(&self) -> Option<Time> {
        let since = self.outstanding_since()?;
        let silence = self.rtt.silence();
        let by_chance = self.recent_loss.is_heavy() && self.ack_eliciting_outstanding < TELLING;
        Some(since + if by_chance { silence * 3 } else { silence })
    }

    /// When [`detect_lost`](PathRecovery::detect_lost) must look at `space` again.
    //= rfc9002-6.1.2-3: a timer runs for the rest of the time threshold
    pub(crate) fn loss_timer(&self, space: &PacketNumberSpace) -> Option<Time> {
        space.loss_time
    }

    /// When a probe must be sent in `space`. `None` while the loss timer runs (section 6.2.1), when no ack-eliciting
    /// packet is outstanding, and for application data before the handshake is confirmed.
    //= rfc9002-6.2.1-2: the probe timer is set for Initial and Handshake packets first
    //= rfc9002-6.2.1-3: no probe timer for application data before the handshake is confirmed
    //= rfc9002-6.2.1-6: no probe timer while the loss timer runs
    #[inline]
    pub(crate) fn pto_timer(&self, space: &PacketNumberSpace, back_off: BackOff) -> Option<Time> {
        if space.loss_time.is_some() || space.sent.ack_eliciting() == 0 {
            return None;
        }
        if space.kind == SpaceKind::Application && !self.handshake_confirmed {
            return None;
        }
        Some(space.last_ack_eliciting_sent? + self.backed_off_timeout(space.kind, back_off))
    }

    /// When a client with nothing outstanding must send a probe so that a server that is limited by address
    /// validation can go on (RFC 9002 section 6.2.2.1). `since` is when the client last sent or received.
    pub(crate) fn anti_deadlock_timer(&self, kind: SpaceKind, since: Time, back_off: BackOff) -> Time {
        since + self.backed_off_timeout(kind, back_off)
    }

    /// A probe timeout expired: one or two probes follow, whatever window and pacer say (section 6.2.4). `random` is uniform.
    pub(crate) fn on_pto(&mut self, random: u64) {
        self.pto_count += 1;
        self.jitter = random as u8;
        self.totals.probe_timeouts += 1;
    }

    /// Tells the controller of the probe timeout that expired.
    pub(crate) fn signal_probe_timeout(&mut self, now: Time) {
        self.controller.on_probe_timeout(now, self.pto_count);
        self.refresh_limits(now);
    }

    /// The peer was heard on the path now, `after_pause`: for the first time in a probe timeout. Whether the link may be back from an
    /// outage: probes were not answered, or an acknowledgement has been outstanding for longer than a round trip and the peer's delay
    /// take. One that is outstanding while the peer is heard all the time waits in a queue: who only receives would ask, find the path
    /// slow, and choose other ways back for its acknowledgements.
    #[inline]
    pub(crate) fn may_have_returned(&self, now: Time, after_pause: bool) -> bool {
        let expected = self.rtt.smoothed() + self.rtt.max_ack_delay();
        let is_late = || self.outstanding_since().is_some_and(|since| since + expected < now);
        !self.reordering.is_fixed() && (self.pto_count > 0 || (after_pause && is_late()))
    }

    /// Whether nothing that the peer must acknowledge left within the last round trip, or since `least`.
    pub(crate) fn may_probe_again(&self, space: &PacketNumberSpace, now: Time, least: Duration) -> bool {
        let pause = self.rtt.smoothed().max(least);
        space.last_ack_eliciting_sent.is_none_or(|at| at + pause <= now)
    }

    /// Probe timeouts since the last acknowledgement.
    pub(crate) fn pto_count(&self) -> u32 {
        self.pto_count
    }

    /// How long an acknowledgement has been outstanding on this path: since the last one, or since the first
    /// ack-eliciting packet after nothing was outstanding. Zero while nothing is.
    #[cfg(test)]
    pub(crate) fn silent_for(&self, now: Time) -> Duration {
        self.outstanding_since().map_or(Duration::ZERO, |since| now.since(since))
    }

    /// What was outstanding until now is no longer waited for.
    pub(crate) fn restart_silence(&mut self, now: Time) {
        self.last_progress = now;
    }

    /// Since when an acknowledgement has been outstanding.
    pub(crate) fn outstanding_since(&self) -> Option<Time> {
        (self.ack_eliciting_outstanding > 0).then_some(self.last_progress)
    }

    /// Never below kGranularity, as the bound on the round trip is not.
    //= rfc9002-6.2.1-5: the probe timeout doubles each time
    #[inline]
    fn backed_off_timeout(&self, kind: SpaceKind, back_off: BackOff) -> Duration {
        // Initial and Handshake packets are acknowledged at once (section 6.2.1).
        let timeout = match kind {
            SpaceKind::Application => self.probe_timeout(),
            SpaceKind::Initial | SpaceKind::Handshake => self.rtt.round_trip_bound(),
        };
        if self.pto_count == 0 {
            return timeout;
        }
        let backed_off = timeout.saturating_mul(1 << self.pto_count.min(MAX_BACKOFF));
        match back_off {
            BackOff::Unlimited => backed_off,
            BackOff::Capped(longest) => {
                let capped = backed_off.min(longest.max(self.rtt.smoothed()));
                capped - capped / JITTER_DIVISOR * u32::from(self.jitter) / u32::from(u8::MAX)
            }
        }
    }
}
