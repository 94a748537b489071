//! Memory for received datagrams.
//!
//! The kernel may coalesce up to 64 KiB of datagrams into one message (GRO), so every slot of a receive call must
//! offer that much. What is done with a slot afterwards depends on how much of it was filled:
//!
//! * A large message keeps the slot: its datagrams are split off without copying and the slot is replaced by another
//!   buffer from the pool. The memory returns to the pool once the application has read all of it.
//! * A small message is copied into a shared chunk, so that a 1,400-byte datagram waiting for its reader does not
//!   pin 64 KiB. The copy costs less than the system call that came before it.
//!
//! Neither case allocates in the steady state.

use std::collections::VecDeque;
use std::io::IoSliceMut;

use bytes::BytesMut;

/// The largest message a receive call can deliver: a full GRO batch or the largest UDP datagram.
pub(crate) const SLOT_BYTES: usize = 65_536;
/// Messages smaller than this are copied out of their slot.
const COPY_BELOW: usize = 16_384;
/// Messages taken in one receive call.
pub(crate) const SLOTS: usize = 16;
/// Lent-out buffers remembered for reuse. More are simply dropped by their last reader.
const POOL_LIMIT: usize = 64;

/// The buffers of one worker.
pub(crate) struct ReceiveBuffers {
    slots: [BytesMut; SLOTS],
    /// Empty handles on memory that was lent out: reusable once no datagram refers to it any more.
    lent: VecDeque<BytesMut>,
    /// Where small messages are packed.
    chunk: BytesMut,
    lent_chunks: VecDeque<BytesMut>,
}

impl ReceiveBuffers {
    pub(crate) fn new() -> Self {
        ReceiveBuffers {
            slots: std::array::from_fn(|_| BytesMut::zeroed(SLOT_BYTES)),
            lent: VecDeque::new(),
            chunk: BytesMut::new(),
            lent_chunks: VecDeque::new(),
        }
    }

    /// The slots for a receive call, each [`SLOT_BYTES`] long.
    pub(crate) fn slots(&mut self) -> [IoSliceMut<'_>; SLOTS] {
        self.slots.each_mut().map(|slot| IoSliceMut::new(slot))
    }

    /// The first `length` bytes of slot `index`, as memory of their own; the slot is ready for the next call.
    pub(crate) fn take(&mut self, index: usize, length: usize) -> BytesMut {
        if length < COPY_BELOW { self.copy_out(index, length) } else { self.lend(index, length) }
    }

    fn copy_out(&mut self, index: usize, length: usize) -> BytesMut {
        if self.chunk.capacity() < length {
            let fresh = reclaim(&mut self.lent_chunks).unwrap_or_else(|| BytesMut::with_capacity(SLOT_BYTES));
            let spent = std::mem::replace(&mut self.chunk, fresh);
            remember(&mut self.lent_chunks, spent);
        }
        self.chunk.extend_from_slice(&self.slots[index][..length]);
        self.chunk.split()
    }

    fn lend(&mut self, index: usize, length: usize) -> BytesMut {
        let fresh = match reclaim(&mut self.lent) {
            Some(buffer) => fill(buffer),
            None => BytesMut::zeroed(SLOT_BYTES),
        };
        let mut slot = std::mem::replace(&mut self.slots[index], fresh);
        let message = slot.split_to(length);
        slot.clear();
        remember(&mut self.lent, slot);
        message
    }
}

/// The oldest lent buffer if all its readers are gone. Only the two oldest are asked: readers finish roughly in order.
fn reclaim(lent: &mut VecDeque<BytesMut>) -> Option<BytesMut> {
    for _ in 0..lent.len().min(2) {
        let mut buffer = lent.pop_front()?;
        if buffer.try_reclaim(SLOT_BYTES) {
            return Some(buffer);
        }
        lent.push_back(buffer);
    }
    None
}

fn remember(lent: &mut VecDeque<BytesMut>, buffer: BytesMut) {
    if lent.len() < POOL_LIMIT {
        lent.push_back(buffer);
    }
}

/// The whole of a reclaimed slot.
#[allow(unsafe_code)]
fn fill(mut buffer: BytesMut) -> BytesMut {
    debug_assert!(buffer.is_empty() && buffer.capacity() >= SLOT_BYTES);
    // SAFETY: buffers reach this function only from `lend`, which makes them with `BytesMut::zeroed(SLOT_BYTES)`:
    // every byte of the allocation was initialised then. `try_reclaim` succeeded without allocating, so this is
    // that allocation from its start, and its capacity is at least SLOT_BYTES. Zeroing it again for each batch
    // would cost about a twentieth of the receive path.
    unsafe { buffer.set_len(SLOT_BYTES) };
    buffer
}

#[cfg(test)]
mod tests;
