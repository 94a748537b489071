//! Boxes: a length, four characters, and what is in them.

use bytes::{BufMut, BytesMut};

/// Writes a box around what `body` writes.
pub(super) fn boxed(out: &mut BytesMut, kind: &[u8; 4], body: impl FnOnce(&mut BytesMut)) {
    let start = out.len();
    out.put_u32(0);
    out.put_slice(kind);
    body(out);
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// The same with a version and flags.
pub(super) fn full(
    out: &mut BytesMut,
    kind: &[u8; 4],
    version: u8,
    flags: u32,
    body: impl FnOnce(&mut BytesMut),
) {
    boxed(out, kind, |out| {
        out.put_u32(u32::from(version) << 24 | flags);
        body(out);
    });
}

/// A descriptor of MPEG-4 systems (ISO/IEC 14496-1 section 7.2.2.2) around what `body` writes; its length takes four bytes.
pub(super) fn descriptor(out: &mut BytesMut, tag: u8, body: impl FnOnce(&mut BytesMut)) {
    let mut inner = BytesMut::new();
    body(&mut inner);
    out.put_u8(tag);
    let length = inner.len() as u32;
    for shift in [21, 14, 7] {
        out.put_u8(0x80 | (length >> shift) as u8 & 0x7f);
    }
    out.put_u8(length as u8 & 0x7f);
    out.put_slice(&inner);
}
