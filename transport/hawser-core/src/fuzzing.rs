//! Parts of a connection by themselves, for fuzzing (feature `fuzzing`).

use hawser_policy::StreamId;
use hawser_wire::frame::{Repair, SourceRange};

use crate::connection::repair::{Delivered, Receiver};
use crate::connection::work::{MOST, PER_BYTE, Work};

/// Most memory of a receiver of repair symbols besides its buffer, in bytes: repair symbols that wait, one block more than are
/// kept, and RECOVERED frames.
pub const MAX_REPAIR_MEMORY: u64 = 640 << 10;

/// The receiving half of the erasure codes: what a peer's STREAM and REPAIR frames get to.
#[derive(Debug)]
pub struct RepairReceiver {
    receiver: Receiver,
    work: Work,
}

/// Stream data that was brought back: where it belongs, and what it is.
pub type Recovered = (SourceRange, Vec<u8>);

impl RepairReceiver {
    /// With so many bytes for received stream data.
    pub fn new(buffer: usize) -> Self {
        RepairReceiver { receiver: Receiver::new(buffer), work: Work::new() }
    }

    /// Data of a stream arrived. Returns what could be solved for now.
    pub fn on_data(
        &mut self,
        id: StreamId,
        offset: u64,
        data: &[u8],
        lacks: impl FnMut(&SourceRange) -> bool,
    ) -> Vec<Recovered> {
        let RepairReceiver { receiver, work } = self;
        work.earn(data.len());
        match receiver.on_data(work, id, offset, data) {
            true => plain(receiver.retry(work, id, offset, data.len(), lacks)),
            false => Vec::new(),
        }
    }

    /// A repair symbol arrived; `lacks` says whether a stream is without some of a range. Returns what could be solved for.
    pub fn on_repair(
        &mut self,
        frame: &Repair<'_>,
        lacks: impl FnMut(&SourceRange) -> bool,
    ) -> Vec<Recovered> {
        let RepairReceiver { receiver, work } = self;
        work.earn(frame.symbol.len() + frame.sources.encoded_len());
        if !receiver.admit(work, frame) {
            return Vec::new();
        }
        plain(receiver.on_repair(work, frame, lacks))
    }

    /// Bytes of memory held, roughly.
    pub fn memory(&self) -> u64 {
        self.receiver.memory()
    }

    /// Units of work spent so far; one is a multiplication in GF(2^8).
    pub fn work(&self) -> u64 {
        self.work.spent()
    }

    /// Units of work that so many bytes of REPAIR frames and stream data in all may cost.
    pub fn work_allowed(bytes: u64) -> u64 {
        MOST + bytes * PER_BYTE
    }
}

fn plain(delivered: Vec<Delivered>) -> Vec<Recovered> {
    delivered.into_iter().map(|piece| (piece.source, piece.bytes)).collect()
}
