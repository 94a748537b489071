use bytes::Bytes;

use super::*;
use crate::flv::{Tag, TagKind};

const AVC: &[u8] = b"\x17\0\0\0\0\x01\x64\0\x0d\xff\xe1\0\x1a\x67\x64\0\x0d\xac\xd9\x41\x51\x9e\x22\x6c\x04\x40\0\0\x03\0\x40\0\0\x0c\
                     \x83\xc5\x0a\x65\x80\x01\0\x04\x68\xef\x8f\xcb\xfd\xf8\xf8\0";
const AAC: &[u8] = b"\xaf\0\x12\x08";

fn tag(kind: TagKind, timestamp: u32, data: &[u8]) -> Tag {
    Tag { kind, timestamp, data: Bytes::copy_from_slice(data) }
}

fn picture(timestamp: u32, is_key: bool) -> Tag {
    let first = if is_key { 0x17 } else { 0x27 };
    tag(TagKind::Video, timestamp, &[&[first, 1, 0, 0, 80, 0, 0, 0, 2][..], &[0x65, 1]].concat())
}

fn sound(timestamp: u32) -> Tag {
    tag(TagKind::Audio, timestamp, &[0xaf, 1, 9, 9, 9])
}

/// The boxes in these bytes: type, and what is in them.
fn boxes(mut data: &[u8]) -> Vec<(String, &[u8])> {
    let mut found = Vec::new();
    while !data.is_empty() {
        let length = u32::from_be_bytes(*data.first_chunk().unwrap()) as usize;
        let (one, rest) = data.split_at(length);
        found.push((String::from_utf8(one[4..8].to_vec()).unwrap(), &one[8..]));
        data = rest;
    }
    found
}

fn names(data: &[u8]) -> Vec<String> {
    boxes(data).into_iter().map(|(name, _)| name).collect()
}

/// What is in the box at the end of this path.
fn inside<'a>(data: &'a [u8], path: &[&str]) -> &'a [u8] {
    path.iter().fold(data, |data, name| boxes(data).into_iter().find(|(found, _)| found == name).unwrap().1)
}

#[test]
fn a_stream_begins_with_its_tracks_and_each_picture_is_a_fragment() {
    let mut muxer = Mp4Muxer::default();
    for header in [tag(TagKind::Video, 0, AVC), tag(TagKind::Audio, 0, AAC)] {
        assert_eq!(muxer.push(&header, 0), Mp4Event::Nothing);
    }
    let Mp4Event::Begin(kind, bytes) = muxer.push(&picture(5_000, true), 1_000_500) else { panic!() };
    assert_eq!(kind, "video/mp4; codecs=\"avc1.64000d,mp4a.40.2\"");
    assert_eq!(names(&bytes), ["ftyp", "moov", "prft", "moof", "mdat"]);
    assert_eq!(names(inside(&bytes, &["moov"])), ["mvhd", "trak", "trak", "mvex"]);
    let table = inside(&bytes, &["moov", "trak", "mdia", "minf", "stbl", "stsd"]);
    let entry = boxes(&table[8..])[0].1;
    assert_eq!(entry[24..28], [1, 66, 0, 182], "322x182 pixels");
    // Made 1000.5 s after 1970.
    let prft = inside(&bytes, &["prft"]);
    let seconds = u32::from_be_bytes(prft[8..12].try_into().unwrap());
    assert_eq!((seconds, prft[12]), (2_208_988_800 + 1_000, 0x80));
    let Mp4Event::Bytes(bytes) = muxer.push(&picture(5_033, false), 0) else { panic!() };
    assert_eq!(names(&bytes), ["prft", "moof", "mdat"]);
    let fragment = inside(&bytes, &["moof", "traf"]);
    assert_eq!(u64::from_be_bytes(inside(fragment, &["tfdt"])[4..].try_into().unwrap()), 33);
    let run = inside(fragment, &["trun"]);
    // The duration is that of the step before, and the picture is shown 80 ms later.
    assert_eq!((run[15], run[27], run[20] & 1), (33, 80, 1));
    let offset = u32::from_be_bytes(run[8..12].try_into().unwrap()) as usize;
    let moof_at = bytes.len() - 8 - 6 - (offset - 8);
    assert_eq!(bytes[moof_at + offset..], [0, 0, 0, 2, 0x65, 1]);
    let Mp4Event::Bytes(bytes) = muxer.push(&sound(5_040), 0) else { panic!() };
    assert_eq!(names(&bytes), ["moof", "mdat"]);
}

