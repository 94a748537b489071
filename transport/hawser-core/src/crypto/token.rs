//! Address-validation tokens: what a server gives a client so that it can prove its address later
//! (RFC 9000 section 8.1).
//!
//! A token is sealed with AES-256-GCM, so a client can neither read nor forge nor change one. Each is sealed with
//! a key of its own, derived from the server's token key and a random salt of 16 bytes. A random GCM nonce under
//! one key would repeat with noticeable probability after 2^32 tokens, which a flood of Initials reaches within
//! hours; a repeated salt is not to be feared before 2^64.

use std::net::{IpAddr, SocketAddr};

use hawser_wire::{ConnectionId, Reader, Version};
use rand::RngCore;

use super::provider::{aead, hmac};

const SALT_LEN: usize = 16;
/// Salt, kind, version, time, address and port, two connection IDs, tag.
const MAX_LEN: usize = SALT_LEN + 1 + 4 + 8 + 17 + 2 + 2 * (1 + ConnectionId::MAX_LEN) + 16;
const KIND_RETRY: u8 = 1;
const KIND_ADDRESS: u8 = 2;

/// What a token says, once opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// Sent in a Retry packet.
    Retry(RetryToken),
    /// Sent in a NEW_TOKEN frame.
    Address(AddressToken),
}

/// Contents of a token sent in a Retry packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RetryToken {
    /// In which version the client began; it must go on in the same (RFC 9369 section 4.1).
    pub(crate) version: Version,
    /// Where the Retry was sent; the port counts, for the client answers from the same socket.
    pub(crate) remote: SocketAddr,
    /// Destination of the client's first Initial.
    pub(crate) original_destination: ConnectionId,
    /// Source of the Retry, so destination of the client's second Initial.
    pub(crate) retry_source: ConnectionId,
    /// Milliseconds since 1970.
    pub(crate) issued: u64,
}

/// Contents of a token sent in a NEW_TOKEN frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AddressToken {
    /// The version of the connection that it comes from; it is good for no other (RFC 9369 section 5).
    pub(crate) version: Version,
    /// The address that was validated; the port changes from connection to connection.
    pub(crate) ip: IpAddr,
    /// Milliseconds since 1970.
    pub(crate) issued: u64,
}

/// Tells a token from all others, to find one used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TokenId([u8; SALT_LEN]);

/// Seals and opens tokens.
#[derive(Clone)]
pub(crate) struct TokenKey(hmac::Key);

impl TokenKey {
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        TokenKey(hmac::Key::new(hmac::HMAC_SHA256, key))
    }

    /// A token that says `token`, at most [`MAX_LEN`] bytes.
    //= rfc9000-8.1.3-4: a token tells observers nothing of its connection
    //= rfc9000-8.1.3-5: every token is unique
    //= rfc9000-8.1.4-1: tokens are hard to guess
    //= rfc9000-19.7-1: NEW_TOKEN tokens are not empty
    pub(crate) fn seal(&self, token: &Token, random: &mut impl RngCore) -> Vec<u8> {
        let mut salt = [0; SALT_LEN];
        random.fill_bytes(&mut salt);
        let mut sealed = Vec::with_capacity(MAX_LEN);
        sealed.extend_from_slice(&salt);
        token.encode(&mut sealed);
        let plain = sealed.get_mut(SALT_LEN..).unwrap_or_default();
        let tag = self.sealer(&salt).seal_in_place_separate_tag(nonce(), aead::Aad::empty(), plain);
        sealed.extend_from_slice(tag.expect("a token is short").as_ref());
        sealed
    }

    /// What `sealed` says; `None` if this key did not seal it.
    //= rfc9000-8.1.4-2: tokens are protected against changes
    pub(crate) fn open(&self, sealed: &[u8]) -> Option<(Token, TokenId)> {
        let (salt, sealed) = sealed.split_first_chunk::<SALT_LEN>()?;
        let mut plain = sealed.to_vec();
        let plain = self.sealer(salt).open_in_place(nonce(), aead::Aad::empty(), &mut plain).ok()?;
        Some((Token::decode(plain)?, TokenId(*salt)))
    }

    fn sealer(&self, salt: &[u8; SALT_LEN]) -> aead::LessSafeKey {
        let mut context = hmac::Context::with_key(&self.0);
        context.update(b"hawser token");
        context.update(salt);
        let key = aead::UnboundKey::new(&aead::AES_256_GCM, context.sign().as_ref());
        aead::LessSafeKey::new(key.expect("SHA-256 gives 32 bytes, the length of AES-256 keys"))
    }
}

/// Each key seals one token, so that the nonce may be constant.
fn nonce() -> aead::Nonce {
    aead::Nonce::assume_unique_for_key([0; aead::NONCE_LEN])
}

impl Token {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Token::Retry(token) => {
                out.push(KIND_RETRY);
                out.extend_from_slice(&token.version.number().to_be_bytes());
                out.extend_from_slice(&token.issued.to_be_bytes());
                encode_ip(token.remote.ip(), out);
                out.extend_from_slice(&token.remote.port().to_be_bytes());
                for id in [&token.original_destination, &token.retry_source] {
                    out.push(id.len() as u8);
                    out.extend_from_slice(id.as_bytes());
                }
            }
            Token::Address(token) => {
                out.push(KIND_ADDRESS);
                out.extend_from_slice(&token.version.number().to_be_bytes());
                out.extend_from_slice(&token.issued.to_be_bytes());
                encode_ip(token.ip, out);
            }
        }
    }

    //= rfc9000-8.1.1-1: tokens of Retry and NEW_TOKEN can be told apart
    fn decode(plain: &[u8]) -> Option<Token> {
        let mut reader = Reader::new(plain);
        let kind = reader.read_u8().ok()?;
        let version = Version::from_number(reader.read_u32().ok()?)?;
        let issued = u64::from_be_bytes(reader.read_array().ok()?);
        let ip = decode_ip(&mut reader)?;
        let token = match kind {
            KIND_RETRY => Token::Retry(RetryToken {
                version,
                remote: SocketAddr::new(ip, reader.read_u16().ok()?),
                original_destination: reader.read_connection_id().ok()??,
                retry_source: reader.read_connection_id().ok()??,
                issued,
            }),
            KIND_ADDRESS => Token::Address(AddressToken { version, ip, issued }),
            _ => return None,
        };
        reader.is_empty().then_some(token)
    }
}

/// One socket for IPv4 and IPv6 reports an IPv4 client in mapped form, another does not: write the plain form.
fn encode_ip(ip: IpAddr, out: &mut Vec<u8>) {
    match ip.to_canonical() {
        IpAddr::V4(ip) => {
            out.push(4);
            out.extend_from_slice(&ip.octets());
        }
        IpAddr::V6(ip) => {
            out.push(6);
            out.extend_from_slice(&ip.octets());
        }
    }
}

fn decode_ip(reader: &mut Reader<'_>) -> Option<IpAddr> {
    match reader.read_u8().ok()? {
        4 => Some(IpAddr::from(reader.read_array::<4>().ok()?)),
        6 => Some(IpAddr::from(reader.read_array::<16>().ok()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
