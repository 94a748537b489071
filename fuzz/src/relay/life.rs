//! The tags of a source on their way to players: through a channel to one who takes all, one who takes nothing and one who comes late,
//! and in every format.
//!
//! An input is a byte of limits, and operations: a set-up, a picture, sound, any tag, the last one again and again, another encoder,
//! players who come and go.

use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;
use hawser_live::fuzzing::Player;
use hawser_media::broadcast::{Channel, Limits, SubscriberId, Unit};
use hawser_media::flv::{FlvReader, Role, Tag, TagKind};
use hawser_media::mp4::{SegmentEvent, Segmenter};
use hawser_media::ts::{PACKET, TsMuxer, TsReader};
use hawser_policy::Time;
use hawser_wire::Reader;

use super::piece;
use crate::memory::{Bounds, Meter};

/// Tags of one input.
const MOST_TAGS: usize = 2_048;
/// Bytes that may wait for a player, and how far the largest tag may go beyond.
const MOST_WAITING: usize = 64 << 10;
const LARGEST: usize = 1_024;
/// Bytes that a tag counts for besides its own.
const FOR_EACH: usize = 64;
const BOUNDS: Bounds = Bounds { held: 2 << 20, held_per_byte: 8, work: 1 << 20, work_per_byte: 256 };

const AVC: &[u8] = b"\x17\0\0\0\0\x01\x64\0\x0d\xff\xe1\0\x1a\x67\x64\0\x0d\xac\xd9\x41\x51\x9e\x22\x6c\x04\x40\0\0\x03\0\x40\0\0\x0c\
                     \x83\xc5\x0a\x65\x80\x01\0\x04\x68\xef\x8f\xcb\xfd\xf8\xf8\0";
const HEVC: &[u8] = b"\x90hvc1\x01\x01\x60\0\0\0\x90\0\0\0\0\0\x3c\xf0\0\xfc\xfd\xf8\xf8\0\0\x0f\x03\x20\0\x01\0\x18\x40\x01\x0c\
                      \x01\xff\xff\x01\x60\0\0\x03\0\x90\0\0\x03\0\0\x03\0\x3c\x95\x98\x09\x21\0\x01\0\x2a\x42\x01\x01\x01\x60\0\
                      \0\x03\0\x90\0\0\x03\0\0\x03\0\x3c\xa0\x0a\x48\x0b\x9c\x95\x96\x56\x69\x24\xca\xf0\x16\x80\x80\0\0\x03\0\
                      \x80\0\0\x0c\x84\x22\0\x01\0\x07\x44\x01\xc1\x72\xb4\x62\x40";
const AV1: &[u8] = b"\x90av01\x81\0\x0c\0\x0a\x0b\0\0\0\x04\x3d\x06\xd4\x02\xf8\0\x40";
const AAC: &[u8] = b"\xaf\0\x12\x08";
const OPUS: &[u8] = b"\x90OpusOpusHead\x01\x02\x38\x01\x80\xbb\0\0\0\0\0";
const META: &[u8] = b"\x02\0\x0aonMetaData\x08\0\0\0\0\0\0\x09";

/// Set-ups, and how a picture or a piece of sound begins behind each.
const SET_UPS: [(TagKind, &[u8], &[u8], &[u8]); 6] = [
    (TagKind::Video, AVC, b"\x17\x01\0\0\x28\0\0\0\x05\x65", b"\x27\x01\0\0\0\0\0\0\x05\x41"),
    (TagKind::Video, HEVC, b"\x93hvc1\0\0\0\x05\x26", b"\xa1hvc1\0\0\x14\0\0\0\x05\x02"),
    (TagKind::Video, AV1, b"\x91av01\x12\0\x0a", b"\xa1av01\x12\0\x32"),
    (TagKind::Audio, AAC, b"\xaf\x01\x21", b"\xaf\x01\x22"),
    (TagKind::Audio, OPUS, b"\x91Opus\xfc", b"\x91Opus\xfd"),
    (TagKind::Script, META, META, META),
];