#[test]
fn another_set_up_ends_the_stream_and_the_same_does_not() {
    let mut muxer = Mp4Muxer::default();
    muxer.push(&tag(TagKind::Video, 0, AVC), 0);
    muxer.push(&picture(0, true), 0);
    assert_eq!(muxer.push(&tag(TagKind::Video, 0, AVC), 0), Mp4Event::Nothing);
    // Sound of which nothing was known when the stream began.
    assert_eq!(muxer.push(&sound(10), 0), Mp4Event::Nothing);
    assert_eq!(muxer.push(&tag(TagKind::Audio, 0, AAC), 0), Mp4Event::Changed);
    // One whose record is broken is none.
    let broken = tag(TagKind::Video, 0, &AVC[..20]);
    assert_eq!(muxer.push(&broken, 0), Mp4Event::Nothing);
}

fn parts(events: Vec<SegmentEvent>) -> Vec<Part> {
    events
        .into_iter()
        .filter_map(|event| match event {
            SegmentEvent::Part(part) => Some(part),
            SegmentEvent::Header(..) => None,
        })
        .collect()
}

#[test]
fn segments_begin_with_key_frames_and_parts_have_exact_durations() {
    let mut segmenter = Segmenter::new(400);
    segmenter.push(&tag(TagKind::Video, 0, AVC));
    segmenter.push(&tag(TagKind::Audio, 0, AAC));
    let mut found = Vec::new();
    for at in 0..75 {
        let events = segmenter.push(&picture(7_000 + 40 * at, at % 25 == 0));
        assert_eq!(matches!(events.first(), Some(SegmentEvent::Header(..))), at == 0);
        found.extend(parts(events));
        found.extend(parts(segmenter.push(&sound(7_010 + 40 * at))));
    }
    found.extend(segmenter.finish());
    let starts: Vec<(u64, u32, bool)> =
        found.iter().map(|part| (part.start, part.duration, part.starts_segment)).collect();
    let second = |at: u64| [(at, 400, true), (at + 400, 400, false), (at + 800, 200, false)];
    assert_eq!(starts, [second(0), second(1_000), second(2_000)].concat());
    assert!(found.iter().all(|part| part.is_independent == part.starts_segment));
    assert!(found.iter().all(|part| names(&part.bytes) == ["moof", "mdat"]));
}

#[test]
fn sound_alone_is_cut_by_time_and_another_set_up_begins_with_a_header() {
    let mut segmenter = Segmenter::new(500);
    segmenter.push(&tag(TagKind::Audio, 0, AAC));
    let mut found = Vec::new();
    for at in 0..100 {
        found.extend(parts(segmenter.push(&sound(at * 50))));
    }
    let starts: Vec<u64> = found.iter().filter(|part| part.starts_segment).map(|part| part.start).collect();
    assert_eq!(starts, [0, 2_000, 4_000]);
    let events = segmenter.push(&tag(TagKind::Audio, 5_000, b"\xaf\0\x11\x90"));
    assert_eq!(parts(events).len(), 1);
    assert!(matches!(segmenter.push(&sound(5_000))[..], [SegmentEvent::Header(..)]));
}

#[test]
fn an_encoder_without_key_frames_does_not_fill_the_memory() {
    let mut segmenter = Segmenter::new(u32::MAX);
    segmenter.push(&tag(TagKind::Video, 0, AVC));
    let mut found = Vec::new();
    for at in 0..600 {
        found.extend(parts(segmenter.push(&picture(40 * at, at == 0))));
    }
    assert_eq!(found.iter().map(|part| part.start).collect::<Vec<_>>(), [0, 10_000]);
}

/// One that announces pictures and sends sound alone, be its clock at rest.
#[test]
fn sound_without_the_pictures_that_were_announced_does_not_fill_the_memory() {
    for step in [20, 0] {
        let mut segmenter = Segmenter::new(400);
        segmenter.push(&tag(TagKind::Video, 0, AVC));
        segmenter.push(&tag(TagKind::Audio, 0, AAC));
        let mut lengths = Vec::new();
        for at in 0..700_000 {
            lengths.extend(parts(segmenter.push(&sound(step * at))).iter().map(|part| part.bytes.len()));
            if lengths.len() == 2 {
                break;
            }
        }
        assert_eq!(lengths.len(), 2, "parts end");
        // The clock ends them after ten seconds of 50 pieces each, or what is kept of them after 16 MiB.
        assert!(lengths.iter().all(|length| *length <= 16 << 20), "{lengths:?}");
    }
}
