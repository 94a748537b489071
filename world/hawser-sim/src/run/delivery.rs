//! Delivery in order: of bytes, since their first sending, and of the packets that were the first to carry them.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use hawser_core::{Connection, FirstSend};
use hawser_policy::{StreamId, Time};
use hawser_scenario::Direction;
use rustc_hash::{FxHashMap, FxHashSet};

use super::meter::Delays;

/// First sendings of one direction of a session, written by its sending end and read by its receiving end.
#[derive(Clone, Debug)]
pub(super) struct Deliveries {
    sendings: Rc<RefCell<FxHashMap<StreamId, Unread>>>,
    /// Whether the delays of the bytes count.
    counts_delays: bool,
    packets: Followed,
}

/// The deliveries of a session, by direction.
pub(super) type BothWays = [Deliveries; 2];

/// Bytes of a stream that were sent for the first time, and not yet read.
#[derive(Clone, Copy, Debug)]
struct Sending {
    start: u64,
    end: u64,
    at: Time,
    /// Of the packet that carried them.
    label: u64,
}

/// The sendings of a stream, to be had in the order of their offsets.
///
/// A scheduler that skips ahead sends out of order, but what it sends consists of a few runs that ascend: one for each path, and more
/// where it turns back. So each run has a queue, rather than one for all that nearly every sending is inserted into the middle of.
#[derive(Debug, Default)]
struct Unread {
    queues: Vec<Queue>,
}

/// Runs that are told apart: with more, all are looked at too often.
const MAX_QUEUES: usize = 12;

/// A run of sendings, in the order of their offsets.
#[derive(Debug)]
struct Queue {
    /// Where the first begins; nowhere without one. Looked at for all queues whenever something is read.
    first: u64,
    sendings: VecDeque<Sending>,
}

/// The packets of all sessions whose delivery somebody wants to hear of.
#[derive(Clone, Debug, Default)]
pub(super) struct Followed(Rc<RefCell<Packets>>);

#[derive(Debug, Default)]
struct Packets {
    is_wanted: bool,
    /// Ranges of packets that were not read yet.
    ranges_left: FxHashMap<u64, u32>,
    /// Packets on their way that were the first to carry something.
    carriers: FxHashSet<u64>,
    /// Packets all of whose bytes were read, or some of which nobody will read.
    settled: VecDeque<(u64, Settled)>,
}

/// What has become of the bytes that a packet was the first to carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    Delivered,
    Abandoned,
}

impl Followed {
    /// From now on somebody wants to hear of them.
    pub(super) fn start(&self) {
        self.0.borrow_mut().is_wanted = true;
    }

    /// A packet is at the end of its way; true if it was the first to carry something. Copies of it were not.
    pub(super) fn ended(&self, label: u64) -> bool {
        self.0.borrow_mut().carriers.remove(&label)
    }

    /// The next packet whose bytes were read, or never will be.
    pub(super) fn poll_settled(&self) -> Option<(u64, Settled)> {
        self.0.borrow_mut().settled.pop_front()
    }

    fn sent(&self, label: u64) {
        let mut packets = self.0.borrow_mut();
        if packets.is_wanted {
            packets.carriers.insert(label);
            *packets.ranges_left.entry(label).or_default() += 1;
        }
    }

    fn read(&self, label: u64) {
        let mut packets = self.0.borrow_mut();
        let Some(left) = packets.ranges_left.get_mut(&label) else { return };
        *left -= 1;
        if *left == 0 {
            packets.ranges_left.remove(&label);
            packets.settled.push_back((label, Settled::Delivered));
        }
    }

    fn abandoned(&self, label: u64) {
        let mut packets = self.0.borrow_mut();
        if packets.ranges_left.remove(&label).is_some() {
            packets.settled.push_back((label, Settled::Abandoned));
        }
    }
}

impl Queue {
    const NOWHERE: u64 = u64::MAX;

    fn insert(&mut self, sending: Sending) {
        self.first = self.first.min(sending.start);
        match self.sendings.back() {
            Some(last) if last.start > sending.start => {
                let place = self.sendings.partition_point(|before| before.start < sending.start);
                self.sendings.insert(place, sending);
            }
            _ => self.sendings.push_back(sending),
        }
    }

