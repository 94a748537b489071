//! A peer that makes a connection as it should be, and then sends what it likes.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::BytesMut;
use hawser_core::FourTuple;
use hawser_policy::{Side, Time};
use hawser_wire::{Frame, Writer};

use super::packets::{Observer, Sent, honest_acks};
use crate::{Application, Host, Node, Packet};

/// Bytes of frames in one packet: it fits into 1200 bytes.
const ROOM: usize = 1_150;

/// How one packet after another comes to be.
#[derive(Clone, Copy, Debug)]
pub struct Conduct {
    /// Packets in all.
    pub packets: u64,
    /// Time from one to the next.
    pub every: Duration,
    /// Whether it acknowledges what it receives.
    pub acknowledges: bool,
    /// Packet numbers left out before each packet.
    pub skips: u64,
    /// Whether each packet begins a new key phase.
    pub updates_keys: bool,
    /// On how many paths it sends, in turns.
    pub paths: u32,
    /// From how many ports it sends, in turns.
    pub ports: u16,
    /// What is in a packet.
    pub frames: fn(&mut Pen<'_>),
}

impl Conduct {
    /// So many packets, one each millisecond, full of these frames.
    pub const fn of(packets: u64, frames: fn(&mut Pen<'_>)) -> Self {
        Conduct {
            packets,
            every: Duration::from_millis(1),
            acknowledges: false,
            skips: 0,
            updates_keys: false,
            paths: 1,
            ports: 1,
            frames,
        }
    }
}

/// Writes the frames of one packet.
pub struct Pen<'a> {
    /// The number of the packet among those of the attack.
    pub turn: u64,
    /// What the victim has sent.
    pub victim: &'a Sent,
    /// Frames written so far, over all packets.
    pub count: u64,
    writer: Writer<'a>,
}

impl Pen<'_> {
    /// Writes a frame, if it fits.
    pub fn write(&mut self, frame: &Frame<'_>) -> bool {
        let fits = frame.encoded_len() <= self.writer.remaining() && frame.encode(&mut self.writer).is_ok();
        self.count += u64::from(fits);
        fits
    }

    /// Writes bytes, if they fit.
    pub fn raw(&mut self, bytes: &[u8]) -> bool {
        bytes.len() <= self.writer.remaining() && self.writer.write_bytes(bytes).is_ok()
    }

    /// Fills the packet: the frame for each number in turn, counted over all packets.
    pub fn fill(&mut self, frame: impl Fn(u64) -> Frame<'static>) {
        while self.write(&frame(self.count)) {}
    }
}

/// See the module. Until `begins` it is an honest host.
pub struct Peer<A> {
    host: Host<A>,
    by: Side,
    observer: Observer,
    conduct: Conduct,
    /// Its own address, and the victim's.
    tuple: FourTuple,
    begins: Time,
    next: Option<Time>,
    turn: u64,
    count: u64,
}

impl<A: Application> Peer<A> {
    /// A host whose connection the observer watches.
    pub fn new(
        host: Host<A>,
        by: Side,
        observer: Observer,
        tuple: FourTuple,
        begins: Time,
        conduct: Conduct,
    ) -> Self {
        Peer { host, by, observer, conduct, tuple, begins, next: Some(begins), turn: 0, count: 0 }
    }

    /// The next packet of the attack.
    fn forge(&mut self) -> Option<Packet> {
        let Conduct { skips, updates_keys, acknowledges, paths, ports, frames, .. } = self.conduct;
        let path = (self.turn % u64::from(paths)) as u32;
        let on_path = self.observer.next_on_path(self.by, path, skips);
        let mut header = on_path.or_else(|| self.observer.next_on_path(self.by, 0, skips))?;
        header.phase ^= updates_keys && self.turn > 0;
        let mut bytes = vec![0; ROOM];
        let mut pen = Pen {
            turn: self.turn,
            victim: self.observer.sent(self.by.peer()),
            count: self.count,
            writer: Writer::new(&mut bytes),
        };
        frames(&mut pen);
        (self.count, self.turn) = (pen.count, self.turn + 1);
        let length = pen.writer.position();
        bytes.truncate(length);
        if acknowledges {
            bytes.splice(0..0, honest_acks(self.by, &self.observer, 200));
        }
        let payload = self.observer.write(self.by, &header, &bytes)?;
        self.observer.note_forged(self.by, &header);
        let port = self.tuple.local.port() + (self.turn % u64::from(ports)) as u16;
        let local = SocketAddr::new(self.tuple.local.ip(), port);
        Some(Packet::new(FourTuple { local, ..self.tuple }, None, BytesMut::from(&payload[..])))
    }
}

impl<A: Application> Node for Peer<A> {
    fn handle_packet(&mut self, now: Time, packet: Packet) {
        self.observer.observe(self.by.peer(), &packet.payload, true);
        if now < self.begins {
            self.host.handle_packet(now, packet);
        }
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        if now < self.begins {
            let packet = self.host.poll_transmit(now)?;
            self.observer.observe(self.by, &packet.payload, true);
            return Some(packet);
        }
        let due = self.next.filter(|at| *at <= now)?;
        self.next = (self.turn + 1 < self.conduct.packets).then(|| due + self.conduct.every);
        self.forge()
    }

    fn poll_timeout(&mut self) -> Option<Time> {
        let host = self.host.poll_timeout().filter(|at| *at < self.begins);
        [host, self.next].into_iter().flatten().min()
    }

    fn handle_timeout(&mut self, now: Time) {
        if now < self.begins {
            self.host.handle_timeout(now);
        }
    }
}
