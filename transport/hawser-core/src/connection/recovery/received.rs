//! Packets that arrived, and when to acknowledge them.

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::time::Duration;

use hawser_policy::{AckDecision, AckFrequency, Time};
use hawser_wire::frame::EcnCounts;

use super::ecn;
use crate::tuple::Ecn;

#[cfg(test)]
mod tests;

/// Ranges of received packet numbers that are kept. When more are needed the lowest is forgotten, and with it the
/// right to accept anything below: such packets count as duplicates (RFC 9000 section 12.3). A link of 100 Mbit/s whose packets come
/// within 200 ms in any order needs more than 400.
pub(crate) const MAX_RANGES: usize = 512;
/// Ranges reported in one ACK frame. Each range is reported in many ACKs in a row; more would mostly
/// repeat what the peer knows (RFC 9000 section 13.2.3). Those that fewer than two frames reported are in it all the same: behind a queue
/// that overflows every third packet is lost, and while acknowledgements are rare what is left out here is sent again.
const MAX_REPORTED_RANGES: usize = 32;
/// Where there are more and packets overtake each other, so many of the last ones that came out of order are reported, and the
/// oldest, which the peer will take for lost next, next to the newest.
const LATE_REPORTED: usize = 12;
const OLDEST_REPORTED: usize = 8;
/// Ranges of a frame that repeats what others reported, all of which may be lost: less than 0.5 kB on any but the most scattered paths.
const MAX_REPEATED_RANGES: usize = 128;

/// Arrivals that are kept for the next acknowledgement. When there are more, the oldest are not reported.
pub(crate) const MAX_RECEIVE_TIMESTAMPS: usize = 64;

/// What is to be said about a packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Received {
    /// It came before, or so late that this cannot be ruled out: drop it.
    pub(crate) duplicate: bool,
    /// It leaves or fills a gap; the peer should learn of it at once (RFC 9000 section 13.2.1).
    pub(crate) out_of_order: bool,
    /// The packet before it had a congestion mark.
    pub(crate) marked_before: bool,
}

/// Packets that arrived out of order and that the peer may not know we have.
#[derive(Clone, Copy, Debug)]
struct Stragglers {
    lowest: u64,
    /// Largest number received when the last of them came.
    largest_then: u64,
}

/// Which ranges an ACK frame has, counted from the largest: so many of the newest, those from `oldest` on, and those with the last that came
/// out of order.
struct Report {
    newest: usize,
    oldest: usize,
    most: usize,
    /// Ranges that end below are left out.
    from: u64,
}

/// Received packet numbers of one space.
#[derive(Debug, Default)]
pub(crate) struct ReceivedPackets {
    /// Closed ranges, ascending, neither overlapping nor adjacent.
    ranges: Vec<(u64, u64)>,
    /// Numbers below count as received.
    floor: u64,
    /// Ranges that end below are known to the peer.
    report_from: u64,
    stragglers: Option<Stragglers>,
    later_stragglers: Option<Stragglers>,
    /// The last packets that came out of order, while there are more ranges than a frame reports.
    latest_stragglers: VecDeque<u64>,
    largest_at: Time,
    largest_eliciting: Option<u64>,
    unacknowledged: u64,
    deadline: Option<Time>,
    /// The next ACK frame reports once more what others did.
    repeats: bool,
    ecn: EcnCounts,
    /// The newest packet had a congestion mark.
    marked_before: bool,
    /// Largest Acknowledged of the newest ACK frame, and of the one before.
    largest_reported: Option<u64>,
    reported_before: Option<u64>,
    /// Packet numbers and receive times in microseconds, in order of time: those that no acknowledgement reported yet.
    arrivals: VecDeque<(u64, u64)>,
}

impl ReceivedPackets {
    /// Whether a packet with this number was received, or must be taken for received.
    //= rfc9000-12.3-4: duplicates are dropped
    pub(crate) fn contains(&self, number: u64) -> bool {
        if number < self.floor {
            return true;
        }
        if self.largest().is_none_or(|largest| largest < number) {
            return false;
        }
        let after = self.ranges.partition_point(|&(start, _)| start <= number);
        after > 0 && self.ranges.get(after - 1).is_some_and(|&(_, end)| number <= end)
    }

