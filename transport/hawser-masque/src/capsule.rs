//! Capsules (RFC 9297 section 3): type, length and value, one after the other on the stream of a request.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use hawser_wire::{Reader, varint};

/// An HTTP Datagram within the stream (RFC 9297 section 3.5).
pub const DATAGRAM: u64 = 0x00;

/// A capsule of a type that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capsule {
    /// Its type.
    pub kind: u64,
    /// Its value.
    pub value: Bytes,
}

/// Why no more capsules can be read: the request is malformed (RFC 9297 section 3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CapsuleError {
    /// One of a type that was asked for is longer than it may be.
    #[error("a capsule of type {kind:#x} and {length} bytes: expected at most {most}")]
    TooLong {
        /// Its type.
        kind: u64,
        /// Its length.
        length: u64,
        /// The most that is read.
        most: usize,
    },
    /// The stream ended within a capsule.
    #[error("the stream ended within a capsule")]
    Truncated,
}

/// Most bytes of type and length.
const MAX_HEADER: usize = 16;

/// Reads capsules from the bytes of a stream, however these are cut. One capsule of bounded length is held at most; those of
/// other types are skipped as they come (RFC 9297 section 3.2).
#[derive(Debug)]
pub struct Capsules {
    kinds: &'static [u64],
    most: usize,
    input: Bytes,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Within type and length.
    Header(BytesMut),
    /// Within a value that is wanted.
    Value { kind: u64, left: usize, value: BytesMut },
    /// Within one that is not.
    Skip { left: u64 },
}

impl Capsules {
    /// Of these types, of at most so many bytes each.
    pub fn new(kinds: &'static [u64], most: usize) -> Self {
        Capsules { kinds, most, input: Bytes::new(), state: State::Header(BytesMut::new()) }
    }

    /// Takes what came, when [`next`](Self::next) has nothing left.
    pub fn push(&mut self, input: Bytes) {
        debug_assert!(self.input.is_empty(), "pushed before all was read");
        self.input = input;
    }

    /// The next capsule; `None` when more must come first.
    ///
    /// # Errors
    /// [`CapsuleError::TooLong`].
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Capsule>, CapsuleError> {
        loop {
            match &mut self.state {
                State::Header(header) => {
                    let Some((kind, length)) = Self::header(header, &mut self.input) else { return Ok(None) };
                    self.state = self.begin(kind, length)?;
                }
                State::Value { kind, left, value } => {
                    let count = self.input.len().min(*left);
                    if value.is_empty() && count == *left {
                        // Whole in one piece: no copy.
                        let capsule = Capsule { kind: *kind, value: self.input.split_to(count) };
                        self.state = State::Header(BytesMut::new());
                        return Ok(Some(capsule));
                    }
                    value.extend_from_slice(&self.input.split_to(count));
                    *left -= count;
                    if *left > 0 {
                        return Ok(None);
                    }
                    let capsule = Capsule { kind: *kind, value: std::mem::take(value).freeze() };
                    self.state = State::Header(BytesMut::new());
                    return Ok(Some(capsule));
                }
                State::Skip { left } => {
                    let count = usize::try_from(*left).unwrap_or(usize::MAX).min(self.input.len());
                    self.input.advance(count);
                    *left -= count as u64;
                    if *left > 0 {
                        return Ok(None);
                    }
                    self.state = State::Header(BytesMut::new());
                }
            }
        }
    }

    /// The stream has ended.
    ///
    /// # Errors
    /// [`CapsuleError::Truncated`].
    pub fn end(&self) -> Result<(), CapsuleError> {
        match &self.state {
            State::Header(header) if header.is_empty() && self.input.is_empty() => Ok(()),
            _ => Err(CapsuleError::Truncated),
        }
    }

    /// Type and length, once both have come.
    fn header(header: &mut BytesMut, input: &mut Bytes) -> Option<(u64, u64)> {
        while input.has_remaining() && header.len() < MAX_HEADER {
            header.put_u8(input.get_u8());
            let mut reader = Reader::new(header);
            if let (Ok(kind), Ok(length)) = (reader.read_varint(), reader.read_varint()) {
                return Some((kind, length));
            }
        }
        None
    }

