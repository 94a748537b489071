//! When stream data was there in order, and what held up its head.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::trace::{Chunk, NEVER, Packet, Trace};

/// Streams that are followed; a connection with more has its further ones left out.
const MAX_STREAMS: usize = 100_000;

/// The data of a connection in one direction, as one end can tell.
#[derive(Debug, Default)]
pub(crate) struct Delivery {
    /// Each time that bytes came in order: when, and how many there were since the beginning.
    pub(crate) steps: Vec<(u64, u64)>,
    /// Times between two steps, as long as data was missing.
    pub(crate) waits: Vec<Wait>,
}

/// A time in which nothing came in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) from_us: u64,
    pub(crate) to_us: u64,
    /// The stream that went on at the end, and the byte that it waited for.
    pub(crate) stream: u64,
    pub(crate) offset: u64,
    /// Bytes behind that one that were there before the end.
    pub(crate) buffered: u64,
    /// The packet that ended it: path and number.
    pub(crate) ended_by: (u64, u64),
}

/// One stream.
#[derive(Debug, Default)]
struct Stream {
    in_order: u64,
    /// Ranges behind the first gap, first byte to the one after the last.
    ahead: BTreeMap<u64, u64>,
    buffered: u64,
}

impl Stream {
    /// Takes data. Returns by how much the part in order grew.
    fn take(&mut self, chunk: &Chunk) -> u64 {
        let before = self.in_order;
        let (mut start, mut end) = (chunk.offset.max(self.in_order), chunk.end());
        if end <= start {
            return 0;
        }
        // Merges what overlaps.
        while let Some((&first, &last)) = self.ahead.range(..=end).next_back() {
            if last < start {
                break;
            }
            (start, end) = (start.min(first), end.max(last));
            self.ahead.remove(&first);
            self.buffered -= last - first;
        }
        if start <= self.in_order {
            self.in_order = end;
        } else {
            self.ahead.insert(start, end);
            self.buffered += end - start;
        }
        self.in_order - before
    }
}

impl Delivery {
    /// As the receiver saw it.
    pub(crate) fn received(trace: &Trace) -> Self {
        let arrivals = trace.received.iter().map(|packet| (packet.at_us, packet));
        Delivery::of(trace, arrivals)
    }

    /// As the sender learned from acknowledgements.
    pub(crate) fn acknowledged(trace: &Trace) -> Self {
        let mut acked: Vec<(u64, &Packet)> = trace
            .sent
            .iter()
            .filter(|packet| packet.acked_us != NEVER)
            .map(|packet| (packet.acked_us, packet))
            .collect();
        acked.sort_by_key(|(at, packet)| (*at, packet.at_us));
        Delivery::of(trace, acked.into_iter())
    }

    fn of<'a>(trace: &Trace, arrivals: impl Iterator<Item = (u64, &'a Packet)>) -> Self {
        let mut streams: FxHashMap<u64, Stream> = FxHashMap::default();
        let mut delivery = Delivery::default();
        let mut total = 0;
        for (at_us, packet) in arrivals {
            for chunk in trace.data_of(packet) {
                if streams.len() == MAX_STREAMS && !streams.contains_key(&chunk.stream) {
                    continue;
                }
                let stream = streams.entry(chunk.stream).or_default();
                let (offset, buffered) = (stream.in_order, stream.buffered);
                let grew = stream.take(chunk);
                if grew == 0 {
                    continue;
                }
                total += grew;
                if let Some(&(from_us, _)) = delivery.steps.last()
                    && at_us > from_us
                {
                    delivery.waits.push(Wait {
                        from_us,
                        to_us: at_us,
                        stream: chunk.stream,
                        offset,
                        buffered,
                        ended_by: (packet.path, packet.number),
                    });
                }
                delivery.step(at_us, total);
            }
        }
        delivery
    }

    fn step(&mut self, at_us: u64, total: u64) {
        match self.steps.last_mut() {
            Some(last) if last.0 == at_us => last.1 = total,
            _ => self.steps.push((at_us, total)),
        }
    }

    /// The longest waits of at least this length, the longest first.
    pub(crate) fn longest(&self, least_us: u64, most: usize) -> Vec<Wait> {
        let mut waits: Vec<Wait> =
            self.waits.iter().filter(|wait| wait.to_us - wait.from_us >= least_us).copied().collect();
        waits.sort_by_key(|wait| (std::cmp::Reverse(wait.to_us - wait.from_us), wait.from_us));
        waits.truncate(most);
        waits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_in_order_grows_as_holes_are_filled() {
        let chunk = |offset, length| Chunk { stream: 0, offset, length, fin: false };
        let mut stream = Stream::default();
        assert_eq!(stream.take(&chunk(0, 10)), 10);
        assert_eq!(stream.take(&chunk(20, 10)), 0);
        assert_eq!(stream.take(&chunk(40, 10)), 0);
        assert_eq!(stream.take(&chunk(25, 10)), 0, "overlaps with the first range ahead");
        assert_eq!(stream.buffered, 25);
        assert_eq!(stream.take(&chunk(5, 15)), 25);
        assert_eq!(stream.take(&chunk(5, 15)), 0);
        assert_eq!(stream.take(&chunk(30, 100)), 95);
        assert_eq!((stream.buffered, stream.ahead.len()), (0, 0));
    }
}
