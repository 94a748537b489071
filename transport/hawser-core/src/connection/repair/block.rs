//! Blocks in the making: source symbols added up to repair symbols.

use hawser_fec::{RepairSymbol, add_source};
use hawser_policy::{
    ErasureCode, MAX_REPAIR_SYMBOLS, MAX_SOURCE_SYMBOLS, PathId, Protection, StreamId, Time,
};
use hawser_wire::frame::{EncodedSourceRanges, RepairCode, SourceRange, SourceRangeList};

use super::{MAX_RUN_BYTES, code_of, wire_code};

/// A repair symbol that waits for a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Queued {
    pub(crate) block: u64,
    pub(crate) code: RepairCode,
    pub(crate) first: u64,
    pub(crate) index: u32,
    pub(crate) sources: EncodedSourceRanges,
    pub(crate) symbol: Vec<u8>,
    /// The path that the policy named, if it did.
    pub(crate) path: Option<PathId>,
    /// The path of the data.
    pub(crate) own: PathId,
    /// When the data is of no use any more.
    pub(crate) expires: Option<Time>,
}

/// What data belongs to: a stream, a frame of the application, and the path that carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) path: PathId,
    pub(crate) stream: StreamId,
    /// The application's number for the frame.
    pub(crate) frame: Option<u64>,
}

/// A repair symbol in the making.
#[derive(Debug)]
struct Row {
    /// The number of its first source symbol.
    first: u64,
    symbol: RepairSymbol,
    sources: SourceRangeList,
}

impl Row {
    fn new(first: u64, index: u32) -> Self {
        Row { first, symbol: RepairSymbol::new(index), sources: SourceRangeList::default() }
    }
}

/// Source symbols and the repair symbols that they are added to.
///
/// A block code has all its repair symbols combine all source symbols, and gives them out when the block is full. A sliding
/// one gives one out after every few source symbols, which combines as many as the window is long; in its place another one
/// begins.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) number: u64,
    pub(crate) subject: Subject,
    plan: Protection,
    /// When repair symbols are due for what there is: of a block code, which ends with it, so long after its first source
    /// symbol; of a sliding one, so long after the first for which none was given out.
    pub(crate) deadline: Option<Time>,
    /// When the data is of no use any more, and neither are repair symbols that wait.
    pub(crate) expires: Option<Time>,
    /// The number of the next source symbol.
    next: u64,
    /// Source symbols since a repair symbol was given out.
    uncovered: u64,
    /// Source symbols since the policy said how they are protected.
    pub(crate) unasked: u64,
    rows: Vec<Row>,
    next_index: u32,
    /// Repair symbols that were given out.
    pub(crate) given: u32,
}

/// A policy may ask for more than a repair symbol can say.
fn clamped(plan: &Protection) -> Protection {
    let repair_symbols = match plan.code {
        ErasureCode::Xor => 1,
        _ => plan.repair_symbols.clamp(1, MAX_REPAIR_SYMBOLS),
    };
    (*plan).with(|protection| {
        protection.source_symbols = plan.source_symbols.clamp(1, MAX_SOURCE_SYMBOLS);
        protection.repair_symbols = repair_symbols;
    })
}

impl Block {
    pub(crate) fn new(number: u64, subject: Subject, plan: &Protection) -> Self {
        let plan = clamped(plan);
        let repair_symbols = plan.repair_symbols;
        let rows = (0..u32::from(repair_symbols)).map(|index| Row::new(0, index)).collect();
        Block {
            number,
            subject,
            plan,
            deadline: None,
            expires: None,
            next: 0,
            uncovered: 0,
            unasked: 0,
            rows,
            next_index: u32::from(repair_symbols),
            given: 0,
        }
    }

    pub(crate) fn plan(&self) -> &Protection {
        &self.plan
    }

    /// Whether the policy is to be asked again: a window that slides has no end, and loss changes.
    pub(crate) fn is_to_be_revised(&self) -> bool {
        self.slides() && self.unasked >= u64::from(self.plan.source_symbols)
    }

    /// Whether it may go on with this plan: both slide over the data of the same paths.
    pub(crate) fn can_become(&self, plan: &Protection) -> bool {
        self.slides() && plan.code == self.plan.code && plan.across_paths == self.plan.across_paths
    }

