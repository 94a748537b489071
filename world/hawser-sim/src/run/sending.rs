//! The sending halves of flows.

use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use hawser_core::Connection;
use hawser_policy::{StreamId, Time};

use crate::pattern::pattern_bytes;

/// Bytes of the pattern that go on a stream, and then its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    stream: StreamId,
    offset: u64,
    length: u64,
}

impl Sending {
    pub(super) fn new(stream: StreamId, length: u64) -> Self {
        Sending { stream, offset: 0, length }
    }

    /// Writes as much as the stream takes; true when everything was written.
    pub(super) fn push(&mut self, connection: &mut Connection) -> bool {
        self.push_most(u64::MAX, connection) == Pushed::All
    }

    /// Writes at most so much, as far as the stream takes it.
    pub(super) fn push_most(&mut self, most: u64, connection: &mut Connection) -> Pushed {
        let until = self.length.min(self.offset.saturating_add(most));
        while self.offset < until {
            match connection.write_bytes(self.stream, pattern_bytes(self.offset, until - self.offset)) {
                Ok(written) if written > 0 => self.offset += written as u64,
                _ => return Pushed::Blocked,
            }
        }
        if until < self.length {
            return Pushed::Part;
        }
        // The peer may have stopped the stream meanwhile, and then there is nothing to end.
        let _ = connection.finish(self.stream);
        Pushed::All
    }
}

/// What came of an attempt to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pushed {
    /// Everything is written.
    All,
    /// As much as was asked for, and more is left.
    Part,
    /// The stream takes no more for now.
    Blocked,
}

/// Bytes of a datagram before its padding: number and time of sending.
const STAMP: usize = 16;

/// Unreliable datagrams at an even rate, each stamped with its number and the time of its sending.
#[derive(Clone, Debug)]
pub struct DatagramPacer {
    size: usize,
    interval: Duration,
    number: u64,
    next_at: Time,
}

impl DatagramPacer {
    /// Begins at `now`; `size` in bytes is at least that of a stamp, `rate` in bit/s of payload and above zero.
    pub fn new(now: Time, size: u32, rate: u64) -> Self {
        let size = (size as usize).max(STAMP);
        let nanos = (size as u128 * 8 * 1_000_000_000 / u128::from(rate.max(1))).max(1);
        let interval = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        DatagramPacer { size, interval, number: 0, next_at: now }
    }

    /// When the next one is due.
    pub fn next_at(&self) -> Time {
        self.next_at
    }

    /// Datagrams sent so far.
    pub fn sent(&self) -> u64 {
        self.number
    }

    /// The next datagram that is due, of at most `most` bytes (but a whole stamp); it counts as sent.
    pub fn next_due(&mut self, now: Time, most: usize) -> Option<Bytes> {
        if now < self.next_at {
            return None;
        }
        let datagram = stamped(self.number, now, most.min(self.size));
        self.number += 1;
        self.next_at += self.interval;
        Some(datagram)
    }

    /// Queues those that are due. When the queue is full the oldest give way: what is sent is worth most when it is new.
    pub(super) fn push_on(&mut self, now: Time, connection: &mut Connection) {
        let most = connection.max_datagram_size().unwrap_or(STAMP);
        while let Some(datagram) = self.next_due(now, most) {
            // Refused only before the handshake has told whether the peer takes datagrams; they count as sent and lost.
            let _ = connection.send_newest_datagram(datagram, None);
        }
    }
}

fn stamped(number: u64, now: Time, size: usize) -> Bytes {
    let mut datagram = BytesMut::zeroed(size.max(STAMP));
    let mut stamp = &mut datagram[..STAMP];
    stamp.put_u64(number);
    stamp.put_u64(now.as_nanos());
    datagram.freeze()
}

/// When a datagram was sent.
pub fn sent_at(datagram: &[u8]) -> Option<Time> {
    let stamp = datagram.get(8..STAMP)?.first_chunk::<8>()?;
    Some(Time::from_nanos(u64::from_be_bytes(*stamp)))
}