    /// A packet was authenticated.
    #[inline]
    pub(crate) fn on_received(
        &mut self,
        number: u64,
        now: Time,
        ack_eliciting: bool,
        ecn: Option<Ecn>,
    ) -> Received {
        let in_order = match self.ranges.last_mut() {
            Some((_, end)) if *end + 1 == number => {
                *end = number;
                true
            }
            _ => false,
        };
        if !in_order && !self.insert(number) {
            return Received { duplicate: true, out_of_order: false, marked_before: false };
        }
        match self.largest() {
            Some(largest) if number < largest => self.note_straggler(number, largest),
            _ => self.largest_at = now,
        }
        ecn::count(&mut self.ecn, ecn);
        let out_of_order = ack_eliciting && self.note_eliciting(number);
        let marked_before = std::mem::replace(&mut self.marked_before, ecn == Some(Ecn::Ce));
        Received { duplicate: false, out_of_order, marked_before }
    }

    /// Remembers when a packet arrived, for a peer that wants at most `wanted` times per acknowledgement.
    pub(crate) fn note_arrival(&mut self, number: u64, micros: u64, wanted: u64) {
        let most = usize::try_from(wanted).unwrap_or(usize::MAX).min(MAX_RECEIVE_TIMESTAMPS);
        while self.arrivals.len() >= most {
            if self.arrivals.pop_front().is_none() {
                return;
            }
        }
        // The frame can only express times that rise; kernels note them on several processors.
        let latest = self.arrivals.back().map_or(0, |(_, latest)| *latest);
        self.arrivals.push_back((number, micros.max(latest)));
    }

