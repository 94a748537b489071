//! The end that sends.

use std::collections::VecDeque;

use bytes::{Buf as _, Bytes};
use hawser_policy::{FrameInfo, Reliability, SegmentKind, StreamId, Time};
use hawser_ride::{DeadlineRule, FrameKind, FrameSet, TILES, Video, Views, bundle, deadline_frame, in_order};

use super::wire::{Index, UnitEntry};
use super::{Format, release};
use crate::backlog::Backlog;
use crate::live::HEADER_ID;
use crate::{Application, Measure, Transport};

/// Before all units.
const INDEX_PRIORITY: i32 = i32::MAX;

/// Releases what is viewed of each frame, in raster order.
#[derive(Debug)]
pub struct Sender {
    format: Format,
    video: Video,
    views: Views,
    started_at: Option<Time>,
    next_frame: u32,
    index: Option<StreamId>,
    /// Of the index what the transport did not take yet.
    unsaid: VecDeque<(FrameInfo, Bytes)>,
    /// Units that the transport did not take whole yet.
    backlog: Backlog,
    /// For each tile the frames of the group of pictures that were sent.
    sent: Vec<FrameSet>,
    units: u64,
    refused: u64,
}

impl Sender {
    /// Sends a film to a viewer.
    pub fn new(format: Format, video: Video, views: Views) -> Self {
        Sender {
            format,
            video,
            views,
            started_at: None,
            next_frame: 0,
            index: None,
            unsaid: VecDeque::new(),
            backlog: Backlog::default(),
            sent: vec![0; TILES],
            units: 0,
            refused: 0,
        }
    }

    fn release(&mut self, now: Time, transport: &mut dyn Transport) {
        let frame = self.next_frame;
        self.next_frame += 1;
        self.backlog.give_up(transport, |info| info.deadline.is_some_and(|deadline| deadline <= now));
        let length = self.video.gop().len() as u32;
        let (gop, member) = ((frame / length) as usize, (frame % length) as usize);
        if member == 0 {
            self.sent.fill(0);
        }
        let viewed = |tile: &usize| self.views.of(gop, *tile) >> member & 1 == 1;
        let tiles: Vec<usize> = (0..TILES).filter(viewed).collect();
        let units = tiles.into_iter().map(|tile| self.begin(now, frame, tile, transport)).collect();
        self.say(&Index { frame, released_at: now, units }, transport);
        self.backlog.write(transport);
    }

    fn begin(&mut self, now: Time, frame: u32, tile: usize, transport: &mut dyn Transport) -> UnitEntry {
        let gop = self.video.gop();
        let member = frame as usize % gop.len();
        let first = frame as usize - member;
        let views = self.views.of(first / gop.len(), tile);
        let members = bundle(gop, views, self.sent[tile], member);
        // It is viewed itself, so that it has a deadline of its own.
        let until = deadline_frame(gop, DeadlineRule::Paper, views, member).unwrap_or(member);
        let size = |at: usize| self.video.size(first + at, tile) as u32;
        let sizes: Vec<u32> = in_order(gop, members).map(size).collect();
        let kind =
            if gop.kind(member) == FrameKind::I { SegmentKind::KeyFrame } else { SegmentKind::DeltaFrame };
        let stream = transport.open_stream();
        self.units += 1;
        if let Some(stream) = stream {
            self.sent[tile] |= members;
            // Earlier frames before later ones.
            let priority = -(frame as i32);
            transport.set_priority(stream, priority);
            let start = self.started_at.unwrap_or(now);
            let info = FrameInfo::default().with(|made| {
                made.id = u64::from(frame) * TILES as u64 + tile as u64;
                made.kind = kind;
                made.layer = tile as u32;
                made.deadline = Some(self.format.display_ends(start, (first + until) as u32));
                made.priority = priority;
                made.reliability = Reliability::UntilDeadline;
            });
            let size = sizes.iter().map(|size| u64::from(*size)).sum();
            self.backlog.push(stream, info, key(frame, tile), size);
        } else {
            self.refused += 1;
        }
        UnitEntry { stream, tile: tile as u16, until: until as u8, members, sizes }
    }

    fn say(&mut self, index: &Index, transport: &mut dyn Transport) {
        let info = FrameInfo::default().with(|frame| {
            frame.id = u64::from(index.frame) | HEADER_ID;
            frame.kind = SegmentKind::Signalling;
            frame.priority = INDEX_PRIORITY;
        });
        self.unsaid.push_back((info, index.encode().into()));
        self.go_on_saying(transport);
    }

    fn go_on_saying(&mut self, transport: &mut dyn Transport) {
        let Some(stream) = self.index else { return };
        while let Some((info, bytes)) = self.unsaid.front_mut() {
            bytes.advance(transport.write_frame(stream, info, bytes.clone()));
            if !bytes.is_empty() {
                return;
            }
            self.unsaid.pop_front();
        }
        if self.next_frame >= self.format.frames {
            transport.finish(stream);
            self.index = None;
        }
    }
}

/// Which bytes a unit has.
pub(super) fn key(frame: u32, tile: usize) -> u32 {
    frame.wrapping_mul(TILES as u32).wrapping_add(tile as u32)
}

impl Application for Sender {
    fn on_start(&mut self, now: Time, _: Time, transport: &mut dyn Transport) {
        self.started_at = Some(now);
        self.index = transport.open_stream();
        if let Some(stream) = self.index {
            transport.set_priority(stream, INDEX_PRIORITY);
        }
        self.on_timeout(now, transport);
    }

    fn on_writable(&mut self, _: Time, transport: &mut dyn Transport) {
        self.go_on_saying(transport);
        self.backlog.write(transport);
    }

    fn next_timeout(&self) -> Option<Time> {
        let started_at = self.started_at.filter(|_| self.next_frame < self.format.frames)?;
        Some(started_at + release(self.next_frame))
    }

    fn on_timeout(&mut self, now: Time, transport: &mut dyn Transport) {
        while self.next_timeout().is_some_and(|at| at <= now) {
            self.release(now, transport);
        }
    }

    fn is_done(&self) -> bool {
        self.next_frame >= self.format.frames && self.backlog.is_empty() && self.unsaid.is_empty()
    }

    fn measures(&self, _: Time) -> Vec<Measure> {
        vec![
            Measure::new("frames_made", f64::from(self.next_frame), "frames"),
            Measure::new("units_made", self.units as f64, "units"),
            Measure::new("bytes_written", self.backlog.written() as f64, "bytes"),
            Measure::new("bytes_cut", self.backlog.cut() as f64, "bytes"),
            Measure::new("units_refused", self.refused as f64, "units"),
        ]
    }
}
