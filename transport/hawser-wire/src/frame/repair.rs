//! Frames of erasure codes: repair symbols of stream data, and what a receiver brought back with them. Hawser's; of feature
//! [`ERASURE_CODES`](crate::codepoints::private::feature::ERASURE_CODES).

use super::FrameErrorKind;
use crate::reader::Reader;
use crate::varint;
use crate::writer::{BufferTooShort, LengthCounter, Sink};

/// The most source symbols of a repair symbol.
pub const MAX_SOURCE_SYMBOLS: usize = 64;

/// How a repair symbol is computed. The coefficients are in `docs/wire.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum RepairCode {
    /// The exclusive or of the source symbols.
    Xor = 0,
    /// Reed-Solomon with a Cauchy matrix over GF(2^8).
    ReedSolomon = 1,
    /// Random linear combinations over GF(2^8).
    RandomLinear = 2,
}

/// A source symbol: a range of a stream, and whether the stream ends with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SourceRange {
    /// The stream.
    pub stream_id: u64,
    /// Where the range starts, in bytes.
    pub offset: u64,
    /// Its length in bytes, at least 1.
    pub length: u64,
    /// Whether the stream ends there.
    pub fin: bool,
}

impl SourceRange {
    /// The offset just past the range, in bytes.
    pub const fn end(&self) -> u64 {
        // Checked when decoded.
        self.offset.saturating_add(self.length)
    }
}

/// A repair symbol, with the ranges that it combines.
///
/// ```text
/// REPAIR Frame {
///   Type (i) = 0x28a75e41,
///   Block (i),
///   Code (8),               // 0 exclusive or, 1 Reed-Solomon, 2 random linear
///   First Source (i),       // number of the first source symbol within the block
///   Repair Index (i),       // row of the code, below 2^32
///   Run Count (i),
///   Run (..) ...,
///   Symbol Length (i),
///   Symbol (..),
/// }
///
/// Run {
///   Head (i),               // 4 * source symbols + 2 if the stream ends with the last of them
///                           //   + 1 if the run begins where the one before ended
///   Length (i),             // of each of them, in bytes
///   [Stream ID (i), Offset (i)],
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repair<'a> {
    /// Names the block, or the sequence of windows that slide.
    pub block: u64,
    /// The code.
    pub code: RepairCode,
    /// The number of the first source symbol.
    pub first: u64,
    /// The row of the code.
    pub index: u32,
    /// The source symbols, from the first one on.
    pub sources: SourceRanges<'a>,
    /// The combination; as long as the longest of them, or longer.
    pub symbol: &'a [u8],
}

/// The source symbols that the receiver of a block lacked and has brought back.
///
/// ```text
/// RECOVERED Frame {
///   Type (i) = 0x28a75e42,
///   Block (i),
///   First Source (i),
///   Bitmap (64),            // the highest bit is First Source
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// The block.
    pub block: u64,
    /// The number of the source symbol that the lowest bit stands for.
    pub first: u64,
    /// Which ones; never zero. On the wire the other way round.
    pub bitmap: u64,
}

/// The ranges of a [`Repair`], as they are on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceRanges<'a> {
    symbols: u8,
    runs: u8,
    encoded: &'a [u8],
}

/// Equal ranges in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    /// How many.
    count: u64,
    /// Whether the stream ends with the last.
    fin: bool,
    /// Whether the run begins where the one before ended.
    contiguous: bool,
    length: u64,
    stream_id: u64,
    offset: u64,
}

impl Run {
    fn end(&self) -> u64 {
        self.offset + self.count * self.length
    }

    fn is_followed_by(&self, range: &SourceRange) -> bool {
        !self.fin && self.stream_id == range.stream_id && self.end() == range.offset
    }

    fn encode_to(&self, sink: &mut impl Sink) -> Result<(), BufferTooShort> {
        sink.varint(self.count << 2 | u64::from(self.fin) << 1 | u64::from(self.contiguous))?;
        sink.varint(self.length)?;
        if !self.contiguous {
            sink.varint(self.stream_id)?;
            sink.varint(self.offset)?;
        }
        Ok(())
    }

