//! Connection ids that a load balancer can route: QUIC-LB (draft-ietf-quic-load-balancers, the text after version 21).
//!
//! A balancer in front of several servers must send all packets of a connection to one of them, also those that come from
//! other addresses: the paths of a multipath connection do, and so does a client whose NAT forgot it. So the servers write
//! into their connection ids which of them it is, and share with the balancer how to read it:
//!
//! ```text
//! first octet    configuration (3 bits), length of the rest or random bits (5 bits)
//! server id      1 to 15 bytes \  encrypted together, if the configuration has a key:
//! nonce          4 to 18 bytes /  one AES block if they have 16 bytes, else a Feistel network of four passes
//! ```
//!
//! [`QuicLbCodec`] is what balancer and servers share; [`QuicLbServer`] adds which server this is, and is what
//! [`EndpointConfig::quic_lb`](crate::EndpointConfig::quic_lb) takes.
//!
//! ```
//! use hawser_core::quic_lb::{QuicLbCodec, QuicLbServer};
//!
//! let codec = QuicLbCodec::new(0, 2, 6, Some([7; 16]))?;
//! let server = QuicLbServer::new(codec.clone(), &[0, 3])?;
//! assert_eq!(server.connection_id_length(), 9);
//! // At the balancer: the destination connection id of a packet.
//! let id = codec.encode(0, &[0, 3], &[1, 2, 3, 4, 5, 6]).expect("the lengths are those of the codec");
//! assert_eq!(codec.decode(id.as_bytes()).expect("it is of this configuration").server_id(), [0, 3]);
//! # Ok::<(), hawser_core::quic_lb::QuicLbError>(())
//! ```

mod cipher;

use std::fmt;

use hawser_wire::ConnectionId;

pub(crate) use self::cipher::CidCipher;

/// The codepoint of ids that name no server and are routed by address (section 3.2 of the draft).
pub(crate) const UNROUTABLE: u8 = 0b111;

/// Server id and nonce together: what a connection id has room for besides the first octet (section 5.3).
const MAX_PLAINTEXT: usize = ConnectionId::MAX_LEN - 1;
/// That of a client's first destination (RFC 9000 section 7.2).
pub(crate) const MIN_LENGTH: usize = 8;
const MIN_NONCE: usize = 4;
const MAX_SERVER_ID: usize = 15;

/// Why a configuration cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QuicLbError {
    /// There are seven configurations; the eighth codepoint marks ids that cannot be routed.
    #[error("config-id {0}: expected 0 to 6 (7 marks connection ids that no balancer can route)")]
    ConfigId(u8),
    /// The length of server ids.
    #[error("server ids of {0} bytes: expected 1 to 15")]
    ServerIdLength(usize),
    /// The length of nonces.
    #[error("nonces of {0} bytes: expected 4 to 18")]
    NonceLength(usize),
    /// A connection id has 20 bytes at most.
    #[error(
        "server ids of {server_id} and nonces of {nonce} bytes: expected 19 together at most, for a connection id has 20"
    )]
    TooLong {
        /// Bytes of a server id.
        server_id: usize,
        /// Bytes of a nonce.
        nonce: usize,
    },
    /// The server id is not as long as the configuration says.
    #[error("a server id of {is} bytes where server-id-length is {should}")]
    ServerId {
        /// Bytes that it has.
        is: usize,
        /// Bytes that it should have.
        should: usize,
    },
}

/// One configuration as balancer and servers share it: lengths, key, and the codepoint that names it.
#[derive(Clone)]
pub struct QuicLbCodec {
    config_id: u8,
    server_id_length: usize,
    nonce_length: usize,
    key: Option<[u8; 16]>,
    cipher: Option<CidCipher>,
}

impl QuicLbCodec {
    /// The configuration `config_id` (0 to 6) with server ids of 1 to 15 and nonces of 4 to 18 bytes, 19 together at most.
    /// Without a key anybody can read the server ids, and tell by them which connections are of one server.
    ///
    /// # Errors
    /// A number is out of its range.
    pub fn new(
        config_id: u8,
        server_id_length: usize,
        nonce_length: usize,
        key: Option<[u8; 16]>,
    ) -> Result<Self, QuicLbError> {
        if config_id >= UNROUTABLE {
            return Err(QuicLbError::ConfigId(config_id));
        }
        if !(1..=MAX_SERVER_ID).contains(&server_id_length) {
            return Err(QuicLbError::ServerIdLength(server_id_length));
        }
        if !(MIN_NONCE..MAX_PLAINTEXT).contains(&nonce_length) {
            return Err(QuicLbError::NonceLength(nonce_length));
        }
        if server_id_length + nonce_length > MAX_PLAINTEXT {
            return Err(QuicLbError::TooLong { server_id: server_id_length, nonce: nonce_length });
        }
        let cipher = key.map(|key| CidCipher::new(&key));
        Ok(QuicLbCodec { config_id, server_id_length, nonce_length, key, cipher })
    }

