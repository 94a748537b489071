//! A camera sends 30 frames per second over two links to a viewer, who wants each within 200 ms or not at all. One link dies
//! for two seconds: the other cannot carry the whole film, so frames are discarded, and the viewer's stream has gaps in their
//! place. It is sent three times:
//!
//! * with deadlines, kept by the connection itself: nearly every frame starts, and loses its end;
//! * with a scheduler that sees which frames will be late, and discards these as a whole;
//! * on a stream that must deliver everything.
//!
//! `cargo run -p hawser-sim --example frames_with_deadlines`

use std::collections::VecDeque;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hawser_core::{Chunk, Connection, ConnectionHandle, Event, FourTuple, StreamEvent};
use hawser_policy::{
    Command, Commands, Decision, Event as PolicyNews, FrameInfo, Interests, PathStatus, PathView, Rate,
    Registry, Reliability, Scheduler, Segment, SegmentKind, SendView, StreamId, Time,
};
use hawser_sim::testing::{SERVER, client, client_address, client_config, link, server, transport};
use hawser_sim::{Application, Network, Sockets};

const FRAMES: u64 = 240;
const INTERVAL: Duration = Duration::from_micros(33_333);
/// A frame is worthless to the viewer after so long.
const LIFETIME: Duration = Duration::from_millis(200);
/// Each so many frames one that the others build on.
const KEY_INTERVAL: u64 = 30;
const KEY_BYTES: usize = 50_000;
const DELTA_BYTES: usize = 20_000;
/// When the first link is down.
const OUTAGE: Range<Duration> = Duration::from_secs(3)..Duration::from_secs(5);

fn main() {
    for sending in [Sending::Deadlines, Sending::Scheduled, Sending::Reliable] {
        let film = run(sending, |line| println!("{line}"));
        println!(
            "{sending:?}: {} of {} frames complete, at worst {} ms after they were taken; {} left out, {} damaged; \
             {} bytes discarded, {} bytes of {} pieces missed\n",
            film.complete(),
            film.frames.len(),
            film.worst_delay(false).max(film.worst_delay(true)).as_millis(),
            film.frames.iter().filter(|frame| frame.range.is_empty()).count(),
            film.frames.iter().filter(|frame| frame.is_damaged).count(),
            film.bytes_discarded,
            film.bytes_missed,
            film.pieces.len(),
        );
    }
}

/// How the film is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sending {
    Deadlines,
    Scheduled,
    Reliable,
}

/// Discards frames that would arrive too late by the rates of the paths, and leaves the rest to another scheduler.
struct InTime(Box<dyn Scheduler>);

impl Scheduler for InTime {
    fn name(&self) -> &'static str {
        "in-time"
    }

    fn schedule(&mut self, view: &SendView<'_>, commands: &mut Commands) -> Decision {
        let rate = |path: &PathView| {
            let window = Rate::from_bytes_over(path.congestion_window, path.smoothed_rtt);
            path.delivery_rate.unwrap_or(window).bits_per_second()
        };
        let rate: u64 = view.preferred().map(rate).sum();
        let delay = view.preferred().map(|path| path.smoothed_rtt / 2).max().unwrap_or_default();
        let mut queued = 0;
        view.segments.segments(&mut |segment: &Segment<'_>| {
            let length = segment.range.end - segment.range.start;
            let arrival = Rate::from_bits_per_second(rate.max(1)).time_for(queued + length) + delay;
            if segment.reliability != Reliability::Reliable
                && segment.deadline.is_some_and(|deadline| view.now + arrival > deadline)
            {
                commands.push(Command::Discard { stream: segment.stream, range: segment.range.clone() });
            } else {
                queued += length;
            }
            ControlFlow::Continue(())
        });
        self.0.schedule(view, commands)
    }

    fn interests(&self) -> Interests {
        self.0.interests()
    }

    fn on_event(&mut self, event: &PolicyNews<'_>, commands: &mut Commands) {
        self.0.on_event(event, commands);
    }

    fn next_timeout(&self) -> Option<Time> {
        self.0.next_timeout()
    }

    fn on_timeout(&mut self, view: &SendView<'_>, commands: &mut Commands) {
        self.0.on_timeout(view, commands);
    }
}

