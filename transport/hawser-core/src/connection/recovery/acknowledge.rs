//! What an ACK frame sets off.

use std::ops::RangeInclusive;
use std::time::Duration;

use hawser_policy::{PathId, Siblings, Time};
use hawser_wire::frame::EcnCounts;

use super::PathRecovery;
use super::congestion::AckTally;
use super::delivery::SampleBuilder;
use super::ecn::EcnReport;
use super::sent::SentPacket;
use super::space::{LostRecord, PacketNumberSpace, SpaceKind};
use crate::connection::receive_times::Arrivals;
use crate::error::TransportError;

/// An ACK or PATH_ACK frame.
#[derive(Clone, Debug)]
pub(crate) struct AckInfo<'a, R> {
    /// The path on which the frame arrived, which need not be the one it is about.
    pub(crate) received_on: PathId,
    /// Largest Acknowledged.
    pub(crate) largest: u64,
    /// ACK Delay, with the peer's exponent applied.
    pub(crate) delay: Duration,
    /// Acknowledged packet numbers, from the largest down.
    pub(crate) ranges: R,
    /// ECN counts, if the frame has them.
    pub(crate) ecn: Option<EcnCounts>,
    /// When packets arrived, when the peer reports it.
    pub(crate) arrivals: Arrivals<'a>,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AckOutcome {
    /// It told something new.
    pub(crate) newly_acked: bool,
    /// In a silence: it is about packets of before, and took long to come, so that it says nothing about the path now.
    pub(crate) stale: bool,
    /// It gave a round-trip sample.
    pub(crate) rtt_updated: bool,
    /// Packets that were taken for lost and are not.
    pub(crate) spurious_losses: u64,
    /// Packets newly reported with a congestion mark.
    pub(crate) congestion_marks: u64,
    /// The path turned out not to carry ECN marks, or the peer to report them wrongly.
    pub(crate) ecn_failed: bool,
    /// Units of [work](crate::connection::work) that looking for the packets has cost.
    pub(crate) work: u64,
}

/// What the walk over the ranges found.
#[derive(Debug, Default)]
struct Walk {
    tally: AckTally,
    sample: SampleBuilder,
    /// The newest packet acknowledged, ack-eliciting or not, and the 4-tuple it took.
    newest: Option<(u64, Time, u32)>,
    packets: u64,
    ack_eliciting: bool,
    ecn_marked: u64,
    spurious: u64,
    work: u64,
    /// The oldest packet that was acknowledged after a later one, and when it left.
    overtaken: Option<(u64, Time)>,
}

impl Walk {
    #[inline]
    fn note_overtaken(&mut self, number: u64, sent_at: Time) {
        if self.overtaken.is_none_or(|(oldest, _)| number < oldest) {
            self.overtaken = Some((number, sent_at));
        }
    }
}

impl PathRecovery {
    /// Processes an ACK frame: appends newly acknowledged packets to `acked` and those it shows to be lost to `lost`,
    /// and tells the controller. Fails with PROTOCOL_VIOLATION when it acknowledges what was never sent.
    //= rfc9000-13.4.2.1-1: an ACK frame that does not raise the largest number is no proof against ECN
    pub(crate) fn on_ack<R: Iterator<Item = RangeInclusive<u64>>>(
        &mut self,
        space: &mut PacketNumberSpace,
        ack: AckInfo<'_, R>,
        now: Time,
        siblings: &Siblings<'_>,
        acked: &mut Vec<SentPacket>,
        lost: &mut Vec<SentPacket>,
    ) -> Result<AckOutcome, TransportError> {
        let mut walk = Walk::default();
        let largest_before = space.largest_acked;
        for range in ack.ranges {
            space.check_acknowledged(&range)?;
            let before = acked.len();
            walk.work += space.sent.take_range(&range, acked);
            for packet in &acked[before..] {
                self.on_packet_acked(packet, largest_before, now, &mut walk);
            }
            if space.may_have_lost(&range) {
                self.on_late_ack(space, &range, now, &mut walk);
            }
        }
        let newly_acked = walk.packets > 0 || walk.spurious > 0;
        let mut outcome = AckOutcome {
            newly_acked,
            spurious_losses: walk.spurious,
            work: walk.work,
            ..AckOutcome::default()
        };
        let raised = largest_before.is_none_or(|largest| ack.largest > largest);
        if raised {
            space.check_acknowledged(&(ack.largest..=ack.largest))?;
            space.largest_acked = Some(ack.largest);
        }
        if !newly_acked {
            return Ok(outcome);
        }
        walk.tally.received_on = ack.received_on;
        outcome.stale = self.is_stale(walk.newest.map(|(number, ..)| number), ack.delay);
        if !outcome.stale {
            self.note_progress(space.kind, now);
            self.note_overtaken(&walk, largest_before, now);
            outcome.rtt_updated = if raised {
                self.sample_rtt(&mut walk, ack.largest, ack.delay, space.kind, now)
            } else {
                self.sample_rtt_of_overtaken(&mut walk, space.kind, now)
            };
        }
        self.sample_one_way_delay(&mut walk, &ack.arrivals);
        if raised {
            self.process_ecn(space, &mut walk, ack.ecn, now, siblings, &mut outcome);
        }
        if self.is_silent() {
            self.end_silence(space, largest_before, acked, now);
        }
        self.detect_lost(space, now, siblings, lost);
        let (delivery, round_began) = self.delivery.finish(walk.sample, self.rtt.min());
        walk.tally.delivery = delivery;
        walk.tally.oldest = space.sent.oldest().map(|packet| packet.packet_number);
        if round_began {
            self.reordering.on_round(self.delivery.round(), self.epoch.number());
            self.recent_loss.age(self.delivery.round());
        }
        self.signal_ack(&walk.tally, now, siblings);
        Ok(outcome)
    }

