//! Times for a player: they begin at 0 and, of each kind, never go back.

use super::{Tag, TagKind};

/// Maps the times of tags to those of one player.
#[derive(Debug, Default)]
pub struct PlayerTimes {
    /// The timestamp of the latest tag, and its time since the first one.
    latest: Option<(u32, i64)>,
    /// Times of the last tags: of audio, and of everything else.
    last: [i64; 2],
}

impl PlayerTimes {
    /// Milliseconds since the first tag of all; `None` if it lies before that, as sound that is sent late does when a player
    /// begins with a key frame. One that lies before the last one of its kind gets the time of that.
    pub fn next(&mut self, tag: &Tag) -> Option<u64> {
        let (timestamp, latest) = *self.latest.get_or_insert((tag.timestamp, 0));
        let time = latest + i64::from(tag.timestamp.wrapping_sub(timestamp).cast_signed());
        if time > latest {
            self.latest = Some((tag.timestamp, time));
        }
        let last = &mut self.last[usize::from(tag.kind != TagKind::Audio)];
        if time < 0 && *last == 0 && !tag.role().is_header() {
            return None;
        }
        *last = time.max(*last);
        u64::try_from(*last).ok()
    }
}
