//! What to send next. Looks, asks the scheduler, decides; builds nothing.

use hawser_policy::{Assignment, PathId, PathState, Time};

use super::Connection;
use super::packet_room::{MIN_ONE_RTT_ROOM, handshake_room};
use super::paths::path::Path;
use super::zero_rtt::EarlyData;
use crate::FourTuple;
use crate::crypto::Level;

/// What the next datagrams carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// CONNECTION_CLOSE.
    Close,
    /// Initial and Handshake packets, coalesced.
    Handshake,
    /// PATH_CHALLENGE or PATH_RESPONSE for one 4-tuple.
    Validation(PathId, FourTuple),
    /// An ack-eliciting packet that the congestion window does not hold back (RFC 9002 section 6.2.4).
    Probe(PathId),
    /// A packet that tests a larger datagram size.
    MtuProbe(PathId, u16),
    /// Acknowledgements and control frames, no data.
    Control(PathId),
    /// A repair symbol of an erasure code.
    Repair(PathId),
    /// Data where the scheduler wants it, with whatever control frames are waiting.
    Data(Assignment),
}

impl Connection {
    /// The next thing to send, in order of urgency.
    pub(super) fn plan(&mut self, now: Time) -> Option<Plan> {
        if !self.closing.is_open() {
            return self.closing.is_pending().then_some(Plan::Close);
        }
        if self.handshake.has_long_levels() && self.handshake_has_work() {
            return Some(Plan::Handshake);
        }
        if !self.can_send_one_rtt() {
            return if self.zero_rtt.is_sending() { self.plan_zero_rtt(now) } else { None };
        }
        if self.paths.iter().any(Path::may_have_urgent_work)
            && let Some(plan) = self.plan_urgent(now)
        {
            return Some(plan);
        }
        self.plan_regular(now)
    }

    /// What neither congestion control nor the pacer holds back.
    //= rfc9000-8.2.2-2: PATH_RESPONSE is sent at once
    //= rfc9002-7.5-1: congestion control does not hold back probes
    #[cold]
    fn plan_urgent(&self, now: Time) -> Option<Plan> {
        if let Some((path, tuple)) = self.paths.validation_due(now, MIN_ONE_RTT_ROOM as u64) {
            return Some(Plan::Validation(path, tuple));
        }
        let probed = self.paths.iter().find(|path| path.probes > 0 && path.can_transmit())?;
        Some(Plan::Probe(probed.id))
    }

    /// Whether 1-RTT packets can be sent. A client has the keys when its handshake is complete. A server has them before,
    /// and may use them as long as it does not rely on who the client is; only to answer 0-RTT is it worth while.
    fn can_send_one_rtt(&self) -> bool {
        let answers_early = || self.side.is_server() && self.zero_rtt.status() == EarlyData::Accepted;
        self.handshake.one_rtt.is_some() && (self.handshake.is_complete() || answers_early())
    }

    /// Whether Initial or Handshake packets are to be sent, and may be.
    #[cold]
    fn handshake_has_work(&self) -> bool {
        self.paths.get(PathId::ZERO).is_some_and(|path| {
            let room = path.amplification_room();
            self.handshake_due(Level::Initial, room) || self.handshake_due(Level::Handshake, room)
        })
    }

    /// Whether packets of a level are to be sent and `room` bytes are enough for them.
    pub(super) fn handshake_due(&self, level: Level, room: usize) -> bool {
        room >= handshake_room(level) && self.level_has_work(level)
    }

    /// Whether a level has something to send. Handshake data is a few packets: only the anti-amplification limit
    /// holds it back.
    fn level_has_work(&self, level: Level) -> bool {
        let long = match level {
            Level::Initial => self.handshake.initial.as_ref(),
            _ => self.handshake.handshake.as_ref(),
        };
        long.is_some_and(|long| {
            long.send.has_pending() || long.probes > 0 || long.space.received.deadline().is_some()
        })
    }

    /// Everything that congestion control governs, and acknowledgements.
    fn plan_regular(&mut self, now: Time) -> Option<Plan> {
        if self.extensions.repair.has_queued()
            && let Some(path) = self.repair_due(now)
        {
            return Some(Plan::Repair(path));
        }
        let data = self.plan_data(now);
        if let Some(path) = self.control_due(now) {
            // Control frames and acknowledgements ride with data where they can.
            return Some(match data {
                Some(assignment) if assignment.path == path => Plan::Data(assignment),
                _ => {
                    self.policies.keep(data);
                    Plan::Control(path)
                }
            });
        }
        if let Some(plan) = self.plan_mtu_probe() {
            self.policies.keep(data);
            return Some(plan);
        }
        data.map(Plan::Data)
    }

    fn plan_mtu_probe(&self) -> Option<Plan> {
        if !self.handshake.confirmed {
            return None;
        }
        self.paths.iter().find_map(|path| {
            let size = path.next_mtu_probe()?;
            Some(Plan::MtuProbe(path.id, size))
        })
    }

    /// The path on which something other than data must leave now.
    //= rfc9002-7.7-4: packets with nothing but ACK are not paced
    fn control_due(&mut self, now: Time) -> Option<PathId> {
        if let Some(at) = self.paths.iter().position(|path| path.space.received.is_due(now)) {
            return self.policies.choose_return_path(now, &self.paths, at);
        }
        if self.extensions.datagrams.any_bound()
            && let Some(path) = self
                .paths
                .iter()
                .find(|p| self.extensions.datagrams.has_bound(p.id) && p.can_send_ack_eliciting())
        {
            return Some(path.id);
        }
        let immediate = self.extensions.ack_frequencies.immediate_paths();
        if !immediate.is_empty()
            && let Some(path) =
                self.paths.iter().find(|p| immediate.contains(&p.id) && p.can_send_ack_eliciting())
        {
            return Some(path.id);
        }
        if self.has_control() { self.control_path() } else { None }
    }

    /// Whether control frames wait that any path may carry.
    pub(super) fn has_control(&self) -> bool {
        self.server_frames.are_pending()
            || self.handshake.late_send.has_pending()
            || self.extensions.messages.has_pending()
            || self.extensions.repair.has_recovered()
            || self.extensions.ack_frequencies.has_pending()
            || self.streams.has_pending_control()
            || self.paths.has_pending_control()
    }

    /// The path for control frames: the quickest that may send ack-eliciting packets.
    //= multipath-3.4-3: PATH_ABANDON goes on another path
    pub(super) fn control_path(&self) -> Option<PathId> {
        self.paths
            .iter()
            .filter(|path| path.state() == Some(PathState::Active) && path.can_send_ack_eliciting())
            .min_by_key(|path| (path.recovery.rtt.smoothed(), path.id))
            .map(|path| path.id)
    }

    /// Asks the scheduler where data goes.
    //= rfc9221-5.4-1: congestion control delays or drops DATAGRAM
    pub(super) fn plan_data(&mut self, now: Time) -> Option<Assignment> {
        let (policies, mut targets) = self.split_policies(now);
        policies.next_assignment(&mut targets)
    }
}
