//! Encryption and the TLS handshake behind a small trait (RFC 9001).
//!
//! Two implementations: TLS 1.3 by rustls ([`RustlsClient`], [`RustlsServer`]) for everything real, and a
//! [null session](null) for simulations, which has the packets of a TLS handshake but none of its cost.

mod client_hello;
mod early_sessions;
pub(crate) mod provider;
pub(crate) mod resumption;
mod retry;
mod rustls;
mod scoped;
mod secrets;
pub(crate) mod token;
mod traffic;

pub mod null;

use std::any::Any;

use hawser_policy::Side;
use hawser_wire::{ConnectionId, PlainHeader, ProtectedHeader, Version};

pub use self::client_hello::ClientHello;
pub use self::provider::{default_provider, default_ticketer};
pub use self::resumption::{MAX_APPLICATION_STATE, MAX_TICKET, ResumableVerifier, SessionStore};
pub use self::rustls::{RustlsClient, RustlsServer, TlsConfigError};
use crate::TransportError;

/// Encryption level of handshake data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Keys from the client's first destination connection id.
    Initial,
    /// Keys of the TLS handshake.
    Handshake,
    /// Application keys.
    OneRtt,
}

/// Decryption failed; says nothing about why (RFC 9001 section 9.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenError;

/// Protects packet payloads in one direction.
pub trait PacketKey: Send + Sync {
    /// Encrypts `packet[header_length..]` in place; the last [`tag_length`](PacketKey::tag_length) bytes are
    /// space for the tag. `path` enters the nonce (draft-ietf-quic-multipath-21 section 2.4); path 0 gives the
    /// nonce of RFC 9001.
    fn seal(&self, path: u32, packet_number: u64, packet: &mut [u8], header_length: usize);

    /// Decrypts `payload` in place and returns the length of the plain text.
    ///
    /// # Errors
    /// [`OpenError`] when authentication fails.
    fn open(
        &self,
        path: u32,
        packet_number: u64,
        header: &[u8],
        payload: &mut [u8],
    ) -> Result<usize, OpenError>;

    /// Bytes the tag takes.
    fn tag_length(&self) -> usize;

    /// Packets that may be encrypted with one key (RFC 9001 section 6.6).
    fn confidentiality_limit(&self) -> u64;

    /// Packets that may fail authentication over the life of a connection.
    fn integrity_limit(&self) -> u64;
}

/// Protects packet headers in one direction (RFC 9001 section 5.4).
pub trait HeaderKey: Send + Sync {
    /// Bytes of cipher text sampled.
    fn sample_length(&self) -> usize;

    /// Masks the first byte and the packet number of a packet whose number starts at `offset`. The caller has
    /// checked that the packet holds `offset + 4 + sample_length` bytes.
    fn protect(&self, offset: usize, packet: &mut [u8]);

    /// Unmasks. Same condition.
    fn unprotect(&self, offset: usize, packet: &mut [u8]);
}

/// Keys for both directions of one level.
pub struct Keys {
    /// Header key for what we receive.
    pub header_remote: Box<dyn HeaderKey>,
    /// Header key for what we send.
    pub header_local: Box<dyn HeaderKey>,
    /// Packet keys.
    pub packet: PacketKeys,
}

impl Keys {
    /// Whether `packet`, whose header is `header`, opens as the peer's first with these keys. Works on a copy in `scratch`.
    pub(crate) fn opens(&self, header: &ProtectedHeader, packet: &[u8], scratch: &mut Vec<u8>) -> bool {
        let Some(packet) = packet.get(..header.packet_len).filter(|_| header.sample().is_some()) else {
            return false;
        };
        scratch.clear();
        scratch.extend_from_slice(packet);
        self.header_remote.unprotect(header.packet_number_offset, scratch);
        let Some(plain) = PlainHeader::decode(scratch, header) else { return false };
        let number = plain.packet_number.expand(None);
        let Some((head, payload)) = scratch.split_at_mut_checked(plain.payload_offset) else { return false };
        self.packet.remote.open(0, number, head, payload).is_ok()
    }
}

/// Packet keys for both directions of one key phase.
pub struct PacketKeys {
    /// For what we receive.
    pub remote: Box<dyn PacketKey>,
    /// For what we send.
    pub local: Box<dyn PacketKey>,
}

/// 0-RTT keys: one direction only.
pub struct EarlyKeys {
    /// Header key.
    pub header: Box<dyn HeaderKey>,
    /// Packet key.
    pub packet: Box<dyn PacketKey>,
}

