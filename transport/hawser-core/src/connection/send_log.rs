//! When each range of a stream was sent for the first time: what simulators and measurements count delays from.

use std::collections::VecDeque;

use hawser_policy::{PathId, StreamId, Time};

use super::Connection;
use super::frames::SentFrame;

/// The first sending of a range of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstSend {
    /// When.
    pub at: Time,
    /// Which datagram of its batch carried it: `n` begins at byte `n * segment_size` of the transmit.
    pub segment: u32,
    /// On which path.
    pub path: PathId,
    /// The stream.
    pub stream: StreamId,
    /// The first byte's place in it.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
}

/// First sendings that nobody has asked for yet.
#[derive(Debug, Default)]
pub(super) struct SendLog {
    sends: VecDeque<FirstSend>,
    /// The datagram being built, by its place in the batch.
    segment: u32,
}

impl SendLog {
    /// A batch begins.
    pub(super) fn begin_batch(&mut self) {
        self.segment = 0;
    }

    /// The next datagram of the batch begins.
    pub(super) fn next_segment(&mut self) {
        self.segment += 1;
    }

    /// Notes the last `new_bytes` of stream data in `frames`: what is sent again comes before what is new.
    pub(super) fn note(&mut self, at: Time, path: PathId, frames: &[SentFrame], mut new_bytes: u64) {
        for frame in frames.iter().rev() {
            let SentFrame::Stream(range) = frame else { continue };
            if new_bytes == 0 {
                return;
            }
            new_bytes = new_bytes.saturating_sub(u64::from(range.length));
            let (stream, offset, length) = (range.id, range.offset, range.length);
            let segment = self.segment;
            self.sends.push_back(FirstSend { at, segment, path, stream, offset, length });
        }
    }
}

impl Connection {
    /// Keeps first sendings for [`poll_first_send`](Self::poll_first_send) from now on. Poll after each transmit: they
    /// pile up otherwise.
    pub fn log_first_sends(&mut self) {
        self.observed.send_log.get_or_insert_default();
    }

    /// The next range of a stream that was sent for the first time.
    pub fn poll_first_send(&mut self) -> Option<FirstSend> {
        self.observed.send_log.as_mut()?.sends.pop_front()
    }
}
