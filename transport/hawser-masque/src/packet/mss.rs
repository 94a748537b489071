//! The largest segment that a TCP connection through a tunnel sends.

use super::checksum::Sum;
use super::{Packet, segment};

/// Bytes of a TCP header without options.
const TCP_HEADER: usize = 20;
const END: u8 = 0;
const NOTHING: u8 = 1;
const MSS: u8 = 2;

/// Returns a SYN with a smaller maximum segment size, of so many bytes; `None` of other packets, and of one that asks for
/// no more (RFC 9293 section 3.7.1). Its sum stays as right or wrong as it was.
///
/// Paths of which "packet too big" is filtered would swallow what is larger.
pub fn clamp_mss(bytes: &[u8], packet: &Packet, most: u16) -> Option<Vec<u8>> {
    if !segment(bytes, packet)?.is_syn {
        return None;
    }
    let at = option(bytes, packet)?;
    let value = |bytes: &[u8]| bytes.get(at..)?.first_chunk::<2>().copied();
    if u16::from_be_bytes(value(bytes)?) <= most {
        return None;
    }
    // Words of the sum begin with the header; the value may lie in two of them.
    let within = at - packet.payload;
    let words = packet.payload + (within & !1)..packet.payload + (within + 2).next_multiple_of(2);
    let mut smaller = bytes.to_vec();
    smaller.get_mut(at..at + 2)?.copy_from_slice(&most.to_be_bytes());
    let checksum = packet.payload + 16;
    let before = u16::from_be_bytes(*bytes.get(checksum..)?.first_chunk::<2>()?);
    let sum = Sum::default().remove(bytes.get(words.clone())?).add(smaller.get(words)?).add_word(!before);
    smaller.get_mut(checksum..checksum + 2)?.copy_from_slice(&(!sum.fold()).to_be_bytes());
    Some(smaller)
}

/// Where the value of the option stands.
fn option(bytes: &[u8], packet: &Packet) -> Option<usize> {
    let tcp = bytes.get(packet.payload..)?;
    let end = usize::from(tcp.get(12)? >> 4) * 4;
    let mut at = TCP_HEADER;
    while at < end {
        match *tcp.get(at)? {
            END => return None,
            NOTHING => at += 1,
            MSS if *tcp.get(at + 1)? == 4 && at + 4 <= end => return Some(packet.payload + at + 2),
            _ => at += usize::from(*tcp.get(at + 1)?).max(2),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::{TCP, complete_checksum, is_transport_sound, read};
    use super::*;

    /// A SYN with these options.
    fn syn(flags: u8, options: &[u8]) -> Vec<u8> {
        let length = 40 + options.len() as u16;
        let mut bytes = vec![
            0x45,
            0,
            (length >> 8) as u8,
            length as u8,
            0,
            0,
            0x40,
            0,
            64,
            TCP,
            0,
            0,
            10,
            0,
            0,
            1,
            10,
            0,
            0,
            2,
        ];
        bytes.extend([
            0x10,
            0,
            0,
            80,
            0,
            0,
            0,
            1,
            0,
            0,
            0,
            0,
            (5 + options.len() as u8 / 4) << 4,
            flags,
            1,
            0,
            0,
            0,
            0,
            0,
        ]);
        bytes.extend(options);
        // The part of the pseudo-header, and then the rest.
        let packet = read(&bytes).unwrap();
        let pseudo = Sum::pseudo_header(packet.source, packet.destination, TCP, bytes.len() - 20).fold();
        bytes[36..38].copy_from_slice(&pseudo.to_be_bytes());
        complete_checksum(&mut bytes, 20, 16);
        assert!(is_transport_sound(&bytes, &packet));
        bytes
    }

    #[test]
    fn a_syn_asks_for_no_more_than_fits() {
        // Even and odd places, and behind another option.
        for options in [&[2, 4, 5, 180][..], &[1, 2, 4, 5, 180, 1, 1, 1], &[4, 2, 2, 4, 5, 180, 0, 0]] {
            let bytes = syn(2, options);
            let packet = read(&bytes).unwrap();
            let smaller = clamp_mss(&bytes, &packet, 1_240).unwrap();
            assert!(is_transport_sound(&smaller, &packet), "{options:?}");
            assert_eq!(smaller.len(), bytes.len());
            assert_eq!(clamp_mss(&smaller, &packet, 1_240), None, "it is small enough");
        }
    }

    #[test]
    fn other_packets_stay_as_they_are() {
        let clamped = |bytes: &[u8]| clamp_mss(bytes, &read(bytes).unwrap(), 1_240);
        assert_eq!(clamped(&syn(16, &[2, 4, 5, 180])), None, "no SYN");
        assert_eq!(clamped(&syn(2, &[2, 4, 2, 24])), None, "a small one");
        assert_eq!(clamped(&syn(2, &[])), None);
        assert_eq!(clamped(&syn(2, &[0, 2, 4, 5, 180, 0, 0, 0])), None, "behind the end");
        for broken in [&[2, 3, 5, 180][..], &[3, 0, 2, 4], &[1, 1, 1, 2], &[8, 200, 2, 4]] {
            assert_eq!(clamped(&syn(2, broken)), None, "{broken:?}");
        }
    }
}
