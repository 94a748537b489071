//! What the client of a flow does.

use std::time::Duration;

use hawser_core::{Connection, ReadError, StreamEvent};
use hawser_media::Measure;
use hawser_numbers::Draws;
use hawser_policy::{Earliest, StreamId, Time};
use hawser_scenario::{Direction, FlowKind, Pattern};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::mix::Mix;
use crate::run::hosted::{Hosted, Wire};
use crate::run::lane::PacketLane;
use crate::run::meter::Meter;
use crate::run::request::{Request, ask};
use crate::run::sending::{DatagramPacer, Sending, sent_at};

/// The client's part of a flow.
pub(crate) struct Role {
    task: Task,
    activity: Option<Activity>,
    done: bool,
}

enum Task {
    /// Read a long answer.
    Download { size: Option<u64>, stream: Option<StreamId>, offset: u64 },
    /// Send a long request.
    Upload { size: Option<u64>, sending: Option<(StreamId, Sending)> },
    /// Ask again and again.
    Requests(Requests),
    /// Receive datagrams.
    Listen { request: Request },
    /// Send datagrams.
    Talk { size: u32, rate: u64, pacer: Option<DatagramPacer> },
    /// One end of an application.
    Application(Hosted),
    /// Everything at once.
    Mix(Box<Mix>),
}

struct Requests {
    request: u64,
    response: u64,
    think: Duration,
    parallel: usize,
    every: Option<Duration>,
    /// Those that were not begun, and those that were not answered.
    to_begin: Option<u64>,
    left: Option<u64>,
    current: Vec<Current>,
    /// When the next one begins.
    next_at: Option<Time>,
    /// Whether one waits until the peer allows another stream.
    is_blocked: bool,
}

struct Current {
    stream: StreamId,
    began: Time,
    sending: Sending,
    offset: u64,
}

/// Turns a flow on and off.
struct Activity {
    pattern: Pattern,
    random: ChaCha8Rng,
    active: bool,
    until: Time,
}

impl Activity {
    fn next_random(&mut self, mean: Duration) -> Duration {
        mean.mul_f64((|| self.random.random::<f64>()).exponential(1.0))
    }

    fn turn(&mut self) {
        self.active = !self.active;
        let mean = if self.active { self.pattern.on } else { self.pattern.off };
        let stretch = self.next_random(mean);
        self.until += stretch;
    }
}

impl Role {
    /// `seed` is that of an application.
    pub(crate) fn new(kind: &FlowKind, seed: u64, pattern: Option<(Pattern, ChaCha8Rng)>) -> Self {
        let task = match *kind {
            FlowKind::Bulk { direction: Direction::Down, size } => {
                Task::Download { size, stream: None, offset: 0 }
            }
            FlowKind::Bulk { direction: Direction::Up, size } => Task::Upload { size, sending: None },
            FlowKind::Requests { request, response, think, number, parallel, every } => {
                Task::Requests(Requests {
                    request,
                    response,
                    think,
                    parallel: parallel.max(1) as usize,
                    every,
                    to_begin: number,
                    left: number,
                    current: Vec::new(),
                    next_at: None,
                    is_blocked: false,
                })
            }
            FlowKind::Datagrams { direction: Direction::Down, size, rate } => {
                Task::Listen { request: Request::Datagrams { size, rate } }
            }
            FlowKind::Application { direction, ref application } => {
                Task::Application(Hosted::new(match direction {
                    Direction::Up => application.sender(seed),
                    Direction::Down => application.receiver(),
                }))
            }
            FlowKind::TunnelMix(ref mix) => Task::Mix(Box::new(Mix::new(mix))),
            FlowKind::Datagrams { direction: Direction::Up, size, rate }
            | FlowKind::Udp { size, rate, .. } => Task::Talk { size, rate, pacer: None },
        };
        let activity =
            pattern.map(|(pattern, random)| Activity { pattern, random, active: false, until: Time::ZERO });
        Role { task, activity, done: false }
    }

    /// Whether all is done that was to be done.
    pub(crate) fn is_done(&self) -> bool {
        self.done
    }

    /// Datagrams sent by this end.
    pub(crate) fn datagrams_sent(&self) -> u64 {
        match &self.task {
            Task::Talk { pacer: Some(pacer), .. } => pacer.sent(),
            _ => 0,
        }
    }

    /// What an application measured.
    pub(crate) fn measures(&self, now: Time) -> Vec<Measure> {
        match &self.task {
            Task::Application(hosted) => hosted.measures(now),
            Task::Mix(mix) => mix.measures(now),
            _ => Vec::new(),
        }
    }

