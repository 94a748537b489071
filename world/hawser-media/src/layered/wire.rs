//! What stands at the beginning of a layer, and what the receiver asks for.

use hawser_policy::Time;

use super::{LAYERS, RATES};

/// Bytes of a header.
pub const HEADER_LENGTH: usize = 27;
/// The largest layer that is believed: four seconds of 1 Gbit/s.
pub const MAX_LAYER: u32 = 500_000_000;

const MAGIC: u8 = 0x4c;

/// The header of a layer of a frame.
///
/// ```text
/// Layer Header {
///   Magic (8) = 0x4c,
///   Number (32),            of the frame
///   Layer (8),              0 to 2
///   Representation (8),     1 to 8
///   Sizes (32) ...,         of the frame's three layers, bytes
///   Written At (64),        nanoseconds by the sender's clock
/// }
/// ```
///
/// The other way the receiver writes a stream of bytes, each the representation of the next segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Number of the frame.
    pub number: u32,
    /// The layer that follows: 0 is the base layer.
    pub layer: u8,
    /// The representation, 1 to 8.
    pub representation: u8,
    /// Bytes of all layers of the frame.
    pub sizes: [u32; LAYERS],
    /// When the frame was released, by the clock of the sender.
    pub written_at: Time,
}

impl Header {
    /// As bytes.
    pub fn encode(&self) -> [u8; HEADER_LENGTH] {
        let mut bytes = [0; HEADER_LENGTH];
        bytes[0] = MAGIC;
        bytes[1..5].copy_from_slice(&self.number.to_be_bytes());
        (bytes[5], bytes[6]) = (self.layer, self.representation);
        for (field, size) in bytes[7..19].chunks_exact_mut(4).zip(self.sizes) {
            field.copy_from_slice(&size.to_be_bytes());
        }
        bytes[19..].copy_from_slice(&self.written_at.as_nanos().to_be_bytes());
        bytes
    }

    /// From bytes; `None` if they are no header.
    pub fn decode(bytes: &[u8; HEADER_LENGTH]) -> Option<Self> {
        let word = |at: usize| bytes[at..].first_chunk().copied().map(u32::from_be_bytes);
        let header = Header {
            number: word(1)?,
            layer: bytes[5],
            representation: bytes[6],
            sizes: [word(7)?, word(11)?, word(15)?],
            written_at: Time::from_nanos(u64::from_be_bytes(*bytes[19..].first_chunk()?)),
        };
        let is_sound = bytes[0] == MAGIC
            && usize::from(header.layer) < LAYERS
            && (1..=RATES.len()).contains(&usize::from(header.representation))
            && header.sizes.iter().all(|size| *size <= MAX_LAYER);
        is_sound.then_some(header)
    }

    /// Bytes of the layer that follows.
    pub fn size(&self) -> u64 {
        self.sizes.get(usize::from(self.layer)).copied().unwrap_or(0).into()
    }
}
