//! Packets as tags: of the first video and the first audio stream of the first program.

use std::collections::VecDeque;

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::{AAC, AVC, HEVC, PACKET, SYNC, TICKS, TIME_MASK, section};
use crate::codec::aac::{AacConfig, FRAME_SAMPLES, adts_frame};
use crate::codec::{Codec, Setup, UnitKind, unit_kind, units_by_start_code, with_lengths};
use crate::flv::{MAX_TAG, Tag, TagKind};

/// Bytes of a table at most (section 2.4.4.4).
const MAX_SECTION: usize = 1_024;
/// Tags that wait at most: one packet of sound has some dozens of frames.
const MAX_TAGS: usize = 4_096;

/// What was not as it should be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TsCounts {
    /// Bytes between packets.
    pub skipped_bytes: u64,
    /// Packets that are missing, by their counters.
    pub missing_packets: u64,
    /// Pictures and pieces of sound of which something was missing; they are left out.
    pub broken: u64,
    /// Streams of a codec that is not read.
    pub unknown_streams: u64,
}

/// One elementary stream.
#[derive(Debug)]
struct Stream {
    pid: u16,
    codec: Codec,
    /// The packet of the stream that is being put together, and whether one has begun.
    packet: BytesMut,
    has_begun: bool,
    counter: Option<u8>,
    setup: Option<Setup>,
    /// Times without the wrap of 33 bits, in ticks.
    last_time: Option<u64>,
}

/// Reads packets as they come. It keeps one picture and one piece of sound, [`MAX_TAG`] bytes each, and [`MAX_TAGS`] of what was read.
#[derive(Debug, Default)]
pub struct TsReader {
    buffer: BytesMut,
    table_pid: Option<u16>,
    section: BytesMut,
    streams: Vec<Stream>,
    tags: VecDeque<Tag>,
    counts: TsCounts,
}

