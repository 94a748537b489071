//! CONNECT requests as RFC 9114 section 4.4 and RFC 9484 want them.
//!
//! The `h3` crate (0.0.8) writes `:scheme` and `:path` into every request. A CONNECT request without `:protocol` must have
//! neither; servers that check it reset the stream. So its field section is rewritten here before it leaves. Extended
//! CONNECT (RFC 9220) has all of them and keeps them.
//!
//! Of the values of `:protocol` it knows two, and takes a request with another one for malformed. WebTransport is not spoken
//! here: to `h3` its name stands for `connect-ip`, and on the wire the two change places.

use bytes::{BufMut, Bytes, BytesMut};
use h3::ext::Protocol;

use crate::guard::{FieldLines, RequestField, varint};

/// RFC 9114 section 7.2.2.
const HEADERS: u64 = 0x1;
/// `:method: CONNECT` of the static table (RFC 9204 appendix A, index 15), as an indexed field line.
const METHOD_CONNECT: [u8; 1] = [0xcf];

/// What stands for CONNECT-IP (RFC 9484) in requests that `h3` writes and reads: insert it into the extensions of a request.
pub const CONNECT_IP: Protocol = Protocol::WEB_TRANSPORT;

/// The `:protocol` of a request as it is on the wire.
pub fn protocol_name(protocol: &Protocol) -> &str {
    if *protocol == CONNECT_IP { "connect-ip" } else { protocol.as_str() }
}

/// A value of `:protocol` as the end of its field line, and the same in the Huffman code of RFC 7541 appendix B.
type Value = (&'static [u8], &'static [u8]);
const ON_THE_WIRE: Value = (b"\x0aconnect-ip", b"\x87\x21\xea\xa8\xa4\x4a\xc6\xaf");
const FOR_H3: Value = (b"\x0cwebtransport", b"\x89\xf0\x58\xd3\x60\xea\x45\x67\xb1\x3f");

/// `:protocol` as a literal name (RFC 9204 section 4.5.6).
const PROTOCOL_NAME: &[u8] = b"\x27\x02:protocol";

/// A HEADERS frame that opens a request, as it may leave. Anything else comes back as it is.
pub(crate) fn rewrite(frame: Bytes) -> Bytes {
    change(&frame, outgoing).unwrap_or(frame)
}

/// A HEADERS frame that a peer opened a request with, as `h3` can read it. Anything else comes back as it is.
pub(crate) fn translate(frame: Bytes) -> Bytes {
    change(&frame, incoming).unwrap_or(frame)
}

