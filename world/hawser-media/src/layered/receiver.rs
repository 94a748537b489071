//! The end that shows.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use hawser_policy::{Feedback, FrameInfo, LayerPackets, StreamId, Time};

use super::measures::Log;
use super::sender::FIRST_REPRESENTATION;
use super::wire::{HEADER_LENGTH, Header};
use super::{Format, LAYERS, RATES};
use crate::live::{fill, mismatches};
use crate::{Application, Measure, Piece, Transport};

/// Frames that may have arrived before they are due: a peer that counts faster is not believed.
const MAX_AHEAD: u32 = 64;
/// Streams that are read at a time; further ones wait for the transport's own limit.
const MAX_READING: usize = 1_024;
/// Share of what arrives that a representation may take.
const HEADROOM: f64 = 0.9;
/// Weight of the last segment in the throughput.
const GAIN: f64 = 0.25;
/// A frame takes at least so long, or a packet alone would be infinitely fast.
const SHORTEST: Duration = Duration::from_millis(1);
/// So many frames before a segment its representation is asked for: the wish needs a way.
const LEAD: u32 = 2;

/// Shows each frame one period after its release, as far as it is there, and says which representation the next segment is to
/// have: the largest whose mean rate is at most 0.9 of an average of the throughput, which is counted from the first bytes that a
/// frame could have to its last ones. (What arrives in all of the time is never more than what was asked for.)
#[derive(Debug)]
pub struct Receiver {
    format: Format,
    /// Release of frame 0 by the sender's clock, once a header came.
    epoch: Option<Time>,
    /// Streams that are not at their end.
    pub(super) reading: BTreeMap<StreamId, Reading>,
    /// Frames that are not due yet, the first of which is `due`.
    pub(super) frames: VecDeque<Frame>,
    due: u32,
    wishes: Option<StreamId>,
    pub(super) wanted: u8,
    throughput: Option<f64>,
    /// From the release of a frame to its first bytes, at least.
    least_delay: Duration,
    /// Bytes of the segment in time, and the time that they took beyond the least delay.
    segment: (u64, Duration),
    log: Log,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Frame {
    header: Option<Header>,
    layers: [Arrived; LAYERS],
    first_at: Option<Time>,
    last_at: Option<Time>,
}

/// What has arrived of a layer, in order.
#[derive(Clone, Copy, Debug, Default)]
struct Arrived {
    packets: u64,
    bytes: u64,
}

#[derive(Debug)]
pub(super) enum Reading {
    Header { bytes: [u8; HEADER_LENGTH], filled: usize },
    Body { header: Header, offset: u64, is_damaged: bool },
    Ignored,
}

impl Receiver {
    /// Shows a film of this format.
    pub fn new(format: Format) -> Self {
        Receiver {
            format,
            epoch: None,
            reading: BTreeMap::new(),
            frames: VecDeque::new(),
            due: 0,
            wishes: None,
            wanted: FIRST_REPRESENTATION,
            throughput: None,
            least_delay: Duration::MAX,
            segment: (0, Duration::ZERO),
            log: Log::new(),
        }
    }

    /// When the next frame is shown.
    fn display_at(&self) -> Option<Time> {
        let is_left = self.due < self.format.frames;
        self.epoch.filter(|_| is_left).map(|epoch| epoch + self.format.period * (self.due + 1))
    }

    /// A frame that is not due yet, by its number.
    fn frame(&mut self, number: u32) -> Option<&mut Frame> {
        let ahead = number.checked_sub(self.due).filter(|ahead| *ahead < MAX_AHEAD)? as usize;
        while self.frames.len() <= ahead {
            self.frames.push_back(Frame::default());
        }
        self.frames.get_mut(ahead)
    }

    fn on_header(&mut self, header: Header) {
        let since_start = self.format.period * header.number;
        let start = header.written_at.as_nanos().saturating_sub(since_start.as_nanos() as u64);
        self.epoch.get_or_insert(Time::from_nanos(start));
        if header.layer == 0 {
            // Here and not when it is shown: it may be shown without, and then all of them are late.
            self.log.base += self.packets(&header)[0];
            self.log.base_frames += 1;
        }
        if let Some(frame) = self.frame(header.number) {
            frame.header = Some(header);
        }
    }

