//! A live stream over two links: a broadcaster that writes frames as 4D-MAP wants them, and a relay that reads them, fills
//! gaps of delta frames, and reports each frame.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hawser_core::{
    Chunk, Connection, ConnectionHandle, ConnectionStats, Event, FourTuple, StreamEvent, TransportConfig,
};
use hawser_link::{DirectionConfig, LossModel, QueueConfig, RateModel};
use hawser_policy::{
    Composition, Feedback, FrameInfo, PathStatus, Registry, Reliability, SegmentKind, StreamId, Time,
};
use hawser_sim::testing::{SERVER, client, client_address, client_config, server};
use hawser_sim::{Application, Network, Sockets};

const INTERVAL: Duration = Duration::from_millis(40);
const KEY_INTERVAL: u64 = 50;
/// How much larger key frames are.
const KEY_RATIO: u64 = 6;
/// Number, size and time of writing of a frame.
const HEADER: usize = 24;
/// How often the relay looks at its gaps and its queue.
const TICK: Duration = Duration::from_millis(5);
/// When the first frame is written, or later if the handshake lost packets.
const START: Time = Time::from_secs(1);

/// What is sent over what.
#[derive(Clone, Debug)]
pub(crate) struct Broadcast {
    /// A policy set or a scheduler.
    pub(crate) policy: &'static str,
    /// Controller.
    pub(crate) controller: &'static str,
    /// Of each link: rate, delay one way, probability of loss both ways.
    pub(crate) links: [(u64, u64, f64); 2],
    /// Mean rate of the video.
    pub(crate) kilobits: u64,
    pub(crate) frames: u64,
    /// Whether the relay fills gaps in delta frames after the longest one-way delay, before they are announced: it does if
    /// the broadcaster does not retransmit these.
    pub(crate) fills_gaps: bool,
    pub(crate) seed: u64,
}

/// What became of a frame at the relay.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) is_key: bool,
    pub(crate) size: u64,
    /// From writing to having, or giving up, its last byte.
    pub(crate) delay: Duration,
    pub(crate) missing: u64,
    pub(crate) at: Time,
}

#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) seen: Vec<Seen>,
    /// Bytes that waited for earlier ones, every 100 ms.
    pub(crate) reordering: Vec<u64>,
    /// The longest time that the relay stood before a gap in a delta frame.
    pub(crate) longest_hole: Duration,
    pub(crate) sender: ConnectionStats,
    pub(crate) receiver: ConnectionStats,
}

impl Outcome {
    /// Mean over frames, in milliseconds.
    pub(crate) fn mean_delay(&self) -> f64 {
        self.seen.iter().map(|seen| seen.delay.as_secs_f64() * 1e3).sum::<f64>() / self.seen.len() as f64
    }

    /// The delay that a share of the frames does not exceed, in milliseconds.
    pub(crate) fn delay_at(&self, share: f64) -> f64 {
        let mut delays: Vec<_> = self.seen.iter().map(|seen| seen.delay.as_secs_f64() * 1e3).collect();
        delays.sort_by(f64::total_cmp);
        delays[((delays.len() - 1) as f64 * share) as usize]
    }

    /// Stalls of a player that begins with the first frame and shows one every 40 ms, in seconds.
    pub(crate) fn stalled(&self) -> f64 {
        let (mut tick, mut stalled) = (self.seen.first().map_or(Time::ZERO, |seen| seen.at), Duration::ZERO);
        for seen in &self.seen {
            stalled += seen.at.since(tick);
            tick = tick.max(seen.at) + INTERVAL;
        }
        stalled.as_secs_f64()
    }

    pub(crate) fn reordering_at(&self, share: f64) -> u64 {
        let mut sorted = self.reordering.clone();
        sorted.sort_unstable();
        sorted[((sorted.len() - 1) as f64 * share) as usize]
    }

    pub(crate) fn missing(&self) -> u64 {
        self.seen.iter().map(|seen| seen.missing).sum()
    }

    pub(crate) fn describe(&self, name: &str) -> String {
        format!(
            "{name}: {} frames, mean {:.1} ms, 95th percentile {:.1} ms, stalled {:.2} s, reordering p60 {} p95 {} bytes, \
             {} bytes missing, longest hole {} ms, copied {} retransmitted {} of {} bytes",
            self.seen.len(),
            self.mean_delay(),
            self.delay_at(0.95),
            self.stalled(),
            self.reordering_at(0.6),
            self.reordering_at(0.95),
            self.missing(),
            self.longest_hole.as_millis(),
            self.sender.stream_bytes_copied,
            self.sender.stream_bytes_retransmitted,
            self.sender.stream_bytes_sent,
        )
    }
}

