//! Frames in time or not at all: the gaps that a reader sees are what the policy discarded, to the byte.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hawser_core::{Chunk, Connection, ConnectionHandle, Event, FourTuple, StreamEvent};
use hawser_link::{DirectionConfig, QueueConfig};
use hawser_policy::{FrameInfo, PathStatus, Reliability, StreamId, Time};

use super::policy;
use crate::gauntlet::{Measure, Setting};
use crate::sets::punctual::DISCARDED;
use crate::testing::{SERVER, client, client_address, client_config, link, server};
use crate::{Application, Host, Network, Sockets};

const FRAMES: usize = 300;
const FRAME_BYTES: u64 = 25_000;
const INTERVAL: Duration = Duration::from_micros(33_333);
const LIFETIME: Duration = Duration::from_millis(400);

/// A frame that was taken, and where it went.
struct Frame {
    taken_at: Time,
    range: Range<u64>,
    /// Not written yet.
    left: u64,
}

/// Writes frames, and notes what its policies say they discarded.
#[derive(Default)]
struct Camera {
    stream: Option<(ConnectionHandle, StreamId)>,
    next_frame: Option<Time>,
    frames: Vec<Frame>,
    written: u64,
    discarded: Vec<Range<u64>>,
}

impl Camera {
    fn write(&mut self, now: Time, connection: &mut Connection) {
        let Some((_, id)) = self.stream else { return };
        for (number, frame) in self.frames.iter_mut().enumerate() {
            let deadline = frame.taken_at + LIFETIME;
            if frame.range.is_empty() && now >= deadline {
                frame.left = 0; // There was no room for it in time.
            }
            let info = FrameInfo::default().with(|frame| {
                frame.id = number as u64;
                frame.deadline = Some(deadline);
                frame.reliability = Reliability::UntilDeadline;
            });
            // Until nothing is taken any more: only then the stream says when there is room again.
            while frame.left > 0 {
                let rest = Bytes::from(vec![0; frame.left as usize]);
                let Ok(count) = connection.write_frame(id, &info, rest) else { return };
                if frame.range.is_empty() {
                    frame.range = self.written..self.written;
                }
                self.written += count as u64;
                frame.range.end = self.written;
                frame.left -= count as u64;
            }
        }
        if self.frames.len() == FRAMES {
            let _ = connection.finish(id);
        }
    }
}

impl Application for Camera {
    fn on_event(&mut self, now: Time, _: ConnectionHandle, connection: &mut Connection, event: &Event) {
        match event {
            Event::Policy(message) if message.feature == DISCARDED && message.payload.len() == 16 => {
                let (offset, length) = message.payload.split_at(8);
                let [offset, length] =
                    [offset, length].map(|bytes| u64::from_be_bytes(bytes.try_into().expect("eight bytes")));
                self.discarded.push(offset..offset + length);
                // The rest of it need not be written.
                let of_frame = |frame: &&mut Frame| frame.range.contains(&offset);
                self.frames.iter_mut().filter(of_frame).for_each(|frame| frame.left = 0);
            }
            Event::Stream(StreamEvent::Writable(_)) => self.write(now, connection),
            _ => {}
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.next_frame
    }

    fn on_timeout(&mut self, now: Time, sockets: &mut Sockets) {
        let Some((handle, _)) = self.stream else { return };
        self.frames.push(Frame { taken_at: now, range: 0..0, left: FRAME_BYTES });
        self.next_frame = (self.frames.len() < FRAMES).then_some(now + INTERVAL);
        if let Some(connection) = sockets.connection(handle) {
            self.write(now, connection);
        }
    }
}

/// Notes when each byte and each gap could be read.
#[derive(Default)]
struct Viewer {
    data: Vec<(Time, Range<u64>)>,
    gaps: Vec<Range<u64>>,
    has_ended: bool,
}

impl Application for Viewer {
    fn on_event(&mut self, now: Time, _: ConnectionHandle, connection: &mut Connection, event: &Event) {
        let Event::Stream(StreamEvent::Readable(id)) = event else { return };
        while let Ok(chunk) = connection.next_chunk(*id, usize::MAX) {
            match chunk {
                Chunk::Data { offset, bytes } => self.data.push((now, offset..offset + bytes.len() as u64)),
                Chunk::Gap { offset, length } => self.gaps.push(offset..offset + length),
                Chunk::End => {
                    self.has_ended = true;
                    return;
                }
            }
        }
    }
}

/// Neighbours made one.
fn joined(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut sorted = ranges.to_vec();
    sorted.sort_by_key(|range| range.start);
    sorted.into_iter().fold(Vec::new(), |mut joined: Vec<Range<u64>>, range| {
        match joined.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => joined.push(range),
        }
        joined
    })
}