    fn packets(&self, header: &Header) -> [u64; LAYERS] {
        header.sizes.map(|size| self.format.packets(size.into()))
    }

    /// `length` bytes of a body were read, or will not come.
    fn advance(&mut self, now: Time, reading: &mut Reading, length: u64, data: Option<&[u8]>) {
        let Reading::Body { header, offset, is_damaged } = reading else { return };
        let (from, size) = (*offset, header.size());
        *offset += length;
        if *offset > size {
            self.log.corrupt += 1;
            *reading = Reading::Ignored;
            return;
        }
        let key = header.number.wrapping_mul(LAYERS as u32 + 1).wrapping_add(header.layer.into());
        self.log.corrupt += data.map_or(0, |data| mismatches(key, from, data));
        let packet = self.format.packet.max(1);
        // Packets that end here: those of which a part is missing never come.
        let ends = |at: u64| if at == size { at.div_ceil(packet) } else { at / packet };
        let (done, before) = (ends(*offset), ends(from));
        let mut whole = if data.is_some() { done - before } else { 0 };
        if data.is_none() {
            // The packet in which the gap ends lacks its beginning, unless it ends with the gap.
            *is_damaged = *offset < size && *offset % packet != 0;
        } else if *is_damaged && done > before {
            (whole, *is_damaged) = (whole - 1, false);
        }
        let (header, delay) = (*header, now.since(header.written_at));
        if header.layer == 0 {
            (0..whole).for_each(|_| self.log.on_base_packet(delay));
        }
        if delay > self.format.period {
            return;
        }
        if let Some(frame) = self.frame(header.number) {
            let layer = &mut frame.layers[usize::from(header.layer)];
            layer.packets += whole;
            layer.bytes += data.map_or(0, |data| data.len() as u64);
            frame.first_at.get_or_insert(now);
            frame.last_at = Some(now);
        }
    }

    fn take(&mut self, now: Time, reading: &mut Reading, mut data: &[u8]) {
        if let Reading::Header { bytes, filled } = reading {
            fill(bytes, filled, &mut data);
            if *filled < HEADER_LENGTH {
                return;
            }
            let Some(header) = Header::decode(bytes) else {
                self.log.corrupt += 1;
                *reading = Reading::Ignored;
                return;
            };
            self.on_header(header);
            *reading = Reading::Body { header, offset: 0, is_damaged: false };
        }
        if !data.is_empty() {
            self.advance(now, reading, data.len() as u64, Some(data));
        }
    }

    /// The next frame is shown as it is.
    fn show(&mut self, transport: &mut dyn Transport) {
        let frame = self.frames.pop_front().unwrap_or_default();
        let number = self.due;
        self.due += 1;
        self.log.frames += 1;
        let mut base = LayerPackets::default();
        let mut enhancement = LayerPackets::default();
        match frame.header {
            Some(header) => {
                let all = self.packets(&header);
                (base, enhancement) = self.judge(&header, &frame, all);
                let is_whole = frame.layers.iter().zip(all).all(|(layer, all)| layer.packets >= all);
                let delay = |at: Option<Time>| at.map(|at| at.since(header.written_at));
                if let Some(first) = delay(frame.first_at) {
                    self.least_delay = self.least_delay.min(first);
                }
                let last = delay(frame.last_at).filter(|_| is_whole).unwrap_or(self.format.period);
                self.segment.0 += frame.layers.iter().map(|layer| layer.bytes).sum::<u64>();
                self.segment.1 += last.saturating_sub(self.least_delay).max(SHORTEST);
            }
            None => {
                self.log.interrupted += 1;
                self.log.unheard += 1;
                self.segment.1 += self.format.period;
            }
        }
        transport.feedback(&Feedback::LayeredFrame { number: number.into(), base, enhancement });
        self.choose(number, transport);
    }

