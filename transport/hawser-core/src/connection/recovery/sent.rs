//! Packets that were sent and whose fate is not known yet.

use std::collections::VecDeque;
use std::ops::{Range, RangeInclusive};

use hawser_policy::{LimitedBy, Tag, Time};

use super::delivery::DeliveryState;
use crate::connection::frames::{SentFrame, SentFrames};
use crate::connection::work::{ENTRY, MOVE};

#[cfg(test)]
mod tests;

/// Packets without ack-eliciting frames that are remembered per packet number space. The peer acknowledges them only
/// in passing, so an endpoint that merely receives would otherwise collect them without a bound (RFC 9000 section
/// 13.2.4). Oldest go first: all that is lost with them is a chance to trim our own ACK ranges.
pub(crate) const MAX_ACK_ONLY: usize = 1024;

/// Slots that are allocated together: few, because most connections are idle most of the time.
const PAGE: usize = 16;

/// What a packet was sent for, as far as its loss matters to congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacketKind {
    /// Anything else.
    Normal,
    /// Larger than the path is known to carry: its loss says nothing about congestion (RFC 9000 section 14.4).
    MtuProbe,
    /// Carries a PATH_CHALLENGE. Its loss is no congestion signal; its acknowledgement is a round-trip sample when it
    /// went to the path's own 4-tuple (`tuple_generation`).
    PathProbe,
}

/// A packet that left.
#[derive(Clone, Debug)]
pub(crate) struct SentPacket {
    pub(crate) packet_number: u64,
    pub(crate) sent_at: Time,
    /// Size in bytes of the QUIC packet, header and tag included.
    pub(crate) bytes: u16,
    pub(crate) ack_eliciting: bool,
    /// Counts towards bytes in flight: ack-eliciting, or padded (RFC 9002 section 2).
    pub(crate) in_flight: bool,
    pub(crate) kind: PacketKind,
    /// Left with an ECT(0) mark.
    pub(crate) ecn_marked: bool,
    /// Its frames were queued again when the path fell silent or a probe timeout expired: when it is declared lost, they
    /// need no more care.
    pub(crate) resent: bool,
    /// Which 4-tuple of the path it took. Packets of another one give no round-trip or congestion signal
    /// (RFC 9000 section 9.4).
    pub(crate) tuple_generation: u32,
    /// Filled in by [`PathRecovery::on_packet_sent`](super::PathRecovery::on_packet_sent).
    pub(crate) delivery: DeliveryState,
    /// What held the sender back before, if it was not the network; filled in there too.
    pub(crate) limited_by: LimitedBy,
    /// The scheduler's mark.
    pub(crate) tag: Tag,
    pub(crate) frames: SentFrames,
}

// Packets are moved a few times. Up to this size that takes a few instructions in place, not a call.
const _: () = assert!(size_of::<Option<SentPacket>>() <= 128);

/// Sent packets of one packet number space that are neither acknowledged nor declared lost.
///
/// Packets in flight live in a ring. A slot is addressed by its *position* (a count of insertions), so numbers that
/// are skipped or belong to ACK-only packets cost no memory. A bitmap next to the ring says which positions are still
/// occupied: an ACK frame repeats ranges acknowledged long ago, and the bitmap steps over 64 of them at a time.
///
/// The slots are in pages, and the next packets go into the page that was emptied last, which is still in the
/// processor's cache. A ring of slots would lead every packet through memory that nobody has touched for a round trip.
#[derive(Debug, Default)]
pub(crate) struct SentPackets {
    /// The page of a slot, for slots between `head` and `tail`.
    pages: Vec<Option<Box<Page>>>,
    /// Empty pages. A page is made only when none of these is left, so all together are never more than the largest
    /// window took; [`shrink`](Self::shrink) gives them back.
    #[expect(clippy::vec_box, reason = "pages go between the ring and here without being copied")]
    spare: Vec<Box<Page>>,
    numbers: Vec<u64>,
    occupied: Vec<u64>,
    /// Position of the oldest occupied slot; equals `tail` when nothing is in flight.
    head: u64,
    /// Position of the next insertion.
    tail: u64,
    ack_eliciting: usize,
    in_flight: usize,
    ack_only: VecDeque<SentPacket>,
}

