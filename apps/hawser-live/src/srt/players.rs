//! Players that call: who is let in, and what they are sent.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sapflow_srt::crypto::CryptoConfig;
use sapflow_srt::{ConnId, RejectCode};
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::reception::{Arrival, Reception};
use super::sending::Sending;
use super::{LATENCY, at, passphrase};
use crate::hook::Pass;
use crate::players::{Listed, MAX_PLAYERS, Places, find};
use crate::udp;
use hawser::{LoggedAddress, Printable};
use hawser_command::exit::Failure;
use hawser_command::output::Output;
use hawser_command::sources::Taken;

/// Datagrams of a player that wait for its call: acknowledgements, of which one is worth all before it.
const INBOX: usize = 32;
/// What players ask for. Others are refused as an HTTP server does it (RFC 9110 section 15.5).
const FORBIDDEN: RejectCode = RejectCode::http(403);
const NO_SUCH_STREAM: RejectCode = RejectCode::http(404);
const ONLY_PLAYERS: RejectCode = RejectCode::http(405);

/// Where players call.
pub(crate) struct Players {
    streams: Vec<Listed>,
    /// Whether a player that names none gets the only stream of this machine.
    is_private: bool,
    passphrase: Option<CryptoConfig>,
    latency: Duration,
    output: Output,
}

/// What a stream id asks for.
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    /// To play the stream of this name.
    Play(String),
    /// To publish.
    Publish,
}

/// Reads a stream id: the name of a stream alone, as the last part of a path, or as the resource (`r`) of SRT's access control.
fn asked(stream_id: &[u8]) -> Asked {
    let text = String::from_utf8_lossy(stream_id);
    let (mut resource, mut mode) = (None, None);
    if let Some(fields) = text.strip_prefix("#!::") {
        for (name, value) in fields.split(',').filter_map(|field| field.split_once('=')) {
            match name {
                "r" => resource = Some(value),
                "m" => mode = Some(value),
                _ => {}
            }
        }
        // Without a mode the caller is to receive (SRT access control guidelines).
        let is_player = mode.is_none_or(|mode| mode == "request");
        let name = resource.unwrap_or_default().rsplit('/').next().unwrap_or_default();
        return if is_player { Asked::Play(name.to_owned()) } else { Asked::Publish };
    }
    if text.starts_with("publish:") {
        return Asked::Publish;
    }
    let rest = ["read:", "play:"].iter().find_map(|verb| text.strip_prefix(verb)).unwrap_or(&text);
    let name = rest.split(['?', ':']).next().unwrap_or_default();
    Asked::Play(name.rsplit('/').next().unwrap_or_default().to_owned())
}

/// A player that has been let in, except by the listener.
struct Admitted {
    listed: Listed,
    player: SocketAddr,
    place: Taken,
    pass: Option<Pass>,
}

/// What a task of the port comes to.
enum Done {
    /// Whether a player may come in, or why not.
    Decided(ConnId, Result<Box<Admitted>, (SocketAddr, String)>),
    /// A call is over.
    Ended(ConnId),
}

/// The port while it is open.
struct Port {
    players: Arc<Players>,
    socket: Arc<UdpSocket>,
    reception: Reception,
    places: Places,
    inboxes: HashMap<ConnId, mpsc::Sender<Vec<u8>>>,
    tasks: JoinSet<Done>,
}

impl Players {
    /// Players of these streams, with the passphrase that is in the environment.
    pub(crate) fn new(streams: Vec<Listed>, is_private: bool, output: Output) -> Result<Self, Failure> {
        Ok(Players { streams, is_private, passphrase: passphrase()?, latency: LATENCY, output })
    }

    /// Begins to serve those who call, as long as the program runs. Returns where.
    pub(crate) async fn start(self, address: SocketAddr) -> Result<SocketAddr, Failure> {
        let socket = udp::bind(address).await?;
        let (address, output) = (socket.local_addr().unwrap_or(address), self.output);
        tokio::spawn(async move {
            let error = self.listen(socket).await;
            output.remark(format_args!("hawser: no players over SRT any more: {error}"));
        });
        Ok(address)
    }

    /// Serves those who call, until the socket fails.
    async fn listen(self, socket: UdpSocket) -> std::io::Error {
        let reception = Reception::new(self.passphrase.clone(), self.latency, MAX_PLAYERS, Instant::now());
        let mut port = Port {
            players: Arc::new(self),
            socket: Arc::new(socket),
            reception,
            places: Places::new(),
            inboxes: HashMap::new(),
            tasks: JoinSet::new(),
        };
        let mut block = [0; 2048];
        loop {
            while let Some((peer, bytes)) = port.reception.poll_transmit() {
                // Who misses it asks again.
                let _ = port.socket.send_to(&bytes, peer).await;
            }
            tokio::select! {
                received = port.socket.recv_from(&mut block) => match received {
                    Ok((count, peer)) => port.handle(peer, &block[..count]),
                    // A player that has gone, as the kernel tells.
                    Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {}
                    Err(error) => return error,
                },
                Some(done) = port.tasks.join_next() => match done {
                    Ok(Done::Decided(id, admitted)) => port.decide(id, admitted),
                    Ok(Done::Ended(id)) => port.forget(id),
                    Err(error) => tracing::error!(%error, "a call with a player failed"),
                },
                () = at(port.reception.poll_timeout()) => port.reception.handle_timeout(Instant::now()),
            }
        }
    }
}

