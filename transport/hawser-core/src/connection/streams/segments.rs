//! The send queue as schedulers see it.

use std::ops::{ControlFlow, Range};

use hawser_policy::{Segment, SendQueue, StreamId};

use super::Streams;

/// Shows the queued ranges of all streams in the order in which they leave: lost ones, each after the unsent ones that lie
/// before it, then all other unsent ones that the streams' flow control allows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segments<'a>(pub(crate) &'a Streams);

impl SendQueue for Segments<'_> {
    fn segments(&self, visit: &mut dyn FnMut(&Segment<'_>) -> ControlFlow<()>) {
        let lost = self.0.retransmissions.iter().filter_map(|key| Some((key, self.0.send_half(key)?)));
        for (key, send) in lost.filter(|(_, send)| send.requeued) {
            let mut gaps = send.gaps().iter().peekable();
            for range in send.lost().iter() {
                while let Some(gap) = gaps.next_if(|gap| gap.start < range.start) {
                    if send.visit_segments(key.id, gap, false, visit).is_break() {
                        return;
                    }
                }
                if send.visit_segments(key.id, range, true, visit).is_break() {
                    return;
                }
            }
        }
        let unsent = self.0.order.iter().filter_map(|key| Some((key, self.0.send_half(key)?)));
        for (key, send) in unsent.filter(|(_, send)| send.queued) {
            let last_lost = send.lost().last().filter(|_| send.requeued).map_or(0, |range| range.start);
            for range in send.unsent().filter(|range| range.start >= last_lost) {
                if send.visit_segments(key.id, range, false, visit).is_break() {
                    return;
                }
            }
        }
    }
}

impl Streams {
    /// The first range of that order.
    pub(crate) fn first_queued(&self) -> Option<(StreamId, Range<u64>)> {
        let mut first = None;
        Segments(self).segments(&mut |segment| {
            first = Some((segment.stream, segment.range.clone()));
            ControlFlow::Break(())
        });
        first
    }
}
