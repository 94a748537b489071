//! Datagrams that are built from the one they answer, and leave no trace behind.

use hawser_wire::codepoints::version;
use hawser_wire::frame::ConnectionClose;
use hawser_wire::packet::{
    InvariantHeader, LongHeader, LongPacketType, MIN_STATELESS_RESET_LEN, write_retry, write_stateless_reset,
    write_version_negotiation,
};
use hawser_wire::{
    BufferTooShort, ConnectionId, Frame, StatelessResetToken, TruncatedPacketNumber, Version, Writer,
};
use rand::{Rng, RngCore};

use crate::crypto::{Keys, ServerFactory};
use crate::{TransportError, Versions};

/// From this length on a stateless reset cannot be told from other packets, whatever connection ids the peer uses
/// (RFC 9000 section 10.3).
const INCONSPICUOUS_RESET_LEN: usize = 42;

/// Longer resets would serve nothing.
const MAX_RESET_LEN: usize = 120;

/// Longest reason phrase that is sent.
const MAX_REASON_LEN: usize = 128;

/// Room for any packet of this file but a Retry: long header with two connection ids, CONNECTION_CLOSE, tag.
const MAX_CLOSE_LEN: usize = 256;

/// A Version Negotiation packet (RFC 9000 section 6.1) that offers our versions, and one that no one speaks, so that
/// clients keep to the rules (section 6.3).
pub(super) fn version_negotiation(
    header: &InvariantHeader<'_>,
    ours: &Versions,
    random: &mut impl RngCore,
) -> Result<Vec<u8>, BufferTooShort> {
    let reserved = loop {
        let candidate = version::reserved(random.next_u32());
        // Section 6.2: a list with the client's own version would be discarded.
        if candidate != header.version {
            break candidate;
        }
    };
    let versions = ours.advertised(Some(reserved));
    let (destination, source) = (header.destination_cid, header.source_cid);
    let mut bytes = vec![0; 7 + destination.len() + source.len() + 4 * versions.len()];
    let mut writer = Writer::new(&mut bytes);
    write_version_negotiation(&mut writer, destination, source, &versions, random.random())?;
    Ok(bytes)
}

/// A stateless reset that answers a datagram of `received` bytes; `None` if that is too short for a reset to be
/// shorter still (RFC 9000 section 10.3.3: each is, so two ends that know nothing cannot reset each other indefinitely).
//= rfc9000-10.3-2: the rest of a stateless reset is random
//= rfc9000-10.3-4: a reset for a packet of 43 bytes or less is one byte shorter
//= rfc9000-10.3-5: no stateless reset is three times as long as its cause
//= rfc9000-10.3.3-1: each stateless reset is shorter than its cause
pub(super) fn stateless_reset(
    received: usize,
    token: &StatelessResetToken,
    random: &mut impl RngCore,
) -> Option<Vec<u8>> {
    let longest = received.checked_sub(1).filter(|length| *length >= MIN_STATELESS_RESET_LEN)?;
    let length = if longest <= INCONSPICUOUS_RESET_LEN {
        longest
    } else {
        random.random_range(INCONSPICUOUS_RESET_LEN..=longest.min(MAX_RESET_LEN))
    };
    let mut unpredictable = [0; MAX_RESET_LEN - StatelessResetToken::LEN];
    let unpredictable = unpredictable.get_mut(..length - StatelessResetToken::LEN)?;
    random.fill_bytes(unpredictable);
    let mut bytes = vec![0; length];
    write_stateless_reset(&mut Writer::new(&mut bytes), unpredictable, token).ok()?;
    Some(bytes)
}

/// Version and connection ids of an Initial packet that is answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct InitialCids {
    /// Its version.
    pub(super) version: Version,
    /// Where it was sent.
    pub(super) destination: ConnectionId,
    /// Where the answer goes.
    pub(super) source: ConnectionId,
}

/// A Retry packet with this token (RFC 9000 section 17.2.5).
pub(super) fn retry(
    cids: &InitialCids,
    retry_source: &ConnectionId,
    token: &[u8],
    crypto: &dyn ServerFactory,
    random: &mut impl RngCore,
) -> Result<Vec<u8>, BufferTooShort> {
    let mut bytes = vec![0; 7 + 2 * ConnectionId::MAX_LEN + token.len() + 16];
    let mut writer = Writer::new(&mut bytes);
    write_retry(&mut writer, cids.version, &cids.source, retry_source, token, random.random())?;
    let tag = crypto.retry_tag(cids.version, &cids.destination, writer.written());
    writer.write_bytes(&tag)?;
    let length = writer.position();
    bytes.truncate(length);
    Ok(bytes)
}

/// An Initial packet that closes the connection before there is one (RFC 9000 section 10.2.3).
//= rfc9000-5.2.2-4: a refused connection gets CONNECTION_REFUSED
//= rfc9000-17.2.2-1: a server's Initial has no token, and one that has is dropped
pub(super) fn initial_close(
    cids: &InitialCids,
    keys: &Keys,
    error: &TransportError,
) -> Result<Vec<u8>, BufferTooShort> {
    let header = LongHeader {
        version: cids.version,
        packet_type: LongPacketType::Initial { token: &[] },
        destination_cid: cids.source,
        // The client knows no other id of the server, and will need none.
        source_cid: cids.destination,
    };
    let reason = error.reason.as_bytes();
    let close = Frame::ConnectionClose(ConnectionClose::Transport {
        error_code: error.code.0,
        frame_type: error.frame.unwrap_or(0),
        reason: reason.get(..MAX_REASON_LEN).unwrap_or(reason),
    });
    let (local, tag_length) = (&keys.packet.local, keys.packet.local.tag_length());

    let mut bytes = vec![0; MAX_CLOSE_LEN];
    let mut writer = Writer::new(&mut bytes);
    let encoded = header.encode(&mut writer, TruncatedPacketNumber::new(0, None))?;
    close.encode(&mut writer)?;
    let padding = encoded.padding_for_sample(writer.position() - encoded.payload_offset, tag_length);
    writer.write_zeros(padding)?;
    encoded.finish(&mut writer, tag_length)?;
    writer.take(tag_length)?;
    let packet = writer.into_written();
    local.seal(0, 0, packet, encoded.payload_offset);
    keys.header_local.protect(encoded.packet_number_offset, packet);
    let length = packet.len();
    bytes.truncate(length);
    Ok(bytes)
}

#[cfg(test)]
mod tests;
