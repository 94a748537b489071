//! The tables that say which stream is in which packets.

use bytes::{BufMut, BytesMut};

/// Streams of a program that are read.
const MAX_STREAMS: usize = 32;

/// The check sum of a section (annex A): with it, that of a sound section is 0.
pub(super) fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(u32::MAX, |mut sum, byte| {
        sum ^= u32::from(*byte) << 24;
        for _ in 0..8 {
            sum = if sum & 1 << 31 == 0 { sum << 1 } else { sum << 1 ^ 0x04c1_1db7 };
        }
        sum
    })
}

/// A section of this table with an id and a body, and its check sum.
fn section(table: u8, id: u16, body: &[u8]) -> BytesMut {
    let mut bytes = BytesMut::new();
    bytes.put_u8(table);
    bytes.put_u16(0xb000 | (body.len() + 5 + 4) as u16);
    bytes.put_u16(id);
    // Version 0, which applies now; the only section.
    bytes.put_slice(&[0xc1, 0, 0]);
    bytes.put_slice(body);
    let sum = checksum(&bytes);
    bytes.put_u32(sum);
    bytes
}

/// The table of programs, with one.
pub(super) fn programs(program: u16, pid: u16) -> BytesMut {
    let [a, b] = program.to_be_bytes();
    let [c, d] = (0xe000 | pid).to_be_bytes();
    section(0, 1, &[a, b, c, d])
}

/// The table of the program's streams: of each type and packet identifier; `clock` is that of the one with the clock.
pub(super) fn streams(program: u16, clock: u16, streams: &[(u8, u16)]) -> BytesMut {
    let mut body = BytesMut::new();
    body.put_u16(0xe000 | clock);
    body.put_u16(0xf000);
    for (kind, pid) in streams {
        body.put_u8(*kind);
        body.put_u16(0xe000 | pid);
        body.put_u16(0xf000);
    }
    section(2, program, &body)
}

/// The body of a section of this table whose check sum is right.
fn body(table: u8, section: &[u8]) -> Option<&[u8]> {
    let length = usize::from(u16::from_be_bytes(*section.get(1..)?.first_chunk()?) & 0xfff);
    let section = section.get(..3 + length).filter(|_| section.first() == Some(&table))?;
    // One that is to apply later says so in its sixth byte.
    if length < 9 || checksum(section) != 0 || section[5] & 1 == 0 {
        return None;
    }
    section.get(8..section.len() - 4)
}

/// The packet identifier of the first program's table.
pub(super) fn read_programs(section: &[u8]) -> Option<u16> {
    let mut entries = body(0, section)?.chunks_exact(4);
    entries.find_map(|entry| {
        let program = u16::from_be_bytes([entry[0], entry[1]]);
        (program != 0).then(|| u16::from_be_bytes([entry[2], entry[3]]) & 0x1fff)
    })
}

/// The types and packet identifiers of a program's streams.
pub(super) fn read_streams(section: &[u8]) -> Option<Vec<(u8, u16)>> {
    let body = body(2, section)?;
    let skipped = usize::from(u16::from_be_bytes(*body.get(2..)?.first_chunk()?) & 0xfff);
    let mut rest = body.get(4 + skipped..)?;
    let mut found = Vec::new();
    while let Some(entry) = rest.first_chunk::<5>().filter(|_| found.len() < MAX_STREAMS) {
        found.push((entry[0], u16::from_be_bytes([entry[1], entry[2]]) & 0x1fff));
        let length = usize::from(u16::from_be_bytes([entry[3], entry[4]]) & 0xfff);
        rest = rest.get(5 + length..).unwrap_or_default();
    }
    Some(found)
}