    fn begin(&self, kind: u64, length: u64) -> Result<State, CapsuleError> {
        if !self.kinds.contains(&kind) {
            return Ok(State::Skip { left: length });
        }
        match usize::try_from(length) {
            Ok(left) if left <= self.most => Ok(State::Value { kind, left, value: BytesMut::new() }),
            _ => Err(CapsuleError::TooLong { kind, length, most: self.most }),
        }
    }
}

/// A capsule as bytes.
pub fn encode(kind: u64, value: &[u8]) -> Bytes {
    let mut capsule = BytesMut::with_capacity(MAX_HEADER + value.len());
    put_varint(&mut capsule, kind);
    put_varint(&mut capsule, value.len() as u64);
    capsule.put_slice(value);
    capsule.freeze()
}

/// A variable-length integer (RFC 9000 section 16); what is too large becomes the largest.
pub(crate) fn put_varint(buffer: &mut BytesMut, value: u64) {
    let value = value.min(varint::MAX);
    match varint::len(value) {
        1 => buffer.put_u8(value as u8),
        2 => buffer.put_u16(value as u16 | 0x4000),
        4 => buffer.put_u32(value as u32 | 0x8000_0000),
        _ => buffer.put_u64(value | 0xc000_0000_0000_0000),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MOST: usize = 300;

    /// What is read of these bytes, cut into pieces of this size.
    fn read(bytes: &[u8], piece: usize) -> (Vec<Capsule>, Result<(), CapsuleError>) {
        let (mut capsules, mut found) = (Capsules::new(&[DATAGRAM, 0x1234_5678], MOST), Vec::new());
        for piece in bytes.chunks(piece) {
            capsules.push(Bytes::copy_from_slice(piece));
            loop {
                match capsules.next() {
                    Ok(Some(capsule)) => found.push(capsule),
                    Ok(None) => break,
                    Err(error) => return (found, Err(error)),
                }
            }
        }
        (found, capsules.end())
    }

    #[test]
    fn unknown_types_are_skipped_whatever_their_length() {
        let mut bytes = BytesMut::new();
        bytes.put_slice(&encode(0x29, &[7; 1000]));
        bytes.put_slice(&encode(DATAGRAM, b"x"));
        bytes.put_slice(&encode(0x2a, b""));
        let capsule = Capsule { kind: DATAGRAM, value: Bytes::from_static(b"x") };
        assert_eq!(read(&bytes, 3), (vec![capsule], Ok(())));
    }

    #[test]
    fn long_and_cut_capsules_are_refused() {
        let long = encode(DATAGRAM, &[0; MOST + 1]);
        let error = CapsuleError::TooLong { kind: 0, length: MOST as u64 + 1, most: MOST };
        assert_eq!(read(&long, 10_000), (vec![], Err(error)));
        for length in 1..5 {
            assert_eq!(
                read(&encode(DATAGRAM, b"abc")[..length], 1).1,
                Err(CapsuleError::Truncated),
                "{length}"
            );
        }
        assert_eq!(read(&[0x29, 0x05, 1], 3).1, Err(CapsuleError::Truncated));
    }

    fn capsule() -> impl Strategy<Value = (u64, Vec<u8>)> {
        let kind = prop_oneof![Just(DATAGRAM), Just(0x1234_5678), 0..=varint::MAX];
        (kind, proptest::collection::vec(any::<u8>(), 0..MOST))
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_however_it_is_cut(
            written in proptest::collection::vec(capsule(), 0..8),
            piece in 1..500_usize,
        ) {
            let bytes: Vec<u8> = written.iter().flat_map(|(kind, value)| encode(*kind, value)).collect();
            let wanted = written.into_iter().filter(|(kind, _)| [DATAGRAM, 0x1234_5678].contains(kind));
            let wanted: Vec<_> = wanted.map(|(kind, value)| Capsule { kind, value: value.into() }).collect();
            prop_assert_eq!(read(&bytes, piece), (wanted, Ok(())));
        }

        #[test]
        fn any_bytes_are_read_the_same_however_they_are_cut(bytes: Vec<u8>, piece in 1..50_usize) {
            prop_assert_eq!(read(&bytes, piece), read(&bytes, 10_000));
        }
    }
}
