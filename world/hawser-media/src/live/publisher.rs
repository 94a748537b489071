//! The end that sends.

use std::collections::VecDeque;
use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;
use hawser_policy::{FrameInfo, Reliability, SegmentKind, StreamId, Time};

use crate::framing::{self, HEADER_LENGTH, Header};
use crate::tail::{LeftOut, Tail, Verdict};
use crate::video::{FrameKind, VideoFrame};
use crate::{Application, Measure, Transport};

/// In the number under which policies know the header of a frame; the body has the number of the frame.
pub const HEADER_ID: u64 = 1 << 63;

/// A prime number of bytes, so that a body that is shifted by a packet is not the same.
const PERIOD: usize = 65_521;

/// What bodies are made of: two periods, so that a whole one begins anywhere.
static PATTERN: LazyLock<Bytes> = LazyLock::new(|| {
    let period: Vec<u8> =
        (0..PERIOD as u64).map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect();
    Bytes::from([&period[..], &period[..]].concat())
});

/// Bytes of a body from `offset` on, at most `length` of them; nothing is copied.
pub(crate) fn body(frame: u32, offset: u64, length: u64) -> Bytes {
    let start = ((u64::from(frame) * 97 + offset) % PERIOD as u64) as usize;
    PATTERN.slice(start..start + length.min(PERIOD as u64) as usize)
}

/// Sends each frame at its time, whole, behind those that did not fit yet.
#[derive(Debug)]
pub struct Publisher {
    frames: Vec<VideoFrame>,
    /// Those that were made.
    made: usize,
    started_at: Option<Time>,
    stream: Option<StreamId>,
    /// What the stream did not take yet.
    backlog: VecDeque<Part>,
    backlog_bytes: u64,
    largest_backlog: u64,
    written: u64,
    finished: bool,
    /// What is left out; `None`: nothing.
    tail: Option<Tail>,
    left_out: u64,
}

/// What is written at one go: a preface, a header, or a body.
#[derive(Debug)]
struct Part {
    info: FrameInfo,
    bytes: PartBytes,
}

#[derive(Debug)]
enum PartBytes {
    Given(Bytes),
    Body { frame: u32, offset: u64, length: u64 },
}

impl Part {
    fn left(&self) -> u64 {
        match &self.bytes {
            PartBytes::Given(bytes) => bytes.len() as u64,
            PartBytes::Body { offset, length, .. } => length - offset,
        }
    }

    fn next(&self) -> Bytes {
        match &self.bytes {
            PartBytes::Given(bytes) => bytes.clone(),
            PartBytes::Body { frame, offset, length } => body(*frame, *offset, length - offset),
        }
    }

    fn advance(&mut self, taken: usize) {
        match &mut self.bytes {
            PartBytes::Given(bytes) => drop(bytes.split_to(taken)),
            PartBytes::Body { offset, .. } => *offset += taken as u64,
        }
    }
}

fn reliable(id: u64) -> FrameInfo {
    FrameInfo::default().with(|frame| {
        frame.id = id;
        frame.kind = SegmentKind::Signalling;
        frame.reliability = Reliability::Reliable;
    })
}

impl Publisher {
    /// Sends these frames, which are in order.
    pub fn new(frames: Vec<VideoFrame>) -> Self {
        Publisher {
            frames,
            made: 0,
            started_at: None,
            stream: None,
            backlog: VecDeque::new(),
            backlog_bytes: 0,
            largest_backlog: 0,
            written: 0,
            finished: false,
            tail: None,
            left_out: 0,
        }
    }

    /// Leaves out frames that would wait for longer than `lag`.
    #[must_use]
    pub fn leaving_out(mut self, what: LeftOut, lag: Duration) -> Self {
        self.tail = Some(Tail::new(what, lag));
        self
    }

    fn push(&mut self, info: FrameInfo, bytes: PartBytes) {
        let part = Part { info, bytes };
        self.backlog_bytes += part.left();
        self.largest_backlog = self.largest_backlog.max(self.backlog_bytes);
        self.backlog.push_back(part);
    }

