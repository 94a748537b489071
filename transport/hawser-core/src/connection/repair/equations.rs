//! Solving for what is missing of a block.

use std::collections::BTreeMap;

use hawser_fec::{Code, Elimination, gf256};
use hawser_policy::StreamId;
use hawser_wire::frame::{Repair, SourceRange};

use super::code_of;
use super::history::History;

/// Source symbols that a block may lack at a time, over all its repair symbols. Beyond that the oldest repair symbol gives way.
const MAX_UNKNOWN: usize = 64;

/// Repair symbols that a block keeps. Beyond that the oldest gives way.
const MAX_EQUATIONS: usize = 32;

/// A repair symbol that waits.
#[derive(Debug)]
struct Equation {
    first: u64,
    index: u32,
    sources: Box<[SourceRange]>,
    symbol: Box<[u8]>,
}

impl Equation {
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

/// A frame that cannot be: it contradicts others of its block, or is of another code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Contradiction;

fn id(source: &SourceRange) -> StreamId {
    StreamId(source.stream_id)
}

impl Equations {
    pub(super) fn new(block: u64, frame: &Repair<'_>) -> Self {
        Equations { block, code: code_of(frame.code), waiting: Vec::new(), attempts: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        size_of::<Self>() + self.waiting.iter().map(Equation::memory).sum::<usize>()
    }

    /// A repair symbol came. One that is there already changes nothing.
    pub(super) fn add(&mut self, frame: &Repair<'_>) -> Result<(), Contradiction> {
        /// A window that slides is looked at again when data comes late; so often it may, and no more.
        const ATTEMPTS: u8 = 8;
        let sources: Box<[SourceRange]> = frame.sources.iter().collect();
        let equation =
            Equation { first: frame.first, index: frame.index, sources, symbol: frame.symbol.into() };
        let is_bounded = frame.first < 1 << 48;
        let agrees = self.waiting.iter().all(|other| equation.agrees(other));
        if code_of(frame.code) != self.code || !agrees || !is_bounded {
            return Err(Contradiction);
        }
        if self.waiting.iter().any(|other| (other.index, other.first) == (frame.index, frame.first)) {
            return Ok(());
        }
        if self.waiting.len() >= MAX_EQUATIONS {
            self.waiting.remove(0);
        }
        self.waiting.push(equation);
        self.attempts = ATTEMPTS;
        Ok(())
    }

    /// Whether any source symbol lies within this range of a stream.
    pub(super) fn concerns(&self, stream: StreamId, start: u64, end: u64) -> bool {
        let within =
            |source: &SourceRange| id(source) == stream && source.offset < end && start < source.end();
        self.attempts > 0 && self.waiting.iter().any(|equation| equation.sources.iter().any(within))
    }

    /// Drops repair symbols all of whose source symbols are either here or not wanted.
    pub(super) fn drop_needless(&mut self, history: &History, lacks: &mut dyn FnMut(&SourceRange) -> bool) {
        self.waiting.retain(|equation| {
            let missing = |source: &&SourceRange| !history.has(id(source), source.offset..source.end());
            equation.sources.iter().filter(missing).any(&mut *lacks)
        });
    }

    /// Solves for what can be solved for. `pay` grants or refuses so many multiplications.
    pub(super) fn solve(&mut self, history: &History, pay: &mut dyn FnMut(usize) -> bool) -> Vec<Solved> {
        self.attempts = self.attempts.saturating_sub(1);
        let unknown = loop {
            let unknown = self.unknown(history);
            if unknown.len() <= MAX_UNKNOWN {
                break unknown;
            }
            self.waiting.remove(0);
        };
        let is_block = self.code != Code::RandomLinear;
        if unknown.is_empty() || (is_block && unknown.len() > self.waiting.len()) {
            return Vec::new();
        }
        if !pay(Elimination::cost(self.waiting.len(), unknown.len())) {
            return Vec::new();
        }
        let row = |equation: &Equation| -> Vec<u8> {
            unknown.keys().map(|number| self.coefficient(equation, *number)).collect()
        };
        let rows: Vec<Vec<u8>> = self.waiting.iter().map(row).collect();
        let solution = Elimination::of(&rows, unknown.len());
        let mut solved = Vec::new();
        for (at, (&number, source)) in unknown.iter().enumerate() {
            let Some(weights) = solution.weights(at) else { continue };
            if !pay((weights.len() + self.span()) * source.length as usize) {
                break;
            }
            match self.combine(weights, number, source, history) {
                Some(bytes) => solved.push(Solved { number, source: *source, bytes }),
                None => {
                    // What it was made of is not what was sent: nothing of this block is to be trusted.
                    self.waiting.clear();
                    return Vec::new();
                }
            }
        }
        solved
    }

    /// Source symbols that all repair symbols together combine, at most.
    fn span(&self) -> usize {
        let first = self.waiting.iter().map(|equation| equation.first).min().unwrap_or(0);
        let past = self.waiting.iter().map(|equation| equation.first + equation.sources.len() as u64).max();
        let sources: usize = self.waiting.iter().map(|equation| equation.sources.len()).sum();
        sources.min((past.unwrap_or(0) - first) as usize)
    }

    /// Source symbols that are not here, by number.
    fn unknown(&self, history: &History) -> BTreeMap<u64, SourceRange> {
        let all = self.waiting.iter().flat_map(Equation::numbered);
        let missing = all.filter(|(_, source)| !history.has(id(source), source.offset..source.end()));
        missing.map(|(number, source)| (number, *source)).collect()
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

    /// The sum of repair symbols by these weights, less what it has of known source symbols. `None` if bytes are left behind
    /// the end of the source symbol, where there were none.
    fn combine(
        &self,
        weights: &[u8],
        wanted: u64,
        source: &SourceRange,
        history: &History,
    ) -> Option<Vec<u8>> {
        let longest = self.waiting.iter().map(|equation| equation.symbol.len()).max()?;
        let mut sum = vec![0; longest];
        let mut known: BTreeMap<u64, (&SourceRange, u8)> = BTreeMap::new();
        for (equation, weight) in self.waiting.iter().zip(weights).filter(|(_, weight)| **weight != 0) {
            gf256::mul_add(&mut sum, &equation.symbol, *weight);
            for (number, other) in equation.numbered().filter(|(number, _)| *number != wanted) {
                let (_, factor) = known.entry(number).or_insert((other, 0));
                *factor ^= gf256::mul(*weight, self.coefficient(equation, number));
            }
        }
        let mut scratch = vec![0; longest];
        for (other, factor) in known.into_values().filter(|(_, factor)| *factor != 0) {
            let bytes = scratch.get_mut(..usize::try_from(other.length).ok()?)?;
            // Unknown ones have cancelled each other out.
            if history.read(id(other), other.offset, bytes) {
                gf256::mul_add(&mut sum, bytes, factor);
            }
        }
        let rest = sum.split_off(usize::try_from(source.length).ok()?.min(longest));
        rest.iter().all(|byte| *byte == 0).then_some(sum)
    }
}
