use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Bytes of the stream in the model.
const BYTES: u64 = 48;

#[derive(Clone, Debug)]
struct Transmission {
    bytes: Range<u64>,
    round: u16,
    is_copy: bool,
    over: bool,
}

/// The path of a transmission: the first four, each of other bytes, on the first.
fn path_of(id: usize) -> PathId {
    PathId(id.saturating_sub(3) as u32)
}

/// What is true of each byte, kept the slow way: which transmissions answer for it.
struct Model {
    copies: Copies,
    sent: Vec<Transmission>,
    answering: Vec<Vec<usize>>,
    acked: Vec<bool>,
    lost: Vec<bool>,
}

impl Model {
    /// Everything was sent once, in packets of 12 bytes.
    fn new() -> Self {
        let mut model = Model {
            copies: Copies::default(),
            sent: Vec::new(),
            answering: vec![Vec::new(); BYTES as usize],
            acked: vec![false; BYTES as usize],
            lost: vec![false; BYTES as usize],
        };
        for start in (0..BYTES).step_by(12) {
            model.note(start..start + 12, 0, false);
        }
        model
    }

    fn note(&mut self, bytes: Range<u64>, round: u16, is_copy: bool) {
        let id = self.sent.len();
        for byte in bytes.clone() {
            self.answering[byte as usize].push(id);
        }
        self.sent.push(Transmission { bytes, round, is_copy, over: false });
    }

    /// The first part from `start` on, of at most `length` bytes, that is in flight and shares a fate.
    fn in_flight(&self, start: u64, length: u64) -> Option<Range<u64>> {
        let flies = |byte: u64| !self.acked[byte as usize] && !self.lost[byte as usize];
        let start = (start..BYTES).find(|byte| flies(*byte))?;
        let end = (start..BYTES.min(start + length)).find(|byte| !flies(*byte));
        Some(self.copies.first_part(start..end.unwrap_or(BYTES.min(start + length))).0)
    }

    fn copy(&mut self, start: u64, length: u64) {
        let Some(part) = self.in_flight(start, length) else { return };
        let round = self.copies.on_copy_sent(part.clone(), path_of(self.sent.len()));
        self.note(part, round, true);
    }

    fn take_over(&mut self, start: u64, length: u64) {
        let Some(part) = self.in_flight(start, length) else { return };
        let round = self.copies.on_taken_over(part.clone(), path_of(self.sent.len()));
        part.clone().for_each(|byte| self.answering[byte as usize].clear());
        self.note(part, round, true);
    }

    fn retransmit(&mut self, start: u64, length: u64) {
        let Some(start) = (start..BYTES).find(|byte| self.lost[*byte as usize]) else { return };
        let end = (start..BYTES.min(start + length)).find(|byte| !self.lost[*byte as usize]);
        let part = start..end.unwrap_or(BYTES.min(start + length));
        part.clone().for_each(|byte| self.lost[byte as usize] = false);
        let round = self.copies.on_retransmitted(part.clone(), path_of(self.sent.len()));
        self.note(part, round, false);
    }

    fn lose(&mut self, which: usize) {
        let Some(id) = self.pick(which) else { return };
        let Transmission { bytes, round, .. } = self.sent[id].clone();
        let mut requeued = Vec::new();
        self.copies.on_lost(bytes.clone(), round, Some(path_of(id)), |part| requeued.extend(part));
        // As the stream does: what arrived needs nothing.
        requeued.retain(|byte| !self.acked[*byte as usize]);
        requeued.sort_unstable();
        let mut expected = Vec::new();
        for byte in bytes {
            let answering = &mut self.answering[byte as usize];
            let before = answering.len();
            answering.retain(|other| *other != id);
            if answering.is_empty() && before > 0 && !self.acked[byte as usize] {
                expected.push(byte);
                self.lost[byte as usize] = true;
            }
        }
        assert_eq!(requeued, expected, "the last transmission, and no other");
    }

