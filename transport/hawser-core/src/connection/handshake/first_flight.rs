//! A server's TLS before the ClientHello is there: it says in which version the connection goes on (RFC 9368 section 2.3),
//! and TLS has to know that when it starts.

use std::sync::Arc;

use hawser_policy::Side;
use hawser_wire::transport_parameters::{Role, TransportParameters};
use hawser_wire::{ConnectionId, Version};

use crate::connection::parameters;
use crate::crypto::{Keys, ServerFactory, Session};
use crate::{Code, TransportError, VersionPreference, Versions};

/// Type and length of a handshake message.
const HEADER_LEN: usize = 4;

/// Longer ClientHellos are refused: as many bytes as TLS libraries take.
const MAX_CLIENT_HELLO: usize = 1 << 16;

/// What a server has before it has read the ClientHello.
pub(crate) struct FirstFlight {
    pub(crate) crypto: Arc<dyn ServerFactory>,
    /// Our transport parameters, all but version_information.
    pub(crate) parameters: Vec<u8>,
    pub(crate) versions: Versions,
    pub(crate) preference: VersionPreference,
    /// A version that is added to the local ones, to be ignored.
    pub(crate) reserved: Option<u32>,
    /// In which the client began.
    pub(crate) original: Version,
    /// From what Initial keys derive.
    pub(crate) destination: ConnectionId,
    /// What there is of the ClientHello.
    pub(crate) received: Vec<u8>,
}

/// What the ClientHello decided.
pub(crate) struct Decided {
    pub(crate) version: Version,
    pub(crate) session: Box<dyn Session>,
    /// What the session has to read.
    pub(crate) received: Vec<u8>,
    /// Initial keys of `version` if that is another one than the client began with.
    pub(crate) initial: Option<Keys>,
}

impl FirstFlight {
    /// Takes CRYPTO data; once the ClientHello is whole, says what follows from it.
    pub(crate) fn read(&mut self, data: &[u8]) -> Result<Option<Decided>, TransportError> {
        self.received.extend_from_slice(data);
        let Some(&[_, high, middle, low]) = self.received.first_chunk::<HEADER_LEN>() else {
            return Ok(None);
        };
        let length = HEADER_LEN + u32::from_be_bytes([0, high, middle, low]) as usize;
        if length > MAX_CLIENT_HELLO {
            return Err(TransportError::new(
                Code::CRYPTO_BUFFER_EXCEEDED,
                format!("a ClientHello of {length} bytes, expected at most {MAX_CLIENT_HELLO}"),
            ));
        }
        if self.received.len() < length {
            return Ok(None);
        }
        self.decide(length).map(Some)
    }

    /// The first `length` bytes are the ClientHello.
    fn decide(&mut self, length: usize) -> Result<Decided, TransportError> {
        let received = std::mem::take(&mut self.received);
        let version = self.choose(received.get(..length).unwrap_or_default())?;
        let information = parameters::version_information(version, &self.versions, self.reserved);
        let parameters = parameters::with_version_information(&self.parameters, information);
        Ok(Decided {
            version,
            session: self.crypto.start(version, parameters)?,
            received,
            initial: (version != self.original)
                .then(|| self.crypto.initial_keys(version, &self.destination, Side::Server)),
        })
    }

    /// In which version the connection goes on. A client whose message makes no sense hears so in its own version.
    //= rfc9001-8.2-1: quic_transport_parameters is sent, and its absence is missing_extension
    fn choose(&self, client_hello: &[u8]) -> Result<Version, TransportError> {
        let Some(hello) = self.crypto.look_into(client_hello) else { return Ok(self.original) };
        // RFC 9001 section 8.2. TLS libraries may also take the extension of drafts, which had another number.
        let parameters = hello.parameters.ok_or_else(|| {
            let reason = "a ClientHello without the extension quic_transport_parameters";
            TransportError::new(Code::MISSING_EXTENSION, reason)
        })?;
        // RFC 9369 section 4.1 lets 0-RTT packets stay in the original version, but TLS has keys for one version only:
        // early data is worth more than another version.
        if hello.early_data {
            return Ok(self.original);
        }
        Ok(match TransportParameters::decode(parameters, Role::Client) {
            Ok(client) => {
                self.preference.choose(&self.versions, self.original, client.version_information.as_ref())
            }
            Err(_) => self.original,
        })
    }
}
