//! The application of all servers of a host.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

use hawser_core::{Connection, ConnectionHandle, Event, ReadError, ReadOutcome, ServerConfig, StreamEvent};
use hawser_media::{Choice, Measure};
use hawser_policy::{Earliest, StreamId, Time};
use hawser_scenario::Direction::{self, Down, Up};
use hawser_scenario::TunnelMix;
use rustc_hash::FxHashMap;

use super::client::role::{read_pattern, receive_datagrams};
use super::delivery::{BothWays, Deliveries};
use super::hosted::{Hosted, Wire};
use super::lane::PacketLane;
use super::meter::Meter;
use super::participant::session_of;
use super::request::{REQUEST_LENGTH, Request};
use super::sending::{DatagramPacer, Pushed, Sending};
use super::summary::Totals;
use crate::deadlines::Deadlines;
use crate::{Application, Sockets};

/// Most bytes that the relay of a tunnel moves from TCP to a stream before it is the turn of another one (`gather` of `hawser-gateway`).
const BLOCK: u64 = 64 << 10;

/// Does what the clients ask.
pub(super) struct Servers {
    /// By the number of the session in the simulation.
    setups: Vec<Option<Setup>>,
    /// By the number of the session in the simulation.
    pub(super) sessions: BTreeMap<usize, ServerSession>,
    by_handle: FxHashMap<usize, usize>,
    timers: Deadlines,
}

/// What a server knows of a session beforehand.
#[derive(Clone)]
pub(super) struct Setup {
    /// How its connections behave.
    pub(super) config: Arc<ServerConfig>,
    /// What is sent and read either way.
    pub(super) deliveries: BothWays,
    /// The application of the flow, its direction and its seed.
    pub(super) application: Option<(Direction, Choice, u64)>,
    /// What a tunnel carries.
    pub(super) mix: Option<TunnelMix>,
}

/// The server's end of a session.
pub(super) struct ServerSession {
    /// The connection on which it asks.
    pub(super) connection: Option<ConnectionHandle>,
    pub(super) meter: Meter,
    /// What the paths of connections that are gone did at our end.
    pub(super) gone: Totals,
    /// What this end sends.
    sends: Deliveries,
    streams: BTreeMap<StreamId, Stream>,
    pacer: Option<DatagramPacer>,
    hosted: Option<Hosted>,
    tunnel: Option<Tunnel>,
}

/// What a tunnel has besides.
struct Tunnel {
    lane: PacketLane,
    /// What of requests is counted, apart from transfers.
    requests: Meter,
    /// Streams with room that wait for their turn.
    turns: VecDeque<StreamId>,
}

enum Stream {
    /// Its request is not complete.
    Asking { bytes: [u8; REQUEST_LENGTH], filled: usize },
    /// Its client sends, and we answer with so much when it has ended.
    Listening { offset: u64, answer: Option<u64> },
    /// We send.
    Answering(Sending),
}

impl ServerSession {
    fn new(setup: &Setup) -> Self {
        let meter = Meter::of_deliveries(setup.deliveries[Up as usize].clone(), REQUEST_LENGTH as u64);
        let tunnel = setup.mix.as_ref().map(|mix| Tunnel {
            lane: PacketLane::new(mix, Down),
            requests: meter.of_others(),
            turns: VecDeque::new(),
        });
        ServerSession {
            connection: None,
            meter,
            tunnel,
            gone: Totals::default(),
            sends: setup.deliveries[Down as usize].clone(),
            streams: BTreeMap::new(),
            pacer: None,
            hosted: setup.application.as_ref().map(|(direction, application, seed)| {
                Hosted::new(match direction {
                    Up => application.receiver(),
                    Down => application.sender(*seed),
                })
            }),
        }
    }

    /// What an application measured.
    pub(super) fn measures(&self, now: Time) -> Vec<Measure> {
        self.hosted.as_ref().map_or_else(Vec::new, |hosted| hosted.measures(now))
    }

    /// Returns this end of a tunnel's lane of packets.
    pub(super) fn lane(&self) -> Option<&PacketLane> {
        self.tunnel.as_ref().map(|tunnel| &tunnel.lane)
    }

