//! Delivery delay: from the first sending of a byte to its delivery in order.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use hawser_core::FirstSend;
use hawser_policy::{StreamId, Time};

use super::meter::Delays;

/// First sendings of one flow, written by its sending end and read by its receiving end.
#[derive(Clone, Debug, Default)]
pub(super) struct Deliveries(Rc<RefCell<Sendings>>);

#[derive(Debug, Default)]
struct Sendings {
    stream: Option<StreamId>,
    /// By offset; what was read in order is gone.
    ranges: VecDeque<(u64, u64, Time)>,
}

impl Deliveries {
    /// Bytes were sent for the first time.
    pub(super) fn sent(&self, sending: &FirstSend) {
        let mut sendings = self.0.borrow_mut();
        if sendings.stream != Some(sending.stream) {
            // A flow that pauses goes on with a new stream.
            *sendings = Sendings { stream: Some(sending.stream), ranges: VecDeque::new() };
        }
        let (start, end) = (sending.offset, sending.offset + u64::from(sending.length));
        let ranges = &mut sendings.ranges;
        // Mostly at the end; schedulers that skip ahead fill gaps later.
        let place = match ranges.back() {
            Some(last) if last.0 > start => ranges.partition_point(|range| range.0 < start),
            _ => ranges.len(),
        };
        ranges.insert(place, (start, end, sending.at));
    }

    /// Bytes of the stream were delivered in order.
    pub(super) fn delivered(&self, now: Time, offset: u64, length: u64, delays: &mut Delays) {
        let mut sendings = self.0.borrow_mut();
        let delivered = offset + length;
        while let Some(range) = sendings.ranges.front_mut().filter(|range| range.0 < delivered) {
            let end = range.1.min(delivered);
            let start = range.0.max(offset);
            if end > start {
                delays.record(now.since(range.2), end - start);
            }
            range.0 = end;
            if range.0 < range.1 {
                return;
            }
            sendings.ranges.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hawser_policy::PathId;

    use super::*;

    #[test]
    fn each_byte_counts_from_its_own_first_sending() {
        let deliveries = Deliveries::default();
        let stream = StreamId(0);
        for (offset, length, at) in [(0, 100, 1), (300, 100, 2), (100, 200, 5)] {
            let at = Time::from_millis(at);
            deliveries.sent(&FirstSend { at, path: PathId(0), stream, offset, length });
        }
        let mut delays = Delays::default();
        deliveries.delivered(Time::from_millis(11), 0, 150, &mut delays);
        deliveries.delivered(Time::from_millis(12), 150, 250, &mut delays);
        // 100 bytes after 10 ms, 50 after 6 ms, 150 after 7 ms, 100 after 10 ms.
        let summary = delays.summary();
        assert_eq!((summary.count, summary.max_ms, summary.min_ms), (400, 10.0, 6.0));
        assert!(
            (summary.mean_ms - (100.0 * 10.0 + 50.0 * 6.0 + 150.0 * 7.0 + 100.0 * 10.0) / 400.0).abs() < 1e-9
        );
        assert!(delays.quantile(0.2) < Duration::from_millis(8));
    }
}
