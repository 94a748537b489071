//! Makes a trace of events: which packets were acknowledged, lost, and lost by mistake.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::read::{Acked, Event, Metrics, Moved, Packet as Written, What};
use crate::trace::{Change, Chunk, NEVER, Packet, Path, Series, Side, Trace};

/// Packets that are kept; a trace with more is read up to there.
const MAX_PACKETS: usize = 4_000_000;
/// Pieces of stream data that are kept, and the length of one: no datagram has more.
const MAX_CHUNKS: usize = 16_000_000;
const MAX_LENGTH: u64 = 65_535;
/// Paths that are kept.
const MAX_PATHS: usize = 256;
/// Values of one series, and changes of one state.
const MAX_VALUES: usize = 2_000_000;
const MAX_CHANGES: usize = 10_000;

/// A trace as far as it was read.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    events: u64,
    end_us: u64,
    sent: Vec<Packet>,
    received: Vec<Packet>,
    chunks: Vec<Chunk>,
    paths: BTreeMap<u64, Path>,
    /// By path: packets that may still be acknowledged, lost ones included, by number.
    open: FxHashMap<u64, BTreeMap<u64, u32>>,
    is_full: bool,
}

impl Builder {
    /// Takes an event. Returns whether more are wanted.
    pub(crate) fn apply(&mut self, event: Event) -> bool {
        let Event { at_us, path, what } = event;
        self.events += 1;
        self.end_us = self.end_us.max(at_us);
        match what {
            What::Sent(packet) => self.sent(at_us, path, &packet),
            What::Received(packet) => self.received(at_us, path, &packet),
            What::Lost(packet) => self.lost(at_us, path, &packet),
            What::Acked(acked) => self.acked(at_us, path, &acked),
            What::Metrics(metrics) => self.metrics(at_us, path, metrics),
            What::PathMoved(moved) => {
                let id = moved.path_id.map(|id| id.whole()).or(path).unwrap_or(0);
                if let Some(path) = self.path(id) {
                    change(&mut path.states, at_us, moved);
                }
            }
            What::Congestion(moved) => {
                let id = moved.path_id.map(|id| id.whole()).or(path).unwrap_or(0);
                if let Some(path) = self.path(id) {
                    change(&mut path.congestion, at_us, moved);
                }
            }
            What::Tuple(tuple) => {
                if let Some(path) = tuple.path().or(path).and_then(|id| self.path(id)) {
                    path.local = tuple.local().or(path.local.take());
                    path.remote = tuple.remote().or(path.remote.take());
                }
            }
            What::Closed | What::Other => {}
        }
        !self.is_full
    }

    fn path(&mut self, id: u64) -> Option<&mut Path> {
        if self.paths.len() == MAX_PATHS && !self.paths.contains_key(&id) {
            return None;
        }
        Some(self.paths.entry(id).or_default())
    }

    /// The packet with its stream data, if it comes after the handshake.
    fn packet(&mut self, at_us: u64, path: Option<u64>, written: &Written) -> Option<Packet> {
        if written.is_of_handshake() {
            return None;
        }
        if self.sent.len() + self.received.len() >= MAX_PACKETS {
            self.is_full = true;
            return None;
        }
        let path = written.path().or(path).unwrap_or(0);
        self.path(path)?;
        let first = self.chunks.len();
        for data in written.frames.iter().filter_map(|frame| frame.stream_data()).take(usize::from(u16::MAX))
        {
            if self.chunks.len() == MAX_CHUNKS {
                self.is_full = true;
                break;
            }
            let length = data.length.min(MAX_LENGTH) as u32;
            self.chunks.push(Chunk { stream: data.stream, offset: data.offset, length, fin: data.fin });
        }
        let count = self.chunks.len() - first;
        Some(Packet {
            at_us,
            path,
            number: written.number()?,
            size: u32::try_from(written.size()).unwrap_or(u32::MAX),
            chunks: (u32::try_from(first).ok()?, u16::try_from(count).ok()?),
            acked_us: NEVER,
            lost_us: NEVER,
        })
    }

