//! Loss detection (RFC 9002 section 6.1) and persistent congestion (section 7.6).

use std::time::Duration;

use hawser_policy::{Siblings, Time};
use hawser_wire::packet::TruncatedPacketNumber;

use super::PathRecovery;
use super::congestion::LossTally;
use super::outage::OutageTally;
use super::rtt::GRANULARITY;
use super::sent::{PacketKind, SentPacket};
use super::space::{LossRun, LostRecord, PacketNumberSpace, SpaceKind};

#[cfg(test)]
mod tests;

/// kPersistentCongestionThreshold (RFC 9002 section 7.6.1), in probe timeouts.
//= rfc9002-7.6.1-1: persistent congestion takes three PTO
const PERSISTENT_CONGESTION_THRESHOLD: u32 = 3;
/// How long after a packet was declared lost its late acknowledgement says something of the path, in round trips; and how long at least it
/// saves its data from being sent again: a path that moved may have been much longer before.
const LATE_ACK_ROUND_TRIPS: u32 = 4;
const LATE_DATA: Duration = Duration::from_secs(1);

impl PathRecovery {
    /// Declares packets lost that later ones have overtaken by too many numbers or too long, appends them to `lost`,
    /// and tells the controller. Call when [`loss_timer`](PathRecovery::loss_timer) expires; acknowledgements do it
    /// themselves.
    //= rfc9002-6.1.2-1: an earlier packet is lost after the time threshold
    pub(crate) fn detect_lost(
        &mut self,
        space: &mut PacketNumberSpace,
        now: Time,
        siblings: &Siblings<'_>,
        lost: &mut Vec<SentPacket>,
    ) {
        space.loss_time = None;
        let Some(largest_acked) = space.largest_acked else { return };
        let patience = self.patience();
        let packet_threshold = self.reordering.packet_threshold().unwrap_or(u64::MAX);
        let (mut tally, mut outage) = (LossTally::default(), OutageTally::default());
        // Send times rise with packet numbers, so the first packet that is not lost ends the search.
        while let Some(oldest) = space.sent.oldest() {
            if oldest.packet_number > largest_acked {
                break;
            }
            let due = oldest.sent_at + patience;
            if due > now && largest_acked - oldest.packet_number < packet_threshold {
                space.loss_time = Some(due);
                break;
            }
            let Some(packet) = space.sent.pop_oldest() else { break };
            if self.silences.explain(&packet) {
                self.on_packet_lost_in_outage(space, &packet, now, &mut outage);
            } else {
                self.on_packet_lost(space, &packet, now, &mut tally);
            }
            lost.push(packet);
        }
        if !space.lost_records.is_empty() {
            space.forget_lost_before(self.late_since(now).min(now - LATE_DATA));
        }
        self.signal_outage(&outage, now);
        self.signal_loss(&tally, now, siblings);
    }

