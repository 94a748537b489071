//! The send queue as schedulers see it.

use std::ops::{ControlFlow, Range};

use hawser_policy::{Segment, SendQueue, StreamId};

use super::Streams;
use super::key::Key;

/// Shows the queued ranges of all streams in the order in which they leave. By priority of the streams, and of those of one
/// priority: lost ones, each after the unsent ones that lie before it, then all other unsent ones that the streams' flow
/// control allows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segments<'a>(pub(crate) &'a Streams);

impl SendQueue for Segments<'_> {
    fn segments(&self, visit: &mut dyn FnMut(&Segment<'_>) -> ControlFlow<()>) {
        let mut lost = self.0.retransmissions.levels().peekable();
        let mut unsent = self.0.order.levels().peekable();
        loop {
            let first_unsent = unsent.peek().map(|(priority, _)| *priority);
            let is_next = |(priority, _): &(i32, _)| first_unsent.is_none_or(|first| *priority >= first);
            let shown = if let Some((_, mut keys)) = lost.next_if(is_next) {
                keys.try_for_each(|key| self.visit_lost(key, visit))
            } else if let Some((_, mut keys)) = unsent.next() {
                keys.try_for_each(|key| self.visit_unsent(key, visit))
            } else {
                return;
            };
            if shown.is_break() {
                return;
            }
        }
    }
}

type Visit<'v> = dyn FnMut(&Segment<'_>) -> ControlFlow<()> + 'v;

impl Segments<'_> {
    fn visit_lost(&self, key: Key, visit: &mut Visit<'_>) -> ControlFlow<()> {
        let Some(send) = self.0.send_half(key).filter(|send| send.requeued) else {
            return ControlFlow::Continue(());
        };
        let mut gaps = send.gaps().iter().peekable();
        for range in send.lost().iter() {
            while let Some(gap) = gaps.next_if(|gap| gap.start < range.start) {
                send.visit_segments(key.id, gap, false, visit)?;
            }
            send.visit_segments(key.id, range, true, visit)?;
        }
        ControlFlow::Continue(())
    }

    fn visit_unsent(&self, key: Key, visit: &mut Visit<'_>) -> ControlFlow<()> {
        let Some(send) = self.0.send_half(key).filter(|send| send.queued) else {
            return ControlFlow::Continue(());
        };
        let last_lost = send.lost().last().filter(|_| send.requeued).map_or(0, |range| range.start);
        let mut ranges = send.unsent().filter(|range| range.start >= last_lost);
        ranges.try_for_each(|range| send.visit_segments(key.id, range, false, visit))
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
