//! The sending half: what is asked of the policy, blocks in the making, repair symbols that wait for a packet.

use std::collections::VecDeque;
use std::time::Duration;

use hawser_policy::{BlockReport, Earliest, PathId, Protection, StreamId, Time};
use hawser_wire::frame::{Frame, Recovered, Repair, SourceRange};
use hawser_wire::{BufferTooShort, Writer};

use super::block::{Block, Queued, Subject};
use super::sources::Sources;
use crate::connection::frames::{SentFrame, SentFrames, SentStream};

/// Blocks in the making at a time, over all paths and streams. The oldest ends when there is one more.
const MAX_OPEN_BLOCKS: usize = 16;

/// Repair symbols that wait for a packet. The oldest give way.
const MAX_QUEUED: usize = 256;

/// Packets for which a policy that protects nothing is not asked again.
const UNPROTECTED_PACKETS: u32 = 16;

/// Answers in a row that protect nothing of a path, until its packets may be as large as the path allows. A batch of packets is
/// sized before the policy is asked about its data, and what is longer than a repair symbol cannot be protected: one answer
/// about one stream says too little of the next.
pub(super) const DECLINED: u32 = 8;

/// How far the announcement got (PROTECTED).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Announcement {
    /// Each packet with data tells it, until one is acknowledged.
    #[default]
    Pending,
    Acked,
}

/// What the sending half did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Repair symbols sent.
    pub(crate) sent: u64,
    /// Bytes of stream data that the peer recovered although they were lost.
    pub(crate) recovered: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Sender {
    /// Stream data of the packet that is being built, sent for the first time.
    fresh: Vec<SentStream>,
    blocks: Vec<Block>,
    next_block: u64,
    /// What the policy does not want protected for the time being, and for how many more packets.
    unprotected: Vec<(Subject, u32)>,
    sources: Sources,
    queue: VecDeque<Queued>,
    announcement: Announcement,
    /// Paths that were asked about, and how many of the last answers in a row were to protect nothing.
    declined: Vec<(PathId, u32)>,
    counts: Counts,
    scratch: Vec<u8>,
}

impl Sender {
    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// Whether packets with data of a path leave room for what a repair symbol needs on top of it.
    pub(crate) fn limits_packets(&self, path: PathId) -> bool {
        let known = self.declined.iter().find(|(other, _)| *other == path);
        known.is_none_or(|(_, declined)| *declined < DECLINED)
    }

    /// Whether nothing is protected on any path for the time being.
    fn is_off(&self) -> bool {
        !self.declined.is_empty() && self.declined.iter().all(|(_, declined)| *declined >= DECLINED)
    }

    fn note_answer(&mut self, path: PathId, is_protected: bool) {
        let at = self.declined.iter().position(|(other, _)| *other == path).unwrap_or_else(|| {
            if self.declined.len() >= MAX_OPEN_BLOCKS {
                self.declined.remove(0);
            }
            self.declined.push((path, 0));
            self.declined.len() - 1
        });
        let declined = &mut self.declined[at].1;
        *declined = if is_protected { 0 } else { declined.saturating_add(1) };
    }

    // --- source symbols ---

    /// Stream frames were written, retransmissions first, `retransmitted` bytes of them.
    pub(crate) fn on_written(&mut self, frames: &[SentFrame], mut retransmitted: u64) {
        for frame in frames {
            let SentFrame::Stream(range) = frame else { continue };
            if retransmitted > 0 {
                retransmitted = retransmitted.saturating_sub(u64::from(range.length));
            } else if range.length > 0 && !range.copy {
                self.fresh.push(*range);
            }
        }
    }

    /// Whether a packet carries data that no decision covers.
    #[inline]
    pub(crate) fn has_fresh(&self) -> bool {
        !self.fresh.is_empty()
    }

    /// The next range of the packet.
    pub(crate) fn take_fresh(&mut self) -> Option<SentStream> {
        self.fresh.pop()
    }