/// What [`Session::write_handshake`] asks for after the bytes it wrote.
pub enum KeyChange {
    /// Later handshake bytes belong to this level, whose keys come along.
    Handshake(Keys),
    /// Later handshake bytes belong to the 1-RTT level, whose keys come along.
    OneRtt(Keys),
}

/// One TLS handshake and the secrets that follow from it.
pub trait Session: Send {
    /// Feeds handshake bytes of a level, in order. Returns `true` once when `handshake_data` becomes readable.
    ///
    /// # Errors
    /// A TLS alert as CRYPTO_ERROR.
    fn read_handshake(&mut self, level: Level, data: &[u8]) -> Result<bool, TransportError>;

    /// Appends handshake bytes to send at the current level; after a returned [`KeyChange`] the level changes.
    /// Called until it returns `None` and appends nothing.
    fn write_handshake(&mut self, buffer: &mut Vec<u8>) -> Option<KeyChange>;

    /// The server answered in another version than that in which the session began: keys are for that one from now on
    /// (client). Comes before anything is read.
    fn set_version(&mut self, version: Version);

    /// The peer's transport parameters, raw, once they are known.
    fn peer_transport_parameters(&self) -> Option<&[u8]>;

    /// Whether the TLS handshake has still to complete.
    fn is_handshaking(&self) -> bool;

    /// Packet keys for the next key phase, once 1-RTT keys exist. Called once per phase.
    fn next_packet_keys(&mut self) -> Option<PacketKeys>;

    /// 0-RTT keys: of a client, if it has begun with a ticket that allows 0-RTT and
    /// [`peer_transport_parameters`](Self::peer_transport_parameters) are those that came with it; of a server, once it
    /// has taken 0-RTT.
    fn early_keys(&self) -> Option<EarlyKeys>;

    /// Whether the server accepted early data; `None` until known (client).
    fn early_data_accepted(&self) -> Option<bool>;

    /// Whether the handshake went on from an earlier session (RFC 8446 section 2.2), once that is known.
    fn is_resumed(&self) -> bool {
        false
    }

    /// Negotiated application protocol.
    fn application_protocol(&self) -> Option<Vec<u8>>;

    /// Server name asked for by the client (server).
    fn server_name(&self) -> Option<String>;

    /// The peer's certificate chain (`Vec<CertificateDer>` from rustls) or other identity.
    fn peer_identity(&self) -> Option<Box<dyn Any>>;

    /// Keying material (RFC 5705).
    ///
    /// # Errors
    /// [`OpenError`] before the handshake is complete.
    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), OpenError>;
}

/// The server that a client connects to. What servers give for later connections is for one name and one port: servers of one
/// name at several ports know nothing of each other (RFC 9000 section 8.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerId<'a> {
    /// The name that TLS asks for, or an IP address.
    pub name: &'a str,
    /// The UDP port that the connection begins at.
    pub port: u16,
}

/// Starts client sessions.
pub trait ClientFactory: Send + Sync {
    /// A session with this server that offers these encoded transport parameters, with keys of this version.
    ///
    /// # Errors
    /// A name that is not valid, as INTERNAL_ERROR with the reason.
    fn start(
        &self,
        version: Version,
        server: ServerId<'_>,
        parameters: Vec<u8>,
    ) -> Result<Box<dyn Session>, TransportError>;

    /// Initial keys for this destination connection id.
    fn initial_keys(&self, version: Version, destination: &ConnectionId, side: Side) -> Keys;

    /// Whether the integrity tag at the end of a Retry packet is right (RFC 9001 section 5.8). `original` is the
    /// destination id of the Initial it answers, `packet` the whole Retry with tag.
    fn is_valid_retry(&self, version: Version, original: &ConnectionId, packet: &[u8]) -> bool {
        retry::is_valid(version, original, packet)
    }
}

/// Starts server sessions.
pub trait ServerFactory: Send + Sync {
    /// What matters of a ClientHello, a whole handshake message with its header, before a session reads it; `None` if it
    /// is none.
    fn look_into<'a>(&self, client_hello: &'a [u8]) -> Option<ClientHello<'a>>;

    /// A session that offers these encoded transport parameters, with keys of this version.
    ///
    /// # Errors
    /// The TLS library could not start one, as INTERNAL_ERROR with the reason.
    fn start(&self, version: Version, parameters: Vec<u8>) -> Result<Box<dyn Session>, TransportError>;

    /// Initial keys for this destination connection id.
    fn initial_keys(&self, version: Version, destination: &ConnectionId, side: Side) -> Keys;

    /// The integrity tag of a Retry packet (`packet` without the tag).
    fn retry_tag(&self, version: Version, original: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        retry::tag(version, original, packet)
    }
}

#[cfg(test)]
pub(crate) mod tests;
