//! What a simulation leaves in a folder: samples over time, packets, and how it ended.
//!
//! | file | rows |
//! |---|---|
//! | `outcome.json` | one object: what the command prints with `--json` |
//! | `flows` | a flow at a sample: bytes in order, requests or datagrams completed |
//! | `paths` | a path at its sending end at a sample: window, in flight, round-trip times, acknowledged, lost |
//! | `links` | a direction of a link at a sample: queue, bytes delivered, packets dropped |
//! | `packets` | a packet: sent, arrived or dropped where and why, its data delivered ([`packets`]) |
//!
//! The tables are Parquet or JSON lines. Rows are written as they come, so memory does not grow with the run. A folder holds
//! one run: these files of an earlier one are removed before the new one begins, and no others.

pub mod capture;
pub mod emulated;
pub mod ip;
pub mod packets;
pub mod pcapng;
mod pending;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hawser_core::{Ecn, FourTuple};
use hawser_link::DropCause;
use hawser_policy::Time;
use hawser_scenario::Scenario;
use hawser_sim::run::{FlowSample, LinkSample, PacketRecord, PathSample, Recorder};

use crate::data::table::{self, Cell, Kind, Schema, TableError, TableWriter, column};

/// What is to be recorded.
#[derive(Debug, Clone, Default)]
pub struct RecordOptions {
    /// Where samples go: a folder, made if need be.
    pub samples: Option<SampleOptions>,
    /// Whether every packet is recorded in that folder.
    pub packets: bool,
    /// Where a capture of all packets goes (pcapng).
    pub capture: Option<PathBuf>,
}

/// How samples are kept.
#[derive(Debug, Clone)]
pub struct SampleOptions {
    /// The folder.
    pub folder: PathBuf,
    /// Time between samples.
    pub interval: Duration,
    /// JSON lines instead of Parquet.
    pub json_lines: bool,
}

/// Why a recording failed.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The folder cannot be made.
    #[error("cannot make the folder {}: {source}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file of an earlier run cannot be removed.
    #[error("cannot remove {}, which an earlier run left: {source}", path.display())]
    Remove {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A table cannot be written.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// Writes what a simulation tells to files.
#[derive(Default)]
pub struct FileRecorder {
    samples: Option<Samples>,
    packets: Option<pending::PacketRows>,
    capture: Option<capture::Capture>,
    /// An IP packet being put together for the capture.
    scratch: Vec<u8>,
    /// The first failure; what follows is not written.
    failure: Option<TableError>,
}

/// The file with how the run ended.
pub const OUTCOME: &str = "outcome.json";
/// Every table that a run may leave in its folder.
const TABLES: [&str; 4] = ["flows", "paths", "links", "packets"];

/// The tables of samples.
struct Samples {
    interval: Duration,
    flows: Box<dyn TableWriter>,
    paths: Box<dyn TableWriter>,
    links: Box<dyn TableWriter>,
}

impl Samples {
    fn create(options: &SampleOptions) -> Result<Self, RecordError> {
        let folder = &options.folder;
        std::fs::create_dir_all(folder)
            .map_err(|source| RecordError::Folder { folder: folder.clone(), source })?;
        clear(folder)?;
        let file = |name: &str| table_path(folder, name, options.json_lines);
        Ok(Samples {
            interval: options.interval,
            flows: table::create(&file("flows"), flow_schema()?)?,
            paths: table::create(&file("paths"), path_schema()?)?,
            links: table::create(&file("links"), link_schema()?)?,
        })
    }
}

impl FileRecorder {
    /// Makes the folder and the files; removes those that an earlier run left in the folder.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn create(options: &RecordOptions, scenario: &Scenario) -> Result<Self, RecordError> {
        let samples = options.samples.as_ref().map(Samples::create).transpose()?;
        let packets = match &options.samples {
            Some(samples) if options.packets => {
                let file = table_path(&samples.folder, "packets", samples.json_lines);
                Some(pending::PacketRows::new(packets::PacketTable::create(&file)?))
            }
            _ => None,
        };
        let capture =
            options.capture.as_deref().map(|file| capture::Capture::create(file, scenario)).transpose()?;
        Ok(FileRecorder { samples, packets, capture, ..FileRecorder::default() })
    }

    /// Gives the files their names.
    ///
    /// # Errors
    /// The first failure of the whole recording.
    pub fn finish(self) -> Result<(), RecordError> {
        if let Some(failure) = self.failure {
            return Err(failure.into());
        }
        if let Some(Samples { flows, paths, links, .. }) = self.samples {
            for table in [flows, paths, links] {
                table.finish()?;
            }
        }
        if let Some(packets) = self.packets {
            packets.finish()?;
        }
        if let Some(capture) = self.capture {
            capture.finish()?;
        }
        Ok(())
    }

    /// Leaves packets out of the capture once it has this many bytes.
    pub fn limit_capture(&mut self, bytes: u64) {
        if let Some(capture) = &mut self.capture {
            capture.set_limit(bytes);
        }
    }

    /// Packets that the capture left out.
    pub fn left_out(&self) -> u64 {
        self.capture.as_ref().map_or(0, capture::Capture::left_out)
    }

    fn note(&mut self, result: Result<(), TableError>) {
        if let Err(error) = result {
            self.failure.get_or_insert(error);
        }
    }

    fn capture(&mut self, record: &PacketRecord<'_>) -> Result<(), TableError> {
        let Some(capture) = &mut self.capture else { return Ok(()) };
        let ecn = match record.ecn {
            None => 0,
            Some(Ecn::Ect1) => 1,
            Some(Ecn::Ect0) => 2,
            Some(Ecn::Ce) => 3,
        };
        let FourTuple { local, remote } = record.addresses;
        ip::udp_packet(&mut self.scratch, local, remote, ecn, record.payload);
        let dropped = record.dropped.map(|(link, cause)| (link, cause_name(cause)));
        capture.add(record.at.as_nanos(), record.route, record.direction, &self.scratch, dropped)
    }
}

