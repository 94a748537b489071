//! One line of time out of the clocks of encoders that come, go and jump.

use hawser_policy::Time;

use crate::flv::TagKind;

/// An encoder that jumps further back than this, in milliseconds, has another origin; smaller steps back are disorder.
const DISORDER: i32 = 1_000;
/// A step forward that no encoder makes between two tags: a pause of a minute is a new beginning.
const JUMP: i32 = 60_000;

/// What was put right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimelineCounts {
    /// Tags whose time lay before that of the tag of the same kind before them, by less than a second; they got that tag's
    /// time.
    pub stepped_back: u64,
    /// Times that the clock jumped, back by a second or forward by a minute.
    pub jumped: u64,
}

/// Maps timestamps of encoders, in milliseconds, to times that go on where the last encoder ended.
///
/// Audio and video are two lines of time: each is monotonic, but many encoders send one of them later than the other. A tag is
/// therefore compared with the one before it of the same kind, while both kinds share the distance between the encoder's
/// clock and the channel's, so that picture and sound stay together.
#[derive(Debug, Default)]
pub struct Timeline {
    video: Option<Clock>,
    audio: Option<Clock>,
    /// The latest time that was given, by our line.
    latest: Option<u32>,
    /// When the last tag came.
    came_at: Time,
    restarts: bool,
    counts: TimelineCounts,
}

/// The clock of one kind of tags.
#[derive(Clone, Copy, Debug)]
struct Clock {
    /// Time of its last tag, by the encoder.
    encoder: u32,
    /// What is added to get the channel's time.
    offset: u32,
}

impl Clock {
    fn ours(self) -> u32 {
        self.encoder.wrapping_add(self.offset)
    }

    /// Milliseconds from its last tag to this time of the encoder.
    fn step_to(self, timestamp: u32) -> i32 {
        timestamp.wrapping_sub(self.encoder).cast_signed()
    }

    /// Whether an encoder whose clock runs on has this time next.
    fn goes_on_with(self, timestamp: u32) -> bool {
        (-DISORDER..=JUMP).contains(&self.step_to(timestamp))
    }
}

impl Timeline {
    /// Another encoder begins: its first time is that of the last tag and the time that has passed since.
    pub fn restart(&mut self) {
        self.restarts = true;
    }

    /// The time of a tag that came now.
    pub fn map(&mut self, now: Time, kind: TagKind, timestamp: u32) -> u32 {
        let restarts = std::mem::take(&mut self.restarts);
        if restarts {
            (self.video, self.audio) = (None, None);
        }
        let (own, other) = match kind {
            TagKind::Audio => (self.audio, self.video),
            TagKind::Video | TagKind::Script => (self.video, self.audio),
        };
        let offset = match (own, other) {
            (Some(own), _) if own.goes_on_with(timestamp) => own.offset,
            // The other kind has jumped before, or is the only one so far: both have one clock.
            (own, Some(other))
                if own.is_none_or(|own| own.offset != other.offset)
                    && (-JUMP..=JUMP).contains(&other.step_to(timestamp)) =>
            {
                other.offset
            }
            (own, _) => {
                self.counts.jumped += u64::from(own.is_some());
                self.first_after(now, timestamp).wrapping_sub(timestamp)
            }
        };
        let mut clock = Clock { encoder: timestamp, offset };
        if let Some(own) = own.filter(|own| clock.ours().wrapping_sub(own.ours()).cast_signed() < 0) {
            // The encoder's clock is still that of the last tag: what follows is measured from there.
            self.counts.stepped_back += 1;
            clock = Clock { encoder: own.ours().wrapping_sub(offset), offset };
        }
        match kind {
            TagKind::Audio => self.audio = Some(clock),
            TagKind::Video | TagKind::Script => self.video = Some(clock),
        }
        let ours = clock.ours();
        self.came_at = now;
        let is_latest = self.latest.is_none_or(|latest| ours.wrapping_sub(latest).cast_signed() > 0);
        self.latest = if is_latest { Some(ours) } else { self.latest };
        ours
    }

    /// Our time of a tag with which a clock begins: behind all others by the time that has passed, or that of the encoder
    /// if it is the first of all.
    fn first_after(&self, now: Time, timestamp: u32) -> u32 {
        let Some(latest) = self.latest else { return timestamp };
        let passed = now.since(self.came_at).as_millis().clamp(1, JUMP as u128) as u32;
        latest.wrapping_add(passed)
    }

    /// The time of the latest tag: for headers, whose own time says nothing.
    pub fn last(&self) -> u32 {
        self.latest.unwrap_or(0)
    }

    /// Whether a tag has come.
    pub fn has_begun(&self) -> bool {
        self.latest.is_some()
    }

    /// What was put right until now.
    pub fn counts(&self) -> TimelineCounts {
        self.counts
    }
}