type Page = [Option<SentPacket>; PAGE];

impl SentPackets {
    /// Adds a packet, whose number is larger than all before, and returns it in its place.
    pub(crate) fn insert(&mut self, packet: SentPacket) -> &mut SentPacket {
        if !packet.in_flight {
            if self.ack_only.len() == MAX_ACK_ONLY {
                self.ack_only.pop_front();
            }
            let last = self.ack_only.len();
            self.ack_only.push_back(packet);
            return &mut self.ack_only[last];
        }
        // Head and tail never share a page from different rounds of the ring.
        if self.tail - page_start(self.head) >= self.capacity() as u64 {
            self.resize((self.capacity() * 2).max(PAGE));
        }
        let index = self.index(self.tail);
        self.numbers[index] = packet.packet_number;
        self.occupied[index / 64] |= 1 << (index % 64);
        self.ack_eliciting += usize::from(packet.ack_eliciting);
        self.in_flight += 1;
        let spare = &mut self.spare;
        let page = self.pages[index / PAGE]
            .get_or_insert_with(|| spare.pop().unwrap_or_else(|| Box::new([const { None }; PAGE])));
        self.tail += 1;
        page[index % PAGE].insert(packet)
    }

    /// Removes the packets with numbers in `range` and appends them to `taken`: those that were in flight in order of
    /// their numbers, behind the others. Returns the [work](crate::connection::work) of looking for them, besides that of looking at
    /// each.
    #[inline]
    pub(crate) fn take_range(&mut self, range: &RangeInclusive<u64>, taken: &mut Vec<SentPacket>) -> u64 {
        let mut work = 0;
        // Of those that were lost some stay for long, below everything that is still acknowledged.
        if self.ack_only.back().is_some_and(|newest| *range.start() <= newest.packet_number) {
            work += self.take_ack_only(range, taken);
        }
        // Nearly every range but the first was acknowledged before.
        if self.head == self.tail || *range.end() < self.numbers[self.index(self.head)] {
            return work;
        }
        let before = self.in_flight;
        let mut position = self.lower_bound(*range.start());
        loop {
            let found = self.next_occupied(position);
            // Each step is over 64 of those that are gone already.
            work += (found.unwrap_or(self.tail).saturating_sub(position)) / 64 * ENTRY;
            let Some(found) = found.filter(|found| self.numbers[self.index(*found)] <= *range.end()) else {
                break;
            };
            if let Some(packet) = self.vacate(found) {
                taken.push(packet);
            }
            position = found + 1;
        }
        if self.in_flight < before {
            self.advance_head();
        }
        work
    }

    /// The oldest packet in flight.
    #[inline]
    pub(crate) fn oldest(&self) -> Option<&SentPacket> {
        if self.head == self.tail { None } else { self.slot(self.head) }
    }

    /// The oldest packet in flight with this number, or a larger one.
    pub(crate) fn oldest_from(&self, number: u64) -> Option<&SentPacket> {
        self.slot(self.next_occupied(self.lower_bound(number))?)
    }

    /// The newest packet in flight with a number below this one.
    pub(crate) fn newest_below(&self, number: u64) -> Option<&SentPacket> {
        self.slot(self.previous_occupied(self.lower_bound(number))?)
    }

    /// Removes the oldest packet in flight.
    pub(crate) fn pop_oldest(&mut self) -> Option<SentPacket> {
        if self.head == self.tail {
            return None;
        }
        let packet = self.vacate(self.head);
        self.advance_head();
        packet
    }

