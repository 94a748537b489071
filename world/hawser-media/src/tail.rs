//! Which frames a sender leaves out that lags.
//!
//! Each frame of a group of pictures builds on those before it: only the end of a group can be left out without damage to what is
//! shown. So a sender that would send a frame too late leaves it out and all that follow it up to the next key frame; and when that
//! comes, the newest of the group that still wait, if the key frame would be late behind them.

use std::time::Duration;

use hawser_policy::Time;

use crate::video::FrameKind;

/// Over how long the rate is measured at which bytes leave.
const SPAN: Duration = Duration::from_millis(250);
/// Weight of the last span.
const WEIGHT: f64 = 0.5;

/// Which frames are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// Each that would be late, whatever builds on it.
    Frames,
    /// The ends of groups of pictures.
    Groups,
}

/// What is to be done with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is sent.
    Take,
    /// It is left out.
    LeaveOut,
    /// It is sent, and so many bytes of the newest frames that wait are left out, as far as they are of one group and no key frame.
    TakeInPlaceOf(u64),
}

/// Judges frames by what waits before them.
#[derive(Clone, Debug)]
pub struct Tail {
    what: LeftOut,
    lag: Duration,
    drain: Drain,
    /// The rest of the group is left out.
    is_closed: bool,
}

impl Tail {
    /// Leaves out what would wait for longer than `lag`.
    pub fn new(what: LeftOut, lag: Duration) -> Self {
        Tail { what, lag, drain: Drain::default(), is_closed: false }
    }

    /// Records that bytes have left, and how many wait now.
    pub fn on_sent(&mut self, now: Time, bytes: u64, waiting: u64) {
        self.drain.on_sent(now, bytes, waiting);
    }

    /// Judges the next frame of `size` bytes, before which `waiting` bytes wait.
    pub fn judge(&mut self, kind: FrameKind, size: u64, waiting: u64) -> Verdict {
        let room = |part: u32| self.drain.bytes_in(self.lag / part);
        match kind {
            FrameKind::Key => {
                self.is_closed = false;
                let whole = waiting.saturating_add(size);
                match (self.what, room(1), room(2)) {
                    // What follows it is to have its time as well.
                    (LeftOut::Groups, Some(most), Some(wanted)) if whole > most => {
                        Verdict::TakeInPlaceOf(whole - wanted.min(whole))
                    }
                    _ => Verdict::Take,
                }
            }
            FrameKind::Delta => {
                let is_late = room(1).is_some_and(|most| waiting > most);
                if self.is_closed || is_late {
                    self.is_closed = self.what == LeftOut::Groups;
                    return Verdict::LeaveOut;
                }
                Verdict::Take
            }
        }
    }
}

/// The rate at which bytes leave while some wait.
#[derive(Clone, Debug, Default)]
struct Drain {
    /// Bytes per second; `None`: nothing has waited for long enough.
    rate: Option<f64>,
    /// Since when something has waited, and what has left since.
    busy: Option<(Time, u64)>,
}

impl Drain {
    fn on_sent(&mut self, now: Time, bytes: u64, waiting: u64) {
        let (since, sent) = self.busy.unwrap_or((now, 0));
        let sent = if self.busy.is_some() { sent + bytes } else { 0 };
        let span = now.since(since);
        if self.busy.is_some() && span >= SPAN {
            let measured = sent as f64 / span.as_secs_f64();
            self.rate = Some(self.rate.map_or(measured, |rate| rate + WEIGHT * (measured - rate)));
            self.busy = Some((now, 0));
        } else {
            self.busy = Some((since, sent));
        }
        // What leaves as soon as it comes says nothing of the rate.
        if waiting == 0 {
            self.busy = None;
        }
    }

    /// How many bytes leave in this time.
    fn bytes_in(&self, time: Duration) -> Option<u64> {
        self.rate.map(|rate| (rate * time.as_secs_f64()) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One from which 100 kB leave in a second, and which may lag by 400 ms: 40 kB.
    fn tail(what: LeftOut) -> Tail {
        let mut tail = Tail::new(what, Duration::from_millis(400));
        for tick in 0..20 {
            tail.on_sent(Time::from_millis(50 * tick), 5_000, 20_000);
        }
        tail
    }

    #[test]
    fn end_of_a_group_is_left_out_up_to_the_key_frame() {
        let mut tail = tail(LeftOut::Groups);
        assert_eq!(tail.judge(FrameKind::Delta, 1_000, 39_000), Verdict::Take);
        assert_eq!(tail.judge(FrameKind::Delta, 1_000, 41_000), Verdict::LeaveOut);
        // Not even when there is room again.
        assert_eq!(tail.judge(FrameKind::Delta, 1_000, 10_000), Verdict::LeaveOut);
        assert_eq!(tail.judge(FrameKind::Key, 10_000, 5_000), Verdict::Take);
        assert_eq!(tail.judge(FrameKind::Delta, 1_000, 15_000), Verdict::Take);
    }

    #[test]
    fn key_frame_that_would_be_late_takes_the_place_of_the_newest_frames() {
        let mut tail = tail(LeftOut::Groups);
        assert_eq!(tail.judge(FrameKind::Key, 10_000, 35_000), Verdict::TakeInPlaceOf(25_000));
        assert_eq!(tail.judge(FrameKind::Delta, 1_000, 20_000), Verdict::Take);
    }

    #[test]
    fn single_frames_are_left_out_while_they_would_be_late() {
        let mut tail = tail(LeftOut::Frames);
        assert_eq!(tail.judge(FrameKind::Delta, 1_000, 41_000), Verdict::LeaveOut);
        assert_eq!(tail.judge(FrameKind::Delta, 1_000, 10_000), Verdict::Take);
        assert_eq!(tail.judge(FrameKind::Key, 10_000, 90_000), Verdict::Take);
    }

    #[test]
    fn nothing_is_left_out_before_the_rate_is_known_or_while_nothing_waits() {
        let mut tail = Tail::new(LeftOut::Groups, Duration::from_millis(400));
        assert_eq!(tail.judge(FrameKind::Delta, 1_000, 10_000_000), Verdict::Take);
        for tick in 0..100 {
            tail.on_sent(Time::from_millis(50 * tick), 500, 0);
        }
        assert_eq!(tail.judge(FrameKind::Delta, 1_000, 10_000_000), Verdict::Take);
    }
}
