//! Parts of a connection by themselves, for fuzzing (feature `fuzzing`).

use hawser_policy::StreamId;
use hawser_wire::frame::{Repair, SourceRange};

use crate::connection::repair::{Delivered, Receiver};

/// Most memory of a receiver of repair symbols besides its buffer, in bytes: repair symbols that wait, one block more than are
/// kept, and RECOVERED frames.
pub const MAX_REPAIR_MEMORY: u64 = 640 << 10;

/// The receiving half of the erasure codes: what a peer's STREAM and REPAIR frames get to.
#[derive(Debug)]
pub struct RepairReceiver(Receiver);

/// Stream data that was brought back: where it belongs, and what it is.
pub type Recovered = (SourceRange, Vec<u8>);

impl RepairReceiver {
    /// With so many bytes for received stream data.
    pub fn new(buffer: usize) -> Self {
        RepairReceiver(Receiver::new(buffer))
    }

    /// Data of a stream arrived. Returns what could be solved for now.
    pub fn on_data(
        &mut self,
        id: StreamId,
        offset: u64,
        data: &[u8],
        lacks: impl FnMut(&SourceRange) -> bool,
    ) -> Vec<Recovered> {
        match self.0.on_data(id, offset, data) {
            true => plain(self.0.retry(id, offset, data.len(), lacks)),
            false => Vec::new(),
        }
    }

    /// A repair symbol arrived; `lacks` says whether a stream is without some of a range. Returns what could be solved for.
    pub fn on_repair(
        &mut self,
        frame: &Repair<'_>,
        lacks: impl FnMut(&SourceRange) -> bool,
    ) -> Vec<Recovered> {
        plain(self.0.on_repair(frame, lacks))
    }

    /// Bytes of memory held, roughly.
    pub fn memory(&self) -> u64 {
        self.0.memory()
    }

    /// Multiplications spent so far.
    pub fn work(&self) -> u64 {
        self.0.counts().work
    }

    /// Most multiplications that symbols of so many bytes in all may cost.
    pub fn work_allowed(symbol_bytes: u64) -> u64 {
        symbol_bytes * crate::connection::repair::WORK_PER_BYTE as u64
    }
}

fn plain(delivered: Vec<Delivered>) -> Vec<Recovered> {
    delivered.into_iter().map(|piece| (piece.source, piece.bytes)).collect()
}
