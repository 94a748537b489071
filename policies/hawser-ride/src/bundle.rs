//! What is sent together with a viewed tile-frame.

use crate::gop::{FrameSet, Gop, bit, members};

/// A viewed tile-frame with what it needs, was not sent and is not viewed itself: viewed ancestors are units of their own.
pub fn bundle(gop: &Gop, viewed: FrameSet, sent: FrameSet, frame: usize) -> FrameSet {
    gop.closure(frame) & !sent & (!viewed | bit(frame))
}

/// The frames of a bundle, references first: I and P frames in display order, then the B frame that carries them.
pub fn in_order(gop: &Gop, bundle: FrameSet) -> impl Iterator<Item = usize> {
    members(bundle & gop.anchors()).chain(members(bundle & !gop.anchors()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const I1: usize = 0;
    const P1: usize = 3;
    const B3: usize = 4;
    const B4: usize = 5;
    const P2: usize = 6;

    /// Specification, section 10: tile 2 of figure 5.5.
    #[test]
    fn second_tile_of_the_example() {
        let gop = Gop::of_nine();
        let viewed = bit(B3) | bit(B4) | bit(P2);
        let first = bundle(&gop, viewed, 0, B3);
        assert_eq!(in_order(&gop, first).collect::<Vec<_>>(), [I1, P1, B3]);
        let sent = first;
        assert_eq!(bundle(&gop, viewed, sent, B4), bit(B4));
        assert_eq!(bundle(&gop, viewed, sent | bit(B4), P2), bit(P2));
        // What was skipped is added again by the next that needs it.
        assert_eq!(bundle(&gop, viewed, 0, B4), bit(I1) | bit(P1) | bit(B4));
    }

    #[test]
    fn a_reference_behind_goes_before_the_frame_that_needs_it() {
        let gop = Gop::of_nine();
        let frames = bundle(&gop, bit(B3), bit(I1) | bit(P1), B3);
        assert_eq!(in_order(&gop, frames).collect::<Vec<_>>(), [P2, B3]);
    }
}
