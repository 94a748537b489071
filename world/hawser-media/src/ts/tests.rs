use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::flv::{Tag, TagKind};

const AVC: &[u8] = b"\x17\0\0\0\0\x01\x64\0\x0d\xff\xe1\0\x1a\x67\x64\0\x0d\xac\xd9\x41\x51\x9e\x22\x6c\x04\x40\0\0\x03\0\x40\0\0\x0c\
                     \x83\xc5\x0a\x65\x80\x01\0\x04\x68\xef\x8f\xcb\xfd\xf8\xf8\0";
const AAC: &[u8] = b"\xaf\0\x12\x08";

fn tag(kind: TagKind, timestamp: u32, data: &[u8]) -> Tag {
    Tag { kind, timestamp, data: Bytes::copy_from_slice(data) }
}

/// A picture of this size, with a unit of each kind in it that has no zeros.
fn picture(timestamp: u32, is_key: bool, size: usize) -> Tag {
    let (first, unit) = if is_key { (0x17, 0x65) } else { (0x27, 0x41) };
    let head = [first, 1, 0, 0, 120];
    let length = (size as u32 + 1).to_be_bytes();
    tag(TagKind::Video, timestamp, &[&head[..], &length, &[unit], &vec![0xab; size]].concat())
}

fn clip() -> Vec<Tag> {
    let mut tags = vec![tag(TagKind::Video, 0, AVC), tag(TagKind::Audio, 0, AAC)];
    for at in 0..50 {
        // Sizes for which the last packet is filled up by each number of bytes.
        tags.push(picture(40 * at, at % 25 == 0, 100 + at as usize * 37));
        tags.push(tag(
            TagKind::Audio,
            40 * at + 10,
            &[&[0xaf, 1][..], &vec![at as u8; 150 + at as usize]].concat(),
        ));
    }
    tags
}

fn muxed(tags: &[Tag]) -> Vec<u8> {
    let mut muxer = TsMuxer::default();
    tags.iter().flat_map(|tag| muxer.push(tag)).collect()
}

fn read(pieces: impl IntoIterator<Item = Vec<u8>>) -> (Vec<Tag>, TsCounts) {
    let mut reader = TsReader::default();
    let mut tags = Vec::new();
    for piece in pieces {
        reader.push(&piece);
        tags.extend(std::iter::from_fn(|| reader.next_tag()));
    }
    reader.end();
    tags.extend(std::iter::from_fn(|| reader.next_tag()));
    (tags, reader.counts())
}

/// Tags of one kind, with times from the first one.
fn of(kind: TagKind, tags: &[Tag]) -> Vec<(u32, Bytes)> {
    let tags = tags.iter().filter(|tag| tag.kind == kind && !tag.role().is_header());
    let tags: Vec<_> = tags.collect();
    tags.iter().map(|tag| (tag.timestamp - tags[0].timestamp, tag.data.clone())).collect()
}

#[test]
fn what_is_written_is_read_again_wherever_it_is_cut() {
    let tags = clip();
    let bytes = muxed(&tags);
    assert!(bytes.len().is_multiple_of(PACKET) && bytes.chunks(PACKET).all(|packet| packet[0] == SYNC));
    for size in [1, 100, 188, 1_316, 100_000] {
        let (got, counts) = read(bytes.chunks(size).map(<[u8]>::to_vec));
        assert_eq!(counts, TsCounts::default());
        for kind in [TagKind::Video, TagKind::Audio] {
            assert_eq!(of(kind, &got), of(kind, &tags), "{size}");
        }
        // A picture is complete when the next one begins, and its set-up comes with it.
        let headers: Vec<&Tag> = got.iter().filter(|tag| tag.role().is_header()).collect();
        assert_eq!(headers.iter().map(|tag| &tag.data[..]).collect::<Vec<_>>(), [AAC, AVC]);
    }
}

#[test]
fn a_picture_that_lacks_a_packet_is_left_out_and_the_rest_is_read() {
    let tags = clip();
    let mut packets: Vec<Vec<u8>> = muxed(&tags).chunks(PACKET).map(<[u8]>::to_vec).collect();
    let begins = |packet: &[u8], pid: u8| packet[1] == 0x41 && packet[2] == pid;
    let sixth = packets.iter().enumerate().filter(|(_, packet)| begins(packet, 0)).nth(5).unwrap().0;
    packets.remove(sixth + 1);
    // Noise between two packets.
    packets.insert(sixth + 10, vec![0x47, 1, 2, 3]);
    let (got, counts) = read(packets);
    assert_eq!((counts.missing_packets, counts.broken, counts.skipped_bytes), (1, 1, 4));
    let mut wanted = of(TagKind::Video, &tags);
    wanted.remove(5);
    assert_eq!(of(TagKind::Video, &got), wanted);
    assert_eq!(of(TagKind::Audio, &got), of(TagKind::Audio, &tags));
}