    fn acknowledge(&mut self, which: usize) {
        let Some(id) = self.pick(which) else { return };
        let Transmission { bytes, is_copy, .. } = self.sent[id].clone();
        let copied = self.copies.on_acked(bytes.clone());
        let unacked = bytes.clone().filter(|byte| !self.acked[*byte as usize]).count() as u64;
        assert!(is_copy || copied <= unacked * self.sent.len() as u64);
        for byte in bytes {
            self.acked[byte as usize] = true;
            self.lost[byte as usize] = false;
            self.answering[byte as usize].clear();
        }
    }

    /// One of the transmissions whose fate is open.
    fn pick(&mut self, which: usize) -> Option<usize> {
        let open: Vec<usize> = (0..self.sent.len()).filter(|id| !self.sent[*id].over).collect();
        let id = *open.get(which.checked_rem(open.len())?)?;
        self.sent[id].over = true;
        Some(id)
    }

    fn check(&self) {
        let pieces = &self.copies.pieces;
        assert!(pieces.iter().all(|piece| piece.start < piece.end));
        assert!(pieces.iter().zip(pieces.iter().skip(1)).all(|(one, next)| one.end <= next.start));
        for piece in pieces {
            for byte in piece.start..piece.end {
                let mut carriers: Vec<_> = piece.carriers.iter().collect();
                for id in &self.answering[byte as usize] {
                    // The first transmission is one of whatever was in flight.
                    let on = |path| carriers.iter().position(|carrier| **carrier == path);
                    let place = on(Some(path_of(*id))).or_else(|| on(None));
                    carriers.remove(place.unwrap_or_else(|| panic!("byte {byte}: {id} is not counted")));
                }
                assert!(carriers.is_empty(), "byte {byte}: {carriers:?} are lost");
            }
        }
    }
}

proptest! {
    #[test]
    fn a_byte_is_requeued_when_the_last_that_answers_for_it_is_lost(
        steps in vec((0_u8..6, 0..BYTES, 1_u64..20, any::<usize>()), 0..80),
    ) {
        let mut model = Model::new();
        for (kind, start, length, which) in steps {
            match kind {
                0 | 1 => model.lose(which),
                2 => model.acknowledge(which),
                3 => model.copy(start, length),
                4 => model.take_over(start, length),
                _ => model.retransmit(start, length),
            }
            model.check();
        }
        for which in 0..model.sent.len() {
            model.acknowledge(which);
        }
        model.copies.on_acked(0..BYTES);
        prop_assert!(model.copies.is_empty());
    }
}

#[test]
fn alike_neighbours_are_one_piece() {
    let mut copies = Copies::default();
    for start in (0..10_000).step_by(1_000) {
        copies.on_copy_sent(start..start + 1_000, PathId(1));
    }
    // Joined where they were queued; where they were sent they are split again.
    assert!(copies.pieces.len() <= 10);
    let mut queued = Copies::default();
    (0..10_000).step_by(1_000).for_each(|start| queued.on_queued(start..start + 1_000, None));
    assert_eq!(queued.pieces.len(), 1);
    assert_eq!(queued.on_acked(2_000..3_000), 0);
    assert_eq!(queued.pieces.len(), 2);
    queued.truncate(500);
    assert_eq!((queued.pieces.len(), queued.pieces[0].end), (1, 500));
}

#[test]
fn copies_of_what_arrived_are_needless() {
    let mut copies = Copies::default();
    copies.on_copy_sent(0..100, PathId(1));
    copies.on_copy_sent(0..100, PathId(2));
    copies.on_taken_over(50..100, PathId(3));
    assert_eq!(copies.on_acked(0..60), 2 * 50 + 3 * 10);
    assert_eq!(copies.on_acked(0..60), 0, "counted once");
    assert_eq!(copies.on_retransmitted(60..100, PathId::ZERO), 2, "the second round was the last before");
    assert_eq!(copies.on_acked(60..100), 0, "the copies were of what was lost");
}