/// Removes what an earlier run left: tables that the new one does not write would pass for its own. Only files go; what
/// else has such a name, a device for instance, is written to and stays.
fn clear(folder: &Path) -> Result<(), RecordError> {
    let tables = TABLES.iter().flat_map(|name| [false, true].map(|kind| table_path(folder, name, kind)));
    for path in tables.chain([folder.join(OUTCOME)]) {
        if path.is_file() {
            std::fs::remove_file(&path).map_err(|source| RecordError::Remove { path, source })?;
        }
    }
    Ok(())
}

/// The file of a table in a folder of results.
pub fn table_path(folder: &Path, name: &str, json_lines: bool) -> PathBuf {
    folder.join(format!("{name}.{}", if json_lines { "jsonl" } else { "parquet" }))
}

fn flow_schema() -> Result<Schema, TableError> {
    Schema::new([
        column("time_ns", Kind::U64),
        column("flow", Kind::Text),
        column("bytes", Kind::U64),
        column("completed", Kind::U64),
    ])
}

fn path_schema() -> Result<Schema, TableError> {
    Schema::new([
        column("time_ns", Kind::U64),
        column("flow", Kind::Text),
        column("path", Kind::U64),
        column("link", Kind::Text),
        column("congestion_window_bytes", Kind::U64),
        column("in_flight_bytes", Kind::U64),
        column("smoothed_rtt_ns", Kind::U64),
        column("min_rtt_ns", Kind::U64),
        column("acked_bytes", Kind::U64),
        column("lost_packets", Kind::U64),
        column("sent_bytes", Kind::U64),
        column("delivery_rate_bps", Kind::U64).optional(),
    ])
}

fn link_schema() -> Result<Schema, TableError> {
    Schema::new([
        column("time_ns", Kind::U64),
        column("link", Kind::Text),
        column("direction", Kind::Text),
        column("up", Kind::Bool),
        column("queued_bytes", Kind::U64),
        column("delivered_bytes", Kind::U64),
        column("dropped_packets", Kind::U64),
    ])
}

fn nanos(duration: Duration) -> Cell<'static> {
    Cell::U64(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

/// The name of a cause in the tables.
pub fn cause_name(cause: DropCause) -> &'static str {
    match cause {
        DropCause::Queue => "queue",
        DropCause::Aqm => "aqm",
        DropCause::Loss => "loss",
        DropCause::Down => "down",
        DropCause::Mtu => "mtu",
    }
}

impl Recorder for FileRecorder {
    fn sample_interval(&self) -> Option<Duration> {
        self.samples.as_ref().map(|samples| samples.interval)
    }

    fn wants_packets(&self) -> bool {
        self.packets.is_some() || self.capture.is_some()
    }

    fn wants_deliveries(&self) -> bool {
        self.packets.is_some()
    }

    fn flow(&mut self, sample: &FlowSample<'_>) {
        let Some(samples) = &mut self.samples else { return };
        let result = samples.flows.row(&[
            Cell::U64(sample.at.as_nanos()),
            Cell::Text(sample.flow),
            Cell::U64(sample.bytes),
            Cell::U64(sample.completed),
        ]);
        self.note(result);
    }

    fn path(&mut self, sample: &PathSample<'_>) {
        let stats = sample.stats;
        let Some(samples) = &mut self.samples else { return };
        let result = samples.paths.row(&[
            Cell::U64(sample.at.as_nanos()),
            Cell::Text(sample.flow),
            Cell::U64(u64::from(sample.path.0)),
            Cell::Text(sample.link),
            Cell::U64(stats.congestion_window),
            Cell::U64(stats.bytes_in_flight),
            nanos(stats.smoothed_rtt),
            nanos(stats.min_rtt),
            Cell::U64(stats.bytes_acked),
            Cell::U64(stats.packets_lost),
            Cell::U64(stats.bytes_sent),
            stats.delivery_rate.map_or(Cell::Null, |rate| Cell::U64(rate.bits_per_second())),
        ]);
        self.note(result);
    }

    fn link(&mut self, sample: &LinkSample<'_>) {
        let Some(samples) = &mut self.samples else { return };
        let result = samples.links.row(&[
            Cell::U64(sample.at.as_nanos()),
            Cell::Text(sample.link),
            Cell::Text(sample.direction.name()),
            Cell::Bool(sample.up),
            Cell::U64(sample.queued_bytes),
            Cell::U64(sample.delivered_bytes),
            Cell::U64(sample.dropped_packets),
        ]);
        self.note(result);
    }

    fn packet(&mut self, record: &PacketRecord<'_>) {
        let captured = self.capture(record);
        self.note(captured);
        let Some(packets) = &mut self.packets else { return };
        let row = packets::PacketRow {
            sent_ns: record.sent.as_nanos(),
            at_ns: record.at.as_nanos(),
            delivered_ns: None,
            link: record.route,
            direction: record.direction,
            port: record.port,
            length: record.length,
            congestion_experienced: record.ecn == Some(Ecn::Ce),
            dropped: record.dropped.map(|(link, cause)| (link, cause_name(cause))),
        };
        let result = packets.add(&row, record.followed);
        self.note(result);
    }

    fn settled(&mut self, label: u64, delivered: Option<Time>) {
        let Some(packets) = &mut self.packets else { return };
        let result = packets.settled(label, delivered.map(Time::as_nanos));
        self.note(result);
    }
}
