//! What a sender wrote and the transport did not take yet.

use hawser_policy::{FrameInfo, StreamId};

use crate::Transport;
use crate::live::body;

/// Bodies, each the rest of a stream.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    bodies: Vec<Body>,
    written: u64,
    cut: u64,
}

#[derive(Debug)]
struct Body {
    stream: StreamId,
    info: FrameInfo,
    key: u32,
    offset: u64,
    size: u64,
}

impl Backlog {
    /// A body of so many bytes of the pattern of `key`, behind the others.
    pub(crate) fn push(&mut self, stream: StreamId, info: FrameInfo, key: u32, size: u64) {
        self.bodies.push(Body { stream, info, key, offset: 0, size });
    }

    /// Writes as much as the transport takes, and finishes streams that it has whole.
    pub(crate) fn write(&mut self, transport: &mut dyn Transport) {
        let written = &mut self.written;
        self.bodies.retain_mut(|rest| {
            while rest.offset < rest.size {
                let data = body(rest.key, rest.offset, rest.size - rest.offset);
                let taken = transport.write_frame(rest.stream, &rest.info, data);
                if taken == 0 {
                    return true;
                }
                rest.offset += taken as u64;
                *written += taken as u64;
            }
            transport.finish(rest.stream);
            false
        });
    }

    /// Ends the streams of bodies that would come too late.
    pub(crate) fn give_up(&mut self, transport: &mut dyn Transport, is_late: impl Fn(&FrameInfo) -> bool) {
        let cut = &mut self.cut;
        self.bodies.retain(|rest| {
            let is_late = is_late(&rest.info);
            if is_late {
                *cut += rest.size - rest.offset;
                transport.finish(rest.stream);
            }
            !is_late
        });
    }

    /// Whether the transport has all of it.
    pub(crate) fn is_empty(&self) -> bool {
        self.bodies.is_empty()
    }

    /// Bytes that the transport took.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Bytes that were given up before that.
    pub(crate) fn cut(&self) -> u64 {
        self.cut
    }
}
