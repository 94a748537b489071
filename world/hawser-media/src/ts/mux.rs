//! Tags as packets.

use bytes::{BufMut, Bytes, BytesMut};

use super::{AAC, AVC, HEVC, PACKET, SYNC, TICKS, TIME_MASK, section};
use crate::codec::aac::AacConfig;
use crate::codec::{Codec, Setup, UnitKind, unit_kind, units_by_length, with_start_codes};
use crate::flv::{Media, PlayerTimes, Sample, Tag};

/// Identifiers of the packets of tables and streams.
const TABLE_PID: u16 = 0x1000;
const VIDEO_PID: u16 = 0x100;
const AUDIO_PID: u16 = 0x101;
const PROGRAM: u16 = 1;
/// Milliseconds by which the clock lies behind the times of decoding, so that a decoder has time.
const DELAY: u64 = 200;
/// Milliseconds after which tables are repeated where no key frame does it.
const TABLES_AFTER: u64 = 400;
/// Where a picture begins, before the first of its units.
const AVC_DELIMITER: &[u8] = &[0, 0, 0, 1, 9, 0xf0];
const HEVC_DELIMITER: &[u8] = &[0, 0, 0, 1, 0x46, 1, 0x50];

/// Whether a transport stream has a place for this codec.
pub fn can_carry(codec: Codec) -> bool {
    stream_type(codec).is_some()
}

fn stream_type(codec: Codec) -> Option<u8> {
    match codec {
        Codec::Avc => Some(AVC),
        Codec::Hevc => Some(HEVC),
        Codec::Aac => Some(AAC),
        Codec::Av1 | Codec::Opus | Codec::Mp3 => None,
    }
}

/// Writes one stream.
#[derive(Debug, Default)]
pub struct TsMuxer {
    video: Option<Setup>,
    audio: Option<Setup>,
    times: PlayerTimes,
    /// Counters of the packets with tables, video and audio.
    counters: [u8; 4],
    tables_at: Option<u64>,
}

/// Which counter a stream of packets has.
#[derive(Clone, Copy)]
enum Pid {
    Programs,
    Table,
    Video,
    Audio,
}

impl Pid {
    fn number(self) -> u16 {
        match self {
            Pid::Programs => 0,
            Pid::Table => TABLE_PID,
            Pid::Video => VIDEO_PID,
            Pid::Audio => AUDIO_PID,
        }
    }
}

impl TsMuxer {
    /// The packets of a tag; none for what has no place in a transport stream.
    pub fn push(&mut self, tag: &Tag) -> Bytes {
        match tag.media() {
            Some(Media::Setup(setup)) => {
                self.set_up(setup);
                Bytes::new()
            }
            Some(Media::Sample(sample)) => match self.times.next(tag) {
                Some(time) => self.sample(&sample, time),
                None => Bytes::new(),
            },
            None => Bytes::new(),
        }
    }

    fn set_up(&mut self, setup: Setup) {
        if !can_carry(setup.codec) {
            return;
        }
        let place = if setup.codec.is_video() { &mut self.video } else { &mut self.audio };
        if place.as_ref() != Some(&setup) {
            *place = Some(setup);
            // Told at once.
            self.tables_at = None;
        }
    }

    fn sample(&mut self, sample: &Sample, time: u64) -> Bytes {
        let setup = if sample.codec.is_video() { &self.video } else { &self.audio };
        let Some(setup) = setup.as_ref().filter(|setup| setup.codec == sample.codec) else {
            return Bytes::new();
        };
        let is_video = sample.codec.is_video();
        let Some(payload) = payload(setup, sample) else { return Bytes::new() };
        let decoding = time + DELAY;
        let showing = decoding.saturating_add_signed(sample.composition.into());
        let mut packet = pes_header(is_video, decoding, showing, payload.len());
        packet.put_slice(&payload);
        let mut out = BytesMut::with_capacity(packet.len() + packet.len() / 16 + 4 * PACKET);
        let begins = is_video && sample.is_key;
        if begins || self.tables_at.is_none_or(|at| time >= at + TABLES_AFTER) {
            self.tables_at = Some(time);
            self.tables(&mut out);
        }
        // Sound has the clock where there is no picture.
        let clock = (is_video || self.video.is_none()).then_some(time);
        let pid = if is_video { Pid::Video } else { Pid::Audio };
        self.packets(&mut out, pid, &packet, clock, sample.is_key);
        out.freeze()
    }

    fn tables(&mut self, out: &mut BytesMut) {
        let kind = |setup: &Option<Setup>| setup.as_ref().and_then(|setup| stream_type(setup.codec));
        let video = kind(&self.video).map(|kind| (kind, VIDEO_PID));
        let audio = kind(&self.audio).map(|kind| (kind, AUDIO_PID));
        let streams: Vec<(u8, u16)> = video.into_iter().chain(audio).collect();
        let clock = streams.first().map_or(0x1fff, |(_, pid)| *pid);
        for (pid, section) in [
            (Pid::Programs, section::programs(PROGRAM, TABLE_PID)),
            (Pid::Table, section::streams(PROGRAM, clock, &streams)),
        ] {
            self.header(out, pid, true, 1);
            // The section begins at once, and the packet is filled up behind it.
            out.put_u8(0);
            out.put_slice(&section);
            out.put_bytes(0xff, PACKET - 5 - section.len());
        }
    }

