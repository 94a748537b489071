//! What an end sees of a flow, ten times a second.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hawser_lab::data::measure::{Measured, Samples, Totals};

use hawser::{Connection, PathId, PathStats};
use hawser_command::paths::milliseconds;

/// Payload that the application got.
pub(super) type Received = Arc<AtomicU64>;

/// One flow. It has one path for its life: a session has one address.
pub(super) struct Meter {
    connection: Connection,
    /// Absent at the sending end.
    received: Option<Received>,
    /// Bytes that were written before the payload.
    preface: u64,
    samples: Samples,
    packets_acked: u64,
    bytes: u64,
}

impl Meter {
    /// Of the end that sends, after so many bytes that are no payload.
    pub(super) fn of_sender(connection: Connection, preface: usize) -> Self {
        Meter {
            connection,
            received: None,
            preface: preface as u64,
            samples: Samples::default(),
            packets_acked: 0,
            bytes: 0,
        }
    }

    /// Of the end that receives.
    pub(super) fn of_receiver(connection: Connection, received: Received) -> Self {
        Meter { received: Some(received), ..Meter::of_sender(connection, 0) }
    }

    fn path(&self) -> PathStats {
        self.connection.path_stats(PathId::ZERO).unwrap_or_default()
    }

    /// Payload acknowledged, or received.
    fn payload(&self) -> u64 {
        match &self.received {
            Some(received) => received.load(Ordering::Relaxed),
            None => self.connection.stats().stream_bytes_acked.saturating_sub(self.preface),
        }
    }

    /// To be called every [`Samples::TICK_MS`]. Returns whether payload was acknowledged or received meanwhile.
    pub(super) fn tick(&mut self) -> bool {
        let (path, bytes) = (self.path(), self.payload());
        let is_new = path.packets_acked > self.packets_acked;
        self.samples.push(Totals {
            bytes,
            packets_sent: path.datagrams_sent,
            packets_lost: lost(&path),
            rtt_ms: is_new.then(|| milliseconds(path.latest_rtt)),
        });
        self.packets_acked = path.packets_acked;
        std::mem::replace(&mut self.bytes, bytes) < bytes
    }

    /// Whether payload is on its way that is not acknowledged.
    pub(super) fn is_under_way(&self) -> bool {
        let stats = self.connection.stats();
        self.received.is_none()
            && self.connection.close_reason().is_none()
            && stats.stream_bytes_acked < stats.stream_bytes_sent
    }

    /// What came of it so far.
    pub(super) fn measured(&self) -> Measured {
        let (path, payload) = (self.path(), self.payload());
        Measured {
            received_bytes: self.received.is_some().then_some(payload),
            acked_bytes: self.received.is_none().then_some(payload),
            packets_sent: path.datagrams_sent,
            packets_lost: lost(&path),
            min_rtt_ms: (path.packets_acked > 0).then(|| milliseconds(path.min_rtt)),
            samples: self.samples.clone(),
        }
    }
}

fn lost(path: &PathStats) -> u64 {
    path.packets_lost.saturating_sub(path.packets_spuriously_lost)
}
