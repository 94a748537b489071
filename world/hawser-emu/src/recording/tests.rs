use std::sync::mpsc::{Receiver as Gate, channel};

use super::*;

struct NoTap;

impl Tapped for NoTap {
    fn remove_tap(&self) -> Option<Tap> {
        None
    }
}

/// Waits at its first batch until the gate opens.
struct Slow {
    gate: Gate<()>,
    seen: Vec<u64>,
}

impl PacketRecorder for Slow {
    fn packets(&mut self, records: &[PacketRecord]) {
        if self.seen.is_empty() {
            self.gate.recv().unwrap();
        }
        self.seen.extend(records.iter().map(|record| record.sent));
    }
}

fn record(number: u64) -> PacketRecord {
    PacketRecord {
        sent: number,
        at: number,
        late: 0,
        route: RouteName::Link(0),
        direction: Direction::Up,
        port: 1,
        length: 100,
        congestion_experienced: false,
        dropped: None,
        bytes: None,
    }
}

#[test]
fn a_slow_recorder_loses_records_and_stops_nobody() {
    let (open, gate) = channel();
    let (mut tap, recording) = Recording::start(Slow { gate, seen: Vec::new() }, Arc::new(NoTap)).unwrap();
    let offered = 4 * (WAITING_BATCHES * BATCH) as u64 + 7;
    (0..offered).for_each(|number| tap.add(record(number)));
    open.send(()).unwrap();
    drop(tap);
    let (recorder, lost) = recording.finish();
    assert!(lost >= 2 * (WAITING_BATCHES * BATCH) as u64, "the channel is bounded: {lost}");
    assert_eq!(recorder.seen.len() as u64 + lost, offered);
    assert!(recorder.seen.is_sorted());
    assert_eq!(recorder.seen.last(), Some(&(offered - 1)), "what the tap held is not lost");
}
