//! Erasure codes over stream data (feature `ERASURE_CODES`, `docs/wire.md`).
//!
//! A *source symbol* is the stream data of one packet, sent as always. The sender adds what its protection policy wants
//! protected to the repair symbols of a *block*, and sends these in packets of their own, on the path of the data or on
//! another. A receiver that lacks some of the data keeps what it has of it, and the repair symbols, until it can solve for
//! what is missing; it says so (RECOVERED), and the sender takes that as an acknowledgement of the data. Until then, or until
//! it is clear that nothing can come of it, the sender does not retransmit what was lost.
//!
//! | file | subject |
//! |---|---|
//! | `sender` | what is asked of the policy, blocks in the making, repair symbols that wait for a packet |
//! | `block` | source symbols added up to repair symbols |
//! | `sources` | source symbols whose fate is open, and those that are not retransmitted for the time being |
//! | `receiver` | repair symbols that wait for more |
//! | `equations` | solving for what is missing |
//! | `history` | stream data that was received, also what readers have taken |
//!
//! Neither half exists while nothing is protected: then packets cost a test of a null pointer.

mod block;
mod equations;
mod history;
mod receiver;
mod sender;
mod sources;
#[cfg(test)]
mod tests;

use hawser_fec::Code;
use hawser_policy::{ErasureCode, Time};
use hawser_wire::frame::RepairCode;

pub(crate) use block::Subject;
pub(crate) use receiver::{Delivered, Receiver};
pub(crate) use sender::Sender;

/// Bytes by which packets with protected data stay below the size of others, so that a repair symbol, as long as the longest
/// data, fits a packet together with its header.
pub(crate) const PACKET_RESERVE: usize = 128;

/// Bytes of a REPAIR frame besides ranges and symbol: type 4, block 4, code 1, first source 4, index 4, runs 1, length 2, and
/// two to spare.
pub(crate) const FRAME_HEADER: usize = 22;

/// Bytes that the ranges of a REPAIR frame may take. A run of its own takes some ten bytes, and where two paths share a stream
/// each gets a packet or a few in turn: this is room for ten such turns, or a block would end after three.
pub(crate) const MAX_RUN_BYTES: usize = 104;

/// Both halves, and whether there may be any.
#[derive(Debug, Default)]
pub(crate) struct Repair {
    /// Memory for received data; `None`: we do not take repair symbols.
    buffer: Option<usize>,
    negotiated: bool,
    pub(crate) sender: Option<Box<Sender>>,
    pub(crate) receiver: Option<Box<Receiver>>,
}

impl Repair {
    /// `buffer`: memory for received data, if repair symbols are to be taken at all.
    pub(crate) fn new(buffer: Option<usize>) -> Self {
        Repair { buffer, ..Repair::default() }
    }

    /// What the peer's transport parameters say.
    pub(crate) fn set_peer_support(&mut self, supported: bool) {
        self.negotiated = supported && self.buffer.is_some();
    }

    /// Whether both ends take the frames.
    pub(crate) fn is_negotiated(&self) -> bool {
        self.negotiated
    }

    /// Switches protection on or off. Returns what is not to wait any longer for being recovered.
    pub(crate) fn set_protected(&mut self, protected: bool) -> Option<Box<Sender>> {
        if !protected || !self.negotiated {
            return self.sender.take();
        }
        self.sender.get_or_insert_default();
        None
    }

    /// The receiving half, made now if need be.
    pub(crate) fn receiver_mut(&mut self) -> &mut Receiver {
        let buffer = self.buffer.unwrap_or(0);
        self.receiver.get_or_insert_with(|| Box::new(Receiver::new(buffer)))
    }

    /// When something is due.
    #[inline]
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.sender.as_ref()?.deadline()
    }

    /// Whether repair symbols wait for a packet.
    #[inline]
    pub(crate) fn has_queued(&self) -> bool {
        self.sender.as_ref().is_some_and(|sender| sender.has_queued())
    }

    /// Whether the peer is to be told of recovered data.
    #[inline]
    pub(crate) fn has_recovered(&self) -> bool {
        self.receiver.as_ref().is_some_and(|receiver| receiver.has_recovered())
    }

    /// Bytes of repair symbols that a scheduler may place.
    #[inline(never)]
    pub(crate) fn unplaced(&self) -> u64 {
        self.sender.as_ref().map_or(0, |sender| sender.unplaced())
    }

    /// Gives back memory of busier times. `is_settled`: nothing of what was sent is in flight.
    pub(crate) fn shrink(&mut self, now: Time, is_settled: bool) {
        if let Some(sender) = &mut self.sender {
            sender.shrink(now, is_settled);
        }
        if let Some(receiver) = &mut self.receiver {
            receiver.shrink();
        }
    }

    /// Bytes of memory held, roughly.
    pub(crate) fn memory(&self) -> u64 {
        let sender = self.sender.as_ref().map_or(0, |sender| sender.memory());
        sender + self.receiver.as_ref().map_or(0, |receiver| receiver.memory())
    }
}

fn wire_code(code: ErasureCode) -> RepairCode {
    match code {
        ErasureCode::Xor => RepairCode::Xor,
        ErasureCode::ReedSolomon => RepairCode::ReedSolomon,
        ErasureCode::RandomLinear => RepairCode::RandomLinear,
    }
}

fn code_of(code: RepairCode) -> Code {
    match code {
        RepairCode::Xor => Code::Xor,
        RepairCode::ReedSolomon => Code::ReedSolomon,
        RepairCode::RandomLinear => Code::RandomLinear,
    }
}
