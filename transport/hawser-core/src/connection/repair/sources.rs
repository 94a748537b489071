//! Source symbols whose fate is open.
//!
//! While repair symbols are under way that may bring a lost range back, it is not retransmitted: it is *held*. It is released
//! when the peer says that it has it, when more was lost of its block than its repair symbols make good, or when word of it
//! should have come by now. What has a deadline is not held: should the repair symbols fail, its retransmission would be late.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use hawser_policy::{BlockReport, ErasureCode, PathId, StreamId, Time};
use rustc_hash::FxHashMap;

use super::block::Block;
use crate::connection::frames::SentStream;

/// Source symbols remembered, over all blocks. The oldest give way: they are then retransmitted when lost, as if nothing
/// protected them.
pub(crate) const MAX_SOURCES: usize = 8_192;

/// Blocks remembered; likewise.
pub(crate) const MAX_TRACKED: usize = 256;

/// Repair symbols of a code that slides whose windows are remembered: more than leave until their losses are known.
const MAX_WINDOWS: usize = 64;

/// What became of a source symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    UnderWay,
    /// Lost, and held until then.
    Held(Time),
    /// Acknowledged, recovered or released.
    Settled,
}

#[derive(Clone, Copy, Debug)]
struct Source {
    range: SentStream,
    fate: Fate,
}

/// A block whose source symbols have not all arrived.
#[derive(Debug)]
struct Tracked {
    path: PathId,
    stream: StreamId,
    slides: bool,
    /// Whether lost ranges are held.
    holds: bool,
    /// Repair symbols that may come to its help: those that were planned, or given out if it is complete, without lost ones.
    help: u32,
    repairs_lost: u32,
    complete: bool,
    /// The number of the first of `sources`.
    base: u64,
    sources: VecDeque<Source>,
    open: usize,
    held: u32,
    /// When its last repair symbol left.
    repaired_at: Option<Time>,
    /// Of a code that slides: the first source symbol of each of the last repair symbols, and when it left.
    windows: VecDeque<(u64, Time)>,
    /// How long it stays open at most.
    span: Duration,
    total: u16,
    repair_symbols: u16,
    lost: u16,
    recovered: u16,
}

impl Tracked {
    fn get_mut(&mut self, number: u64) -> Option<&mut Source> {
        let at = usize::try_from(number.checked_sub(self.base)?).ok()?;
        self.sources.get_mut(at)
    }

    /// When the last repair symbol left that may combine this source symbol, if that is known.
    fn last_window(&self, number: u64) -> Option<Time> {
        self.windows.iter().rev().find(|(first, _)| *first <= number).map(|(_, at)| *at)
    }

    /// Forgets settled symbols at the front; a sliding code has more and more.
    fn trim(&mut self) {
        while self.slides && self.sources.front().is_some_and(|source| source.fate == Fate::Settled) {
            self.sources.pop_front();
            self.base += 1;
        }
    }
}

/// Source symbols of all blocks. See the module.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    blocks: BTreeMap<u64, Tracked>,
    /// Block and number of a range that is under way or held.
    numbers: FxHashMap<(StreamId, u64), (u64, u64)>,
    /// Ranges that are held no longer.
    released: Vec<SentStream>,
    reports: Vec<BlockReport>,
    /// No range is released for its age before.
    next_release: Option<Time>,
}

impl Sources {
    /// A block begins.
    pub(crate) fn begin(&mut self, now: Time, number: u64, block: &Block) {
        let (plan, subject) = (block.plan(), block.subject);
        let tracked = Tracked {
            path: subject.path,
            stream: subject.stream,
            slides: plan.code == ErasureCode::RandomLinear,
            holds: block.expires.is_none(),
            help: u32::from(plan.repair_symbols),
            repairs_lost: 0,
            complete: false,
            base: 0,
            sources: VecDeque::new(),
            open: 0,
            held: 0,
            repaired_at: None,
            windows: VecDeque::new(),
            span: plan.span,
            total: 0,
            repair_symbols: 0,
            lost: 0,
            recovered: 0,
        };
        self.blocks.insert(number, tracked);
        while self.blocks.len() > MAX_TRACKED {
            let Some((&oldest, _)) = self.blocks.first_key_value() else { break };
            self.forget(now, oldest);
        }
    }

    /// Block and number of a range whose fate is open.
    pub(crate) fn place_of(&self, range: &SentStream) -> Option<(u64, u64)> {
        self.numbers.get(&(range.id, range.offset)).copied()
    }

    /// A window that slides goes on with another span.
    pub(crate) fn revise(&mut self, block: u64, span: Duration) {
        if let Some(tracked) = self.blocks.get_mut(&block) {
            tracked.span = span;
        }
    }

    /// A source symbol left.
    pub(crate) fn add(&mut self, now: Time, block: u64, number: u64, range: SentStream) {
        let Some(tracked) = self.blocks.get_mut(&block) else { return };
        tracked.sources.push_back(Source { range, fate: Fate::UnderWay });
        tracked.open += 1;
        tracked.total = tracked.total.saturating_add(1);
        self.numbers.insert((range.id, range.offset), (block, number));
        while self.numbers.len() > MAX_SOURCES {
            let Some((&oldest, _)) = self.blocks.first_key_value() else { break };
            self.forget(now, oldest);
        }
    }

