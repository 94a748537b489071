//! What waits for one subscriber.

use std::collections::VecDeque;
use std::time::Duration;

use hawser_policy::Time;

use super::{MAX_HEADER, MAX_HEADERS, Unit};
use crate::flv::Role;
use crate::video::FrameKind;
use crate::{LeftOut, Tail, Verdict};

/// How much may wait for a subscriber before tags are skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes.
    pub bytes: usize,
    /// Milliseconds from the first to the last tag, by their timestamps.
    pub span: u32,
    /// How long a frame may wait before the end of its group of pictures is left out; `None`: nothing is.
    pub lag: Option<Duration>,
}

/// What became of the tags for a subscriber.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounts {
    /// Tags that were skipped.
    pub skipped: u64,
    /// Their bytes.
    pub skipped_bytes: u64,
    /// Runs of skipped tags.
    pub skips: u64,
}

/// Milliseconds from one timestamp to a later one; 0 if it is not later, as of sound that an encoder sends behind its picture.
pub(super) fn milliseconds_from(first: u32, last: u32) -> u32 {
    u32::try_from(last.wrapping_sub(first).cast_signed()).unwrap_or(0)
}

/// A bounded queue of tags. One that is full loses its oldest tags up to a key frame, or all of them and what follows up to
/// the next one; of headers it keeps the latest.
#[derive(Debug)]
pub(super) struct Queue {
    limits: Limits,
    units: VecDeque<Unit>,
    /// Timestamps of those that are no headers, in their order.
    times: VecDeque<u32>,
    bytes: usize,
    /// Nothing but headers is taken before a key frame.
    waits_for_key: bool,
    /// Whether it waits because something was skipped: a subscriber who is new misses nothing.
    is_skipping: bool,
    /// What leaves frames out before the queue is full.
    tail: Option<Tail>,
    counts: QueueCounts,
    /// Number of the newest that was taken and is no header, of this encoder.
    newest: Option<u32>,
}

impl Queue {
    pub(super) fn new(limits: Limits, waits_for_key: bool) -> Self {
        let counts = QueueCounts::default();
        let tail = limits.lag.map(|lag| Tail::new(LeftOut::Groups, lag));
        let (units, times) = (VecDeque::new(), VecDeque::new());
        Queue {
            limits,
            units,
            times,
            bytes: 0,
            waits_for_key,
            is_skipping: false,
            tail,
            counts,
            newest: None,
        }
    }

    /// A unit that came before, when it was not known whether anything but audio would come. A subscriber who had seen a key frame of the
    /// encoder before got it then.
    pub(super) fn push_held(&mut self, unit: Unit) {
        if self.newest.is_none_or(|newest| unit.number.wrapping_sub(newest).cast_signed() > 0) {
            self.push(unit);
        }
    }

    pub(super) fn push(&mut self, unit: Unit) {
        if unit.restarts {
            self.newest = None;
        }
        if self.waits_for_key && !unit.role.is_header() && !unit.is_start() {
            if self.is_skipping {
                self.note_skipped(&unit);
            }
            return;
        }
        match self.judge(&unit) {
            Verdict::LeaveOut => return self.note_skipped(&unit),
            Verdict::TakeInPlaceOf(bytes) => self.leave_out_newest(bytes),
            Verdict::Take => {}
        }
        if unit.is_alone {
            self.is_skipping = false;
        }
        if unit.role == Role::KeyFrame {
            (self.waits_for_key, self.is_skipping) = (false, false);
        }
        self.bytes += unit.size();
        self.append(unit);
        if self.is_full() {
            self.skip();
        }
    }

    fn append(&mut self, unit: Unit) {
        if !unit.role.is_header() {
            self.times.push_back(unit.tag.timestamp);
            self.newest = Some(unit.number);
        }
        self.units.push_back(unit);
    }

    /// The next unit, which leaves at this time.
    pub(super) fn pop(&mut self, now: Time) -> Option<Unit> {
        let unit = self.units.pop_front()?;
        if !unit.role.is_header() {
            self.times.pop_front();
        }
        self.bytes -= unit.size();
        if let Some(tail) = &mut self.tail {
            tail.on_sent(now, unit.size() as u64, self.bytes as u64);
        }
        Some(unit)
    }

    /// What is to be done with a unit that comes: with a frame of the picture, that is.
    fn judge(&mut self, unit: &Unit) -> Verdict {
        let kind = match unit.role {
            Role::KeyFrame => FrameKind::Key,
            Role::DeltaFrame => FrameKind::Delta,
            _ => return Verdict::Take,
        };
        let waiting = self.bytes as u64;
        self.tail.as_mut().map_or(Verdict::Take, |tail| tail.judge(kind, unit.size() as u64, waiting))
    }

