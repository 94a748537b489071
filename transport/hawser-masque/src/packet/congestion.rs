//! Marks of congestion (RFC 3168) from the way of a tunnel in the packets that it carries.

use bytes::Bytes;

use super::checksum::Sum;

/// The two bits of ECN in a traffic class, which mean "congestion experienced" when both are set; Not-ECT has neither.
const BITS: u8 = 0b11;

/// A packet that came in another one which was marked on the way: its sender hears of that if it can (RFC 6040 section 4.2), so ECT(0) and
/// ECT(1) become CE. One whose sender does not take part stays as it is. A tunnel that copies the field to the outer packet has to drop it,
/// since nobody else would slow down; here the outer packet is of a connection whose congestion controller answers the mark.
pub fn marked(bytes: Bytes) -> Bytes {
    let class = match *bytes {
        [first, class, ..] if first >> 4 == 4 => class,
        [first, second, ..] if first >> 4 == 6 => first << 4 | second >> 4,
        _ => return bytes,
    };
    if matches!(class & BITS, 0 | BITS) {
        return bytes;
    }
    let mut changed = bytes.to_vec();
    if let [first, second, ..] = changed.as_mut_slice() {
        if *first >> 4 == 4 {
            *second |= BITS;
        } else {
            *second |= BITS << 4;
        }
    }
    if changed.first().is_some_and(|first| first >> 4 == 4) {
        // RFC 1624, of the word that has changed.
        let words = bytes.get(..2).zip(changed.get(..2)).zip(bytes.get(10..12));
        let sum = words.map(|((before, after), old)| {
            let old = old.first_chunk::<2>().map_or(0, |old| u16::from_be_bytes(*old));
            !Sum::default().remove(before).add(after).add_word(!old).fold()
        });
        if let (Some(sum), Some(place)) = (sum, changed.get_mut(10..12)) {
            place.copy_from_slice(&sum.to_be_bytes());
        }
    }
    changed.into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::read;
    use super::*;

    /// A packet of this class without payload.
    fn packet(is_v4: bool, class: u8, number: u16) -> Bytes {
        if !is_v4 {
            let mut bytes = vec![0x60 | class >> 4, class << 4, 0, 0, 0, 0, 59, 64];
            bytes.resize(40, 1);
            return bytes.into();
        }
        let [high, low] = number.to_be_bytes();
        let mut bytes = vec![0x45, class, 0, 20, high, low, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        let sum = !Sum::default().add(&bytes).fold();
        bytes[10..12].copy_from_slice(&sum.to_be_bytes());
        bytes.into()
    }

    proptest! {
        #[test]
        fn who_takes_part_hears_of_congestion_and_others_get_their_packets(is_v4: bool, class: u8, number: u16) {
            let before = packet(is_v4, class, number);
            let after = marked(before.clone());
            let expected = if class & BITS == 0 { class } else { class | BITS };
            prop_assert_eq!(read(&after).unwrap().traffic_class, expected);
            prop_assert!(!is_v4 || Sum::default().add(&after[..20]).fold() == 0xffff);
            prop_assert_eq!(read(&after).unwrap().destination, read(&before).unwrap().destination);
        }

        #[test]
        fn any_bytes_may_be_marked(bytes: Vec<u8>) {
            let length = bytes.len();
            prop_assert_eq!(marked(bytes.into()).len(), length);
        }
    }
}
