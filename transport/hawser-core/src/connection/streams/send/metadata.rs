//! What was said about the bytes of a stream. Streams of which nothing was said have none of this.

use std::ops::{ControlFlow, Range};

use hawser_policy::{FrameInfo, PathId, Segment, StreamId, Time};

use super::SendStream;
use super::assignments::Assignments;
use super::partial::Partial;
use super::units::{Unit, Units};

/// Beyond its bytes, what a sending half holds.
#[derive(Debug, Default)]
pub(in super::super) struct Metadata {
    /// The application's label.
    pub(super) class: u32,
    pub(super) units: Units,
    pub(super) partial: Partial,
    pub(super) assignments: Assignments,
}

impl Metadata {
    /// Forgets what was said about bytes below `offset`, which have arrived or were given up.
    pub(super) fn trim(&mut self, offset: u64) {
        self.units.trim(offset);
        self.partial.trim(offset);
        self.assignments.trim(offset);
    }

    /// The stream ends at `end`.
    pub(super) fn truncate(&mut self, end: u64) {
        self.units.truncate(end);
        self.partial.truncate(end);
        self.assignments.remove(end..u64::MAX);
    }

    fn memory(&self) -> usize {
        size_of::<Self>() + self.units.memory() + self.partial.memory() + self.assignments.memory()
    }
}

impl SendStream {
    /// The metadata, made now if need be, without what is out of date.
    pub(super) fn metadata_mut(&mut self) -> &mut Metadata {
        let metadata = self.metadata.get_or_insert_default();
        metadata.trim(self.buffer.start());
        metadata
    }

    /// Gives the stream a class label.
    pub(in super::super) fn set_class(&mut self, class: u32) {
        self.metadata_mut().class = class;
    }

    /// One above the last byte written.
    pub(in super::super) fn written(&self) -> u64 {
        self.buffer.end()
    }

    /// The bytes from `start` on, just written, belong to this frame. Returns whether the frame was given up before, so
    /// that these bytes are to be given up too.
    pub(in super::super) fn add_to_frame(&mut self, info: &FrameInfo, start: u64) -> bool {
        let range = start..self.buffer.end();
        let metadata = self.metadata_mut();
        metadata.partial.on_written(info.reliability, range.clone());
        metadata.units.add(info, range)
    }

    /// Frames of which something was not acknowledged yet and that have this number.
    pub(in super::super) fn frames(&self, id: u64) -> impl Iterator<Item = &Unit> {
        let start = self.buffer.start();
        let units = self.metadata.iter().flat_map(|metadata| metadata.units.iter());
        units.filter(move |unit| unit.info.id == id && unit.range.end > start)
    }

    /// Gives frames another deadline; returns how many there are with this number.
    pub(in super::super) fn set_frame_deadline(&mut self, id: u64, deadline: Option<Time>) -> usize {
        self.metadata_mut().units.set_deadline(id, deadline)
    }

