//! Integers and packet numbers, each case of small sizes: what random cases may miss.

use hawser_wire::packet::TruncatedPacketNumber;
use hawser_wire::reader::Reader;
use hawser_wire::varint;
use hawser_wire::writer::Writer;

/// Values next to every boundary of a length.
fn boundaries() -> impl Iterator<Item = u64> {
    [0, 1 << 6, 1 << 8, 1 << 14, 1 << 16, 1 << 30, 1 << 32, varint::MAX]
        .into_iter()
        .flat_map(|middle: u64| middle.saturating_sub(300)..=middle.saturating_add(300).min(varint::MAX))
}

#[test]
fn every_small_integer_is_written_as_short_as_may_be_and_read_again() {
    for value in (0..1 << 17).chain(boundaries()) {
        let mut buffer = [0; 8];
        let mut writer = Writer::new(&mut buffer);
        writer.write_varint(value).unwrap();
        let length = writer.position();
        let shortest = match value {
            0..0x40 => 1,
            0x40..0x4000 => 2,
            0x4000..0x4000_0000 => 4,
            _ => 8,
        };
        assert_eq!((length, varint::len(value)), (shortest, shortest), "{value}");
        assert_eq!(Reader::new(&buffer[..length]).read_varint(), Ok(value));
        for cut in 0..length {
            assert!(Reader::new(&buffer[..cut]).read_varint().is_err(), "{value} of {cut} bytes");
        }
    }
}

/// RFC 9000 section 16: two bits say the length, and longer forms mean the same.
#[test]
fn every_first_and_second_byte_is_read() {
    for first in 0..=u8::MAX {
        let length = varint::len_from_first_byte(first);
        assert_eq!(length, 1 << (first >> 6));
        for second in 0..=u8::MAX {
            let bytes = [first, second, 0, 0, 0, 0, 0, 7];
            let value = bytes[1..length]
                .iter()
                .fold(u64::from(first & 0x3f), |value, byte| value << 8 | u64::from(*byte));
            let mut reader = Reader::new(&bytes);
            assert_eq!(reader.read_varint(), Ok(value));
            assert_eq!(reader.read_rest().len(), bytes.len() - length);
        }
    }
}

/// The number that these low bytes can stand for and that is closest to the expected one; of two as close the smaller one (RFC 9000
/// appendix A.3).
fn closest(value: u64, window: u64, expected: u64) -> u64 {
    let candidates = (0..expected / window + 3).map(|high| high * window + value);
    candidates.min_by_key(|candidate| (candidate.abs_diff(expected), *candidate)).expect("three candidates")
}

#[test]
fn every_byte_is_expanded_to_the_closest_number() {
    for largest in (0..1_500).chain(65_000..66_100) {
        for value in 0..=u8::MAX {
            let expanded = TruncatedPacketNumber::from_bytes(&[value]).unwrap().expand(Some(largest));
            let expected = closest(value.into(), 256, largest + 1);
            // Where two are as close, either keeps within the window.
            let is_tie = expanded.abs_diff(largest + 1) == 128 && expected.abs_diff(largest + 1) == 128;
            assert!(expanded == expected || is_tie, "{value} after {largest}: {expanded} and {expected}");
        }
    }
}

/// Whatever a peer has received of what is not acknowledged, it recovers the number.
#[test]
fn every_number_is_recovered_by_whoever_has_anything_from_the_acknowledged_one_on() {
    for acknowledged in (0..200).chain(32_700..32_800) {
        for number in acknowledged + 1..acknowledged + 300 {
            let sent = TruncatedPacketNumber::new(number, Some(acknowledged));
            for received in acknowledged..number + 20 {
                assert_eq!(
                    sent.expand(Some(received)),
                    number,
                    "{number}, {acknowledged} acknowledged, {received} received"
                );
            }
        }
    }
    for number in 0..300 {
        let sent = TruncatedPacketNumber::new(number, None);
        assert!(
            (0..number).all(|received| sent.expand(Some(received)) == number) && sent.expand(None) == number
        );
    }
}