/// The frame with other field lines; `None` if these stay as they are.
fn change(frame: &[u8], change: fn(&FieldLines<'_>) -> Option<Vec<Line>>) -> Option<Bytes> {
    let (kind, rest) = varint(frame)?;
    let (length, section) = varint(rest)?;
    if kind != HEADERS || length != section.len() as u64 {
        return None;
    }
    let lines = FieldLines::read(section)?;
    let kept = change(&lines)?;
    let length = lines.prefix().len() + kept.iter().map(|line| line.len()).sum::<usize>();
    let mut rewritten = BytesMut::with_capacity(length + 8);
    rewritten.put_u8(HEADERS as u8);
    put_varint(&mut rewritten, length);
    rewritten.put_slice(lines.prefix());
    kept.into_iter().for_each(|line| rewritten.put_slice(&line));
    Some(rewritten.freeze())
}

/// A field line.
type Line = Vec<u8>;

fn outgoing(lines: &FieldLines<'_>) -> Option<Vec<Line>> {
    if lines.iter().any(|(field, _)| field == RequestField::Protocol) {
        return swap(lines, FOR_H3, ON_THE_WIRE);
    }
    let is_connect =
        lines.iter().any(|(field, line)| field == RequestField::Method && line == METHOD_CONNECT);
    let is_kept = |field| !matches!(field, RequestField::Scheme | RequestField::Path);
    let kept = lines.iter().filter(|(field, _)| is_kept(*field));
    is_connect.then(|| kept.map(|(_, line)| line.to_vec()).collect())
}

fn incoming(lines: &FieldLines<'_>) -> Option<Vec<Line>> {
    // What a peer calls WebTransport becomes a name that no protocol has, which is malformed as others are.
    swap(lines, ON_THE_WIRE, FOR_H3).or_else(|| swap(lines, FOR_H3, (b"\x01-", b"")))
}

/// The lines with another value of `:protocol`; `None` if it is not this one.
fn swap(lines: &FieldLines<'_>, from: Value, to: Value) -> Option<Vec<Line>> {
    let is_it = |field, line: &[u8]| {
        field == RequestField::Protocol && (line.ends_with(from.0) || line.ends_with(from.1))
    };
    if !lines.iter().any(|(field, line)| is_it(field, line)) {
        return None;
    }
    let swapped = lines
        .iter()
        .map(|(field, line)| if is_it(field, line) { [PROTOCOL_NAME, to.0].concat() } else { line.to_vec() });
    Some(swapped.collect())
}

/// RFC 9000 section 16. Field sections are far below 2^30 bytes.
fn put_varint(buffer: &mut BytesMut, value: usize) {
    let value = u32::try_from(value).unwrap_or(u32::MAX >> 2);
    match value {
        0..0x40 => buffer.put_u8(value as u8),
        0x40..0x4000 => buffer.put_u16(value as u16 | 0x4000),
        _ => buffer.put_u32(value | 0x8000_0000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `:method CONNECT`, `:scheme https`, `:authority a:1`, `:path /`, `x: y`.
    const CONNECT: &[u8] = b"\x01\x0e\x00\x00\xcf\xd7\x50\x03a:1\xc1\x21x\x01y";

    #[test]
    fn plain_connect_has_neither_scheme_nor_path() {
        assert_eq!(rewrite(Bytes::from_static(CONNECT)), &b"\x01\x0c\x00\x00\xcf\x50\x03a:1\x21x\x01y"[..]);
    }

    #[test]
    fn other_frames_stay_as_they_are() {
        // GET in place of CONNECT.
        let get = Bytes::from(
            CONNECT.iter().map(|byte| if *byte == 0xcf { 0xd1 } else { *byte }).collect::<Vec<_>>(),
        );
        // `:protocol: a` behind the other pseudo-header fields.
        let extended = Bytes::from_static(b"\x01\x17\x00\x00\xcf\xd7\x50\x03a:1\xc1\x27\x02:protocol\x01a");
        let cut = Bytes::from_static(&CONNECT[..9]);
        let data = Bytes::from_static(b"\x00\x01\xcf");
        for frame in [get, extended, cut, data] {
            assert_eq!(rewrite(frame.clone()), frame);
        }
    }

    #[test]
    fn lengths_of_any_size_are_written() {
        let mut buffer = BytesMut::new();
        [0x3f, 0x40, 0x3fff, 0x4000].into_iter().for_each(|value| put_varint(&mut buffer, value));
        assert_eq!(&buffer[..], b"\x3f\x40\x40\x7f\xff\x80\x00\x40\x00");
    }

    /// `:method CONNECT`, `:scheme https`, `:authority a:1`, `:path /`, and `:protocol` with this value.
    fn extended(value: &[u8]) -> Bytes {
        let section = [&b"\x00\x00\xcf\xd7\x50\x03a:1\xc1"[..], PROTOCOL_NAME, value].concat();
        [&[1, section.len() as u8], &section[..]].concat().into()
    }

    #[test]
    fn connect_ip_has_its_own_name_on_the_wire_and_the_one_of_webtransport_for_h3() {
        for value in [FOR_H3.0, FOR_H3.1] {
            assert_eq!(rewrite(extended(value)), extended(ON_THE_WIRE.0));
        }
        for value in [ON_THE_WIRE.0, ON_THE_WIRE.1] {
            assert_eq!(translate(extended(value)), extended(FOR_H3.0));
        }
        assert_eq!(protocol_name(&CONNECT_IP), "connect-ip");
        assert_eq!(protocol_name(&Protocol::CONNECT_UDP), "connect-udp");
    }

    #[test]
    fn what_peers_call_webtransport_is_not_taken_for_connect_ip() {
        assert_eq!(translate(extended(FOR_H3.1)), extended(b"\x01-"));
        let udp = extended(b"\x0bconnect-udp");
        assert_eq!(translate(udp.clone()), udp);
        assert_eq!(rewrite(udp.clone()), udp);
    }
}