/// A frame, and what became of it.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) taken_at: Time,
    pub(crate) is_key: bool,
    /// Its place in the stream; empty if the camera left it out.
    pub(crate) range: Range<u64>,
    pub(crate) is_damaged: bool,
    /// When the viewer had all of it.
    pub(crate) complete_at: Option<Time>,
}

/// What a run gave.
#[derive(Debug)]
pub(crate) struct Film {
    pub(crate) frames: Vec<Frame>,
    /// What the viewer read: when, and whether it was data or a gap.
    pub(crate) pieces: Vec<(Time, Range<u64>, bool)>,
    pub(crate) bytes_discarded: u64,
    pub(crate) bytes_missed: u64,
}

impl Film {
    pub(crate) fn complete(&self) -> usize {
        self.frames.iter().filter(|frame| frame.complete_at.is_some()).count()
    }

    /// The longest time from taking a frame to having it, of key frames or of the others.
    pub(crate) fn worst_delay(&self, is_key: bool) -> Duration {
        let delay = |frame: &Frame| Some(frame.complete_at?.since(frame.taken_at));
        self.frames.iter().filter(|frame| frame.is_key == is_key).filter_map(delay).max().unwrap_or_default()
    }
}

/// The sending application.
struct Camera {
    deadlines: bool,
    stream: Option<(ConnectionHandle, StreamId)>,
    next_frame: Option<Time>,
    frames: Vec<Frame>,
    /// Frames that the connection had no room for: number, what to say of it, bytes left.
    waiting: VecDeque<(usize, FrameInfo, Bytes)>,
    written: u64,
}

impl Camera {
    fn take(&mut self, now: Time) {
        let number = self.frames.len() as u64;
        let is_key = number.is_multiple_of(KEY_INTERVAL);
        let info = FrameInfo::default().with(|frame| {
            frame.id = number;
            frame.kind = if is_key { SegmentKind::KeyFrame } else { SegmentKind::DeltaFrame };
            frame.deadline = Some(now + LIFETIME);
            frame.dependencies = if is_key { Vec::new() } else { vec![number - 1] };
            frame.reliability =
                if self.deadlines && !is_key { Reliability::UntilDeadline } else { Reliability::Reliable };
        });
        let bytes = Bytes::from(vec![number as u8; if is_key { KEY_BYTES } else { DELTA_BYTES }]);
        self.waiting.push_back((self.frames.len(), info, bytes));
        self.frames.push(Frame { taken_at: now, is_key, range: 0..0, is_damaged: false, complete_at: None });
    }

    fn write(&mut self, now: Time, id: StreamId, connection: &mut Connection) {
        while let Some((number, info, bytes)) = self.waiting.front_mut() {
            let frame = &mut self.frames[*number];
            // A frame that did not get in before its time is left out altogether.
            let expires = info.reliability == Reliability::UntilDeadline;
            if expires && frame.range.is_empty() && info.deadline.is_some_and(|at| at <= now) {
                self.waiting.pop_front();
                continue;
            }
            let Ok(count) = connection.write_frame(id, info, bytes.clone()) else { return };
            if frame.range.is_empty() {
                frame.range = self.written..self.written;
            }
            self.written += count as u64;
            frame.range.end = self.written;
            let _ = bytes.split_to(count);
            if bytes.is_empty() {
                self.waiting.pop_front();
            }
        }
        if self.frames.len() as u64 == FRAMES {
            let _ = connection.finish(id);
        }
    }
}

