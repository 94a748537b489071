//! What runs on both hosts: a client that asks for files of given lengths, and a server that has any of them.

use std::collections::{BTreeMap, VecDeque};

use hawser_core::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, ConnectionStats, EarlyData, Event,
    FourTuple, ReadError, StreamEvent,
};
use hawser_policy::{StreamId, Time};
use hawser_sim::tls::SERVER_NAME;
use hawser_sim::{Application, Sockets, first_mismatch, pattern_bytes};

/// Most bytes of a request.
const MAX_REQUEST: usize = 4_096;

/// Answers a request, a number and padding, with so many bytes.
#[derive(Debug, Default)]
pub(crate) struct Server {
    requests: BTreeMap<(usize, StreamId), Vec<u8>>,
    /// Bytes sent, and all.
    answers: BTreeMap<(usize, StreamId), (u64, u64)>,
    /// How connections ended.
    pub(crate) closed: Vec<ConnectionError>,
    /// Counters of connections that have ended.
    pub(crate) ended: Vec<ConnectionStats>,
}

impl Server {
    fn read(&mut self, handle: usize, connection: &mut Connection, id: StreamId) {
        let Some(request) = self.requests.get_mut(&(handle, id)) else { return };
        loop {
            match connection.read_chunk(id, MAX_REQUEST) {
                Ok(Some(chunk)) => request.extend_from_slice(&chunk),
                Ok(None) => break,
                Err(_) => return,
            }
        }
        let text = String::from_utf8(std::mem::take(request)).expect("a request is text");
        self.requests.remove(&(handle, id));
        let length = text.trim_end_matches('.').parse().expect("a request is a number");
        self.answers.insert((handle, id), (0, length));
        self.answer(handle, connection, id);
    }

    fn answer(&mut self, handle: usize, connection: &mut Connection, id: StreamId) {
        let Some((sent, length)) = self.answers.get_mut(&(handle, id)) else { return };
        while *sent < *length {
            match connection.write_bytes(id, pattern_bytes(*sent, *length - *sent)) {
                Ok(0) | Err(_) => return,
                Ok(written) => *sent += written as u64,
            }
        }
        let _ = connection.finish(id);
        self.answers.remove(&(handle, id));
    }
}

impl Application for Server {
    fn on_event(&mut self, _: Time, handle: ConnectionHandle, connection: &mut Connection, event: &Event) {
        match event {
            Event::Stream(StreamEvent::Opened { bidirectional: true }) => {
                while let Some(id) = connection.accept_stream(true) {
                    self.requests.insert((handle.0, id), Vec::new());
                    self.read(handle.0, connection, id);
                }
            }
            Event::Stream(StreamEvent::Readable(id)) => self.read(handle.0, connection, *id),
            Event::Stream(StreamEvent::Writable(id)) => self.answer(handle.0, connection, *id),
            Event::Closed(error) => self.closed.push(error.clone()),
            _ => {}
        }
    }

    fn on_drained(&mut self, _: Time, _: ConnectionHandle, connection: &mut Connection) {
        self.ended.push(connection.stats());
    }
}

/// Makes the configuration of each connection.
pub(crate) type Configure = Box<dyn FnMut() -> ClientConfig>;

/// The files of a connection.
#[derive(Debug, Default)]
struct Session {
    /// Those that are not asked for yet.
    wanted: VecDeque<u64>,
    /// Those that were: bytes received and all.
    open: BTreeMap<StreamId, (u64, u64)>,
    /// Whether it is only there to take its share of the link.
    is_rival: bool,
}

impl Session {
    /// Reads what is there of a file; `None` until it is whole.
    fn read(&mut self, connection: &mut Connection, id: StreamId) -> Option<Result<(), String>> {
        let (received, length) = self.open.get_mut(&id)?;
        loop {
            match connection.read_chunk(id, 1 << 16) {
                Ok(Some(chunk)) => {
                    if let Some(at) = first_mismatch(*received, &chunk) {
                        return Some(Err(format!("a wrong byte at {at}")));
                    }
                    *received += chunk.len() as u64;
                }
                Ok(None) => break,
                Err(ReadError::Blocked) => return None,
                Err(error) => return Some(Err(error.to_string())),
            }
        }
        let is_whole = received == length;
        let told = format!("{received} bytes instead of {length}");
        self.open.remove(&id);
        Some(if is_whole { Ok(()) } else { Err(told) })
    }
}