    /// Whether server ids are encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.cipher.is_some()
    }

    /// Bytes of a nonce.
    pub fn nonce_length(&self) -> usize {
        self.nonce_length
    }

    /// Bytes of first octet, server id and nonce. A server may append more.
    pub fn length(&self) -> usize {
        1 + self.server_id_length + self.nonce_length
    }

    /// The id with this server id and nonce; `low_bits` are the five of the first octet that name no configuration.
    /// `None` if lengths are not those of the configuration.
    pub fn encode(&self, low_bits: u8, server_id: &[u8], nonce: &[u8]) -> Option<ConnectionId> {
        if (server_id.len(), nonce.len()) != (self.server_id_length, self.nonce_length) {
            return None;
        }
        let mut bytes = [0; ConnectionId::MAX_LEN];
        let (first, rest) = bytes.split_first_mut()?;
        *first = first_octet(self.config_id, low_bits);
        let plaintext = rest.get_mut(..self.server_id_length + self.nonce_length)?;
        let (server_id_part, nonce_part) = plaintext.split_at_mut(self.server_id_length);
        server_id_part.copy_from_slice(server_id);
        nonce_part.copy_from_slice(nonce);
        if let Some(cipher) = &self.cipher {
            cipher.encrypt(plaintext);
        }
        ConnectionId::new(bytes.get(..self.length())?)
    }

    /// What an id of this configuration says; `None` if it is too short or of another configuration: then balancers route
    /// by address (section 4.1). An id that a client chose is of this one by chance in an eighth of all cases, and its
    /// server id is as likely that of a server as any other.
    pub fn decode(&self, id: &[u8]) -> Option<QuicLbPlaintext> {
        let (first, rest) = id.split_first()?;
        if first >> 5 != self.config_id {
            return None;
        }
        let length = self.server_id_length + self.nonce_length;
        let mut plaintext =
            QuicLbPlaintext { bytes: [0; MAX_PLAINTEXT], server_id_length: self.server_id_length, length };
        let bytes = plaintext.bytes.get_mut(..length)?;
        bytes.copy_from_slice(rest.get(..length)?);
        if let Some(cipher) = &self.cipher {
            cipher.decrypt(bytes);
        }
        Some(plaintext)
    }
}

impl fmt::Debug for QuicLbCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuicLbCodec")
            .field("config_id", &self.config_id)
            .field("server_id_length", &self.server_id_length)
            .field("nonce_length", &self.nonce_length)
            .field("is_encrypted", &self.is_encrypted())
            .finish()
    }
}

/// What is in a connection id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuicLbPlaintext {
    bytes: [u8; MAX_PLAINTEXT],
    server_id_length: usize,
    length: usize,
}

impl QuicLbPlaintext {
    /// Which server it is for.
    pub fn server_id(&self) -> &[u8] {
        self.bytes.get(..self.server_id_length).unwrap_or_default()
    }

    /// What makes it differ from the server's others.
    pub fn nonce(&self) -> &[u8] {
        self.bytes.get(self.server_id_length..self.length).unwrap_or_default()
    }
}

/// A configuration, and which server this is.
///
/// At most one endpoint, or group of endpoints, may have it at a time: no nonce may be used twice.
#[derive(Clone, Debug)]
pub struct QuicLbServer {
    codec: QuicLbCodec,
    server_id: Vec<u8>,
    encodes_length: bool,
}

impl QuicLbServer {
    /// The server with this id.
    ///
    /// # Errors
    /// The id is not as long as the configuration says.
    pub fn new(codec: QuicLbCodec, server_id: &[u8]) -> Result<Self, QuicLbError> {
        if server_id.len() != codec.server_id_length {
            return Err(QuicLbError::ServerId { is: server_id.len(), should: codec.server_id_length });
        }
        Ok(QuicLbServer { codec, server_id: server_id.to_vec(), encodes_length: false })
    }

    /// Whether the first octet says how long the rest of the id is, for hardware that has to know (section 3.3). Default:
    /// five random bits.
    #[must_use]
    pub fn encode_length(mut self, enabled: bool) -> Self {
        self.encodes_length = enabled;
        self
    }

    /// What it shares with the balancer.
    pub fn codec(&self) -> &QuicLbCodec {
        &self.codec
    }

    /// Its server id.
    pub fn server_id(&self) -> &[u8] {
        &self.server_id
    }

    /// Bytes of all ids of the server: 8 at least, as a client's first destination must have (RFC 9000 section 7.2). Where
    /// server id and nonce are shorter, random bytes follow them, which section 5.4 of the draft leaves to the server.
    pub fn connection_id_length(&self) -> usize {
        self.codec.length().max(MIN_LENGTH)
    }

    /// Adds random bytes to an id up to the length of all, or cuts `random` to fit.
    pub(crate) fn finish(&self, nonce: &[u8], random: [u8; ConnectionId::MAX_LEN]) -> Option<ConnectionId> {
        let length = self.connection_id_length();
        let low_bits = if self.encodes_length { (length - 1) as u8 } else { *random.first()? };
        let id = self.codec.encode(low_bits, &self.server_id, nonce)?;
        let mut bytes = random;
        bytes.get_mut(..id.len())?.copy_from_slice(id.as_bytes());
        ConnectionId::new(bytes.get(..length)?)
    }

    /// An id that names no server, and its length in any case (section 3.2).
    pub(crate) fn unroutable(&self, random: [u8; ConnectionId::MAX_LEN]) -> Option<ConnectionId> {
        let length = self.connection_id_length();
        let mut bytes = random;
        *bytes.first_mut()? = first_octet(UNROUTABLE, (length - 1) as u8);
        ConnectionId::new(bytes.get(..length)?)
    }

    /// All that its ids depend on, to derive keys from that change with it.
    pub(crate) fn scope(&self) -> Vec<u8> {
        let QuicLbCodec { config_id, nonce_length, key, .. } = &self.codec;
        let mut scope = vec![*config_id, self.server_id.len() as u8, *nonce_length as u8];
        scope.extend_from_slice(&self.server_id);
        scope.extend_from_slice(key.as_ref().map_or(&[], |key| &key[..]));
        scope
    }
}

fn first_octet(config_id: u8, low_bits: u8) -> u8 {
    config_id << 5 | low_bits & 0x1f
}

#[cfg(test)]
mod tests;
