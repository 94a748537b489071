//! The sending half of a stream (RFC 9000 section 3.1).

mod assignments;
mod metadata;
mod partial;
mod units;

use std::ops::Range;

use bytes::Bytes;

use super::copies::Copies;
use super::errors::{ClosedStream, ResetAtError, WriteError};
use super::order::Turn;
use super::send_buffer::SendBuffer;
use crate::connection::range_set::RangeSet;

use metadata::Metadata;
pub(super) use partial::GivenUp;

/// How far the frame that ends a stream got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    /// To be sent.
    Due,
    /// On its way.
    InFlight,
    /// Arrived.
    Acked,
}

/// Where the half stands. It starts as `Writing`; `Finishing` and `Resetting` end when everything promised was
/// acknowledged, and the half is then freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The application may write ("Ready" and "Send").
    Writing,
    /// The application wrote the end ("Send" until the FIN was sent, then "Data Sent").
    Finishing { fin: Delivery },
    /// The stream was given up past `reliable_size` ("Reset Sent"; with a size above zero "Data Sent",
    /// draft-ietf-quic-reliable-stream-reset section 5.1).
    Resetting { code: u64, reliable_size: u64, frame: Delivery },
}

/// The peer asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stopped {
    code: u64,
    /// Whether the application saw it by its own call; before that the half is kept to tell.
    seen: bool,
}

/// What a stream adds to the connection's totals, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Amounts {
    /// Unsent below the highest byte sent: no flow control applies.
    pub(super) gaps: u64,
    /// Unsent above it and allowed by the stream's flow control.
    pub(super) tail: u64,
    /// To be sent again.
    pub(super) lost: u64,
    /// Written above the highest byte sent, allowed or not.
    pub(super) unsent: u64,
    /// Written and not acknowledged.
    pub(super) unacked: u64,
    /// Memory.
    pub(super) held: u64,
}

impl Amounts {
    /// Replaces a stream's share.
    #[inline]
    pub(super) fn replace(&mut self, before: &Amounts, after: &Amounts) {
        self.gaps = self.gaps + after.gaps - before.gaps;
        self.tail = self.tail + after.tail - before.tail;
        self.lost = self.lost + after.lost - before.lost;
        self.unsent = self.unsent + after.unsent - before.unsent;
        self.unacked = self.unacked + after.unacked - before.unacked;
        self.held = self.held + after.held - before.held;
    }
}

/// Why a writer waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteBlock {
    None,
    /// The stream's flow control is used up.
    StreamCredit,
    /// The send buffer of the connection is full.
    Buffer,
}

/// The sending half of a stream.
///
/// Every byte written is in one place: unsent (`gaps`, and the tail from `sent_to` on), on its way, `lost`, or
/// acknowledged. The unsent bytes are a tail without holes unless a scheduler skipped some.
///
/// A byte on its way is queued again when the packet that carries it is lost; if there are copies of it, when the last of
/// the packets is lost (see [`copies`](super::copies)). Bytes
/// that were given up (see `partial`) count as acknowledged.
#[derive(Debug)]
pub(super) struct SendStream {
    /// From the first byte that was not acknowledged to the last written.
    buffer: SendBuffer,
    state: State,
    stopped: Option<Stopped>,
    /// One above the highest byte sent.
    sent_to: u64,
    /// Never sent, below `sent_to`.
    gaps: RangeSet,
    /// To be sent again.
    lost: RangeSet,
    /// Acknowledged, above `buffer.start()`.
    acked: RangeSet,
    /// Copied and not acknowledged.
    pub(super) copies: Copies,
    /// The peer's limit for the stream.
    credit: u64,
    pub(super) priority: i32,
    pub(super) blocked: WriteBlock,
    /// Whether it is in the send order.
    pub(super) queued: bool,
    /// What it sent of its turn there.
    pub(super) turn: Turn,
    /// Whether it is in the order of retransmissions.
    pub(super) requeued: bool,
    /// What was said about its bytes, if anything was.
    metadata: Option<Box<Metadata>>,
}

