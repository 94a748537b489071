//! A handshake without cryptography, for simulations.
//!
//! A [`NullClient`] and a [`NullServer`] exchange messages of the sizes of a TLS 1.3 handshake in the same flights at
//! the same levels, carry transport parameters, server name and application protocol for real, and yield keys whose
//! "tag" is a fast keyed checksum of the usual 16 bytes. Corrupted packets, wrong keys, wrong paths and wrong packet
//! numbers are therefore found as with TLS, while the work per byte is a small part of an AEAD's, packets stay
//! readable, and equal inputs give equal bytes: nothing is random.
//!
//! **It protects nothing.** Anybody can forge packets.

mod checksum;
mod keys;
mod messages;

use std::any::Any;
use std::collections::VecDeque;

use hawser_policy::Side;
use hawser_wire::{ConnectionId, Version};

use self::checksum::{Checksum, Secret};
use self::keys::{key_pair, keys};
use self::messages::{ClientHello, Message, ServerFlight};
use super::{
    ClientFactory, ClientHello as ClientHelloView, EarlyKeys, KeyChange, Keys, Level, OpenError, PacketKeys,
    ServerFactory, ServerId, Session,
};
use crate::{Code, TransportError};

/// TLS alert no_application_protocol (RFC 7301 section 3.2).
const NO_APPLICATION_PROTOCOL: u8 = 120;
/// TLS alert decode_error.
const DECODE_ERROR: u8 = 50;
/// TLS alert decrypt_error, for a Finished that does not match.
const DECRYPT_ERROR: u8 = 51;
/// TLS alert unexpected_message.
const UNEXPECTED_MESSAGE: u8 = 10;

/// What a null handshake looks like from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NullHandshake {
    /// Bytes of the ClientHello, at least; it grows if its content needs more.
    pub client_hello: usize,
    /// Bytes of the server's EncryptedExtensions to Finished, at least: mostly its certificate chain.
    pub server_flight: usize,
    /// Application protocols, most wanted first. If both ends name any, they must share one.
    pub application_protocols: Vec<Vec<u8>>,
}

impl Default for NullHandshake {
    /// A ClientHello of 300 bytes and a server flight of 1,000, as with one small ECDSA or Ed25519 certificate.
    fn default() -> Self {
        NullHandshake { client_hello: 300, server_flight: 1_000, application_protocols: Vec::new() }
    }
}

/// Starts null client sessions.
#[derive(Clone, Debug, Default)]
pub struct NullClient(pub NullHandshake);

impl ClientFactory for NullClient {
    fn start(
        &self,
        version: Version,
        server: ServerId<'_>,
        parameters: Vec<u8>,
    ) -> Result<Box<dyn Session>, TransportError> {
        if parameters.len() > usize::from(u16::MAX) || server.name.len() > 255 {
            return Err(TransportError::new(
                Code::INTERNAL_ERROR,
                "server name or transport parameters too long",
            ));
        }
        let mut session = NullSession::new(Side::Client, version, self.0.clone(), Vec::new());
        let hello = ClientHello {
            parameters,
            server_name: server.name.to_owned(),
            application_protocols: self.0.application_protocols.clone(),
        };
        session.send(hello.encode(self.0.client_hello));
        Ok(Box::new(session))
    }

    fn initial_keys(&self, version: Version, destination: &ConnectionId, side: Side) -> Keys {
        initial_keys(version, destination, side)
    }
}

/// Starts null server sessions.
#[derive(Clone, Debug, Default)]
pub struct NullServer(pub NullHandshake);

impl ServerFactory for NullServer {
    fn look_into<'a>(&self, client_hello: &'a [u8]) -> Option<ClientHelloView<'a>> {
        let parameters = messages::client_parameters(client_hello)?;
        Some(ClientHelloView { parameters: Some(parameters), early_data: false })
    }

    fn start(&self, version: Version, parameters: Vec<u8>) -> Result<Box<dyn Session>, TransportError> {
        Ok(Box::new(NullSession::new(Side::Server, version, self.0.clone(), parameters)))
    }

    fn initial_keys(&self, version: Version, destination: &ConnectionId, side: Side) -> Keys {
        initial_keys(version, destination, side)
    }
}