    /// Returns this end of a tunnel's lane of packets.
    pub(crate) fn lane(&self) -> Option<&PacketLane> {
        match &self.task {
            Task::Mix(mix) => Some(&mix.lane),
            _ => None,
        }
    }

    /// The connection is there, which was asked for at `asked_at`.
    pub(crate) fn start(
        &mut self,
        now: Time,
        asked_at: Time,
        connection: &mut Connection,
        meter: &mut Meter,
    ) {
        if let Some(activity) = &mut self.activity {
            activity.until = now;
            activity.turn();
        }
        if let Task::Application(hosted) = &mut self.task {
            // The server sees by it which connection was chosen.
            ask(connection, Request::Application);
            hosted.start(asked_at, &mut Wire { now, connection, meter });
        }
        if let Task::Mix(mix) = &mut self.task {
            mix.start(now, connection, meter);
        }
        self.begin(now, connection);
    }

    fn begin(&mut self, now: Time, connection: &mut Connection) {
        match &mut self.task {
            Task::Download { size, stream, offset } => {
                *offset = 0;
                *stream = ask(connection, Request::Serve { length: size.unwrap_or(u64::MAX) });
                if let Some(id) = stream {
                    let _ = connection.finish(*id);
                }
            }
            Task::Upload { size, sending } => {
                *sending = ask(connection, Request::Receive)
                    .map(|stream| (stream, Sending::new(stream, size.unwrap_or(u64::MAX))));
                self.on_writable(now, connection);
            }
            Task::Requests(requests) => requests.begin(now, connection),
            Task::Listen { request } => {
                ask(connection, *request);
            }
            Task::Talk { size, rate, pacer } => {
                pacer.get_or_insert_with(|| DatagramPacer::new(now, *size, *rate)).push_on(now, connection);
            }
            Task::Application(_) | Task::Mix(_) => {}
        }
    }

    /// Ends a period of activity.
    fn pause(&mut self, connection: &mut Connection) {
        match &mut self.task {
            Task::Download { stream, .. } => {
                if let Some(id) = stream.take() {
                    let _ = connection.stop(id, 0);
                }
            }
            Task::Upload { sending, .. } => {
                if let Some((id, _)) = sending.take() {
                    let _ = connection.reset(id, 0);
                }
            }
            Task::Requests(requests) => (requests.next_at, requests.is_blocked) = (None, false),
            Task::Listen { .. } | Task::Talk { .. } | Task::Application(_) | Task::Mix(_) => {}
        }
    }

    pub(crate) fn next_timeout(&self) -> Option<Time> {
        let activity = self.activity.as_ref().map(|activity| activity.until);
        let active = self.activity.as_ref().is_none_or(|activity| activity.active);
        let own = match &self.task {
            Task::Requests(requests) => requests.next_at,
            Task::Talk { pacer: Some(pacer), .. } if active => Some(pacer.next_at()),
            Task::Application(hosted) => hosted.next_timeout(),
            Task::Mix(mix) => mix.next_timeout(),
            _ => None,
        };
        Earliest::NONE.or(own).or(activity).time()
    }

    pub(crate) fn on_timeout(&mut self, now: Time, connection: &mut Connection, meter: &mut Meter) {
        while let Some(activity) = self.activity.as_mut().filter(|activity| activity.until <= now) {
            activity.turn();
            if activity.active { self.begin(now, connection) } else { self.pause(connection) }
        }
        let active = self.activity.as_ref().is_none_or(|activity| activity.active);
        match &mut self.task {
            Task::Requests(requests) if active && requests.next_at.is_some_and(|at| at <= now) => {
                requests.begin(now, connection);
            }
            Task::Talk { pacer: Some(pacer), .. } if active => pacer.push_on(now, connection),
            Task::Application(hosted) if hosted.next_timeout().is_some_and(|at| at <= now) => {
                hosted.on_timeout(&mut Wire { now, connection, meter });
                self.done = hosted.is_done();
            }
            Task::Mix(mix) => mix.on_timeout(now, connection, meter),
            _ => {}
        }
    }

    pub(crate) fn on_stream(
        &mut self,
        now: Time,
        event: &StreamEvent,
        connection: &mut Connection,
        meter: &mut Meter,
    ) {
        if let Task::Application(hosted) = &mut self.task {
            hosted.on_event(event, &mut Wire { now, connection, meter });
            self.done = hosted.is_done();
            return;
        }
        if let Task::Mix(mix) = &mut self.task {
            return mix.on_stream(now, event, connection, meter);
        }
        match event {
            StreamEvent::Readable(id) => self.on_readable(now, *id, connection, meter),
            StreamEvent::Writable(_) | StreamEvent::Available { .. } => self.on_writable(now, connection),
            StreamEvent::Finished(id) => self.on_delivered(*id),
            _ => {}
        }
    }

