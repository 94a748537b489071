use bytes::BytesMut;
use proptest::prelude::*;

use super::*;

fn pattern(offset: u64) -> u8 {
    (offset.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

fn data(start: u64, end: u64) -> Bytes {
    (start..end).map(pattern).collect()
}

fn charged(assembler: &Assembler) -> usize {
    let ahead = assembler.ahead.values().flat_map(|segment| &segment.pieces);
    assembler.ready.iter().chain(ahead).map(|piece| piece.charge as usize).sum()
}

fn check(assembler: &Assembler, budget: &Budget) {
    assert_eq!((budget.charged, budget.ranges), (charged(assembler), assembler.ahead.len()));
    assert_eq!(budget.charged, assembler.charged);
    let mut last = assembler.ready_to;
    for (&start, segment) in &assembler.ahead {
        assert!(start > last, "ranges overlap or touch");
        let bytes: usize = segment.pieces.iter().map(|piece| piece.bytes.len()).sum();
        assert_eq!(start + bytes as u64, segment.end);
        last = segment.end;
    }
    let ready: usize = assembler.ready.iter().map(|piece| piece.bytes.len()).sum();
    assert_eq!(ready as u64, assembler.ready_to - assembler.read_to);
}

#[derive(Clone, Debug)]
enum Op {
    Insert(u64, u64),
    Read(usize),
    Take(usize),
    Compact,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0..300u64, 0..40u64).prop_map(|(start, length)| Op::Insert(start, length)),
        1 => (0..60usize).prop_map(Op::Read),
        1 => (1..60usize).prop_map(Op::Take),
        1 => Just(Op::Compact),
    ]
}

proptest! {
    //= rfc9000-2.2-1
    #[test]
    fn bytes_come_out_once_and_in_order(
        ops in prop::collection::vec(op(), 1..80),
        cut in 0..300u64,
    ) {
        let (mut assembler, mut budget) = (Assembler::default(), Budget::default());
        let mut have = vec![false; 400];
        for op in ops {
            let at = assembler.read_to();
            match op {
                Op::Insert(start, length) => {
                    have[start as usize..(start + length) as usize].fill(true);
                    assembler.insert(start, data(start, start + length), &mut budget).expect("few ranges");
                }
                Op::Read(max) => {
                    let mut out = vec![0; max];
                    let count = assembler.read(&mut out, &mut budget);
                    prop_assert_eq!(&out[..count], &data(at, at + count as u64)[..]);
                }
                Op::Take(max) => {
                    if let Some(chunk) = assembler.take(max, &mut budget) {
                        prop_assert!((1..=max).contains(&chunk.len()));
                        prop_assert_eq!(&chunk, &data(at, at + chunk.len() as u64));
                    }
                }
                Op::Compact => assembler.compact(&mut budget),
            }
            let missing = have.iter().position(|held| !held).unwrap_or(have.len());
            prop_assert_eq!(assembler.ready_to(), missing as u64);
            check(&assembler, &budget);
        }
        let keep = cut.max(assembler.read_to());
        let ready_to = assembler.ready_to();
        assembler.truncate(keep, &mut budget);
        check(&assembler, &budget);
        prop_assert_eq!(assembler.ready_to(), ready_to.min(keep));
        let kept = have[..keep as usize].iter().skip(assembler.read_to() as usize).filter(|&&held| held).count();
        prop_assert_eq!(assembler.held(), kept as u64);
        assembler.clear(&mut budget);
        prop_assert_eq!(budget, Budget::default());
    }
}

#[test]
fn data_in_order_leaves_the_map_alone() {
    let (mut assembler, mut budget) = (Assembler::default(), Budget::default());
    for start in (0..10_000).step_by(100) {
        assembler.insert(start, data(start, start + 100), &mut budget).expect("in order");
        assert!(assembler.ahead.is_empty());
    }
}

//= rfc9000-21.7-1
#[test]
fn single_bytes_with_holes_between_them_reach_the_cap() {
    let (mut assembler, mut budget) = (Assembler::default(), Budget::default());
    let byte = Bytes::from_static(b"x");
    for index in 0..MAX_DISJOINT_RANGES as u64 {
        assembler.insert(1 + 2 * index, byte.clone(), &mut budget).expect("below the cap");
    }
    let beyond = 1 + 2 * MAX_DISJOINT_RANGES as u64;
    let before = (budget.charged, budget.ranges, assembler.held());
    assert_eq!(assembler.insert(beyond, byte.clone(), &mut budget), Err(TooManyRanges));
    assert_eq!((budget.charged, budget.ranges, assembler.held()), before, "nothing was added");
    assert!(budget.charged <= MAX_CHARGED + WORTH_COPYING);
    // What makes no further range is taken, and makes room for another.
    assert_eq!(assembler.insert(2, byte.clone(), &mut budget), Ok(1));
    assert_eq!(assembler.insert(beyond, byte, &mut budget), Ok(1));
}

