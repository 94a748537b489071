//! A send queue as the core keeps it, small enough to be seen through: one stream, packets that are lost or acknowledged.

use std::ops::{ControlFlow, Range};

use hawser_policy::{
    Command, Commands, Decision, Event, Interests, PacketReport, PacketSent, PathId, PathMask, PathView,
    QueueView, Reliability, Scheduler, Segment, SegmentKind, Selection, SendQueue, SendView, StreamId,
    StreamRange, Time,
};

use crate::testing::DATAGRAM;

pub(super) const STREAM: StreamId = StreamId(0);

/// An application frame.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub(super) id: u64,
    pub(super) kind: SegmentKind,
    pub(super) extent: Range<u64>,
    pub(super) reliability: Reliability,
}

/// Where a byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Byte {
    Unsent,
    Lost,
    InFlight,
    Arrived,
    /// Discarded, or lost and not to be retransmitted.
    Gone,
}

/// A packet in flight.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    pub(super) path: PathId,
    pub(super) range: Range<u64>,
    pub(super) number: u64,
    pub(super) is_copied: bool,
}

/// One stream, byte by byte.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) frames: Vec<Written>,
    pub(super) bytes: Vec<Byte>,
    sent_once: Vec<bool>,
    pub(super) in_flight: Vec<Packet>,
    next_number: u64,
    /// Whether the peer takes STREAM_SKIP.
    pub(super) takes_gaps: bool,
    pub(super) ignored: usize,
    /// Packets of which other paths got copies.
    pub(super) copied: Vec<Packet>,
}

impl SendQueue for Queue {
    fn segments(&self, visit: &mut dyn FnMut(&Segment<'_>) -> ControlFlow<()>) {
        for (state, retransmission) in [(Byte::Lost, true), (Byte::Unsent, false)] {
            for frame in &self.frames {
                let mut start = frame.extent.start;
                while start < frame.extent.end {
                    let rest = &self.bytes[start as usize..frame.extent.end as usize];
                    let same = rest.iter().take_while(|byte| **byte == rest[0]).count() as u64;
                    let range = start..start + same;
                    start = range.end;
                    if rest[0] != state {
                        continue;
                    }
                    let segment = Segment::plain(STREAM, range).with(|segment| {
                        segment.id = Some(frame.id);
                        segment.kind = frame.kind;
                        segment.extent = frame.extent.clone();
                        segment.reliability = frame.reliability;
                        segment.retransmission = retransmission;
                    });
                    if visit(&segment).is_break() {
                        return;
                    }
                }
            }
        }
    }
}

impl Queue {
    pub(super) fn new() -> Self {
        Queue { takes_gaps: true, ..Queue::default() }
    }

    /// Writes a frame with its header.
    pub(super) fn write_frame(&mut self, id: u64, size: u64, is_key: bool) {
        let (kind, reliability) = if is_key {
            (SegmentKind::KeyFrame, Reliability::Reliable)
        } else {
            (SegmentKind::DeltaFrame, Reliability::UntilDeadline)
        };
        self.write(1 << 63 | id, 16, SegmentKind::Signalling, Reliability::Reliable);
        self.write(id, size, kind, reliability);
    }

    pub(super) fn write(&mut self, id: u64, size: u64, kind: SegmentKind, reliability: Reliability) {
        let start = self.bytes.len() as u64;
        match self.frames.last_mut() {
            Some(last) if last.id == id => last.extent.end += size,
            _ => self.frames.push(Written { id, kind, extent: start..start + size, reliability }),
        }
        self.bytes.resize((start + size) as usize, Byte::Unsent);
        self.sent_once.resize((start + size) as usize, false);
    }

    fn count(&self, state: Byte) -> u64 {
        self.bytes.iter().filter(|byte| **byte == state).count() as u64
    }

    pub(super) fn waiting(&self) -> u64 {
        self.count(Byte::Unsent) + self.count(Byte::Lost)
    }

    pub(super) fn view<'a>(&'a self, now: Time, paths: &'a [PathView]) -> SendView<'a> {
        let (unsent, retransmit) = (self.count(Byte::Unsent), self.count(Byte::Lost));
        let queue = QueueView::default().with(|queue| {
            queue.unsent = unsent;
            queue.retransmit = retransmit;
            queue.connection_window_left = u64::MAX;
        });
        SendView::new(now, paths, queue, self)
    }

    fn frame_at(&self, at: u64) -> &Written {
        self.frames.iter().find(|frame| frame.extent.contains(&at)).expect("it was written")
    }