/// Fetches the files of one connection after another, each connection from a port of its own.
pub(crate) struct Client {
    configure: Configure,
    tuple: FourTuple,
    /// Files of the connections to come.
    ahead: VecDeque<Vec<u64>>,
    /// When the next one starts.
    start_at: Option<Time>,
    /// By handle.
    sessions: BTreeMap<usize, Session>,
    /// Bytes of the file that another connection fetches at the same time.
    pub(crate) rival: Option<u64>,
    /// Bytes to which a request is padded.
    pub(crate) request_length: usize,
    /// When each connection started and its handshake was complete.
    pub(crate) started: Vec<Time>,
    pub(crate) connected: Vec<Time>,
    /// Files that came whole.
    pub(crate) complete: usize,
    /// When the last one did.
    pub(crate) finished_at: Option<Time>,
    /// What went wrong.
    pub(crate) failures: Vec<String>,
    /// Counters of connections, when their last file had come.
    pub(crate) ended: Vec<ConnectionStats>,
}

impl Client {
    pub(crate) fn new(configure: Configure, tuple: FourTuple, connections: &[Vec<u64>]) -> Self {
        Client {
            configure,
            tuple,
            ahead: connections.iter().cloned().collect(),
            start_at: Some(Time::ZERO),
            sessions: BTreeMap::new(),
            rival: None,
            request_length: 0,
            started: Vec::new(),
            connected: Vec::new(),
            complete: 0,
            finished_at: None,
            failures: Vec::new(),
            ended: Vec::new(),
        }
    }

    fn start(&mut self, now: Time, sockets: &mut Sockets, session: Session) {
        let config = (self.configure)();
        let handle = sockets.connect(now, config, self.tuple, SERVER_NAME).expect("valid addresses");
        self.tuple.local.set_port(self.tuple.local.port() + 1);
        self.sessions.insert(handle.0, session);
        self.started.push(now);
        if let Some(connection) = sockets.connection(handle)
            && connection.early_data() == EarlyData::Offered
        {
            self.ask(handle.0, connection);
        }
    }

    /// Asks for as many files as the server lets it.
    fn ask(&mut self, handle: usize, connection: &mut Connection) {
        let Some(session) = self.sessions.get_mut(&handle) else { return };
        while let Some(&length) = session.wanted.front() {
            let Some(id) = connection.open_stream(true) else { return };
            session.wanted.pop_front();
            let request = format!("{length:.<width$}", width = self.request_length);
            if connection.write(id, request.as_bytes()).is_err() || connection.finish(id).is_err() {
                self.failures.push(format!("the request for {length} bytes could not be sent"));
            }
            session.open.insert(id, (0, length));
        }
    }

    fn read(&mut self, now: Time, handle: usize, connection: &mut Connection, id: StreamId) {
        let Some(session) = self.sessions.get_mut(&handle) else { return };
        let Some(outcome) = session.read(connection, id) else { return };
        if let Err(failure) = outcome {
            return self.failures.push(failure);
        }
        if session.is_rival {
            return;
        }
        self.complete += 1;
        if session.open.is_empty() && session.wanted.is_empty() {
            self.ended.push(connection.stats());
            connection.close(now, 0, bytes::Bytes::new());
            match self.ahead.is_empty() {
                true => self.finished_at = Some(now),
                false => self.start_at = Some(now),
            }
        }
    }
}

impl Application for Client {
    fn on_event(&mut self, now: Time, handle: ConnectionHandle, connection: &mut Connection, event: &Event) {
        match event {
            Event::Connected => {
                self.connected.push(now);
                self.ask(handle.0, connection);
            }
            Event::Stream(StreamEvent::Available { bidirectional: true }) => self.ask(handle.0, connection),
            Event::Stream(StreamEvent::Readable(id)) => self.read(now, handle.0, connection, *id),
            Event::Closed(error) if *error != ConnectionError::LocallyClosed => {
                self.failures.push(error.to_string());
            }
            _ => {}
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.start_at
    }

    fn on_timeout(&mut self, now: Time, sockets: &mut Sockets) {
        self.start_at = None;
        let Some(files) = self.ahead.pop_front() else { return };
        self.start(now, sockets, Session { wanted: files.into(), ..Session::default() });
        if let Some(length) = self.rival.take() {
            let session = Session { wanted: [length].into(), is_rival: true, ..Session::default() };
            self.start(now, sockets, session);
        }
    }
}