    /// Whether the policy has to be asked about data like this.
    pub(crate) fn must_ask(&mut self, subject: &Subject) -> bool {
        if let Some(block) = self.blocks.iter().find(|block| block.takes(subject)) {
            return block.is_to_be_revised();
        }
        match self.unprotected.iter_mut().position(|(other, _)| other == subject) {
            Some(at) if self.unprotected[at].1 == 0 => {
                self.unprotected.swap_remove(at);
                true
            }
            Some(at) => {
                self.unprotected[at].1 -= 1;
                false
            }
            None => true,
        }
    }

    /// What the policy says, and when the data expires.
    pub(crate) fn on_answer(
        &mut self,
        now: Time,
        subject: Subject,
        answer: Option<&Protection>,
        expires: Option<Time>,
    ) {
        self.note_answer(subject.path, answer.is_some());
        if answer.is_some_and(|plan| plan.across_paths) {
            // It holds for all of them, and the others are not asked.
            self.declined.iter_mut().for_each(|(_, declined)| *declined = 0);
        }
        if let Some(at) = self.blocks.iter().position(|block| block.takes(&subject)) {
            match answer.filter(|plan| self.blocks[at].can_become(plan)) {
                Some(plan) => {
                    self.blocks[at].revise(plan);
                    self.sources.revise(self.blocks[at].number, plan.span);
                    return;
                }
                None => self.finish(now, at),
            }
        }
        let Some(plan) = answer else {
            if self.unprotected.len() >= MAX_OPEN_BLOCKS {
                self.unprotected.remove(0);
            }
            self.unprotected.push((subject, UNPROTECTED_PACKETS));
            return;
        };
        // Data of the stream that belongs to another frame of the application: that frame is over.
        if let Some(at) = self.blocks.iter().position(|block| block.is_ended_by(&subject)) {
            self.finish(now, at);
        }
        if self.blocks.len() >= MAX_OPEN_BLOCKS {
            self.finish(now, 0);
        }
        self.open(now, subject, plan, expires);
    }

    fn open(&mut self, now: Time, subject: Subject, plan: &Protection, expires: Option<Time>) {
        let mut block = Block::new(self.next_block, subject, plan);
        block.expires = expires;
        self.next_block += 1;
        self.sources.begin(now, block.number, &block);
        self.blocks.push(block);
    }

    /// A range that a packet carries becomes a source symbol, if its block is open and a repair symbol may be as long as it.
    /// `read` puts its bytes into a buffer, if they are there.
    pub(crate) fn protect(
        &mut self,
        now: Time,
        subject: &Subject,
        range: &SentStream,
        longest: usize,
        read: impl FnOnce(&mut Vec<u8>) -> bool,
    ) {
        let Some(mut at) = self.blocks.iter().position(|block| block.takes(subject)) else { return };
        if range.length as usize > longest || !read(&mut self.scratch) {
            return;
        }
        let length = u64::from(range.length);
        let source = SourceRange { stream_id: range.id.0, offset: range.offset, length, fin: range.fin };
        if !self.blocks[at].has_room(&source) {
            let Block { expires, unasked, .. } = self.blocks[at];
            let plan = *self.blocks[at].plan();
            self.finish(now, at);
            self.open(now, *subject, &plan, expires);
            at = self.blocks.len() - 1;
            self.blocks[at].unasked = unasked;
        }
        let block = &mut self.blocks[at];
        let number = block.add(now, source, &self.scratch);
        let id = block.number;
        let due = block.take_due();
        let is_over = block.is_full();
        self.sources.add(now, id, number, *range);
        if let Some(queued) = due {
            self.enqueue(queued);
        }
        if is_over {
            self.finish(now, at);
        }
    }

    /// The end of a stream left on some path: blocks of its data are over on all paths.
    pub(crate) fn end_stream(&mut self, now: Time, stream: StreamId) {
        while let Some(at) = self.blocks.iter().position(|block| block.subject.stream == stream) {
            self.finish(now, at);
        }
    }