    fn pop(&mut self) -> Option<Sending> {
        let popped = self.sendings.pop_front();
        self.first = self.sendings.front().map_or(Self::NOWHERE, |sending| sending.start);
        popped
    }
}

impl Unread {
    fn insert(&mut self, sending: Sending) {
        let index = self.queue_for(sending.start);
        self.queues[index].insert(sending);
    }

    /// The run that it goes on with the least gap; without one an empty queue, or the one with the fewest sendings to be moved.
    fn queue_for(&mut self, start: u64) -> usize {
        let last = |queue: &Queue| queue.sendings.back().map(|last| last.start);
        let gaps = self.queues.iter().map(|queue| last(queue).and_then(|last| start.checked_sub(last)));
        let nearest = gaps.enumerate().filter_map(|(index, gap)| Some((gap?, index))).min();
        if let Some((_, index)) = nearest {
            return index;
        }
        if let Some(empty) = self.queues.iter().position(|queue| queue.sendings.is_empty()) {
            return empty;
        }
        if self.queues.len() < MAX_QUEUES {
            self.queues.push(Queue { first: Queue::NOWHERE, sendings: VecDeque::new() });
            return self.queues.len() - 1;
        }
        let moved = |queue: &Queue| {
            let place = queue.sendings.partition_point(|before| before.start < start);
            place.min(queue.sendings.len() - place)
        };
        let moves = self.queues.iter().map(moved).enumerate().map(|(index, moved)| (moved, index));
        moves.min().map_or(0, |(_, index)| index)
    }

    /// The queue whose first sending is the first of all.
    fn first(&mut self) -> Option<&mut Queue> {
        self.queues.iter_mut().min_by_key(|queue| queue.first).filter(|queue| !queue.sendings.is_empty())
    }

    fn iter(&self) -> impl Iterator<Item = &Sending> {
        self.queues.iter().flat_map(|queue| &queue.sendings)
    }
}

impl Deliveries {
    /// Of a session, delays being counted of one direction at most.
    pub(super) fn both_ways(counted: Option<Direction>, packets: &Followed) -> BothWays {
        Direction::BOTH.map(|direction| Deliveries {
            sendings: Rc::default(),
            counts_delays: counted == Some(direction),
            packets: packets.clone(),
        })
    }

    /// Whether the sending end has to tell.
    pub(super) fn is_wanted(&self) -> bool {
        self.counts_delays || self.packets.0.borrow().is_wanted
    }

    /// A connection has sent a batch of packets whose labels count up from this one.
    pub(super) fn poll_sent(&self, connection: &mut Connection, label: u64) {
        while let Some(sending) = connection.poll_first_send() {
            self.sent(&sending, label);
        }
    }

    /// Bytes were sent for the first time.
    fn sent(&self, sending: &FirstSend, label: u64) {
        let label = label + u64::from(sending.segment);
        let (start, end) = (sending.offset, sending.offset + u64::from(sending.length));
        let mut sendings = self.sendings.borrow_mut();
        sendings.entry(sending.stream).or_default().insert(Sending { start, end, at: sending.at, label });
        self.packets.sent(label);
    }

    /// Bytes of a stream were read in order.
    pub(super) fn read(&self, now: Time, stream: StreamId, offset: u64, length: u64, delays: &mut Delays) {
        let mut sendings = self.sendings.borrow_mut();
        let Some(unread) = sendings.get_mut(&stream) else { return };
        let read = offset + length;
        while let Some(queue) = unread.first().filter(|queue| queue.first < read) {
            let Some(range) = queue.sendings.front_mut() else { return };
            let end = range.end.min(read);
            let start = range.start.max(offset);
            if self.counts_delays && end > start {
                delays.record_nanos(now.as_nanos().saturating_sub(range.at.as_nanos()), end - start);
            }
            if end < range.end {
                (range.start, queue.first) = (end, end);
                return;
            }
            self.packets.read(range.label);
            queue.pop();
            if end == read {
                return;
            }
        }
    }

