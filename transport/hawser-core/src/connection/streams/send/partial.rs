//! Partial delivery: bytes that are given up, and telling the peer so.
//!
//! A byte that is given up counts as acknowledged from then on: it is not sent, not queued again, and its memory is free.
//! What is left of it is a range in a STREAM_SKIP frame, which is sent until it is acknowledged. Bytes on their way are
//! given up only when the packet that owns them is lost, so that the peer is never told of data that it still gets.
//!
//! STREAM_SKIP counts in flow control as the bytes would (RFC 9000 section 4.1 counts highest offsets). Bytes above the
//! highest one sent are therefore given up only as far as the connection's credit goes, and the others when there is
//! more; until then they lie where nothing can be sent anyway.

use std::ops::Range;

use hawser_policy::{Reliability, Time};

use super::{SendStream, State};
use crate::connection::range_set::RangeSet;

/// What was given up, or is to be.
#[derive(Debug, Default)]
pub(super) struct Partial {
    /// Of bytes that belong to no frame.
    pub(super) reliability: Reliability,
    /// Given up when they are lost.
    send_once: RangeSet,
    /// Under way, but nothing of it is sent again, not even as a copy.
    withdrawn: RangeSet,
    /// To be given up when the connection's credit reaches them.
    deferred: RangeSet,
    /// Given up, and the peer may not know it.
    untold: RangeSet,
    /// Of these, what no STREAM_SKIP under way tells.
    due: RangeSet,
    /// When the connection looks at its frames next, because one of them may expire.
    noted_expiry: Option<Time>,
}

impl Partial {
    /// Bytes of a frame were written.
    pub(super) fn on_written(&mut self, reliability: Reliability, range: Range<u64>) {
        if reliability == Reliability::Unreliable {
            self.send_once.insert(range);
        }
    }

    /// The first part of `range` that is not to be given up.
    pub(super) fn first_wanted(&self, range: Range<u64>) -> Option<Range<u64>> {
        if range.is_empty() { None } else { self.deferred.first_missing(range) }
    }

    pub(super) fn trim(&mut self, offset: u64) {
        for set in [&mut self.send_once, &mut self.withdrawn, &mut self.deferred] {
            set.remove(0..offset);
        }
    }

    pub(super) fn truncate(&mut self, end: u64) {
        for set in
            [&mut self.send_once, &mut self.withdrawn, &mut self.deferred, &mut self.untold, &mut self.due]
        {
            set.remove(end..u64::MAX);
        }
    }

    pub(super) fn memory(&self) -> usize {
        [&self.send_once, &self.withdrawn, &self.deferred, &self.untold, &self.due]
            .iter()
            .map(|set| set.memory())
            .sum()
    }
}

/// What giving a range up did, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct GivenUp {
    /// Given up now.
    pub(in super::super) bytes: u64,
    /// Given up when they are lost, or when there is credit to tell.
    pub(in super::super) later: u64,
    /// Connection credit that this took.
    pub(in super::super) credit: u64,
}

impl GivenUp {
    fn add(&mut self, other: GivenUp) {
        self.bytes += other.bytes;
        self.later += other.later;
        self.credit += other.credit;
    }
}

impl SendStream {
    /// Declares how carefully bytes outside of frames are to be delivered.
    pub(in super::super) fn set_reliability(&mut self, reliability: Reliability) {
        self.metadata_mut().partial.reliability = reliability;
    }

    /// Those parts of a range that were written, are not acknowledged, and may be given up.
    fn expendable(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut parts = Vec::new();
        let Some(metadata) = &self.metadata else { return parts };
        let mut rest = range.start.max(self.buffer.start())..range.end.min(self.buffer.end());
        while rest.start < rest.end {
            let (unit, end) = metadata.units.at(rest.start);
            let reliability = unit.map_or(metadata.partial.reliability, |unit| unit.info.reliability);
            let end = end.min(rest.end);
            if reliability != Reliability::Reliable {
                parts.push(rest.start..end);
            }
            rest.start = end;
        }
        parts
    }

