//! Copied ranges into packets, and what becomes of them there. [`copies`](super::copies) counts them.

use std::ops::Range;

use hawser_policy::PathId;
use hawser_wire::Writer;
use hawser_wire::frame::StreamHeader;

use super::Streams;
use super::copies::{ANY_ROUND, Carried};
use super::outgoing::{Purpose, write_frame};
use super::send::SendStream;
use crate::connection::frames::{SentFrame, SentFrames, SentStream};

impl SendStream {
    /// A transmission is lost, of a stream that has copies. Returns whether another one answers for some of it.
    #[cold]
    pub(super) fn on_lost_of_several(&mut self, range: &SentStream, path: Option<PathId>) -> bool {
        let bytes = range.offset..range.end();
        let last = bytes.clone().last();
        let mut copies = std::mem::take(&mut self.copies);
        let is_shared = copies.on_lost(bytes, range.round, path, |part| self.requeue(part));
        self.copies = copies;
        // A mere end is in flight once, other than as a copy.
        let is_answered = last.map_or(range.copy, |last| self.copies.is_answered(last));
        if range.fin && !is_answered {
            self.on_fin_lost();
        }
        is_shared
    }

    /// A transmission is acknowledged. Returns the bytes that were sent as copies of it, if it is no copy itself.
    #[cold]
    pub(super) fn on_acked_of_several(&mut self, range: &SentStream) -> u64 {
        let copied = self.copies.on_acked(range.offset..range.end());
        if range.copy { 0 } else { copied }
    }

    /// The first part of `range` that is in flight, not merely queued, and whose bytes share a fate; and their round.
    fn first_in_flight(&self, mut range: Range<u64>) -> Option<(Range<u64>, u16)> {
        while let Some(mut rest) = self.first_copyable(range.clone()) {
            range.start = rest.end;
            while let Some(part) = self.lost().first_missing(rest.clone()) {
                rest.start = part.end;
                if let Some(sent) = self.gaps().first_missing(part) {
                    return Some(self.copies.first_part(sent));
                }
            }
        }
        None
    }
}

impl Streams {
    /// A copy of a range that is in flight on `path` waits for another.
    pub(crate) fn on_copy_queued(&mut self, range: &SentStream, path: PathId) {
        if range.length > 0
            && let Some(key) = self.table.find(range.id)
            && let Some(send) = self.table.send_mut(key)
            && let Some((part, _)) = send.first_in_flight(range.offset..range.end())
        {
            // Nearly always all of it: it was sent just now.
            send.copies.on_queued(part, Some(path));
        }
    }

    /// Whether the transmission counts: no later one has taken its range over, nor has all of it arrived otherwise.
    pub(crate) fn answers_for(&mut self, range: &SentStream) -> bool {
        let send = self.table.find(range.id).and_then(|key| self.table.send_mut(key));
        let Some(send) = send else { return false };
        if range.length == 0 {
            return !send.fin_acked();
        }
        let part = send.first_in_flight(range.offset..range.end());
        part.is_some_and(|(_, round)| round == range.round)
    }

    /// Whether `path` carries all that is in flight of a range for which a transmission on another path answers.
    pub(crate) fn is_carried(&self, range: &SentStream, path: PathId) -> Carried {
        let Some(send) = self.table.find_ref(range.id).and_then(|key| self.send_half(key)) else {
            return Carried::No;
        };
        if send.copies.is_empty() {
            return Carried::No;
        }
        let mut rest = range.offset..range.end();
        let mut answer = Carried::No;
        while let Some((part, round)) = send.first_in_flight(rest.clone()) {
            let carried =
                if round == range.round { send.copies.is_carried(part.start, path) } else { Carried::No };
            match carried {
                Carried::No => return Carried::No,
                Carried::Yes if answer == Carried::No => answer = Carried::Yes,
                Carried::Yes => {}
                Carried::Unknown => answer = Carried::Unknown,
            }
            rest.start = part.end;
        }
        answer
    }

    /// So often was a transmission lost of a range for which another one still answers.
    pub(crate) fn shared_losses(&self) -> u64 {
        self.shared_losses
    }

    /// Writes again a range on `path` that is in flight elsewhere, without what was acknowledged or given up since, and without what is
    /// to be retransmitted or was: that needs no copy any more. As a copy, it answers for the range together with the other
    /// transmissions; or, if the range says so, instead of them. Returns what did not fit.
    pub(crate) fn write_copy(
        &mut self,
        w: &mut Writer<'_>,
        sent: &mut SentFrames,
        path: PathId,
        range: SentStream,
    ) -> Option<SentStream> {
        let key = self.table.find(range.id)?;
        let send = self.table.send_mut(key)?;
        let mut fin = range.fin && !send.fin_acked() && send.ends_at(range.end());
        let mut rest = range.offset..range.end();
        while let Some((part, round)) = send.first_in_flight(rest.clone()) {
            rest.start = part.end;
            if range.round != ANY_ROUND && range.round != round {
                continue;
            }
            let Some(count) = write_frame(send, range.id, part.clone(), Purpose::Copy, w, sent) else {
                return Some(remaining(range, part.start, fin));
            };
            rest.start = part.start + count;
            let written = part.start..rest.start;
            let copies = &mut send.copies;
            let round = match range.copy {
                true => copies.on_copy_sent(written, path),
                false => copies.on_taken_over(written, path),
            };
            stamp(sent, round);
            fin &= rest.start < range.end();
        }
        let waits = range.end().checked_sub(1).is_some_and(|last| send.lost().contains(last));
        if fin && !waits {
            let offset = range.end();
            let header = StreamHeader { stream_id: range.id.0, offset, length: Some(0), fin };
            if header.encode(w).is_err() {
                return Some(remaining(range, offset, fin));
            }
            sent.push(SentFrame::Stream(SentStream {
                offset,
                length: 0,
                fin,
                copy: true,
                round: 0,
                ..range
            }));
        }
        None
    }

    /// So much was sent as copies.
    pub(crate) fn note_copied(&mut self, bytes: u64) {
        self.copied_bytes += bytes;
    }

    /// Bytes sent as copies.
    pub(crate) fn copied_bytes(&self) -> u64 {
        self.copied_bytes
    }

    /// Bytes of copies whose original was acknowledged first.
    pub(crate) fn needless_copies(&self) -> u64 {
        self.needless_copies
    }
}

/// Notes the round of the frame that was written last.
fn stamp(sent: &mut SentFrames, round: u16) {
    if let Some(SentFrame::Stream(frame)) = sent.last_mut() {
        frame.round = round;
    }
}

fn remaining(range: SentStream, from: u64, fin: bool) -> SentStream {
    // Within the range, whose length is a u32.
    SentStream { offset: from, length: (range.end() - from) as u32, fin, ..range }
}
