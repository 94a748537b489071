//! The end that plays.

use std::ops::Range;
use std::time::Duration;

use hawser_numbers::statistics::quantile_of;
use hawser_policy::{Earliest, Feedback, StreamId, Time};

use super::publisher::body;
use crate::framing::{HEADER_LENGTH, Header, PREFACE_LENGTH, read_preface};
use crate::quality::QualityModel;
use crate::video::FrameKind;
use crate::{Application, Measure, Piece, Player, Transport};

/// The shortest patience with what is missing from a body: half of the longest round-trip time, but not less.
const LEAST_PATIENCE: Duration = Duration::from_millis(20);
/// How often what waits out of order is measured (4D-MAP, figure 2c).
const SAMPLE_INTERVAL: Duration = Duration::from_millis(100);
/// How often it is looked for: nothing tells that bytes came behind a hole.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// Reads a stream of frames, plays it, and reports every frame to the policies of this end. It goes on without the bytes of a
/// body that the sender gave up; nobody may give up preface and headers.
#[derive(Debug)]
pub struct Viewer {
    deadline: Duration,
    passes_late: bool,
    stream: Option<StreamId>,
    reading: Reading,
    /// Of what is read at present: bytes that came, and that did not.
    received: u64,
    lacking: u64,
    /// Number of the frame that follows, if none is left out.
    next_number: Option<u32>,
    /// Bytes of the stream that were read or passed.
    position: u64,
    /// What is missing, and since when something behind it is there.
    holes: Vec<(Range<u64>, Time)>,
    /// When we wait no longer for what is missing, and when we look whether something is.
    patience_ends: Option<Time>,
    look_at: Option<Time>,
    /// When what waits out of order is measured next.
    sample_at: Option<Time>,
    player: Player,
    period: Duration,
    quality: QualityModel,
    log: Log,
}

/// Where in the stream the reader is.
#[derive(Debug)]
enum Reading {
    Preface {
        bytes: [u8; PREFACE_LENGTH],
        filled: usize,
    },
    Header {
        bytes: [u8; HEADER_LENGTH],
        filled: usize,
    },
    Body(Header),
    /// The stream is over, or makes no sense.
    Ended,
}

/// What was seen.
#[derive(Debug, Default)]
struct Log {
    /// How long the publisher's connection took.
    connecting: Duration,
    frames: u64,
    complete: u64,
    damaged: u64,
    keys_damaged: u64,
    /// Bytes that waited out of order, every [`SAMPLE_INTERVAL`].
    waiting: Vec<f64>,
    late: u64,
    /// Frames that the publisher left out.
    left_out: u64,
    lacking_bytes: u64,
    delays: Duration,
    longest_delay: Duration,
    /// From the publisher's asking for its connection to the first complete key frame.
    startup: Option<Duration>,
    /// Bytes that differ from what was sent, or invalid headers.
    corrupt: u64,
    ended_at: Option<Time>,
    /// When the first frame that came was written.
    first_written_at: Option<Time>,
}

impl Viewer {
    /// Plays so many frames per second; those that took longer than `deadline` are reported as late.
    pub fn new(frame_rate: u32, deadline: Duration) -> Self {
        let period = Duration::from_secs(1) / frame_rate.max(1);
        Viewer {
            deadline,
            passes_late: false,
            stream: None,
            reading: Reading::Preface { bytes: [0; PREFACE_LENGTH], filled: 0 },
            received: 0,
            lacking: 0,
            next_number: None,
            position: 0,
            holes: Vec::new(),
            patience_ends: None,
            look_at: None,
            sample_at: None,
            player: Player::new(period),
            period,
            quality: QualityModel::default(),
            log: Log::default(),
        }
    }

    /// Where a body of a frame that is no key frame lacks bytes that may still come, it waits until something behind them has
    /// been there for half of the longest round-trip time, then goes on without them (4D-MAP, section 5.4). Headers are
    /// waited for.
    #[must_use]
    pub fn passing_what_is_late(mut self) -> Self {
        self.passes_late = true;
        self
    }

    /// Takes bytes in order.
    fn take(&mut self, now: Time, mut data: &[u8], transport: &mut dyn Transport) {
        while !data.is_empty() {
            match &mut self.reading {
                Reading::Preface { bytes, filled } => {
                    fill(bytes, filled, &mut data);
                    if *filled == PREFACE_LENGTH {
                        let connecting = read_preface(bytes);
                        self.log.corrupt += u64::from(connecting.is_none());
                        self.log.connecting = connecting.unwrap_or_default();
                        self.reading = next_header();
                    }
                }
                Reading::Header { bytes, filled } => {
                    fill(bytes, filled, &mut data);
                    if *filled == HEADER_LENGTH {
                        let header = Header::decode(bytes);
                        self.begin_body(now, header, transport);
                    }
                }
                Reading::Body(header) => {
                    let done = self.received + self.lacking;
                    let length = (u64::from(header.size) - done).min(data.len() as u64);
                    let (of_body, rest) = data.split_at(length as usize);
                    self.log.corrupt += mismatches(header.number, done, of_body);
                    self.received += length;
                    data = rest;
                    self.end_body_if_done(now, transport);
                }
                Reading::Ended => return,
            }
        }
    }

