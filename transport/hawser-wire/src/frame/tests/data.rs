//! Headers written apart from their data.

use proptest::prelude::*;

use super::strategies::integer;
use super::*;
use crate::varint;

proptest! {
    /// A header and its data, written in place, are the frame; with a length or to the end of the packet.
    #[test]
    fn stream_headers(stream_id in integer(), offset in integer(), fin: bool, with_length: bool, size in 0_usize..200) {
        let offset = offset.min(varint::MAX - 200);
        let data = vec![0x61; size];
        let length = with_length.then_some(size as u64);
        let header = StreamHeader { stream_id, offset, length, fin };
        let mut buffer = [0; 300];
        let mut w = Writer::new(&mut buffer);
        header.encode(&mut w).unwrap();
        prop_assert_eq!(w.position(), header.encoded_len());
        w.write_bytes(&data).unwrap();
        if with_length {
            w.write_u8(0x01).unwrap();
        }
        let frames = decoded(w.written()).unwrap();
        let stream = Stream { stream_id, offset, fin, data: &data };
        prop_assert_eq!(frames[0], Frame::Stream(stream));
        prop_assert_eq!(stream.end(), offset + size as u64);
        prop_assert_eq!(frames.len(), 1 + usize::from(with_length));
    }

    /// The capacity is what fits, and one byte more does not.
    #[test]
    fn capacities_are_exact(
        stream_id in integer(),
        offset in integer(),
        room in prop_oneof![0_usize..100, 16_000..17_000_usize, 60..80_usize],
        with_length: bool,
    ) {
        let header = |length: u64| StreamHeader { stream_id, offset, length: with_length.then_some(length), fin: false };
        let size = |data: usize| header(data as u64).encoded_len() + data;
        check_capacity(header(0).capacity(room), size, room)?;
        check_capacity(crypto_capacity(offset, room), |data| crypto_header_len(offset, data as u64) + data, room)?;
        check_capacity(datagram_capacity(room), |data| datagram_header_len(Some(data as u64)) + data, room)?;
    }
}

fn check_capacity(
    capacity: Option<usize>,
    size: impl Fn(usize) -> usize,
    room: usize,
) -> Result<(), TestCaseError> {
    match capacity {
        None => prop_assert!(size(0) > room),
        Some(data) => {
            prop_assert!(size(data) <= room);
            prop_assert!(size(data + 1) > room);
        }
    }
    Ok(())
}

#[test]
fn crypto_and_datagram_headers() {
    let mut buffer = [0; 32];
    let mut w = Writer::new(&mut buffer);
    write_crypto_header(&mut w, 1000, 2).unwrap();
    assert_eq!(w.position(), crypto_header_len(1000, 2));
    w.write_bytes(b"hi").unwrap();
    write_datagram_header(&mut w, Some(1)).unwrap();
    w.write_bytes(b"d").unwrap();
    write_datagram_header(&mut w, None).unwrap();
    w.write_bytes(b"rest").unwrap();
    assert_eq!(
        decoded(w.written()).unwrap(),
        [
            Frame::Crypto(Crypto { offset: 1000, data: b"hi" }),
            Frame::Datagram(Datagram { data: b"d" }),
            Frame::Datagram(Datagram { data: b"rest" }),
        ]
    );
}

#[test]
fn headers_that_do_not_fit_leave_no_trace() {
    let mut buffer = [0; 2];
    let mut w = Writer::new(&mut buffer);
    let header = StreamHeader { stream_id: 4, offset: 0, length: Some(1), fin: false };
    assert_eq!(header.encode(&mut w), Err(BufferTooShort));
    assert_eq!(write_crypto_header(&mut w, 0, 64), Err(BufferTooShort));
    assert_eq!(write_datagram_header(&mut w, Some(64)), Err(BufferTooShort));
    assert_eq!(w.position(), 0);
}
