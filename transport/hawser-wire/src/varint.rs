//! Variable-length integers, RFC 9000 section 16: the two top bits of the first byte give the length.

/// The largest value a variable-length integer can carry, 2^62 - 1.
pub const MAX: u64 = (1 << 62) - 1;

/// Bytes of the shortest encoding of `value`: 1, 2, 4 or 8.
///
/// Values above [`MAX`] cannot be encoded; they count as 8.
#[inline]
pub const fn len(value: u64) -> usize {
    if value < 1 << 6 {
        1
    } else if value < 1 << 14 {
        2
    } else if value < 1 << 30 {
        4
    } else {
        8
    }
}

/// Bytes of the encoding that starts with `first`.
#[inline]
pub const fn len_from_first_byte(first: u8) -> usize {
    1 << (first >> 6)
}

/// The largest value that an encoding of `size` bytes can carry; `None` if no encoding has that size.
#[inline]
pub const fn max_for_len(size: usize) -> Option<u64> {
    match size {
        1 => Some((1 << 6) - 1),
        2 => Some((1 << 14) - 1),
        4 => Some((1 << 30) - 1),
        8 => Some(MAX),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
