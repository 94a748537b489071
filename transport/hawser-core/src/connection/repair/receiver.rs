//! The receiving half: repair symbols that wait for more.

use std::collections::VecDeque;

use hawser_policy::StreamId;
use hawser_wire::Writer;
use hawser_wire::frame::{Frame, Recovered, Repair, SourceRange};

use super::equations::{Equations, Refused, Solved};
use super::history::History;
use crate::connection::frames::{SentFrame, SentFrames};
use crate::connection::work::{ENTRY, LOOKUP, Work};

/// Blocks with repair symbols that wait. The oldest gives way.
pub(crate) const MAX_BLOCKS: usize = 32;

/// Memory of repair symbols that wait, in bytes. The oldest block gives way.
pub(crate) const MAX_WAITING: usize = 256 << 10;

/// RECOVERED frames that wait to be sent. The oldest gives way: its ranges are retransmitted without need.
pub(crate) const MAX_RECOVERED: usize = 64;

/// What the receiving half did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Repair symbols received.
    pub(crate) received: u64,
    /// Of these, dropped because they contradicted others, or cost more than bytes had paid for.
    pub(crate) dropped: u64,
    /// Bytes of stream data solved for.
    pub(crate) recovered: u64,
}

/// Stream data that was brought back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Delivered {
    pub(crate) source: SourceRange,
    pub(crate) bytes: Vec<u8>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Receiver {
    history: History,
    blocks: VecDeque<Equations>,
    recovered: VecDeque<Recovered>,
    counts: Counts,
}

impl Receiver {
    /// `buffer`: memory for received stream data.
    pub(crate) fn new(buffer: usize) -> Self {
        Receiver {
            history: History::new(buffer),
            blocks: VecDeque::new(),
            recovered: VecDeque::new(),
            counts: Counts::default(),
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// Stream data arrived. Returns whether [`retry`](Self::retry) may bring something back now.
    pub(crate) fn on_data(&mut self, work: &mut Work, id: StreamId, offset: u64, data: &[u8]) -> bool {
        let Receiver { history, blocks, .. } = self;
        history.insert(work, id, offset, data);
        let end = offset + data.len() as u64;
        blocks.iter().any(|block| block.concerns(work, id, offset, end))
    }

    /// A REPAIR frame came. Returns whether enough was paid in to look at what it names.
    pub(crate) fn admit(&mut self, work: &mut Work, frame: &Repair<'_>) -> bool {
        self.counts.received += 1;
        let is_paid = work.pay(frame.sources.len(), ENTRY) && work.pay(1, LOOKUP);
        self.counts.dropped += u64::from(!is_paid);
        is_paid
    }

    /// A REPAIR frame that was [admitted](Self::admit). `lacks` says whether a stream is without some of a range and wants it.
    pub(crate) fn on_repair(
        &mut self,
        work: &mut Work,
        frame: &Repair<'_>,
        mut lacks: impl FnMut(&SourceRange) -> bool,
    ) -> Vec<Delivered> {
        let Receiver { history, blocks, .. } = self;
        if !frame.sources.iter().any(|source| work.pay(1, LOOKUP) && lacks(&source)) {
            return Vec::new();
        }
        let at = blocks.iter().position(|block| block.block == frame.block);
        let mut block =
            at.and_then(|at| blocks.remove(at)).unwrap_or_else(|| Equations::new(frame.block, frame));
        match block.add(work, history, frame) {
            Ok(()) => return self.attempt(work, block, &mut lacks),
            Err(Refused::Duplicate) => {}
            Err(Refused::Contradiction | Refused::Unpaid) => self.counts.dropped += 1,
        }
        self.keep(block);
        Vec::new()
    }

    /// Tries blocks again that data which came late concerns.
    pub(crate) fn retry(
        &mut self,
        work: &mut Work,
        id: StreamId,
        offset: u64,
        length: usize,
        mut lacks: impl FnMut(&SourceRange) -> bool,
    ) -> Vec<Delivered> {
        let mut delivered = Vec::new();
        let end = offset + length as u64;
        for _ in 0..self.blocks.len() {
            let Some(block) = self.blocks.pop_front() else { break };
            if block.concerns(work, id, offset, end) {
                delivered.append(&mut self.attempt(work, block, &mut lacks));
            } else {
                self.blocks.push_back(block);
            }
        }
        delivered
    }

    fn attempt(
        &mut self,
        work: &mut Work,
        mut block: Equations,
        lacks: &mut dyn FnMut(&SourceRange) -> bool,
    ) -> Vec<Delivered> {
        let solved = block.solve(work, &self.history);
        self.tell(block.block, &solved);
        let mut delivered = Vec::new();
        for Solved { source, bytes, .. } in solved {
            self.history.insert(work, StreamId(source.stream_id), source.offset, &bytes);
            if lacks(&source) {
                self.counts.recovered += source.length;
                delivered.push(Delivered { source, bytes });
            }
        }
        block.drop_needless(work, lacks);
        self.keep(block);
        delivered
    }

    fn keep(&mut self, block: Equations) {
        if !block.is_empty() {
            self.blocks.push_back(block);
            self.evict();
        }
    }

    fn evict(&mut self) {
        while self.blocks.len() > MAX_BLOCKS || self.waiting() > MAX_WAITING {
            self.blocks.pop_front();
        }
    }

    fn waiting(&self) -> usize {
        self.blocks.iter().map(Equations::memory).sum()
    }

    // --- RECOVERED ---

    fn tell(&mut self, block: u64, solved: &[Solved]) {
        let mut frames: Vec<Recovered> = Vec::new();
        for Solved { number, .. } in solved {
            match frames.last_mut().filter(|frame| number - frame.first < 64) {
                Some(frame) => frame.bitmap |= 1 << (number - frame.first),
                None => frames.push(Recovered { block, first: *number, bitmap: 1 }),
            }
        }
        frames.into_iter().for_each(|frame| self.queue(frame));
    }

    fn queue(&mut self, frame: Recovered) {
        if self.recovered.len() >= MAX_RECOVERED {
            self.recovered.pop_front();
        }
        self.recovered.push_back(frame);
    }

    #[inline]
    pub(crate) fn has_recovered(&self) -> bool {
        !self.recovered.is_empty()
    }

    /// Writes RECOVERED frames, as many as fit.
    pub(crate) fn write_recovered(&mut self, w: &mut Writer<'_>, sent: &mut SentFrames) {
        while let Some(frame) = self.recovered.front().copied() {
            if Frame::Recovered(frame).encode(w).is_err() {
                return;
            }
            sent.push(SentFrame::Recovered(Box::new(frame)));
            self.recovered.pop_front();
        }
    }

    /// A RECOVERED frame was lost.
    pub(crate) fn on_recovered_lost(&mut self, frame: &Recovered) {
        self.queue(*frame);
    }

    /// Gives back memory of busier times.
    pub(crate) fn shrink(&mut self) {
        self.history.clear();
        self.blocks.clear();
    }

    /// Bytes of memory held, roughly.
    pub(crate) fn memory(&self) -> u64 {
        (self.history.held() + self.waiting() + self.recovered.len() * size_of::<Recovered>()) as u64
    }
}
