//! One stream of tags from its source of the moment to all subscribers.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use hawser_policy::Time;

use super::queue::{Limits, Queue, QueueCounts, milliseconds_from};
use super::timeline::{Timeline, TimelineCounts};
use super::{MAX_HEADER, MAX_HEADERS, Unit};
use crate::flv::{Role, Tag, TagKind};

/// Audio of an encoder that has sent no video for so long, in milliseconds, is handed on without it. Encoders that have both
/// send the header of the video first, or soon.
const AUDIO_ALONE: u32 = 1_000;

/// A subscriber of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubscriberId(u64);

/// What came from sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceCounts {
    /// Tags.
    pub tags: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
    /// Frames of the picture.
    pub frames: u64,
    /// Of these, key frames.
    pub key_frames: u64,
    /// Frames with bytes that did not come.
    pub padded_frames: u64,
    /// These bytes.
    pub padded_bytes: u64,
    /// Tags that are missing between others: skipped by an earlier hop that was too slow, or lost with a connection.
    pub missing: u64,
    /// Tags that had come already, as after a connection was made again.
    pub repeated: u64,
    /// Times that another encoder took over.
    pub restarts: u64,
}

/// Takes tags from a source and hands them to subscribers, who begin with the headers and the last key frame.
#[derive(Debug)]
pub struct Channel {
    limits: Limits,
    /// The latest headers, in the order in which they came.
    headers: Vec<Unit>,
    /// Everything since the last key frame, headers left out; empty before the first one.
    group: VecDeque<Unit>,
    group_bytes: usize,
    subscribers: BTreeMap<SubscriberId, Queue>,
    next_id: u64,
    timeline: Timeline,
    /// What units that come from an encoder are signed with.
    own_origin: u32,
    next_number: u32,
    /// Another encoder begins with the next tag.
    restarts: bool,
    /// Who made the units that come.
    origin: Option<u32>,
    /// Number of his last unit, from the first one that is no header.
    last: Option<u32>,
    sound: Sound,
    counts: SourceCounts,
}

/// Whether a source has video.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Sound {
    /// Nothing has come.
    #[default]
    Unknown,
    /// Audio, from this time on.
    OnlySince(u32),
    /// Audio for so long that it will be all.
    Alone,
    /// There is video.
    WithPicture,
}

impl Channel {
    /// One whose subscribers may lag by so much; `origin` is a random number that tells this publisher from others.
    pub fn new(limits: Limits, origin: u32) -> Self {
        Channel {
            limits,
            headers: Vec::new(),
            group: VecDeque::new(),
            group_bytes: 0,
            subscribers: BTreeMap::new(),
            next_id: 0,
            timeline: Timeline::default(),
            own_origin: origin,
            next_number: 0,
            restarts: false,
            origin: None,
            last: None,
            sound: Sound::default(),
            counts: SourceCounts::default(),
        }
    }

    /// An encoder begins. If there was one before, decoders are told to restart, and times go on.
    pub fn begin_encoder(&mut self) {
        self.restarts = self.origin.is_some();
    }

    /// A tag comes from the encoder.
    pub fn push_tag(&mut self, now: Time, tag: Tag) {
        let (number, role) = (self.next_number, tag.role());
        self.next_number = number.wrapping_add(1);
        let restarts = std::mem::take(&mut self.restarts);
        let unit = Unit {
            tag,
            role,
            origin: self.own_origin,
            number,
            padded: 0,
            restarts,
            age: 0,
            came_at: now,
            is_alone: false,
        };
        self.take(now, unit, AUDIO_ALONE);
    }

    /// A unit comes, from the encoder or over another hop. Returns its time by our line of time; `None` if it came before,
    /// which changes nothing.
    pub fn push(&mut self, now: Time, unit: Unit) -> Option<u32> {
        // The hop before hands on no audio without a key frame, unless it is all there is.
        self.take(now, unit, 0)
    }

    /// Takes a unit; audio without video for so many milliseconds is all there is.
    fn take(&mut self, now: Time, mut unit: Unit, audio_alone: u32) -> Option<u32> {
        unit.came_at = now;
        let is_header = unit.role.is_header();
        if self.origin != Some(unit.origin) {
            unit.restarts |= self.origin.replace(unit.origin).is_some();
            self.last = None;
        }
        let step = self.last.map(|last| unit.number.wrapping_sub(last).cast_signed());
        if step.is_some_and(|step| step <= 0) {
            self.counts.repeated += 1;
            return None;
        }
        if unit.restarts {
            self.counts.restarts += 1;
            self.timeline.restart();
            self.headers.clear();
            self.clear_group();
            self.sound = Sound::Unknown;
        }
        // Headers may be repeated from long ago: what lies between them and the next frame is not missing.
        if !is_header || step == Some(1) {
            self.counts.missing += step.map_or(0, |step| u64::from(step.unsigned_abs()) - 1);
            self.last = Some(unit.number);
        }
        // Encoders give headers any time, mostly 0.
        unit.tag.timestamp = match is_header {
            true if self.timeline.has_begun() => self.timeline.last(),
            true => unit.tag.timestamp,
            false => self.timeline.map(now, unit.tag.kind, unit.tag.timestamp),
        };
        self.count(&unit);
        let was_alone = self.sound == Sound::Alone;
        self.listen(&unit, audio_alone);
        unit.is_alone = self.sound == Sound::Alone && unit.role == Role::Audio;
        if self.sound == Sound::Alone && !was_alone {
            // What was held back until this was known.
            for mut held in std::mem::take(&mut self.group) {
                held.is_alone = true;
                self.subscribers.values_mut().for_each(|queue| queue.push_held(held.clone()));
            }
            self.group_bytes = 0;
        }
        self.keep(&unit);
        self.subscribers.values_mut().for_each(|queue| queue.push(unit.clone()));
        Some(unit.tag.timestamp)
    }

