//! The send queue, cut where the mode changes.

use std::ops::{ControlFlow, Range};

use hawser_policy::{Assignment, QueueView, Selection, SendView, StreamId};

use super::mode::{Mode, Rules};

/// So many are looked at: what lies further behind has time.
const MAX_RUNS: usize = 8;

/// Bytes that follow each other in the send queue and have one mode.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Run {
    pub(super) mode: Mode,
    /// Stream bytes of the queue before it.
    start: u64,
    retransmit: u64,
    unsent: u64,
    datagrams: u64,
    datagram_count: u64,
}

/// The first runs of a queue.
pub(super) struct Runs {
    runs: [Run; MAX_RUNS],
    count: usize,
}

impl Runs {
    pub(super) fn new(view: &SendView<'_>, rules: &Rules) -> Self {
        let mut runs = Runs { runs: [Run::default(); MAX_RUNS], count: 0 };
        let (mut start, mut datagrams_due) = (0_u64, view.queue.datagrams > 0);
        view.segments.segments(&mut |segment| {
            if datagrams_due && !segment.retransmission {
                datagrams_due = false;
                runs.add_datagrams(view, rules, start);
            }
            let bytes = segment.range.end.saturating_sub(segment.range.start);
            let is_room = runs.add_stream(rules.of(segment.class), start, bytes, segment.retransmission);
            start = start.saturating_add(bytes);
            if is_room { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        if datagrams_due {
            runs.add_datagrams(view, rules, start);
        }
        if runs.count == 0 {
            // A queue that shows no segments, or only empty ones: the end of a stream.
            runs.add_whole(view, rules);
        }
        runs
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().take(self.count)
    }

    /// Whether there was room.
    fn add_stream(&mut self, mode: Mode, start: u64, bytes: u64, is_retransmission: bool) -> bool {
        if bytes == 0 {
            return true;
        }
        let (retransmit, unsent) = if is_retransmission { (bytes, 0) } else { (0, bytes) };
        let last = self.count.checked_sub(1).and_then(|last| self.runs.get_mut(last));
        if let Some(last) = last.filter(|last| last.mode == mode && last.datagrams == 0) {
            last.retransmit = last.retransmit.saturating_add(retransmit);
            last.unsent = last.unsent.saturating_add(unsent);
            return true;
        }
        self.push(Run { mode, start, retransmit, unsent, ..Run::default() })
    }

    /// All datagrams have the mode of the first: they are sent one after the other.
    fn add_datagrams(&mut self, view: &SendView<'_>, rules: &Rules, start: u64) {
        let mut class = 0;
        view.segments.datagrams(&mut |datagram| {
            class = datagram.class;
            ControlFlow::Break(())
        });
        let QueueView { datagrams, datagram_count, .. } = view.queue;
        self.push(Run { mode: rules.of(class), start, datagrams, datagram_count, ..Run::default() });
    }

    fn add_whole(&mut self, view: &SendView<'_>, rules: &Rules) {
        let QueueView { retransmit, unsent, .. } = view.queue;
        self.push(Run { mode: rules.default_mode(), start: 0, retransmit, unsent, ..Run::default() });
    }

    fn push(&mut self, run: Run) -> bool {
        let Some(place) = self.runs.get_mut(self.count) else { return false };
        *place = run;
        self.count += 1;
        true
    }
}

impl Run {
    /// As if nothing else were queued.
    pub(super) fn view<'a>(&self, view: &SendView<'a>) -> SendView<'a> {
        let queue = view.queue.with(|queue| {
            queue.retransmit = self.retransmit;
            queue.unsent = self.unsent;
            queue.datagrams = self.datagrams;
            queue.datagram_count = self.datagram_count;
        });
        (*view).with(|view| view.queue = queue)
    }

    /// An assignment of bytes of the run as one of bytes of the queue; `None` if the bytes are not there.
    pub(super) fn place(
        &self,
        view: &SendView<'_>,
        assignment: Assignment,
        is_head: bool,
    ) -> Option<Assignment> {
        let whole = self.retransmit.saturating_add(self.unsent).saturating_add(self.datagrams);
        let max_bytes = assignment.max_bytes.min(whole.max(1));
        let skipped = match assignment.selection {
            Selection::Next if is_head => {
                return Some(assignment.with(|assignment| assignment.max_bytes = max_bytes));
            }
            Selection::Skip(_) | Selection::Unsent(_) if is_head => {
                return Some(assignment.with(|assignment| assignment.max_bytes = max_bytes));
            }
            Selection::Next if self.datagrams > 0 => {
                return Some(assignment.with(|assignment| {
                    assignment.max_bytes = max_bytes;
                    assignment.selection = Selection::Datagrams;
                }));
            }
            Selection::Next => 0,
            Selection::Skip(bytes) | Selection::Unsent(bytes) => self.retransmit.saturating_add(bytes),
            // Names what it takes: copies, repair symbols, datagrams, a range.
            _ => return Some(assignment),
        };
        let (stream, range) = locate(view, self.start.saturating_add(skipped))?;
        let end = range.end.min(range.start.saturating_add(max_bytes));
        let selection = Selection::Range { stream, start: range.start, end };
        (range.start < end).then_some(assignment.with(|assignment| {
            assignment.selection = selection;
            assignment.max_bytes = max_bytes;
        }))
    }
}

/// The rest of the segment in which this byte of the queue lies.
fn locate(view: &SendView<'_>, mut bytes: u64) -> Option<(StreamId, Range<u64>)> {
    let mut found = None;
    view.segments.segments(&mut |segment| {
        let length = segment.range.end.saturating_sub(segment.range.start);
        if bytes < length {
            found = Some((segment.stream, segment.range.start + bytes..segment.range.end));
            return ControlFlow::Break(());
        }
        bytes -= length;
        ControlFlow::Continue(())
    });
    found
}