impl SendStream {
    pub(super) fn new(credit: u64) -> Self {
        SendStream {
            buffer: SendBuffer::default(),
            state: State::Writing,
            stopped: None,
            sent_to: 0,
            gaps: RangeSet::default(),
            lost: RangeSet::default(),
            acked: RangeSet::default(),
            copies: Copies::default(),
            credit,
            priority: 0,
            blocked: WriteBlock::None,
            queued: false,
            turn: Turn::default(),
            requeued: false,
            metadata: None,
        }
    }

    #[inline]
    pub(super) fn amounts(&self) -> Amounts {
        let written = self.buffer.end();
        let tail = written.min(self.credit).saturating_sub(self.sent_to);
        Amounts {
            gaps: self.gaps.bytes(),
            tail,
            lost: self.lost.bytes(),
            unsent: written.saturating_sub(self.sent_to),
            unacked: written - self.buffer.start() - self.acked.bytes(),
            held: self.buffer.allocated() as u64,
        }
    }

    #[inline]
    pub(super) fn has_unsent(&self) -> bool {
        !self.gaps.is_empty() || self.buffer.end().min(self.credit) > self.sent_to
    }

    #[inline]
    pub(super) fn lost(&self) -> &RangeSet {
        &self.lost
    }

    pub(super) fn gaps(&self) -> &RangeSet {
        &self.gaps
    }

    // --- the application ---

    /// How much may be written when the connection has room for `space` bytes.
    //= rfc9000-4.5-2: nothing is sent beyond the final size
    pub(super) fn writable(&mut self, space: u64) -> Result<usize, WriteError> {
        if let Some(stopped) = &mut self.stopped {
            stopped.seen = true;
            return Err(WriteError::Stopped(stopped.code));
        }
        if self.state != State::Writing {
            return Err(WriteError::ClosedStream);
        }
        let credit = self.credit.saturating_sub(self.buffer.end());
        if credit == 0 {
            self.blocked = WriteBlock::StreamCredit;
            return Err(WriteError::Blocked);
        }
        if space == 0 {
            self.blocked = WriteBlock::Buffer;
            return Err(WriteError::Blocked);
        }
        if self.blocked == WriteBlock::StreamCredit {
            self.blocked = WriteBlock::None;
        }
        Ok(usize::try_from(credit.min(space)).unwrap_or(usize::MAX))
    }

    pub(super) fn write(&mut self, data: &[u8]) {
        self.buffer.push_copy(data);
    }

    pub(super) fn write_shared(&mut self, data: Bytes) {
        self.buffer.push_shared(data);
    }

    /// Bytes of this stream that count against the connection's send buffer.
    pub(super) fn unacked(&self) -> u64 {
        self.buffer.end() - self.buffer.start() - self.acked.bytes()
    }

    pub(super) fn finish(&mut self) -> Result<(), WriteError> {
        if let Some(stopped) = &mut self.stopped {
            stopped.seen = true;
            return Err(WriteError::Stopped(stopped.code));
        }
        if self.state != State::Writing {
            return Err(WriteError::ClosedStream);
        }
        self.state = State::Finishing { fin: Delivery::Due };
        Ok(())
    }

    /// Gives the stream up; nothing written counts any more.
    pub(super) fn reset(&mut self, code: u64) -> Result<(), ClosedStream> {
        if let Some(stopped) = &mut self.stopped {
            stopped.seen = true;
            return Ok(());
        }
        if matches!(self.state, State::Resetting { .. }) {
            return Err(ClosedStream);
        }
        self.give_up(code, 0);
        Ok(())
    }

    /// Gives the stream up past `reliable_size`.
    pub(super) fn reset_at(&mut self, code: u64, reliable_size: u64) -> Result<(), ResetAtError> {
        let written = self.buffer.end();
        if self.stopped.is_none() && reliable_size > written {
            return Err(ResetAtError::NotWritten { asked: reliable_size, written });
        }
        if self.stopped.is_some() || reliable_size == 0 {
            return Ok(self.reset(code)?);
        }
        if matches!(self.state, State::Resetting { .. }) {
            return Err(ResetAtError::ClosedStream);
        }
        self.give_up(code, reliable_size);
        Ok(())
    }

