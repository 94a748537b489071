//! SRT: at the port at which encoders call, and in a call of an encoder that listens.
//!
//! An input is a byte of options and a script: datagrams of any bytes, handshakes that fit what was said to them, packets of the
//! connections that are open, and time.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use hawser_live::fuzzing::{SrtCall, SrtPort};
use hawser_wire::Reader;
use sapflow_srt::packet::{
    Control, ControlPacket, Extension, Handshake, HandshakeKind, Packet, SrtHandshake, ext_flags, srt_flags,
};

use super::piece;
use crate::memory::{Bounds, Meter};

/// Steps of one input, and milliseconds of a unit of waiting.
const MOST_STEPS: usize = 96;
const WAIT: u64 = 8;
/// Timeouts in the longest wait.
const MOST_TURNS: usize = 100_000;
/// Bytes of the header of a packet, where the sequence number and the socket that it is for lie in it.
const HEADER: usize = 16;
const DESTINATION: std::ops::Range<usize> = 12..16;
/// Sixteen connections with a place for each of 4,096 packets.
const BOUNDS: Bounds = Bounds { held: 6 << 20, held_per_byte: 64, work: 16 << 20, work_per_byte: 4_096 };
/// The magic number of a listener's first answer, and the version of the protocol.
const MAGIC: u16 = 0x4a17;
const SRT_VERSION: u32 = 0x01_05_00;

/// Who calls: two addresses elsewhere, and one here.
fn peer(which: u8) -> SocketAddr {
    let host = [[192, 0, 2, 1], [198, 51, 100, 7], [127, 0, 0, 1]][usize::from(which % 3)];
    SocketAddr::from((host, 5_000 + u16::from(which / 3 % 8)))
}

fn handshake(kind: HandshakeKind, socket_id: u32, cookie: u32) -> Handshake {
    Handshake {
        version: 5,
        encryption: 0,
        extension: ext_flags::HSREQ | ext_flags::CONFIG,
        initial_seq: 1_000,
        mtu: 1_500,
        flow_window: 8_192,
        kind,
        socket_id,
        cookie,
        peer_ip: [0; 16],
        extensions: Vec::new(),
    }
}

fn encoded(destination: u32, handshake: Handshake) -> Vec<u8> {
    let mut bytes = Vec::new();
    ControlPacket::new(500, destination, Control::Handshake(handshake)).encode(&mut bytes);
    bytes
}

fn extension(flags: u32) -> SrtHandshake {
    SrtHandshake { version: SRT_VERSION, flags, receiver_delay: 120, sender_delay: 120 }
}

/// A packet as it is means the same when it is written and read again.
fn check_packet(bytes: &[u8]) {
    let Ok(packet) = Packet::parse(bytes) else { return };
    let mut again = Vec::new();
    packet.encode(&mut again);
    assert_eq!(Packet::parse(&again).as_ref(), Ok(&packet));
}

/// What was sent to somebody, and by him.
#[derive(Default)]
struct Balance {
    sent: usize,
    received: usize,
    is_known: bool,
}

struct Callers {
    port: SrtPort,
    at: Duration,
    /// By peer: the cookie that he was given, and the socket of his connection.
    cookies: BTreeMap<SocketAddr, u32>,
    sockets: BTreeMap<SocketAddr, u32>,
    balance: BTreeMap<SocketAddr, Balance>,
}

/// The port at which encoders call.
pub(super) fn port(data: &[u8]) {
    let mut script = Reader::new(data);
    let Ok(options) = script.read_u8() else { return };
    let meter = Meter::start();
    let mut callers = Callers {
        port: SrtPort::new(options & 1 == 1),
        at: Duration::from_secs(1),
        cookies: BTreeMap::new(),
        sockets: BTreeMap::new(),
        balance: BTreeMap::new(),
    };
    for _ in 0..MOST_STEPS {
        if callers.step(&mut script).is_none() {
            break;
        }
        meter.check(&BOUNDS, data.len());
    }
}

impl Callers {
    fn step(&mut self, script: &mut Reader<'_>) -> Option<()> {
        let operation = script.read_u8().ok()?;
        let peer = peer(script.read_u8().ok()?);
        let datagram = match operation % 8 {
            0 => piece(script)?.to_vec(),
            1 => encoded(
                0,
                Handshake { version: 4, extension: 2, ..handshake(HandshakeKind::Induction, 7, 0) },
            ),
            2 => {
                let how = script.read_u8().ok()?;
                let extensions = vec![
                    Extension::HsReq(extension(0xbf ^ u32::from(how & 0x40))),
                    Extension::StreamId(if how & 1 == 0 {
                        b"publish:live/key".to_vec()
                    } else {
                        b"other".to_vec()
                    }),
                ];
                let cookie = self.cookies.get(&peer).copied().unwrap_or(0) ^ u32::from(how >> 7);
                let socket = 7 + u32::from(how >> 1 & 3);
                encoded(0, Handshake { extensions, ..handshake(HandshakeKind::Conclusion, socket, cookie) })
            }
            // The same with extensions of the script.
            3 => {
                let cookie = self.cookies.get(&peer).copied().unwrap_or(0);
                let mut bytes = encoded(0, handshake(HandshakeKind::Conclusion, 9, cookie));
                bytes.extend_from_slice(piece(script)?);
                bytes
            }
            // A packet of his connection: data of this number with this payload, or any control packet.
            4 | 5 => {
                let number = 1_000 + u32::from(script.read_u16().ok()?);
                let mut bytes = [number.to_be_bytes(), [0xc0, 0, 0, 1], [0; 4], [0; 4]].concat();
                bytes.extend_from_slice(piece(script)?);
                self.to_socket(peer, bytes)
            }
            6 => {
                let mut bytes = piece(script)?.to_vec();
                bytes.resize(bytes.len().max(HEADER), 0);
                bytes[0] |= 0x80;
                self.to_socket(peer, bytes)
            }
            _ => {
                let wait = Duration::from_millis(WAIT * u64::from(script.read_u8().ok()?));
                self.wait(wait);
                return Some(());
            }
        };
        check_packet(&datagram);
        self.balance.entry(peer).or_default().received += datagram.len();
        self.port.handle(self.at, peer, &datagram);
        self.hear();
        assert!(self.port.connections() <= 16);
        Some(())
    }