    /// So many bytes will not come. Of anything but a body that is the end: nobody may give up a header.
    fn take_gap(&mut self, now: Time, mut length: u64, transport: &mut dyn Transport) {
        while length > 0 {
            let Reading::Body(header) = &self.reading else {
                self.log.corrupt += 1;
                self.reading = Reading::Ended;
                return;
            };
            let done = self.received + self.lacking;
            let of_body = (u64::from(header.size) - done).min(length);
            self.lacking += of_body;
            length -= of_body;
            self.end_body_if_done(now, transport);
        }
    }

    fn begin_body(&mut self, now: Time, header: Option<Header>, transport: &mut dyn Transport) {
        let Some(header) = header else {
            self.log.corrupt += 1;
            self.reading = Reading::Ended;
            return;
        };
        let expected = self.next_number.replace(header.number.wrapping_add(1));
        let left_out = expected.map_or(0, |expected| header.number.saturating_sub(expected));
        self.log.left_out += u64::from(left_out);
        if self.player.playback().started_at.is_some() {
            self.player.on_left_out(left_out);
            self.quality.on_left_out(left_out.into());
        }
        (self.received, self.lacking) = (0, 0);
        self.reading = Reading::Body(header);
        self.end_body_if_done(now, transport);
    }

    fn end_body_if_done(&mut self, now: Time, transport: &mut dyn Transport) {
        let Reading::Body(header) = self.reading else { return };
        if self.received + self.lacking < u64::from(header.size) {
            return;
        }
        self.reading = next_header();
        let delay = now.since(header.written_at);
        let in_time = delay <= self.deadline;
        self.log.frames += 1;
        self.log.first_written_at.get_or_insert(header.written_at);
        self.log.delays += delay;
        self.log.longest_delay = self.log.longest_delay.max(delay);
        self.log.lacking_bytes += self.lacking;
        self.log.late += u64::from(!in_time);
        let is_complete = self.lacking == 0;
        *if is_complete { &mut self.log.complete } else { &mut self.log.damaged } += 1;
        self.log.keys_damaged += u64::from(!is_complete && header.kind == FrameKind::Key);
        let is_first = header.kind == FrameKind::Key && is_complete;
        if is_first && self.log.startup.is_none() {
            self.log.startup = Some(self.log.connecting + delay);
        }
        if self.player.on_frame(now, is_first) {
            let missing = self.lacking as f64 / f64::from(header.size.max(1));
            self.quality.on_frame(header.kind, missing);
        }
        let id = u64::from(header.number);
        transport.feedback(&Feedback::Frame { id, delay, in_time, bytes: self.received });
    }

    /// Frames that should have come by now, in time, and of which nothing has been read.
    fn unheard(&self, now: Time) -> u64 {
        let Some(first) = self.log.first_written_at.filter(|_| !self.is_done()) else { return 0 };
        let due = now.since(first + self.deadline).as_nanos() / self.period.as_nanos().max(1);
        u64::try_from(due).unwrap_or(u64::MAX).saturating_sub(self.log.frames + self.log.left_out)
    }

    /// Notes what is missing, and until when it is waited for where the reader is.
    fn judge_missing(&mut self, now: Time, stream: StreamId, transport: &mut dyn Transport) {
        if !self.passes_late || self.is_done() {
            (self.patience_ends, self.look_at) = (None, None);
            return;
        }
        let known = std::mem::take(&mut self.holes);
        let since = |hole: &Range<u64>| {
            let same = known.iter().filter(|(other, _)| other.start < hole.end && hole.start < other.end);
            same.map(|(_, since)| *since).min().unwrap_or(now)
        };
        let holes = transport.missing(stream).into_iter().map(|hole| (since(&hole), hole));
        self.holes = holes.map(|(since, hole)| (hole, since)).collect();
        let patience = (transport.longest_round_trip() / 2).max(LEAST_PATIENCE);
        let ahead = self.holes.first().filter(|(hole, _)| self.is_passable(hole));
        self.patience_ends = ahead.map(|(_, since)| (*since + patience).max(now));
        self.look_at = Some(now + LOOK_INTERVAL);
    }

    /// Whether a hole is where the reader is, in a body that may lack something, and ends with it at the latest.
    fn is_passable(&self, hole: &Range<u64>) -> bool {
        let Reading::Body(header) = self.reading else { return false };
        let rest = u64::from(header.size) - self.received - self.lacking;
        let is_within = hole.start <= self.position && hole.end <= self.position + rest;
        header.kind == FrameKind::Delta && is_within
    }
}