    //= rfc9000-3.3-2: no data after a reset
    //= rfc9000-4.5-2: nothing is sent beyond the final size
    fn give_up(&mut self, code: u64, reliable_size: u64) {
        self.state = State::Resetting { code, reliable_size, frame: Delivery::Due };
        self.buffer.truncate(reliable_size);
        let end = self.buffer.end();
        self.gaps.remove(end..u64::MAX);
        self.lost.remove(end..u64::MAX);
        self.acked.remove(end..u64::MAX);
        self.copies.truncate(end);
        if let Some(metadata) = &mut self.metadata {
            metadata.truncate(reliable_size);
        }
    }

    /// The peer's reason to stop, if it asked.
    pub(super) fn stopped(&mut self) -> Option<u64> {
        let stopped = self.stopped.as_mut()?;
        stopped.seen = true;
        Some(stopped.code)
    }

    // --- the peer ---

    /// The peer asked to stop: the stream is reset with the peer's code (RFC 9000 section 3.5). Whether that is news.
    //= rfc9000-3.5-2: STOP_SENDING is answered with a reset
    //= rfc9000-3.5-3: a stopped stream whose data is lost is reset, not retransmitted
    //= rfc9000-3.5-4: the reset carries the code of STOP_SENDING
    pub(super) fn on_stop_sending(&mut self, code: u64) -> bool {
        if self.stopped.is_some() {
            return false;
        }
        match &mut self.state {
            State::Resetting { reliable_size: 0, .. } => return false,
            // What was promised is not wanted any more. The reset was or will be sent as it is: its size and code
            // may not change. The application ended the stream itself, so there is nobody to tell.
            State::Resetting { .. } => {
                self.drop_promise();
                return false;
            }
            State::Writing | State::Finishing { .. } => self.give_up(code, 0),
        }
        self.stopped = Some(Stopped { code, seen: false });
        true
    }

    /// Drops the data that a reset still promised, because nobody wants it.
    fn drop_promise(&mut self) {
        if let State::Resetting { code, frame, .. } = self.state {
            self.give_up(code, 0);
            self.state = State::Resetting { code, reliable_size: 0, frame };
        }
    }

    /// A limit from the peer; limits never fall. Whether it is news.
    //= rfc9000-4.1-3: limits that do not rise are ignored
    //= rfc9000-19.10-3: no more is sent on a stream than its largest MAX_STREAM_DATA
    pub(super) fn raise_credit(&mut self, credit: u64) -> bool {
        let raised = credit > self.credit;
        self.credit = self.credit.max(credit);
        raised
    }

    // --- sending ---

    /// The first contiguous unsent bytes after skipping `skip` unsent ones, with `credit` left on the connection.
    //= rfc9000-2.2-3: stream data stays within the peer's flow control limits
    //= rfc9000-4.1-1: neither the stream's nor the connection's limit is exceeded
    //= rfc9000-19.10-3: no more is sent on a stream than its largest MAX_STREAM_DATA
    #[inline]
    pub(super) fn unsent_at(&self, skip: u64, credit: u64) -> Option<Range<u64>> {
        if let Some(rest) = self.gaps.after(skip) {
            return Some(rest);
        }
        let skip = skip - self.gaps.bytes();
        let limit = self.buffer.end().min(self.credit).min(self.sent_to.saturating_add(credit));
        let start = self.sent_to.saturating_add(skip);
        (start < limit).then_some(start..limit)
    }

    /// `skip` moved ahead so that a multiple of `packet` bytes follows before the end of a gap, or so that it leaves such a
    /// multiple above the highest byte sent.
    pub(super) fn skip_in_packets(&self, skip: u64, packet: u64) -> u64 {
        match self.gaps.after(skip) {
            Some(rest) => skip + (rest.end - rest.start) % packet,
            None => {
                let above = (skip - self.gaps.bytes()).checked_next_multiple_of(packet);
                above.map_or(skip, |above| self.gaps.bytes().saturating_add(above))
            }
        }
    }

    /// Whether `range` is a gap that packets with `packet` bytes fill: begun with the rest of another packet, it would be
    /// cut into pieces, and so would all that follow it.
    #[inline]
    pub(super) fn is_gap_of(&self, range: &Range<u64>, packet: u64) -> bool {
        packet > 0 && range.end <= self.sent_to && (range.end - range.start).is_multiple_of(packet)
    }

