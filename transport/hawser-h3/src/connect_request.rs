//! CONNECT requests as RFC 9114 section 4.4 wants them.
//!
//! The `h3` crate (0.0.8) writes `:scheme` and `:path` into every request. A CONNECT request without `:protocol` must have
//! neither; servers that check it reset the stream. So its field section is rewritten here before it leaves. Extended
//! CONNECT (RFC 9220) has all of them and stays as it is.

use bytes::{BufMut, Bytes, BytesMut};

use crate::guard::{FieldLines, RequestField, varint};

/// RFC 9114 section 7.2.2.
const HEADERS: u64 = 0x1;
/// `:method: CONNECT` of the static table (RFC 9204 appendix A, index 15), as an indexed field line.
const METHOD_CONNECT: [u8; 1] = [0xcf];

/// A HEADERS frame that opens a request, without what CONNECT must not have. Anything else comes back as it is.
pub(crate) fn rewrite(frame: Bytes) -> Bytes {
    strip(&frame).unwrap_or(frame)
}

/// The frame without `:scheme` and `:path`, if it is a plain CONNECT request.
fn strip(frame: &[u8]) -> Option<Bytes> {
    let (kind, rest) = varint(frame)?;
    let (length, section) = varint(rest)?;
    if kind != HEADERS || length != section.len() as u64 {
        return None;
    }
    let lines = FieldLines::read(section)?;
    let is_connect =
        lines.iter().any(|(field, line)| field == RequestField::Method && line == METHOD_CONNECT);
    if !is_connect || lines.iter().any(|(field, _)| field == RequestField::Protocol) {
        return None;
    }
    let kept: Vec<&[u8]> = lines
        .iter()
        .filter(|(field, _)| !matches!(field, RequestField::Scheme | RequestField::Path))
        .map(|(_, line)| line)
        .collect();
    let length = lines.prefix().len() + kept.iter().map(|line| line.len()).sum::<usize>();
    let mut rewritten = BytesMut::with_capacity(length + 8);
    rewritten.put_u8(HEADERS as u8);
    put_varint(&mut rewritten, length);
    rewritten.put_slice(lines.prefix());
    kept.into_iter().for_each(|line| rewritten.put_slice(line));
    Some(rewritten.freeze())
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
}
