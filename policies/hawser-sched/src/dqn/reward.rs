//! What a burst brought, as the sender sees it (specification of 4D-MAP, section 9).
//!
//! Word of a packet comes a round trip after it left: four to a hundred decisions later, of which a discount of 0.9 leaves next to
//! nothing. So packets are counted for the decision under which they left, and its reward is complete when all have been
//! acknowledged or lost.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::time::Duration;

use hawser_policy::{Event, PathView, QueueView, SendView, StreamId, Tag, Time};

use super::state::{BURST, STATE};

/// A goodput of so many bit/s is worth 1: the unit of delivery rates in the state.
const GOODPUT: f64 = 50e6;
/// What a receive buffer full of bytes out of order costs, and the loss of every packet.
const REORDERING_WEIGHT: f64 = 0.5;
const LOSS_WEIGHT: f64 = 0.5;
/// What is not known of a burst by then counts as not delivered.
const PATIENCE: Duration = Duration::from_secs(2);

/// Counts what becomes of bursts.
#[derive(Debug, Default)]
pub(super) struct Meter {
    streams: BTreeMap<StreamId, Arrived>,
    /// Those whose reward is not known, the oldest first.
    bursts: VecDeque<Burst>,
    begun: u64,
}

/// A decision and what left under it.
#[derive(Debug)]
struct Burst {
    number: u64,
    at: Time,
    state: [f32; STATE],
    action: usize,
    /// Where the next decision was due.
    next: Option<[f32; STATE]>,
    sent_packets: u64,
    acked_packets: u64,
    lost_packets: u64,
    /// Bytes that were acknowledged for the first time.
    delivered: u64,
}

/// A decision whose reward is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rewarded {
    pub(super) state: [f32; STATE],
    pub(super) action: usize,
    pub(super) reward: f32,
    pub(super) next: [f32; STATE],
}

impl Meter {
    /// The mark of packets that leave under the latest decision.
    pub(super) fn tag(&self) -> Tag {
        Tag(self.bursts.back().filter(|burst| burst.next.is_none()).map_or(0, |burst| burst.number))
    }

    /// A decision was taken; the one before ended here.
    pub(super) fn begin(&mut self, now: Time, state: &[f32; STATE], action: usize) {
        self.begun += 1;
        self.bursts.push_back(Burst {
            number: self.begun,
            at: now,
            state: *state,
            action,
            next: None,
            sent_packets: 0,
            acked_packets: 0,
            lost_packets: 0,
            delivered: 0,
        });
    }

    /// The latest decision ended in this state.
    pub(super) fn end(&mut self, state: &[f32; STATE]) {
        if let Some(burst) = self.bursts.back_mut() {
            burst.next.get_or_insert(*state);
        }
    }

    /// The latest decision did not end in a decision.
    pub(super) fn interrupt(&mut self) {
        if self.bursts.back().is_some_and(|burst| burst.next.is_none()) {
            self.bursts.pop_back();
        }
    }

    pub(super) fn on_event(&mut self, event: &Event<'_>) {
        match event {
            Event::Sent(sent) => {
                if let Some(burst) = self.burst(sent.tag) {
                    burst.sent_packets += 1;
                }
            }
            Event::Acked(report) => {
                let mut delivered = 0;
                for range in report.ranges {
                    delivered += self.streams.entry(range.stream).or_default().insert(&range.range);
                }
                if let Some(burst) = self.burst(report.tag) {
                    burst.acked_packets += 1;
                    burst.delivered += delivered;
                }
            }
            Event::Lost(report) => {
                if let Some(burst) = self.burst(report.tag) {
                    burst.lost_packets += 1;
                }
            }
            _ => {}
        }
    }

    fn burst(&mut self, tag: Tag) -> Option<&mut Burst> {
        let first = self.bursts.front()?.number;
        // Numbers of those that were interrupted are missing: it lies there, or before.
        let at = usize::try_from(tag.0.checked_sub(first)?).ok()?.min(self.bursts.len() - 1);
        self.bursts
            .range_mut(..=at)
            .rev()
            .take_while(|burst| burst.number >= tag.0)
            .find(|burst| burst.number == tag.0)
    }

    /// The oldest decision, if its reward is known: goodput over its 10 ms in units of 50 Mbit/s, less half of the share of its
    /// packets that were lost, less half of the share of the receive buffer that is out of order now.
    ///
    /// The receive buffer is what the sender knows of it: what flow control allows beyond what was read in order.
    pub(super) fn take(&mut self, view: &SendView<'_>) -> Option<Rewarded> {
        let burst = self.bursts.front()?;
        let is_settled = burst.acked_packets + burst.lost_packets >= burst.sent_packets;
        let next = burst.next.filter(|_| is_settled || view.now.since(burst.at) > PATIENCE)?;
        let goodput = 8.0 * burst.delivered as f64 / BURST.as_secs_f64() / GOODPUT;
        let loss = burst.lost_packets as f64 / burst.sent_packets.max(1) as f64;
        let reordering = self.reordering(view.paths, &view.queue);
        let reward = (goodput - REORDERING_WEIGHT * reordering - LOSS_WEIGHT * loss) as f32;
        let Burst { state, action, .. } = self.bursts.pop_front()?;
        Some(Rewarded { state, action, reward, next })
    }

    /// The share of the receive buffer that is out of order.
    fn reordering(&self, paths: &[PathView], queue: &QueueView) -> f64 {
        let out_of_order = self.streams.values().map(Arrived::out_of_order).sum::<u64>() as f64;
        let in_flight: f64 = paths.iter().map(|path| path.bytes_in_flight as f64).sum();
        out_of_order / (queue.connection_window_left as f64 + in_flight + out_of_order).max(1.0)
    }
}