    fn sent(&mut self, at_us: u64, path: Option<u64>, written: &Written) {
        let Some(packet) = self.packet(at_us, path, written) else { return };
        let index = self.sent.len() as u32;
        self.open.entry(packet.path).or_default().insert(packet.number, index);
        self.sent.push(packet);
    }

    fn received(&mut self, at_us: u64, path: Option<u64>, written: &Written) {
        let Some(packet) = self.packet(at_us, path, written) else { return };
        for frame in &written.frames {
            if let Some((path, ranges)) = frame.acked() {
                for (first, last) in ranges {
                    self.settle(at_us, path, first, last);
                }
            }
        }
        self.received.push(packet);
    }

    /// Packets of a path were acknowledged, numbers inclusive.
    fn settle(&mut self, at_us: u64, path: u64, first: u64, last: u64) {
        let Some(open) = self.open.get_mut(&path) else { return };
        let numbers: Vec<u64> = open.range(first..=last).map(|(number, _)| *number).collect();
        for number in numbers {
            if let Some(packet) = open.remove(&number).and_then(|index| self.sent.get_mut(index as usize)) {
                packet.acked_us = at_us;
            }
        }
    }

    fn acked(&mut self, at_us: u64, path: Option<u64>, acked: &Acked) {
        let space = acked.packet_number_space.as_deref().unwrap_or("application_data");
        if !matches!(space, "application_data" | "1RTT" | "1rtt") {
            return;
        }
        let path = acked.path_id.map(|id| id.whole()).or(path).unwrap_or(0);
        for number in &acked.packet_numbers {
            self.settle(at_us, path, number.whole(), number.whole());
        }
    }

    fn lost(&mut self, at_us: u64, path: Option<u64>, written: &Written) {
        let Some(number) = written.number().filter(|_| !written.is_of_handshake()) else { return };
        let path = written.path().or(path).unwrap_or(0);
        let index = self.open.get(&path).and_then(|open| open.get(&number));
        if let Some(packet) = index.and_then(|index| self.sent.get_mut(*index as usize)) {
            packet.lost_us = packet.lost_us.min(at_us);
        }
    }

    fn metrics(&mut self, at_us: u64, path: Option<u64>, metrics: Metrics) {
        let id = metrics.path_id.map(|id| id.whole()).or(path).unwrap_or(0);
        let Some(path) = self.path(id) else { return };
        let values = [
            (
                &mut path.rtt,
                metrics.latest_rtt.or(metrics.smoothed_rtt.filter(|_| metrics.min_rtt.is_some())),
            ),
            (&mut path.window, metrics.congestion_window),
            (&mut path.in_flight, metrics.bytes_in_flight),
        ];
        for (series, value) in values {
            if let Some(value) = value {
                add(series, at_us, value.0);
            }
        }
    }

    /// The trace.
    pub(crate) fn finish(self, head: &crate::read::Head, file: &str) -> Trace {
        let mut notices = Vec::new();
        if self.is_full {
            notices.push(format!("the trace has more than {MAX_PACKETS} packets; it is read up to there"));
        }
        let side = match head.side.as_str() {
            "client" => Side::Client,
            "server" => Side::Server,
            _ => Side::Unknown,
        };
        Trace {
            file: file.to_owned(),
            implementation: head.implementation.clone(),
            version: head.version.clone(),
            side,
            group: head.group.clone(),
            events: self.events,
            end_us: self.end_us,
            sent: sorted(self.sent),
            received: sorted(self.received),
            chunks: self.chunks,
            paths: self.paths,
            notices,
        }
    }
}

/// Records should be in the order of time; not all implementations see to it.
fn sorted(mut packets: Vec<Packet>) -> Vec<Packet> {
    packets.sort_by_key(|packet| packet.at_us);
    packets
}

fn add(series: &mut Series, at_us: u64, value: f64) {
    if series.len() < MAX_VALUES {
        series.push((at_us, value));
    }
}

fn change(changes: &mut Vec<Change>, at_us: u64, moved: Moved) {
    if let Some(to) = moved.new
        && changes.len() < MAX_CHANGES
    {
        changes.push(Change { at_us, to, cause: moved.trigger.unwrap_or_default() });
    }
}