    fn next_timeout(&self) -> Option<Time> {
        self.connection?;
        let hosted = self.hosted.as_ref().and_then(Hosted::next_timeout);
        let lane = self.lane().and_then(PacketLane::next_timeout);
        let turn = self.tunnel.as_ref().filter(|tunnel| !tunnel.turns.is_empty()).map(|_| Time::ZERO);
        Earliest::NONE.or(hosted).or(lane).or(turn).or(self.pacer.as_ref().map(DatagramPacer::next_at)).time()
    }

    fn on_timeout(&mut self, now: Time, connection: &mut Connection) {
        if let Some(pacer) = &mut self.pacer {
            pacer.push_on(now, connection);
        }
        if let Some(hosted) = &mut self.hosted
            && hosted.next_timeout().is_some_and(|at| at <= now)
        {
            hosted.on_timeout(&mut Wire { now, connection, meter: &mut self.meter });
        }
        if let Some(Tunnel { lane, .. }) = &mut self.tunnel
            && lane.next_timeout().is_some_and(|at| at <= now)
        {
            lane.on_timeout(now, connection, &mut self.meter);
        }
        self.take_turns(connection);
    }

    /// Each stream of a tunnel that has room moves a block.
    fn take_turns(&mut self, connection: &mut Connection) {
        let turns = self.tunnel.as_mut().map(|tunnel| std::mem::take(&mut tunnel.turns));
        turns.into_iter().flatten().for_each(|id| self.write(id, connection));
    }

    /// Datagrams sent by this end.
    pub(super) fn datagrams_sent(&self) -> u64 {
        self.pacer.as_ref().map_or(0, DatagramPacer::sent)
    }

    fn on_event(&mut self, now: Time, handle: ConnectionHandle, connection: &mut Connection, event: &Event) {
        // Streams to one side are the application's.
        let is_own = matches!(event, Event::Stream(StreamEvent::Opened { bidirectional: true }));
        if let (Some(hosted), Event::Stream(event), false) = (&mut self.hosted, event, is_own) {
            hosted.on_event(event, &mut Wire { now, connection, meter: &mut self.meter });
        }
        match event {
            Event::Stream(StreamEvent::Opened { bidirectional: true }) => {
                self.connection = Some(handle);
                if self.sends.is_wanted() {
                    connection.log_first_sends();
                }
                while let Some(id) = connection.accept_stream(true) {
                    self.streams.insert(id, Stream::Asking { bytes: [0; REQUEST_LENGTH], filled: 0 });
                    self.read(now, id, connection);
                }
            }
            Event::Stream(StreamEvent::Readable(id)) => self.read(now, *id, connection),
            Event::Stream(StreamEvent::Writable(id)) => self.write(*id, connection),
            Event::Stream(StreamEvent::Stopped { id, .. }) => {
                self.streams.remove(id);
                let _ = connection.reset(*id, 0);
                self.sends.abandoned(*id);
            }
            Event::DatagramReceived => match &mut self.tunnel {
                Some(tunnel) => tunnel.lane.receive(now, connection, &mut self.meter),
                None => receive_datagrams(now, connection, &mut self.meter),
            },
            _ => {}
        }
    }

    fn read(&mut self, now: Time, id: StreamId, connection: &mut Connection) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        if let Stream::Asking { bytes, filled } = stream {
            let request = read_request(id, bytes, filled, connection);
            if request.is_some() {
                self.meter.read_request(now, id);
            }
            match request {
                Some(Some(Request::Serve { length })) => {
                    *stream = Stream::Listening { offset: 0, answer: Some(length) }
                }
                Some(Some(Request::Receive)) => *stream = Stream::Listening { offset: 0, answer: None },
                Some(Some(Request::Datagrams { size, rate })) => {
                    self.pacer
                        .get_or_insert_with(|| DatagramPacer::new(now, size, rate))
                        .push_on(now, connection);
                    self.streams.remove(&id);
                    return;
                }
                Some(Some(Request::Application)) => {
                    self.streams.remove(&id);
                    if let Some(hosted) = &mut self.hosted {
                        hosted.start(now, &mut Wire { now, connection, meter: &mut self.meter });
                    }
                    if let Some(tunnel) = &mut self.tunnel {
                        tunnel.lane.start(now, connection);
                    }
                    return;
                }
                Some(None) => {
                    self.streams.remove(&id);
                    return;
                }
                None => return,
            }
        }
        let Stream::Listening { offset, answer } = stream else { return };
        let meter = match &mut self.tunnel {
            Some(tunnel) if answer.is_some() => &mut tunnel.requests,
            _ => &mut self.meter,
        };
        if read_pattern(now, id, offset, connection, meter) {
            match *answer {
                Some(length) => *stream = Stream::Answering(Sending::new(id, length)),
                None => {
                    self.meter.completed += 1;
                    *stream = Stream::Answering(Sending::new(id, 0));
                }
            }
            self.write(id, connection);
        }
    }

    fn write(&mut self, id: StreamId, connection: &mut Connection) {
        let Some(Stream::Answering(sending)) = self.streams.get_mut(&id) else { return };
        let most = if self.tunnel.is_some() { BLOCK } else { u64::MAX };
        match (sending.push_most(most, connection), &mut self.tunnel) {
            (Pushed::All, _) => {
                self.streams.remove(&id);
            }
            (Pushed::Part, Some(tunnel)) if !tunnel.turns.contains(&id) => tunnel.turns.push_back(id),
            _ => {}
        }
    }
}