impl TsReader {
    /// Takes the next bytes of a stream, wherever it is cut. A packet is one if another follows it, so that the last one waits.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
        self.take_packets(false);
    }

    /// Takes a datagram, at whose end a packet ends: nothing waits.
    pub fn push_datagram(&mut self, datagram: &[u8]) {
        self.buffer.extend_from_slice(datagram);
        self.take_packets(true);
    }

    /// The next tag.
    pub fn next_tag(&mut self) -> Option<Tag> {
        self.tags.pop_front()
    }

    /// The stream is over: what has begun is complete.
    pub fn end(&mut self) {
        self.take_packets(true);
        for at in 0..self.streams.len() {
            self.complete(at);
        }
    }

    /// What was wrong until now.
    pub fn counts(&self) -> TsCounts {
        self.counts
    }

    /// Reads the packets that are there; `ends`: a packet ends where the bytes do.
    fn take_packets(&mut self, ends: bool) {
        loop {
            let skipped = self.buffer.iter().position(|byte| *byte == SYNC).unwrap_or(self.buffer.len());
            self.skip(skipped);
            match self.buffer.get(PACKET) {
                Some(&SYNC) => {}
                // What looks like a packet is none.
                Some(_) => {
                    self.skip(1);
                    continue;
                }
                None if ends && self.buffer.len() == PACKET => {}
                None => return,
            }
            let packet = self.buffer.split_to(PACKET).freeze();
            self.packet(&packet);
        }
    }

    fn skip(&mut self, count: usize) {
        self.counts.skipped_bytes += count as u64;
        self.buffer.advance(count);
    }

    fn packet(&mut self, packet: &Bytes) {
        let pid = u16::from_be_bytes([packet[1], packet[2]]) & 0x1fff;
        let (has_error, is_first) = (packet[1] & 0x80 != 0, packet[1] & 0x40 != 0);
        let (control, counter) = (packet[3] >> 4 & 3, packet[3] & 15);
        let begin = if control & 2 == 0 { 4 } else { 5 + usize::from(packet[4]) };
        // Scrambled, without a payload, or broken on its way.
        if control & 1 == 0 || has_error || packet[3] & 0xc0 != 0 || begin >= PACKET {
            return;
        }
        let payload = &packet[begin..];
        if pid == 0 || Some(pid) == self.table_pid {
            self.table(pid, is_first, payload);
        } else if let Some(at) = self.streams.iter().position(|stream| stream.pid == pid) {
            self.elementary(at, is_first, counter, payload);
        }
    }

    fn table(&mut self, pid: u16, is_first: bool, payload: &[u8]) {
        // Programs have short tables, whose sections begin and end in one packet.
        if is_first {
            let Some(section) = payload.get(1 + usize::from(payload[0])..) else { return };
            self.section.clear();
            self.section.put_slice(section);
        } else if pid != 0 && self.section.len() + payload.len() <= MAX_SECTION {
            self.section.put_slice(payload);
        }
        if pid == 0 {
            if let Some(found) = section::read_programs(&self.section) {
                self.table_pid = Some(found);
            }
        } else if let Some(found) = section::read_streams(&self.section) {
            self.choose(&found);
        }
    }

    /// Takes the first video and the first audio stream that can be read.
    fn choose(&mut self, found: &[(u8, u16)]) {
        let codec = |kind: u8| match kind {
            AVC => Some(Codec::Avc),
            HEVC => Some(Codec::Hevc),
            AAC => Some(Codec::Aac),
            _ => None,
        };
        let known: Vec<(Codec, u16)> =
            found.iter().filter_map(|(kind, pid)| Some((codec(*kind)?, *pid))).collect();
        let video = known.iter().find(|(codec, _)| codec.is_video());
        let audio = known.iter().find(|(codec, _)| !codec.is_video());
        let chosen: Vec<(Codec, u16)> = video.into_iter().chain(audio).copied().collect();
        let is_same = self.streams.len() == chosen.len()
            && self.streams.iter().all(|stream| chosen.contains(&(stream.codec, stream.pid)));
        if is_same {
            return;
        }
        self.counts.unknown_streams += (found.len() - known.len()) as u64;
        self.streams = chosen
            .into_iter()
            .map(|(codec, pid)| Stream {
                pid,
                codec,
                packet: BytesMut::new(),
                has_begun: false,
                counter: None,
                setup: None,
                last_time: None,
            })
            .collect();
    }

    fn elementary(&mut self, at: usize, is_first: bool, counter: u8, payload: &[u8]) {
        let stream = &mut self.streams[at];
        if let Some(last) = stream.counter.replace(counter) {
            let step = counter.wrapping_sub(last) & 15;
            if step == 0 {
                // A packet may be sent twice (section 2.4.3.3).
                return;
            }
            if step > 1 {
                self.counts.missing_packets += u64::from(step) - 1;
                if std::mem::take(&mut stream.has_begun) {
                    self.counts.broken += 1;
                }
                stream.packet.clear();
            }
        }
        if is_first {
            self.complete(at);
            self.streams[at].has_begun = true;
        }
        let stream = &mut self.streams[at];
        if !stream.has_begun {
            return;
        }
        if stream.packet.len() + payload.len() > MAX_TAG {
            (stream.has_begun, self.counts.broken) = (false, self.counts.broken + 1);
            stream.packet.clear();
            return;
        }
        stream.packet.put_slice(payload);
        // One that says how long it is need not wait for the next one.
        let said = stream
            .packet
            .get(4..6)
            .map_or(0, |length| usize::from(u16::from_be_bytes([length[0], length[1]])));
        if said > 0 && stream.packet.len() >= said + 6 {
            stream.packet.truncate(said + 6);
            self.complete(at);
        }
    }

    /// Makes tags of what was put together.
    fn complete(&mut self, at: usize) {
        let stream = &mut self.streams[at];
        let packet = stream.packet.split().freeze();
        if !std::mem::take(&mut stream.has_begun) || packet.is_empty() {
            return;
        }
        let Some((showing, decoding, data)) = pes(&packet) else {
            self.counts.broken += 1;
            return;
        };
        let decoding = stream.unwrap_time(decoding);
        let composition = (showing.wrapping_sub(decoding) & TIME_MASK) as i64;
        // A difference of 33 bits, which may be negative.
        let composition = if composition > (TIME_MASK / 2) as i64 {
            composition - (TIME_MASK as i64 + 1)
        } else {
            composition
        };
        let composition = i32::try_from(composition / TICKS as i64).unwrap_or(0);
        let tags = match stream.codec {
            Codec::Aac => stream.sound(data, decoding),
            _ => stream.picture(data, decoding, composition),
        };
        if self.tags.len() < MAX_TAGS {
            self.tags.extend(tags);
        }
    }
}

impl Stream {
    /// A time of 33 bits that goes on from the last one.
    fn unwrap_time(&mut self, time: u64) -> u64 {
        let last = self.last_time.unwrap_or(time);
        let step = time.wrapping_sub(last) & TIME_MASK;
        let next =
            if step <= TIME_MASK / 2 { last + step } else { last.saturating_sub(TIME_MASK + 1 - step) };
        self.last_time = Some(next);
        next
    }