    fn header(&mut self, out: &mut BytesMut, pid: Pid, is_first: bool, control: u8) {
        let counter = &mut self.counters[pid as usize];
        out.put_u8(SYNC);
        out.put_u16(if is_first { 0x4000 } else { 0 } | pid.number());
        out.put_u8(control << 4 | *counter);
        *counter = (*counter + 1) & 15;
    }

    /// Cuts a packet of an elementary stream into packets of the transport stream.
    fn packets(&mut self, out: &mut BytesMut, pid: Pid, mut data: &[u8], clock: Option<u64>, is_key: bool) {
        let mut is_first = true;
        while !data.is_empty() {
            let mut field = BytesMut::new();
            if is_first && (clock.is_some() || is_key) {
                field.put_u8(if is_key { 0x40 } else { 0 } | if clock.is_some() { 0x10 } else { 0 });
                if let Some(clock) = clock {
                    // The base has 33 bits, the extension nine, which are 0.
                    field.put_uint(((clock * TICKS) & TIME_MASK) << 15 | 0x7e00, 6);
                }
            }
            let used = if field.is_empty() { 0 } else { field.len() + 1 };
            let room = PACKET - 4 - used;
            let taken = data.len().min(room);
            let stuffing = room - taken;
            let has_field = used > 0 || stuffing > 0;
            self.header(out, pid, is_first, if has_field { 3 } else { 1 });
            if has_field {
                // Without a field before, its length is the first byte of the stuffing, and its flags the second.
                let length = if used > 0 { field.len() + stuffing } else { stuffing - 1 };
                out.put_u8(length as u8);
                if used > 0 {
                    out.put_slice(&field);
                    out.put_bytes(0xff, stuffing);
                } else if length > 0 {
                    out.put_u8(0);
                    out.put_bytes(0xff, length - 1);
                }
            }
            out.put_slice(&data[..taken]);
            data = &data[taken..];
            is_first = false;
        }
    }
}

/// What decoders of a transport stream take: units behind start codes, with parameter sets before key frames, and ADTS.
fn payload(setup: &Setup, sample: &Sample) -> Option<Bytes> {
    match setup.codec {
        Codec::Avc | Codec::Hevc => {
            let units = units_by_length(&sample.data);
            let has = |kind| units.iter().any(|unit| unit_kind(setup.codec, unit) == kind);
            let mut bytes = BytesMut::with_capacity(sample.data.len() + 128);
            if !has(UnitKind::Delimiter) {
                bytes.put_slice(if setup.codec == Codec::Avc { AVC_DELIMITER } else { HEVC_DELIMITER });
            }
            if sample.is_key && !has(UnitKind::ParameterSet) {
                bytes.put_slice(&setup.parameter_sets());
            }
            bytes.put_slice(&with_start_codes(&sample.data));
            Some(bytes.freeze())
        }
        Codec::Aac => {
            let header = AacConfig::read(&setup.record)?.adts_header(sample.data.len())?;
            Some(Bytes::from([&header, &sample.data[..]].concat()))
        }
        Codec::Av1 | Codec::Opus | Codec::Mp3 => None,
    }
}

/// The header of a packet of an elementary stream (section 2.4.3.7), with its times in milliseconds.
fn pes_header(is_video: bool, decoding: u64, showing: u64, size: usize) -> BytesMut {
    let mut bytes = BytesMut::with_capacity(size + 24);
    let has_both = decoding != showing;
    let times = if has_both { 10 } else { 5 };
    bytes.put_slice(&[0, 0, 1, if is_video { 0xe0 } else { 0xc0 }]);
    // Of video the length may be left out, and must be where it does not fit.
    bytes.put_u16(if is_video { 0 } else { u16::try_from(size + 3 + times).unwrap_or(0) });
    // What follows begins with a picture, or a frame of sound.
    bytes.put_slice(&[0x84, if has_both { 0xc0 } else { 0x80 }, times as u8]);
    put_time(&mut bytes, if has_both { 3 } else { 2 }, showing);
    if has_both {
        put_time(&mut bytes, 1, decoding);
    }
    bytes
}

fn put_time(bytes: &mut BytesMut, mark: u64, milliseconds: u64) {
    let time = (milliseconds * TICKS) & TIME_MASK;
    let value = mark << 36
        | (time >> 30 & 7) << 33
        | 1 << 32
        | (time >> 15 & 0x7fff) << 17
        | 1 << 16
        | (time & 0x7fff) << 1
        | 1;
    bytes.put_uint(value, 5);
}
