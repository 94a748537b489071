//! A client that makes a connection as it should be, and then writes packets of its own.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hawser::policy::Time;
use hawser::{FourTuple, TransportConfig, Trust};
use hawser_core::crypto::RustlsClient;
use hawser_core::{ClientConfig, Connection, Datagram, Endpoint, EndpointConfig};
use hawser_wire::packet::ShortHeader;
use hawser_wire::{ConnectionId, TruncatedPacketNumber, Writer};

use super::Error;
use super::client::address;
use super::server::Server;
use super::tap::{SendingKeys, Tap};

/// How long a handshake, or the acknowledgement of a packet, may take.
const PATIENCE: Duration = Duration::from_secs(3);
/// Until what follows a handshake has come: further connection ids, tokens.
const SETTLED: Duration = Duration::from_millis(150);
/// A server that has no time for new clients says so: others come back, too.
const ATTEMPTS: u32 = 30;
const TAG: usize = 16;
const PING: &[u8] = &[1];

pub(crate) struct Raw {
    socket: UdpSocket,
    keys: SendingKeys,
    destination: ConnectionId,
    number: u64,
    packet: Vec<u8>,
}

impl Raw {
    /// A connection whose server is known to read what is written here.
    pub(crate) fn connect(server: &Server, alpn: &[u8], transport: &TransportConfig) -> Result<Self, Error> {
        let tls = tls(server, alpn)?;
        let mut made = Handshake::begin(server, &tls, transport)?;
        for _ in 1..ATTEMPTS {
            if made.completes()? {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
            made = Handshake::begin(server, &tls, transport)?;
        }
        let (keys, last) = {
            let mut secrets = made.tap.secrets();
            (secrets.keys.take(), secrets.last)
        };
        let (keys, (destination, number)) = keys.zip(last).ok_or("no handshake was completed")?;
        let socket = made.socket.try_clone()?;
        let mut raw = Raw { socket, keys, destination, number, packet: Vec::new() };
        raw.send(PING)?;
        // From here on the client knows of packets that it never sent, and is only a reader.
        let is_heard = made.runs_until(PATIENCE, false, |made| {
            made.tap.secrets().acknowledged.is_some_and(|number| number >= raw.number)
        })?;
        if is_heard { Ok(raw) } else { Err("the server does not acknowledge what was written for it".into()) }
    }

    /// Sends a packet with these frames. Returns its length.
    pub(crate) fn send(&mut self, frames: &[u8]) -> io::Result<usize> {
        self.number += 1;
        let room = frames.len() + 64;
        self.packet.clear();
        self.packet.resize(room, 0);
        let mut w = Writer::new(&mut self.packet);
        let header = ShortHeader { destination_cid: self.destination, spin: false, key_phase: false };
        let full = |_| io::Error::from(io::ErrorKind::InvalidInput);
        let header = header.encode(&mut w, TruncatedPacketNumber::with_len(self.number, 4)).map_err(full)?;
        w.write_bytes(frames).map_err(full)?;
        w.write_zeros(header.padding_for_sample(frames.len(), TAG)).map_err(full)?;
        let length = w.position() + TAG;
        self.packet.truncate(length);
        self.keys.packet.seal(0, self.number, &mut self.packet, header.payload_offset);
        self.keys.header.protect(header.packet_number_offset, &mut self.packet);
        self.socket.send(&self.packet)
    }
}

/// A session factory that believes this server alone.
pub(crate) fn tls(server: &Server, alpn: &[u8]) -> Result<Arc<RustlsClient>, Error> {
    let mut config = Trust::Pins(vec![server.pin.parse()?]).tls_config()?;
    config.alpn_protocols = vec![alpn.to_vec()];
    Ok(Arc::new(RustlsClient::new(Arc::new(config))?))
}

/// A connection of the core, on a socket of its own.
struct Handshake {
    socket: UdpSocket,
    tuple: FourTuple,
    tap: Tap,
    connection: Connection,
    began: Instant,
    buffer: Vec<u8>,
}

impl Handshake {
    fn begin(server: &Server, tls: &Arc<RustlsClient>, transport: &TransportConfig) -> Result<Self, Error> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        socket.connect(address(server))?;
        let tuple = FourTuple { local: socket.local_addr()?, remote: address(server) };
        let tap = Tap::new(tls.clone());
        let config = ClientConfig::new(Arc::new(tap.clone()), Arc::new(transport.clone()));
        let mut endpoint = Endpoint::new(Arc::new(EndpointConfig::new([0; 32])), None, seed(tuple.local));
        let (_, connection) = endpoint.connect(Time::ZERO, config, tuple, "localhost")?;
        Ok(Handshake { socket, tuple, tap, connection, began: Instant::now(), buffer: Vec::new() })
    }

    /// Whether there is a connection, and what follows a handshake has come.
    fn completes(&mut self) -> Result<bool, Error> {
        self.runs_until(PATIENCE, true, |made| {
            made.connection.is_closed() || !made.connection.is_handshaking()
        })?;
        self.runs_until(SETTLED, true, |_| false)?;
        Ok(!self.connection.is_closed() && !self.connection.is_handshaking())
    }

    /// Drives the connection for so long, or until this holds; whether it does. `sends`: what it wants to send is sent.
    fn runs_until(
        &mut self,
        within: Duration,
        sends: bool,
        holds: impl Fn(&Self) -> bool,
    ) -> Result<bool, Error> {
        let end = Instant::now() + within;
        while !holds(self) {
            let now = Time::from_nanos(u64::try_from(self.began.elapsed().as_nanos())?);
            if sends {
                self.send_all(now)?;
            }
            if Instant::now() >= end {
                return Ok(false);
            }
            self.socket.set_read_timeout(Some(Duration::from_millis(2)))?;
            let mut payload = vec![0; 2048];
            match self.socket.recv(&mut payload) {
                Ok(length) => {
                    let payload = payload[..length].iter().copied().collect();
                    let datagram = Datagram { tuple: self.tuple, ecn: None, received_at: now, payload };
                    self.connection.handle_datagram(now, datagram);
                }
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                }
                Err(error) => return Err(error.into()),
            }
            while self.connection.poll_endpoint_event().is_some() {}
            while self.connection.poll_event().is_some() {}
        }
        Ok(true)
    }

    fn send_all(&mut self, now: Time) -> io::Result<()> {
        if self.connection.poll_timeout().is_some_and(|at| at <= now) {
            self.connection.handle_timeout(now);
        }
        while let Some(transmit) = self.connection.poll_transmit(now, &mut self.buffer) {
            let segment = transmit.segment_size.unwrap_or(transmit.size);
            for datagram in self.buffer[..transmit.size].chunks(segment) {
                self.socket.send(datagram)?;
            }
        }
        Ok(())
    }
}

/// Another one for each port: connection ids come from it.
fn seed(local: SocketAddr) -> [u8; 32] {
    let mut seed = [7; 32];
    seed[..2].copy_from_slice(&local.port().to_be_bytes());
    seed
}
