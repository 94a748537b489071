//! SRT: from encoders that call or are called, to players that call, and to servers that are called. What it carries is an MPEG
//! transport stream.

mod callers;
mod calling;
mod line;
mod players;
mod reception;
mod sending;

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sapflow_srt::CallerConfig;
use sapflow_srt::crypto::{CryptoConfig, KeySize};
use tokio::net::UdpSocket;

pub(super) use self::callers::Callers;
#[cfg(feature = "fuzzing")]
pub(super) use self::callers::{Present, key_of};
pub(super) use self::calling::Calling;
#[cfg(feature = "fuzzing")]
pub(super) use self::calling::{Call, Got};
use self::line::{Line, send_config};
pub(super) use self::players::Players;
use self::sending::Sending;
use super::Address;
use super::hub::Hub;
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

/// Which end calls over SRT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Others call here.
    Listen(SocketAddr),
    /// Another one is called.
    Call(Target),
}

impl FromStr for Direction {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.contains("://") {
            true => text.parse().map(Direction::Call),
            false => listen_address(text)
                .map(Direction::Listen)
                .map_err(|expected| format!("{expected}; or srt://HOST:PORT?streamid=ID to call")),
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
            send: send_config(),
            ..CallerConfig::default()
        };
        match Line::calling(config, peer, Instant::now()) {
            Ok(line) => {
                let sending = Sending::calling(line, format!("the SRT server at {peer}"));
                lost(sending.run(&socket, hub, (status, self.output), std::future::pending()).await)
            }
            Err(problem) => lost(problem),
        }
    }
}

#[cfg(test)]
mod tests;
