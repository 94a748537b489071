//! One line of time out of the clocks of encoders that come, go and jump.

use hawser_policy::Time;

/// An encoder that jumps further than this, in milliseconds, has another origin; smaller steps back are disorder.
const DISORDER: i32 = 1_000;
/// A step forward that no encoder makes between two tags: a pause of a minute is a new beginning.
const JUMP: i32 = 60_000;

/// What was put right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimelineCounts {
    /// Tags whose time lay before that of the tag before them, by less than a second; they got that tag's time.
    pub stepped_back: u64,
    /// Times that the clock jumped, back by a second or forward by a minute.
    pub jumped: u64,
}

/// Maps timestamps of encoders, in milliseconds, to times that never go back and go on where the last encoder ended.
#[derive(Debug, Default)]
pub struct Timeline {
    /// The last tag: its time by the encoder, and by us.
    last: Option<(u32, u32)>,
    /// When it came.
    came_at: Time,
    restarts: bool,
    counts: TimelineCounts,
}

impl Timeline {
    /// Another encoder begins: its first time is that of the last tag and the time that has passed since.
    pub fn restart(&mut self) {
        self.restarts = true;
    }

    /// The time of a tag that came now.
    pub fn map(&mut self, now: Time, timestamp: u32) -> u32 {
        let Some((encoder, ours)) = self.last else {
            self.restarts = false;
            return self.set(now, timestamp, timestamp);
        };
        let step = timestamp.wrapping_sub(encoder).cast_signed();
        let has_jumped = !self.restarts && !(-DISORDER..=JUMP).contains(&step);
        self.counts.jumped += u64::from(has_jumped);
        if self.restarts || has_jumped {
            self.restarts = false;
            let passed = now.since(self.came_at).as_millis().clamp(1, JUMP as u128) as u32;
            return self.set(now, timestamp, ours.wrapping_add(passed));
        }
        if step < 0 {
            // The encoder's clock is still that of the last tag: what follows is measured from there.
            self.counts.stepped_back += 1;
            return ours;
        }
        self.set(now, timestamp, ours.wrapping_add(step.cast_unsigned()))
    }

    /// The time of the last tag: for headers, whose own time says nothing.
    pub fn last(&self) -> u32 {
        self.last.map_or(0, |(_, ours)| ours)
    }

    /// Whether a tag has come.
    pub fn has_begun(&self) -> bool {
        self.last.is_some()
    }

    /// What was put right until now.
    pub fn counts(&self) -> TimelineCounts {
        self.counts
    }

    fn set(&mut self, now: Time, encoder: u32, ours: u32) -> u32 {
        self.last = Some((encoder, ours));
        self.came_at = now;
        ours
    }
}
