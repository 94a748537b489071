//! The end that sends.

use bytes::Bytes;
use hawser_policy::{FrameInfo, Reliability, SegmentKind, StreamId, Time};

use super::wire::Header;
use super::{Film, Format, LAYERS, RATES};
use crate::backlog::Backlog;
use crate::{Application, Measure, Piece, Transport};

/// The representation before the receiver asked for one.
pub(super) const FIRST_REPRESENTATION: u8 = 3;

/// Releases a frame in each period, the base layer first.
#[derive(Debug)]
pub struct Sender {
    format: Format,
    film: Film,
    started_at: Option<Time>,
    next_frame: u32,
    representation: u8,
    /// That of the segment before the next frame.
    segment: u32,
    wanted: u8,
    /// Layers of the frame that the transport did not take whole yet.
    backlog: Backlog,
    refused: u64,
}

impl Sender {
    /// Sends a film.
    pub fn new(format: Format, film: Film) -> Self {
        let fixed = format.representation;
        let first = if fixed > 0 { fixed } else { FIRST_REPRESENTATION };
        Sender {
            format,
            film,
            started_at: None,
            next_frame: 0,
            representation: first,
            segment: 0,
            wanted: first,
            backlog: Backlog::default(),
            refused: 0,
        }
    }

    fn release(&mut self, now: Time, transport: &mut dyn Transport) {
        // What the transport did not take in a whole period would be late.
        self.backlog.give_up(transport, |_| true);
        let number = self.next_frame;
        self.next_frame += 1;
        let segment = self.format.segment_of(number);
        if segment != self.segment {
            (self.segment, self.representation) = (segment, self.wanted);
        }
        let sizes = self.film.layers(number, self.format.period, self.representation);
        let representation = self.representation;
        for layer in 0..LAYERS as u8 {
            // The base layer tells of the frame, even if it is empty.
            if layer > 0 && sizes[usize::from(layer)] == 0 {
                continue;
            }
            self.begin(Header { number, layer, representation, sizes, written_at: now }, transport);
        }
        self.backlog.write(transport);
    }

    fn begin(&mut self, header: Header, transport: &mut dyn Transport) {
        let Some(stream) = transport.open_stream() else {
            self.refused += 1;
            return;
        };
        // Earlier layers before later ones, of whichever frame: what is late is given up in time.
        transport.set_priority(stream, -i32::from(header.layer));
        let key = header.number.wrapping_mul(LAYERS as u32 + 1).wrapping_add(header.layer.into());
        let about = FrameInfo::default().with(|frame| {
            frame.id = u64::from(header.number);
            frame.layer = header.layer.into();
            frame.priority = -i32::from(header.layer);
        });
        let signalling = about.clone().with(|frame| {
            frame.id = u64::from(header.number) | crate::live::HEADER_ID;
            frame.kind = SegmentKind::Signalling;
        });
        let bytes = Bytes::copy_from_slice(&header.encode());
        if transport.write_frame(stream, &signalling, bytes.clone()) < bytes.len() {
            // A stream without a header tells nothing.
            self.refused += 1;
            transport.finish(stream);
            return;
        }
        let info = about.with(|frame| {
            frame.kind = SegmentKind::DeltaFrame;
            frame.reliability = Reliability::UntilDeadline;
            frame.deadline = Some(header.written_at + self.format.period);
        });
        self.backlog.push(stream, info, key, header.size());
    }
}

impl Application for Sender {
    fn on_start(&mut self, now: Time, _: Time, transport: &mut dyn Transport) {
        self.started_at = Some(now);
        self.on_timeout(now, transport);
    }

    fn on_readable(&mut self, _: Time, stream: StreamId, transport: &mut dyn Transport) {
        while let piece @ (Piece::Data(_) | Piece::Gap(_)) = transport.read(stream) {
            let Piece::Data(bytes) = piece else { continue };
            let is_one = |wanted: &&u8| (1..=RATES.len()).contains(&usize::from(**wanted));
            if let Some(wanted) = bytes.iter().rev().find(is_one).filter(|_| self.format.representation == 0)
            {
                self.wanted = *wanted;
            }
        }
    }

    fn on_writable(&mut self, _: Time, transport: &mut dyn Transport) {
        self.backlog.write(transport);
    }

    fn next_timeout(&self) -> Option<Time> {
        let started_at = self.started_at.filter(|_| self.next_frame < self.format.frames)?;
        Some(started_at + self.format.period * self.next_frame)
    }

    fn on_timeout(&mut self, now: Time, transport: &mut dyn Transport) {
        while self.next_timeout().is_some_and(|at| at <= now) {
            self.release(now, transport);
        }
    }

    fn is_done(&self) -> bool {
        self.next_frame >= self.format.frames && self.backlog.is_empty()
    }

    fn measures(&self, _: Time) -> Vec<Measure> {
        vec![
            Measure::new("frames_made", f64::from(self.next_frame), "frames"),
            Measure::new("bytes_written", self.backlog.written() as f64, "bytes"),
            Measure::new("bytes_cut", self.backlog.cut() as f64, "bytes"),
            Measure::new("layers_refused", self.refused as f64, ""),
        ]
    }
}
