//! One call over which a stream is sent, in either direction of the call.
//!
//! The library's caller only sends, and its listener only receives. So a player that calls shakes hands with a listener; then a
//! caller of this process is shown that handshake as if it had asked for it, and sends.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use sapflow_srt::crypto::CryptoConfig;
use sapflow_srt::packet::{
    Control, ControlPacket, Extension, Handshake, HandshakeKind, Packet, SRT_MAGIC, SrtHandshake, ext_flags,
};
use sapflow_srt::seq::Seq;
use sapflow_srt::{Caller, CallerConfig, CallerEvent, ConnId, SendConfig};

use super::calling::{MTU, handshake_of};

/// Bytes per second that are sent at most, repetitions included: pacing bounds bursts, not the stream.
const BANDWIDTH: u64 = 12_500_000;
/// Pacing may be ahead by what a timer cannot tell apart.
const AHEAD: Duration = Duration::from_millis(1);
/// Pauses between offers of a key, and how long a player may take to agree.
const OFFER: Duration = Duration::from_millis(100);
const OFFER_PATIENCE: Duration = Duration::from_secs(3);
/// Packets that carry keys, and the kinds of them (draft-sharabayko-srt-01 section 3.2.2).
const USER_DEFINED: u16 = 0x7fff;
const KEY_REQUEST: u16 = 3;
const KEY_RESPONSE: u16 = 4;
/// A cookie that only this process sees.
const COOKIE: u32 = 1;

/// The key with which a player is sent what it asked for. Its own, in its handshake, is for what it would send.
struct Offer {
    material: Vec<u8>,
    player_socket: u32,
    next: Instant,
    began: Instant,
}

/// A call, without I/O.
pub(crate) struct Line {
    caller: Caller,
    peer: SocketAddr,
    /// Until a player has agreed.
    offer: Option<Offer>,
}

/// How messages are sent.
pub(super) fn send_config() -> SendConfig {
    SendConfig { bandwidth: BANDWIDTH, ..SendConfig::default() }
}

impl Line {
    /// A server is called.
    pub(super) fn calling(config: CallerConfig, peer: SocketAddr, now: Instant) -> Result<Self, String> {
        let caller = Caller::new(config, peer, now).map_err(|error| error.to_string())?;
        Ok(Line { caller, peer, offer: None })
    }

    /// A player has called, with this handshake; its packets are for the socket `id`. `None`: it is no player.
    pub(super) fn answering(
        asked: &Handshake,
        (id, player): (ConnId, SocketAddr),
        (passphrase, latency): (Option<CryptoConfig>, Duration),
        now: Instant,
    ) -> Option<Self> {
        let config =
            CallerConfig { latency, crypto: passphrase, send: send_config(), ..CallerConfig::default() };
        let caller = Caller::with_ids(config, player, id.0, Seq::new(asked.initial_seq), now).ok()?;
        let mut line = Line { caller, peer: player, offer: None };
        let (_, mut hello) = handshake_of(&line.caller.poll_transmit(now)?.1)?;
        hello = Handshake {
            version: 5,
            extension: SRT_MAGIC,
            cookie: COOKIE,
            socket_id: asked.socket_id,
            ..hello
        };
        line.show(now, id, hello);
        let (_, conclusion) = handshake_of(&line.caller.poll_transmit(now)?.1)?;
        let material = conclusion.extensions.into_iter().find_map(|extension| match extension {
            Extension::KmReq(material) => Some(material),
            _ => None,
        });
        line.show(now, id, as_an_answer(asked, material.clone())?);
        let Some(CallerEvent::Connected { .. }) = line.caller.poll_event() else { return None };
        line.offer = material.map(|material| Offer {
            material,
            player_socket: asked.socket_id,
            next: now,
            began: now,
        });
        Some(line)
    }

    fn show(&mut self, now: Instant, id: ConnId, handshake: Handshake) {
        let mut bytes = Vec::new();
        ControlPacket::new(0, id.0, Control::Handshake(handshake)).encode(&mut bytes);
        self.caller.handle_datagram(now, self.peer, &bytes);
    }

    pub(super) fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// A datagram of the other end.
    pub(crate) fn handle(&mut self, now: Instant, peer: SocketAddr, bytes: &[u8]) {
        if let Some(offer) = &self.offer
            && peer == self.peer
            && let Ok(Packet::Control(packet)) = Packet::parse(bytes)
            && let Control::Other { control_type: USER_DEFINED, subtype: KEY_RESPONSE, cif, .. } = packet.body
        {
            // Any other answer says why it does not agree.
            if cif == offer.material {
                self.offer = None;
            }
            return;
        }
        self.caller.handle_datagram(now, peer, bytes);
    }

    pub(super) fn poll_event(&mut self) -> Option<CallerEvent> {
        self.caller.poll_event()
    }

    /// Takes a message; `false`: there is no room, or the player does not have the key yet.
    pub(crate) fn enqueue(&mut self, now: Instant, message: &[u8]) -> bool {
        self.offer.is_none() && self.caller.enqueue(now, message.to_vec()).is_ok()
    }

    /// The next datagram, if one is due.
    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Vec<u8>> {
        if let Some(offer) = self.offer.as_mut().filter(|offer| offer.next <= now) {
            offer.next = now + OFFER;
            let body = Control::Other {
                control_type: USER_DEFINED,
                subtype: KEY_REQUEST,
                info: 0,
                cif: offer.material.clone(),
            };
            let since = u32::try_from(now.duration_since(offer.began).as_micros()).unwrap_or(u32::MAX);
            let mut bytes = Vec::new();
            ControlPacket::new(since, offer.player_socket, body).encode(&mut bytes);
            return Some(bytes);
        }
        // The library sends one packet at a time and has a pause behind each that is shorter than timers are fine.
        let due = self.caller.poll_timeout().map_or(now, |due| due.clamp(now, now + AHEAD));
        let bytes = match self.caller.poll_transmit(now) {
            None if due > now => self.caller.poll_transmit(due),
            bytes => bytes,
        };
        bytes.map(|(_, bytes)| bytes)
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let offer = self.offer.as_ref().map(|offer| offer.next);
        [offer, self.caller.poll_timeout()].into_iter().flatten().min()
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.caller.handle_timeout(now);
    }

    /// Whether the player has had its time to agree to the key.
    pub(super) fn lacks_a_key(&self, now: Instant) -> bool {
        self.offer.as_ref().is_some_and(|offer| now.duration_since(offer.began) >= OFFER_PATIENCE)
    }

    /// Ends the call: the other end is told with the next datagram.
    pub(super) fn stop(&mut self, now: Instant) {
        self.caller.stop(now);
    }
}

/// What a player asked, as the answer of a server that is called.
fn as_an_answer(asked: &Handshake, material: Option<Vec<u8>>) -> Option<Handshake> {
    let SrtHandshake { version, flags, receiver_delay, sender_delay } = asked.srt_request()?;
    let response = SrtHandshake { version, flags, receiver_delay, sender_delay };
    let extension = ext_flags::HSREQ | if material.is_some() { ext_flags::KMREQ } else { 0 };
    let extensions = [Some(Extension::HsRsp(response)), material.map(Extension::KmRsp)];
    Some(Handshake {
        version: 5,
        encryption: 0,
        extension,
        mtu: asked.mtu.min(MTU),
        kind: HandshakeKind::Conclusion,
        extensions: extensions.into_iter().flatten().collect(),
        ..asked.clone()
    })
}