    fn on_writable(&mut self, now: Time, connection: &mut Connection) {
        match &mut self.task {
            Task::Upload { sending: Some((_, sending)), .. } => {
                sending.push(connection);
            }
            Task::Requests(requests) => {
                requests.current.iter_mut().for_each(|current| {
                    current.sending.push(connection);
                });
                // It had no stream, and now there may be one.
                if requests.is_blocked {
                    requests.begin(now, connection);
                }
            }
            _ => {}
        }
    }

    /// Everything sent on a stream was acknowledged.
    fn on_delivered(&mut self, id: StreamId) {
        if let Task::Upload { size: Some(_), sending: Some((stream, _)) } = &self.task {
            self.done |= self.activity.is_none() && *stream == id;
        }
    }

    fn on_readable(&mut self, now: Time, id: StreamId, connection: &mut Connection, meter: &mut Meter) {
        match &mut self.task {
            Task::Download { stream, offset, .. } => {
                let has_ended = *stream == Some(id) && read_pattern(now, id, offset, connection, meter);
                meter.completed += u64::from(has_ended);
                self.done |= has_ended && self.activity.is_none();
            }
            Task::Requests(requests) => {
                let Some(at) = requests.current.iter().position(|current| current.stream == id) else {
                    return;
                };
                let current = &mut requests.current[at];
                if read_pattern(now, id, &mut current.offset, connection, meter) {
                    meter.completed += 1;
                    meter.delays.record(now.since(current.began), 1);
                    requests.current.swap_remove(at);
                    if let Some(left) = &mut requests.left {
                        *left -= 1;
                    }
                    self.done = requests.left == Some(0);
                    requests.answered(now);
                }
            }
            _ => {}
        }
    }

    pub(crate) fn on_datagrams(&mut self, now: Time, connection: &mut Connection, meter: &mut Meter) {
        match &mut self.task {
            Task::Mix(mix) => mix.lane.receive(now, connection, meter),
            _ => receive_datagrams(now, connection, meter),
        }
    }
}

impl Requests {
    /// Begins as many as there is room for, or, at an even pace, the one whose turn it is.
    fn begin(&mut self, now: Time, connection: &mut Connection) {
        self.next_at = None;
        while self.current.len() < self.parallel && self.to_begin != Some(0) {
            let stream = ask(connection, Request::Serve { length: self.response });
            self.is_blocked = stream.is_none();
            let Some(stream) = stream else { return };
            let mut sending = Sending::new(stream, self.request);
            sending.push(connection);
            self.current.push(Current { stream, began: now, sending, offset: 0 });
            if let Some(left) = &mut self.to_begin {
                *left -= 1;
            }
            if self.every.is_some() {
                break;
            }
        }
        if self.to_begin != Some(0) {
            self.next_at = self.every.map(|every| now + every);
        }
    }

    /// One was answered: another may begin when its time to think is over.
    fn answered(&mut self, now: Time) {
        if self.every.is_none() && self.to_begin != Some(0) {
            let next = now + self.think;
            self.next_at = Some(self.next_at.map_or(next, |at| at.min(next)));
        }
    }
}

/// Reads what there is; true at the end of the stream.
pub(crate) fn read_pattern(
    now: Time,
    id: StreamId,
    offset: &mut u64,
    connection: &mut Connection,
    meter: &mut Meter,
) -> bool {
    loop {
        match connection.read_chunk(id, 1 << 16) {
            Ok(Some(chunk)) => {
                meter.read_pattern(now, id, *offset, &chunk);
                *offset += chunk.len() as u64;
            }
            Ok(None) => return true,
            Err(ReadError::Blocked) => return false,
            Err(_) => {
                meter.abandoned(id);
                return false;
            }
        }
    }
}

/// Reads all datagrams there are.
pub(crate) fn receive_datagrams(now: Time, connection: &mut Connection, meter: &mut Meter) {
    while let Some(datagram) = connection.read_datagram() {
        meter.arrived(now, datagram.len() as u64);
        meter.completed += 1;
        if let Some(sent) = sent_at(&datagram) {
            meter.delays.record(now.since(sent), 1);
        }
    }
}