    /// Nobody will read this stream to its end.
    pub(super) fn abandoned(&self, stream: StreamId) {
        let left = self.sendings.borrow_mut().remove(&stream);
        left.iter().flat_map(Unread::iter).for_each(|range| self.packets.abandoned(range.label));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hawser_policy::PathId;

    use super::*;

    fn first_send(at: u64, segment: u32, offset: u64, length: u32) -> FirstSend {
        FirstSend { at: Time::from_millis(at), segment, path: PathId(0), stream: StreamId(0), offset, length }
    }

    #[test]
    fn each_byte_counts_from_its_own_first_sending() {
        let [up, _] = Deliveries::both_ways(Some(Direction::Up), &Followed::default());
        for (offset, length, at) in [(0, 100, 1), (300, 100, 2), (100, 200, 5)] {
            up.sent(&first_send(at, 0, offset, length), 1);
        }
        let mut delays = Delays::default();
        up.read(Time::from_millis(11), StreamId(0), 0, 150, &mut delays);
        up.read(Time::from_millis(12), StreamId(0), 150, 250, &mut delays);
        // 100 bytes after 10 ms, 50 after 6 ms, 150 after 7 ms, 100 after 10 ms.
        let summary = delays.summary();
        assert_eq!((summary.count, summary.max_ms, summary.min_ms), (400, 10.0, 6.0));
        assert!(
            (summary.mean_ms - (100.0 * 10.0 + 50.0 * 6.0 + 150.0 * 7.0 + 100.0 * 10.0) / 400.0).abs() < 1e-9
        );
        assert!(delays.quantile(0.2) < Duration::from_millis(8));
    }

    #[test]
    fn sendings_come_in_the_order_of_their_offsets_however_they_were_sent() {
        // What is ahead, what fills gaps with little steps back, and more turns than there are queues.
        let order: Vec<u64> = (50..60).chain([0, 1, 5, 3, 4, 2, 7, 6, 8]).chain((10..40).rev()).collect();
        let sending = |start| Sending { start, end: start + 1, at: Time::from_millis(1), label: start };
        let mut unread = Unread::default();
        order.iter().for_each(|start| unread.insert(sending(*start)));
        let mut sorted = order.clone();
        sorted.sort_unstable();
        let read: Vec<_> = std::iter::from_fn(|| unread.first()?.pop()).map(|it| it.start).collect();
        assert_eq!(read, sorted);
        unread.insert(sending(70));
        assert_eq!((unread.queues.len(), unread.iter().count()), (MAX_QUEUES, 1));
    }

    /// The end of what is queued is sent on two paths first: a run that begins again in the middle of what was sent costs no moves.
    #[test]
    fn runs_that_turn_back_have_queues_of_their_own() {
        let mut unread = Unread::default();
        for start in (100..200).chain(0..50).chain(50..100).chain(200..300) {
            unread.insert(Sending { start, end: start + 1, at: Time::ZERO, label: start });
        }
        let lengths: Vec<_> = unread.queues.iter().map(|queue| queue.sendings.len()).collect();
        assert_eq!(lengths, [200, 100]);
    }

    #[test]
    fn a_packet_is_delivered_when_all_its_bytes_are() {
        let followed = Followed::default();
        let [up, down] = Deliveries::both_ways(None, &followed);
        assert!(!up.is_wanted());
        followed.start();
        assert!(up.is_wanted() && down.is_wanted());
        // A batch of two, of which the first has two ranges.
        for (segment, offset) in [(0, 0), (0, 200), (1, 100)] {
            up.sent(&first_send(1, segment, offset, 100), 7);
        }
        let mut delays = Delays::default();
        up.read(Time::from_millis(2), StreamId(0), 0, 199, &mut delays);
        assert_eq!(followed.poll_settled(), None);
        up.read(Time::from_millis(3), StreamId(0), 199, 101, &mut delays);
        let settled = [followed.poll_settled(), followed.poll_settled()];
        assert_eq!(settled, [8, 7].map(|label| Some((label, Settled::Delivered))));
        up.sent(&first_send(4, 0, 300, 100), 9);
        up.abandoned(StreamId(0));
        assert_eq!(followed.poll_settled(), Some((9, Settled::Abandoned)));
        // Of two copies one was the first.
        assert_eq!([followed.ended(7), followed.ended(7)], [true, false]);
        assert_eq!(delays.count(), 0);
    }
}
