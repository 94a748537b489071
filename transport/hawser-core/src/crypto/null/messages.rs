//! Handshake messages of the null session: framed as in TLS (type, length of three bytes, body), and padded to the
//! sizes that TLS messages have.

use hawser_wire::Reader;

const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
const SERVER_FLIGHT: u8 = 8;
const FINISHED: u8 = 20;
const HEADER_LEN: usize = 4;

/// ServerHello with an X25519 key share and supported_versions (RFC 8446 section 4.1.3): 4 + 86 bytes.
const SERVER_HELLO_LEN: usize = 90;
/// Finished with a SHA-256 transcript hash.
pub(super) const FINISHED_LEN: usize = HEADER_LEN + 32;
/// Longer messages are refused, so that a peer cannot make us collect bytes without a bound.
const MAX_MESSAGE_LEN: usize = 128 * 1024;

pub(super) struct ClientHello {
    pub(super) parameters: Vec<u8>,
    pub(super) server_name: String,
    pub(super) application_protocols: Vec<Vec<u8>>,
}

pub(super) struct ServerFlight {
    pub(super) parameters: Vec<u8>,
    pub(super) application_protocol: Option<Vec<u8>>,
}

pub(super) enum Message {
    ClientHello(ClientHello),
    ServerHello,
    ServerFlight(ServerFlight),
    Finished([u8; 16]),
}

#[derive(Debug)]
pub(super) struct TooLong;

/// The length of the message at the start of `bytes`, once it is complete.
pub(super) fn complete(bytes: &[u8]) -> Result<Option<usize>, TooLong> {
    let Some(&[_, a, b, c]) = bytes.first_chunk::<HEADER_LEN>() else { return Ok(None) };
    let length = HEADER_LEN + u32::from_be_bytes([0, a, b, c]) as usize;
    if length > MAX_MESSAGE_LEN {
        return Err(TooLong);
    }
    Ok((bytes.len() >= length).then_some(length))
}

impl ClientHello {
    pub(super) fn encode(&self, length: usize) -> Vec<u8> {
        let mut body = Vec::with_capacity(length);
        push_parameters(&self.parameters, &mut body);
        push_short(self.server_name.as_bytes(), &mut body);
        push_protocols(&self.application_protocols, &mut body);
        message(CLIENT_HELLO, &body, length)
    }
}

impl ServerFlight {
    pub(super) fn encode(&self, length: usize) -> Vec<u8> {
        let mut body = Vec::with_capacity(length);
        push_parameters(&self.parameters, &mut body);
        push_protocols(self.application_protocol.as_slice(), &mut body);
        message(SERVER_FLIGHT, &body, length)
    }
}

pub(super) fn server_hello() -> Vec<u8> {
    message(SERVER_HELLO, &[], SERVER_HELLO_LEN)
}

pub(super) fn finished(verify: &[u8; 16]) -> Vec<u8> {
    message(FINISHED, verify, FINISHED_LEN)
}

/// A message of `length` bytes, or more if `body` needs more.
fn message(kind: u8, body: &[u8], length: usize) -> Vec<u8> {
    let body_length = body.len().max(length.saturating_sub(HEADER_LEN)).min(MAX_MESSAGE_LEN - HEADER_LEN);
    let mut message = Vec::with_capacity(HEADER_LEN + body_length);
    message.extend_from_slice(&(body_length as u32 | u32::from(kind) << 24).to_be_bytes());
    message.extend_from_slice(body);
    message.resize(HEADER_LEN + body_length, 0);
    message
}

fn push_parameters(parameters: &[u8], body: &mut Vec<u8>) {
    body.extend_from_slice(&(parameters.len() as u16).to_be_bytes());
    body.extend_from_slice(parameters);
}

fn push_protocols(protocols: &[Vec<u8>], body: &mut Vec<u8>) {
    let count = protocols.len().min(255);
    body.push(count as u8);
    protocols.iter().take(count).for_each(|protocol| push_short(protocol, body));
}

fn push_short(bytes: &[u8], body: &mut Vec<u8>) {
    let length = bytes.len().min(255);
    body.push(length as u8);
    body.extend_from_slice(bytes.get(..length).unwrap_or_default());
}

impl Message {
    /// Decodes one complete message; `None` if it is malformed. Padding is not looked at.
    pub(super) fn decode(message: &[u8]) -> Option<Message> {
        let mut reader = Reader::new(message);
        let [kind, ..] = reader.read_array::<HEADER_LEN>().ok()?;
        Some(match kind {
            CLIENT_HELLO => Message::ClientHello(ClientHello {
                parameters: read_parameters(&mut reader)?,
                server_name: String::from_utf8(reader.read_u8_prefixed().ok()?.to_vec()).ok()?,
                application_protocols: read_protocols(&mut reader)?,
            }),
            SERVER_HELLO => Message::ServerHello,
            SERVER_FLIGHT => Message::ServerFlight(ServerFlight {
                parameters: read_parameters(&mut reader)?,
                application_protocol: read_protocols(&mut reader)?.pop(),
            }),
            FINISHED => Message::Finished(reader.read_array().ok()?),
            _ => return None,
        })
    }
}

/// The transport parameters in a whole ClientHello.
pub(super) fn client_parameters(message: &[u8]) -> Option<&[u8]> {
    let mut reader = Reader::new(message);
    let [kind, ..] = reader.read_array::<HEADER_LEN>().ok()?;
    let length = reader.read_u16().ok()?;
    reader.read_bytes(usize::from(length)).ok().filter(|_| kind == CLIENT_HELLO)
}

fn read_parameters(reader: &mut Reader<'_>) -> Option<Vec<u8>> {
    let length = reader.read_u16().ok()?;
    reader.read_bytes(usize::from(length)).ok().map(<[u8]>::to_vec)
}

fn read_protocols(reader: &mut Reader<'_>) -> Option<Vec<Vec<u8>>> {
    let count = reader.read_u8().ok()?;
    (0..count).map(|_| reader.read_u8_prefixed().ok().map(<[u8]>::to_vec)).collect()
}
