//! A record of every packet, taken without holding up the packets.
//!
//! ```text
//!  forwarding thread --batches--> [ bounded channel ] --> thread of the recorder
//!                        |
//!                        full: the batch is lost, and counted
//! ```

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use hawser_link::{DropCause, Nanos};
use hawser_scenario::{Direction, Scenario};

/// Records handed over at a time.
const BATCH: usize = 256;
/// Batches that may wait for a slow recorder: with the bytes of full-sized packets 26 MB.
const WAITING_BATCHES: usize = 64;

/// What became of a packet. Times are nanoseconds since the start of the schedules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketRecord {
    /// When it was sent: read from the sending host's device.
    pub sent: Nanos,
    /// When it arrived, as the links have it, or was dropped.
    pub at: Nanos,
    /// How much later than that the receiving host really got it.
    pub late: Nanos,
    /// What it travelled over.
    pub route: RouteName,
    /// The direction.
    pub direction: Direction,
    /// UDP or TCP port of the client; 0: it has none.
    pub port: u16,
    /// Bytes of the IP packet.
    pub length: u32,
    /// Whether it carries a mark of congestion (RFC 3168).
    pub congestion_experienced: bool,
    /// Where and why it was dropped: an index into the scenario's links followed by its segments.
    pub dropped: Option<(usize, DropCause)>,
    /// The IP packet, if the recorder wants it: the first `length` bytes. Packets of the background have none.
    pub bytes: Option<Box<[u8]>>,
}

/// The route of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteName {
    /// Over this access link, by its index.
    Link(usize),
    /// That of this UDP flow of the scenario, by its index.
    Flow(usize),
}

impl PacketRecord {
    /// Name of the access link, or of the UDP flow, that it belongs to.
    pub fn route_name<'a>(&self, scenario: &'a Scenario) -> &'a str {
        let name = match self.route {
            RouteName::Link(index) => scenario.links.get(index).map(|link| &link.name),
            RouteName::Flow(index) => scenario.flows.get(index).map(|flow| &flow.name),
        };
        name.map_or("", |name| name)
    }

    /// Name of the link or segment that dropped it, and why.
    pub fn drop_name<'a>(&self, scenario: &'a Scenario) -> Option<(&'a str, DropCause)> {
        let (index, cause) = self.dropped?;
        let segments = scenario.segments.iter().map(|segment| &segment.name);
        let mut names = scenario.links.iter().map(|link| &link.name).chain(segments);
        Some((names.nth(index)?, cause))
    }

    /// The IP packet, if it was recorded.
    pub fn packet(&self) -> Option<&[u8]> {
        self.bytes.as_ref()?.get(..self.length as usize)
    }
}

/// Takes records, on a thread of its own.
pub trait PacketRecorder: Send {
    /// Whether records carry the packets themselves.
    fn wants_bytes(&self) -> bool {
        false
    }

    /// Some more packets that came to the end of their way, nearly in the order of time.
    fn packets(&mut self, records: &[PacketRecord]);
}

/// Keeps everything.
impl PacketRecorder for Vec<PacketRecord> {
    fn packets(&mut self, records: &[PacketRecord]) {
        self.extend_from_slice(records);
    }
}

/// A recording that goes on until it is finished, or the emulation is dropped.
pub struct Recording<R> {
    source: Arc<dyn Tapped>,
    thread: JoinHandle<R>,
    lost: Arc<AtomicU64>,
}

/// Has a tap that can be taken off.
pub(crate) trait Tapped: Send + Sync {
    fn remove_tap(&self) -> Option<Tap>;
}

/// The end of the channel in the forwarding thread.
pub(crate) struct Tap {
    sender: SyncSender<Vec<PacketRecord>>,
    batch: Vec<PacketRecord>,
    with_bytes: bool,
    lost: Arc<AtomicU64>,
}

impl<R: PacketRecorder + 'static> Recording<R> {
    /// Starts the recorder's thread; `source` is what the tap will be attached to.
    pub(crate) fn start(recorder: R, source: Arc<dyn Tapped>) -> std::io::Result<(Tap, Self)> {
        let (sender, receiver) = sync_channel(WAITING_BATCHES);
        let lost = Arc::new(AtomicU64::new(0));
        let with_bytes = recorder.wants_bytes();
        let thread = thread::Builder::new()
            .name("hawser-record".to_owned())
            .spawn(move || take_down(recorder, &receiver))?;
        let tap = Tap { sender, batch: Vec::with_capacity(BATCH), with_bytes, lost: lost.clone() };
        Ok((tap, Recording { source, thread, lost }))
    }

    /// Ends the recording. Returns the recorder, which has seen everything, and how many records were lost because it
    /// was too slow.
    pub fn finish(self) -> (R, u64) {
        // What it still holds goes to the recorder when it is dropped; then the channel ends.
        drop(self.source.remove_tap());
        let recorder = self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (recorder, self.lost.load(Ordering::Acquire))
    }
}

impl<R> fmt::Debug for Recording<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording").field("lost", &self.lost).finish_non_exhaustive()
    }
}

fn take_down<R: PacketRecorder>(mut recorder: R, receiver: &Receiver<Vec<PacketRecord>>) -> R {
    while let Ok(records) = receiver.recv() {
        recorder.packets(&records);
    }
    recorder
}

impl Tap {
    pub(crate) fn with_bytes(&self) -> bool {
        self.with_bytes
    }

    /// Adds a record; never waits.
    pub(crate) fn add(&mut self, record: PacketRecord) {
        self.batch.push(record);
        if self.batch.len() < BATCH {
            return;
        }
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
        if self.sender.try_send(batch).is_err() {
            self.lost.fetch_add(BATCH as u64, Ordering::AcqRel);
        }
    }
}

impl Drop for Tap {
    /// Here waiting holds up nobody but who takes the tap off.
    fn drop(&mut self) {
        let _ = self.sender.send(std::mem::take(&mut self.batch));
    }
}

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tap").field("waiting", &self.batch.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
