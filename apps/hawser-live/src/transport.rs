//! Units over a connection: the end that sends, and the end that receives.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hawser_media::broadcast::wire::{self, Delivery, Found, PREFACE, Part, UnitReader, WireError};
use hawser_media::broadcast::{RelativeDelay, StandingDelay, Unit};
use hawser_media::flv::Role;

use super::hub::Hub;
use super::status::Status;
use hawser::policy::Feedback;
use hawser::{Chunk, Connection, ReadError, RecvStream, SendStream, WriteError};

/// Bytes read at a time.
const BLOCK: usize = 64 << 10;
/// In which 4D-MAP wants a frame (specification: 200 ms), where no deadline is given.
const USUAL_DEADLINE: Duration = Duration::from_millis(200);

/// Writes units to a stream.
pub(super) struct UnitSender {
    connection: Connection,
    stream: SendStream,
    delivery: Delivery,
    /// The frame before, of the same group of pictures.
    previous: Option<u32>,
    /// Bytes that the stream has taken.
    written: Arc<AtomicU64>,
}

impl UnitSender {
    /// Opens the stream.
    pub(super) async fn open(connection: &Connection, delivery: Delivery) -> Result<Self, WriteError> {
        let mut stream = connection.open_uni().await.map_err(WriteError::ConnectionLost)?;
        stream.write_all(&PREFACE).await?;
        let written = Arc::new(AtomicU64::new(PREFACE.len() as u64));
        Ok(UnitSender { connection: connection.clone(), stream, delivery, previous: None, written })
    }

    /// Counts the bytes that the stream takes.
    pub(super) fn written(&self) -> Arc<AtomicU64> {
        self.written.clone()
    }

    /// Writes a unit, waiting while the stream is full.
    pub(super) async fn send(&mut self, unit: &Unit) -> Result<(), WriteError> {
        if unit.role == Role::KeyFrame {
            self.previous = None;
        }
        // A peer that knows no gaps gets everything.
        let delivery = if self.connection.can_discard() { self.delivery } else { Delivery::Reliable };
        for part in wire::parts(self.connection.now(), unit, self.previous, delivery) {
            self.write(part).await?;
        }
        if unit.role.is_frame() {
            self.previous = Some(unit.number);
        }
        Ok(())
    }

    /// Says that the source is done. Another one may follow on the same stream.
    pub(super) async fn end(&mut self) -> Result<(), WriteError> {
        self.previous = None;
        self.write(wire::end(self.connection.now())).await
    }

    /// Ends the stream, and waits until all of it has arrived. Returns whether it has.
    pub(super) async fn finish(mut self) -> bool {
        self.stream.finish().is_ok() && matches!(self.stream.stopped().await, Ok(None))
    }

    async fn write(&mut self, part: Part) -> Result<(), WriteError> {
        // An empty frame is none.
        if part.bytes.is_empty() {
            return Ok(());
        }
        let length = part.bytes.len() as u64;
        self.stream.write_frame(&part.info, part.bytes).await?;
        self.written.fetch_add(length, Ordering::Relaxed);
        Ok(())
    }
}

/// Why nothing more is received.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReceiveError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Wire(#[from] WireError),
    #[error("the stream stood still for {} s", .0.as_secs_f64())]
    Stalled(Duration),
}

/// How long units are on the way.
#[derive(Debug, Default)]
struct Delays {
    /// As policies want to hear of it.
    relative: RelativeDelay,
    /// As people do.
    standing: StandingDelay,
}

/// Reads units from a stream into a hub, until the stream ends.
pub(super) struct UnitReceiver {
    pub(super) connection: Connection,
    pub(super) hub: Arc<Hub>,
    pub(super) status: Arc<Status>,
    /// After which a frame counts as late to policies.
    pub(super) deadline: Option<Duration>,
    /// Whether nothing is read beyond the end of the source.
    pub(super) stops_at_end: bool,
    /// How long a source that has begun and not ended may send nothing; `None`: as long as the connection lives.
    pub(super) stall: Option<Duration>,
}

impl UnitReceiver {
    /// Returns whether the sender said that its source is done.
    pub(super) async fn run(&self, mut stream: RecvStream) -> Result<bool, ReceiveError> {
        let (mut reader, mut delays) = (UnitReader::default(), Delays::default());
        let (mut is_done, mut has_begun) = (false, false);
        loop {
            // Before the first unit, and after the last, there is nothing to wait for.
            let chunk = match self.stall.filter(|_| has_begun && !is_done) {
                Some(stall) => tokio::time::timeout(stall, stream.next_chunk(BLOCK))
                    .await
                    .map_err(|_| ReceiveError::Stalled(stall))?,
                None => stream.next_chunk(BLOCK).await,
            };
            match chunk? {
                Chunk::Data { mut bytes, .. } => {
                    while let Some(found) = reader.read(&mut bytes)? {
                        has_begun = true;
                        is_done = self.take(found, &mut delays);
                        if is_done && self.stops_at_end {
                            return Ok(true);
                        }
                    }
                }
                Chunk::Gap { mut length, .. } => {
                    while length > 0 {
                        if let Some(found) = reader.skip(&mut length)? {
                            is_done = self.take(found, &mut delays);
                        }
                    }
                }
                Chunk::End => return Ok(is_done),
            }
        }
    }

    /// Returns whether it was the end.
    fn take(&self, found: Found, delays: &mut Delays) -> bool {
        let Found::Unit(mut arrival) = found else {
            self.hub.end();
            return true;
        };
        let (now, round_trip) = (self.connection.now(), self.round_trip());
        let delay = delays.relative.delay(now, arrival.written_at, round_trip);
        let age = delays.standing.delay(now, arrival.written_at, round_trip);
        let unit = &mut arrival.unit;
        if unit.role.is_frame() {
            let in_time = delay <= self.deadline.unwrap_or(USUAL_DEADLINE);
            let id = u64::from(unit.number);
            self.connection.feedback(&Feedback::Frame { id, delay, in_time, bytes: arrival.received });
        }
        let tenths = u32::try_from(age.as_micros() / 100).unwrap_or(u32::MAX);
        unit.age = unit.age.saturating_add(tenths);
        let (age, padded, size) = (unit.age, unit.padded, unit.tag.data.len());
        let (is_frame, is_audio) = (unit.role.is_frame(), unit.role == Role::Audio);
        let time = self.hub.push(arrival.unit);
        let counts = is_frame || (is_audio && self.hub.is_audio_only());
        if let Some(time) = time.filter(|_| counts) {
            self.status.note_frame(time, Duration::from_micros(u64::from(age) * 100), padded, size);
        }
        false
    }

    /// The smallest round-trip time of any path: what takes least has no queue before it.
    fn round_trip(&self) -> Duration {
        let paths = self.connection.paths().into_iter();
        let stats = paths.filter_map(|path| self.connection.path_stats(path.id));
        stats.map(|stats| stats.min_rtt).filter(|rtt| !rtt.is_zero()).min().unwrap_or_default()
    }
}