    /// Shows a queued range to a policy, in pieces that are alike.
    pub(in super::super) fn visit_segments(
        &self,
        stream: StreamId,
        range: Range<u64>,
        retransmission: bool,
        visit: &mut dyn FnMut(&Segment<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let plain = |range| {
            Segment::plain(stream, range).with(|segment| {
                segment.priority = self.priority;
                segment.retransmission = retransmission;
            })
        };
        let Some(metadata) = &self.metadata else { return visit(&plain(range)) };
        let mut rest = range;
        while let Some(part) = metadata.partial.first_wanted(rest.clone()) {
            let (unit, unit_end) = metadata.units.at(part.start);
            let (assigned, assignment_end) = metadata.assignments.at(part.start);
            let end = part.end.min(unit_end).min(assignment_end);
            let mut segment = plain(part.start..end);
            (segment.class, segment.assigned) = (metadata.class, assigned);
            segment.reliability = metadata.partial.reliability;
            if let Some(unit) = unit {
                describe(&mut segment, &unit.info);
                segment.extent = unit.range.clone();
                segment.depends_on = &unit.info.dependencies;
            }
            visit(&segment)?;
            rest.start = end;
        }
        ControlFlow::Continue(())
    }

    /// The first lost bytes that may be sent on this path.
    #[inline]
    pub(in super::super) fn next_lost(&self, path: PathId) -> Option<Range<u64>> {
        match &self.metadata {
            None => self.lost.first(),
            Some(metadata) => {
                self.lost.iter().find_map(|range| metadata.assignments.first_allowed(range, path))
            }
        }
    }

    /// As [`unsent_at`](Self::unsent_at), without what another path was given.
    #[inline]
    pub(in super::super) fn next_unsent(&self, path: PathId, skip: u64, credit: u64) -> Option<Range<u64>> {
        match &self.metadata {
            Some(metadata) if !metadata.assignments.is_empty() => {
                self.next_unassigned(&metadata.assignments, path, skip, credit)
            }
            _ => self.unsent_at(skip, credit),
        }
    }

    /// The first contiguous bytes of the gaps before `offset` that may be sent on this path.
    pub(in super::super) fn gap_before(&self, offset: u64, path: PathId) -> Option<Range<u64>> {
        // Without credit of the connection nothing but gaps is left, which have theirs already.
        self.next_unsent(path, 0, 0).filter(|gap| gap.start < offset)
    }

    #[inline(never)]
    fn next_unassigned(
        &self,
        assignments: &Assignments,
        path: PathId,
        mut skip: u64,
        credit: u64,
    ) -> Option<Range<u64>> {
        while let Some(range) = self.unsent_at(skip, credit) {
            if let Some(allowed) = assignments.first_allowed(range.clone(), path) {
                return Some(allowed);
            }
            skip += range.end - range.start;
        }
        None
    }

    /// The first lost or else unsent bytes within `range` that may be sent on this path; and whether they were lost.
    pub(in super::super) fn next_named(
        &self,
        path: PathId,
        range: &Range<u64>,
        credit: u64,
    ) -> Option<(Range<u64>, bool)> {
        let allowed = |part: Range<u64>| match &self.metadata {
            None => Some(part),
            Some(metadata) => metadata.assignments.first_allowed(part, path),
        };
        let find = |next: &dyn Fn(Range<u64>) -> Option<Range<u64>>| {
            let mut rest = range.clone();
            while let Some(part) = next(rest.clone()) {
                rest.start = part.end;
                if let Some(found) = allowed(part) {
                    return Some(found);
                }
            }
            None
        };
        find(&|rest| self.lost.first_in(rest))
            .map(|part| (part, true))
            .or_else(|| find(&|rest| self.unsent_in(rest, credit)).map(|part| (part, false)))
    }

    /// Gives a path those of the bytes that were written and not acknowledged. Returns whether there are any and there
    /// was room to note it.
    pub(in super::super) fn assign(&mut self, range: Range<u64>, path: PathId) -> bool {
        let written = range.start.max(self.buffer.start())..range.end.min(self.buffer.end());
        !written.is_empty() && self.metadata_mut().assignments.insert(written, path)
    }

    /// Takes bytes back from the paths they were given to; whether any were.
    pub(in super::super) fn unassign(&mut self, range: Range<u64>) -> bool {
        self.metadata.as_mut().is_some_and(|metadata| metadata.assignments.remove(range))
    }

    /// Takes back all that a path was given.
    pub(in super::super) fn unassign_path(&mut self, path: PathId) {
        if let Some(metadata) = &mut self.metadata {
            metadata.assignments.remove_path(path);
        }
    }

    /// Bytes of memory of the metadata.
    pub(super) fn metadata_memory(&self) -> usize {
        self.metadata.as_ref().map_or(0, |metadata| metadata.memory())
    }
}

/// Puts into a segment what the application said of the frame, but for its dependencies.
fn describe(segment: &mut Segment<'_>, info: &FrameInfo) {
    segment.id = Some(info.id);
    segment.kind = info.kind;
    segment.layer = info.layer;
    segment.deadline = info.deadline;
    segment.priority = info.priority;
    segment.reliability = info.reliability;
}