    /// A policy gives a range up: what of it may be.
    pub(in super::super) fn discard(&mut self, range: Range<u64>, credit: u64) -> GivenUp {
        self.give_up_all(self.expendable(range), credit)
    }

    /// The application gives frames up, whatever it said of them before.
    pub(in super::super) fn cancel_frame(&mut self, id: u64, credit: u64) -> GivenUp {
        let ranges = self.metadata_mut().units.give_up(id);
        self.give_up_all(ranges, credit)
    }

    /// Gives up the frames whose deadline is past.
    pub(in super::super) fn expire(&mut self, now: Time, credit: u64) -> GivenUp {
        let ranges = self.metadata_mut().units.expire(now);
        self.give_up_all(ranges, credit)
    }

    /// When the connection looks for expired frames next.
    pub(in super::super) fn noted_expiry(&self) -> Option<Time> {
        self.metadata.as_ref()?.partial.noted_expiry
    }

    /// It does so at this time.
    pub(in super::super) fn note_expiry(&mut self, at: Option<Time>) {
        self.metadata_mut().partial.noted_expiry = at;
    }

    /// When the next frame expires.
    pub(in super::super) fn next_expiry(&self) -> Option<Time> {
        self.metadata.as_ref()?.units.next_expiry()
    }

    /// Gives up what had to wait for credit.
    pub(in super::super) fn give_up_deferred(&mut self, credit: u64) -> GivenUp {
        let deferred = std::mem::take(&mut self.metadata_mut().partial.deferred);
        self.give_up_all(deferred.iter().collect(), credit)
    }

    /// Bytes that wait for credit to be given up.
    #[cfg(test)]
    pub(in super::super) fn deferred(&self) -> u64 {
        self.metadata.as_ref().map_or(0, |metadata| metadata.partial.deferred.bytes())
    }

    /// Whether something waits for credit to be given up.
    pub(in super::super) fn has_deferred(&self) -> bool {
        self.metadata.as_ref().is_some_and(|metadata| !metadata.partial.deferred.is_empty())
    }

    /// From now on these bytes are not retransmitted: what of them may be given up. What is lost already is given up at
    /// once.
    pub(in super::super) fn do_not_retransmit(&mut self, range: Range<u64>) -> GivenUp {
        let mut total = GivenUp::default();
        for part in self.expendable(range) {
            self.metadata_mut().partial.send_once.insert(part.clone());
            let bytes = self.give_up_lost(part.clone());
            total.add(GivenUp { bytes, later: part.end - part.start - bytes, credit: 0 });
        }
        total
    }

    fn give_up_all(&mut self, ranges: Vec<Range<u64>>, credit: u64) -> GivenUp {
        let mut total = GivenUp::default();
        for range in ranges {
            let range = range.start.max(self.buffer.start())..range.end.min(self.buffer.end());
            if !range.is_empty() {
                total.add(self.give_up_range(range, credit - total.credit));
            }
        }
        total
    }

    /// Gives up a range that was written.
    fn give_up_range(&mut self, range: Range<u64>, credit: u64) -> GivenUp {
        let mut result = GivenUp { credit: self.reach(&range, credit), ..GivenUp::default() };
        let sent = range.start..range.end.min(self.sent_to);
        let beyond = range.start.max(self.sent_to)..range.end;
        if !beyond.is_empty() {
            result.later += beyond.end - beyond.start;
            self.metadata_mut().partial.deferred.insert(beyond);
        }
        if sent.is_empty() {
            return result;
        }
        for waiting in self.waiting_in(&sent) {
            result.bytes += waiting.end - waiting.start;
            self.skip(waiting);
        }
        let mut rest = sent.clone();
        while let Some(under_way) = self.first_unacked(rest) {
            result.later += under_way.end - under_way.start;
            rest = under_way.end..sent.end;
        }
        let partial = &mut self.metadata_mut().partial;
        partial.send_once.insert(sent.clone());
        partial.withdrawn.insert(sent);
        result
    }

