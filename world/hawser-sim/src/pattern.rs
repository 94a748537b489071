//! What the bulk applications send, so that a receiver can check every byte.

use std::sync::LazyLock;

use bytes::Bytes;

/// A prime, so that no packet size, frame size or window divides it: bytes at a wrong offset are wrong bytes.
const PERIOD: usize = 65_521;

/// Two periods: any offset has a whole period ahead.
static TABLE: LazyLock<Bytes> = LazyLock::new(|| {
    let byte = |index: u64| (index.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
    let period: Vec<u8> = (0..PERIOD as u64).map(byte).collect();
    Bytes::from([&period[..], &period[..]].concat())
});

/// The byte at an offset of a stream.
pub fn pattern(offset: u64) -> u8 {
    TABLE[position(offset)]
}

/// The bytes from `offset` on, `length` of them but at most 65,521. Shares one table: nothing is copied.
pub fn pattern_bytes(offset: u64, length: u64) -> Bytes {
    let start = position(offset);
    TABLE.slice(start..start + length.min(PERIOD as u64) as usize)
}

/// The first offset in `data`, which begins at `offset`, where it is not the pattern.
pub fn first_mismatch(offset: u64, data: &[u8]) -> Option<u64> {
    let mut at = offset;
    for chunk in data.chunks(PERIOD) {
        let start = position(at);
        if *chunk != TABLE[start..start + chunk.len()] {
            return (at..)
                .zip(chunk)
                .find(|(offset, byte)| pattern(*offset) != **byte)
                .map(|(offset, _)| offset);
        }
        at += chunk.len() as u64;
    }
    None
}

fn position(offset: u64) -> usize {
    (offset % PERIOD as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_byte_or_a_wrong_place_is_found() {
        let mut data: Vec<u8> = (1000..201_000).map(pattern).collect();
        assert_eq!(pattern_bytes(1000, 70_000), data[..PERIOD]);
        assert_eq!(first_mismatch(1000, &data), None);
        assert!(first_mismatch(1001, &data).is_some_and(|at| at < 1020));
        data[150_000] ^= 1;
        assert_eq!(first_mismatch(1000, &data), Some(151_000));
    }
}
