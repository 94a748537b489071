//! Groups of pictures: which frame needs which others to be decoded.

/// A set of frames of a GoP: bit `i` is frame `i` in display order.
pub type FrameSet = u64;

/// How a frame is coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
pub enum FrameKind {
    /// By itself.
    I,
    /// From the I or P frame before it.
    P,
    /// From the I or P frames on both sides.
    B,
}

/// Why frames make no GoP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GopError {
    /// No frame, or more than a [`FrameSet`] holds.
    #[error("a GoP has 1 to 64 frames, not {0}")]
    Length(usize),
    /// An I frame is missing at the start, or there is another one.
    #[error("a GoP starts with its only I frame")]
    IFrame,
}

/// The frames of a GoP in display order, and what each depends on (Yang 2024, section 5.3.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gop {
    kinds: Vec<FrameKind>,
    references: Vec<[Option<usize>; 2]>,
    closures: Vec<FrameSet>,
    descendants: Vec<FrameSet>,
    anchors: FrameSet,
    p_frames: FrameSet,
}

impl Gop {
    /// From the kinds of its frames in display order.
    ///
    /// # Errors
    /// [`GopError`].
    pub fn new(kinds: &[FrameKind]) -> Result<Self, GopError> {
        if kinds.is_empty() || kinds.len() > 64 {
            return Err(GopError::Length(kinds.len()));
        }
        let is_i = |kind: &FrameKind| *kind == FrameKind::I;
        if !is_i(&kinds[0]) || kinds[1..].iter().any(is_i) {
            return Err(GopError::IFrame);
        }
        let set = |wanted: &dyn Fn(FrameKind) -> bool| {
            (0..kinds.len()).filter(|at| wanted(kinds[*at])).fold(0, |set, at| set | bit(at))
        };
        let mut gop = Self {
            kinds: kinds.to_vec(),
            references: Vec::new(),
            closures: vec![0; kinds.len()],
            descendants: vec![0; kinds.len()],
            anchors: set(&|kind| kind != FrameKind::B),
            p_frames: set(&|kind| kind == FrameKind::P),
        };
        gop.references = (0..kinds.len()).map(|frame| gop.find_references(frame)).collect();
        gop.close();
        Ok(gop)
    }

    /// The 50 frames that have the dissertation's statistics: `I (B B B P) x 12 P`, which is 1 I, 13 P and 36 B.
    pub fn of_fifty() -> Self {
        let mut kinds = vec![FrameKind::I];
        for _ in 0..12 {
            kinds.extend([FrameKind::B, FrameKind::B, FrameKind::B, FrameKind::P]);
        }
        kinds.push(FrameKind::P);
        Self::new(&kinds).expect("one I frame, at the start")
    }

    /// The example of figures 5.2 and 5.4: `I1 B1 B2 P1 B3 B4 P2 B5 B6`.
    pub fn of_nine() -> Self {
        use FrameKind::{B, I, P};
        Self::new(&[I, B, B, P, B, B, P, B, B]).expect("one I frame, at the start")
    }

    /// Number of frames.
    #[expect(clippy::len_without_is_empty, reason = "no GoP is empty")]
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// How a frame is coded.
    ///
    /// # Panics
    /// If there is no such frame.
    pub fn kind(&self, frame: usize) -> FrameKind {
        self.kinds[frame]
    }

    /// What a frame is decoded from: the I or P frame before it, and for a B frame the one behind it. A B frame at the end of a
    /// GoP has none behind it.
    pub fn references(&self, frame: usize) -> [Option<usize>; 2] {
        self.references[frame]
    }

    /// A frame and all that it needs, directly or not.
    pub fn closure(&self, frame: usize) -> FrameSet {
        self.closures[frame]
    }

    /// All frames that need this one, directly or not; itself left out.
    pub fn descendants(&self, frame: usize) -> FrameSet {
        self.descendants[frame]
    }

    /// I and P frames.
    pub fn anchors(&self) -> FrameSet {
        self.anchors
    }