    /// The packets in flight, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &SentPacket> {
        let mut position = self.head;
        std::iter::from_fn(move || {
            let found = self.next_occupied(position)?;
            position = found + 1;
            self.slot(found)
        })
    }

    /// The packets in flight with this number or a larger one, oldest first.
    pub(crate) fn iter_from(&self, number: u64) -> impl Iterator<Item = &SentPacket> {
        let mut position = self.lower_bound(number);
        std::iter::from_fn(move || {
            let found = self.next_occupied(position)?;
            position = found + 1;
            self.slot(found)
        })
    }

    /// Hands each packet in flight to `visit`, oldest first.
    pub(crate) fn for_each_mut(&mut self, mut visit: impl FnMut(&mut SentPacket)) {
        let mut position = self.head;
        while let Some(found) = self.next_occupied(position) {
            if let Some(Some(packet)) = self.slot_mut(found) {
                visit(packet);
            }
            position = found + 1;
        }
    }

    /// Marks the oldest `packets` that were not retransmitted yet as such and appends to `frames` what is to be
    /// retransmitted of them; packets without anything like that are passed over.
    pub(crate) fn retransmit_oldest(
        &mut self,
        packets: usize,
        is_wanted: impl Fn(&SentFrame) -> bool,
        frames: &mut SentFrames,
    ) {
        let (mut position, mut left) = (self.head, packets);
        while left > 0
            && let Some(found) = self.next_occupied(position)
        {
            position = found + 1;
            let Some(Some(packet)) = self.slot_mut(found) else { continue };
            if packet.resent || !packet.frames.iter().any(&is_wanted) {
                continue;
            }
            frames.extend(packet.frames.iter().filter(|frame| is_wanted(frame)).cloned());
            packet.resent = true;
            left -= 1;
        }
    }

    /// Removes everything and hands the packets in flight to `visit`, oldest first.
    pub(crate) fn drain(&mut self, mut visit: impl FnMut(SentPacket)) {
        while let Some(packet) = self.pop_oldest() {
            visit(packet);
        }
        self.ack_only.clear();
    }

    /// Packets with these numbers that are not ack-eliciting and were not acknowledged, as far as they are remembered.
    pub(crate) fn ack_only_between(&self, numbers: &Range<u64>) -> usize {
        let before = |end: u64| self.ack_only.partition_point(|packet| packet.packet_number < end);
        before(numbers.end) - before(numbers.start)
    }

    /// Packets in flight.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.in_flight
    }

    /// Packets in flight that the peer must acknowledge.
    pub(crate) fn ack_eliciting(&self) -> usize {
        self.ack_eliciting
    }

    /// Gives back the memory of a burst that is over. Call when the connection falls idle, not per packet.
    pub(crate) fn shrink(&mut self) {
        let span = usize::try_from(self.tail - page_start(self.head)).unwrap_or(usize::MAX);
        let wanted = if self.head == self.tail { 0 } else { span.next_power_of_two().max(PAGE) };
        if wanted < self.capacity() {
            self.resize(wanted);
        }
        self.spare = Vec::new();
        if self.ack_only.len() > PAGE {
            self.ack_only.drain(..self.ack_only.len() - PAGE);
        }
        self.ack_only.shrink_to_fit();
    }

    /// Slots, a power of two.
    #[inline]
    fn capacity(&self) -> usize {
        self.numbers.len()
    }

    #[inline]
    fn index(&self, position: u64) -> usize {
        position as usize & (self.capacity().wrapping_sub(1))
    }

    #[inline]
    fn slot(&self, position: u64) -> Option<&SentPacket> {
        let index = self.index(position);
        self.pages[index / PAGE].as_ref()?[index % PAGE].as_ref()
    }

    #[inline]
    fn slot_mut(&mut self, position: u64) -> Option<&mut Option<SentPacket>> {
        let index = self.index(position);
        self.pages[index / PAGE].as_mut().map(|page| &mut page[index % PAGE])
    }

    /// First position whose packet number is at least `number`, vacated positions included.
    #[inline]
    fn lower_bound(&self, number: u64) -> u64 {
        if self.head == self.tail {
            return self.tail;
        }
        let first = self.numbers[self.index(self.head)];
        if number <= first {
            return self.head;
        }
        // Numbers rise by one or more per position. Where none is missing the guess is exact.
        let mut high = self.head.saturating_add(number - first).min(self.tail);
        if high < self.tail && self.numbers[self.index(high)] == number {
            return high;
        }
        let mut low = self.head + 1;
        while low < high {
            let middle = low + (high - low) / 2;
            if self.numbers[self.index(middle)] < number {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// First occupied position at or after `position`.
    #[inline]
    fn next_occupied(&self, mut position: u64) -> Option<u64> {
        while position < self.tail {
            let index = self.index(position);
            let word = self.occupied[index / 64] >> (index % 64);
            if word != 0 {
                // With fewer than 64 slots the word may hold older positions behind the newest; those exceed `tail`.
                let found = position + u64::from(word.trailing_zeros());
                return (found < self.tail).then_some(found);
            }
            position += (64 - index % 64).min(self.capacity() - index) as u64;
        }
        None
    }

    /// Last occupied position before `position`.
    fn previous_occupied(&self, mut position: u64) -> Option<u64> {
        while position > self.head {
            let last = self.index(position - 1);
            // With fewer than 64 slots the word holds positions of other rounds of the ring above this one: they are cut off.
            let word = self.occupied[last / 64] << (63 - last % 64);
            if word != 0 {
                let found = (position - 1).checked_sub(u64::from(word.leading_zeros()))?;
                return (found >= self.head).then_some(found);
            }
            position = position.saturating_sub(last as u64 % 64 + 1);
        }
        None
    }

    #[inline]
    fn vacate(&mut self, position: u64) -> Option<SentPacket> {
        let index = self.index(position);
        let slot = &mut self.pages[index / PAGE].as_mut()?[index % PAGE];
        if let Some(packet) = slot {
            self.occupied[index / 64] &= !(1 << (index % 64));
            self.in_flight -= 1;
            self.ack_eliciting -= usize::from(packet.ack_eliciting);
        }
        slot.take()
    }

    #[inline]
    fn advance_head(&mut self) {
        let head = self.next_occupied(self.head).unwrap_or(self.tail);
        let mut start = page_start(self.head);
        self.head = head;
        while start != page_start(head) {
            let page = self.index(start) / PAGE;
            self.spare.extend(self.pages[page].take());
            start += PAGE as u64;
        }
    }

    #[inline(never)]
    fn take_ack_only(&mut self, range: &RangeInclusive<u64>, taken: &mut Vec<SentPacket>) -> u64 {
        let from = self.ack_only.partition_point(|packet| packet.packet_number < *range.start());
        let to = self.ack_only.partition_point(|packet| packet.packet_number <= *range.end());
        // Those on the shorter side move up.
        let moved = if from < to { from.min(self.ack_only.len() - to) as u64 } else { 0 };
        if from < to {
            taken.extend(self.ack_only.drain(from..to));
        }
        moved * MOVE
    }

    /// Makes the ring one of `capacity` slots, a power of two that holds all packets with their pages; zero when there are
    /// none.
    fn resize(&mut self, capacity: usize) {
        let mut pages: Vec<Option<Box<Page>>> = Vec::new();
        pages.resize_with(capacity / PAGE, || None);
        let mut numbers = vec![0; capacity];
        let mut occupied = vec![0; capacity.div_ceil(64)];
        for position in self.head..self.tail {
            let (from, to) = (self.index(position), position as usize & (capacity - 1));
            numbers[to] = self.numbers[from];
            occupied[to / 64] |= (self.occupied[from / 64] >> (from % 64) & 1) << (to % 64);
            if let Some(page) = self.pages[from / PAGE].take() {
                pages[to / PAGE] = Some(page);
            }
        }
        (self.pages, self.numbers, self.occupied) = (pages, numbers, occupied);
    }
}

/// The first position of the page of a position.
#[inline]
fn page_start(position: u64) -> u64 {
    position - position % PAGE as u64
}