    /// Asks once and does what is answered; `None` if it waits.
    pub(super) fn step(
        &mut self,
        scheduler: &mut dyn Scheduler,
        now: Time,
        paths: &mut [PathView],
    ) -> Option<Packet> {
        let mut commands = Commands::new();
        let decision = scheduler.schedule(&self.view(now, paths), &mut commands);
        commands.into_iter().for_each(|command| self.apply(command));
        let Decision::Send(assignment) = decision else { return None };
        let path = paths.iter_mut().find(|path| path.id == assignment.path).expect("it exists");
        assert!(path.sendable() > 0, "{assignment:?}");
        let range = match assignment.selection {
            Selection::Range { stream, start, end } => {
                assert_eq!(stream, STREAM);
                start..end
            }
            Selection::Next => 0..self.bytes.len() as u64,
            Selection::Copies => {
                // As if it had been cancelled meanwhile.
                path.copies_queued = 0;
                return self.step(scheduler, now, paths);
            }
            other => panic!("{other:?}"),
        };
        assert!(!range.is_empty() && assignment.max_bytes > 0);
        let packet = self.send(scheduler, now, path, range, assignment.copies != PathMask::NONE)?;
        for (at, other) in paths.iter_mut().enumerate() {
            if assignment.copies.contains(at) {
                assert_ne!(other.id, packet.path);
                other.copies_queued += packet.range.end - packet.range.start;
            }
        }
        Some(packet)
    }

    /// A packet with the first run of waiting bytes in `range`, lost ones first.
    fn send(
        &mut self,
        scheduler: &mut dyn Scheduler,
        now: Time,
        path: &mut PathView,
        range: Range<u64>,
        is_copied: bool,
    ) -> Option<Packet> {
        let find = |state| {
            let all = &self.bytes[range.start as usize..range.end as usize];
            let first = all.iter().position(|byte| *byte == state)?;
            let run = all[first..].iter().take(DATAGRAM as usize).take_while(|byte| **byte == state).count();
            let start = range.start + first as u64;
            Some(start..start + run as u64)
        };
        let sent = find(Byte::Lost).or_else(|| find(Byte::Unsent)).expect("something of it waits");
        for at in sent.clone() {
            assert!(!(is_copied && self.sent_once[at as usize]), "what was lost is not copied again");
            self.bytes[at as usize] = Byte::InFlight;
            self.sent_once[at as usize] = true;
        }
        let packet = Packet { path: path.id, range: sent, number: self.next_number, is_copied };
        self.next_number += 1;
        path.bytes_in_flight += DATAGRAM;
        let ranges = [StreamRange { stream: STREAM, range: packet.range.clone(), copy: false }];
        let event = PacketSent::default().with(|sent| {
            sent.now = now;
            sent.path = path.id;
            sent.packet_number = packet.number;
            sent.bytes = DATAGRAM;
            sent.bytes_in_flight = path.bytes_in_flight;
            sent.ranges = &ranges;
            sent.limited_by = Default::default();
        });
        tell(scheduler, &Event::Sent(&event));
        if is_copied {
            self.copied.push(packet.clone());
        }
        self.in_flight.push(packet.clone());
        Some(packet)
    }

    /// What policies order: reliable bytes are never discarded, and nothing that left is.
    fn apply(&mut self, command: Command) {
        let (range, discards) = match command {
            Command::Discard { range, .. } => (range, true),
            Command::DoNotRetransmit { range, .. } => (range, false),
            other => panic!("{other:?}"),
        };
        for at in range {
            let frame = self.frame_at(at);
            assert_ne!(frame.reliability, Reliability::Reliable, "{frame:?}");
            assert_eq!(frame.kind, SegmentKind::DeltaFrame);
            if !self.takes_gaps {
                self.ignored += 1;
                continue;
            }
            if discards {
                assert!(!self.sent_once[at as usize], "discarded after it left");
                self.bytes[at as usize] = Byte::Gone;
            } else {
                let frame = frame.id;
                let written = self.frames.iter_mut().find(|written| written.id == frame).expect("it exists");
                written.reliability = Reliability::Unreliable;
            }
        }
    }

    /// What becomes of a packet in flight.
    pub(super) fn settle(
        &mut self,
        scheduler: &mut dyn Scheduler,
        now: Time,
        paths: &mut [PathView],
        at: usize,
        is_lost: bool,
    ) {
        let packet = self.in_flight.remove(at);
        for at in packet.range.clone() {
            let gives_up = self.frame_at(at).reliability == Reliability::Unreliable;
            self.bytes[at as usize] = match is_lost {
                true if gives_up => Byte::Gone,
                true => Byte::Lost,
                false => Byte::Arrived,
            };
        }
        if let Some(path) = paths.iter_mut().find(|path| path.id == packet.path) {
            path.bytes_in_flight = path.bytes_in_flight.saturating_sub(DATAGRAM);
        }
        let ranges = [StreamRange { stream: STREAM, range: packet.range.clone(), copy: false }];
        let report = PacketReport::default().with(|report| {
            report.now = now;
            report.path = packet.path;
            report.packet_number = packet.number;
            report.bytes = DATAGRAM;
            report.sent_at = now;
            report.bytes_in_flight_at_send = DATAGRAM;
            report.ranges = &ranges;
        });
        tell(scheduler, &if is_lost { Event::Lost(&report) } else { Event::Acked(&report) });
    }
}

pub(super) fn tell(scheduler: &mut dyn Scheduler, event: &Event<'_>) {
    if scheduler.interests().contains(event.interest()) && event.interest() != Interests::NONE {
        scheduler.on_event(event, &mut Commands::new());
    }
}