/// Bytes of a stream that were acknowledged.
#[derive(Debug, Default)]
struct Arrived {
    /// All below this.
    prefix: u64,
    /// And these, which do not touch: start and end.
    beyond: BTreeMap<u64, u64>,
}

impl Arrived {
    /// Adds a range; how many of its bytes are new.
    fn insert(&mut self, range: &Range<u64>) -> u64 {
        let before = self.total();
        let (mut start, mut end) = (range.start.max(self.prefix), range.end);
        if start >= end {
            return 0;
        }
        while let Some((&at, &to)) = self.beyond.range(..=end).next_back().filter(|(_, to)| **to >= start) {
            (start, end) = (start.min(at), end.max(to));
            self.beyond.remove(&at);
        }
        if start == self.prefix {
            self.prefix = end;
        } else {
            self.beyond.insert(start, end);
        }
        self.total() - before
    }

    fn out_of_order(&self) -> u64 {
        self.beyond.iter().map(|(start, end)| end - start).sum()
    }

    fn total(&self) -> u64 {
        self.prefix + self.out_of_order()
    }
}

#[cfg(test)]
mod tests {
    use hawser_policy::{PacketReport, PacketSent, PathId, StreamRange};

    use super::*;
    use crate::testing::{path, view_at};

    #[test]
    fn bytes_are_new_once_and_in_order_in_the_end() {
        let mut arrived = Arrived::default();
        let new = [0..10, 20..30, 5..12, 28..35, 20..30, 12..20, 0..35].map(|range| arrived.insert(&range));
        assert_eq!(new, [10, 10, 2, 5, 0, 8, 0]);
        assert_eq!((arrived.prefix, arrived.beyond.len()), (35, 0));
        arrived.insert(&(50..60));
        arrived.insert(&(70..80));
        assert_eq!(arrived.out_of_order(), 20);
        assert_eq!(arrived.insert(&(40..90)), 30);
        assert_eq!((arrived.out_of_order(), arrived.beyond.len()), (50, 1));
    }

    fn sent(tag: Tag, ranges: &[StreamRange]) -> PacketSent<'_> {
        PacketSent::default().with(|sent| {
            sent.now = Time::ZERO;
            sent.path = PathId(1);
            sent.packet_number = 0;
            sent.bytes = 1_000;
            sent.bytes_in_flight = 1_000;
            sent.tag = tag;
            sent.ranges = ranges;
        })
    }

    fn tell(meter: &mut Meter, tag: Tag, range: Range<u64>, is_lost: bool) {
        let ranges = [StreamRange { stream: StreamId(0), range, copy: false }];
        let report = PacketReport::default().with(|report| {
            report.now = Time::from_millis(50);
            report.path = PathId(1);
            report.packet_number = 0;
            report.bytes = 1_000;
            report.sent_at = Time::ZERO;
            report.bytes_in_flight_at_send = 1_000;
            report.tag = tag;
            report.ranges = &ranges;
        });
        meter.on_event(&Event::Sent(&sent(tag, &ranges)));
        meter.on_event(&if is_lost { Event::Lost(&report) } else { Event::Acked(&report) });
    }

    /// 25 kB in order and 25 kB behind a gap in 10 ms: 40 Mbit/s are 0.8. The receive buffer is 50 kB that flow control leaves, 25 kB in
    /// flight, and those out of order: a quarter of 100 kB costs 0.125. One packet lost of four costs 0.125.
    #[test]
    fn a_reward_by_hand() {
        let mut meter = Meter::default();
        let (first, second) = ([0.25; STATE], [0.5; STATE]);
        meter.begin(Time::ZERO, &first, 1);
        let tag = meter.tag();
        for (range, is_lost) in
            [(0..25_000, false), (25_000..26_000, true), (26_000..50_000, false), (50_000..51_000, false)]
        {
            tell(&mut meter, tag, range, is_lost);
        }
        let paths = [path(1, 20, 75_000)];
        let queue = QueueView::default().with(|queue| queue.connection_window_left = 50_000);
        let view = view_at(Time::from_millis(60), &paths, queue);
        assert_eq!(meter.take(&view), None, "it has not ended");
        meter.end(&second);
        let rewarded = meter.take(&view).expect("all is known");
        assert!((rewarded.reward - (0.8 - 0.125 - 0.125)).abs() < 1e-6, "{rewarded:?}");
        assert_eq!((rewarded.state, rewarded.action, rewarded.next), (first, 1, second));
        assert_eq!(meter.take(&view), None);
    }

    /// What is on its way is waited for, for two seconds; what left under another decision counts there.
    #[test]
    fn packets_count_for_their_own_decision() {
        let mut meter = Meter::default();
        let state = [0.0; STATE];
        meter.begin(Time::ZERO, &state, 0);
        let first = meter.tag();
        meter.end(&state);
        meter.begin(Time::from_millis(10), &state, 1);
        meter.interrupt();
        meter.begin(Time::from_millis(20), &state, 1);
        let second = meter.tag();
        assert_eq!((first, second), (Tag(1), Tag(3)));
        meter.end(&state);
        assert_eq!(meter.tag(), Tag(0));
        meter.on_event(&Event::Sent(&sent(first, &[])));
        tell(&mut meter, second, 0..12_500, false);
        tell(&mut meter, Tag(2), 12_500..20_000, false);
        let paths = [path(1, 20, 75_000)];
        let take = |meter: &mut Meter, ms| {
            meter.take(&view_at(Time::from_millis(ms), &paths, QueueView::default())).map(|it| it.reward)
        };
        assert_eq!(take(&mut meter, 2_000), None);
        assert_eq!(take(&mut meter, 2_001), Some(0.0));
        assert_eq!(take(&mut meter, 2_001), Some(0.2));
    }
}
