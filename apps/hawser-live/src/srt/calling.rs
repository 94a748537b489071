//! Encoders that listen: they are called, and send.
//!
//! The library's caller only sends, and its listener only receives. So the caller shakes hands with the encoder; then a listener of
//! this process is shown the same handshake, receives what comes, and answers the encoder.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hawser_media::ts::TsReader;
use sapflow_srt::crypto::CryptoConfig;
use sapflow_srt::packet::{
    Control, ControlPacket, Extension, Handshake, HandshakeKind, Packet, SrtHandshake, srt_flags,
};
use sapflow_srt::{
    Caller, CallerCloseReason, CallerConfig, CallerEvent, CloseReason, Config, ConnId, Event, Listener,
};
use tokio::net::UdpSocket;
use tokio::sync::mpsc;

use super::{BUFFER_PACKETS, PAUSE, Target, any_port, at, resolve};
use crate::hub::Hub;
use hawser_command::output::Output;

/// What the listener of this process takes for the address of the encoder.
const WITHIN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 1);
/// Where the number of the socket that it is for lies in a packet.
const DESTINATION: std::ops::Range<usize> = 12..16;
/// Largest packet.
pub(super) const MTU: u32 = 1500;

/// An encoder that is called again and again.
pub(crate) struct Calling {
    pub(crate) target: Target,
    pub(crate) hub: Arc<Hub>,
    pub(crate) output: Output,
    /// Told when the encoder is done (true), or has gone without a word.
    pub(crate) done: mpsc::Sender<bool>,
    pub(crate) passphrase: Option<CryptoConfig>,
    pub(crate) latency: Duration,
}

