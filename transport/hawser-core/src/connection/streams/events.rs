//! What the application is told about streams.

use std::collections::VecDeque;

use hawser_policy::StreamId;

/// News about streams. Each kind is told once and again only after the application acted on it: a stream is
/// readable again only after a read found nothing, and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEvent {
    /// The peer opened a stream; accept until none is left.
    Opened {
        /// Which kind.
        bidirectional: bool,
    },
    /// There is something to read: data, the end, or a reset.
    Readable(StreamId),
    /// A write that was blocked can go on.
    Writable(StreamId),
    /// Everything written, with the end, was acknowledged.
    Finished(StreamId),
    /// The peer no longer wants what is sent on the stream.
    Stopped {
        /// The stream.
        id: StreamId,
        /// The peer's reason.
        code: u64,
    },
    /// More streams may be opened, after opening one had failed.
    Available {
        /// Which kind.
        bidirectional: bool,
    },
}

/// Events that were not polled yet.
#[derive(Debug, Default)]
pub(super) struct Events(VecDeque<StreamEvent>);

impl Events {
    #[inline]
    pub(super) fn push(&mut self, event: StreamEvent) {
        self.0.push_back(event);
    }

    #[inline]
    pub(super) fn poll(&mut self) -> Option<StreamEvent> {
        self.0.pop_front()
    }

    pub(super) fn shrink(&mut self) {
        self.0.shrink_to_fit();
    }
}