    //= rfc9000-9.4-1: packets of the old address say nothing about the new one
    #[inline]
    fn on_packet_acked(
        &mut self,
        packet: &SentPacket,
        largest_before: Option<u64>,
        now: Time,
        walk: &mut Walk,
    ) {
        self.release(packet);
        walk.packets += 1;
        walk.ack_eliciting |= packet.ack_eliciting;
        if walk.newest.is_none_or(|(number, ..)| packet.packet_number > number) {
            walk.newest = Some((packet.packet_number, packet.sent_at, packet.tuple_generation));
        }
        if !packet.in_flight {
            return;
        }
        let bytes = u64::from(packet.bytes);
        self.totals.packets_acked += 1;
        self.totals.bytes_acked += bytes;
        if packet.tuple_generation != self.tuple_generation {
            return;
        }
        if largest_before.is_some_and(|largest| packet.packet_number < largest) {
            walk.note_overtaken(packet.packet_number, packet.sent_at);
        }
        walk.ecn_marked += u64::from(packet.ecn_marked);
        self.recent_loss.on_acked(bytes);
        self.delivery.on_packet_acked(&mut walk.sample, packet, now);
        let tally = &mut walk.tally;
        tally.bytes += bytes;
        tally.packets += 1;
        if self.epoch.covers(packet.sent_at) {
            tally.bytes_in_recovery += bytes;
        }
        if tally.largest.is_none_or(|(number, _)| packet.packet_number > number) {
            tally.largest = Some((packet.packet_number, packet.sent_at));
        }
    }

    /// Packets that were declared lost are in `range`: they were only late.
    #[inline(never)]
    fn on_late_ack(
        &mut self,
        space: &mut PacketNumberSpace,
        range: &RangeInclusive<u64>,
        now: Time,
        walk: &mut Walk,
    ) {
        let (mut late, since) = (space.take_late_data(), self.late_since(now));
        let work = space.take_lost_records(range, |record: LostRecord| {
            walk.spurious += 1;
            self.totals.packets_spurious += 1;
            late.extend_from_slice(&record.data);
            if record.epoch.is_none() || record.lost_at < since {
                return;
            }
            walk.note_overtaken(record.packet_number, record.sent_at);
            let bytes = u64::from(record.bytes);
            self.recent_loss.on_spurious(bytes);
            self.delivery.on_spurious_loss(bytes, now);
            self.note_spurious(&record, now);
        });
        space.late_data = late;
        walk.work += work;
    }

    /// How late packets come that others overtake. `largest_before` was acknowledged before.
    #[inline]
    fn note_overtaken(&mut self, walk: &Walk, largest_before: Option<u64>, now: Time) {
        let (Some((number, sent_at)), Some(largest)) = (walk.overtaken, largest_before) else { return };
        let distance = largest.saturating_sub(number);
        self.reordering.on_overtaken(distance, now.since(sent_at), self.rtt.smoothed());
    }