    /// The frames in the order in which they can be decoded: each P frame before the B frames in front of it.
    pub fn decode_order(&self) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.len());
        let mut waiting = Vec::new();
        for frame in 0..self.len() {
            if self.kinds[frame] == FrameKind::B {
                waiting.push(frame);
            } else {
                order.push(frame);
                order.append(&mut waiting);
            }
        }
        order.append(&mut waiting);
        order
    }

    /// The next P frame behind this frame.
    pub fn next_p(&self, frame: usize) -> Option<usize> {
        first(self.p_frames & !up_to(frame))
    }

    fn find_references(&self, frame: usize) -> [Option<usize>; 2] {
        let before = last(self.anchors & up_to(frame) & !bit(frame));
        let behind = first(self.anchors & !up_to(frame));
        match self.kinds[frame] {
            FrameKind::I => [None, None],
            FrameKind::P => [before, None],
            FrameKind::B => [before, behind],
        }
    }

    /// References of I and P frames lie before them, and B frames are nobody's.
    fn close(&mut self) {
        let anchors = (0..self.len()).filter(|at| self.kinds[*at] != FrameKind::B);
        let others = (0..self.len()).filter(|at| self.kinds[*at] == FrameKind::B);
        for frame in anchors.chain(others).collect::<Vec<_>>() {
            let needed = self.references[frame].iter().flatten().map(|at| self.closures[*at]);
            self.closures[frame] = needed.fold(bit(frame), |set, more| set | more);
            for ancestor in members(self.closures[frame] & !bit(frame)) {
                self.descendants[ancestor] |= bit(frame);
            }
        }
    }
}

/// The set of one frame.
pub(crate) fn bit(frame: usize) -> FrameSet {
    1 << frame
}

/// Frames from 0 to this one.
pub(crate) fn up_to(frame: usize) -> FrameSet {
    u64::MAX >> (63 - frame)
}

pub(crate) fn first(set: FrameSet) -> Option<usize> {
    (set != 0).then(|| set.trailing_zeros() as usize)
}

pub(crate) fn last(set: FrameSet) -> Option<usize> {
    (set != 0).then(|| 63 - set.leading_zeros() as usize)
}

/// The frames of a set in display order.
pub(crate) fn members(mut set: FrameSet) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let next = first(set)?;
        set &= set - 1;
        Some(next)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifty_frames_have_the_published_numbers() {
        let gop = Gop::of_fifty();
        let count = |kind| (0..gop.len()).filter(|at| gop.kind(*at) == kind).count();
        assert_eq!([FrameKind::I, FrameKind::P, FrameKind::B].map(count), [1, 13, 36]);
        // The last P frame needs the I frame and all P frames before it: 13 ancestors.
        assert_eq!(gop.closure(49).count_ones(), 14);
    }

    #[test]
    fn a_b_frame_at_the_end_has_one_reference() {
        let gop = Gop::of_nine();
        assert_eq!(gop.references(7), [Some(6), None]);
        assert_eq!(gop.references(4), [Some(3), Some(6)]);
        assert_eq!(gop.closure(4), 0b101_1001);
        assert_eq!(gop.descendants(0), 0b1_1111_1110);
    }

    /// A reference is there before the frames that need it.
    #[test]
    fn decode_order_has_references_first() {
        assert_eq!(Gop::of_nine().decode_order(), [0, 3, 1, 2, 6, 4, 5, 7, 8]);
        let gop = Gop::of_fifty();
        let order = gop.decode_order();
        for (at, frame) in order.iter().enumerate() {
            assert!(gop.references(*frame).into_iter().flatten().all(|it| order[..at].contains(&it)));
        }
    }

    #[test]
    fn what_is_no_gop_is_told_so() {
        assert_eq!(Gop::new(&[]), Err(GopError::Length(0)));
        assert_eq!(Gop::new(&[FrameKind::P]), Err(GopError::IFrame));
        assert_eq!(Gop::new(&[FrameKind::I, FrameKind::I]), Err(GopError::IFrame));
        assert_eq!(Gop::new(&[FrameKind::I; 65]), Err(GopError::Length(65)));
    }
}
