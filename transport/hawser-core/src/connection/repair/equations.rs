//! Solving for what is missing of a block.

use std::collections::BTreeMap;

use hawser_fec::{Code, Elimination, gf256};
use hawser_policy::StreamId;
use hawser_wire::frame::{Repair, SourceRange};

use super::code_of;
use super::history::History;
use crate::connection::work::{ENTRY, LOOKUP, Work};

/// Source symbols that a block may lack at a time, over all its repair symbols. Beyond that the oldest repair symbol gives way.
const MAX_UNKNOWN: usize = 64;

/// Repair symbols that a block keeps. Beyond that the oldest gives way.
const MAX_EQUATIONS: usize = 32;

/// From the first source symbol of one repair symbol to that of another, at most: the window has moved on from those farther
/// away.
const MAX_DISTANCE: u64 = 1024;

/// A repair symbol that waits.
#[derive(Debug)]
struct Equation {
    first: u64,
    index: u32,
    sources: Box<[SourceRange]>,
    symbol: Box<[u8]>,
}

impl Equation {
    fn past(&self) -> u64 {
        self.first + self.sources.len() as u64
    }

    fn numbered(&self) -> impl Iterator<Item = (u64, &SourceRange)> {
        self.sources.iter().enumerate().map(|(at, source)| (self.first + at as u64, source))
    }

    /// Whether both say the same of the source symbols that they have in common.
    fn agrees(&self, other: &Equation) -> bool {
        let (low, high) = if self.first <= other.first { (self, other) } else { (other, self) };
        let skipped = (high.first - low.first) as usize;
        low.sources.iter().skip(skipped).zip(&high.sources).all(|(one, other)| one == other)
    }

    fn memory(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.sources) + self.symbol.len()
    }
}

/// The repair symbols of a block that wait for more.
#[derive(Debug)]
pub(super) struct Equations {
    pub(super) block: u64,
    code: Code,
    waiting: Vec<Equation>,
    /// Source symbols that were not here when last looked at, by number.
    unknown: BTreeMap<u64, SourceRange>,
    /// Bytes of `waiting`.
    held: usize,
    /// Times that a solution may still be looked for before another repair symbol comes.
    attempts: u8,
}

/// A source symbol that was solved for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Solved {
    pub(super) number: u64,
    pub(super) source: SourceRange,
    pub(super) bytes: Vec<u8>,
}

/// Why a repair symbol is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// It contradicts others of its block, or is of another code.
    Contradiction,
    /// It is there already.
    Duplicate,
    /// Nobody has paid for looking at it.
    Unpaid,
}

fn id(source: &SourceRange) -> StreamId {
    StreamId(source.stream_id)
}