    /// One above the highest byte sent.
    pub(super) fn sent_to(&self) -> u64 {
        self.sent_to
    }

    /// The first contiguous unsent bytes within `range`, with `credit` left on the connection.
    pub(super) fn unsent_in(&self, range: Range<u64>, credit: u64) -> Option<Range<u64>> {
        let tail = || {
            let limit = self.buffer.end().min(self.credit).min(self.sent_to.saturating_add(credit));
            let part = range.start.max(self.sent_to)..range.end.min(limit);
            (!part.is_empty()).then_some(part)
        };
        self.gaps.first_in(range.clone()).or_else(tail)
    }

    /// Unsent bytes were sent. Returns how much of the connection's credit that took.
    //= rfc9000-19.9-1: final sizes of all streams count for MAX_DATA
    #[inline]
    pub(super) fn mark_sent(&mut self, range: Range<u64>) -> u64 {
        if range.start >= self.sent_to {
            // What was skipped is now a gap. Its credit is taken with it: RFC 9000 section 4.1 counts highest offsets.
            self.gaps.insert(self.sent_to..range.start);
            let credit = range.end - self.sent_to;
            self.sent_to = range.end;
            credit
        } else {
            self.gaps.remove(range);
            0
        }
    }

    /// Lost bytes were sent again.
    #[inline]
    pub(super) fn mark_resent(&mut self, range: Range<u64>) {
        self.lost.remove(range);
    }

    /// Whether a frame that ends at `end` ends the stream.
    #[inline]
    pub(super) fn ends_at(&self, end: u64) -> bool {
        matches!(self.state, State::Finishing { .. }) && end == self.buffer.end()
    }

    /// A frame with the end was sent.
    #[inline]
    pub(super) fn mark_fin_sent(&mut self) {
        if let State::Finishing { fin: fin @ Delivery::Due } = &mut self.state {
            *fin = Delivery::InFlight;
        }
    }

    #[inline]
    pub(super) fn read(&mut self, offset: u64, out: &mut [u8]) {
        self.buffer.read(offset, out);
    }

    /// The offset of a frame that carries nothing but the end, if the end must be sent and no data will carry it.
    pub(super) fn lone_fin(&self) -> Option<u64> {
        let end = self.buffer.end();
        let due = self.state == State::Finishing { fin: Delivery::Due }
            && self.sent_to == end
            && self.lost.last().is_none_or(|lost| lost.end != end);
        due.then_some(end)
    }

    /// Whether the end was acknowledged.
    pub(super) fn fin_acked(&self) -> bool {
        self.state == State::Finishing { fin: Delivery::Acked }
    }

    /// The reset to be sent: code, final size and reliable size. One that promises data waits until that was sent
    /// once: its final size must be within flow control.
    //= rfc9000-13.3-1: a reset that is sent again says the same
    pub(super) fn reset_frame(&self) -> Option<(u64, u64, u64)> {
        match self.state {
            State::Resetting { code, reliable_size, frame: Delivery::Due }
                if self.sent_to >= reliable_size =>
            {
                Some((code, self.sent_to, reliable_size))
            }
            _ => None,
        }
    }

    pub(super) fn mark_reset_sent(&mut self) {
        if let State::Resetting { frame: frame @ Delivery::Due, .. } = &mut self.state {
            *frame = Delivery::InFlight;
        }
    }

    /// The limit that holds a writer up, if the stream's flow control does.
    //= rfc9000-3.3-2: no data after a reset
    pub(super) fn blocked_at(&self) -> Option<u64> {
        let blocked = self.state == State::Writing
            && self.blocked == WriteBlock::StreamCredit
            && self.buffer.end() >= self.credit;
        blocked.then_some(self.credit)
    }

    /// Nothing was sent, and the peer allows nothing (see [`rewind`](super::rewind)). Nothing was acknowledged yet.
    pub(super) fn rewind(&mut self) {
        debug_assert!(self.acked.is_empty() && self.buffer.start() == 0);
        self.sent_to = 0;
        self.gaps = RangeSet::default();
        self.lost = RangeSet::default();
        self.copies = Copies::default();
        self.credit = 0;
        self.on_fin_lost();
        self.on_reset_lost();
    }

