//! A player: when frames are shown, and how long it stands still.

use std::time::Duration;

use hawser_policy::Time;

/// Shows one frame each frame period, from the first complete key frame on, with no buffer beyond that. When the next frame
/// is not there at its turn, the picture stands still until it is, and all later frames are shown so much later.
///
/// ```
/// use hawser_media::Player;
/// use hawser_policy::Time;
/// let mut player = Player::new(std::time::Duration::from_millis(40));
/// for (frame, arrived) in [(0, 100), (1, 130), (2, 200), (3, 201)] {
///     player.on_frame(Time::from_millis(arrived), frame == 0);
/// }
/// // Shown at 100, 140, and 200 instead of 180 ms.
/// assert_eq!(player.playback().stalled.as_millis(), 20);
/// ```
#[derive(Clone, Debug)]
pub struct Player {
    period: Duration,
    /// When the next frame should be shown; none: nothing was shown yet.
    next_at: Option<Time>,
    playback: Playback,
}

/// What somebody saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Playback {
    /// Frames shown.
    pub shown: u64,
    /// Frames that came before the first complete key frame.
    pub skipped: u64,
    /// Frames that were left out, in whose turns the picture before was shown.
    pub left_out: u64,
    /// Times that the picture stood still.
    pub stalls: u64,
    /// How long it did, in all.
    pub stalled: Duration,
    /// When the first frame was shown.
    pub started_at: Option<Time>,
}

impl Player {
    /// A player of frames of which each is shown for `period`.
    pub fn new(period: Duration) -> Self {
        Player { period, next_at: None, playback: Playback::default() }
    }

    /// The next frame in order can be decoded, whole or with what it lacks; `starts`: it is a key frame and lacks nothing.
    /// Returns whether it is shown.
    pub fn on_frame(&mut self, now: Time, starts: bool) -> bool {
        let Some(turn) = self.next_at.or_else(|| starts.then_some(now)) else {
            self.playback.skipped += 1;
            return false;
        };
        let late = now.since(turn);
        if !late.is_zero() {
            self.playback.stalls += 1;
            self.playback.stalled += late;
        }
        self.playback.started_at.get_or_insert(turn);
        self.playback.shown += 1;
        self.next_at = Some(turn + late + self.period);
        true
    }

    /// So many frames were left out before the next one: the picture before is shown in their turns.
    pub fn on_left_out(&mut self, frames: u32) {
        if let Some(turn) = &mut self.next_at {
            *turn += self.period * frames;
            self.playback.left_out += u64::from(frames);
        }
    }

    /// What was seen until now.
    pub fn playback(&self) -> Playback {
        self.playback
    }

    /// How long the picture has stood still since it last moved; zero if it moves, or never did.
    pub fn standing(&self, now: Time) -> Duration {
        self.next_at.map_or(Duration::ZERO, |turn| now.since(turn))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn play(frames: impl IntoIterator<Item = (u64, bool)>) -> Playback {
        let mut player = Player::new(Duration::from_millis(40));
        for (at, starts) in frames {
            player.on_frame(Time::from_millis(at), starts);
        }
        player.playback()
    }

    #[test]
    fn frames_on_time_are_shown_without_a_stall() {
        let playback = play((0..100).map(|frame| (50 + frame * 40, frame % 50 == 0)));
        assert_eq!((playback.shown, playback.stalls), (100, 0));
    }

    #[test]
    fn a_stall_shifts_everything_behind_it() {
        // One frame is a second late; those behind it are on the network's time again, which is early by then.
        let playback =
            play((0..100).map(|frame| (frame * 40 + if frame == 20 { 1_000 } else { 0 }, frame == 0)));
        assert_eq!((playback.stalls, playback.stalled), (1, Duration::from_secs(1)));
    }

    #[test]
    fn frames_that_are_left_out_shift_nothing() {
        let mut player = Player::new(Duration::from_millis(40));
        player.on_left_out(3);
        player.on_frame(Time::from_millis(100), true);
        player.on_left_out(2);
        // Its turn is at 220 ms: it is 10 ms late, not 90.
        player.on_frame(Time::from_millis(230), true);
        let playback = player.playback();
        assert_eq!((playback.left_out, playback.stalls, playback.stalled), (2, 1, Duration::from_millis(10)));
    }

    #[test]
    fn a_picture_that_stands_is_seen_to_stand() {
        let mut player = Player::new(Duration::from_millis(40));
        assert_eq!(player.standing(Time::from_millis(500)), Duration::ZERO);
        player.on_frame(Time::from_millis(500), true);
        assert_eq!(player.standing(Time::from_millis(530)), Duration::ZERO);
        assert_eq!(player.standing(Time::from_millis(1_540)), Duration::from_secs(1));
    }

    #[test]
    fn it_starts_with_a_complete_key_frame() {
        let playback = play([(10, false), (50, false), (90, true), (130, false)]);
        assert_eq!((playback.skipped, playback.shown), (2, 2));
        assert_eq!(playback.started_at, Some(Time::from_millis(90)));
    }
}
