//! What the time between two decisions brought, as the sender sees it (specification of 4D-MAP, section 9).

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use hawser_policy::{Event, PathView, QueueView, StreamId};

/// A goodput of so many bit/s is worth 1: the unit of delivery rates in the state.
const GOODPUT: f64 = 50e6;
/// What a receive buffer full of bytes out of order costs, and the loss of every packet.
const REORDERING_WEIGHT: f64 = 0.5;
const LOSS_WEIGHT: f64 = 0.5;

/// Counts from one decision to the next.
#[derive(Debug, Default)]
pub(super) struct Meter {
    streams: BTreeMap<StreamId, Arrived>,
    /// Bytes that were acknowledged for the first time.
    delivered: u64,
    acked_packets: u64,
    lost_packets: u64,
}

/// Bytes of a stream that were acknowledged.
#[derive(Debug, Default)]
struct Arrived {
    /// All below this.
    prefix: u64,
    /// And these, which do not touch: start and end.
    beyond: BTreeMap<u64, u64>,
}

impl Meter {
    pub(super) fn on_event(&mut self, event: &Event<'_>) {
        match event {
            Event::Acked(report) => {
                self.acked_packets += 1;
                for range in report.ranges {
                    self.delivered += self.streams.entry(range.stream).or_default().insert(&range.range);
                }
            }
            Event::Lost(_) => self.lost_packets += 1,
            _ => {}
        }
    }

    /// What so long a time brought: goodput in units of 50 Mbit/s, less half of the share of the receive buffer that is out of
    /// order, less half of the share of packets that were lost. It begins anew.
    ///
    /// The receive buffer is what the sender knows of it: what flow control allows beyond what was read in order.
    pub(super) fn take(&mut self, passed: Duration, paths: &[PathView], queue: &QueueView) -> f32 {
        let goodput = 8.0 * self.delivered as f64 / passed.as_secs_f64().max(1e-3) / GOODPUT;
        let out_of_order = self.streams.values().map(Arrived::out_of_order).sum::<u64>() as f64;
        let in_flight: f64 = paths.iter().map(|path| path.bytes_in_flight as f64).sum();
        let buffer = queue.connection_window_left as f64 + in_flight + out_of_order;
        let settled = (self.acked_packets + self.lost_packets).max(1) as f64;
        let loss = self.lost_packets as f64 / settled;
        (self.delivered, self.acked_packets, self.lost_packets) = (0, 0, 0);
        (goodput - REORDERING_WEIGHT * out_of_order / buffer.max(1.0) - LOSS_WEIGHT * loss) as f32
    }
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
    use hawser_policy::{PacketReport, PathId, StreamRange, Tag, Time};

    use super::*;
    use crate::testing::path;

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

    /// 25 kB in order and 25 kB behind a gap in 10 ms: 40 Mbit/s are .8. The receive buffer is 50 kB that flow control leaves, 25 kB in
    /// flight, and those out of order: a quarter of 100 kB costs .125. One packet lost of four costs .125.
    #[test]
    fn a_reward_by_hand() {
        let mut meter = Meter::default();
        let report = |range: Range<u64>| {
            let ranges = vec![StreamRange { stream: StreamId(0), range, copy: false }];
            (ranges, Time::from_millis(5))
        };
        let mut tell = |range: Range<u64>, is_lost: bool| {
            let (ranges, now) = report(range);
            let report = PacketReport {
                now,
                path: PathId(1),
                packet_number: 0,
                bytes: 1_000,
                sent_at: Time::ZERO,
                bytes_in_flight_at_send: 1_000,
                tag: Tag(0),
                ranges: &ranges,
                one_way_delay: None,
            };
            meter.on_event(&if is_lost { Event::Lost(&report) } else { Event::Acked(&report) });
        };
        tell(0..25_000, false);
        tell(25_000..26_000, true);
        tell(26_000..50_000, false);
        tell(50_000..51_000, false);
        let paths = [path(1, 20, 75_000)];
        let queue = QueueView { connection_window_left: 50_000, ..QueueView::default() };
        let reward = meter.take(Duration::from_millis(10), &paths, &queue);
        assert!((reward - (0.8 - 0.125 - 0.125)).abs() < 1e-6, "{reward}");
        let next = meter.take(Duration::from_millis(10), &paths, &queue);
        assert!((next + 0.125).abs() < 1e-6, "what is out of order stays so: {next}");
    }
}
