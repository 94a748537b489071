//! H.265: the record of its parameter sets, and the picture's size.

use bytes::{BufMut, Bytes, BytesMut};

use super::bits::{Bits, without_emulation};

/// Kinds of parameter sets and of sets of one kind at most.
const MAX_SETS: usize = 64;
/// Types of network abstraction layer units (H.265 table 7-1).
pub(super) const VIDEO_SET: u8 = 32;
pub(super) const SEQUENCE_SET: u8 = 33;
pub(super) const PICTURE_SET: u8 = 34;

/// The type of a unit.
pub(super) fn kind(unit: &[u8]) -> u8 {
    unit.first().map_or(0, |first| first >> 1 & 0x3f)
}

/// The parameter sets in a decoder's record (`hvcC`).
pub(super) fn sets(record: &[u8]) -> Option<Vec<&[u8]>> {
    let mut found = Vec::new();
    let (arrays, mut rest) = record.get(22..)?.split_first()?;
    for _ in 0..*arrays {
        let count = usize::from(u16::from_be_bytes(*rest.get(1..)?.first_chunk()?));
        rest = rest.get(3..)?;
        for _ in 0..count {
            let length = usize::from(u16::from_be_bytes(*rest.first_chunk()?));
            found.push(rest.get(2..2 + length)?);
            rest = &rest[2 + length..];
            if found.len() > MAX_SETS {
                return None;
            }
        }
    }
    Some(found)
}

/// What a sequence parameter set says first (section 7.3.2.2.1).
struct Front {
    /// General profile, compatibility, constraints and level: 12 bytes, as they stand in the record.
    profile: [u8; 12],
    layers: u32,
    is_nested: bool,
    chroma: u32,
    size: (u32, u32),
    depths: [u32; 2],
}

fn front(sequence: &[u8]) -> Option<Front> {
    let data = without_emulation(sequence);
    let mut bits = Bits::new(&data);
    bits.skip(16 + 4)?;
    let (layers, is_nested) = (bits.number(3)?, bits.bit()?);
    let profile = *data.get(3..)?.first_chunk()?;
    bits.skip(96)?;
    let mut sub_layers = Vec::new();
    for _ in 0..layers {
        sub_layers.push((bits.bit()?, bits.bit()?));
    }
    if layers > 0 {
        bits.skip(2 * (8 - layers as usize))?;
    }
    for (has_profile, has_level) in sub_layers {
        bits.skip(88 * usize::from(has_profile) + 8 * usize::from(has_level))?;
    }
    bits.unsigned()?;
    let chroma = bits.unsigned()?;
    if chroma == 3 {
        bits.bit()?;
    }
    let (width, height) = (bits.unsigned()?, bits.unsigned()?);
    let mut cut = [0; 4];
    if bits.bit()? {
        for edge in &mut cut {
            *edge = bits.unsigned()?;
        }
    }
    let (unit_x, unit_y) = (if matches!(chroma, 1 | 2) { 2 } else { 1 }, if chroma == 1 { 2 } else { 1 });
    let width = width.checked_sub(cut[0].checked_add(cut[1])?.checked_mul(unit_x)?)?;
    let height = height.checked_sub(cut[2].checked_add(cut[3])?.checked_mul(unit_y)?)?;
    let depths = [bits.unsigned()?, bits.unsigned()?];
    Some(Front { profile, layers, is_nested, chroma, size: (width, height), depths })
}

/// Width and height in pixels, from a sequence parameter set.
pub(super) fn size(sequence: &[u8]) -> Option<(u32, u32)> {
    front(sequence).map(|front| front.size)
}

/// The record for these parameter sets: of the video, the sequence and the picture (ISO/IEC 14496-15 section 8.3.3.1).
pub(super) fn record(sets: [&[u8]; 3]) -> Option<Bytes> {
    let front = front(sets[1])?;
    let mut record = BytesMut::new();
    record.put_u8(1);
    record.put_slice(&front.profile);
    // No segmentation, parallelism unknown.
    record.put_slice(&[0xf0, 0, 0xfc, 0xfc | (front.chroma & 3) as u8]);
    record.put_slice(&front.depths.map(|depth| 0xf8 | (depth & 7) as u8));
    record.put_u16(0);
    // Lengths of four bytes.
    record.put_u8(((front.layers + 1) as u8 & 7) << 3 | u8::from(front.is_nested) << 2 | 3);
    record.put_u8(3);
    for (kind, set) in [VIDEO_SET, SEQUENCE_SET, PICTURE_SET].into_iter().zip(sets) {
        record.put_u8(0x80 | kind);
        record.put_u16(1);
        record.put_u16(u16::try_from(set.len()).ok()?);
        record.put_slice(set);
    }
    Some(record.freeze())
}