    /// By which threshold a packet was just declared lost, in qlog's words. Where it was over both, the time says more.
    pub(crate) fn loss_trigger(&self, packet: &SentPacket, now: Time) -> &'static str {
        let late = packet.sent_at + self.patience() <= now;
        if late { "time_threshold" } else { "reordering_threshold" }
    }

    /// Since when a packet must have been declared lost for its late acknowledgement to say something of the path.
    pub(super) fn late_since(&self, now: Time) -> Time {
        now - self.rtt.smoothed().max(self.rtt.latest()) * LATE_ACK_ROUND_TRIPS
    }

    /// How long after it was sent a packet that later ones have overtaken is lost (RFC 9002 section 6.1.2).
    //= rfc9002-6.1.2-2: the time threshold is kGranularity at least
    fn patience(&self) -> Duration {
        let rtt = &self.rtt;
        self.reordering.time_threshold(rtt.latest(), rtt.smoothed(), rtt.min()).max(GRANULARITY)
    }

    /// The bytes of a packet number of application data. The peer completes them next to the largest number that it has then
    /// (RFC 9000 section 17.1), so a packet that others overtake needs more of them than its distance to the largest acknowledged:
    /// it must not be taken for another when eight times as many as are in flight now have passed it. Where packets overtake each
    /// other, two bytes at least: little may be in flight now, and much in a moment.
    #[inline]
    pub(crate) fn truncate(&self, space: &PacketNumberSpace, number: u64) -> TruncatedPacketNumber {
        const OVERTAKEN_BY: u64 = 8;
        const TWO_BYTES: u64 = 0x80;
        let unacked = space.largest_acked.map_or(number + 1, |largest| number.saturating_sub(largest));
        let least = if self.reordering.packet_threshold().is_none() { TWO_BYTES } else { 0 };
        let distance = unacked.saturating_mul(OVERTAKEN_BY).max(least);
        TruncatedPacketNumber::with_len(number, TruncatedPacketNumber::new(distance, Some(0)).byte_len())
    }

    /// Gives up on everything outstanding without a congestion signal: the path is abandoned, 0-RTT was rejected, or
    /// a Retry came.
    //= rfc9000-17.2.3-2: 0-RTT data after a Retry has new packet numbers
    pub(crate) fn drain(&mut self, space: &mut PacketNumberSpace, lost: &mut Vec<SentPacket>) {
        space.sent.drain(|packet| {
            self.release(&packet);
            self.totals.packets_discarded += 1;
            lost.push(packet);
        });
        self.forget_timers(space);
    }

    /// The keys of `space` are gone (RFC 9002 section 6.4): its packets are neither acknowledged nor lost.
    //= rfc9002-6.2.1-4: the probe timer restarts with each ack-eliciting packet sent
    //= rfc9002-6.2.2-3: discarded keys reset the probe timer
    //= rfc9002-6.4-1: discarded keys take their packets out of flight
    pub(crate) fn discard_space(&mut self, space: &mut PacketNumberSpace) {
        space.sent.drain(|packet| {
            self.release(&packet);
            self.totals.packets_discarded += 1;
        });
        self.forget_timers(space);
        self.pto_count = 0;
    }

    /// The path fell silent: hands each packet whose acknowledgement is outstanding to `visit`, once, so that its
    /// frames are queued for other paths. The packets stay in flight. If they are acknowledged late after all, copies
    /// still queued can be cancelled; if they are lost, [`SentPacket::resent`] tells that nothing is left to do.
    pub(crate) fn resend_elsewhere(&self, space: &mut PacketNumberSpace, mut visit: impl FnMut(&SentPacket)) {
        space.sent.for_each_mut(|packet| {
            if packet.ack_eliciting && !packet.resent {
                packet.resent = true;
                visit(packet);
            }
        });
    }

    /// The path is abandoned: what is still acknowledged of it says nothing to its controller, which may have left its share to others.
    pub(crate) fn retire(&mut self) {
        self.retired = true;
    }

    fn forget_timers(&mut self, space: &mut PacketNumberSpace) {
        space.loss_time = None;
        space.last_ack_eliciting_sent = None;
        space.loss_run = None;
        space.lost_records.clear();
    }

    /// Takes a packet out of the counts of what is outstanding.
    #[inline]
    pub(super) fn release(&mut self, packet: &SentPacket) {
        if packet.in_flight {
            let bytes = u64::from(packet.bytes);
            if packet.tuple_generation == self.tuple_generation {
                self.bytes_in_flight = self.bytes_in_flight.saturating_sub(bytes);
            } else if let Some(former) =
                self.former.as_mut().filter(|former| former.generation == packet.tuple_generation)
            {
                former.bytes_in_flight = former.bytes_in_flight.saturating_sub(bytes);
            }
        }
        self.ack_eliciting_outstanding -= u64::from(packet.ack_eliciting);
    }

    /// Neither the controller nor any estimate hears of it.
    fn on_packet_lost_in_outage(
        &mut self,
        space: &mut PacketNumberSpace,
        packet: &SentPacket,
        now: Time,
        tally: &mut OutageTally,
    ) {
        self.release(packet);
        let bytes = u64::from(packet.bytes);
        self.totals.packets_lost += 1;
        self.totals.bytes_lost += bytes;
        tally.bytes += bytes;
        tally.packets += 1;
        space.loss_run = None;
        space.record_lost(LostRecord::of(packet, now, None));
    }

    //= rfc9000-14.4-1: a lost probe is no sign of congestion
    //= rfc9002-7.4-1: losses of packets after the first acknowledged one are not ignored
    fn on_packet_lost(
        &mut self,
        space: &mut PacketNumberSpace,
        packet: &SentPacket,
        now: Time,
        tally: &mut LossTally,
    ) {
        self.release(packet);
        let bytes = u64::from(packet.bytes);
        self.totals.packets_lost += 1;
        self.totals.bytes_lost += bytes;
        let current = packet.tuple_generation == self.tuple_generation;
        if current {
            self.delivery.on_packet_lost(bytes);
            if packet.ecn_marked {
                self.ecn.on_marked_lost();
            }
        }
        let congestion = current && packet.kind == PacketKind::Normal;
        let mut epoch = None;
        if congestion {
            self.recent_loss.on_lost(bytes);
            let covered = self.epoch.covers(packet.sent_at);
            epoch = Some(self.epoch.number() + u64::from(!covered));
            tally.bytes += bytes;
            tally.packets += 1;
            tally.packets_in_epoch += u64::from(covered);
            tally.largest = Some((packet.packet_number, packet.sent_at));
            tally.smallest.get_or_insert(packet.packet_number);
            (tally.largest_state, tally.limited_by) = (packet.delivery, packet.limited_by);
        }
        space.record_lost(LostRecord::of(packet, now, epoch));
        if current {
            tally.persistent |= self.extends_to_persistent_congestion(space, packet, congestion);
        } else {
            space.loss_run = None;
        }
    }

    /// Adds a lost packet to the run of losses. True when the run lasts long enough (RFC 9002 section 7.6.2: between
    /// two ack-eliciting packets, sent after the first round-trip sample, none acknowledged in between).
    ///
    /// A packet whose loss is no sign of congestion (RFC 9000 section 14.4) is part of a run, but neither its beginning nor
    /// its end: the controller would not hear of it.
    //= rfc9002-7.6.2-1: the packets that show persistent congestion are ack-eliciting
    //= rfc9002-7.6.2-2: persistent congestion needs an RTT sample before
    //= rfc9002-7.6.2-3 (not done): losses of all packet number spaces count for persistent congestion
    fn extends_to_persistent_congestion(
        &self,
        space: &mut PacketNumberSpace,
        packet: &SentPacket,
        congestion: bool,
    ) -> bool {
        // The handshake has a space for each key; a run within one of them says nothing about the others.
        if space.kind != SpaceKind::Application {
            return false;
        }
        let Some(first_sample_at) = self.rtt.first_sample_at() else { return false };
        let run = space.loss_run.filter(|run| space.has_none_acknowledged(run.last, packet.packet_number));
        space.loss_run = match run {
            Some(run) => Some(LossRun { last: packet.packet_number, ..run }),
            None if congestion && packet.ack_eliciting && packet.sent_at > first_sample_at => {
                Some(LossRun { from: packet.sent_at, last: packet.packet_number })
            }
            None => None,
        };
        let Some(run) = space.loss_run else { return false };
        let duration = self.probe_timeout() * PERSISTENT_CONGESTION_THRESHOLD;
        if congestion && packet.ack_eliciting && packet.sent_at.since(run.from) > duration {
            space.loss_run = None;
            return true;
        }
        false
    }
}