    fn note_progress(&mut self, kind: SpaceKind, now: Time) {
        self.last_progress = now;
        // Who reads our Handshake and 1-RTT packets has our address validated.
        self.peer_validated_us |= kind != SpaceKind::Initial;
        // RFC 9002 section 6.2.1: a client that may be blocked by the server's amplification limit keeps backing off.
        if self.peer_validated_us {
            self.pto_count = 0;
        }
    }

    /// RFC 9002 section 5.1: a sample needs the largest packet newly acknowledged, and something ack-eliciting with it.
    //= rfc9002-5.1-1: an RTT sample needs the largest number newly acknowledged
    //= rfc9002-5.1-2: an RTT sample needs an ack-eliciting packet newly acknowledged
    //= rfc9002-5.3-1: max_ack_delay is ignored until the handshake is confirmed
    //= rfc9002-5.3-2: the ACK delay is not limited by max_ack_delay until the handshake is confirmed
    //= rfc9002-5.3-3: the ACK delay is at most max_ack_delay once the handshake is confirmed
    fn sample_rtt(
        &mut self,
        walk: &mut Walk,
        largest: u64,
        delay: Duration,
        kind: SpaceKind,
        now: Time,
    ) -> bool {
        let Some((number, sent_at, generation)) = walk.newest else { return false };
        if number != largest || !walk.ack_eliciting || generation != self.tuple_generation {
            return false;
        }
        // Section 5.3.
        let delay = match kind {
            SpaceKind::Initial => Duration::ZERO,
            _ if self.handshake_confirmed => delay.min(self.rtt.max_ack_delay()),
            _ => delay,
        };
        let raw = now.since(sent_at);
        walk.tally.raw_rtt = Some(raw);
        walk.tally.latest_rtt = Some(self.rtt.on_sample(now, raw, delay, walk.tally.received_on));
        true
    }

    /// RFC 9002 section 5.1 asks for the largest packet, which others did not overtake: where packets overtake each other all the time, such
    /// samples are of the quick ones only. So what was overtaken gives one as well. Its acknowledgement is not held back (RFC 9000
    /// section 13.2.1), and the delay in the frame is that of another packet.
    fn sample_rtt_of_overtaken(&mut self, walk: &mut Walk, kind: SpaceKind, now: Time) -> bool {
        let Some((_, sent_at, generation)) = walk.newest else { return false };
        let is_comparable = kind == SpaceKind::Application && generation == self.tuple_generation;
        if !is_comparable || !walk.ack_eliciting || walk.overtaken.is_none() || !self.rtt.has_sample() {
            return false;
        }
        let raw = now.since(sent_at);
        walk.tally.raw_rtt = Some(raw);
        walk.tally.latest_rtt = Some(self.rtt.on_sample(now, raw, Duration::ZERO, walk.tally.received_on));
        true
    }

    /// The delay of the newest packet acknowledged, if the peer says when it arrived.
    #[inline]
    fn sample_one_way_delay(&mut self, walk: &mut Walk, arrivals: &Arrivals<'_>) {
        let Some((number, sent_at, generation)) = walk.newest else { return };
        if generation != self.tuple_generation {
            return;
        }
        let delay = arrivals.one_way_delay(number, sent_at);
        if delay.is_some() {
            self.one_way_delay = delay;
            walk.tally.one_way_delay = delay;
        }
    }

    //= rfc9000-19.3-1: both types of ACK are read, and ECN counts used
    fn process_ecn(
        &mut self,
        space: &mut PacketNumberSpace,
        walk: &mut Walk,
        counts: Option<EcnCounts>,
        now: Time,
        siblings: &Siblings<'_>,
        outcome: &mut AckOutcome,
    ) {
        let verdict = self.ecn.on_report(&EcnReport {
            newly_marked: walk.ecn_marked,
            counts,
            previous: space.ecn_reported,
            marked_total: space.ecn_marked,
        });
        if let Some(counts) = counts {
            space.ecn_reported = counts;
        }
        outcome.ecn_failed = verdict.failed;
        outcome.congestion_marks = verdict.congestion_marks;
        walk.tally.congestion_marks = verdict.congestion_marks;
        self.totals.congestion_marks += verdict.congestion_marks;
        if let (1.., Some(largest)) = (verdict.congestion_marks, walk.tally.largest) {
            self.signal_mark(largest, now, siblings);
        }
    }
}