/// The byte of a frame at this place.
fn pattern(number: u64, at: u64) -> u8 {
    (number.wrapping_mul(31) ^ at.wrapping_mul(7) ^ (at >> 8)) as u8
}

/// Writes frames.
struct Broadcaster {
    stream: Option<(ConnectionHandle, StreamId)>,
    next_frame: Option<Time>,
    number: u64,
    frames: u64,
    delta_bytes: u64,
    waiting: VecDeque<(FrameInfo, Bytes)>,
}

impl Broadcaster {
    fn take(&mut self, now: Time) {
        let number = self.number;
        self.number += 1;
        let is_key = number.is_multiple_of(KEY_INTERVAL);
        let varied = self.delta_bytes * (80 + number * 37 % 41) / 100;
        let size = if is_key { KEY_RATIO * self.delta_bytes } else { varied };
        let mut header = Vec::with_capacity(HEADER);
        [number, size, now.as_nanos()].iter().for_each(|value| header.extend(value.to_be_bytes()));
        let of_header = FrameInfo::default().with(|frame| {
            frame.id = 1 << 63 | number;
            frame.kind = SegmentKind::Signalling;
        });
        let (kind, reliability) = if is_key {
            (SegmentKind::KeyFrame, Reliability::Reliable)
        } else {
            (SegmentKind::DeltaFrame, Reliability::UntilDeadline)
        };
        let body: Vec<u8> = (0..size).map(|at| pattern(number, at)).collect();
        self.waiting.push_back((of_header, header.into()));
        self.waiting.push_back((
            FrameInfo::default().with(|frame| {
                frame.id = number;
                frame.kind = kind;
                frame.reliability = reliability;
            }),
            body.into(),
        ));
    }

    fn write(&mut self, id: StreamId, connection: &mut Connection) {
        while let Some((info, bytes)) = self.waiting.front_mut() {
            let Ok(count) = connection.write_frame(id, info, bytes.clone()) else { return };
            let _ = bytes.split_to(count);
            if bytes.is_empty() {
                self.waiting.pop_front();
            }
        }
        if self.number == self.frames {
            let _ = connection.finish(id);
        }
    }
}

impl Application for Broadcaster {
    fn on_event(&mut self, _: Time, _: ConnectionHandle, connection: &mut Connection, event: &Event) {
        if let Event::Stream(StreamEvent::Writable(id)) = event {
            self.write(*id, connection);
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.next_frame
    }

    fn on_timeout(&mut self, now: Time, sockets: &mut Sockets) {
        let Some((handle, id)) = self.stream else { return };
        self.take(now);
        self.next_frame = Some(now + INTERVAL).filter(|_| self.number < self.frames);
        if let Some(connection) = sockets.connection(handle) {
            self.write(id, connection);
        }
    }
}

/// The frame that the relay reads.
#[derive(Default)]
struct Reading {
    header: Vec<u8>,
    number: u64,
    size: u64,
    written_at: Time,
    got: u64,
    missing: u64,
}

/// Reads frames.
#[derive(Default)]
struct Relay {
    stream: Option<(ConnectionHandle, StreamId)>,
    /// After so long a gap is filled.
    patience: Option<Duration>,
    reading: Reading,
    position: u64,
    delivered: u64,
    hole: Option<(u64, Time)>,
    longest_hole: Duration,
    next_tick: Option<Time>,
    seen: Vec<Seen>,
    reordering: Vec<u64>,
    has_ended: bool,
}

impl Relay {
    fn read(&mut self, now: Time, id: StreamId, connection: &mut Connection) {
        loop {
            match connection.next_chunk(id, usize::MAX) {
                Ok(Chunk::Data { offset, bytes }) => {
                    assert_eq!(offset, self.position);
                    self.delivered += bytes.len() as u64;
                    self.take(now, &bytes, connection);
                }
                Ok(Chunk::Gap { offset, length }) => {
                    assert_eq!(offset, self.position);
                    self.skip(now, length, connection);
                }
                Ok(Chunk::End) => {
                    assert!(self.reading.header.is_empty(), "the stream ends with a frame");
                    self.has_ended = true;
                    return;
                }
                Err(_) => return,
            }
        }
    }