    fn finish(&mut self, now: Time, at: usize) {
        let mut block = self.blocks.remove(at);
        let number = block.number;
        let queued = block.take_rest();
        self.sources.complete(now, number, block.given);
        queued.into_iter().for_each(|queued| self.enqueue(queued));
    }

    fn enqueue(&mut self, queued: Queued) {
        if self.queue.len() >= MAX_QUEUED {
            self.queue.pop_front();
        }
        self.queue.push_back(queued);
    }

    // --- packets ---

    /// Tells the peer to keep what it gets, before the first data that is protected.
    pub(crate) fn write_announcement(
        &mut self,
        w: &mut Writer<'_>,
        sent: &mut SentFrames,
    ) -> Result<bool, BufferTooShort> {
        if self.announcement == Announcement::Acked || self.is_off() {
            return Ok(false);
        }
        Frame::Protected.encode(w)?;
        sent.push(SentFrame::Protected);
        Ok(true)
    }

    pub(crate) fn on_announcement_acked(&mut self) {
        self.announcement = Announcement::Acked;
    }

    #[inline]
    pub(crate) fn has_queued(&self) -> bool {
        !self.queue.is_empty()
    }

    #[cfg(test)]
    pub(super) fn queued(&self) -> impl Iterator<Item = &Queued> {
        self.queue.iter()
    }

    /// Bytes of repair symbols for which the policy named no path.
    pub(crate) fn unplaced(&self) -> u64 {
        self.queue
            .iter()
            .filter(|queued| queued.path.is_none())
            .map(|queued| queued.symbol.len() as u64)
            .sum()
    }

    /// The path on which a repair symbol is to leave now. `usable` says whether a path lasts, `ready` whether it can send now.
    /// With `placed_by_scheduler`, those without a path are none of this.
    pub(crate) fn next_path(
        &mut self,
        now: Time,
        placed_by_scheduler: bool,
        usable: impl Fn(PathId) -> bool,
        ready: impl Fn(PathId) -> bool,
        any_ready: impl Fn() -> Option<PathId>,
    ) -> Option<PathId> {
        self.drop_needless(now);
        for queued in self.queue.iter().filter(|queued| !placed_by_scheduler || queued.path.is_some()) {
            let wanted = queued.path.filter(|path| usable(*path)).unwrap_or(queued.own);
            let path = if usable(wanted) { ready(wanted).then_some(wanted) } else { any_ready() };
            if path.is_some() {
                return path;
            }
        }
        None
    }

    /// Those whose source symbols have all arrived, or are of no use any more.
    fn drop_needless(&mut self, now: Time) {
        let sources = &self.sources;
        self.queue.retain(|queued| {
            let is_late = queued.expires.is_some_and(|expires| expires <= now);
            !is_late && sources.wants_repair(queued.block, queued.first, queued.sources.as_ranges().len())
        });
    }

    /// Writes a repair symbol that is meant for this path, or for none that lasts. Returns whether there was one.
    pub(crate) fn write_repair(
        &mut self,
        now: Time,
        path: PathId,
        usable: impl Fn(PathId) -> bool,
        patience: Duration,
        w: &mut Writer<'_>,
        sent: &mut SentFrames,
    ) -> bool {
        let fits = |queued: &Queued| match queued.path.filter(|path| usable(*path)) {
            Some(wanted) => wanted == path,
            None => true,
        };
        let exact = self.queue.iter().position(|queued| queued.path == Some(path));
        let Some(at) = exact.or_else(|| self.queue.iter().position(fits)) else { return false };
        let Some(queued) = self.queue.remove(at) else { return false };
        let frame = Frame::Repair(Repair {
            block: queued.block,
            code: queued.code,
            first: queued.first,
            index: queued.index,
            sources: queued.sources.as_ranges(),
            symbol: &queued.symbol,
        });
        // One that does not fit is for a path whose datagrams have become smaller: it is of no use any more.
        if frame.encode(w).is_err() {
            self.sources.on_repair_lost(now, queued.block);
            return false;
        }
        self.counts.sent += 1;
        self.sources.on_repair_sent(now, queued.block, queued.first, patience);
        sent.push(SentFrame::Repair(queued.block));
        true
    }