/// A tag whose body is one of these beginnings and so many bytes more.
fn tag(kind: TagKind, timestamp: u32, head: &[u8], size: usize) -> Tag {
    let body = (0..size).map(|at| (at as u8).wrapping_mul(7) | 1);
    Tag { kind, timestamp, data: head.iter().copied().chain(body).collect() }
}

/// A second of pictures and sound as a transport stream.
pub(super) fn transport_stream() -> &'static [u8] {
    static STREAM: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let mut muxer = TsMuxer::default();
        let mut tags = vec![tag(TagKind::Video, 0, AVC, 0), tag(TagKind::Audio, 0, AAC, 0)];
        for at in 0..25 {
            let (first, unit) = if at % 10 == 0 { (0x17, 0x65) } else { (0x27, 0x41) };
            let size: u32 = 10 + 60 * (at % 7);
            let head = [&[first, 1, 0, 0, 40][..], &(size + 1).to_be_bytes(), &[unit]].concat();
            tags.push(tag(TagKind::Video, 40 * at, &head, size as usize));
            tags.push(tag(TagKind::Audio, 40 * at + 10, SET_UPS[3].2, 90));
        }
        tags.iter().flat_map(|tag| muxer.push(tag)).collect()
    });
    &STREAM
}

struct World {
    channel: Channel,
    now: Time,
    timestamp: u32,
    last: Tag,
    tags: usize,
    bytes: usize,
    fast: SubscriberId,
    slow: SubscriberId,
    late: Option<SubscriberId>,
    /// The last unit besides headers that the fast one got.
    number: Option<u32>,
    players: [Player; 3],
    flv: FlvReader,
    ts: TsReader,
    segmenter: Segmenter,
    meter: Meter,
}

/// A script.
pub(super) fn of_tags(data: &[u8]) {
    let mut script = Reader::new(data);
    let Ok(limits) = script.read_u8() else { return };
    let meter = Meter::start();
    let lag = (limits & 1 == 1).then(|| Duration::from_millis(100));
    let span = [500, 4_000, 60_000][usize::from(limits >> 1) % 3];
    let mut channel = Channel::new(Limits { bytes: MOST_WAITING, span, lag }, 7);
    let (fast, slow) = (channel.subscribe(), channel.subscribe());
    let mut world = World {
        channel,
        now: Time::ZERO,
        timestamp: 0,
        last: tag(TagKind::Script, 0, META, 0),
        tags: 0,
        bytes: 0,
        fast,
        slow,
        late: None,
        number: None,
        players: Player::all(),
        flv: FlvReader::default(),
        ts: TsReader::default(),
        segmenter: Segmenter::new(400),
        meter,
    };
    while world.tags < MOST_TAGS && world.step(&mut script).is_some() {}
    world.end();
}

impl World {
    fn step(&mut self, script: &mut Reader<'_>) -> Option<()> {
        match script.read_u8().ok()? % 8 {
            0 => {
                let (kind, set_up, ..) = SET_UPS[usize::from(script.read_u8().ok()?) % SET_UPS.len()];
                self.push(tag(kind, self.timestamp, set_up, 0));
            }
            1..=3 => {
                let (which, size, step) =
                    (script.read_u8().ok()?, script.read_u8().ok()?, script.read_u8().ok()?);
                let (kind, _, key, other) = SET_UPS[usize::from(which) % SET_UPS.len()];
                self.timestamp = self.timestamp.wrapping_add(step.into());
                let head = if which & 64 == 0 { key } else { other };
                self.push(tag(kind, self.timestamp, head, size.into()));
            }
            // Any.
            4 => {
                let (kind, timestamp) = (script.read_u8().ok()?, script.read_u32().ok()?);
                let kind = [TagKind::Audio, TagKind::Video, TagKind::Script][usize::from(kind % 3)];
                let data = Bytes::copy_from_slice(piece(script)?);
                self.timestamp = timestamp;
                self.push(Tag { kind, timestamp, data });
            }
            5 => {
                let (count, step) = (script.read_u8().ok()?, script.read_u8().ok()?);
                for _ in 0..count {
                    self.timestamp = self.timestamp.wrapping_add(step.into());
                    self.push(Tag { timestamp: self.timestamp, ..self.last.clone() });
                }
            }
            6 => {
                self.now += Duration::from_millis(script.read_u16().ok()?.into());
            }
            _ => match script.read_u8().ok()? % 4 {
                0 => self.channel.begin_encoder(),
                1 => {
                    self.leave();
                    let late = self.channel.subscribe();
                    self.check_beginning(late);
                    self.late = Some(late);
                }
                2 => self.leave(),
                _ => while self.channel.next(self.now, self.slow).is_some() {},
            },
        }
        Some(())
    }