    /// Reads the run that follows `last`.
    fn decode(r: &mut Reader<'_>, last: Option<&Run>) -> Result<Self, FrameErrorKind> {
        let head = r.read_varint()?;
        let length = r.read_varint()?;
        let (count, fin, contiguous) = (head >> 2, head & 2 != 0, head & 1 != 0);
        let (stream_id, offset) = match last {
            _ if !contiguous => (r.read_varint()?, r.read_varint()?),
            Some(last) if !last.fin => (last.stream_id, last.end()),
            _ => return Err(FrameErrorKind::SourceRanges),
        };
        if count == 0 || count > MAX_SOURCE_SYMBOLS as u64 || length == 0 {
            return Err(FrameErrorKind::SourceRanges);
        }
        let run = Run { count, fin, contiguous, length, stream_id, offset };
        match count.checked_mul(length).and_then(|bytes| bytes.checked_add(offset)) {
            Some(end) if end <= varint::MAX => Ok(run),
            _ => Err(FrameErrorKind::DataTooFar { offset, length }),
        }
    }
}

impl<'a> SourceRanges<'a> {
    /// How many there are; 1 to [`MAX_SOURCE_SYMBOLS`].
    pub const fn len(&self) -> usize {
        self.symbols as usize
    }

    /// Bytes that the runs take in the frame.
    pub const fn encoded_len(&self) -> usize {
        self.encoded.len()
    }

    /// Never: a repair symbol is made of something.
    pub const fn is_empty(&self) -> bool {
        self.symbols == 0
    }

    /// The ranges in the order of their numbers.
    pub fn iter(&self) -> SourceRangeIter<'a> {
        SourceRangeIter { run: None, at: 0, rest: Reader::new(self.encoded) }
    }

    fn decode(r: &mut Reader<'a>) -> Result<(Self, u64), FrameErrorKind> {
        let runs = r.read_varint()?;
        let encoded = r.peek_rest();
        let start = r.position();
        let (mut last, mut symbols, mut longest) = (None, 0, 0);
        // A run has a source symbol or more: a false count ends here.
        for _ in 0..runs {
            let run = Run::decode(r, last.as_ref())?;
            symbols += run.count;
            longest = longest.max(run.length);
            last = Some(run);
            if symbols > MAX_SOURCE_SYMBOLS as u64 {
                return Err(FrameErrorKind::SourceRanges);
            }
        }
        if symbols == 0 {
            return Err(FrameErrorKind::SourceRanges);
        }
        let encoded = encoded.get(..r.position() - start).unwrap_or_default();
        Ok((SourceRanges { symbols: symbols as u8, runs: runs as u8, encoded }, longest))
    }
}

impl<'a> IntoIterator for &SourceRanges<'a> {
    type Item = SourceRange;
    type IntoIter = SourceRangeIter<'a>;

    fn into_iter(self) -> SourceRangeIter<'a> {
        self.iter()
    }
}

/// Iterator of [`SourceRanges::iter`].
#[derive(Clone, Debug)]
pub struct SourceRangeIter<'a> {
    run: Option<Run>,
    /// The next one of the run.
    at: u64,
    rest: Reader<'a>,
}

impl Iterator for SourceRangeIter<'_> {
    type Item = SourceRange;

    fn next(&mut self) -> Option<SourceRange> {
        if self.run.is_none_or(|run| self.at == run.count) {
            // Checked when decoded: an error is the end.
            self.run = Some(Run::decode(&mut self.rest, self.run.as_ref()).ok()?);
            self.at = 0;
        }
        let run = self.run?;
        let offset = run.offset + self.at * run.length;
        self.at += 1;
        Some(SourceRange {
            stream_id: run.stream_id,
            offset,
            length: run.length,
            fin: run.fin && self.at == run.count,
        })
    }
}

/// Source symbols in the making of a [`Repair`], kept as runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceRangeList {
    runs: Vec<Run>,
    symbols: usize,
}

