//! Tags as MP4 while they come: a fragment for each picture and each piece of sound.

use bytes::Bytes;

use super::fragment::{Run, TimedSample, fragment, reference_time};
use super::header::Tracks;
use super::{AUDIO, VIDEO};
use crate::flv::{Media, PlayerTimes, Tag};

/// Milliseconds from a sample to the next one of its track before that is known, of video and audio.
const USUAL_STEPS: [u32; 2] = [40, 23];
/// Steps that are believed, in milliseconds.
const MAX_STEP: u64 = 1_000;

/// What a tag makes of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mp4Event {
    /// Nothing to write.
    Nothing,
    /// The stream begins: its media type, and its first bytes.
    Begin(String, Bytes),
    /// The next bytes.
    Bytes(Bytes),
    /// Decoders need another set-up from here on: the stream ends, and another one begins with this tag.
    Changed,
}

/// Writes one stream.
#[derive(Debug, Default)]
pub struct Mp4Muxer {
    tracks: Tracks,
    has_begun: bool,
    times: PlayerTimes,
    sequence: u32,
    /// The last time and step of each track.
    last: [Option<u64>; 2],
    steps: [Option<u32>; 2],
}

impl Mp4Muxer {
    /// The next tag, which was made at this time (milliseconds since 1970).
    pub fn push(&mut self, tag: &Tag, made_at_ms: u64) -> Mp4Event {
        let sample = match tag.media() {
            Some(Media::Sample(sample)) => sample,
            Some(Media::Setup(setup)) => return self.set_up(setup),
            None => return Mp4Event::Nothing,
        };
        let track = if sample.codec.is_video() { VIDEO } else { AUDIO };
        let known = if track == VIDEO { &self.tracks.video } else { &self.tracks.audio };
        // A codec that cannot be in the file, or whose set-up has not come.
        if known.as_ref().is_none_or(|known| known.codec != sample.codec) {
            return Mp4Event::Nothing;
        }
        let Some(time) = self.times.next(tag) else { return Mp4Event::Nothing };
        let duration = self.step(track, time);
        self.sequence = self.sequence.wrapping_add(1);
        let timed = TimedSample {
            time,
            duration,
            composition: sample.composition,
            is_key: sample.is_key,
            data: sample.data,
        };
        let bytes = fragment(self.sequence, &[Run { track, samples: vec![timed] }]);
        // The time of one track says that of the other.
        let is_told = track == VIDEO || self.tracks.video.is_none();
        let reference = if is_told { reference_time(track, time, made_at_ms) } else { Bytes::new() };
        let header = if self.has_begun { Bytes::new() } else { self.tracks.header() };
        let bytes = Bytes::from([header, reference, bytes].concat());
        if std::mem::replace(&mut self.has_begun, true) {
            Mp4Event::Bytes(bytes)
        } else {
            Mp4Event::Begin(self.tracks.media_type(), bytes)
        }
    }

    fn set_up(&mut self, setup: crate::codec::Setup) -> Mp4Event {
        let place = if setup.codec.is_video() { &mut self.tracks.video } else { &mut self.tracks.audio };
        if place.as_ref() == Some(&setup) || !Tracks::can_have(&setup) {
            return Mp4Event::Nothing;
        }
        if self.has_begun {
            return Mp4Event::Changed;
        }
        *place = Some(setup);
        Mp4Event::Nothing
    }

    /// How long a sample lasts: as long as the one before it did.
    fn step(&mut self, track: u32, time: u64) -> u32 {
        let at = usize::from(track == AUDIO);
        let step = self.last[at].replace(time).map(|last| time.saturating_sub(last));
        if let Some(step) = step.filter(|step| (1..=MAX_STEP).contains(step)) {
            self.steps[at] = Some(step as u32);
        }
        self.steps[at].unwrap_or(USUAL_STEPS[at])
    }
}