    fn leave(&mut self) {
        if let Some(late) = self.late.take() {
            let _ = self.channel.unsubscribe(late);
        }
    }

    /// Who comes begins with headers and then something that can be shown.
    fn check_beginning(&mut self, late: SubscriberId) {
        let unit = loop {
            match self.channel.next(self.now, late) {
                Some(unit) if unit.role.is_header() => {}
                other => break other,
            }
        };
        assert!(unit.is_none_or(|unit| unit.role == Role::KeyFrame || unit.is_alone));
    }

    fn push(&mut self, tag: Tag) {
        self.tags += 1;
        self.bytes += tag.data.len() + FOR_EACH;
        self.last = tag.clone();
        self.now += Duration::from_millis(1);
        self.channel.push_tag(self.now, tag);
        while let Some(unit) = self.channel.next(self.now, self.fast) {
            if !unit.role.is_header() {
                assert!(self.number.is_none_or(|before| unit.number > before), "in order");
                self.number = Some(unit.number);
            }
            self.show(unit);
        }
        assert!(self.channel.is_drained(self.fast));
        for id in [Some(self.slow), self.late].into_iter().flatten() {
            let waiting = self.channel.waiting(id);
            assert!(waiting <= MOST_WAITING + LARGEST, "{waiting} bytes wait");
        }
        self.meter.check(&BOUNDS, self.bytes);
    }

    /// A player of each format gets a unit, and what he gets can be read.
    fn show(&mut self, unit: Unit) {
        for event in self.segmenter.push(&unit.tag) {
            match event {
                SegmentEvent::Header(tracks, bytes) => {
                    assert!(tracks.media_type().contains("codecs="));
                    boxes(&bytes);
                }
                SegmentEvent::Part(part) => boxes(&part.bytes),
            }
        }
        let [flv, mp4, ts] = &mut self.players;
        let bytes = flv.write(unit.clone()).expect("FLV takes every set-up");
        self.flv.push(&bytes);
        while self.flv.next_tag().expect("sound FLV").is_some() {}
        match mp4.write(unit.clone()) {
            Some(bytes) => boxes(&bytes),
            None => {
                let [_, fresh, _] = Player::all();
                *mp4 = fresh;
            }
        }
        let bytes = ts.write(unit).expect("a transport stream takes every set-up");
        assert!(bytes.len().is_multiple_of(PACKET));
        self.ts.push_datagram(&bytes);
        while self.ts.next_tag().is_some() {}
        let counts = self.ts.counts();
        assert_eq!((counts.skipped_bytes, counts.missing_packets, counts.broken), (0, 0, 0));
    }

    fn end(mut self) {
        if let Some(part) = self.segmenter.finish() {
            boxes(&part.bytes);
        }
        self.leave();
        for id in [self.fast, self.slow] {
            let _ = self.channel.unsubscribe(id);
        }
        assert_eq!(self.channel.subscribers(), 0);
    }
}

/// Boxes of MP4 lie one behind the other.
fn boxes(mut bytes: &[u8]) {
    while let Some(length) = bytes.first_chunk::<4>() {
        let length = u32::from_be_bytes(*length) as usize;
        assert!((8..=bytes.len()).contains(&length), "a box of {length} bytes in {}", bytes.len());
        bytes = &bytes[length..];
    }
    assert!(bytes.is_empty());
}
