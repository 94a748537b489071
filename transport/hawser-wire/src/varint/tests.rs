use proptest::prelude::*;

use super::*;
use crate::reader::{Reader, UnexpectedEnd};
use crate::writer::{VarintSize, Writer};

/// RFC 9000 appendix A.1.
#[test]
fn examples_of_the_standard() {
    for (bytes, value) in [
        ("c2197c5eff14e88c", 151_288_809_941_952_652),
        ("9d7f3e7d", 494_878_333),
        ("7bbd", 15_293),
        ("25", 37),
        ("4025", 37),
    ] {
        let bytes = hex::decode(bytes).unwrap();
        assert_eq!(Reader::new(&bytes).read_varint(), Ok(value));
        assert_eq!(len_from_first_byte(bytes[0]), bytes.len());
        let mut buffer = [0; 8];
        let mut w = Writer::new(&mut buffer);
        let size = [VarintSize::One, VarintSize::Two, VarintSize::Four, VarintSize::Eight];
        let size = size.into_iter().find(|size| size.bytes() == bytes.len()).unwrap();
        w.write_varint_sized(value, size).unwrap();
        assert_eq!(w.written(), bytes);
    }
}

#[test]
fn length_changes_at_the_limits() {
    for size in [1, 2, 4, 8] {
        let max = max_for_len(size).unwrap();
        assert_eq!(len(max), size);
        if size < 8 {
            assert_eq!(len(max + 1), 2 * size);
        }
    }
    assert_eq!(max_for_len(3), None);
}

proptest! {
    #[test]
    fn round_trip(bits in 0_u32..=62, value: u64) {
        let value = value & ((1 << bits) - 1);
        let mut buffer = [0; 8];
        let mut w = Writer::new(&mut buffer);
        w.write_varint(value).unwrap();
        prop_assert_eq!(w.position(), len(value));
        let mut r = Reader::new(w.written());
        prop_assert_eq!(r.read_varint(), Ok(value));
        prop_assert!(r.is_empty());
    }

    #[test]
    fn arbitrary_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..10)) {
        let mut r = Reader::new(&bytes);
        match r.read_varint() {
            Ok(value) => {
                prop_assert!(value <= MAX);
                prop_assert_eq!(r.position(), len_from_first_byte(bytes[0]));
            }
            Err(UnexpectedEnd) => {
                prop_assert_eq!(r.position(), 0);
                prop_assert!(bytes.is_empty() || bytes.len() < len_from_first_byte(bytes[0]));
            }
        }
    }
}

/// Every encoding of one and two bytes, and of four the first and the last 2^16 of each first byte, means the value that section 16 names;
/// every value up to 2^17 and around every power of two is written in the shortest one and read again.
#[test]
fn every_short_encoding_and_every_limit() {
    let read = |bytes: &[u8]| {
        let mut r = Reader::new(bytes);
        let value = r.read_varint();
        (value, r.position())
    };
    for first in 0..=u8::MAX {
        let high = u64::from(first & 0x3f);
        match len_from_first_byte(first) {
            1 => assert_eq!(read(&[first]), (Ok(high), 1)),
            2 => (0..=u8::MAX).for_each(|second| {
                assert_eq!(read(&[first, second]), (Ok(high << 8 | u64::from(second)), 2));
            }),
            4 => (0..=u16::MAX).for_each(|low| {
                for middle in [0, u8::MAX] {
                    let [a, b] = low.to_be_bytes();
                    let value = high << 24 | u64::from(middle) << 16 | u64::from(low);
                    assert_eq!(read(&[first, middle, a, b]), (Ok(value), 4));
                }
            }),
            8 => assert_eq!(read(&[first, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]).1, 8),
            _ => unreachable!("a length that does not exist"),
        }
        for missing in 0..len_from_first_byte(first) {
            assert_eq!(read(&[first, 0, 0, 0, 0, 0, 0, 0][..missing]), (Err(UnexpectedEnd), 0));
        }
    }
    let around = |bit: u32| (1_u64 << bit).saturating_sub(3)..=((1 << bit) + 3).min(MAX);
    for value in (0..=1 << 17).chain((0..62).flat_map(around)).chain(MAX - 3..=MAX) {
        let mut buffer = [0; 8];
        let mut w = Writer::new(&mut buffer);
        w.write_varint(value).unwrap();
        let shortest = [1, 2, 4, 8].into_iter().find(|size| value <= max_for_len(*size).unwrap());
        assert_eq!((w.position(), read(w.written())), (shortest.unwrap(), (Ok(value), shortest.unwrap())));
    }
}
