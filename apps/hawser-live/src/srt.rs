//! SRT: from encoders that call or are called, and to servers that are called. What it carries is an MPEG transport stream.

mod callers;
mod calling;

use std::collections::VecDeque;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hawser_media::ts::TsMuxer;
use sapflow_srt::crypto::{CryptoConfig, KeySize};
use sapflow_srt::{Caller, CallerConfig, CallerEvent, SendConfig};
use tokio::net::UdpSocket;

pub(super) use self::callers::Callers;
#[cfg(feature = "fuzzing")]
pub(super) use self::callers::{Present, key_of};
pub(super) use self::calling::Calling;
#[cfg(feature = "fuzzing")]
pub(super) use self::calling::{Call, Got};
use super::Address;
use super::hub::{Hub, Next, Subscription};
use super::status::Status;
use hawser::Printable;
use hawser_command::environment::variable;
use hawser_command::exit::{Exit, Failure};
use hawser_command::options::listen_address;
use hawser_command::output::Output;

/// The variable that may hold the passphrase of SRT.
pub(super) const PASSPHRASE: &str = "HAWSER_SRT_PASSPHRASE";
/// Port of SRT where none is named.
const DEFAULT_PORT: u16 = 9000;
/// Packets of 1,316 bytes that may wait for one that is missing: a second of 40 Mbit/s.
const BUFFER_PACKETS: usize = 4096;
/// Bytes of a message: seven packets of a transport stream.
const MESSAGE: usize = 7 * hawser_media::ts::PACKET;
/// Bytes per second that a server is sent at most, repetitions included: pacing bounds bursts, not the stream.
const BANDWIDTH: u64 = 12_500_000;
/// Pauses between calls.
const PAUSE: Duration = Duration::from_secs(1);
/// How long either end may wait for a packet that is missing.
pub(super) const LATENCY: Duration = Duration::from_millis(120);

/// The passphrase that is in the environment.
pub(super) fn passphrase() -> Result<Option<CryptoConfig>, Failure> {
    let Some(text) = variable(PASSPHRASE)? else { return Ok(None) };
    let config = CryptoConfig::new(text.trim().as_bytes().to_vec(), KeySize::Aes128);
    let wrong = |_| Failure::usage(format!("{PASSPHRASE}: SRT takes 10 to 79 bytes"));
    config.map(Some).map_err(wrong)
}

/// Until this time; without one for as long as nothing else happens.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time.into()).await,
        None => std::future::pending().await,
    }
}

/// A server that takes SRT: `srt://HOST[:PORT][?streamid=ID]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    address: Address,
    stream_id: String,
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rest = text.strip_prefix("srt://").ok_or("expected srt://HOST:PORT?streamid=ID")?;
        let (address, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut stream_id = String::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("streamid", id)) if id.len() <= 512 => stream_id = id.to_owned(),
                Some(("mode", "caller")) => {}
                _ => {
                    let text = Printable::new(pair);
                    return Err(format!(
                        "`{text}`: known are streamid=ID and mode=caller; {PASSPHRASE} has a passphrase"
                    ));
                }
            }
        }
        let address = Address::parser(DEFAULT_PORT)(address.trim_end_matches('/'))?;
        Ok(Target { address, stream_id })
    }
}

/// Returns the address of a target, or why it has no address.
async fn resolve(target: &Target) -> Result<SocketAddr, String> {
    let (host, port) = (target.address.host.as_str(), target.address.port);
    let mut found = tokio::net::lookup_host((host, port)).await.map_err(|error| error.to_string())?;
    found.next().ok_or_else(|| "the name has no address".to_owned())
}

/// Any port, with which this address is reached.
fn any_port(peer: SocketAddr) -> SocketAddr {
    match peer {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}

/// Where encoders are over SRT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Encoders {
    /// They call here.
    Listen(SocketAddr),
    /// One is called.
    Call(Target),
}

impl FromStr for Encoders {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.contains("://") {
            true => text.parse().map(Encoders::Call),
            false => listen_address(text).map(Encoders::Listen),
        }
    }
}

/// A stream to a server, over one call after the other.
pub(super) struct Push {
    pub(super) target: Target,
    pub(super) passphrase: Option<CryptoConfig>,
    pub(super) latency: Duration,
    pub(super) output: Output,
}

