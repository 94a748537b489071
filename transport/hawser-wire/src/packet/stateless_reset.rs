//! Stateless resets (RFC 9000 section 10.3).

use super::{FIXED_BIT, LONG_FORM};
use crate::cid::StatelessResetToken;
use crate::writer::{BufferTooShort, Writer};

/// The shortest datagram that is a stateless reset, in bytes.
pub const MIN_STATELESS_RESET_LEN: usize = 21;

/// Writes a stateless reset: the unpredictable bytes, made to look like a short header, then the token.
///
/// To pass for an ordinary packet and not to answer in a loop, the whole is to be shorter than the datagram it
/// answers (RFC 9000 section 10.3.3).
///
/// # Errors
/// [`BufferTooShort`] if it does not fit, or if there are fewer than five unpredictable bytes; the writer is then as before.
//= rfc9000-10.3-7: stateless resets have a short header
pub fn write_stateless_reset(
    w: &mut Writer<'_>,
    unpredictable: &[u8],
    token: &StatelessResetToken,
) -> Result<(), BufferTooShort> {
    let length = unpredictable.len() + StatelessResetToken::LEN;
    let Some((first, rest)) = unpredictable.split_first() else { return Err(BufferTooShort) };
    if length < MIN_STATELESS_RESET_LEN || w.remaining() < length {
        return Err(BufferTooShort);
    }
    w.write_u8((first & !LONG_FORM) | FIXED_BIT)?;
    w.write_bytes(rest)?;
    w.write_bytes(&token.0)
}