impl Equations {
    pub(super) fn new(block: u64, frame: &Repair<'_>) -> Self {
        Equations {
            block,
            code: code_of(frame.code),
            waiting: Vec::new(),
            unknown: BTreeMap::new(),
            held: 0,
            attempts: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        size_of::<Self>() + self.held + self.unknown.len() * size_of::<(u64, SourceRange)>()
    }

    /// A repair symbol came.
    pub(super) fn add(
        &mut self,
        work: &mut Work,
        history: &History,
        frame: &Repair<'_>,
    ) -> Result<(), Refused> {
        /// A window that slides is looked at again when data comes late; so often it may, and no more.
        const ATTEMPTS: u8 = 8;
        let is_bounded = frame.first < 1 << 48;
        if code_of(frame.code) != self.code || !is_bounded {
            return Err(Refused::Contradiction);
        }
        if !work.pay(self.waiting.len(), ENTRY) {
            return Err(Refused::Unpaid);
        }
        if self.waiting.iter().any(|other| (other.index, other.first) == (frame.index, frame.first)) {
            return Err(Refused::Duplicate);
        }
        if !work.pay((self.waiting.len() + 2) * frame.sources.len(), ENTRY) {
            return Err(Refused::Unpaid);
        }
        let sources: Box<[SourceRange]> = frame.sources.iter().collect();
        let equation =
            Equation { first: frame.first, index: frame.index, sources, symbol: frame.symbol.into() };
        if !self.waiting.iter().all(|other| equation.agrees(other)) {
            return Err(Refused::Contradiction);
        }
        self.drop_equations(|other| other.first.abs_diff(equation.first) > MAX_DISTANCE);
        if self.waiting.len() >= MAX_EQUATIONS {
            self.drop_oldest();
        }
        self.find_unknown(work, history, &equation).ok_or(Refused::Unpaid)?;
        self.held += equation.memory();
        self.waiting.push(equation);
        self.attempts = ATTEMPTS;
        Ok(())
    }

    /// Adds the source symbols of a repair symbol that are not here to the unknown ones. What another one names as well was
    /// looked at already. `None`: nobody has paid for that.
    fn find_unknown(&mut self, work: &mut Work, history: &History, equation: &Equation) -> Option<()> {
        let covered: Vec<(u64, u64)> = self.waiting.iter().map(|other| (other.first, other.past())).collect();
        let mut found = Vec::new();
        for (number, source) in equation.numbered() {
            if covered.iter().any(|(first, past)| (*first..*past).contains(&number)) {
                continue;
            }
            if !history.has(work, id(source), source.offset..source.end())? {
                found.push((number, *source));
            }
        }
        self.unknown.extend(found);
        Some(())
    }

    fn drop_oldest(&mut self) {
        if !self.waiting.is_empty() {
            self.held -= self.waiting.remove(0).memory();
            self.forget_unnamed();
        }
    }

    fn drop_equations(&mut self, mut is_needless: impl FnMut(&Equation) -> bool) {
        let before = self.waiting.len();
        self.waiting.retain(|equation| !is_needless(equation));
        if self.waiting.len() != before {
            self.held = self.waiting.iter().map(Equation::memory).sum();
            self.forget_unnamed();
        }
    }

    /// Forgets unknown source symbols that no repair symbol names any more.
    fn forget_unnamed(&mut self) {
        let Equations { waiting, unknown, .. } = self;
        unknown.retain(|number, _| waiting.iter().any(|other| (other.first..other.past()).contains(number)));
    }

    /// Returns whether an unknown source symbol lies within this range of a stream, and a solution may be looked for again.
    pub(super) fn concerns(&self, work: &mut Work, stream: StreamId, start: u64, end: u64) -> bool {
        let within =
            |source: &SourceRange| id(source) == stream && source.offset < end && start < source.end();
        self.attempts > 0 && work.pay(self.unknown.len(), ENTRY) && self.unknown.values().any(within)
    }

    /// Drops repair symbols all of whose source symbols are either here or not wanted.
    pub(super) fn drop_needless(&mut self, work: &mut Work, lacks: &mut dyn FnMut(&SourceRange) -> bool) {
        let mut wanted = Vec::with_capacity(self.unknown.len());
        for (number, source) in &self.unknown {
            // What cannot be paid for is kept, up to the cap.
            if !work.pay(1, LOOKUP) || lacks(source) {
                wanted.push(*number);
            }
        }
        self.drop_equations(|equation| {
            let at = wanted.partition_point(|number| *number < equation.first);
            wanted.get(at).is_none_or(|number| *number >= equation.past())
        });
    }

    /// Solves for what can be solved for, and has been paid for.
    pub(super) fn solve(&mut self, work: &mut Work, history: &History) -> Vec<Solved> {
        self.attempts = self.attempts.saturating_sub(1);
        if self.refresh(work, history).is_none() {
            return Vec::new();
        }
        let (equations, unknowns) = (self.waiting.len(), self.unknown.len());
        let is_block = self.code != Code::RandomLinear;
        if unknowns == 0 || (is_block && unknowns > equations) {
            return Vec::new();
        }
        if !work.pay(equations * unknowns, ENTRY) || !work.pay(Elimination::cost(equations, unknowns), 1) {
            return Vec::new();
        }
        let row = |equation: &Equation| -> Vec<u8> {
            self.unknown.keys().map(|number| self.coefficient(equation, *number)).collect()
        };
        let rows: Vec<Vec<u8>> = self.waiting.iter().map(row).collect();
        let solution = Elimination::of(&rows, unknowns);
        let mut solved = Vec::new();
        let mut broken = false;
        for (at, (&number, source)) in self.unknown.iter().enumerate() {
            let Some(weights) = solution.weights(at) else { continue };
            match self.combine(work, weights, number, source, history) {
                Combined::Bytes(bytes) => solved.push(Solved { number, source: *source, bytes }),
                Combined::Unpaid => break,
                Combined::Broken => broken = true,
            }
        }
        if broken {
            // What it was made of is not what was sent: nothing of this block is to be trusted.
            self.drop_equations(|_| true);
            return Vec::new();
        }
        solved.iter().for_each(|solved| {
            self.unknown.remove(&solved.number);
        });
        solved
    }

    /// Looks again at what was unknown, and makes room. `None`: nobody has paid for that.
    fn refresh(&mut self, work: &mut Work, history: &History) -> Option<()> {
        let mut arrived = Vec::new();
        for (number, source) in &self.unknown {
            if history.has(work, id(source), source.offset..source.end())? {
                arrived.push(*number);
            }
        }
        arrived.iter().for_each(|number| {
            self.unknown.remove(number);
        });
        while self.unknown.len() > MAX_UNKNOWN {
            if !work.pay(self.unknown.len() * self.waiting.len(), ENTRY) {
                return None;
            }
            self.drop_oldest();
        }
        Some(())
    }

    /// Zero if the repair symbol does not combine that source symbol.
    fn coefficient(&self, equation: &Equation, number: u64) -> u8 {
        match number.checked_sub(equation.first) {
            Some(at) if at < equation.sources.len() as u64 => {
                self.code.coefficient(equation.index, equation.first, number)
            }
            _ => 0,
        }
    }

    /// The sum of repair symbols by these weights, less what it has of known source symbols.
    fn combine(
        &self,
        work: &mut Work,
        weights: &[u8],
        wanted: u64,
        source: &SourceRange,
        history: &History,
    ) -> Combined {
        let used = || self.waiting.iter().zip(weights).filter(|(_, weight)| **weight != 0);
        let first = used().map(|(equation, _)| equation.first).min().unwrap_or(0);
        let past = used().map(|(equation, _)| equation.past()).max().unwrap_or(0);
        let longest = self.waiting.iter().map(|equation| equation.symbol.len()).max().unwrap_or(0);
        let named: usize = used().map(|(equation, _)| equation.sources.len()).sum();
        let span = (past - first) as usize;
        if !work.pay(named + span, ENTRY) || !work.pay(weights.len() * longest, 1) {
            return Combined::Unpaid;
        }
        let mut sum = vec![0; longest];
        let mut known: Vec<Option<(&SourceRange, u8)>> = vec![None; span];
        for (equation, weight) in used() {
            gf256::mul_add(&mut sum, &equation.symbol, *weight);
            for (number, other) in equation.numbered().filter(|(number, _)| *number != wanted) {
                let Some(entry) = known.get_mut((number - first) as usize) else { continue };
                let factor = gf256::mul(*weight, self.coefficient(equation, number));
                entry.get_or_insert((other, 0)).1 ^= factor;
            }
        }
        let mut scratch = vec![0; longest];
        for (other, factor) in known.into_iter().flatten().filter(|(_, factor)| *factor != 0) {
            let length = usize::try_from(other.length).unwrap_or(usize::MAX);
            let Some(bytes) = scratch.get_mut(..length) else { return Combined::Broken };
            if !work.pay(bytes.len(), 1) {
                return Combined::Unpaid;
            }
            // Unknown ones have cancelled each other out: what cannot be read was here and is not any more.
            if !history.read(work, id(other), other.offset, bytes) {
                return Combined::Unpaid;
            }
            gf256::mul_add(&mut sum, bytes, factor);
        }
        let rest = sum.split_off(usize::try_from(source.length).unwrap_or(longest).min(longest));
        // Bytes behind the end of the source symbol, where there were none.
        if rest.iter().any(|byte| *byte != 0) { Combined::Broken } else { Combined::Bytes(sum) }
    }
}

/// What [`Equations::combine`] came to.
enum Combined {
    Bytes(Vec<u8>),
    /// Nobody has paid for it, or a source symbol that it takes is not here any more.
    Unpaid,
    /// It is not what was sent.
    Broken,
}
