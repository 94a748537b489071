#![expect(clippy::single_range_in_vec_init, reason = "lists of one range are meant")]

use proptest::prelude::*;

use super::*;

const STREAM: StreamId = StreamId(4);
const NOW: Time = Time::ZERO;

fn piece(range: Range<u64>) -> Piece {
    Piece { stream: STREAM, range, is_copied: false, is_lost: false }
}

/// Looks through a queue of these ranges.
fn look(buffers: &mut Buffers, queue: &[Range<u64>]) {
    buffers.begin();
    queue.iter().for_each(|range| buffers.add(piece(range.clone())));
}

fn of(buffers: &Buffers, path: Option<u32>) -> Vec<Range<u64>> {
    let of_path = buffers.pieces().filter(|(owner, _)| *owner == path.map(PathId));
    of_path.map(|(_, piece)| piece.range.clone()).collect()
}

#[test]
fn what_was_given_away_stays_so_and_what_is_new_is_nobodys() {
    let mut buffers = Buffers::default();
    look(&mut buffers, &[0..1_000, 1_000..10_000]);
    buffers.assign(NOW, PathId(0), 3_000);
    buffers.assign(NOW, PathId(1), 4_000);
    assert_eq!((of(&buffers, Some(0)), of(&buffers, Some(1))), (vec![0..3_000], vec![3_000..7_000]));
    // Lost bytes come back to the head, and more was written.
    buffers.on_sent(NOW, PathId(0), STREAM, &(0..2_000));
    look(&mut buffers, &[500..900, 2_000..12_000]);
    assert_eq!((of(&buffers, Some(0)), of(&buffers, Some(1))), (vec![2_000..3_000], vec![3_000..7_000]));
    assert_eq!(of(&buffers, None), [500..900, 7_000..12_000]);
    assert_eq!((buffers.total(), buffers.unassigned()), (10_400, 5_400));
    assert_eq!((buffers.held(PathId(0)), buffers.held(PathId(1))), (1_000, 4_000));
}

#[test]
fn what_leaves_is_taken_from_whoever_had_it() {
    let mut buffers = Buffers::default();
    look(&mut buffers, &[0..10_000]);
    buffers.assign(NOW, PathId(0), 3_000);
    buffers.assign(NOW, PathId(1), 3_000);
    // A packet is filled up with what nobody had.
    let last = buffers.of(PathId(1)).and_then(|buffer| buffer.first()).expect("it has some").clone();
    assert_eq!(buffers.filled_up(&last), 10_000);
    buffers.on_sent(NOW, PathId(1), STREAM, &(5_000..6_500));
    assert_eq!((of(&buffers, Some(1)), of(&buffers, None)), (vec![3_000..5_000], vec![6_500..10_000]));
    // Path 2 had nothing of it; the middle of a piece is cut out.
    buffers.on_sent(NOW, PathId(2), STREAM, &(1_000..2_000));
    assert_eq!(of(&buffers, Some(0)), [0..1_000, 2_000..3_000]);
    buffers.on_sent(NOW, PathId(0), StreamId(8), &(0..1_000));
    assert_eq!(buffers.total(), 7_500);
}

#[test]
fn a_path_that_is_gone_or_silent_loses_what_it_had() {
    let mut buffers = Buffers::default();
    look(&mut buffers, &[0..10_000]);
    buffers.assign(NOW, PathId(0), 3_000);
    buffers.assign(NOW, PathId(1), 3_000);
    assert!(!buffers.keep(|_| true));
    assert!(buffers.keep(|path| path == PathId(1)));
    buffers.reclaim(PathId(1));
    assert!(buffers.of(PathId(1)).is_some_and(|buffer| buffer.is_stalled));
    look(&mut buffers, &[0..10_000]);
    assert_eq!(of(&buffers, None), [0..10_000]);
    buffers.on_sent(NOW, PathId(1), STREAM, &(0..1_000));
    assert!(buffers.of(PathId(1)).is_some_and(|buffer| !buffer.is_stalled));
}

#[test]
fn lost_bytes_go_before_others() {
    let mut buffers = Buffers::default();
    look(&mut buffers, &[5_000..10_000]);
    buffers.assign(NOW, PathId(0), 5_000);
    buffers.begin();
    for lost in [0..1_000, 2_000..3_000] {
        buffers.add(Piece { is_lost: true, ..piece(lost) });
    }
    buffers.add(piece(5_000..12_000));
    buffers.assign(NOW, PathId(0), 3_000);
    assert_eq!(of(&buffers, Some(0)), [0..1_000, 2_000..3_000, 5_000..11_000]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever happens, each byte that waits has one place.
    #[test]
    fn no_byte_is_in_two_places(
        steps in prop::collection::vec((0u8..6, 0u32..3, 0u64..40, 0u64..20), 1..60)
    ) {
        let mut buffers = Buffers::default();
        // Bytes 0 to 59 and whether they wait.
        let mut waits = [true; 60];
        for (what, path, start, length) in steps {
            let range = start..(start + length).min(60);
            match what {
                0 => buffers.assign(NOW, PathId(path), length),
                1 => {
                    buffers.on_sent(NOW, PathId(path), STREAM, &range);
                    waits[start as usize..range.end.max(start) as usize].fill(false);
                }
                // Lost: it waits again, and the queue is looked through.
                2 => waits[start as usize..range.end.max(start) as usize].fill(true),
                3 => buffers.reclaim(PathId(path)),
                4 => drop(buffers.keep(|id| id != PathId(path))),
                _ => {}
            }
            if (2..=5).contains(&what) {
                buffers.begin();
                let bytes = (0..60u64).filter(|at| waits[*at as usize]);
                bytes.for_each(|at| buffers.add(piece(at..at + 1)));
            }
            let mut seen = [0; 60];
            for (_, piece) in buffers.pieces() {
                prop_assert!(!piece.range.is_empty());
                piece.range.clone().for_each(|at| seen[at as usize] += 1);
            }
            prop_assert!(seen.iter().all(|count| *count <= 1), "{seen:?}");
            prop_assert_eq!(buffers.total(), seen.iter().sum::<u64>());
            if (1..=5).contains(&what) {
                prop_assert!(seen.iter().zip(&waits).all(|(count, waits)| (*count == 1) <= *waits));
            }
        }
    }
}