/// The film, sent to its end.
fn film(setting: &Setting<'_>) -> Network<Host<Camera>, Host<Viewer>> {
    let seed = setting.seed;
    let transport = Arc::new(policy(setting, "punctual,margin=60ms"));
    let mut host = client(Camera::default(), seed);
    let config = client_config(transport.clone());
    let handle = host.connect(Time::ZERO, config, client_address(0), SERVER, "server.test").expect("valid");
    let mut network = Network::new(host, server(transport, Viewer::default(), seed), seed);
    for (n, (rate, delay)) in [(3, 15), (2, 30 + seed % 10)].into_iter().enumerate() {
        // Nothing is lost, so that nothing is missing but what was discarded.
        let link = DirectionConfig { queue: QueueConfig::bytes(500_000), ..link(rate, delay) };
        network.add_link(client_address(n as u8).ip(), &link, &link);
    }
    network.run_until(Time::from_secs(1), |network| {
        let (now, tuple) = (network.now(), FourTuple { local: client_address(1), remote: SERVER });
        let connection = network.client.connection(handle).expect("it lives");
        connection.open_path(now, tuple, PathStatus::Available, None).is_ok()
    });
    network.run_to(Time::from_secs(1));
    let connection = network.client.connection(handle).expect("it lives");
    let id = connection.open_stream(false).expect("allowed");
    network.client.application.stream = Some((handle, id));
    network.client.application.next_frame = Some(Time::from_secs(1));
    network.run_until(Time::from_secs(30), |network| network.server.application.has_ended);
    network
}

/// Frames complete and in part, and the longest time from taking a frame to having it.
fn judge(camera: &Camera, viewer: &Viewer, gaps: &[Range<u64>]) -> (usize, usize, Duration) {
    let (mut complete, mut damaged, mut worst) = (0, 0, Duration::ZERO);
    for frame in camera.frames.iter().filter(|frame| !frame.range.is_empty()) {
        let touches = |gap: &&Range<u64>| gap.start < frame.range.end && frame.range.start < gap.end;
        if let Some(gap) = gaps.iter().find(touches) {
            damaged += usize::from(gap.start > frame.range.start || gap.end < frame.range.end);
            continue;
        }
        let is_end = |range: &Range<u64>| range.start < frame.range.end && frame.range.end <= range.end;
        let Some((at, _)) = viewer.data.iter().find(|(_, range)| is_end(range)) else { continue };
        complete += 1;
        worst = worst.max(at.since(frame.taken_at));
    }
    (complete, damaged, worst)
}

pub(super) fn late_frames_are_gaps(setting: &Setting<'_>) -> Vec<Measure> {
    let mut network = film(setting);
    let ignored = network.client.first_connection().map_or(0, |c| c.stats().policy_commands_ignored);
    let (camera, viewer) = (&network.client.application, &network.server.application);
    let (gaps, announced) = (joined(&viewer.gaps), joined(&camera.discarded));
    let matching = gaps.iter().filter(|gap| announced.contains(gap)).count();
    let unmatched = gaps.len() + announced.len() - 2 * matching;
    let (complete, damaged, worst) = judge(camera, viewer, &gaps);
    vec![
        Measure::at_least("gaps", gaps.len() as f64, "", 10.0),
        Measure::at_most("gaps that are not what was discarded", unmatched as f64, "", 0.0),
        Measure::at_most("frames in part", damaged as f64, "", 0.0),
        Measure::at_most(
            "oldest complete frame",
            worst.as_secs_f64() * 1e3,
            "ms",
            LIFETIME.as_millis() as f64,
        ),
        Measure::at_least("complete frames", complete as f64, "", FRAMES as f64 / 2.0),
        Measure::at_most("ignored commands", ignored as f64, "", 0.0),
        Measure::at_least("ended", f64::from(u8::from(viewer.has_ended)), "", 1.0),
    ]
}
