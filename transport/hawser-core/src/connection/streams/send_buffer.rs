//! What the application wrote and the peer has not acknowledged.

use std::collections::VecDeque;

use bytes::Bytes;

/// Blocks that collect copied writes grow with what is buffered, up to this size.
const MAX_BLOCK: usize = 64 << 10;
const MIN_BLOCK: usize = 1 << 10;

/// Shared buffers below this size are copied: a chunk of their own would cost more than the bytes.
const MIN_SHARED: usize = 1 << 10;

/// The bytes `[start, end)` of a stream, in chunks.
///
/// Small writes fill blocks, so that their number does not matter. A cursor remembers the chunk that was read last:
/// reading in sequence takes constant time whatever is buffered.
#[derive(Debug, Default)]
pub(super) struct SendBuffer {
    chunks: VecDeque<Chunk>,
    start: u64,
    end: u64,
    cursor: usize,
    /// Where the cursor was before it was put elsewhere.
    other_cursor: usize,
    /// Memory of all chunks.
    allocated: usize,
}

#[derive(Debug)]
struct Chunk {
    offset: u64,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Block(Vec<u8>),
    Shared(Bytes),
}

impl Chunk {
    #[inline]
    fn bytes(&self) -> &[u8] {
        match &self.content {
            Content::Block(block) => block,
            Content::Shared(bytes) => bytes,
        }
    }

    #[inline]
    fn end(&self) -> u64 {
        self.offset + self.bytes().len() as u64
    }

    fn allocated(&self) -> usize {
        size_of::<Chunk>()
            + match &self.content {
                Content::Block(block) => block.capacity(),
                Content::Shared(bytes) => bytes.len(),
            }
    }
}

impl SendBuffer {
    /// Everything below was acknowledged and freed.
    #[inline]
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// Where the next written byte goes.
    #[inline]
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Bytes of memory held.
    #[inline]
    pub(super) fn allocated(&self) -> usize {
        self.allocated
    }

    /// Appends a copy of `data`.
    pub(super) fn push_copy(&mut self, mut data: &[u8]) {
        if let Some(Chunk { content: Content::Block(block), .. }) = self.chunks.back_mut() {
            let fits = data.len().min(block.capacity() - block.len());
            block.extend_from_slice(&data[..fits]);
            self.end += fits as u64;
            data = &data[fits..];
        }
        while !data.is_empty() {
            // Blocks grow one after the other. One behind shared bytes begins small: who frames what it shares writes few
            // bytes in between.
            let grown = match self.chunks.back() {
                Some(Chunk { content: Content::Block(block), .. }) => block.capacity() * 2,
                _ => 0,
            };
            let capacity = data.len().max(grown).clamp(MIN_BLOCK, MAX_BLOCK).next_power_of_two();
            let (now, later) = data.split_at(data.len().min(capacity));
            let mut block = Vec::with_capacity(capacity);
            block.extend_from_slice(now);
            self.push_chunk(Content::Block(block), now.len());
            data = later;
        }
    }

    /// Appends `data` without copying it.
    pub(super) fn push_shared(&mut self, data: Bytes) {
        if data.len() < MIN_SHARED {
            self.push_copy(&data);
        } else {
            let length = data.len();
            self.push_chunk(Content::Shared(data), length);
        }
    }

    fn push_chunk(&mut self, content: Content, length: usize) {
        let chunk = Chunk { offset: self.end, content };
        self.allocated += chunk.allocated();
        self.end += length as u64;
        self.chunks.push_back(chunk);
    }

    /// Copies the bytes from `offset` on into `out`. The caller asks only for bytes that are there.
    // For every packet: a call costs as much as all of it but the copying.
    //= rfc9000-2.2-2: retransmitted bytes are those sent before
    #[inline(always)]
    pub(super) fn read(&mut self, offset: u64, out: &mut [u8]) {
        debug_assert!(offset >= self.start && offset + out.len() as u64 <= self.end);
        self.seek(offset);
        let mut filled = 0;
        while filled < out.len() {
            let Some(chunk) = self.chunks.get(self.cursor) else { break };
            let position = (offset + filled as u64 - chunk.offset) as usize;
            let Some(source) = chunk.bytes().get(position..) else { break };
            let count = source.len().min(out.len() - filled);
            out[filled..filled + count].copy_from_slice(&source[..count]);
            filled += count;
            if count == source.len() {
                self.cursor += 1;
            }
        }
    }

    /// Puts the cursor on the chunk that holds `offset`. Packets of two paths are mostly filled from two places, in turn.
    #[inline]
    fn seek(&mut self, offset: u64) {
        let holds =
            |at: usize| self.chunks.get(at).is_some_and(|it| it.offset <= offset && offset < it.end());
        if holds(self.cursor) {
            return;
        }
        let found = if holds(self.other_cursor) { self.other_cursor } else { self.position(offset) };
        self.other_cursor = std::mem::replace(&mut self.cursor, found);
    }

    #[inline(never)]
    fn position(&self, offset: u64) -> usize {
        self.chunks.partition_point(|chunk| chunk.end() <= offset)
    }

    /// Frees everything below `offset`.
    #[inline]
    pub(super) fn release_to(&mut self, offset: u64) {
        self.start = self.start.max(offset.min(self.end));
        while let Some(front) = self.chunks.front() {
            if front.end() > self.start {
                break;
            }
            // A block that is still being filled is worth keeping only for what is in it.
            self.allocated -= front.allocated();
            self.chunks.pop_front();
            self.cursor = self.cursor.saturating_sub(1);
            self.other_cursor = self.other_cursor.saturating_sub(1);
        }
    }

    /// Drops everything from `offset` on.
    pub(super) fn truncate(&mut self, offset: u64) {
        self.end = self.end.min(offset.max(self.start));
        while let Some(back) = self.chunks.back_mut() {
            if back.offset < self.end {
                let keep = (self.end - back.offset) as usize;
                self.allocated -= back.allocated();
                match &mut back.content {
                    Content::Block(block) => {
                        block.truncate(keep);
                        block.shrink_to(keep.max(MIN_BLOCK));
                    }
                    Content::Shared(bytes) => bytes.truncate(keep),
                }
                self.allocated += back.allocated();
                break;
            }
            self.allocated -= back.allocated();
            self.chunks.pop_back();
        }
        (self.cursor, self.other_cursor) = (0, 0);
    }
}

#[cfg(test)]
mod tests;