    fn take(&mut self, now: Time, mut bytes: &[u8], connection: &mut Connection) {
        self.position += bytes.len() as u64;
        while !bytes.is_empty() {
            let reading = &mut self.reading;
            if reading.header.len() < HEADER {
                let count = bytes.len().min(HEADER - reading.header.len());
                reading.header.extend(&bytes[..count]);
                bytes = &bytes[count..];
                if reading.header.len() == HEADER {
                    let values = reading.header.chunks_exact(8);
                    let mut values = values.map(|value| u64::from_be_bytes(value.try_into().expect("eight")));
                    let mut next = || values.next().expect("three of them");
                    (reading.number, reading.size) = (next(), next());
                    reading.written_at = Time::from_nanos(next());
                    assert_eq!(reading.number, self.seen.len() as u64, "frames come in order");
                }
                continue;
            }
            let count = (bytes.len() as u64).min(reading.size - reading.got - reading.missing);
            let at = reading.got + reading.missing;
            let sound = bytes.iter().take(count as usize).enumerate();
            assert!(sound.clone().all(|(n, byte)| *byte == pattern(reading.number, at + n as u64)));
            reading.got += count;
            bytes = &bytes[count as usize..];
            self.finish_frame(now, connection);
        }
    }

    /// A gap: only bodies of delta frames have some.
    fn skip(&mut self, now: Time, length: u64, connection: &mut Connection) {
        let reading = &mut self.reading;
        assert_eq!(reading.header.len(), HEADER, "a header is whole");
        assert!(!reading.number.is_multiple_of(KEY_INTERVAL), "a key frame is whole");
        assert!(length <= reading.size - reading.got - reading.missing, "a gap is within a frame");
        reading.missing += length;
        self.position += length;
        self.finish_frame(now, connection);
    }

    fn finish_frame(&mut self, now: Time, connection: &mut Connection) {
        let Reading { number, size, written_at, got, missing, .. } = self.reading;
        if got + missing < size {
            return;
        }
        let delay = now.since(written_at);
        let is_key = number.is_multiple_of(KEY_INTERVAL);
        self.seen.push(Seen { is_key, size, delay, missing, at: now });
        self.reading = Reading::default();
        let in_time = delay <= Duration::from_millis(200);
        connection.feedback(now, &Feedback::Frame { id: number, delay, in_time, bytes: got });
    }

    /// What may be filled from where the reader stands: the rest of a delta frame's body.
    fn fillable(&self) -> Option<u64> {
        let Reading { ref header, number, size, got, missing, .. } = self.reading;
        let is_delta = header.len() == HEADER && !number.is_multiple_of(KEY_INTERVAL);
        is_delta.then(|| self.position + size - got - missing)
    }

