//! The byte streams that carry TLS messages, one pair per encryption level (RFC 9001 section 4.1.3).

use std::collections::BTreeMap;

use crate::{Code, TransportError};

/// Bytes beyond the next expected one that are kept. A server flight with a long certificate chain fits in a fraction;
/// RFC 9000 section 7.5 asks for at least 4096.
pub(crate) const MAX_CRYPTO_BUFFER: u64 = 64 * 1024;

/// Disjoint pieces kept while something before them is missing.
const MAX_CRYPTO_PIECES: usize = 64;

/// What we send at one level. Everything is kept until the level is discarded: a handshake is a few kilobytes.
#[derive(Debug, Default)]
pub(crate) struct CryptoSend {
    data: Vec<u8>,
    /// Ranges to send, sorted and disjoint; the last one grows as data is appended.
    pending: Vec<(u64, u64)>,
}

impl CryptoSend {
    pub(crate) fn append(&mut self, data: &[u8]) {
        let start = self.data.len() as u64;
        self.data.extend_from_slice(data);
        self.queue(start, self.data.len() as u64);
    }

    pub(crate) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Where the next piece to send starts.
    pub(crate) fn next_offset(&self) -> Option<u64> {
        self.pending.first().map(|&(start, _)| start)
    }

    /// The next piece to send, at most `max` bytes: its offset and contents. Marks it as sent.
    pub(crate) fn take(&mut self, max: usize) -> Option<(u64, &[u8])> {
        let &(start, end) = self.pending.first()?;
        let length = (end - start).min(max as u64);
        if length == 0 {
            return None;
        }
        if start + length == end {
            self.pending.remove(0);
        } else {
            self.pending[0].0 = start + length;
        }
        Some((start, self.data.get(start as usize..(start + length) as usize)?))
    }

    /// A packet with this piece was lost, or must be repeated in a probe.
    pub(crate) fn on_lost(&mut self, offset: u64, length: u32) {
        self.queue(offset, offset + u64::from(length));
    }

    /// Queues everything again: used for handshake probes, when nothing else is left to send.
    pub(crate) fn resend_all(&mut self) {
        self.pending.clear();
        self.queue(0, self.data.len() as u64);
    }

    fn queue(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        let at = self.pending.partition_point(|&(_, e)| e < start);
        let mut merged = (start, end);
        let mut last = at;
        while let Some(&(s, e)) = self.pending.get(last) {
            if s > merged.1 {
                break;
            }
            merged = (merged.0.min(s), merged.1.max(e));
            last += 1;
        }
        self.pending.splice(at..last, [merged]);
    }
}

/// What we receive at one level, put in order.
#[derive(Debug, Default)]
pub(crate) struct CryptoReceive {
    next: u64,
    pieces: BTreeMap<u64, Vec<u8>>,
}

impl CryptoReceive {
    /// Takes a CRYPTO frame; the pieces that have become contiguous come out of [`read`](Self::read).
    //= rfc9000-7.5-1: 4096 bytes of CRYPTO data out of order are kept
    //= rfc9000-7.5-2: CRYPTO data beyond the buffer: CRYPTO_BUFFER_EXCEEDED
    pub(crate) fn insert(&mut self, offset: u64, data: &[u8]) -> Result<(), TransportError> {
        let end = offset + data.len() as u64;
        if end > self.next + MAX_CRYPTO_BUFFER {
            return Err(TransportError::new(
                Code::CRYPTO_BUFFER_EXCEEDED,
                "CRYPTO data too far ahead of what was received in order",
            ));
        }
        if end <= self.next || data.is_empty() {
            return Ok(());
        }
        let longer = self.pieces.get(&offset).is_none_or(|piece| piece.len() < data.len());
        if longer {
            // Pieces may overlap, so their sum is bounded as well as their reach.
            let held: usize = self.pieces.values().map(Vec::len).sum();
            let too_many = self.pieces.len() >= MAX_CRYPTO_PIECES && !self.pieces.contains_key(&offset);
            if too_many || (held + data.len()) as u64 > 2 * MAX_CRYPTO_BUFFER {
                return Err(TransportError::new(
                    Code::CRYPTO_BUFFER_EXCEEDED,
                    "CRYPTO data in too many separate pieces",
                ));
            }
            self.pieces.insert(offset, data.to_vec());
        }
        Ok(())
    }

    /// The next contiguous piece.
    pub(crate) fn read(&mut self) -> Option<Vec<u8>> {
        loop {
            let entry = self.pieces.first_entry()?;
            let offset = *entry.key();
            if offset > self.next {
                return None;
            }
            let mut piece = entry.remove();
            let known = (self.next - offset) as usize;
            if known < piece.len() {
                piece.drain(..known);
                self.next += piece.len() as u64;
                return Some(piece);
            }
        }
    }

    /// Whether bytes wait for earlier ones; at a key change this is a violation (RFC 9001 section 4.1.3).
    pub(crate) fn has_gap(&self) -> bool {
        !self.pieces.is_empty()
    }
}