impl Port {
    fn handle(&mut self, peer: SocketAddr, bytes: &[u8]) {
        match self.reception.handle(Instant::now(), peer, bytes) {
            Arrival::Nothing => {}
            Arrival::Refused => self.players.output.remark(format_args!(
                "hawser: player at {peer} over SRT: refused: one end has a passphrase and the other has none, or it speaks \
                 another kind of SRT", peer = LoggedAddress(peer)
            )),
            Arrival::For(id) => {
                // What there is no room for comes again.
                let _ = self.inboxes.get(&id).map(|inbox| inbox.try_send(bytes.to_vec()));
            }
            Arrival::Knock { id, stream_id } => self.knock(id, peer, &stream_id),
        }
    }

    /// A player asks to be let in.
    fn knock(&mut self, id: ConnId, player: SocketAddr, stream_id: &[u8]) {
        let Players { streams, is_private, .. } = &*self.players;
        let listed = match asked(stream_id) {
            Asked::Publish => {
                let words = "encoders call `hawser live publish --srt`";
                return self.refuse(id, player, ONLY_PLAYERS, words);
            }
            Asked::Play(name) if name.is_empty() && *is_private => streams.first(),
            Asked::Play(name) => find(streams, &name),
        };
        let Some(listed) = listed.cloned() else {
            // The id may have the key of another stream: it belongs on no screen.
            return self.refuse(id, player, NO_SUCH_STREAM, "no stream has the name in its stream id");
        };
        let Some(place) = self.places.of(player.ip()).try_take(player.ip(), 1) else {
            return self.refuse(id, player, RejectCode::BACKLOG, "there is no place for another player");
        };
        self.tasks.spawn(async move {
            let admitted = match listed.admit(player, "srt").await {
                Ok(pass) => Ok(Box::new(Admitted { listed, player, place, pass })),
                Err(why) => Err((player, why)),
            };
            Done::Decided(id, admitted)
        });
    }

    fn refuse(&mut self, id: ConnId, player: SocketAddr, code: RejectCode, why: &str) {
        self.reception.reject(id, code);
        let why = Printable::new(why);
        self.players.output.remark(format_args!("hawser: player at {player} over SRT: refused: {why}"));
    }

    fn decide(&mut self, id: ConnId, admitted: Result<Box<Admitted>, (SocketAddr, String)>) {
        let admitted = match admitted {
            Ok(admitted) => *admitted,
            Err((player, why)) => return self.refuse(id, player, FORBIDDEN, &why),
        };
        let (Admitted { listed, player, place, pass }, output) = (admitted, self.players.output);
        let Some(line) = self.reception.accept(id, Instant::now()) else {
            return output.remark(format_args!(
                "hawser: player at {player} over SRT: refused: another passphrase, or it has gone"
            ));
        };
        output.remark(format_args!("hawser: {player} plays over SRT"));
        let (sender, inbox) = mpsc::channel(INBOX);
        self.inboxes.insert(id, sender);
        let socket = self.socket.clone();
        self.tasks.spawn(async move {
            let (_place, _pass) = (place, pass);
            let sending = Sending::answering(line, inbox, listed.hub(), format!("the player at {player}"));
            let over = async {
                listed.over().await;
                "its key has expired"
            };
            let why = sending.run(&socket, listed.hub(), (listed.status(), output), over).await;
            output.remark(format_args!("hawser: {player} plays no longer over SRT: {why}"));
            Done::Ended(id)
        });
    }

    fn forget(&mut self, id: ConnId) {
        self.inboxes.remove(&id);
        self.reception.forget(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stream_id_says_what_a_caller_wants() {
        let play = |name: &str| Asked::Play(name.to_owned());
        for id in
            ["k", "live/k", "read:live/k", "play:k", "read:k:user:pass", "#!::r=live/k,m=request", "#!::r=k"]
        {
            assert_eq!(asked(id.as_bytes()), play("k"), "{id}");
        }
        assert_eq!(
            (asked(b""), asked(b"#!::m=request"), asked(b"\xff")),
            (play(""), play(""), play("\u{fffd}"))
        );
        for id in ["publish:live/k", "#!::r=live/k,m=publish", "#!::m=bidirectional,r=k"] {
            assert_eq!(asked(id.as_bytes()), Asked::Publish, "{id}");
        }
    }
}