    /// Fills the gap at which the reader stands, when that is due.
    fn look(&mut self, now: Time, id: StreamId, connection: &mut Connection) {
        let first = connection.missing(id).into_iter().next();
        let hole = first.filter(|hole| hole.start == self.position);
        let Some(end) = hole.map(|hole| hole.end) else {
            self.hole = None;
            return;
        };
        let since = match self.hole {
            Some((at, since)) if at == self.position => since,
            _ => now,
        };
        self.hole = Some((self.position, since));
        // Never more than the body: the next header waits.
        if self.fillable().is_none_or(|until| end > until) {
            return;
        }
        self.longest_hole = self.longest_hole.max(now.since(since));
        let is_due = self.patience.is_some_and(|patience| now.since(since) >= patience);
        if is_due && let Ok(Some(gap)) = connection.pass_missing(id) {
            assert_eq!(gap.start, self.position);
            self.skip(now, gap.end - gap.start, connection);
            self.read(now, id, connection);
        }
    }
}

impl Application for Relay {
    fn on_event(&mut self, now: Time, handle: ConnectionHandle, connection: &mut Connection, event: &Event) {
        if let Event::Stream(StreamEvent::Readable(id)) = event {
            if self.stream.is_none() {
                self.stream = Some((handle, *id));
                self.next_tick = Some(now);
            }
            self.read(now, *id, connection);
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.next_tick.filter(|_| !self.has_ended)
    }

    fn on_timeout(&mut self, now: Time, sockets: &mut Sockets) {
        self.next_tick = Some(now + TICK);
        let Some((handle, id)) = self.stream else { return };
        let Some(connection) = sockets.connection(handle) else { return };
        self.look(now, id, connection);
        if (now.as_nanos() / TICK.as_nanos() as u64).is_multiple_of(20) {
            let stats = connection.stats();
            self.reordering.push(stats.stream_bytes_received.saturating_sub(self.delivered));
        }
    }
}

fn transport(broadcast: &Broadcast) -> TransportConfig {
    let mut registry = Registry::new();
    hawser_cc::register(&mut registry);
    hawser_paths::register(&mut registry);
    hawser_sched::register(&mut registry);
    hawser_sched::register_sets(&mut registry);
    let mut wanted = Composition::of(broadcast.policy.parse().expect("it is a policy"));
    wanted.congestion = Some(broadcast.controller.parse().expect("it is a policy"));
    TransportConfig::with_policies(registry.set(&wanted).expect("it is registered"))
}

fn link(&(kilobits, delay_ms, loss): &(u64, u64, f64)) -> DirectionConfig {
    DirectionConfig {
        rate: RateModel::constant(kilobits * 1_000),
        loss: if loss > 0.0 { LossModel::Bernoulli { probability: loss } } else { LossModel::None },
        // As many packets as netem keeps where nobody says otherwise.
        queue: QueueConfig::bytes(1_000 * 1_500),
        ..DirectionConfig::with_delay(delay_ms * hawser_link::MILLISECOND)
    }
}

/// Sends the video to its end.
pub(crate) fn run(broadcast: &Broadcast) -> Outcome {
    let transport = Arc::new(transport(broadcast));
    // In KEY_INTERVAL frames, one is KEY_RATIO times as large as the others.
    let of_group = broadcast.kilobits * 1_000 / 8 * INTERVAL.as_millis() as u64 * KEY_INTERVAL / 1_000;
    let broadcaster = Broadcaster {
        stream: None,
        next_frame: None,
        number: 0,
        frames: broadcast.frames,
        delta_bytes: of_group / (KEY_INTERVAL - 1 + KEY_RATIO),
        waiting: VecDeque::new(),
    };
    let longest = broadcast.links.iter().map(|link| link.1).max().unwrap_or(0).max(20);
    let patience = broadcast.fills_gaps.then_some(Duration::from_millis(longest));
    let relay = Relay { patience, ..Relay::default() };
    let mut host = client(broadcaster, broadcast.seed);
    let config = client_config(transport.clone());
    let handle = host.connect(Time::ZERO, config, client_address(0), SERVER, "server.test").expect("valid");
    let mut network = Network::new(host, server(transport, relay, broadcast.seed), broadcast.seed);
    for (n, of_link) in broadcast.links.iter().enumerate() {
        network.add_link(client_address(n as u8).ip(), &link(of_link), &link(of_link));
    }
    let is_open = network.run_until(Time::from_secs(10), |network| {
        let (now, tuple) = (network.now(), FourTuple { local: client_address(1), remote: SERVER });
        let connection = network.client.connection(handle).expect("it lives");
        connection.open_path(now, tuple, PathStatus::Available, None).is_ok()
    });
    assert!(is_open, "the second path opens");
    let start = network.now().max(START);
    network.run_to(start);
    let connection = network.client.connection(handle).expect("it lives");
    let id = connection.open_stream(false).expect("allowed");
    network.client.application.stream = Some((handle, id));
    network.client.application.next_frame = Some(start);
    let patience = INTERVAL * broadcast.frames as u32 * 3;
    let ended = network.run_until(start + patience, |network| network.server.application.has_ended);
    let sender = network.client.first_connection().map(|c| c.stats()).unwrap_or_default();
    let receiver = network.server.first_connection().map(|c| c.stats()).unwrap_or_default();
    let relay = &mut network.server.application;
    assert!(ended, "{} of {} frames in three times the time", relay.seen.len(), broadcast.frames);
    assert_eq!(relay.seen.len() as u64, broadcast.frames);
    Outcome {
        seen: std::mem::take(&mut relay.seen),
        reordering: std::mem::take(&mut relay.reordering),
        longest_hole: relay.longest_hole,
        sender,
        receiver,
    }
}