impl Application for Camera {
    fn on_event(&mut self, now: Time, _: ConnectionHandle, connection: &mut Connection, event: &Event) {
        if let Event::Stream(StreamEvent::Writable(id)) = event {
            self.write(now, *id, connection);
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.next_frame
    }

    fn on_timeout(&mut self, now: Time, sockets: &mut Sockets) {
        let Some((handle, id)) = self.stream else { return };
        self.take(now);
        self.next_frame = Some(now + INTERVAL).filter(|_| (self.frames.len() as u64) < FRAMES);
        if let Some(connection) = sockets.connection(handle) {
            self.write(now, id, connection);
        }
    }
}

/// The receiving application.
#[derive(Default)]
struct Viewer {
    pieces: Vec<(Time, Range<u64>, bool)>,
    has_ended: bool,
}

impl Application for Viewer {
    fn on_event(&mut self, now: Time, _: ConnectionHandle, connection: &mut Connection, event: &Event) {
        let Event::Stream(StreamEvent::Readable(id)) = event else { return };
        while let Ok(chunk) = connection.next_chunk(*id, usize::MAX) {
            match chunk {
                Chunk::Data { offset, bytes } => {
                    self.pieces.push((now, offset..offset + bytes.len() as u64, true));
                }
                Chunk::Gap { offset, length } => self.pieces.push((now, offset..offset + length, false)),
                Chunk::End => {
                    self.has_ended = true;
                    return;
                }
            }
        }
    }
}

/// Sends the film.
pub(crate) fn run(sending: Sending, mut print: impl FnMut(String)) -> Film {
    let mut registry = Registry::new();
    hawser_sched::register(&mut registry);
    hawser_paths::register(&mut registry);
    hawser_cc::register(&mut registry);
    let default = registry.scheduler("default").expect("registered");
    registry.add_scheduler("in-time", move |init| Box::new(InTime(default.build(init))));
    let scheduler = if sending == Sending::Scheduled { "in-time" } else { "default" };
    let transport = Arc::new(transport(&registry, scheduler, "cubic"));
    let camera = Camera {
        deadlines: sending != Sending::Reliable,
        stream: None,
        next_frame: None,
        frames: Vec::new(),
        waiting: VecDeque::new(),
        written: 0,
    };
    let mut host = client(camera, 1);
    let config = client_config(transport.clone());
    let handle = host.connect(Time::ZERO, config, client_address(0), SERVER, "server.test").expect("valid");
    let mut network = Network::new(host, server(transport, Viewer::default(), 1), 1);
    let links = [link(8, 15), link(4, 30)];
    let links = [0, 1].map(|n| network.add_link(client_address(n as u8).ip(), &links[n], &links[n]));

    network.run_until(Time::from_secs(1), |network| {
        let (now, tuple) = (network.now(), FourTuple { local: client_address(1), remote: SERVER });
        let connection = network.client.connection(handle).expect("it lives");
        connection.open_path(now, tuple, PathStatus::Available, None).is_ok()
    });
    network.run_to(Time::from_secs(1));
    let connection = network.client.connection(handle).expect("it lives");
    assert!(connection.can_discard(), "both ends speak of gaps");
    let id = connection.open_stream(false).expect("allowed");
    network.client.application.stream = Some((handle, id));
    network.client.application.next_frame = Some(Time::from_secs(1));

    network.run_to(Time::ZERO + OUTAGE.start);
    network.force(links[0], Some(false));
    network.run_to(Time::ZERO + OUTAGE.end);
    network.force(links[0], Some(true));
    let ended = network.run_until(Time::from_secs(30), |network| network.server.application.has_ended);
    assert!(ended, "the film comes to its end");

    let bytes_discarded = network.client.first_connection().map_or(0, |c| c.stats().stream_bytes_discarded);
    let bytes_missed = network.server.first_connection().map_or(0, |c| c.stats().stream_bytes_missed);
    let pieces = std::mem::take(&mut network.server.application.pieces);
    let mut frames = std::mem::take(&mut network.client.application.frames);
    judge(&mut frames, &pieces, &mut print);
    Film { frames, pieces, bytes_discarded, bytes_missed }
}

/// Finds out which frames are complete, and prints the gaps.
fn judge(frames: &mut [Frame], pieces: &[(Time, Range<u64>, bool)], print: &mut impl FnMut(String)) {
    for (at, piece, is_data) in pieces {
        let touched = frames
            .iter_mut()
            .enumerate()
            .filter(|(_, frame)| frame.range.start < piece.end && piece.start < frame.range.end);
        let mut numbers = Vec::new();
        for (number, frame) in touched {
            frame.is_damaged |= !is_data;
            if *is_data && !frame.is_damaged && piece.end >= frame.range.end {
                frame.complete_at = Some(*at);
            }
            numbers.push(number);
        }
        if !is_data {
            let length = piece.end - piece.start;
            print(format!("{at}: a gap of {length} bytes at {}, in frames {numbers:?}", piece.start));
        }
    }
}
