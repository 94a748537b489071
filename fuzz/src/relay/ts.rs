//! Transport streams, which come from files, over UDP and over SRT. An input is a script of packets, honest and broken, or bytes.

use hawser_media::flv::{MAX_TAG, Tag};
use hawser_media::ts::{PACKET, SYNC, TsCounts, TsReader};
use hawser_wire::Reader;

use super::{BOUNDS, CUTS, life, piece};
use crate::memory::Meter;

/// Identifiers of packets as our own writer has them: programs, table, video, audio.
const PIDS: [u16; 4] = [0, 0x1000, 0x100, 0x101];

fn tags(reader: &mut TsReader) -> impl Iterator<Item = Tag> + '_ {
    std::iter::from_fn(|| reader.next_tag())
}

fn read(bytes: &[u8], cut: usize) -> (Vec<Tag>, TsCounts) {
    let (mut reader, mut found) = (TsReader::default(), Vec::new());
    for piece in bytes.chunks(cut) {
        reader.push(piece);
        found.extend(tags(&mut reader));
    }
    reader.end();
    found.extend(tags(&mut reader));
    (found, reader.counts())
}

/// A stream, however it is cut.
pub(super) fn stream(script: &[u8]) {
    let bytes = made(script);
    let whole = read(&bytes, usize::MAX);
    for cut in CUTS {
        assert_eq!(read(&bytes, cut), whole, "cut into pieces of {cut}");
    }
    check(&whole.0, bytes.len());
    let meter = Meter::start();
    let (mut reader, mut came) = (TsReader::default(), 0);
    for piece in bytes.chunks(PACKET) {
        reader.push(piece);
        came += piece.len();
        tags(&mut reader).for_each(drop);
        meter.check(&BOUNDS, came);
    }
}

/// The same in datagrams of up to seven packets. Where nothing is broken these are read as a stream is.
pub(super) fn datagrams(script: &[u8]) {
    let bytes = made(script);
    let (mut reader, mut found) = (TsReader::default(), Vec::new());
    for datagram in bytes.chunks(7 * PACKET) {
        if let Some(packets) = hawser_live::fuzzing::packets(datagram) {
            assert!(packets.len().is_multiple_of(PACKET) && packets.first() == Some(&SYNC));
        }
        reader.push_datagram(datagram);
        found.extend(tags(&mut reader));
    }
    reader.end();
    found.extend(tags(&mut reader));
    check(&found, bytes.len());
    if bytes.chunks(PACKET).all(|packet| packet.len() == PACKET && packet[0] == SYNC) {
        assert_eq!((found, reader.counts()), read(&bytes, usize::MAX));
    }
}

fn check(found: &[Tag], received: usize) {
    let bytes: usize = found.iter().map(|tag| tag.data.len()).sum();
    // A piece of sound may be empty.
    let is_sound = |tag: &Tag| tag.media().is_some() || tag.data[..] == [0xaf, 1];
    assert!(found.iter().all(|tag| tag.data.len() <= MAX_TAG && is_sound(tag)));
    assert!(found.len() <= received / 3 + 1 && bytes <= 16 * received, "{} tags of {bytes}", found.len());
}

/// The bytes of a script: an honest stream, of which some packets are left out, sent twice or changed, packets with headers of this target and any
/// payload, and any bytes.
fn made(script: &[u8]) -> Vec<u8> {
    let mut script = Reader::new(script);
    let (mut bytes, mut counters) = (Vec::new(), [0u8; 4]);
    let honest = life::transport_stream();
    while let Ok(operation) = script.read_u8() {
        match operation % 8 {
            // So many packets of the honest stream from this one on.
            0 | 1 => {
                let (Ok(from), Ok(count)) = (script.read_u8(), script.read_u8()) else { break };
                let packets = honest.chunks(PACKET).skip(from.into()).take(usize::from(count % 16) + 1);
                packets.for_each(|packet| bytes.extend_from_slice(packet));
            }
            // A byte of the last packet is another one.
            2 | 3 => {
                let (Ok(at), Ok(mask)) = (script.read_u8(), script.read_u8()) else { break };
                let from = bytes.len().saturating_sub(PACKET);
                if let Some(byte) = bytes.get_mut(from + usize::from(at) % PACKET) {
                    *byte ^= mask;
                }
            }
            // A packet with a payload that begins with these bytes.
            4..=6 => {
                let Ok(which) = script.read_u8() else { break };
                let Some(payload) = piece(&mut script) else { break };
                let at = usize::from(which % 4);
                let first = if which & 4 == 0 { 0 } else { 0x4000 };
                bytes.push(SYNC);
                bytes.extend_from_slice(&(PIDS[at] | first).to_be_bytes());
                bytes.push(0x10 | counters[at] & 15);
                counters[at] = counters[at].wrapping_add(1 + (which >> 6));
                bytes.extend_from_slice(&payload[..payload.len().min(PACKET - 4)]);
                bytes.resize(bytes.len().next_multiple_of(PACKET), which >> 3);
            }
            _ => {
                let Some(any) = piece(&mut script) else { break };
                bytes.extend_from_slice(any);
            }
        }
        // Enough of it.
        if bytes.len() > 256 * PACKET {
            break;
        }
    }
    bytes
}
