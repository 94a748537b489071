//! Deadlines: until when a tile-frame is worth having.

use crate::gop::{FrameKind, FrameSet, Gop, bit, last, up_to};

/// Which later frame a tile-frame is still worth having for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DeadlineRule {
    /// Equation (5.8), read with the worked example of figure 5.5. Not transitive: a B frame may need a P frame
    /// whose deadline is earlier.
    #[default]
    Paper,
    /// The latest viewed frame that needs it, directly or not, itself among them: B frames before a P frame need it, too.
    Transitive,
}

/// The frame at the end of whose playback a frame of a tile is late, by what is viewed of the tile. None: neither it nor what
/// the rule asks about is viewed, and it has the deadline of the unit that it was fetched with.
pub fn deadline_frame(gop: &Gop, rule: DeadlineRule, viewed: FrameSet, frame: usize) -> Option<usize> {
    let itself = || (viewed & bit(frame) != 0).then_some(frame);
    match (rule, gop.kind(frame)) {
        (_, FrameKind::B) => Some(frame),
        (DeadlineRule::Transitive, _) => last((gop.descendants(frame) | bit(frame)) & viewed),
        (DeadlineRule::Paper, FrameKind::I) => last(viewed & up_to(gop.len() - 1)),
        (DeadlineRule::Paper, FrameKind::P) => {
            let next = gop.next_p(frame);
            if let Some(next) = next.filter(|next| viewed & bit(*next) != 0) {
                return Some(next);
            }
            let behind = up_to(next.unwrap_or(gop.len() - 1)) & !up_to(frame) & !gop.anchors();
            last(behind & viewed).or_else(itself)
        }
    }
}

/// The same if all of the tile is viewed (equation 5.7): the last frame of the GoP for an I frame, the next P frame for a P
/// frame, itself for a B frame.
pub fn static_deadline_frame(gop: &Gop, frame: usize) -> usize {
    match gop.kind(frame) {
        FrameKind::I => gop.len() - 1,
        FrameKind::P => gop.next_p(frame).unwrap_or(gop.len() - 1),
        FrameKind::B => frame,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: FrameSet = 0b1_1111_1111;
    const I1: usize = 0;
    const B1: usize = 1;
    const B2: usize = 2;
    const P1: usize = 3;
    const B3: usize = 4;
    const B4: usize = 5;
    const P2: usize = 6;
    const B5: usize = 7;
    const B6: usize = 8;

    fn set(frames: &[usize]) -> FrameSet {
        frames.iter().fold(0, |set, frame| set | bit(*frame))
    }

    /// Specification, section 10.
    #[test]
    fn all_viewed() {
        let gop = Gop::of_nine();
        for (frame, until) in [(I1, B6), (P1, P2), (P2, B6), (B1, B1), (B4, B4), (B6, B6)] {
            assert_eq!(deadline_frame(&gop, DeadlineRule::Paper, ALL, frame), Some(until), "{frame}");
            assert_eq!(static_deadline_frame(&gop, frame), until, "{frame}");
        }
    }

    /// Figure 5.5, tile 1: not transitive, since B5 needs P1 as well.
    #[test]
    fn first_tile_of_the_example() {
        let gop = Gop::of_nine();
        let viewed = set(&[I1, B1, B2, P1, B5]);
        let paper = |frame| deadline_frame(&gop, DeadlineRule::Paper, viewed, frame);
        assert_eq!([I1, P1, P2, B5].map(paper), [Some(B5), Some(P1), Some(B5), Some(B5)]);
        let transitive = |frame| deadline_frame(&gop, DeadlineRule::Transitive, viewed, frame);
        assert_eq!([I1, P1, P2].map(transitive), [Some(B5); 3]);
    }

    /// Figure 5.5, tile 2: I1 alone would last until P2; P1 is viewed by nobody until B3 fetches it.
    #[test]
    fn second_tile_of_the_example() {
        let gop = Gop::of_nine();
        let viewed = set(&[B3, B4, P2]);
        assert_eq!(deadline_frame(&gop, DeadlineRule::Paper, viewed, I1), Some(P2));
        assert_eq!(deadline_frame(&gop, DeadlineRule::Paper, set(&[B2]), P1), None);
    }

    #[test]
    fn a_rule_that_is_transitive_is_never_earlier() {
        let gop = Gop::of_fifty();
        let mut random = hawser_learn::Random::new(3);
        for _ in 0..1_000 {
            let viewed = random.next_random() & random.next_random() & up_to(49);
            for frame in (0..50).filter(|frame| viewed & bit(*frame) != 0) {
                let [paper, transitive] = [DeadlineRule::Paper, DeadlineRule::Transitive]
                    .map(|rule| deadline_frame(&gop, rule, viewed, frame).expect("it is viewed"));
                // An I frame's rule is the last viewed frame of the GoP, which always needs it.
                assert!(paper <= transitive && paper >= frame, "{viewed:b} {frame}");
            }
        }
    }
}