    /// No source symbols follow, and `repair_symbols` were given out in all.
    pub(crate) fn complete(&mut self, now: Time, block: u64, repair_symbols: u32) {
        let Some(tracked) = self.blocks.get_mut(&block) else { return };
        tracked.complete = true;
        let lost = if tracked.slides { tracked.repairs_lost } else { 0 };
        tracked.help = repair_symbols.saturating_sub(lost);
        self.release_hopeless(block);
        self.settle(now, block);
    }

    /// A repair symbol left that combines source symbols from `first` on.
    pub(crate) fn on_repair_sent(&mut self, now: Time, block: u64, first: u64, patience: Duration) {
        let Some(tracked) = self.blocks.get_mut(&block) else { return };
        tracked.repaired_at = Some(now);
        tracked.repair_symbols = tracked.repair_symbols.saturating_add(1);
        if tracked.slides {
            if tracked.windows.len() >= MAX_WINDOWS {
                tracked.windows.pop_front();
            }
            tracked.windows.push_back((first, now));
        }
        let slides = tracked.slides;
        let skipped = first.saturating_sub(tracked.base) as usize;
        for source in tracked.sources.iter_mut().skip(skipped) {
            if let Fate::Held(until) = &mut source.fate {
                // What may come behind it is not waited for: a window that slides has no end.
                *until = if slides { now + patience } else { (*until).max(now + patience) };
            }
        }
        if slides {
            self.next_release = self.next_release.map(|next| next.min(now + patience));
        }
    }

    /// A repair symbol was lost: one loss less can be made good.
    pub(crate) fn on_repair_lost(&mut self, now: Time, block: u64) {
        let Some(tracked) = self.blocks.get_mut(&block) else { return };
        tracked.repairs_lost += 1;
        if tracked.complete || !tracked.slides {
            tracked.help = tracked.help.saturating_sub(1);
        }
        self.release_hopeless(block);
        self.settle(now, block);
    }

    /// Whether a repair symbol of these source symbols may still be of use.
    pub(crate) fn wants_repair(&self, block: u64, first: u64, count: usize) -> bool {
        self.blocks.get(&block).is_some_and(|tracked| {
            let skipped = first.saturating_sub(tracked.base) as usize;
            let past = (first + count as u64).saturating_sub(tracked.base) as usize;
            let mut sources = tracked.sources.iter().take(past).skip(skipped);
            sources.any(|source| source.fate != Fate::Settled)
        })
    }

    /// A packet with this range was acknowledged.
    #[inline]
    pub(crate) fn on_acked(&mut self, now: Time, range: &SentStream) {
        let key = (range.id, range.offset);
        let Some(&(block, number)) = self.numbers.get(&key) else { return };
        let source = self.blocks.get_mut(&block).and_then(|tracked| tracked.get_mut(number));
        if source.is_some_and(|source| source.range.length > range.length) {
            // A copy that was cut where its packet ended: the rest may have been lost.
            return;
        }
        self.numbers.remove(&key);
        self.settle_source(now, block, number);
    }

    /// The packet with this range was lost. Whether the range is held: then it is not to be retransmitted now. `patience` is
    /// the time from a repair symbol to word of what it brought; with a code that slides, `is_awaited` tells whether one is to leave that
    /// combines the range.
    pub(crate) fn on_lost(
        &mut self,
        now: Time,
        range: &SentStream,
        patience: Duration,
        is_awaited: bool,
    ) -> bool {
        let Some(&(block, number)) = self.numbers.get(&(range.id, range.offset)) else { return false };
        let Some(tracked) = self.blocks.get_mut(&block) else { return false };
        let until = match tracked.repaired_at.filter(|_| tracked.complete && !tracked.slides) {
            _ if tracked.slides && !is_awaited => tracked.last_window(number).map_or(now, |at| at + patience),
            Some(at) => at + patience,
            None => now + tracked.span + patience,
        };
        let holds = tracked.holds;
        let Some(source) = tracked.get_mut(number).filter(|source| source.fate == Fate::UnderWay) else {
            return false;
        };
        if source.range.length != range.length || until <= now {
            return false;
        }
        source.fate = Fate::Held(until);
        source.range = *range;
        tracked.held += 1;
        self.next_release = Some(self.next_release.map_or(until, |next| next.min(until)));
        tracked.lost = tracked.lost.saturating_add(1);
        self.release_hopeless(block);
        self.settle(now, block);
        holds
    }

    /// The peer brought these back. Calls `visit` for each that was not known to have arrived.
    pub(crate) fn on_recovered(
        &mut self,
        now: Time,
        block: u64,
        numbers: impl Iterator<Item = u64>,
        mut visit: impl FnMut(&SentStream),
    ) {
        for number in numbers {
            let Some(tracked) = self.blocks.get_mut(&block) else { return };
            let Some(source) = tracked.get_mut(number).filter(|source| source.fate != Fate::Settled) else {
                continue;
            };
            let range = source.range;
            tracked.recovered = tracked.recovered.saturating_add(1);
            self.numbers.remove(&(range.id, range.offset));
            visit(&range);
            self.settle_source(now, block, number);
        }
    }