    /// Learns whether there is video.
    fn listen(&mut self, unit: &Unit, audio_alone: u32) {
        let time = unit.tag.timestamp;
        self.sound = match (self.sound, unit.tag.kind) {
            (Sound::WithPicture, _) => Sound::WithPicture,
            (sound, TagKind::Video) => {
                if matches!(sound, Sound::OnlySince(_)) {
                    self.clear_group();
                }
                Sound::WithPicture
            }
            (Sound::Unknown, TagKind::Audio) if unit.role == Role::Audio => {
                if audio_alone == 0 {
                    Sound::Alone
                } else {
                    Sound::OnlySince(time)
                }
            }
            (Sound::OnlySince(since), _) if milliseconds_from(since, time) >= audio_alone => Sound::Alone,
            (sound, _) => sound,
        };
    }

    /// Whether the source sends audio and no video.
    pub fn is_audio_only(&self) -> bool {
        self.sound == Sound::Alone
    }

    /// A new subscriber, who gets the headers and what came since the last key frame.
    pub fn subscribe(&mut self) -> SubscriberId {
        let id = SubscriberId(self.next_id);
        self.next_id += 1;
        let group = if self.holds_audio() { None } else { Some(&self.group) };
        let mut queue = Queue::new(self.limits, group.is_none_or(VecDeque::is_empty));
        for unit in self.headers.iter().chain(group.into_iter().flatten()) {
            queue.push(Unit { restarts: false, ..unit.clone() });
        }
        self.subscribers.insert(id, queue);
        id
    }

    /// He goes.
    pub fn unsubscribe(&mut self, id: SubscriberId) -> QueueCounts {
        self.subscribers.remove(&id).map(|queue| queue.counts()).unwrap_or_default()
    }

    /// The next unit for a subscriber, if one waits. Its age has what it waited here.
    pub fn next(&mut self, now: Time, id: SubscriberId) -> Option<Unit> {
        let mut unit = self.subscribers.get_mut(&id)?.pop(now)?;
        (unit.age, unit.came_at) = (unit.age_at(now), now);
        Some(unit)
    }

    /// How long the oldest unit that waits for a subscriber has waited here; nothing if none does.
    pub fn waiting_since(&self, now: Time, id: SubscriberId) -> Duration {
        let oldest = self.subscribers.get(&id).and_then(Queue::oldest);
        oldest.map_or(Duration::ZERO, |unit| now.since(unit.came_at))
    }

    /// Whether nothing waits for him.
    pub fn is_drained(&self, id: SubscriberId) -> bool {
        self.subscribers.get(&id).is_none_or(Queue::is_empty)
    }

    /// What he missed.
    pub fn queue_counts(&self, id: SubscriberId) -> QueueCounts {
        self.subscribers.get(&id).map(Queue::counts).unwrap_or_default()
    }

    /// Bytes that wait for him.
    pub fn waiting(&self, id: SubscriberId) -> usize {
        self.subscribers.get(&id).map_or(0, Queue::bytes)
    }

    /// All of them.
    pub fn subscriber_ids(&self) -> impl Iterator<Item = SubscriberId> + '_ {
        self.subscribers.keys().copied()
    }

    /// How many there are.
    pub fn subscribers(&self) -> usize {
        self.subscribers.len()
    }

    /// What came.
    pub fn counts(&self) -> SourceCounts {
        self.counts
    }

    /// Timestamps that were put right.
    pub fn timeline_counts(&self) -> TimelineCounts {
        self.timeline.counts()
    }

    fn count(&mut self, unit: &Unit) {
        let counts = &mut self.counts;
        counts.tags += 1;
        counts.bytes += unit.tag.data.len() as u64;
        counts.frames += u64::from(unit.role.is_frame());
        counts.key_frames += u64::from(unit.role == Role::KeyFrame);
        counts.padded_frames += u64::from(unit.padded > 0);
        counts.padded_bytes += u64::from(unit.padded);
    }

    /// Remembers what subscribers to come need.
    fn keep(&mut self, unit: &Unit) {
        if unit.role.is_header() {
            self.headers.retain(|other| !unit.replaces(other));
            if self.headers.len() < MAX_HEADERS && unit.tag.data.len() <= MAX_HEADER {
                // A copy: it may be a small part of what it came in, and stays as long as the source.
                let data = Bytes::copy_from_slice(&unit.tag.data);
                self.headers.push(Unit { tag: Tag { data, ..unit.tag.clone() }, ..unit.clone() });
            }
            return;
        }
        if unit.role == Role::KeyFrame {
            self.clear_group();
        } else if unit.is_alone || (self.group.is_empty() && !self.holds_audio()) {
            return;
        }
        self.group_bytes += unit.size();
        self.group.push_back(unit.clone());
        // An encoder that hardly makes key frames: those who come begin with the next one.
        let first = self.group.front().map_or(0, |first| first.tag.timestamp);
        let span = milliseconds_from(first, unit.tag.timestamp);
        // A new subscriber's queue must have room for all of it.
        let is_long = span > self.limits.span / 4 * 3 || self.group_bytes > self.limits.bytes / 4 * 3;
        if self.group.len() > 1 && is_long {
            self.clear_group();
        }
    }

    /// Whether audio waits for it to be known that it is all there is.
    fn holds_audio(&self) -> bool {
        matches!(self.sound, Sound::OnlySince(_))
    }

    fn clear_group(&mut self) {
        self.group.clear();
        self.group_bytes = 0;
    }
}