    /// A window that slides goes on at another rate, or with another length. Those that began are kept, the oldest first.
    pub(crate) fn revise(&mut self, plan: &Protection) {
        (self.plan, self.unasked) = (clamped(plan), 0);
        let count = usize::from(self.plan.repair_symbols);
        self.rows.truncate(count);
        while self.rows.len() < count {
            self.begin_row();
        }
    }

    /// Whether it is for data like this: of its stream and frame, on its path or, across paths, on any.
    pub(crate) fn takes(&self, subject: &Subject) -> bool {
        let of_path = Subject { path: subject.path, ..self.subject };
        if self.plan.across_paths { of_path == *subject } else { self.subject == *subject }
    }

    /// Whether data like this ends it: of its stream, from where it takes data, but not of its frame.
    pub(crate) fn is_ended_by(&self, subject: &Subject) -> bool {
        self.subject.stream == subject.stream
            && (self.plan.across_paths || self.subject.path == subject.path)
            && !self.takes(subject)
    }

    pub(crate) fn slides(&self) -> bool {
        self.plan.code == ErasureCode::RandomLinear
    }

    /// Whether the frames of its repair symbols have room for one more range.
    pub(crate) fn has_room(&self, range: &SourceRange) -> bool {
        // Of a block code all rows have the same ranges.
        let rows = if self.slides() { self.rows.len() } else { 1 };
        self.rows
            .iter()
            .take(rows)
            .all(|row| row.sources.is_empty() || row.sources.encoded_len_with(range) <= MAX_RUN_BYTES)
    }

    /// Adds a source symbol; returns its number.
    pub(crate) fn add(&mut self, now: Time, range: SourceRange, bytes: &[u8]) -> u64 {
        self.deadline.get_or_insert(now + self.plan.span);
        let number = self.next;
        self.next += 1;
        self.uncovered += 1;
        self.unasked += 1;
        let code = code_of(wire_code(self.plan.code));
        for row in &mut self.rows {
            if row.sources.push(range) {
                add_source(code, std::slice::from_mut(&mut row.symbol), row.first, number, bytes);
            }
        }
        number
    }

    /// Whether a repair symbol is in the making that may combine this source symbol.
    pub(crate) fn covers(&self, number: u64) -> bool {
        self.rows.iter().any(|row| row.first <= number)
    }

    /// Whether its source symbols are all there.
    pub(crate) fn is_full(&self) -> bool {
        !self.slides() && self.next >= u64::from(self.plan.source_symbols)
    }

    /// The repair symbol that is due now, of a code that slides.
    pub(crate) fn take_due(&mut self) -> Option<Queued> {
        let (window, rate) = (u64::from(self.plan.source_symbols), u64::from(self.plan.repair_symbols));
        if !self.slides() || self.uncovered * rate < window {
            return None;
        }
        (self.uncovered, self.deadline) = (0, None);
        Some(self.give_out())
    }

    /// Repair symbols in proportion to the source symbols that none was given out for. A block code ends with them.
    pub(crate) fn take_rest(&mut self) -> Vec<Queued> {
        let (window, rate) = (u64::from(self.plan.source_symbols), u64::from(self.plan.repair_symbols));
        let count = (self.uncovered * rate).div_ceil(window).min(self.rows.len() as u64);
        (self.uncovered, self.deadline) = (0, None);
        (0..count).map(|_| self.give_out()).collect()
    }

    /// Gives out the row that began first; a sliding code begins another.
    fn give_out(&mut self) -> Queued {
        self.given += 1;
        let slides = self.slides();
        let row = match slides {
            true => {
                self.begin_row();
                self.rows.remove(0)
            }
            false => self.rows.remove(0),
        };
        Queued {
            block: self.number,
            code: wire_code(self.plan.code),
            first: row.first,
            index: row.symbol.index,
            sources: row.sources.encode(),
            symbol: row.symbol.bytes,
            path: self.plan.path,
            own: self.subject.path,
            expires: self.expires,
        }
    }

    fn begin_row(&mut self) {
        self.rows.push(Row::new(self.next, self.next_index));
        self.next_index = self.next_index.wrapping_add(1);
    }

    /// Bytes of memory held, roughly.
    pub(crate) fn memory(&self) -> u64 {
        let row = |row: &Row| (row.symbol.bytes.capacity() + size_of::<Row>()) as u64;
        self.rows.iter().map(row).sum()
    }
}
