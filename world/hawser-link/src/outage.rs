//! When a link is down.

use crate::time::{NEVER, Nanos};

/// Times at which a direction carries nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outages {
    /// Single outages `[from, to)`, sorted, not overlapping; `to` may be [`NEVER`].
    windows: Vec<(Nanos, Nanos)>,
    /// A gap that comes back.
    periodic: Option<Periodic>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Periodic {
    every: Nanos,
    duration: Nanos,
    offset: Nanos,
}

/// What becomes of packets while the link is down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutagePolicy {
    /// They are lost silently: those that arrive, and those whose last bit would leave in that time.
    #[default]
    Drop,
    /// They wait in the queue (as far as it has room), and a packet cut by the outage is sent again after it.
    Hold,
}

impl Outages {
    /// Never down.
    pub fn none() -> Self {
        Self::default()
    }

    /// Adds an outage from `from` until `to` (exclusive); empty ones are ignored, overlapping ones merged.
    #[must_use]
    pub fn with_window(mut self, from: Nanos, to: Nanos) -> Self {
        if from < to {
            self.windows.push((from, to));
            self.windows.sort_unstable();
        }
        self.windows.dedup_by(|next, kept| {
            let merge = next.0 <= kept.1;
            if merge {
                kept.1 = kept.1.max(next.1);
            }
            merge
        });
        self
    }

    /// Adds a gap of `duration` at `offset`, `offset + every`, `offset + 2 every`, ...
    ///
    /// A `duration` not below `every` means: down from `offset` on.
    #[must_use]
    pub fn with_period(mut self, every: Nanos, duration: Nanos, offset: Nanos) -> Self {
        if duration >= every {
            return self.with_window(offset, NEVER);
        }
        self.periodic = (duration > 0).then_some(Periodic { every, duration, offset });
        self
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.windows.is_empty() && self.periodic.is_none()
    }

    /// Whether the link is down at `time`.
    pub fn is_down(&self, time: Nanos) -> bool {
        !self.is_empty() && (self.window_end(time).is_some() || self.gap_end(time).is_some())
    }

    /// The first time at or after `time` at which the link is up; [`NEVER`] if it stays down.
    pub fn next_up(&self, mut time: Nanos) -> Nanos {
        while time < NEVER {
            match self.window_end(time).or_else(|| self.gap_end(time)) {
                Some(end) => time = end,
                None => break,
            }
        }
        time
    }

    /// The first time at or after `time` at which the link is down; `None` if it stays up.
    pub fn next_down(&self, time: Nanos) -> Option<Nanos> {
        if self.is_down(time) {
            return Some(time);
        }
        let index = self.windows.partition_point(|window| window.0 < time);
        let window = self.windows.get(index).map(|window| window.0);
        let gap = self.periodic.map(|gap| {
            if time <= gap.offset {
                gap.offset
            } else {
                gap.offset + (time - gap.offset).div_ceil(gap.every) * gap.every
            }
        });
        window.into_iter().chain(gap).min()
    }

    /// Time down between zero and `until`.
    pub fn total(&self, until: Nanos) -> Nanos {
        let (mut time, mut down) = (0, 0);
        while let Some(from) = self.next_down(time).filter(|&from| from < until) {
            time = self.next_up(from).min(until);
            down += time - from;
            if time >= until {
                break;
            }
        }
        down
    }

    fn window_end(&self, time: Nanos) -> Option<Nanos> {
        let index = self.windows.partition_point(|window| window.1 <= time);
        self.windows.get(index).filter(|window| window.0 <= time).map(|window| window.1)
    }

    fn gap_end(&self, time: Nanos) -> Option<Nanos> {
        let gap = self.periodic?;
        let phase = time.checked_sub(gap.offset)? % gap.every;
        (phase < gap.duration).then(|| time - phase + gap.duration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_and_gaps_combine() {
        let outages = Outages::none().with_window(100, 130).with_window(40, 50).with_period(60, 10, 20);
        let down: Vec<_> = (0..160).filter(|&time| outages.is_down(time)).collect();
        let expected: Vec<_> = (20..30).chain(40..50).chain(80..90).chain(100..130).chain(140..150).collect();
        assert_eq!(down, expected);
        assert_eq!(outages.total(160), expected.len() as u64);
    }

    #[test]
    fn next_times_agree_with_the_state() {
        let outages = Outages::none().with_window(25, 45).with_window(100, 130).with_period(60, 10, 20);
        for time in 0..300 {
            let up = (time..).find(|&time| !outages.is_down(time)).unwrap();
            let down = (time..).find(|&time| outages.is_down(time));
            assert_eq!(outages.next_up(time), up, "at {time}");
            assert_eq!(outages.next_down(time), down, "at {time}");
        }
    }

    #[test]
    fn a_link_may_die_for_good() {
        let outages = Outages::none().with_window(10, NEVER);
        assert_eq!(outages.next_up(10), NEVER);
        assert_eq!(outages.next_down(0), Some(10));
        assert_eq!(outages.total(100), 90);
        assert_eq!(Outages::none().with_period(10, 10, 5), Outages::none().with_window(5, NEVER));
    }
}