    /// Arrivals to report, latest first.
    pub(crate) fn arrivals(&self) -> impl ExactSizeIterator<Item = (u64, u64)> + '_ {
        self.arrivals.iter().rev().copied()
    }

    /// The acknowledgement policy's word on the packet just received. `max_delay` is what we promised the peer.
    //= rfc9000-13.2.1-1: ack-eliciting packets are acknowledged within max_ack_delay
    pub(crate) fn on_decision(&mut self, decision: AckDecision, now: Time, max_delay: Duration) {
        let deadline = match decision {
            AckDecision::Now => now,
            AckDecision::Within(delay) => now + delay.min(max_delay),
        };
        self.deadline = Some(self.deadline.map_or(deadline, |earlier| earlier.min(deadline)));
    }

    /// For a peer that asked for its own frequency: whether the packet is out of order by more than it tolerates, and
    /// whether it has a congestion mark that is news (draft-ietf-quic-ack-frequency sections 6.2 and 6.3).
    pub(crate) fn news(
        &self,
        number: u64,
        packet: &Received,
        ecn: Option<Ecn>,
        requested: &AckFrequency,
    ) -> (bool, bool) {
        let out_of_order = match requested.reordering_threshold {
            0 => false,
            1 => packet.out_of_order,
            threshold => self.is_reordered_beyond(number, threshold),
        };
        let every_mark = requested.ack_eliciting_threshold <= 1;
        (out_of_order, ecn == Some(Ecn::Ce) && (every_mark || !packet.marked_before))
    }

    /// Whether a packet makes the peer declare another one lost that it does not know to be missing, or was itself
    /// declared lost already.
    fn is_reordered_beyond(&self, number: u64, threshold: u64) -> bool {
        let (Some(largest), Some(&(first, _))) = (self.largest_eliciting, self.ranges.first()) else {
            return false;
        };
        // Largest Reported Missing: up to here the peer has declared lost what it did not hear of.
        let settled = self.largest_reported.and_then(|reported| reported.checked_sub(threshold));
        if settled.is_some_and(|settled| number <= settled) {
            return true;
        }
        let mut missing = settled.map_or(first, |settled| first.max(settled + 1));
        for &(start, end) in &self.ranges {
            if start > missing {
                break;
            }
            missing = missing.max(end + 1);
        }
        largest.checked_sub(missing).is_some_and(|distance| distance >= threshold)
    }

    /// When an ACK frame must leave at the latest.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    /// Whether an ACK frame must leave now.
    pub(crate) fn is_due(&self, now: Time) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= now)
    }

    /// Ack-eliciting packets since the last ACK frame. Without any, another would be bytes for nothing (RFC 9000
    /// section 13.2.1): acknowledgements of acknowledgements wait for the PING that the peer now and then adds.
    pub(crate) fn unacknowledged(&self) -> u64 {
        self.unacknowledged
    }

    /// Largest number received.
    //= rfc9000-13.2.3-4: the largest received packet number is kept
    pub(crate) fn largest(&self) -> Option<u64> {
        self.ranges.last().map(|&(_, end)| end)
    }

    /// How long the largest packet has been waiting for its acknowledgement (the ACK Delay field).
    //= rfc9000-13.2.5-1: ACK Delay counts our delay only
    pub(crate) fn ack_delay(&self, now: Time) -> Duration {
        now.since(self.largest_at)
    }

    /// What an ACK frame reports: ranges from the largest down.
    //= rfc9000-13.2.3-1: the newest packets are in every ACK frame
    //= rfc9000-13.2.3-5: the largest received packet number is in every ACK frame
    pub(crate) fn ack_ranges(&self) -> impl Iterator<Item = RangeInclusive<u64>> + Clone + '_ {
        let Report { newest, oldest, most, from } = self.report();
        self.ranges
            .iter()
            .rev()
            .enumerate()
            // The range of the largest number is in every ACK frame (RFC 9000 section 13.2.3).
            .take_while(move |&(index, &(_, end))| index == 0 || end >= from)
            .filter(move |&(index, range)| {
                index < newest || index >= oldest || self.has_latest_straggler(range)
            })
            .take(most)
            .map(|(_, &(start, end))| start..=end)
    }

    /// The most ranges that an ACK frame has.
    pub(crate) fn most_reported(&self) -> usize {
        self.report().most
    }

    fn report(&self) -> Report {
        if self.repeats {
            let most = MAX_REPEATED_RANGES;
            return Report { newest: most, oldest: most, most, from: 0 };
        }
        let from = self.report_from;
        let (fresh, untold, late) = (self.fresh_ranges(), self.untold_ranges(), self.latest_stragglers.len());
        let most = MAX_REPORTED_RANGES.max(fresh);
        if untold <= most || late == 0 {
            return Report { newest: most, oldest: most, most, from };
        }
        let newest = (MAX_REPORTED_RANGES - OLDEST_REPORTED - late).max(fresh);
        Report { newest, oldest: untold - OLDEST_REPORTED, most: newest + OLDEST_REPORTED + late, from }
    }

    /// Ranges that fewer than two ACK frames reported; exact where they are more than a frame reports anyway.
    fn fresh_ranges(&self) -> usize {
        match (self.ranges.len(), self.reported_before) {
            (all, None) | (all @ ..=MAX_REPORTED_RANGES, _) => all,
            (all, Some(before)) => all - self.ranges.partition_point(|&(_, end)| end <= before),
        }
    }

    /// Ranges that the peer may not know; exact where they are more than a frame reports.
    fn untold_ranges(&self) -> usize {
        match self.ranges.len() {
            all @ ..=MAX_REPORTED_RANGES => all,
            all => all - self.ranges.partition_point(|&(_, end)| end < self.report_from),
        }
    }

    fn has_latest_straggler(&self, &(start, end): &(u64, u64)) -> bool {
        self.latest_stragglers.iter().any(|number| (start..=end).contains(number))
    }

    /// Received ECN marks (RFC 9000 section 13.4.1); `None` while there were none.
    //= rfc9000-13.4.1-1: ECN marks are reported
    pub(crate) fn ecn(&self) -> Option<EcnCounts> {
        (self.ecn != EcnCounts::default()).then_some(self.ecn)
    }

    /// What was reported is reported once more: it may not have arrived. That goes for ranges that several frames had, too, and for
    /// those that an acknowledged one left out because it had no more room: an outage takes all frames of its time.
    pub(crate) fn repeat(&mut self, now: Time) {
        // A frame leaves only while something is unacknowledged.
        if self.largest_eliciting.is_some() {
            self.unacknowledged = self.unacknowledged.max(1);
            self.deadline = Some(now);
            self.repeats = true;
        }
    }

    /// An ACK frame with everything above left.
    //= rfc9000-13.2.1-3: an ack-eliciting packet causes one packet with nothing but ACK at most
    pub(crate) fn on_ack_sent(&mut self) {
        self.unacknowledged = 0;
        self.deadline = None;
        self.repeats = false;
        self.arrivals.clear();
        self.reported_before = self.largest_reported;
        self.largest_reported = self.largest();
    }

    /// A local ACK frame with this largest number was acknowledged: what it said need not be said again
    /// (RFC 9000 section 13.2.4). Duplicates are still recognised.
    //= rfc9000-13.2.3-2: ranges that the peer knows of are not repeated
    pub(crate) fn on_ack_acknowledged(&mut self, largest: u64) {
        let told = largest.saturating_add(1);
        if self.stragglers.is_some_and(|stragglers| largest > stragglers.largest_then) {
            self.stragglers = self.later_stragglers.take();
        }
        let untold = self.stragglers.map_or(told, |stragglers| stragglers.lowest.min(told));
        self.report_from = self.report_from.max(untold);
    }

    /// A packet below the largest arrived late. Which ACK frames report it? Those sent from now on; their largest
    /// number is at least today's, and surely theirs if it is above.
    fn note_straggler(&mut self, number: u64, largest: u64) {
        self.report_from = self.report_from.min(number);
        if self.ranges.len() > MAX_REPORTED_RANGES {
            if self.latest_stragglers.len() == LATE_REPORTED {
                self.latest_stragglers.pop_front();
            }
            self.latest_stragglers.push_back(number);
        } else if !self.latest_stragglers.is_empty() {
            self.latest_stragglers = VecDeque::new();
        }
        // Two sets, so that a path that reorders all the time gets the first one settled while the second one fills.
        let set = if self.stragglers.is_some_and(|set| set.largest_then < largest) {
            &mut self.later_stragglers
        } else {
            &mut self.stragglers
        };
        let set = set.get_or_insert(Stragglers { lowest: number, largest_then: largest });
        set.lowest = set.lowest.min(number);
        set.largest_then = set.largest_then.max(largest);
    }

    /// Inserts outside the fast path. False if the number is a duplicate.
    fn insert(&mut self, number: u64) -> bool {
        if self.contains(number) {
            return false;
        }
        let at = self.ranges.partition_point(|&(start, _)| start <= number);
        let joins_left = at > 0 && self.ranges[at - 1].1 + 1 == number;
        let joins_right = self.ranges.get(at).is_some_and(|&(start, _)| number + 1 == start);
        match (joins_left, joins_right) {
            (true, true) => {
                self.ranges[at - 1].1 = self.ranges[at].1;
                self.ranges.remove(at);
            }
            (true, false) => self.ranges[at - 1].1 = number,
            (false, true) => self.ranges[at].0 = number,
            (false, false) => {
                self.ranges.insert(at, (number, number));
                self.limit();
            }
        }
        // If the limit dropped it at once, it lies below the floor.
        number >= self.floor
    }

    //= rfc9000-13.2.3-3: ACK ranges are kept unless all packets below are refused
    fn limit(&mut self) {
        if self.ranges.len() > MAX_RANGES {
            let (_, end) = self.ranges.remove(0);
            self.floor = end + 1;
        }
    }

    /// Counts an ack-eliciting packet; tells whether it is out of order among them.
    //= rfc9000-13.2.1-7: packets out of order are acknowledged at once
    #[inline]
    fn note_eliciting(&mut self, number: u64) -> bool {
        self.unacknowledged += 1;
        let Some(previous) = self.largest_eliciting else {
            self.largest_eliciting = Some(number);
            return false;
        };
        if number < previous {
            return true;
        }
        self.largest_eliciting = Some(number);
        // Numbers are missing in between unless one range covers both.
        self.ranges.last().is_none_or(|&(start, _)| start > previous)
    }
}
