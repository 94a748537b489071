//! What the sender says of each frame before its units come.

use hawser_policy::{StreamId, Time};
use hawser_ride::{FrameSet, Gop, TILES, in_order};

const MAGIC: u8 = 0x54;
/// Bytes before the units, and of a unit without sizes.
const HEAD: usize = 15;
const UNIT: usize = 19;
/// The largest tile-frame that is believed, bytes.
pub const MAX_SIZE: u32 = 1 << 26;

/// A frame that is released.
///
/// ```text
/// Index {
///   Magic (8) = 0x54,
///   Frame (32),             of the film
///   Released At (64),       nanoseconds by the sender's clock
///   Count (16),             of units, at most 200
///   Unit (..) ...,
/// }
/// Unit {
///   Stream (64),            on which it is; all ones: on none
///   Tile (16),
///   Until (8),              its last use is the display of this frame of the group of pictures
///   Members (64),           bit i: frame i of the group of pictures is part of it
///   Sizes (32) ...,         of these, bytes; references first, which is how they lie in the stream
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// The frame.
    pub frame: u32,
    /// When it was released, by the clock of the sender.
    pub released_at: Time,
    /// What is viewed of it.
    pub units: Vec<UnitEntry>,
}

/// A viewed tile-frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitEntry {
    /// The stream on which it is, if it is sent at all.
    pub stream: Option<StreamId>,
    /// The tile.
    pub tile: u16,
    /// The frame of the group of pictures with whose display its use ends.
    pub until: u8,
    /// The frames of the group of pictures that are in it.
    pub members: FrameSet,
    /// Their sizes, in the order in which they lie in the stream.
    pub sizes: Vec<u32>,
}

/// This is no index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoIndex;

impl Index {
    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![MAGIC];
        bytes.extend(self.frame.to_be_bytes());
        bytes.extend(self.released_at.as_nanos().to_be_bytes());
        bytes.extend((self.units.len() as u16).to_be_bytes());
        for unit in &self.units {
            bytes.extend(unit.stream.map_or(u64::MAX, |stream| stream.0).to_be_bytes());
            bytes.extend(unit.tile.to_be_bytes());
            bytes.push(unit.until);
            bytes.extend(unit.members.to_be_bytes());
            unit.sizes.iter().for_each(|size| bytes.extend(size.to_be_bytes()));
        }
        bytes
    }

    /// From the beginning of `bytes`, and how many of them it took; `None` if some are still missing.
    ///
    /// # Errors
    /// [`NoIndex`].
    pub fn decode(bytes: &[u8], gop: &Gop) -> Result<Option<(Self, usize)>, NoIndex> {
        let mut reader = Reader { bytes, at: 0 };
        if bytes.first().is_some_and(|magic| *magic != MAGIC) {
            return Err(NoIndex);
        }
        let Some(head) = reader.take(HEAD) else { return Ok(None) };
        let (frame, released_at) = (number(&head[1..5]) as u32, Time::from_nanos(number(&head[5..13])));
        let count = number(&head[13..]) as usize;
        if count > TILES {
            return Err(NoIndex);
        }
        let mut units = Vec::new();
        for _ in 0..count {
            let Some(fixed) = reader.take(UNIT) else { return Ok(None) };
            let stream = number(&fixed[..8]);
            let (tile, until, members) = (number(&fixed[8..10]) as u16, fixed[10], number(&fixed[11..]));
            let all = u64::MAX >> (64 - gop.len());
            let own = 1 << (frame as usize % gop.len());
            let is_sound = usize::from(tile) < TILES
                && usize::from(until) < gop.len()
                && members & !all == 0
                && members & own != 0;
            if !is_sound {
                return Err(NoIndex);
            }
            let Some(sizes) = reader.take(4 * in_order(gop, members).count()) else { return Ok(None) };
            let sizes: Vec<u32> = sizes.chunks_exact(4).map(|size| number(size) as u32).collect();
            if sizes.iter().any(|size| *size > MAX_SIZE) {
                return Err(NoIndex);
            }
            let stream = (stream != u64::MAX).then_some(StreamId(stream));
            units.push(UnitEntry { stream, tile, until, members, sizes });
        }
        Ok(Some((Index { frame, released_at, units }, reader.at)))
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at + count)?;
        self.at += count;
        Some(taken)
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
