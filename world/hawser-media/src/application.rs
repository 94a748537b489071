//! What an application is, and what it needs of a connection.

use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;
use hawser_policy::{Feedback, FrameInfo, StreamId, Time};

/// What could be read of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// The next bytes.
    Data(Bytes),
    /// The next so many bytes will not come: their sender gave them up, or we did.
    Gap(u64),
    /// Nothing for now.
    Nothing,
    /// The stream is over.
    End,
}

/// A connection, as an application sees it. Drivers implement it.
pub trait Transport {
    /// Opens a stream to the peer; `None` while the peer allows no more.
    fn open_stream(&mut self) -> Option<StreamId>;

    /// Of all streams those of higher priority send first; 0 without a call.
    fn set_priority(&mut self, stream: StreamId, priority: i32);

    /// Writes bytes with what policies should know of them; returns how many were taken, fewer than given when the stream is
    /// full. Then [`Application::on_writable`] is called when there is room again.
    fn write_frame(&mut self, stream: StreamId, info: &FrameInfo, data: Bytes) -> usize;

    /// Nothing more will be written.
    fn finish(&mut self, stream: StreamId);

    /// The next piece of a stream, in order.
    fn read(&mut self, stream: StreamId) -> Piece;

    /// What is missing before something that has arrived and may still come, in order.
    fn missing(&self, stream: StreamId) -> Vec<Range<u64>>;

    /// Bytes that came and cannot be read yet, roughly.
    fn waiting(&self) -> u64;

    /// Waits no longer for the first of what is [missing](Self::missing): the reader is behind it now. Returns how many bytes that
    /// was; zero if there is something to read.
    fn pass_missing(&mut self, stream: StreamId) -> u64;

    /// Tells the policies of this end how the application fares.
    fn feedback(&mut self, feedback: &Feedback);

    /// Smoothed round-trip time of the slowest path in use.
    fn longest_round_trip(&self) -> Duration;
}

/// One end of an application. Every call tells the time; what happens next is up to the calls that follow.
pub trait Application: Send {
    /// The connection is there; it was asked for at `asked_at`, where this end knows that.
    fn on_start(&mut self, now: Time, asked_at: Time, transport: &mut dyn Transport);

    /// A stream has something to read: until [`Piece::Nothing`].
    fn on_readable(&mut self, _now: Time, _stream: StreamId, _transport: &mut dyn Transport) {}

    /// A stream that was full has room again.
    fn on_writable(&mut self, _now: Time, _transport: &mut dyn Transport) {}

    /// When [`on_timeout`](Self::on_timeout) should be called.
    fn next_timeout(&self) -> Option<Time> {
        None
    }

    /// That timer expired.
    fn on_timeout(&mut self, _now: Time, _transport: &mut dyn Transport) {}

    /// Whether this end has done all that it had to.
    fn is_done(&self) -> bool;

    /// What it measured until now.
    fn measures(&self, now: Time) -> Vec<Measure>;
}

/// A figure that an application measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// What it is, in words of the field with underscores: `rebuffering`.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// What it is measured in: `s`, `ms`, `frames`, `bytes`; empty for a plain number.
    pub unit: &'static str,
}

impl Measure {
    /// Name with the unit of a time at its end: `rebuffering_s`.
    pub fn key(&self) -> String {
        match self.unit {
            unit @ ("s" | "ms") => format!("{}_{unit}", self.name),
            _ => self.name.to_owned(),
        }
    }

    /// A figure.
    pub fn new(name: &'static str, value: f64, unit: &'static str) -> Self {
        Measure { name, value, unit }
    }
}