impl Calling {
    /// Until it is dropped.
    pub(crate) async fn run(self) {
        let mut said = None;
        loop {
            match self.call().await.err() {
                Some(problem) if said.as_ref() != Some(&problem) => {
                    let address = &self.target.address;
                    self.output.remark(format_args!("hawser: SRT to {address}: {problem}; trying again"));
                    said = Some(problem);
                }
                // Once is enough.
                Some(_) => {}
                None => said = None,
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// One call, until the encoder is done or has gone. The error says why there was none.
    async fn call(&self) -> Result<(), String> {
        let encoder = resolve(&self.target).await?;
        let socket = UdpSocket::bind(any_port(encoder)).await.map_err(|error| error.to_string())?;
        let mut call = Call::new(self, encoder, Instant::now())?;
        let (mut reader, mut block) = (TsReader::default(), [0; 2048]);
        loop {
            while let Some(got) = call.poll() {
                match got {
                    Got::Connected => {
                        self.hub.begin_encoder();
                        self.output
                            .remark(format_args!("hawser: the encoder at {encoder} publishes over SRT"));
                    }
                    Got::Data(payload) => {
                        reader.push_datagram(&payload);
                        std::iter::from_fn(|| reader.next_tag()).for_each(|tag| self.hub.push_tag(tag));
                    }
                    Got::Refused(why) => return Err(why),
                    Got::Ended(has_said_so) => {
                        reader.end();
                        std::iter::from_fn(|| reader.next_tag()).for_each(|tag| self.hub.push_tag(tag));
                        let _ = self.done.try_send(has_said_so);
                        self.output.remark(match has_said_so {
                            true => "hawser: the encoder is done",
                            false => "hawser: the encoder has gone without a word",
                        });
                        return Ok(());
                    }
                }
            }
            while let Some(bytes) = call.poll_transmit(Instant::now()) {
                // One that cannot be sent is asked for again.
                let _ = socket.send_to(&bytes, encoder).await;
            }
            tokio::select! {
                received = socket.recv_from(&mut block) => match received {
                    Ok((count, peer)) if peer == encoder => call.handle(Instant::now(), &mut block[..count]),
                    Ok(_) => {}
                    // Nobody listens there, as the kernel tells.
                    Err(error) => return Err(error.to_string()),
                },
                () = at(call.poll_timeout()) => call.handle_timeout(Instant::now()),
            }
        }
    }
}

/// What comes of a call.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Got {
    Connected,
    Data(Vec<u8>),
    /// There is no connection, and why.
    Refused(String),
    /// The connection is over, and whether the encoder said so.
    Ended(bool),
}

/// One call, without I/O.
pub(crate) struct Call {
    caller: Caller,
    listener: Listener,
    encoder: SocketAddr,
    latency: Duration,
    has_passphrase: bool,
    /// The handshake to which the encoder answered.
    asked: Option<Handshake>,
    /// The socket of the encoder and the one of this process, from when they are connected.
    open: Option<(u32, ConnId)>,
    got: VecDeque<Got>,
}

impl Call {
    pub(crate) fn new(calling: &Calling, encoder: SocketAddr, now: Instant) -> Result<Self, String> {
        let config = CallerConfig {
            stream_id: calling.target.stream_id.clone(),
            latency: calling.latency,
            crypto: calling.passphrase.clone(),
            ..CallerConfig::default()
        };
        let caller = Caller::new(config, encoder, now).map_err(|error| error.to_string())?;
        let config = Config {
            latency: calling.latency,
            max_connections: 1,
            buffer_packets: BUFFER_PACKETS,
            require_encryption: calling.passphrase.is_some(),
            crypto: calling.passphrase.clone(),
            ..Config::default()
        };
        Ok(Call {
            caller,
            listener: Listener::new(config, now),
            encoder,
            latency: calling.latency,
            has_passphrase: calling.passphrase.is_some(),
            asked: None,
            open: None,
            got: VecDeque::new(),
        })
    }

    pub(crate) fn poll(&mut self) -> Option<Got> {
        if let Some(got) = self.got.pop_front() {
            return Some(got);
        }
        while let Some(event) = self.listener.poll_event() {
            match event {
                Event::Data { payload, .. } => return Some(Got::Data(payload)),
                Event::Closed { reason, .. } => {
                    return Some(Got::Ended(reason == Some(CloseReason::Shutdown)));
                }
                Event::Connect { .. } => {}
            }
        }
        if self.open.is_none()
            && let Some(CallerEvent::Closed { reason }) = self.caller.poll_event()
        {
            return Some(Got::Refused(words(reason, self.has_passphrase)));
        }
        None
    }

    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Vec<u8>> {
        if let Some((theirs, _)) = self.open {
            let (_, mut bytes) = self.listener.poll_transmit()?;
            bytes.get_mut(DESTINATION)?.copy_from_slice(&theirs.to_be_bytes());
            return Some(bytes);
        }
        let (_, bytes) = self.caller.poll_transmit(now)?;
        Some(self.receiving(&bytes).unwrap_or(bytes))
    }

    /// The handshake of the caller as that of one that receives; `None` if it is another packet.
    fn receiving(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let Ok(Packet::Control(mut packet)) = Packet::parse(bytes) else { return None };
        let Control::Handshake(handshake) = &mut packet.body else { return None };
        if handshake.kind != HandshakeKind::Conclusion {
            return None;
        }
        let delay = u16::try_from(self.latency.as_millis()).unwrap_or(u16::MAX);
        if let Some(request) = request_of(handshake) {
            request.flags |= srt_flags::TSBPDRCV | srt_flags::TLPKTDROP | srt_flags::PERIODICNAK;
            request.receiver_delay = delay;
        }
        self.asked = Some(handshake.clone());
        let mut edited = Vec::new();
        packet.encode(&mut edited);
        Some(edited)
    }

    pub(crate) fn handle(&mut self, now: Instant, bytes: &mut [u8]) {
        let Some((_, id)) = self.open else {
            self.caller.handle_datagram(now, self.encoder, bytes);
            match self.caller.poll_event() {
                Some(CallerEvent::Connected { peer_socket, .. }) => self.connect(now, bytes, peer_socket),
                Some(CallerEvent::Closed { reason }) => {
                    self.got.push_back(Got::Refused(words(reason, self.has_passphrase)))
                }
                None => {}
            }
            return;
        };
        // The encoder repeats its handshake where an answer was lost.
        let is_handshake = bytes.starts_with(&[0x80, 0]);
        let Some(destination) = bytes.get_mut(DESTINATION).filter(|_| !is_handshake) else { return };
        destination.copy_from_slice(&id.0.to_be_bytes());
        self.listener.handle_datagram(now, WITHIN, bytes);
    }

    /// Shows the listener the handshake that the encoder has answered with these bytes.
    fn connect(&mut self, now: Instant, answer: &[u8], theirs: u32) {
        match self.shown(now, answer) {
            Some(id) => {
                self.open = Some((theirs, id));
                self.got.push_back(Got::Connected);
            }
            None => self.got.push_back(Got::Refused("its handshake makes no sense".to_owned())),
        }
    }

    fn shown(&mut self, now: Instant, answer: &[u8]) -> Option<ConnId> {
        let (began, mut answered) = handshake_of(answer)?;
        let mut asked = self.asked.take()?;
        let hello = Handshake {
            version: 4,
            encryption: 0,
            extension: 2,
            kind: HandshakeKind::Induction,
            cookie: 0,
            mtu: MTU,
            extensions: Vec::new(),
            ..asked.clone()
        };
        self.show(now, 0, hello);
        let (_, reply) = self.listener.poll_transmit()?;
        asked.cookie = handshake_of(&reply)?.1.cookie;
        // How long the encoder wants what it sends to wait.
        let delay = answered.extensions.iter_mut().find_map(|extension| match extension {
            Extension::HsRsp(response) => Some(response.sender_delay),
            _ => None,
        });
        if let Some(request) = request_of(&mut asked) {
            request.sender_delay = delay.unwrap_or(0);
        }
        self.show(now, began, asked);
        let Some(Event::Connect { id, .. }) = self.listener.poll_event() else { return None };
        let is_accepted = self.listener.accept(id, now);
        // The encoder has its answer.
        while self.listener.poll_transmit().is_some() {}
        is_accepted.then_some(id)
    }

    fn show(&mut self, now: Instant, timestamp: u32, handshake: Handshake) {
        let mut bytes = Vec::new();
        ControlPacket::new(timestamp, 0, Control::Handshake(handshake)).encode(&mut bytes);
        self.listener.handle_datagram(now, WITHIN, &bytes);
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        if self.open.is_some() { self.listener.poll_timeout() } else { self.caller.poll_timeout() }
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if self.open.is_some() {
            self.listener.handle_timeout(now);
        } else {
            self.caller.handle_timeout(now);
        }
    }
}

/// The handshake in a packet, and the clock of its sender.
pub(super) fn handshake_of(bytes: &[u8]) -> Option<(u32, Handshake)> {
    match Packet::parse(bytes) {
        Ok(Packet::Control(ControlPacket { timestamp, body: Control::Handshake(handshake), .. })) => {
            Some((timestamp, handshake))
        }
        _ => None,
    }
}

fn request_of(handshake: &mut Handshake) -> Option<&mut SrtHandshake> {
    handshake.extensions.iter_mut().find_map(|extension| match extension {
        Extension::HsReq(request) => Some(request),
        _ => None,
    })
}

/// Why there is no call.
fn words(reason: CallerCloseReason, has_passphrase: bool) -> String {
    match reason {
        CallerCloseReason::ConnectTimeout | CallerCloseReason::HandshakeLimit => "nobody answers".to_owned(),
        CallerCloseReason::Rejected(1010) | CallerCloseReason::Crypto => {
            "it has another passphrase".to_owned()
        }
        CallerCloseReason::Rejected(1011) => {
            format!("one end has a passphrase and the other has none ({})", super::PASSPHRASE)
        }
        CallerCloseReason::Rejected(code @ 2000..3000) => format!("it refuses with {}", code - 2000),
        // One that wants a passphrase says so before it is asked, and looks like another kind of SRT then.
        CallerCloseReason::UnsupportedPeer if !has_passphrase => {
            format!("it wants a passphrase ({}), or speaks another SRT", super::PASSPHRASE)
        }
        reason => format!("the call ended: {reason:?}"),
    }
}

#[cfg(test)]
mod tests;
