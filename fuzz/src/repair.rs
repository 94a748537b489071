//! The receiver of repair symbols, with symbols of an honest sender and of one that lies.
//!
//! The input is a code, a symbol length, a number of source symbols, and steps: a source symbol arrives, or a repair symbol
//! over some of them, honest or corrupted, or a frame of any bytes.
//!
//! What must hold: no panic; memory and work stay within their caps; and as long as nothing was corrupted, what is brought back
//! is what was sent.

use std::collections::BTreeSet;

use hawser_core::fuzzing::{MAX_REPAIR_MEMORY, RepairReceiver};
use hawser_fec::{Code, RepairSymbol, add_source};
use hawser_policy::StreamId;
use hawser_wire::frame::{Repair, RepairCode, SourceRange, SourceRangeList};
use hawser_wire::{Frame, FrameIter, Reader};

const MAX_STEPS: usize = 256;
/// Memory for stream data: little, so that it gives way.
const BUFFER: usize = 16 << 10;
const CODES: [(RepairCode, Code); 3] = [
    (RepairCode::Xor, Code::Xor),
    (RepairCode::ReedSolomon, Code::ReedSolomon),
    (RepairCode::RandomLinear, Code::RandomLinear),
];

/// What a receiver makes of repair symbols.
pub fn repair(data: &[u8]) {
    let mut script = Reader::new(data);
    let (Ok(code), Ok(length), Ok(count)) = (script.read_u8(), script.read_u8(), script.read_u8()) else {
        return;
    };
    let mut world = World {
        code: CODES[usize::from(code) % CODES.len()],
        length: u64::from(length) + 1,
        count: u64::from(count) % 128 + 1,
        receiver: RepairReceiver::new(BUFFER),
        arrived: BTreeSet::new(),
        is_forged: false,
        bytes: 0,
    };
    for _ in 0..MAX_STEPS {
        if world.step(&mut script).is_none() {
            break;
        }
    }
}

struct World {
    code: (RepairCode, Code),
    /// Bytes of each source symbol.
    length: u64,
    /// Source symbols in all, one behind the other on two streams in turns.
    count: u64,
    receiver: RepairReceiver,
    /// Source symbols that are there.
    arrived: BTreeSet<(u64, u64)>,
    is_forged: bool,
    bytes: u64,
}

impl World {
    fn step(&mut self, script: &mut Reader<'_>) -> Option<()> {
        let operation = script.read_u8().ok()?;
        let recovered = match operation % 8 {
            0..=2 => self.source(u64::from(script.read_u8().ok()?) % self.count),
            3..=6 => self.honest(script, operation & 0x80 != 0)?,
            _ => self.raw(script)?,
        };
        for (source, bytes) in recovered {
            assert_eq!(bytes.len() as u64, source.length, "as long as its range says");
            let right = content(source.stream_id, source.offset, source.length);
            assert!(self.is_forged || bytes == right, "{source:?} was not brought back but made up");
            self.arrived.insert((source.stream_id, source.offset));
        }
        let memory = self.receiver.memory();
        assert!(memory <= BUFFER as u64 + MAX_REPAIR_MEMORY, "{memory} bytes held");
        let (work, allowed) = (self.receiver.work(), RepairReceiver::work_allowed(self.bytes));
        assert!(work <= allowed, "{work} units of work for {} bytes", self.bytes);
        Some(())
    }

    fn range(&self, number: u64) -> SourceRange {
        let (stream_id, at) = (number / 16 % 2 * 4, number / 32 * 16 + number % 16);
        SourceRange { stream_id, offset: at * self.length, length: self.length, fin: false }
    }

    fn source(&mut self, number: u64) -> Vec<(SourceRange, Vec<u8>)> {
        let range = self.range(number);
        self.arrived.insert((range.stream_id, range.offset));
        let data = content(range.stream_id, range.offset, range.length);
        self.bytes += range.length;
        let arrived = &self.arrived;
        let lacks = |source: &SourceRange| !arrived.contains(&(source.stream_id, source.offset));
        self.receiver.on_data(StreamId(range.stream_id), range.offset, &data, lacks)
    }

    /// A repair symbol as an honest sender makes it; `spoilt`: with a byte or a range changed.
    fn honest(&mut self, script: &mut Reader<'_>, spoilt: bool) -> Option<Vec<(SourceRange, Vec<u8>)>> {
        let (first, span, index) = (script.read_u8().ok()?, script.read_u8().ok()?, script.read_u8().ok()?);
        let first = u64::from(first) % self.count;
        let span = (u64::from(span) % Code::MAX_SOURCE + 1).min(self.count - first);
        let mut symbol = RepairSymbol::new(u32::from(index) % 32);
        let mut list = SourceRangeList::default();
        for number in first..first + span {
            let range = self.range(number);
            let bytes = content(range.stream_id, range.offset, range.length);
            add_source(self.code.1, std::slice::from_mut(&mut symbol), first, number, &bytes);
            list.push(range);
        }
        let mut block = u64::from(self.code.1 != Code::RandomLinear) * (first * 64 + span);
        if spoilt {
            let (at, mask) = (script.read_u8().ok()?, script.read_u8().ok()?);
            let at = usize::from(at) % symbol.bytes.len();
            symbol.bytes[at] ^= mask;
            block = block.wrapping_sub(u64::from(mask & 1));
            self.is_forged = true;
        }
        let sources = list.encode();
        let frame = Repair {
            block: block.min(hawser_wire::varint::MAX),
            code: self.code.0,
            first,
            index: symbol.index,
            sources: sources.as_ranges(),
            symbol: &symbol.bytes,
        };
        Some(self.receive(&frame))
    }

    /// Any frame.
    fn raw(&mut self, script: &mut Reader<'_>) -> Option<Vec<(SourceRange, Vec<u8>)>> {
        let length = script.read_u8().ok()?;
        let bytes = script.read_bytes(usize::from(length).min(script.remaining())).ok()?;
        self.is_forged = true;
        let mut recovered = Vec::new();
        for frame in FrameIter::new(bytes).flatten() {
            if let Frame::Repair(frame) = frame {
                recovered.extend(self.receive(&frame));
            }
        }
        Some(recovered)
    }

    fn receive(&mut self, frame: &Repair<'_>) -> Vec<(SourceRange, Vec<u8>)> {
        self.bytes += (frame.symbol.len() + frame.sources.encoded_len()) as u64;
        let arrived = &self.arrived;
        self.receiver.on_repair(frame, |source| !arrived.contains(&(source.stream_id, source.offset)))
    }
}

/// What stands on a stream.
fn content(stream: u64, offset: u64, length: u64) -> Vec<u8> {
    (offset..offset.saturating_add(length)).map(|at| (at.wrapping_mul(31) % 251 + stream) as u8).collect()
}
