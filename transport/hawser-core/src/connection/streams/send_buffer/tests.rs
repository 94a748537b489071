use proptest::prelude::*;

use super::*;

fn pattern(offset: u64) -> u8 {
    (offset.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

fn data(start: u64, length: usize) -> Vec<u8> {
    (start..start + length as u64).map(pattern).collect()
}

#[derive(Clone, Debug)]
enum Op {
    Copy(usize),
    Share(usize),
    Read(u16, usize),
    Release(u16),
    Truncate(u16),
}

fn op() -> impl Strategy<Value = Op> {
    let length = prop_oneof![0..20usize, 1_000..1_100usize, 60_000..140_000usize];
    prop_oneof![
        3 => length.clone().prop_map(Op::Copy),
        2 => length.clone().prop_map(Op::Share),
        6 => (any::<u16>(), length).prop_map(|(at, length)| Op::Read(at, length)),
        2 => any::<u16>().prop_map(Op::Release),
        1 => any::<u16>().prop_map(Op::Truncate),
    ]
}

/// The point of `start..=end` that is `part` 65536ths along.
fn point(start: u64, end: u64, part: u16) -> u64 {
    start + (end - start) * u64::from(part) / 65_535
}

proptest! {
    #[test]
    fn gives_back_what_was_pushed(ops in prop::collection::vec(op(), 1..60)) {
        let mut buffer = SendBuffer::default();
        for op in ops {
            let (start, end) = (buffer.start(), buffer.end());
            match op {
                Op::Copy(length) => buffer.push_copy(&data(end, length)),
                Op::Share(length) => buffer.push_shared(data(end, length).into()),
                Op::Read(at, length) => {
                    let at = point(start, end, at);
                    let length = length.min((end - at) as usize);
                    let mut out = vec![0; length];
                    buffer.read(at, &mut out);
                    prop_assert_eq!(out, data(at, length));
                }
                Op::Release(to) => {
                    let to = point(start, end, to);
                    buffer.release_to(to);
                    prop_assert_eq!((buffer.start(), buffer.end()), (to, end));
                }
                Op::Truncate(to) => {
                    let to = point(start, end, to);
                    buffer.truncate(to);
                    prop_assert_eq!((buffer.start(), buffer.end()), (start, to));
                }
            }
            let held: usize = buffer.chunks.iter().map(Chunk::allocated).sum();
            prop_assert_eq!(buffer.allocated(), held);
            // Never much more memory than bytes: a released block is gone, a partly released one is one block.
            let bytes = (buffer.end() - buffer.start()) as usize;
            prop_assert!(held <= 2 * bytes + 5 * MAX_BLOCK, "{} bytes in {}", bytes, held);
        }
        buffer.release_to(buffer.end());
        prop_assert_eq!(buffer.allocated(), 0);
    }
}

#[test]
fn many_small_writes_share_blocks() {
    let mut buffer = SendBuffer::default();
    for _ in 0..100_000 {
        buffer.push_copy(b"0123456789");
    }
    assert!(buffer.chunks.len() < 32, "{} chunks for 1 MB", buffer.chunks.len());
}

/// As HTTP/3 writes DATA frames: their headers copied, what they carry shared.
#[test]
fn a_few_bytes_between_shared_ones_take_a_small_block() {
    let mut buffer = SendBuffer::default();
    for _ in 0..64 {
        buffer.push_copy(b"abc");
        buffer.push_shared(vec![7; 16 << 10].into());
    }
    let bytes = (buffer.end() - buffer.start()) as usize;
    assert!(buffer.allocated() < bytes + bytes / 8, "{bytes} bytes in {}", buffer.allocated());
}