impl Push {
    /// Until it is dropped.
    pub(super) async fn run(self, hub: Arc<Hub>, status: Arc<Status>) {
        let address = self.target.address.to_string();
        let mut said = None;
        loop {
            let failure = self.call(&hub, &status).await;
            if said.as_ref() != Some(&failure.message) {
                self.output
                    .remark(format_args!("hawser: SRT to {address}: {}; trying again", failure.message));
                said = Some(failure.message);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// One call, until it ends.
    async fn call(&self, hub: &Arc<Hub>, status: &Status) -> Failure {
        let lost = |text: String| Failure::new(Exit::ConnectionLost, text);
        let peer = match resolve(&self.target).await {
            Ok(peer) => peer,
            Err(problem) => return lost(problem),
        };
        let socket = match UdpSocket::bind(any_port(peer)).await {
            Ok(socket) => socket,
            Err(error) => return lost(error.to_string()),
        };
        let config = CallerConfig {
            stream_id: self.target.stream_id.clone(),
            latency: self.latency,
            crypto: self.passphrase.clone(),
            send: SendConfig { bandwidth: BANDWIDTH, ..SendConfig::default() },
            ..CallerConfig::default()
        };
        match Caller::new(config, peer, Instant::now()) {
            Ok(caller) => {
                let sending = Sending {
                    caller,
                    subscription: None,
                    muxer: TsMuxer::default(),
                    waiting: VecDeque::new(),
                    who: format!("the SRT server at {peer}"),
                };
                lost(sending.run(&socket, hub, (status, self.output)).await)
            }
            Err(error) => lost(error.to_string()),
        }
    }
}

/// One call.
struct Sending {
    caller: Caller,
    /// From when it is answered.
    subscription: Option<Subscription>,
    muxer: TsMuxer,
    /// Messages of one unit.
    waiting: VecDeque<Bytes>,
    who: String,
}

impl Sending {
    /// Until it ends; returns why.
    async fn run(
        mut self,
        socket: &UdpSocket,
        hub: &Arc<Hub>,
        (status, output): (&Status, Output),
    ) -> String {
        let mut block = [0; 2048];
        loop {
            while let Some(event) = self.caller.poll_event() {
                match event {
                    CallerEvent::Connected { .. } => {
                        output.remark(format_args!("hawser: {} takes the stream", self.who));
                        self.subscription = Some(hub.subscribe());
                    }
                    CallerEvent::Closed { reason } => return format!("the call ended: {reason:?}"),
                }
            }
            self.enqueue();
            while let Some((peer, bytes)) = self.caller.poll_transmit(Instant::now()) {
                let _ = socket.send_to(&bytes, peer).await;
            }
            let has_room = self.waiting.is_empty();
            let next = async {
                match self.subscription.as_mut().filter(|_| has_room) {
                    Some(subscription) => subscription.next().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                received = socket.recv_from(&mut block) => match received {
                    Ok((count, peer)) => self.caller.handle_datagram(Instant::now(), peer, &block[..count]),
                    Err(error) => return error.to_string(),
                },
                next = next => if let Next::Unit(unit) = next {
                    self.take(&unit, status);
                },
                () = at(self.caller.poll_timeout()) => self.caller.handle_timeout(Instant::now()),
            }
        }
    }

    fn take(&mut self, unit: &hawser_media::broadcast::Unit, status: &Status) {
        if let Some(skipped) = self.subscription.as_mut().and_then(Subscription::newly_skipped) {
            status.note_skipped(&self.who, skipped);
        }
        let bytes = self.muxer.push(&unit.tag);
        let count = bytes.len().div_ceil(MESSAGE);
        let end = |at: usize| ((at + 1) * MESSAGE).min(bytes.len());
        self.waiting.extend((0..count).map(|at| bytes.slice(at * MESSAGE..end(at))));
    }

    /// Hands over what there is room for.
    fn enqueue(&mut self) {
        while let Some(message) = self.waiting.front() {
            if self.caller.enqueue(Instant::now(), message.to_vec()).is_err() {
                return;
            }
            self.waiting.pop_front();
        }
    }
}

#[cfg(test)]
mod tests;