    /// Counts the stream as sent up to the end of `range`, as far as there is credit and if that reaches the range. What
    /// was not sent becomes a gap. Returns the credit that this takes.
    fn reach(&mut self, range: &Range<u64>, credit: u64) -> u64 {
        let to = range.end.min(self.sent_to.saturating_add(credit)).min(self.credit);
        if to <= self.sent_to || to <= range.start {
            return 0;
        }
        let taken = to - self.sent_to;
        self.gaps.insert(self.sent_to..to);
        self.sent_to = to;
        taken
    }

    /// What waits to be sent, or to be sent again, within `range`.
    fn waiting_in(&self, range: &Range<u64>) -> Vec<Range<u64>> {
        let parts_of = |set: &RangeSet| {
            let mut rest = range.clone();
            let mut parts = Vec::new();
            while let Some(part) = set.first_in(rest.clone()) {
                rest.start = part.end;
                parts.push(part);
            }
            parts
        };
        [parts_of(&self.gaps), parts_of(&self.lost)].concat()
    }

    /// These bytes will not be sent (again), and the peer is to be told.
    fn skip(&mut self, range: Range<u64>) {
        // Where a scheduler skipped ahead, these bytes were never sent.
        self.gaps.remove(range.clone());
        self.on_acked(range.clone(), false);
        self.copies.on_acked(range.clone());
        let partial = &mut self.metadata_mut().partial;
        partial.untold.insert(range.clone());
        partial.due.insert(range);
    }

    /// Of the lost bytes in `range`, gives up those that were to be sent once only; returns how many.
    pub(in super::super) fn give_up_lost(&mut self, range: Range<u64>) -> u64 {
        let Some(metadata) = &self.metadata else { return 0 };
        let mut parts = Vec::new();
        let mut rest = range;
        while let Some(once) = metadata.partial.send_once.first_in(rest.clone()) {
            rest.start = once.end;
            let mut once = once;
            while let Some(lost) = self.lost.first_in(once.clone()) {
                once.start = lost.end;
                parts.push(lost);
            }
        }
        let bytes = parts.iter().map(|part| part.end - part.start).sum();
        parts.into_iter().for_each(|part| self.skip(part));
        bytes
    }

    /// Whether these bytes may be sent again as a copy: those that were not given up. The first part of `range` that is.
    pub(in super::super) fn first_copyable(&self, range: Range<u64>) -> Option<Range<u64>> {
        let mut rest = range;
        while let Some(part) = self.first_unacked(rest.clone()) {
            let Some(metadata) = &self.metadata else { return Some(part) };
            match metadata.partial.withdrawn.first_missing(part.clone()) {
                Some(wanted) => return Some(wanted),
                None => rest.start = part.end,
            }
        }
        None
    }

    // --- STREAM_SKIP ---

    /// What the next STREAM_SKIP frame tells.
    pub(in super::super) fn next_skip(&self) -> Option<Range<u64>> {
        self.metadata.as_ref()?.partial.due.first()
    }

    /// A STREAM_SKIP frame was sent.
    pub(in super::super) fn mark_skip_sent(&mut self, range: Range<u64>) {
        self.metadata_mut().partial.due.remove(range);
    }

    /// The peer knows.
    pub(in super::super) fn on_skip_acked(&mut self, range: Range<u64>) {
        if let Some(metadata) = &mut self.metadata {
            metadata.partial.due.remove(range.clone());
            metadata.partial.untold.remove(range);
        }
    }

    /// The frame was lost: what it told is told again, if it still matters.
    pub(in super::super) fn on_skip_lost(&mut self, range: Range<u64>) {
        let Some(metadata) = &mut self.metadata else { return };
        let mut rest = range;
        while let Some(part) = metadata.partial.untold.first_in(rest.clone()) {
            rest.start = part.end;
            metadata.partial.due.insert(part);
        }
    }

    /// Whether the peer knows of all that was given up.
    pub(super) fn is_all_told(&self) -> bool {
        self.metadata
            .as_ref()
            .is_none_or(|metadata| metadata.partial.untold.is_empty() && metadata.partial.deferred.is_empty())
    }

    /// Whether frames may still be given up.
    pub(in super::super) fn is_reset(&self) -> bool {
        matches!(self.state, State::Resetting { .. })
    }
}
