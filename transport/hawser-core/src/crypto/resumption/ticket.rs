//! A ticket as bytes.

use ::rustls::CipherSuite;
use ::rustls::pki_types::CertificateDer;
use hawser_wire::Reader;

/// Of the encoding; others are not read.
const VERSION: u8 = 1;

/// Certificates in a chain.
const MAX_CHAIN: u8 = 16;

/// All that is needed to resume a session.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Ticket {
    pub(super) suite: CipherSuite,
    /// Seconds since 1970; its age is told to the server.
    pub(super) received_at: u64,
    /// The pre-shared key that belongs to it.
    pub(super) key: Vec<u8>,
    /// The NewSessionTicket message.
    pub(super) message: Vec<u8>,
    /// The server's transport parameters.
    pub(super) parameters: Vec<u8>,
    /// The server's certificates.
    pub(super) chain: Vec<CertificateDer<'static>>,
}

impl Ticket {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&u16::from(self.suite).to_be_bytes());
        bytes.extend_from_slice(&self.received_at.to_be_bytes());
        for field in [&self.key, &self.message, &self.parameters] {
            push(field, &mut bytes);
        }
        bytes.push(self.chain.len().min(MAX_CHAIN.into()) as u8);
        self.chain.iter().take(MAX_CHAIN.into()).for_each(|certificate| push(certificate, &mut bytes));
        bytes
    }

    /// `None` if it is malformed, or of another version.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        if reader.read_u8().ok()? != VERSION {
            return None;
        }
        let suite = CipherSuite::from(reader.read_u16().ok()?);
        let received_at = u64::from_be_bytes(reader.read_array().ok()?);
        let [key, message, parameters] =
            [pull(&mut reader)?, pull(&mut reader)?, pull(&mut reader)?].map(<[u8]>::to_vec);
        let count = reader.read_u8().ok().filter(|count| *count <= MAX_CHAIN)?;
        let chain = (0..count)
            .map(|_| Some(CertificateDer::from(pull(&mut reader)?.to_vec())))
            .collect::<Option<_>>()?;
        reader.is_empty().then_some(Ticket { suite, received_at, key, message, parameters, chain })
    }
}

fn push(field: &[u8], bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&(field.len() as u32).to_be_bytes());
    bytes.extend_from_slice(field);
}

fn pull<'a>(reader: &mut Reader<'a>) -> Option<&'a [u8]> {
    let length = usize::try_from(reader.read_u32().ok()?).ok()?;
    reader.read_bytes(length).ok()
}