    /// Leaves out the newest frames that wait, until they were so many bytes; sound stays, and what lies before a key frame.
    fn leave_out_newest(&mut self, bytes: u64) {
        let (mut freed, mut from) = (0, self.units.len());
        for (at, unit) in self.units.iter().enumerate().rev() {
            if freed >= bytes || unit.role == Role::KeyFrame {
                break;
            }
            if unit.role == Role::DeltaFrame {
                (freed, from) = (freed + unit.size() as u64, at);
            }
        }
        let newest = self.units.split_off(from);
        let timed = newest.iter().filter(|unit| !unit.role.is_header()).count();
        self.times.truncate(self.times.len() - timed);
        for unit in newest {
            if unit.role == Role::DeltaFrame {
                self.bytes -= unit.size();
                self.note_skipped(&unit);
            } else {
                self.append(unit);
            }
        }
    }

    /// The oldest that waits and is no header, which may be as old as the source.
    pub(super) fn oldest(&self) -> Option<&Unit> {
        self.units.iter().find(|unit| !unit.role.is_header())
    }

    pub(super) fn counts(&self) -> QueueCounts {
        self.counts
    }

    pub(super) fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// Bytes that wait.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    fn is_full(&self) -> bool {
        // Headers may have old times, and a single tag is always let through.
        let ends = self.times.front().zip(self.times.back());
        let span = ends.map_or(0, |(first, last)| milliseconds_from(*first, *last));
        self.units.len() > 1 && (self.bytes > self.limits.bytes || span > self.limits.span)
    }

    /// Makes room: goes on at the last key frame that waits, if most of the queue lies before it, else at the next one.
    fn skip(&mut self) {
        let is_alone = self.units.back().is_some_and(|unit| unit.is_alone);
        let goes_on_at = match is_alone {
            true => self.first_in_half(),
            false => self.units.iter().rposition(Unit::is_start).filter(|at| self.is_in_half(*at)),
        };
        let dropped: Vec<Unit> = match goes_on_at {
            Some(at) => self.units.drain(..at).collect(),
            None => self.units.drain(..).collect(),
        };
        (self.waits_for_key, self.is_skipping) = (goes_on_at.is_none() || is_alone, goes_on_at.is_none());
        self.counts.skips += 1;
        let mut headers: Vec<Unit> = Vec::new();
        for unit in dropped {
            if unit.role.is_header() && unit.tag.data.len() <= MAX_HEADER {
                headers.retain(|other| !unit.replaces(other));
                if headers.len() == MAX_HEADERS {
                    headers.remove(0);
                }
                headers.push(unit);
            } else {
                self.note_skipped(&unit);
            }
        }
        // Those that were skipped over still tell how to decode what follows.
        headers.into_iter().rev().for_each(|header| self.units.push_front(header));
        self.bytes = self.units.iter().map(Unit::size).sum();
        let timed = self.units.iter().filter(|unit| !unit.role.is_header());
        self.times = timed.map(|unit| unit.tag.timestamp).collect();
    }

    /// Where the newest half of what may wait begins, if all of it are places to begin at.
    fn first_in_half(&self) -> Option<usize> {
        let (mut bytes, mut first) = (0, None);
        let last = self.units.back()?.tag.timestamp;
        for (at, unit) in self.units.iter().enumerate().rev() {
            bytes += unit.size();
            let span = milliseconds_from(unit.tag.timestamp, last);
            if !unit.is_start() || bytes > self.limits.bytes / 2 || span > self.limits.span / 2 {
                break;
            }
            first = Some(at);
        }
        first.filter(|at| *at > 0)
    }

    /// Whether what lies behind this place is no more than half of what may wait.
    fn is_in_half(&self, at: usize) -> bool {
        let bytes: usize = self.units.range(at..).map(Unit::size).sum();
        let first = self.units.get(at).map_or(0, |unit| unit.tag.timestamp);
        let span = self.units.back().map_or(0, |unit| milliseconds_from(first, unit.tag.timestamp));
        at > 0 && bytes <= self.limits.bytes / 2 && span <= self.limits.span / 2
    }

    fn note_skipped(&mut self, unit: &Unit) {
        self.counts.skipped += 1;
        self.counts.skipped_bytes += unit.tag.data.len() as u64;
    }
}