    // --- outcome ---

    #[inline]
    pub(crate) fn on_acked(&mut self, now: Time, range: &SentStream) {
        self.sources.on_acked(now, range);
    }

    /// Whether the range is not to be retransmitted for the time being.
    pub(crate) fn on_lost(&mut self, now: Time, range: &SentStream, patience: Duration) -> bool {
        let is_awaited = self.sources.place_of(range).is_some_and(|(block, number)| {
            let mut waiting = self.queue.iter().filter(|queued| queued.block == block);
            let mut open = self.blocks.iter().filter(|open| open.number == block);
            waiting.any(|queued| queued.first <= number) || open.any(|open| open.covers(number))
        });
        self.sources.on_lost(now, range, patience, is_awaited)
    }

    pub(crate) fn on_repair_lost(&mut self, now: Time, block: u64) {
        self.sources.on_repair_lost(now, block);
    }

    /// A RECOVERED frame. Calls `visit` for each range that the peer has got by it.
    pub(crate) fn on_recovered(&mut self, now: Time, frame: &Recovered, mut visit: impl FnMut(&SentStream)) {
        let recovered = &mut self.counts.recovered;
        self.sources.on_recovered(now, frame.block, frame.sources(), |range| {
            *recovered += u64::from(range.length);
            visit(range);
        });
    }

    /// A range that was held and is to be retransmitted now.
    pub(crate) fn take_released(&mut self) -> Option<SentStream> {
        self.sources.take_released()
    }

    pub(crate) fn take_report(&mut self) -> Option<BlockReport> {
        self.sources.take_report()
    }

    /// When [`on_timeout`](Self::on_timeout) should be called.
    #[inline(never)]
    pub(crate) fn deadline(&self) -> Option<Time> {
        let blocks = self.blocks.iter().fold(Earliest::NONE, |first, block| first.or(block.deadline));
        blocks.or(self.sources.deadline()).time()
    }

    /// Blocks that waited for long enough give out their repair symbols; ranges that did are held no longer.
    pub(crate) fn on_timeout(&mut self, now: Time) {
        let is_due = |block: &Block| block.deadline.is_some_and(|deadline| deadline <= now);
        while let Some(at) = self.blocks.iter().position(is_due) {
            if self.blocks[at].slides() {
                let rest = self.blocks[at].take_rest();
                rest.into_iter().for_each(|queued| self.enqueue(queued));
            } else {
                self.finish(now, at);
            }
        }
        self.sources.on_timeout(now);
    }

    /// Gives back memory of busier times: buffers, and windows that slide and have nothing that a repair symbol is due for.
    /// Data that follows begins others. If nothing is in flight, neither is a source symbol: what is still open arrived in other
    /// pieces than it first left in.
    pub(crate) fn shrink(&mut self, now: Time, is_settled: bool) {
        while let Some(at) = self.blocks.iter().position(|block| block.deadline.is_none()) {
            self.finish(now, at);
        }
        if is_settled {
            self.sources.release_all(now);
        }
        self.drop_needless(now);
        self.queue.shrink_to_fit();
        self.blocks.shrink_to_fit();
        self.fresh.shrink_to_fit();
        self.scratch = Vec::new();
        self.sources.shrink();
    }

    /// Nothing is protected any more: all that was held is released.
    pub(crate) fn end(&mut self, now: Time) {
        self.queue.clear();
        self.blocks.clear();
        self.sources.release_all(now);
    }

    /// Bytes of memory held, roughly.
    pub(crate) fn memory(&self) -> u64 {
        let queued: usize =
            self.queue.iter().map(|queued| queued.symbol.capacity() + size_of::<Queued>()).sum();
        queued as u64 + self.blocks.iter().map(Block::memory).sum::<u64>() + self.sources.memory()
    }
}