    fn judge(&mut self, header: &Header, frame: &Frame, all: [u64; LAYERS]) -> (LayerPackets, LayerPackets) {
        let in_time: [u64; LAYERS] = std::array::from_fn(|layer| frame.layers[layer].packets);
        let complete = (0..LAYERS).take_while(|layer| in_time[*layer] >= all[*layer]).count() as u64;
        let r = u64::from(header.representation);
        // Base layer alone: two below; without it the picture stands still.
        let quality = match complete {
            0 => 0,
            complete => (r + complete).saturating_sub(LAYERS as u64).max(1),
        };
        let [enhancements, enhancements_in_time] =
            [all, in_time].map(|packets| packets[1..].iter().sum::<u64>());
        let log = &mut self.log;
        log.interrupted += u64::from(complete == 0);
        log.quality += quality;
        log.representations += r;
        log.base_in_time += in_time[0];
        log.enhancement += enhancements;
        log.enhancement_in_time += enhancements_in_time;
        log.bytes_in_time += frame.layers.iter().map(|layer| layer.bytes).sum::<u64>();
        let packets = |all: u64, in_time: u64| {
            let [all, in_time] = [all, in_time].map(|count| u32::try_from(count).unwrap_or(u32::MAX));
            LayerPackets { all, in_time: in_time.min(all) }
        };
        (packets(all[0], in_time[0]), packets(enhancements, enhancements_in_time))
    }

    /// Asks for a representation where the next segment is near.
    fn choose(&mut self, shown: u32, transport: &mut dyn Transport) {
        let next = self.format.segment_of(shown + LEAD + 1);
        if self.format.representation > 0 || next == self.format.segment_of(shown + LEAD) {
            return;
        }
        let (bytes, active) = std::mem::take(&mut self.segment);
        let sample = bytes as f64 * 8.0 / active.as_secs_f64().max(1e-3);
        let throughput = self.throughput.map_or(sample, |before| before + GAIN * (sample - before));
        self.throughput = Some(throughput);
        let fits = RATES.iter().filter(|rate| **rate <= HEADROOM * throughput).count();
        self.wanted = fits.max(1) as u8;
        self.ask(transport);
    }

    fn ask(&mut self, transport: &mut dyn Transport) {
        self.wishes = self.wishes.or_else(|| transport.open_stream());
        if let Some(stream) = self.wishes {
            let info = FrameInfo::default().with(|frame| frame.kind = hawser_policy::SegmentKind::Signalling);
            transport.write_frame(stream, &info, Bytes::copy_from_slice(&[self.wanted]));
        }
    }
}

impl Application for Receiver {
    fn on_start(&mut self, _: Time, _: Time, transport: &mut dyn Transport) {
        if self.format.representation == 0 {
            self.ask(transport);
        }
    }

    fn on_readable(&mut self, now: Time, stream: StreamId, transport: &mut dyn Transport) {
        let mut known = self.reading.remove(&stream);
        if known.is_none() && self.reading.len() >= MAX_READING {
            return;
        }
        loop {
            let piece = transport.read(stream);
            // A stream that has ended may be said to be readable once more: it does not restart.
            if piece == Piece::Nothing {
                break;
            }
            let unread = || Reading::Header { bytes: [0; HEADER_LENGTH], filled: 0 };
            let reading = known.get_or_insert_with(unread);
            match piece {
                Piece::Data(bytes) => self.take(now, reading, &bytes),
                Piece::Gap(length) => match reading {
                    Reading::Body { .. } => self.advance(now, reading, length, None),
                    Reading::Header { .. } | Reading::Ignored => {
                        self.log.corrupt += u64::from(!matches!(reading, Reading::Ignored));
                        *reading = Reading::Ignored;
                    }
                },
                Piece::Nothing | Piece::End => return,
            }
        }
        if let Some(reading) = known {
            self.reading.insert(stream, reading);
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.display_at()
    }

    fn on_timeout(&mut self, now: Time, transport: &mut dyn Transport) {
        while self.display_at().is_some_and(|at| at <= now) {
            self.show(transport);
        }
    }

    fn is_done(&self) -> bool {
        self.due >= self.format.frames
    }

    fn measures(&self, _: Time) -> Vec<Measure> {
        self.log.measures(self.format.period)
    }
}