    /// When [`on_timeout`](Self::on_timeout) should be called.
    #[inline]
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.next_release
    }

    /// Releases what was held for long enough.
    pub(crate) fn on_timeout(&mut self, now: Time) {
        if self.next_release.is_none_or(|at| at > now) {
            return;
        }
        let is_late = |source: &Source| matches!(source.fate, Fate::Held(until) if until <= now);
        let late = |tracked: &Tracked| tracked.sources.iter().any(is_late);
        let blocks: Vec<u64> =
            self.blocks.iter().filter(|(_, tracked)| late(tracked)).map(|(block, _)| *block).collect();
        for block in blocks {
            self.release(block, is_late);
            self.settle(now, block);
        }
        let sources =
            self.blocks.values().filter(|tracked| tracked.held > 0).flat_map(|tracked| &tracked.sources);
        let held =
            sources.filter_map(|source| if let Fate::Held(until) = source.fate { Some(until) } else { None });
        self.next_release = held.min();
    }

    /// A range that is to be retransmitted now.
    pub(crate) fn take_released(&mut self) -> Option<SentStream> {
        self.released.pop()
    }

    /// What became of a block.
    pub(crate) fn take_report(&mut self) -> Option<BlockReport> {
        self.reports.pop()
    }

    /// Releases all, when nothing is protected any more.
    pub(crate) fn release_all(&mut self, now: Time) {
        while let Some((&block, _)) = self.blocks.first_key_value() {
            self.forget(now, block);
        }
    }

    /// If more was lost of a block than its repair symbols make good, waiting is useless. While a window slides, what is held
    /// belongs to many windows, and time alone tells; when it has come to its end, no more help than was given out.
    fn release_hopeless(&mut self, block: u64) {
        let is_hopeless = |tracked: &Tracked| match tracked.slides {
            true => {
                tracked.complete && u32::from(tracked.lost.saturating_sub(tracked.recovered)) > tracked.help
            }
            false => tracked.held > tracked.help,
        };
        if self.blocks.get(&block).is_some_and(is_hopeless) {
            self.release(block, |_| true);
        }
    }

    fn release(&mut self, block: u64, wanted: impl Fn(&Source) -> bool) {
        let Some(tracked) = self.blocks.get_mut(&block) else { return };
        let holds = tracked.holds;
        for source in &mut tracked.sources {
            if matches!(source.fate, Fate::Held(_)) && wanted(source) {
                source.fate = Fate::Settled;
                tracked.open -= 1;
                tracked.held -= 1;
                self.numbers.remove(&(source.range.id, source.range.offset));
                if holds {
                    self.released.push(source.range);
                }
            }
        }
    }

    fn settle_source(&mut self, now: Time, block: u64, number: u64) {
        let Some(tracked) = self.blocks.get_mut(&block) else { return };
        if let Some(source) = tracked.get_mut(number).filter(|source| source.fate != Fate::Settled) {
            let held = matches!(source.fate, Fate::Held(_));
            source.fate = Fate::Settled;
            tracked.open -= 1;
            tracked.held -= u32::from(held);
            tracked.trim();
        }
        self.settle(now, block);
    }

    /// Reports and forgets a block of which nothing is open.
    fn settle(&mut self, now: Time, block: u64) {
        if self.blocks.get(&block).is_some_and(|tracked| tracked.complete && tracked.open == 0) {
            self.forget(now, block);
        }
    }

    fn forget(&mut self, now: Time, block: u64) {
        self.release(block, |_| true);
        let Some(tracked) = self.blocks.remove(&block) else { return };
        for source in tracked.sources.iter().filter(|source| source.fate == Fate::UnderWay) {
            self.numbers.remove(&(source.range.id, source.range.offset));
        }
        self.reports.push(BlockReport::default().with(|report| {
            report.now = now;
            report.path = tracked.path;
            report.stream = tracked.stream;
            report.source_symbols = tracked.total;
            report.repair_symbols = tracked.repair_symbols;
            report.lost = tracked.lost;
            report.recovered = tracked.recovered;
        }));
    }

    /// Gives back memory of busier times: room for source symbols that have arrived.
    pub(crate) fn shrink(&mut self) {
        self.numbers.shrink_to_fit();
        self.released.shrink_to_fit();
        self.reports.shrink_to_fit();
        for tracked in self.blocks.values_mut() {
            tracked.sources.shrink_to_fit();
            tracked.windows.shrink_to_fit();
        }
    }

    /// Bytes of memory held, roughly.
    pub(crate) fn memory(&self) -> u64 {
        let sources: usize = self.blocks.values().map(|tracked| tracked.sources.capacity()).sum();
        let windows: usize = self.blocks.values().map(|tracked| tracked.windows.capacity()).sum();
        (sources * size_of::<Source>() + windows * size_of::<(u64, Time)>() + self.numbers.capacity() * 40)
            as u64
    }
}
