//! One packet number space: Initial, Handshake, or the application data of one path.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use hawser_policy::Time;
use hawser_wire::frame::EcnCounts;
use smallvec::SmallVec;

use super::numbers::PacketNumbers;
use super::received::ReceivedPackets;
use super::sent::{SentPacket, SentPackets};
use crate::connection::frames::{SentFrame, SentStream};
use crate::connection::work::{LOOKUP, MOVE, SEARCH};
use crate::error::TransportError;

#[cfg(test)]
mod tests;

/// Packets declared lost that are remembered, to recognise late acknowledgements: a window of 3 MB, when a path moves to another 4-tuple
/// with all of it under way. Their data takes ten times as much.
pub(crate) const MAX_LOST_RECORDS: usize = 2_048;

/// Which keys protect the packets of a space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SpaceKind {
    /// Initial packets.
    Initial,
    /// Handshake packets.
    Handshake,
    /// 0-RTT and 1-RTT packets of a path.
    Application,
}

/// A packet that was declared lost a short while ago.
#[derive(Clone, Debug)]
pub(crate) struct LostRecord {
    pub(crate) packet_number: u64,
    pub(crate) sent_at: Time,
    pub(crate) lost_at: Time,
    /// The recovery epoch it belongs to; `None` if its loss was no congestion signal.
    pub(crate) epoch: Option<u64>,
    pub(crate) bytes: u16,
    pub(crate) data: StreamData,
}

/// Stream data of a packet.
pub(crate) type StreamData = SmallVec<[SentStream; 1]>;

impl LostRecord {
    /// Of a packet that is declared lost now.
    pub(super) fn of(packet: &SentPacket, lost_at: Time, epoch: Option<u64>) -> Self {
        let data = packet.frames.iter().filter_map(|frame| match frame {
            SentFrame::Stream(range) => Some(*range),
            _ => None,
        });
        LostRecord {
            packet_number: packet.packet_number,
            sent_at: packet.sent_at,
            lost_at,
            epoch,
            bytes: packet.bytes,
            data: data.collect(),
        }
    }
}

/// Lost packets in a row, nothing acknowledged in between (RFC 9002 section 7.6.2).
#[derive(Clone, Copy, Debug)]
pub(crate) struct LossRun {
    /// When the first ack-eliciting one left.
    pub(crate) from: Time,
    /// The newest number.
    pub(crate) last: u64,
}

/// One packet number space.
#[derive(Debug)]
pub(crate) struct PacketNumberSpace {
    pub(crate) kind: SpaceKind,
    pub(crate) sent: SentPackets,
    pub(crate) received: ReceivedPackets,
    pub(super) numbers: PacketNumbers,
    pub(super) largest_acked: Option<u64>,
    pub(super) loss_time: Option<Time>,
    pub(super) last_ack_eliciting_sent: Option<Time>,
    pub(super) loss_run: Option<LossRun>,
    /// Ascending by number: whatever is older than a lost packet is lost as well or was acknowledged.
    pub(super) lost_records: VecDeque<LostRecord>,
    /// What lost packets carried that arrived after all, and is yet to be told to the streams.
    pub(super) late_data: Vec<SentStream>,
    /// Packets sent with an ECN mark.
    pub(super) ecn_marked: u64,
    /// Counts of the newest ACK frame.
    pub(super) ecn_reported: EcnCounts,
}

impl PacketNumberSpace {
    /// An empty space. Numbers are skipped in application spaces only: the handshake is too short for an attack.
    pub(crate) fn new(kind: SpaceKind) -> Self {
        PacketNumberSpace {
            kind,
            sent: SentPackets::default(),
            received: ReceivedPackets::default(),
            numbers: PacketNumbers::new(kind == SpaceKind::Application),
            largest_acked: None,
            loss_time: None,
            last_ack_eliciting_sent: None,
            loss_run: None,
            lost_records: VecDeque::new(),
            late_data: Vec::new(),
            ecn_marked: 0,
            ecn_reported: EcnCounts::default(),
        }
    }

    /// The number of the next packet; the same until a packet is sent. `rng` is uniformly random; it decides which
    /// numbers are skipped. Numbers end at 2^62 - 1 (RFC 9000 section 12.3), which the AEAD's limits forestall.
    #[inline]
    pub(crate) fn next_packet_number(&mut self, rng: u64) -> u64 {
        self.numbers.peek(rng)
    }