    // --- acknowledged and lost ---

    /// The first part of `range` that was sent and not acknowledged.
    #[inline]
    pub(super) fn first_unacked(&self, range: Range<u64>) -> Option<Range<u64>> {
        let start = range.start.max(self.buffer.start());
        let end = range.end.min(self.buffer.end()).min(self.sent_to);
        if start >= end {
            return None;
        }
        if self.acked.is_empty() { Some(start..end) } else { self.acked.first_missing(start..end) }
    }

    /// How many ranges are moved when bytes from there on are acknowledged out of order.
    #[inline]
    pub(super) fn moves_to_ack(&self, offset: u64) -> u64 {
        if self.acked.is_empty() { 0 } else { self.acked.moves_at(offset) }
    }

    /// The peer has these bytes (and the end, with `fin`).
    #[inline]
    pub(super) fn on_acked(&mut self, range: Range<u64>, fin: bool) {
        if fin && let State::Finishing { fin } = &mut self.state {
            *fin = Delivery::Acked;
        }
        let start = range.start.max(self.buffer.start());
        let end = range.end.min(self.buffer.end()).min(self.sent_to);
        if start >= end {
            return;
        }
        if !self.lost.is_empty() {
            self.lost.remove(start..end);
        }
        debug_assert_eq!(self.gaps.first_in(start..end), None, "acknowledged, but never sent");
        if start == self.buffer.start() {
            let acked_to = if self.acked.is_empty() { end } else { self.acked.absorb(end) };
            self.buffer.release_to(acked_to);
        } else {
            self.acked.insert(start..end);
        }
    }

    /// The only packet that carried these bytes is lost.
    pub(super) fn on_lost(&mut self, range: Range<u64>, fin: bool) {
        if fin {
            self.on_fin_lost();
        }
        self.requeue(range);
    }

    pub(super) fn on_fin_lost(&mut self) {
        if let State::Finishing { fin: fin @ Delivery::InFlight } = &mut self.state {
            *fin = Delivery::Due;
        }
    }

    /// Queues bytes again unless they arrived otherwise.
    //= rfc9000-13.3-6: what was acknowledged is not retransmitted
    pub(super) fn requeue(&mut self, range: Range<u64>) {
        let mut rest = range;
        while let Some(part) = self.first_unacked(rest.clone()) {
            rest.start = part.end;
            self.lost.insert(part);
        }
    }

    pub(super) fn on_reset_acked(&mut self) {
        if let State::Resetting { frame, .. } = &mut self.state {
            *frame = Delivery::Acked;
        }
    }

    pub(super) fn on_reset_lost(&mut self) {
        if let State::Resetting { frame: frame @ Delivery::InFlight, .. } = &mut self.state {
            *frame = Delivery::Due;
        }
    }

    /// Whether the application has finished or reset the stream.
    #[inline]
    pub(super) fn is_ending(&self) -> bool {
        self.state != State::Writing
    }

    /// Whether everything promised has arrived and the application has nothing more to learn.
    #[inline]
    pub(super) fn is_done(&self) -> bool {
        match self.state {
            State::Writing => false,
            State::Finishing { fin } => {
                fin == Delivery::Acked && self.buffer.start() == self.buffer.end() && self.is_all_told()
            }
            State::Resetting { frame, .. } => {
                frame == Delivery::Acked
                    && self.buffer.start() == self.buffer.end()
                    && self.stopped.is_none_or(|stopped| stopped.seen)
                    && self.is_all_told()
            }
        }
    }

    /// Whether it ends with a FIN rather than a reset.
    pub(super) fn is_finishing(&self) -> bool {
        matches!(self.state, State::Finishing { .. })
    }

    /// Unsent ranges allowed by the stream's flow control, in order.
    pub(super) fn unsent(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.gaps.iter().chain(self.unsent_at(self.gaps.bytes(), u64::MAX))
    }

    /// Bytes of memory besides the buffer.
    pub(super) fn memory(&self) -> usize {
        self.gaps.memory()
            + self.lost.memory()
            + self.acked.memory()
            + self.copies.memory()
            + self.metadata_memory()
    }
}