/// `None`: more is to come; `Some(None)`: it will not.
fn read_request(
    id: StreamId,
    bytes: &mut [u8; REQUEST_LENGTH],
    filled: &mut usize,
    connection: &mut Connection,
) -> Option<Option<Request>> {
    while *filled < REQUEST_LENGTH {
        match connection.read(id, &mut bytes[*filled..]) {
            Ok(ReadOutcome::Data(read)) => *filled += read,
            Err(ReadError::Blocked) => return None,
            _ => return Some(None),
        }
    }
    Some(Request::decode(bytes))
}

impl Servers {
    /// A server for sessions with these configurations, by their numbers.
    pub(super) fn new(setups: Vec<Option<Setup>>) -> Self {
        let known = setups.iter().enumerate().filter_map(|(number, setup)| Some((number, setup.as_ref()?)));
        let sessions = known.map(|(number, setup)| (number, ServerSession::new(setup))).collect();
        Servers { setups, sessions, by_handle: FxHashMap::default(), timers: Deadlines::default() }
    }

    fn arm(&mut self, number: usize) {
        self.timers.set(number, self.sessions.get(&number).and_then(ServerSession::next_timeout));
    }
}

impl Application for Servers {
    // Most packets bring no event, and the loop that asks for one is short without this.
    #[inline(never)]
    fn on_event(&mut self, now: Time, handle: ConnectionHandle, connection: &mut Connection, event: &Event) {
        let number = match self.by_handle.get(&handle.0) {
            Some(number) => *number,
            None => {
                // The first event comes before any NAT on the way forgets.
                let Some(path) = connection.paths().into_iter().next() else { return };
                let number = session_of(path.tuple.remote);
                self.by_handle.insert(handle.0, number);
                number
            }
        };
        let Some(session) = self.sessions.get_mut(&number) else { return };
        session.on_event(now, handle, connection, event);
        self.arm(number);
    }

    fn on_drained(&mut self, _: Time, handle: ConnectionHandle, connection: &mut Connection) {
        if let Some(number) = self.by_handle.remove(&handle.0)
            && let Some(session) = self.sessions.get_mut(&number)
            && session.connection == Some(handle)
        {
            session.gone.add(connection);
            session.connection = None;
            session.pacer = None;
            self.arm(number);
        }
    }

    fn on_transmit(&mut self, handle: ConnectionHandle, connection: &mut Connection, label: u64) {
        let session = self.by_handle.get(&handle.0).and_then(|number| self.sessions.get(number));
        if let Some(session) = session {
            session.sends.poll_sent(connection, label);
        }
    }

    fn server_config(&mut self, remote: SocketAddr) -> Option<Arc<ServerConfig>> {
        let setup = self.setups.get(session_of(remote))?.as_ref()?;
        Some(setup.config.clone())
    }

    fn next_timeout(&self) -> Option<Time> {
        self.timers.next()
    }

    fn on_timeout(&mut self, now: Time, sockets: &mut Sockets) {
        while let Some(number) = self.timers.pop_due(now) {
            if let Some(session) = self.sessions.get_mut(&number)
                && let Some(connection) = session.connection.and_then(|handle| sockets.connection(handle))
            {
                session.on_timeout(now, connection);
            }
            self.arm(number);
        }
    }
}