    /// A packet with the next number left that recovery does not hear of: CONNECTION_CLOSE.
    pub(crate) fn on_unrecorded_sent(&mut self) {
        self.numbers.commit();
    }

    /// One past the largest number in use.
    pub(crate) fn end(&self) -> u64 {
        self.numbers.end()
    }

    /// Largest number the peer acknowledged; packet numbers are encoded relative to it (RFC 9000 section 17.1).
    pub(crate) fn largest_acked(&self) -> Option<u64> {
        self.largest_acked
    }

    /// When the newest ack-eliciting packet left.
    #[cfg(test)]
    pub(crate) fn last_ack_eliciting_sent(&self) -> Option<Time> {
        self.last_ack_eliciting_sent
    }

    /// Gives back memory of a burst that is over; for connections that fall idle.
    pub(crate) fn shrink(&mut self) {
        self.sent.shrink();
        // Nothing was heard for so long that no acknowledgement of theirs is under way.
        self.lost_records = VecDeque::new();
    }

    /// Records a packet of this space as sent. Returns it in its place, so that the rest can be filled in there.
    //= rfc9002-6.2.1-4: the probe timer restarts with each ack-eliciting packet sent
    #[inline]
    pub(super) fn on_packet_sent(&mut self, packet: SentPacket) -> &mut SentPacket {
        self.numbers.commit();
        if packet.ack_eliciting {
            self.last_ack_eliciting_sent = Some(packet.sent_at);
        }
        self.ecn_marked += u64::from(packet.ecn_marked);
        self.sent.insert(packet)
    }

    /// Checks an acknowledged range against what was sent (RFC 9000 section 13.1).
    #[inline]
    pub(super) fn check_acknowledged(&self, range: &RangeInclusive<u64>) -> Result<(), TransportError> {
        self.numbers.check_acknowledged(range)
    }

    /// Remembers a lost packet.
    pub(super) fn record_lost(&mut self, record: LostRecord) {
        if self.lost_records.len() == MAX_LOST_RECORDS {
            self.lost_records.pop_front();
        }
        self.lost_records.push_back(record);
    }

    /// Forgets packets lost before `horizon`.
    pub(super) fn forget_lost_before(&mut self, horizon: Time) {
        while self.lost_records.front().is_some_and(|record| record.lost_at < horizon) {
            self.lost_records.pop_front();
        }
    }

    /// Whether it is worth looking for lost packets in `range`: in most acknowledged ranges there can be none.
    #[inline]
    pub(super) fn may_have_lost(&self, range: &RangeInclusive<u64>) -> bool {
        let (Some(first), Some(last)) = (self.lost_records.front(), self.lost_records.back()) else {
            return false;
        };
        *range.end() >= first.packet_number && *range.start() <= last.packet_number
    }

    /// Removes the lost packets in `range`: they were acknowledged after all. Returns the [work](crate::connection::work) of it.
    pub(super) fn take_lost_records(
        &mut self,
        range: &RangeInclusive<u64>,
        visit: impl FnMut(LostRecord),
    ) -> u64 {
        let from = self.lost_records.partition_point(|record| record.packet_number < *range.start());
        // Nearly always none.
        if self.lost_records.get(from).is_none_or(|record| record.packet_number > *range.end()) {
            return SEARCH;
        }
        let to = self.lost_records.partition_point(|record| record.packet_number <= *range.end());
        // Those on the shorter side move up.
        let moved = from.min(self.lost_records.len() - to) as u64;
        self.lost_records.drain(from..to).for_each(visit);
        2 * SEARCH + (to - from) as u64 * LOOKUP + moved * MOVE
    }

    /// Stream data that was taken for lost and arrived, since this was asked last.
    pub(crate) fn take_late_data(&mut self) -> Vec<SentStream> {
        std::mem::take(&mut self.late_data)
    }

    /// Whether no packet between two that were lost one after the other was acknowledged: all numbers in between were left out, or are
    /// those of packets that only acknowledge, for which nobody waits. Of these the last ones are known; what is not counts as
    /// acknowledged.
    pub(super) fn has_none_acknowledged(&self, last: u64, number: u64) -> bool {
        let between = last + 1..number;
        let unknown = number.saturating_sub(last + 1);
        unknown == 0
            || unknown
                == self.sent.ack_only_between(&between) as u64 + self.numbers.skipped_between(&between) as u64
    }
}
