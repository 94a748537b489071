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
