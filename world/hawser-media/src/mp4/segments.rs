//! Tags as parts of segments, for HLS and for files: fragments of some hundred milliseconds, of which those that follow a key frame
//! make a segment.

use bytes::Bytes;

use super::fragment::{Run, TimedSample, fragment};
use super::header::Tracks;
use super::{AUDIO, VIDEO};
use crate::codec::Setup;
use crate::flv::{Media, PlayerTimes, Tag};

/// Milliseconds of a segment of sound alone, and after which a segment without a key frame ends all the same.
const SOUND_SEGMENT: u64 = 2_000;
const MAX_SEGMENT: u64 = 10_000;
/// Bytes of a part, with what is kept for each of its samples, and milliseconds of a step that is believed.
const MAX_PART: usize = 16 << 20;
const MAX_STEP: u64 = 1_000;
/// Milliseconds of the last sample of a part before the next one comes: of video, and of audio.
const USUAL_STEPS: [u32; 2] = [40, 23];

/// A part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Whether a segment begins with it.
    pub starts_segment: bool,
    /// Whether it is decodable without the parts before it.
    pub is_independent: bool,
    /// Milliseconds from the first tag to its beginning.
    pub start: u64,
    /// Milliseconds until the next part.
    pub duration: u32,
    /// One fragment.
    pub bytes: Bytes,
}

/// What a tag completes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SegmentEvent {
    /// What decoders need before the next parts: the tracks, their media type, and the bytes.
    Header(Tracks, Bytes),
    /// A part.
    Part(Part),
}

/// Cuts a stream into parts.
#[derive(Debug)]
pub struct Segmenter {
    /// Milliseconds of a part.
    target: u32,
    tracks: Tracks,
    /// Whether the header has been given out.
    has_header: bool,
    times: PlayerTimes,
    open: [Vec<TimedSample>; 2],
    bytes: usize,
    steps: [u32; 2],
    segment_start: u64,
    /// Whether the open part begins a segment.
    starts_segment: bool,
    sequence: u32,
}

impl Segmenter {
    /// One whose parts last so many milliseconds.
    pub fn new(target: u32) -> Self {
        Segmenter {
            target,
            tracks: Tracks::default(),
            has_header: false,
            times: PlayerTimes::default(),
            open: [Vec::new(), Vec::new()],
            bytes: 0,
            steps: USUAL_STEPS,
            segment_start: 0,
            starts_segment: true,
            sequence: 0,
        }
    }

    /// The next tag: what it completes, a header before the first part of its decoders.
    pub fn push(&mut self, tag: &Tag) -> Vec<SegmentEvent> {
        let mut events = Vec::new();
        let sample = match tag.media() {
            Some(Media::Sample(sample)) => sample,
            Some(Media::Setup(setup)) => {
                self.set_up(setup, &mut events);
                return events;
            }
            None => return events,
        };
        let at = usize::from(!sample.codec.is_video());
        let known = if at == 0 { &self.tracks.video } else { &self.tracks.audio };
        if known.as_ref().is_none_or(|known| known.codec != sample.codec) {
            return events;
        }
        let Some(time) = self.times.next(tag) else { return events };
        self.cut_before(time, at, sample.is_key, &mut events);
        if !self.has_header {
            self.has_header = true;
            events.push(SegmentEvent::Header(self.tracks.clone(), self.tracks.header()));
        }
        if let Some(last) = self.open[at].last_mut() {
            let step = time.saturating_sub(last.time);
            if step <= MAX_STEP {
                (last.duration, self.steps[at]) = (step as u32, (step as u32).max(1));
            }
        }
        self.bytes += sample.data.len() + size_of::<TimedSample>();
        self.open[at].push(TimedSample {
            time,
            duration: self.steps[at],
            composition: sample.composition,
            is_key: sample.is_key,
            data: sample.data,
        });
        events
    }

    /// The last part, when nothing follows.
    pub fn finish(&mut self) -> Option<Part> {
        let end = |samples: &Vec<TimedSample>| {
            samples.last().map(|sample| sample.time + u64::from(sample.duration))
        };
        let (pictures, sound) = (end(&self.open[0]), end(&self.open[1]));
        let end = pictures.or(sound)?;
        self.flush(end)
    }

    fn set_up(&mut self, setup: Setup, events: &mut Vec<SegmentEvent>) {
        let known = if setup.codec.is_video() { &self.tracks.video } else { &self.tracks.audio };
        if known.as_ref() == Some(&setup) || !Tracks::can_have(&setup) {
            return;
        }
        events.extend(self.finish().map(SegmentEvent::Part));
        (self.has_header, self.starts_segment) = (false, true);
        let place = if setup.codec.is_video() { &mut self.tracks.video } else { &mut self.tracks.audio };
        *place = Some(setup);
    }

    /// Ends the part, if it does before a sample of this time.
    fn cut_before(&mut self, time: u64, at: usize, is_key: bool, events: &mut Vec<SegmentEvent>) {
        let leads = at == 0 || self.tracks.video.is_none();
        if !leads {
            // Where the pictures rest, nothing else would end the part.
            let start = self.open[at].first().map_or(time, |sample| sample.time);
            if time.saturating_sub(start) >= MAX_SEGMENT || self.bytes >= MAX_PART {
                events.extend(self.flush(time).map(SegmentEvent::Part));
            }
            return;
        }
        let Some(start) = self.start() else {
            self.segment_start = if self.starts_segment { time } else { self.segment_start };
            return;
        };
        let in_segment = time.saturating_sub(self.segment_start);
        let ends_segment = match self.tracks.video.is_some() {
            true => is_key || in_segment >= MAX_SEGMENT,
            false => in_segment >= SOUND_SEGMENT,
        };
        let is_long = time.saturating_sub(start) >= u64::from(self.target) || self.bytes >= MAX_PART;
        if ends_segment || is_long {
            events.extend(self.flush(time).map(SegmentEvent::Part));
            self.starts_segment = ends_segment;
            self.segment_start = if ends_segment { time } else { self.segment_start };
        }
    }

    /// When the open part begins.
    fn start(&self) -> Option<u64> {
        let lead = if self.tracks.video.is_some() { &self.open[0] } else { &self.open[1] };
        lead.first().map(|sample| sample.time)
    }

    fn flush(&mut self, end: u64) -> Option<Part> {
        let start = self.open.iter().filter_map(|samples| samples.first()).map(|sample| sample.time).min()?;
        let lead = self.start().unwrap_or(start);
        let last = if self.tracks.video.is_some() { &mut self.open[0] } else { &mut self.open[1] };
        if let Some(last) = last.last_mut() {
            let step = end.saturating_sub(last.time);
            last.duration = if step <= MAX_STEP { step as u32 } else { last.duration };
        }
        self.sequence = self.sequence.wrapping_add(1);
        let is_independent = match self.tracks.video.is_some() {
            true => self.open[0].first().is_some_and(|sample| sample.is_key),
            false => true,
        };
        let runs: Vec<Run> = [VIDEO, AUDIO]
            .into_iter()
            .zip(self.open.iter_mut().map(std::mem::take))
            .filter(|(_, samples)| !samples.is_empty())
            .map(|(track, samples)| Run { track, samples })
            .collect();
        self.bytes = 0;
        let starts_segment = std::mem::take(&mut self.starts_segment);
        let duration = u32::try_from(end.saturating_sub(lead)).unwrap_or(u32::MAX);
        Some(Part {
            starts_segment,
            is_independent,
            start: lead,
            duration,
            bytes: fragment(self.sequence, &runs),
        })
    }
}