    fn to_socket(&self, peer: SocketAddr, mut bytes: Vec<u8>) -> Vec<u8> {
        if let Some(socket) = self.sockets.get(&peer) {
            bytes[DESTINATION].copy_from_slice(&socket.to_be_bytes());
        }
        bytes
    }

    /// Time passes, with what is due in it.
    fn wait(&mut self, wait: Duration) {
        let until = self.at + wait;
        let mut turns = 0;
        while let Some(due) = self.port.poll_timeout().filter(|due| *due <= until) {
            self.at = self.at.max(due);
            self.port.handle_timeout(self.at);
            self.hear();
            turns += 1;
            assert!(turns < MOST_TURNS, "{turns} timeouts in {wait:?}");
        }
        self.at = until;
    }

    /// Nobody is sent more than three times what came from his address before he has shown that it is his.
    fn hear(&mut self) {
        while let Some((peer, bytes)) = self.port.poll_transmit() {
            let balance = self.balance.entry(peer).or_default();
            balance.sent += bytes.len();
            let handshake = match Packet::parse(&bytes).expect("sound packets are sent") {
                Packet::Control(ControlPacket { body: Control::Handshake(handshake), .. }) => Some(handshake),
                _ => None,
            };
            match handshake {
                Some(handshake) if handshake.kind == HandshakeKind::Induction => {
                    self.cookies.insert(peer, handshake.cookie);
                }
                Some(handshake) if handshake.kind == HandshakeKind::Conclusion => {
                    self.sockets.insert(peer, handshake.socket_id);
                    balance.is_known = true;
                }
                _ => {}
            }
            assert!(
                balance.is_known || balance.sent <= 3 * balance.received,
                "{} bytes to a stranger for {}",
                balance.sent,
                balance.received
            );
        }
    }
}

/// A call of an encoder, which answers as it likes.
pub(super) fn call(data: &[u8]) {
    let mut script = Reader::new(data);
    let Ok(options) = script.read_u8() else { return };
    let meter = Meter::start();
    let mut call = SrtCall::new(options & 1 == 1).expect("a call can be made");
    let (mut at, mut asked) = (Duration::ZERO, None::<(u32, Handshake)>);
    for _ in 0..MOST_STEPS {
        while let Some(bytes) = call.poll_transmit(at) {
            if let Packet::Control(ControlPacket { body: Control::Handshake(handshake), .. }) =
                Packet::parse(&bytes).expect("sound packets are sent")
            {
                asked = Some((handshake.socket_id, handshake));
            }
        }
        let Ok(operation) = script.read_u8() else { break };
        let (socket, said) = asked.clone().unwrap_or((1, handshake(HandshakeKind::Induction, 1, 0)));
        let datagram = match operation % 8 {
            0 => piece(&mut script).map(<[u8]>::to_vec),
            1 => Some(encoded(
                socket,
                Handshake {
                    extension: MAGIC,
                    cookie: 77,
                    extensions: Vec::new(),
                    kind: HandshakeKind::Induction,
                    ..said
                },
            )),
            2 => {
                let flags =
                    srt_flags::TSBPDSND | srt_flags::TSBPDRCV | srt_flags::CRYPT | srt_flags::REXMITFLG;
                let extensions = vec![Extension::HsRsp(extension(flags | u32::from(operation & 8)))];
                Some(encoded(
                    socket,
                    Handshake {
                        kind: HandshakeKind::Conclusion,
                        extension: ext_flags::HSREQ,
                        socket_id: 99,
                        extensions,
                        ..said
                    },
                ))
            }
            // The same with extensions of the script.
            3 => piece(&mut script).map(|more| {
                let answer = Handshake {
                    kind: HandshakeKind::Conclusion,
                    socket_id: 99,
                    extensions: Vec::new(),
                    ..said
                };
                [encoded(socket, answer), more.to_vec()].concat()
            }),
            4 | 5 => script.read_u16().ok().zip(piece(&mut script)).map(|(number, payload)| {
                let number = said.initial_seq.wrapping_add(number.into()) & 0x7fff_ffff;
                [&number.to_be_bytes()[..], &[0xc0, 0, 0, 1], &[0; 4], &socket.to_be_bytes(), payload]
                    .concat()
            }),
            6 => piece(&mut script).map(|any| {
                let mut bytes = any.to_vec();
                bytes.resize(bytes.len().max(HEADER), 0);
                bytes[0] |= 0x80;
                bytes[DESTINATION].copy_from_slice(&socket.to_be_bytes());
                bytes
            }),
            _ => script.read_u8().ok().map(|wait| {
                let until = at + Duration::from_millis(WAIT * u64::from(wait));
                while let Some(due) = call.poll_timeout().filter(|due| *due <= until && *due > at) {
                    at = due;
                    call.handle_timeout(at);
                    while call.poll_transmit(at).is_some() {}
                }
                at = until;
                Vec::new()
            }),
        };
        let Some(datagram) = datagram else { break };
        check_packet(&datagram);
        call.handle(at, datagram);
        let (goes_on, _) = call.take();
        meter.check(&BOUNDS, data.len());
        if !goes_on {
            break;
        }
    }
}