/// Single bytes, each pinning a receive buffer, forward, backward and from the middle out.
#[test]
fn many_small_pieces_are_copied_together() {
    const COUNT: u64 = 100_000;
    let orders: [fn(u64) -> u64; 3] = [
        |index| index,
        |index| COUNT - 1 - index,
        |index| if index % 2 == 0 { COUNT / 2 + index / 2 } else { COUNT / 2 - 1 - index / 2 },
    ];
    for order in orders {
        let (mut assembler, mut budget) = (Assembler::default(), Budget::default());
        for index in 0..COUNT {
            let offset = order(index);
            assembler.insert(offset, data(offset, offset + 1), &mut budget).expect("one or two ranges");
            assert!(budget.charged <= MAX_CHARGED + WORTH_COPYING);
        }
        assert!(assembler.pieces() < 2_500, "{} pieces for {COUNT} bytes", assembler.pieces());
        let mut out = vec![0; COUNT as usize];
        assert_eq!(assembler.read(&mut out, &mut budget) as u64, COUNT);
        assert_eq!(out, data(0, COUNT));
    }
}

/// Bytes added in turn to many ranges: each grows by one byte between two copies.
#[test]
fn pieces_spread_over_ranges_are_copied_together_too() {
    const RANGES: u64 = 500;
    const BYTES: u64 = 200;
    let (mut assembler, mut budget) = (Assembler::default(), Budget::default());
    for byte in 0..BYTES {
        for range in 0..RANGES {
            let offset = 1 + range * (BYTES + 1) + byte;
            assembler.insert(offset, data(offset, offset + 1), &mut budget).expect("few ranges");
        }
    }
    assert!(assembler.pieces() < 4_000, "{} pieces", assembler.pieces());
}

/// Receive buffers that slices keep from being reused.
fn pinned(buffers: &mut [BytesMut]) -> usize {
    buffers.iter_mut().map(|buffer| if buffer.try_reclaim(RECEIVE_BUFFER) { 0 } else { RECEIVE_BUFFER }).sum()
}

/// `count` slices of `length` bytes every `step` bytes of a stream, each alone in its receive buffer: the rest of what the
/// kernel put there was of no use to anybody.
fn slices_of_buffers(count: u64, length: usize, step: u64, first: u64) -> usize {
    let (mut assembler, mut budget) = (Assembler::default(), Budget::default());
    let mut buffers = Vec::new();
    for n in 0..count {
        let mut buffer = BytesMut::zeroed(RECEIVE_BUFFER);
        let slice = buffer.split_to(length).freeze();
        buffer.clear();
        buffers.push(buffer);
        assembler.insert(first + n * step, slice, &mut budget).unwrap();
    }
    check(&assembler, &budget);
    pinned(&mut buffers)
}

/// A single byte of a datagram would pin all that the kernel received with it.
#[test]
fn short_slices_that_wait_pin_nothing() {
    assert_eq!(slices_of_buffers(1_000, 1, 2, 1), 0, "ahead");
    assert!(
        slices_of_buffers(1_000, 1, 1, 0) <= RECEIVE_BUFFER,
        "in order: the one that may be read at once"
    );
}

#[test]
fn long_slices_pin_a_bounded_amount() {
    for (step, first) in [(1_200, 0), (2_400, 1_200)] {
        let pinned = slices_of_buffers(2_000, 1_200, step, first);
        assert!(pinned <= 2 * MAX_CHARGED, "{} MiB", pinned >> 20);
    }
}

/// Each path has a socket, whose buffer of several datagrams is filled while those of others are.
#[test]
fn slices_of_buffers_that_are_filled_in_turn_are_charged_one_buffer_each() {
    let (mut assembler, mut budget) = (Assembler::default(), Budget::default());
    let mut buffers = [BytesMut::zeroed(RECEIVE_BUFFER), BytesMut::zeroed(RECEIVE_BUFFER)];
    let mut offset = 1;
    for _ in 0..RECEIVE_BUFFER / MIN_CHARGE {
        for buffer in &mut buffers {
            assembler.insert(offset, buffer.split_to(MIN_CHARGE).freeze(), &mut budget).unwrap();
            offset += MIN_CHARGE as u64 + 1;
        }
    }
    let slices = buffers.len() * (RECEIVE_BUFFER / MIN_CHARGE);
    assert!(budget.charged < slices * MIN_CHARGE + 3 * RECEIVE_BUFFER, "{} kB", budget.charged >> 10);
}

/// Every sequence of four pieces within five bytes, read in between or only at the end.
#[test]
fn every_short_sequence_of_pieces_comes_out_once_and_in_order() {
    const SIZE: u64 = 5;
    let pieces: Vec<(u64, u64)> =
        (0..SIZE).flat_map(|start| (start + 1..=SIZE).map(move |end| (start, end))).collect();
    let count = pieces.len();
    for number in 0..count.pow(4) {
        for reads_between in [false, true] {
            let (mut assembler, mut budget) = (Assembler::default(), Budget::default());
            let (mut have, mut came) = ([false; SIZE as usize], Vec::new());
            for step in 0..4 {
                let (start, end) = pieces[number / count.pow(step) % count];
                let part = &mut have[start as usize..end as usize];
                // What was read is there no more, and is not new either.
                let new = part.iter().filter(|held| !**held).count() as u64;
                part.fill(true);
                assert_eq!(assembler.insert(start, data(start, end), &mut budget), Ok(new), "{number}");
                if reads_between || step == 3 {
                    while let Some(chunk) = assembler.take(2, &mut budget) {
                        came.extend_from_slice(&chunk);
                    }
                }
                check(&assembler, &budget);
            }
            let whole = have.iter().position(|held| !held).unwrap_or(have.len());
            assert_eq!(came, data(0, whole as u64), "{number}");
        }
    }
}
