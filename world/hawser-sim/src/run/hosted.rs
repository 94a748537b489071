//! An application of `hawser-media` at one end of a connection.

use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;
use hawser_core::{Chunk, Connection, StreamEvent};
use hawser_media::{Application, Measure, Piece, Transport};
use hawser_policy::{Feedback, FrameInfo, PathState, StreamId, Time};

use super::meter::Meter;

/// One end of an application, and where it is with its connection.
pub(super) struct Hosted {
    application: Box<dyn Application>,
    /// Streams that it opened and whose data the peer does not have yet.
    unfinished: usize,
}

/// What the end may do at a time: its connection, and the meter of what it reads.
pub(super) struct Wire<'a> {
    pub(super) now: Time,
    pub(super) connection: &'a mut Connection,
    pub(super) meter: &'a mut Meter,
}

/// A wire for as long as the application is called.
struct Call<'a, 'w> {
    wire: &'a mut Wire<'w>,
    opened: usize,
}

impl Hosted {
    pub(super) fn new(application: Box<dyn Application>) -> Self {
        Hosted { application, unfinished: 0 }
    }

    fn call(&mut self, wire: &mut Wire<'_>, work: impl FnOnce(&mut dyn Application, &mut dyn Transport)) {
        let mut call = Call { wire, opened: 0 };
        work(self.application.as_mut(), &mut call);
        self.unfinished += call.opened;
    }

    pub(super) fn start(&mut self, asked_at: Time, wire: &mut Wire<'_>) {
        let now = wire.now;
        self.call(wire, |application, transport| application.on_start(now, asked_at, transport));
    }

    /// Streams of both directions are not the application's: on one the client asks for it.
    pub(super) fn on_event(&mut self, event: &StreamEvent, wire: &mut Wire<'_>) {
        let now = wire.now;
        match event {
            StreamEvent::Opened { bidirectional: false } => {
                while let Some(id) = wire.connection.accept_stream(false) {
                    self.call(wire, |application, transport| application.on_readable(now, id, transport));
                }
            }
            StreamEvent::Readable(id) if !id.is_bidirectional() => {
                self.call(wire, |application, transport| application.on_readable(now, *id, transport));
            }
            StreamEvent::Writable(_) | StreamEvent::Available { bidirectional: false } => {
                self.call(wire, |application, transport| application.on_writable(now, transport));
            }
            StreamEvent::Finished(id) if !id.is_bidirectional() => {
                self.unfinished = self.unfinished.saturating_sub(1)
            }
            _ => {}
        }
    }

    pub(super) fn on_timeout(&mut self, wire: &mut Wire<'_>) {
        let now = wire.now;
        self.call(wire, |application, transport| application.on_timeout(now, transport));
    }

    pub(super) fn next_timeout(&self) -> Option<Time> {
        self.application.next_timeout()
    }

    /// Whether it has done its work, and the peer has what it sent.
    pub(super) fn is_done(&self) -> bool {
        self.unfinished == 0 && self.application.is_done()
    }

    pub(super) fn measures(&self, now: Time) -> Vec<Measure> {
        self.application.measures(now)
    }
}

impl Transport for Call<'_, '_> {
    fn open_stream(&mut self) -> Option<StreamId> {
        let id = self.wire.connection.open_stream(false)?;
        self.opened += 1;
        Some(id)
    }

    fn set_priority(&mut self, stream: StreamId, priority: i32) {
        let _ = self.wire.connection.set_priority(stream, priority);
    }

    fn write_frame(&mut self, stream: StreamId, info: &FrameInfo, data: Bytes) -> usize {
        // A stream that is gone takes nothing; the flow ends with its connection.
        self.wire.connection.write_frame(stream, info, data).unwrap_or(0)
    }

    fn finish(&mut self, stream: StreamId) {
        let _ = self.wire.connection.finish(stream);
    }

    fn read(&mut self, stream: StreamId) -> Piece {
        match self.wire.connection.next_chunk(stream, usize::MAX) {
            Ok(Chunk::Data { bytes, .. }) => {
                self.wire.meter.arrived(self.wire.now, bytes.len() as u64);
                Piece::Data(bytes)
            }
            Ok(Chunk::Gap { length, .. }) => Piece::Gap(length),
            Ok(Chunk::End) => Piece::End,
            Err(_) => Piece::Nothing,
        }
    }

    fn missing(&self, stream: StreamId) -> Vec<Range<u64>> {
        self.wire.connection.missing(stream)
    }

    fn waiting(&self) -> u64 {
        self.wire.connection.buffered()
    }

    fn pass_missing(&mut self, stream: StreamId) -> u64 {
        let gap = self.wire.connection.pass_missing(stream).ok().flatten();
        gap.map_or(0, |gap| gap.end - gap.start)
    }

    fn feedback(&mut self, feedback: &Feedback) {
        self.wire.connection.feedback(self.wire.now, feedback);
    }

    fn longest_round_trip(&self) -> Duration {
        let connection = &self.wire.connection;
        let paths = connection.paths().into_iter().filter(|path| path.state == PathState::Active);
        let times = paths.filter_map(|path| Some(connection.path_stats(path.id)?.smoothed_rtt));
        times.max().unwrap_or_default()
    }
}