/// Takes from `data` what `bytes` lacks.
pub(crate) fn fill(bytes: &mut [u8], filled: &mut usize, data: &mut &[u8]) {
    let (taken, rest) = data.split_at(data.len().min(bytes.len() - *filled));
    bytes[*filled..*filled + taken.len()].copy_from_slice(taken);
    *filled += taken.len();
    *data = rest;
}

fn next_header() -> Reading {
    Reading::Header { bytes: [0; HEADER_LENGTH], filled: 0 }
}

/// Pieces of a body that are not what was sent.
pub(crate) fn mismatches(frame: u32, offset: u64, data: &[u8]) -> u64 {
    let mut wrong = 0;
    let mut at = 0;
    while at < data.len() {
        let expected = body(frame, offset + at as u64, (data.len() - at) as u64);
        wrong += u64::from(expected != data[at..at + expected.len()]);
        at += expected.len();
    }
    wrong
}

impl Application for Viewer {
    fn on_start(&mut self, _: Time, _: Time, _: &mut dyn Transport) {}

    fn on_readable(&mut self, now: Time, stream: StreamId, transport: &mut dyn Transport) {
        if *self.stream.get_or_insert(stream) != stream {
            return;
        }
        self.sample_at.get_or_insert(now + SAMPLE_INTERVAL);
        loop {
            match transport.read(stream) {
                Piece::Data(bytes) => {
                    self.position += bytes.len() as u64;
                    self.take(now, &bytes, transport);
                }
                Piece::Gap(length) => {
                    self.position += length;
                    self.take_gap(now, length, transport);
                }
                Piece::Nothing => break,
                Piece::End => {
                    self.reading = Reading::Ended;
                    self.log.ended_at.get_or_insert(now);
                    break;
                }
            }
        }
        self.judge_missing(now, stream, transport);
    }

    fn next_timeout(&self) -> Option<Time> {
        Earliest::NONE
            .or(self.patience_ends)
            .or(self.look_at)
            .or(self.sample_at.filter(|_| !self.is_done()))
            .time()
    }

    fn on_timeout(&mut self, now: Time, transport: &mut dyn Transport) {
        let Some(stream) = self.stream else { return };
        while let Some(at) = self.sample_at.filter(|at| *at <= now) {
            self.log.waiting.push(transport.waiting() as f64);
            self.sample_at = Some(at + SAMPLE_INTERVAL);
        }
        if self.patience_ends.is_some_and(|end| end <= now) {
            let passed = transport.pass_missing(stream);
            self.position += passed;
            self.take_gap(now, passed, transport);
            self.on_readable(now, stream, transport);
        } else if self.look_at.is_some_and(|at| at <= now) {
            self.judge_missing(now, stream, transport);
        }
    }

    fn is_done(&self) -> bool {
        matches!(self.reading, Reading::Ended)
    }

    fn measures(&self, now: Time) -> Vec<Measure> {
        let mut playback = self.player.playback();
        if !self.is_done() {
            // A run that ends amid a stall has it all the same.
            playback.stalled += self.player.standing(now);
        }
        let log = &self.log;
        let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
        let stalled_periods = playback.stalled.as_secs_f64() / self.period.as_secs_f64();
        let mut measures = vec![
            Measure::new("rebuffering", playback.stalled.as_secs_f64(), "s"),
            Measure::new("stalls", playback.stalls as f64, ""),
            Measure::new("stream_delay", ms(log.delays) / log.frames as f64, "ms"),
            Measure::new("longest_delay", ms(log.longest_delay), "ms"),
            Measure::new("assim_modelled", self.quality.average(stalled_periods), ""),
            Measure::new("frames", log.frames as f64, "frames"),
            Measure::new("frames_complete", log.complete as f64, "frames"),
            Measure::new("frames_damaged", log.damaged as f64, "frames"),
            Measure::new("frames_late", log.late as f64, "frames"),
            Measure::new("frames_left_out", log.left_out as f64, "frames"),
            Measure::new("frames_unheard", self.unheard(now) as f64, "frames"),
            Measure::new("frames_shown", playback.shown as f64, "frames"),
            Measure::new("key_frames_damaged", log.keys_damaged as f64, "frames"),
            Measure::new("reordering_p60", quantile_of(&log.waiting, 0.6), "bytes"),
            Measure::new("bytes_lacking", log.lacking_bytes as f64, "bytes"),
            Measure::new("corrupt", log.corrupt as f64, ""),
        ];
        // What there was nothing of was not measured.
        measures.retain(|measure| !measure.value.is_nan());
        measures.extend(log.startup.map(|startup| Measure::new("startup", startup.as_secs_f64(), "s")));
        measures
    }
}