    fn push_frame(&mut self, now: Time, frame: VideoFrame) {
        let verdict =
            self.tail.as_mut().map(|tail| tail.judge(frame.kind, frame.size.into(), self.backlog_bytes));
        match verdict {
            Some(Verdict::LeaveOut) => {
                self.left_out += 1;
                return;
            }
            Some(Verdict::TakeInPlaceOf(bytes)) => self.leave_out_newest(bytes),
            Some(Verdict::Take) | None => {}
        }
        let id = u64::from(frame.number);
        let header = Header { number: frame.number, kind: frame.kind, size: frame.size, written_at: now };
        self.push(reliable(HEADER_ID | id), PartBytes::Given(Bytes::copy_from_slice(&header.encode())));
        let (kind, reliability) = match frame.kind {
            FrameKind::Key => (SegmentKind::KeyFrame, Reliability::Reliable),
            FrameKind::Delta => (SegmentKind::DeltaFrame, Reliability::UntilDeadline),
        };
        let info = FrameInfo::default().with(|frame| {
            frame.id = id;
            frame.kind = kind;
            frame.reliability = reliability;
        });
        let length = frame.size.into();
        self.push(info, PartBytes::Body { frame: frame.number, offset: 0, length });
    }

    /// Leaves out the newest frames that wait, until they were so many bytes; none that has begun, and none before a key frame.
    fn leave_out_newest(&mut self, bytes: u64) {
        let mut freed = 0;
        while freed < bytes {
            let [.., header, body] = self.backlog.make_contiguous() else { break };
            let has_begun = header.info.id & HEADER_ID == 0 || header.left() < HEADER_LENGTH as u64;
            if has_begun || body.info.kind != SegmentKind::DeltaFrame {
                break;
            }
            freed += header.left() + body.left();
            self.backlog.truncate(self.backlog.len() - 2);
            self.left_out += 1;
        }
        self.backlog_bytes -= freed;
    }

    /// Writes what the stream takes.
    fn write(&mut self, now: Time, transport: &mut dyn Transport) {
        if self.stream.is_none() {
            self.stream = transport.open_stream();
        }
        let Some(stream) = self.stream else { return };
        let before = self.written;
        self.write_backlog(stream, transport);
        if let Some(tail) = &mut self.tail {
            tail.on_sent(now, self.written - before, self.backlog_bytes);
        }
        let is_all = self.made == self.frames.len() && self.backlog.is_empty();
        if is_all && !self.finished {
            self.finished = true;
            transport.finish(stream);
        }
    }

    fn write_backlog(&mut self, stream: StreamId, transport: &mut dyn Transport) {
        while let Some(part) = self.backlog.front_mut() {
            // An empty body is never written: there is nothing to wait for.
            while part.left() > 0 {
                let taken = transport.write_frame(stream, &part.info, part.next());
                if taken == 0 {
                    return;
                }
                part.advance(taken);
                self.backlog_bytes -= taken as u64;
                self.written += taken as u64;
            }
            self.backlog.pop_front();
        }
    }
}

impl Application for Publisher {
    fn on_start(&mut self, now: Time, asked_at: Time, transport: &mut dyn Transport) {
        self.started_at = Some(now);
        let preface = framing::preface(now.since(asked_at));
        self.push(reliable(u64::MAX), PartBytes::Given(Bytes::copy_from_slice(&preface)));
        self.on_timeout(now, transport);
    }

    fn on_writable(&mut self, now: Time, transport: &mut dyn Transport) {
        self.write(now, transport);
    }

    fn next_timeout(&self) -> Option<Time> {
        Some(self.started_at? + self.frames.get(self.made)?.at)
    }

    fn on_timeout(&mut self, now: Time, transport: &mut dyn Transport) {
        while self.next_timeout().is_some_and(|at| at <= now) {
            self.push_frame(now, self.frames[self.made]);
            self.made += 1;
        }
        self.write(now, transport);
    }

    fn is_done(&self) -> bool {
        self.finished
    }

    fn measures(&self, _: Time) -> Vec<Measure> {
        vec![
            Measure::new("frames_made", self.made as f64, "frames"),
            Measure::new("frames_not_sent", self.left_out as f64, "frames"),
            Measure::new("bytes_written", self.written as f64, "bytes"),
            Measure::new("largest_backlog", self.largest_backlog as f64, "bytes"),
        ]
    }
}
