use super::*;
use crate::reader::Reader;

#[test]
fn a_write_that_does_not_fit_changes_nothing() {
    let mut buffer = [0xee; 7];
    let mut w = Writer::new(&mut buffer);
    w.write_u8(1).unwrap();
    w.write_u32(0x0203_0405).unwrap();
    assert_eq!(w.write_u32(0), Err(BufferTooShort));
    assert_eq!(w.write_bytes(&[0; 3]), Err(BufferTooShort));
    assert_eq!(w.write_zeros(usize::MAX), Err(BufferTooShort));
    assert_eq!(w.write_varint(1 << 14), Err(BufferTooShort));
    assert_eq!((w.position(), w.remaining()), (5, 2));
    w.write_u16(0x0607).unwrap();
    assert_eq!(w.written(), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(buffer, [1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn placeholders_are_patched_in_place() {
    let mut buffer = [0; 16];
    let mut w = Writer::new(&mut buffer);
    w.write_u8(0xaa).unwrap();
    let length = w.reserve_varint(VarintSize::Two).unwrap();
    w.write_bytes(b"abc").unwrap();
    assert_eq!(w.patch_varint(length, 1 << 14), Err(BufferTooShort), "needs four bytes");
    w.patch_varint(length, 3).unwrap();
    assert_eq!(w.written(), b"\xaa\x40\x03abc");
    w.write_u8(0xbb).unwrap();
    assert_eq!(w.written().len(), 7, "patching leaves the position");

    w.rewind(1);
    assert_eq!(w.patch_varint(length, 3), Err(BufferTooShort), "its room was given up");
    w.rewind(5);
    assert_eq!(w.position(), 1, "rewinding does not go forward");
}

#[test]
fn taken_room_is_the_callers_to_fill() {
    let mut buffer = [0; 4];
    let mut w = Writer::new(&mut buffer);
    w.take(3).unwrap().copy_from_slice(b"xyz");
    assert!(w.take(2).is_err());
    w.written_mut()[0] = b'w';
    assert_eq!(w.into_written(), b"wyz");
}

#[test]
fn readers_consume_nothing_on_failure() {
    let mut r = Reader::new(&[0x44, 0x00, 1, 2, 3]);
    assert!(r.read_varint_prefixed().is_err(), "1024 bytes are not there");
    assert!(r.read_u8_prefixed().is_err());
    assert!(r.read_array::<6>().is_err());
    assert_eq!(r.position(), 0);
    assert_eq!(r.read_varint(), Ok(0x400));
    assert_eq!(r.read_bytes(2), Ok(&[1, 2][..]));
    assert_eq!(r.read_rest(), [3]);
    assert_eq!(r.position(), 5);
    assert!(r.read_u8().is_err());
}