fn initial_keys(version: Version, destination: &ConnectionId, side: Side) -> Keys {
    keys(of_version(version, Secret::new(b"initial", destination.as_bytes())), side)
}

/// Keys differ from version to version, as with TLS.
fn of_version(version: Version, secret: Secret) -> Secret {
    match version {
        Version::V1 => secret,
        Version::V2 => secret.derive(b"quicv2"),
    }
}

/// Something to hand out by `write_handshake`.
enum Output {
    Bytes(Vec<u8>),
    Handshake(Secret),
    OneRtt(Secret),
}

/// What the peer is to send next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    ClientHello,
    ServerHello,
    ServerFlight,
    Finished,
    Nothing,
}

struct NullSession {
    side: Side,
    version: Version,
    handshake: NullHandshake,
    parameters: Vec<u8>,
    expect: Expect,
    read_level: Level,
    unparsed: Vec<u8>,
    output: VecDeque<Output>,
    transcript: Checksum,
    peer_parameters: Option<Vec<u8>>,
    server_name: Option<String>,
    application_protocol: Option<Vec<u8>>,
    reported_handshake_data: bool,
    application_secret: Option<Secret>,
    key_phase: u64,
}

impl NullSession {
    fn new(side: Side, version: Version, handshake: NullHandshake, parameters: Vec<u8>) -> Self {
        NullSession {
            side,
            version,
            handshake,
            parameters,
            expect: if side.is_client() { Expect::ServerHello } else { Expect::ClientHello },
            read_level: Level::Initial,
            unparsed: Vec::new(),
            output: VecDeque::new(),
            transcript: Checksum::new([0; 2]),
            peer_parameters: None,
            server_name: None,
            application_protocol: None,
            reported_handshake_data: false,
            application_secret: None,
            key_phase: 0,
        }
    }

    fn send(&mut self, message: Vec<u8>) {
        self.transcript.absorb(&message);
        self.output.push_back(Output::Bytes(message));
    }

    fn transcript_secret(&self, label: &[u8]) -> Secret {
        of_version(self.version, Secret::new(label, &self.transcript.finish()))
    }

    fn receive(&mut self, message: &[u8]) -> Result<(), TransportError> {
        let parsed = Message::decode(message)
            .ok_or_else(|| alert(DECODE_ERROR, "malformed null handshake message"))?;
        match (self.expect, parsed) {
            (Expect::ClientHello, Message::ClientHello(hello)) => self.receive_client_hello(message, hello),
            (Expect::ServerHello, Message::ServerHello) => {
                self.transcript.absorb(message);
                self.output.push_back(Output::Handshake(self.transcript_secret(b"handshake")));
                self.expect = Expect::ServerFlight;
                Ok(())
            }
            (Expect::ServerFlight, Message::ServerFlight(flight)) => {
                self.transcript.absorb(message);
                self.peer_parameters = Some(flight.parameters);
                self.application_protocol = flight.application_protocol;
                self.expect = Expect::Finished;
                Ok(())
            }
            (Expect::Finished, Message::Finished(verify)) => self.receive_finished(message, verify),
            _ => Err(alert(UNEXPECTED_MESSAGE, "null handshake message out of order")),
        }
    }

    /// The server answers a ClientHello with its whole flight.
    fn receive_client_hello(&mut self, message: &[u8], hello: ClientHello) -> Result<(), TransportError> {
        self.transcript.absorb(message);
        let ours = &self.handshake.application_protocols;
        let common = ours.iter().find(|protocol| hello.application_protocols.contains(protocol)).cloned();
        if common.is_none() && !ours.is_empty() && !hello.application_protocols.is_empty() {
            return Err(alert(NO_APPLICATION_PROTOCOL, "no application protocol (ALPN) in common"));
        }
        self.peer_parameters = Some(hello.parameters);
        self.server_name = (!hello.server_name.is_empty()).then_some(hello.server_name);
        self.application_protocol = common.clone();

        self.send(messages::server_hello());
        self.output.push_back(Output::Handshake(self.transcript_secret(b"handshake")));
        let flight =
            ServerFlight { parameters: std::mem::take(&mut self.parameters), application_protocol: common };
        self.send(flight.encode(self.handshake.server_flight.saturating_sub(messages::FINISHED_LEN)));
        self.send(messages::finished(&self.transcript.finish()));
        self.start_application_keys();
        self.expect = Expect::Finished;
        Ok(())
    }

