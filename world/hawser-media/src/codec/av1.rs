//! AV1: the picture's size, from the sequence header in a decoder's record (`av1C`).

use super::bits::Bits;

/// Type of the sequence header (AV1 specification, section 6.2.2).
const SEQUENCE_HEADER: u8 = 1;

/// Width and height in pixels.
pub(super) fn size(record: &[u8]) -> Option<(u32, u32)> {
    let units = record.get(4..)?;
    let (first, rest) = units.split_first()?;
    if first >> 3 & 0xf != SEQUENCE_HEADER {
        return None;
    }
    // An extension, and a length in groups of seven bits.
    let rest = if first & 4 == 0 { rest } else { rest.get(1..)? };
    let rest = if first & 2 == 0 {
        rest
    } else {
        let length = rest.iter().take(8).position(|byte| byte & 0x80 == 0)?;
        rest.get(length + 1..)?
    };
    sequence_header(&mut Bits::new(rest))
}

/// Section 5.5.1, up to the size.
fn sequence_header(bits: &mut Bits<'_>) -> Option<(u32, u32)> {
    bits.skip(3 + 1)?;
    if bits.bit()? {
        bits.skip(5)?;
        return frame_size(bits);
    }
    let mut has_model = false;
    let mut delay_bits = 0;
    if bits.bit()? {
        bits.skip(64)?;
        if bits.bit()? {
            bits.unsigned()?;
        }
        has_model = bits.bit()?;
        if has_model {
            delay_bits = bits.number(5)? as usize + 1;
            bits.skip(32 + 5 + 5)?;
        }
    }
    let has_display_delay = bits.bit()?;
    for _ in 0..=bits.number(5)? {
        bits.skip(12)?;
        if bits.number(5)? > 7 {
            bits.skip(1)?;
        }
        if has_model && bits.bit()? {
            bits.skip(2 * delay_bits + 1)?;
        }
        if has_display_delay && bits.bit()? {
            bits.skip(4)?;
        }
    }
    frame_size(bits)
}

fn frame_size(bits: &mut Bits<'_>) -> Option<(u32, u32)> {
    let (width_bits, height_bits) = (bits.number(4)? + 1, bits.number(4)? + 1);
    Some((bits.number(width_bits)? + 1, bits.number(height_bits)? + 1))
}
