//! Players that call: handshakes, and whom a datagram is for. Without I/O.

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use sapflow_srt::crypto::CryptoConfig;
use sapflow_srt::packet::{Control, ControlPacket, Handshake, HandshakeKind, Packet};
use sapflow_srt::{Config, ConnId, Event, Listener, RejectCode};

use super::line::Line;

/// How long the operator's hook may take, and a bit.
const ACCEPT: Duration = Duration::from_secs(6);
/// Where the time and the socket that it is for lie in a packet.
const TIMESTAMP: std::ops::Range<usize> = 8..12;
const DESTINATION: std::ops::Range<usize> = 12..16;

/// What a datagram is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Part of a handshake, or nothing.
    Nothing,
    /// Somebody was refused who has no passphrase where one is needed, or speaks another kind of SRT.
    Refused,
    /// Somebody asks to be let in, and is to be answered.
    Knock { id: ConnId, stream_id: Vec<u8> },
    /// For the call with this player.
    For(ConnId),
}

/// A player that was let in.
struct Open {
    player: SocketAddr,
    player_socket: u32,
    /// The answer to its handshake, for when that was lost.
    response: Vec<u8>,
    began: Instant,
}

/// The port where players call.
pub(crate) struct Reception<S = RandomState> {
    listener: Listener<S>,
    passphrase: Option<CryptoConfig>,
    latency: Duration,
    /// What those have asked who have no answer yet.
    waiting: HashMap<ConnId, (SocketAddr, Handshake)>,
    open: HashMap<ConnId, Open>,
    players: HashMap<(SocketAddr, u32), ConnId>,
    /// What is to be sent before anything else.
    answers: VecDeque<(SocketAddr, Vec<u8>)>,
}

/// The listener, where `most` may wait for an answer at a time.
fn config(passphrase: Option<&CryptoConfig>, latency: Duration, most: usize) -> Config {
    Config {
        latency,
        max_connections: most,
        accept_timeout: ACCEPT,
        require_encryption: passphrase.is_some(),
        crypto: passphrase.cloned(),
        ..Config::default()
    }
}

impl Reception {
    pub(crate) fn new(
        passphrase: Option<CryptoConfig>,
        latency: Duration,
        most: usize,
        now: Instant,
    ) -> Self {
        Self::with_key(passphrase, latency, most, now, RandomState::new())
    }
}

impl<S: BuildHasher> Reception<S> {
    /// One with cookies that are made with `key`.
    pub(crate) fn with_key(
        passphrase: Option<CryptoConfig>,
        latency: Duration,
        most: usize,
        now: Instant,
        key: S,
    ) -> Self {
        let listener = Listener::with_key(config(passphrase.as_ref(), latency, most), now, key);
        let (waiting, open, players) = (HashMap::new(), HashMap::new(), HashMap::new());
        Reception { listener, passphrase, latency, waiting, open, players, answers: VecDeque::new() }
    }

    /// A datagram from somebody.
    pub(crate) fn handle(&mut self, now: Instant, peer: SocketAddr, bytes: &[u8]) -> Arrival {
        match bytes.first_chunk() {
            Some([0x80, 0]) => {}
            Some([first, _]) if first & 0x80 != 0 => {
                return self.owner(peer, bytes).map_or(Arrival::Nothing, Arrival::For);
            }
            // Players send no data.
            _ => return Arrival::Nothing,
        }
        let Ok(Packet::Control(ControlPacket { body: Control::Handshake(asked), .. })) = Packet::parse(bytes)
        else {
            return Arrival::Nothing;
        };
        if asked.kind == HandshakeKind::Conclusion
            && let Some(id) = self.players.get(&(peer, asked.socket_id))
        {
            let again = self.response(*id, now).map(|response| (peer, response));
            self.answers.extend(again);
            return Arrival::Nothing;
        }
        let refused = self.listener.stats().rejected;
        self.listener.handle_datagram(now, peer, bytes);
        while let Some(event) = self.listener.poll_event() {
            if let Event::Connect { id, stream_id, .. } = event {
                self.waiting.insert(id, (peer, asked));
                return Arrival::Knock { id, stream_id };
            }
        }
        if self.listener.stats().rejected > refused { Arrival::Refused } else { Arrival::Nothing }
    }

    /// The call that a packet of this player is for.
    fn owner(&self, peer: SocketAddr, bytes: &[u8]) -> Option<ConnId> {
        let destination = bytes.get(DESTINATION)?.try_into().ok()?;
        let id = ConnId(u32::from_be_bytes(destination));
        self.open.get(&id).filter(|open| open.player == peer).map(|_| id)
    }

    /// The answer to a handshake again. It says what time it is, by which the player finds when to show what.
    fn response(&self, id: ConnId, now: Instant) -> Option<Vec<u8>> {
        let open = self.open.get(&id)?;
        let since = u32::try_from(now.duration_since(open.began).as_micros()).ok()?;
        let mut bytes = open.response.clone();
        bytes.get_mut(TIMESTAMP)?.copy_from_slice(&since.to_be_bytes());
        Some(bytes)
    }

    /// Lets a player in that has asked. `None`: it has another passphrase, is no player, or has gone; it is told.
    pub(crate) fn accept(&mut self, id: ConnId, now: Instant) -> Option<Line> {
        let (player, asked) = self.waiting.remove(&id)?;
        let settings = (self.passphrase.clone(), self.latency);
        let Some(line) = Line::answering(&asked, (id, player), settings, now) else {
            self.listener.reject(id, RejectCode::ROGUE);
            return None;
        };
        while let Some(answer) = self.listener.poll_transmit() {
            self.answers.push_back(answer);
        }
        if !self.listener.accept(id, now) {
            return None;
        }
        let (_, response) = self.listener.poll_transmit()?;
        // What the listener would say from here on is the line's to say.
        self.listener.close(id, now);
        while self.listener.poll_transmit().is_some() {}
        let player_socket = asked.socket_id;
        self.players.insert((player, player_socket), id);
        self.open.insert(id, Open { player, player_socket, response: response.clone(), began: now });
        self.answers.push_back((player, response));
        Some(line)
    }

    /// Refuses one that has asked.
    pub(crate) fn reject(&mut self, id: ConnId, code: RejectCode) {
        self.waiting.remove(&id);
        self.listener.reject(id, code);
    }

    /// The call with a player is over.
    pub(crate) fn forget(&mut self, id: ConnId) {
        if let Some(open) = self.open.remove(&id) {
            self.players.remove(&(open.player, open.player_socket));
        }
    }

    /// Players that were let in, and those who wait for an answer.
    #[cfg(test)]
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.open.len(), self.waiting.len())
    }

    pub(crate) fn poll_transmit(&mut self) -> Option<(SocketAddr, Vec<u8>)> {
        self.answers.pop_front().or_else(|| self.listener.poll_transmit())
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.listener.poll_timeout()
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.listener.handle_timeout(now);
        while let Some(event) = self.listener.poll_event() {
            if let Event::Closed { id, .. } = event {
                self.waiting.remove(&id);
            }
        }
    }
}

#[cfg(test)]
mod tests;
