//! Frames that the application wrote into a stream.

use std::collections::VecDeque;
use std::ops::Range;

use hawser_policy::{FrameInfo, Reliability, Time};

/// A frame, and where it lies.
#[derive(Debug)]
pub(in super::super) struct Unit {
    pub(in super::super) range: Range<u64>,
    pub(in super::super) info: FrameInfo,
    /// Cancelled or expired: what is still written for it is given up too.
    given_up: bool,
}

/// Frames in the order of the stream. Each holds at least one byte that counts against the send buffer, which bounds
/// them.
#[derive(Debug, Default)]
pub(super) struct Units(VecDeque<Unit>);

impl Units {
    /// A frame was written, or more of the last one. Returns whether that was given up.
    pub(super) fn add(&mut self, info: &FrameInfo, range: Range<u64>) -> bool {
        if range.is_empty() {
            return false;
        }
        if let Some(last) = self.0.back_mut()
            && last.info.id == info.id
            && last.range.end == range.start
        {
            last.range.end = range.end;
            return last.given_up;
        }
        let mut info = info.clone();
        info.dependencies.truncate(FrameInfo::MAX_DEPENDENCIES);
        self.0.push_back(Unit { range, info, given_up: false });
        false
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Unit> {
        self.0.iter()
    }

    /// The frame that holds `offset`, if one does, and where that, or what lies between frames there, ends.
    pub(super) fn at(&self, offset: u64) -> (Option<&Unit>, u64) {
        let index = self.0.partition_point(|unit| unit.range.end <= offset);
        match self.0.get(index) {
            Some(unit) if unit.range.start <= offset => (Some(unit), unit.range.end),
            Some(unit) => (None, unit.range.start),
            None => (None, u64::MAX),
        }
    }

    pub(super) fn set_deadline(&mut self, id: u64, deadline: Option<Time>) -> usize {
        let found = self.0.iter_mut().filter(|unit| unit.info.id == id);
        found.map(|unit| unit.info.deadline = deadline).count()
    }

    /// Marks the frames with this number as given up, and returns where they lie.
    pub(super) fn give_up(&mut self, id: u64) -> Vec<Range<u64>> {
        self.mark(|unit| unit.info.id == id)
    }

    /// Marks the frames whose time is up by now, and returns where they lie.
    pub(super) fn expire(&mut self, now: Time) -> Vec<Range<u64>> {
        self.mark(|unit| expiry(unit).is_some_and(|deadline| deadline <= now))
    }

    /// When the next one expires.
    pub(super) fn next_expiry(&self) -> Option<Time> {
        self.0.iter().filter_map(expiry).min()
    }

    fn mark(&mut self, which: impl Fn(&Unit) -> bool) -> Vec<Range<u64>> {
        let found = self.0.iter_mut().filter(|unit| which(unit));
        found
            .map(|unit| {
                unit.given_up = true;
                unit.range.clone()
            })
            .collect()
    }

    pub(super) fn trim(&mut self, offset: u64) {
        while self.0.front().is_some_and(|unit| unit.range.end <= offset) {
            self.0.pop_front();
        }
    }

    pub(super) fn truncate(&mut self, end: u64) {
        while let Some(last) = self.0.back_mut() {
            if last.range.start < end {
                last.range.end = last.range.end.min(end);
                return;
            }
            self.0.pop_back();
        }
    }

    pub(super) fn memory(&self) -> usize {
        self.0.capacity() * size_of::<Unit>()
    }
}

/// When a frame is given up by itself.
fn expiry(unit: &Unit) -> Option<Time> {
    let waits = !unit.given_up && unit.info.reliability == Reliability::UntilDeadline;
    unit.info.deadline.filter(|_| waits)
}
