//! The send queue as schedulers see it.

use std::ops::ControlFlow;

use hawser_policy::{Segment, SendQueue};

use super::Streams;

/// Shows the queued ranges of all streams: lost ones, then unsent ones allowed by the streams' flow control.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segments<'a>(pub(crate) &'a Streams);

impl SendQueue for Segments<'_> {
    fn segments(&self, visit: &mut dyn FnMut(&Segment<'_>) -> ControlFlow<()>) {
        let lost = self.0.retransmissions.iter().filter_map(|key| Some((key, self.0.send_half(key)?)));
        for (key, send) in lost.filter(|(_, send)| send.requeued) {
            for range in send.lost().iter() {
                if send.visit_segments(key.id, range, true, visit).is_break() {
                    return;
                }
            }
        }
        let unsent = self.0.order.iter().filter_map(|key| Some((key, self.0.send_half(key)?)));
        for (key, send) in unsent.filter(|(_, send)| send.queued) {
            for range in send.unsent() {
                if send.visit_segments(key.id, range, false, visit).is_break() {
                    return;
                }
            }
        }
    }
}