/// What looks like a packet is one if another follows it, wherever the bytes are cut; in datagrams, also at their end.
#[test]
fn a_packet_is_one_by_what_follows_it() {
    let good = muxed(&clip()[..4]);
    let mut fake = good[..PACKET].to_vec();
    fake.push(0);
    let bytes = [&fake[..], &good].concat();
    for size in [1, 7, PACKET, bytes.len()] {
        let (_, counts) = read(bytes.chunks(size).map(<[u8]>::to_vec));
        assert_eq!(counts, TsCounts { skipped_bytes: fake.len() as u64, ..TsCounts::default() }, "{size}");
    }
    let mut reader = TsReader::default();
    let sound = |reader: &mut TsReader| {
        std::iter::from_fn(|| reader.next_tag()).filter(|tag| tag.kind == TagKind::Audio).count()
    };
    reader.push(&muxed(&clip()[1..4]));
    assert_eq!(sound(&mut reader), 0, "its last packet waits");
    reader.push_datagram(&[]);
    assert_eq!(sound(&mut reader), 2, "a set-up and a piece");
}

#[test]
fn pieces_of_sound_in_one_packet_have_a_cap() {
    let frame = [0xff, 0xf1, 0x50, 0x80, 0, 0xff, 0xfc];
    let mut pes = vec![0, 0, 1, 0xc0, 0, 0, 0x84, 0x80, 5, 0x21, 0, 1, 0, 1];
    pes.extend(frame.repeat(6_000));
    let mut bytes = muxed(&clip()[1..4])[..2 * PACKET].to_vec();
    for (at, piece) in pes.chunks(PACKET - 4).enumerate() {
        bytes.extend_from_slice(&[SYNC, if at == 0 { 0x41 } else { 1 }, 1, 0x10 | at as u8 & 15]);
        bytes.extend_from_slice(piece);
        bytes.resize(bytes.len().next_multiple_of(PACKET), 0);
    }
    let (tags, _) = read([bytes]);
    assert_eq!(tags.len(), 4_096);
}

#[test]
fn times_go_on_when_their_33_bits_are_used_up() {
    let mut bytes = muxed(&clip());
    // 95,443.717 s: the clock begins half a second before it wraps.
    let shift = TIME_MASK - 45_000;
    for packet in
        bytes.chunks_mut(PACKET).filter(|packet| packet[1] & 0x40 != 0 && packet[2] != 0 || packet[1] == 0x41)
    {
        let at = 4 + if packet[3] & 0x20 == 0 { 0 } else { 1 + usize::from(packet[4]) };
        if packet.get(at..at + 3) != Some(&[0, 0, 1]) {
            continue;
        }
        for at in [at + 9, at + 14].into_iter().take(if packet[at + 7] & 0x40 == 0 { 1 } else { 2 }) {
            let old = u64::from_be_bytes([
                0,
                0,
                0,
                packet[at],
                packet[at + 1],
                packet[at + 2],
                packet[at + 3],
                packet[at + 4],
            ]);
            let time = (old >> 33 & 7) << 30 | (old >> 17 & 0x7fff) << 15 | old >> 1 & 0x7fff;
            let time = (time + shift) & TIME_MASK;
            let new = old >> 36 << 36
                | (time >> 30) << 33
                | 1 << 32
                | (time >> 15 & 0x7fff) << 17
                | 1 << 16
                | (time & 0x7fff) << 1
                | 1;
            packet[at..at + 5].copy_from_slice(&new.to_be_bytes()[3..]);
        }
    }
    let (got, _) = read([bytes]);
    let times = |tags: &[Tag]| of(TagKind::Video, tags).iter().map(|(time, _)| *time).collect::<Vec<_>>();
    let (got, wanted) = (times(&got), times(&clip()));
    assert_eq!(got.len(), wanted.len());
    assert!(got.iter().zip(&wanted).all(|(got, wanted)| got.abs_diff(*wanted) <= 1), "{got:?}");
}

proptest! {
    #[test]
    fn noise_and_broken_packets_are_survived(
        flips in proptest::collection::vec((any::<usize>(), any::<u8>()), 0..40),
        noise in proptest::collection::vec(any::<u8>(), 0..2_000),
    ) {
        let mut bytes = muxed(&clip());
        let length = bytes.len();
        for (at, value) in flips {
            bytes[at % length] = value;
        }
        bytes.extend(noise);
        let (tags, _) = read([bytes]);
        prop_assert!(tags.len() <= 200);
    }
}