    /// The tags of a picture: its set-up before it, where that is another one.
    fn picture(&mut self, data: &[u8], decoding: u64, composition: i32) -> Vec<Tag> {
        let codec = self.codec;
        let units = units_by_start_code(data);
        let is_key = units.iter().any(|unit| unit_kind(codec, unit) == UnitKind::KeySlice);
        let mut tags = Vec::new();
        let time = (decoding / TICKS) as u32;
        if let Some(setup) = Setup::of_units(codec, &units).filter(|setup| self.setup.as_ref() != Some(setup))
        {
            tags.push(video_tag(codec, 1, 0, 0, time, &setup.record));
            self.setup = Some(setup);
        }
        let kept = units
            .into_iter()
            .filter(|unit| !matches!(unit_kind(codec, unit), UnitKind::Delimiter | UnitKind::ParameterSet));
        let frame = with_lengths(kept);
        // Nothing can be decoded before the first set-up.
        if self.setup.is_some() && !frame.is_empty() {
            tags.push(video_tag(codec, if is_key { 1 } else { 2 }, 1, composition, time, &frame));
        }
        tags
    }

    /// The tags of a packet of sound, which has several frames.
    fn sound(&mut self, mut data: &[u8], decoding: u64) -> Vec<Tag> {
        let (mut tags, mut count) = (Vec::new(), 0);
        while tags.len() < MAX_TAGS
            && let Some((config, head, length)) = adts_frame(data)
        {
            let Some(frame) = data.get(head..length) else { break };
            let samples = u64::from(FRAME_SAMPLES) * count * 1_000;
            let time = (decoding / TICKS + samples / u64::from(config.rate)) as u32;
            self.announce(&config, time, &mut tags);
            tags.push(audio_tag(1, time, frame));
            count += 1;
            data = &data[length..];
        }
        tags
    }

    fn announce(&mut self, config: &AacConfig, time: u32, tags: &mut Vec<Tag>) {
        let Some(record) = config.record() else { return };
        let setup = Setup { codec: Codec::Aac, record };
        if self.setup.as_ref() != Some(&setup) {
            tags.push(audio_tag(0, time, &setup.record));
            self.setup = Some(setup);
        }
    }
}

/// The times of showing and decoding, in ticks, and the data of a packet of an elementary stream.
fn pes(packet: &[u8]) -> Option<(u64, u64, &[u8])> {
    let header: &[u8; 9] = packet.first_chunk()?;
    if header[..3] != [0, 0, 1] || header[6] & 0xc0 != 0x80 {
        return None;
    }
    let data = packet.get(9 + usize::from(header[8])..)?;
    let time = |at: usize| {
        let bytes: &[u8; 5] = packet.get(at..)?.first_chunk()?;
        let low = |a: u8, b: u8| u64::from(a) << 7 | u64::from(b >> 1);
        Some(u64::from(bytes[0] >> 1 & 7) << 30 | low(bytes[1], bytes[2]) << 15 | low(bytes[3], bytes[4]))
    };
    let showing = if header[7] & 0x80 != 0 && header[8] >= 5 { time(9)? } else { return None };
    let decoding = if header[7] & 0x40 != 0 && header[8] >= 10 { time(14)? } else { showing };
    Some((showing, decoding, data))
}

/// A tag of H.264, or of H.265 as Enhanced RTMP has it. `kind` 0 is a set-up, 1 a frame.
fn video_tag(codec: Codec, frame: u8, kind: u8, composition: i32, time: u32, data: &[u8]) -> Tag {
    let mut bytes = BytesMut::with_capacity(data.len() + 8);
    if codec == Codec::Hevc {
        bytes.put_u8(0x80 | frame << 4 | kind);
        bytes.put_slice(b"hvc1");
        if kind == 1 {
            bytes.put_int(composition.into(), 3);
        }
    } else {
        bytes.put_slice(&[frame << 4 | 7, kind]);
        bytes.put_int(composition.into(), 3);
    }
    bytes.put_slice(data);
    Tag { kind: TagKind::Video, timestamp: time, data: bytes.freeze() }
}

/// A tag of AAC. `kind` 0 is a set-up, 1 a frame.
fn audio_tag(kind: u8, time: u32, data: &[u8]) -> Tag {
    let data = Bytes::from([&[0xaf, kind], data].concat());
    Tag { kind: TagKind::Audio, timestamp: time, data }
}