impl SourceRangeList {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.symbols
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.symbols == 0
    }

    /// Adds one; whether there was room. Its length must be 1 or more.
    pub fn push(&mut self, range: SourceRange) -> bool {
        if self.symbols == MAX_SOURCE_SYMBOLS || range.length == 0 {
            return false;
        }
        let (kept, run) = self.run_with(&range);
        self.runs.truncate(kept);
        self.runs.push(run);
        self.symbols += 1;
        true
    }

    /// The last run if this range were added, and how many stay before it.
    fn run_with(&self, range: &SourceRange) -> (usize, Run) {
        let SourceRange { stream_id, offset, length, fin } = *range;
        match self.runs.last().filter(|run| run.is_followed_by(range)) {
            Some(run) if run.length == length => {
                (self.runs.len() - 1, Run { count: run.count + 1, fin, ..*run })
            }
            last => {
                let contiguous = last.is_some();
                (self.runs.len(), Run { count: 1, fin, contiguous, length, stream_id, offset })
            }
        }
    }

    /// Bytes that the runs would take in a frame if this range were added.
    pub fn encoded_len_with(&self, range: &SourceRange) -> usize {
        let (kept, run) = self.run_with(range);
        let mut counter = LengthCounter::default();
        let mut runs = self.runs.iter().take(kept).chain(std::iter::once(&run));
        // Counting cannot fail.
        let _ = runs.try_for_each(|run| run.encode_to(&mut counter));
        counter.0
    }

    /// Bytes that the runs take in a frame.
    pub fn encoded_len(&self) -> usize {
        let mut counter = LengthCounter::default();
        // Counting cannot fail.
        let _ = self.runs.iter().try_for_each(|run| run.encode_to(&mut counter));
        counter.0
    }

    /// The runs as a frame carries them.
    pub fn encode(&self) -> EncodedSourceRanges {
        let mut bytes = vec![0; self.encoded_len()];
        let mut w = crate::Writer::new(&mut bytes);
        // There is just room.
        let _ = self.runs.iter().try_for_each(|run| run.encode_to(&mut w));
        EncodedSourceRanges { symbols: self.symbols as u8, runs: self.runs.len() as u8, bytes }
    }
}

/// Source symbols of a [`Repair`] that waits to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedSourceRanges {
    symbols: u8,
    runs: u8,
    bytes: Vec<u8>,
}

impl EncodedSourceRanges {
    /// For the frame.
    pub fn as_ranges(&self) -> SourceRanges<'_> {
        SourceRanges { symbols: self.symbols, runs: self.runs, encoded: &self.bytes }
    }
}

impl<'a> Repair<'a> {
    pub(super) fn encode_to(&self, sink: &mut impl Sink) -> Result<(), BufferTooShort> {
        sink.varint(self.block)?;
        sink.byte(self.code as u8)?;
        sink.varint(self.first)?;
        sink.varint(u64::from(self.index))?;
        sink.varint(u64::from(self.sources.runs))?;
        sink.bytes(self.sources.encoded)?;
        sink.varint(self.symbol.len() as u64)?;
        sink.bytes(self.symbol)
    }

    pub(super) fn decode(r: &mut Reader<'a>) -> Result<Self, FrameErrorKind> {
        let block = r.read_varint()?;
        let code = match r.read_u8()? {
            0 => RepairCode::Xor,
            1 => RepairCode::ReedSolomon,
            2 => RepairCode::RandomLinear,
            other => return Err(FrameErrorKind::RepairCode(other)),
        };
        let first = r.read_varint()?;
        let index = u32::try_from(r.read_varint()?).map_err(|_| FrameErrorKind::SourceRanges)?;
        let (sources, longest) = SourceRanges::decode(r)?;
        let symbol = r.read_varint_prefixed()?;
        if (symbol.len() as u64) < longest {
            return Err(FrameErrorKind::SourceRanges);
        }
        Ok(Repair { block, code, first, index, sources, symbol })
    }
}

impl Recovered {
    /// The numbers of the source symbols.
    pub fn sources(&self) -> impl Iterator<Item = u64> + use<> {
        let Recovered { first, bitmap, .. } = *self;
        (0..64).filter(move |bit| bitmap >> bit & 1 == 1).map(move |bit| first.saturating_add(bit))
    }

    pub(super) fn encode_to(&self, sink: &mut impl Sink) -> Result<(), BufferTooShort> {
        sink.varint(self.block)?;
        sink.varint(self.first)?;
        sink.bytes(&self.bitmap.reverse_bits().to_be_bytes())
    }

    pub(super) fn decode(r: &mut Reader<'_>) -> Result<Self, FrameErrorKind> {
        let (block, first) = (r.read_varint()?, r.read_varint()?);
        let bitmap = u64::from_be_bytes(r.read_array()?).reverse_bits();
        if bitmap == 0 {
            Err(FrameErrorKind::NothingRecovered)
        } else {
            Ok(Recovered { block, first, bitmap })
        }
    }
}