    fn receive_finished(&mut self, message: &[u8], verify: [u8; 16]) -> Result<(), TransportError> {
        if verify != self.transcript.finish() {
            return Err(alert(DECRYPT_ERROR, "handshake messages were changed on the way"));
        }
        self.transcript.absorb(message);
        self.expect = Expect::Nothing;
        if self.side.is_client() {
            let secret = self.transcript_secret(b"application");
            self.send(messages::finished(&self.transcript.finish()));
            self.application_secret = Some(secret);
            self.output.push_back(Output::OneRtt(secret));
        } else {
            self.read_level = Level::OneRtt;
        }
        Ok(())
    }

    /// Server: application keys depend on the transcript up to its Finished, as in TLS.
    fn start_application_keys(&mut self) {
        let secret = self.transcript_secret(b"application");
        self.application_secret = Some(secret);
        self.output.push_back(Output::OneRtt(secret));
    }
}

fn alert(alert: u8, reason: &'static str) -> TransportError {
    TransportError::new(Code::crypto(alert), reason)
}

impl Session for NullSession {
    fn read_handshake(&mut self, level: Level, data: &[u8]) -> Result<bool, TransportError> {
        if level != self.read_level {
            return Err(TransportError::protocol_violation(format!(
                "new handshake data at level {level:?}, expected {:?}",
                self.read_level
            )));
        }
        self.unparsed.extend_from_slice(data);
        while let Some(length) = messages::complete(&self.unparsed)
            .map_err(|_| alert(DECODE_ERROR, "null handshake message too long"))?
        {
            let rest = self.unparsed.split_off(length);
            let message = std::mem::replace(&mut self.unparsed, rest);
            self.receive(&message)?;
        }
        let newly_readable = self.peer_parameters.is_some() && !self.reported_handshake_data;
        self.reported_handshake_data |= newly_readable;
        Ok(newly_readable)
    }

    fn write_handshake(&mut self, buffer: &mut Vec<u8>) -> Option<KeyChange> {
        while let Some(output) = self.output.pop_front() {
            match output {
                Output::Bytes(message) => buffer.extend_from_slice(&message),
                Output::Handshake(secret) => {
                    self.read_level = Level::Handshake;
                    return Some(KeyChange::Handshake(keys(secret, self.side)));
                }
                Output::OneRtt(secret) => {
                    if !self.is_handshaking() {
                        self.read_level = Level::OneRtt;
                    }
                    return Some(KeyChange::OneRtt(keys(secret, self.side)));
                }
            }
        }
        None
    }

    fn set_version(&mut self, version: Version) {
        self.version = version;
    }

    fn peer_transport_parameters(&self) -> Option<&[u8]> {
        self.peer_parameters.as_deref()
    }

    fn is_handshaking(&self) -> bool {
        self.expect != Expect::Nothing
    }

    fn next_packet_keys(&mut self) -> Option<PacketKeys> {
        self.key_phase += 1;
        let secret = self.application_secret?.derive(&self.key_phase.to_be_bytes());
        Some(key_pair(secret, self.side))
    }

    fn early_keys(&self) -> Option<EarlyKeys> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        (self.side.is_client() && !self.is_handshaking()).then_some(false)
    }

    fn application_protocol(&self) -> Option<Vec<u8>> {
        self.application_protocol.clone()
    }

    fn server_name(&self) -> Option<String> {
        self.server_name.clone()
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), OpenError> {
        if self.is_handshaking() {
            return Err(OpenError);
        }
        let secret = self.application_secret.ok_or(OpenError)?.derive(label).derive(context);
        for (block, chunk) in (0_u64..).zip(output.chunks_mut(16)) {
            let bytes = secret.derive(&block.to_be_bytes()).to_bytes();
            chunk.iter_mut().zip(bytes).for_each(|(out, byte)| *out = byte);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
