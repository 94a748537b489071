//! H.264: the record of its parameter sets, and the picture's size.

use bytes::{BufMut, Bytes, BytesMut};

use super::bits::{Bits, without_emulation};

/// Parameter sets of one kind at most.
const MAX_SETS: usize = 32;
/// Profiles whose parameter sets say which colours there are (H.264 section 7.3.2.1.1).
const WITH_CHROMA: [u32; 13] = [100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135];
/// Frames of a cycle of picture order counts at most (section 7.4.2.1.1).
const MAX_CYCLE: u32 = 255;

/// The parameter sets in a decoder's record (`avcC`), in the order in which a decoder takes them.
pub(super) fn sets(record: &[u8]) -> Option<Vec<&[u8]>> {
    let mut found = Vec::new();
    let mut rest = record.get(5..)?;
    for mask in [0x1f, 0xff] {
        let (count, behind) = rest.split_first()?;
        rest = behind;
        for _ in 0..usize::from(count & mask).min(MAX_SETS) {
            let length = usize::from(u16::from_be_bytes(*rest.first_chunk()?));
            found.push(rest.get(2..2 + length)?);
            rest = &rest[2 + length..];
        }
    }
    Some(found)
}

/// The record for these parameter sets, with lengths of four bytes.
pub(super) fn record(sequence: &[u8], picture: &[u8]) -> Option<Bytes> {
    let profile = sequence.get(1..4)?;
    let mut record = BytesMut::new();
    record.put_u8(1);
    record.put_slice(profile);
    record.put_slice(&[0xff, 0xe1]);
    record.put_u16(u16::try_from(sequence.len()).ok()?);
    record.put_slice(sequence);
    record.put_u8(1);
    record.put_u16(u16::try_from(picture.len()).ok()?);
    record.put_slice(picture);
    // High profiles say how colours are sampled (ISO/IEC 14496-15 section 5.3.3.1).
    if matches!(profile[0], 100 | 110 | 122 | 144) {
        let (chroma, depths) = colours(sequence)?;
        record.put_slice(&[0xfc | chroma, 0xf8 | depths[0], 0xf8 | depths[1], 0]);
    }
    Some(record.freeze())
}

/// Sampling of the colours, and bits of a sample beyond eight.
fn colours(sequence: &[u8]) -> Option<(u8, [u8; 2])> {
    let data = without_emulation(sequence);
    let mut bits = Bits::new(&data);
    bits.skip(32)?;
    bits.unsigned()?;
    let chroma = bits.unsigned()?;
    if chroma == 3 {
        bits.bit()?;
    }
    let depths = [bits.unsigned()?, bits.unsigned()?];
    Some(((chroma & 3) as u8, depths.map(|depth| (depth & 7) as u8)))
}

/// Width and height in pixels, from a sequence parameter set (section 7.3.2.1.1).
pub(super) fn size(sequence: &[u8]) -> Option<(u32, u32)> {
    let data = without_emulation(sequence);
    let mut bits = Bits::new(&data);
    bits.skip(8)?;
    let profile = bits.number(8)?;
    bits.skip(16)?;
    bits.unsigned()?;
    let mut chroma = 1;
    if WITH_CHROMA.contains(&profile) {
        chroma = bits.unsigned()?;
        if chroma == 3 {
            bits.bit()?;
        }
        // Bits of a sample of brightness and of colour.
        bits.unsigned()?;
        bits.unsigned()?;
        bits.bit()?;
        if bits.bit()? {
            scaling_lists(&mut bits, if chroma == 3 { 12 } else { 8 })?;
        }
    }
    bits.unsigned()?;
    match bits.unsigned()? {
        0 => drop(bits.unsigned()?),
        1 => {
            bits.bit()?;
            bits.signed()?;
            bits.signed()?;
            for _ in 0..bits.unsigned()?.min(MAX_CYCLE) {
                bits.signed()?;
            }
        }
        _ => {}
    }
    bits.unsigned()?;
    bits.bit()?;
    let (across, down) = (bits.unsigned()?.checked_add(1)?, bits.unsigned()?.checked_add(1)?);
    let has_frames_only = bits.bit()?;
    if !has_frames_only {
        bits.bit()?;
    }
    bits.bit()?;
    let mut cut = [0; 4];
    if bits.bit()? {
        for edge in &mut cut {
            *edge = bits.unsigned()?;
        }
    }
    let fields = if has_frames_only { 1 } else { 2 };
    let (unit_x, unit_y) = match chroma {
        1 => (2, 2 * fields),
        2 => (2, fields),
        _ => (1, fields),
    };
    let width = across.checked_mul(16)?.checked_sub((cut[0].checked_add(cut[1])?).checked_mul(unit_x)?)?;
    let height =
        down.checked_mul(16 * fields)?.checked_sub((cut[2].checked_add(cut[3])?).checked_mul(unit_y)?)?;
    Some((width, height))
}

fn scaling_lists(bits: &mut Bits<'_>, count: usize) -> Option<()> {
    for index in 0..count {
        if !bits.bit()? {
            continue;
        }
        let (mut last, mut next) = (8_i64, 8_i64);
        for _ in 0..if index < 6 { 16 } else { 64 } {
            if next != 0 {
                next = (last + bits.signed()? + 256).rem_euclid(256);
            }
            last = if next == 0 { last } else { next };
        }
    }
    Some(())
}
