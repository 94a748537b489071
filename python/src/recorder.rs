//! What a simulation tells while it runs, in columns. The columns are those of `hawser sim run --out`.

mod columns;

use std::collections::BTreeMap;
use std::time::Duration;

use hawser_core::Ecn;
use hawser_link::DropCause;
use hawser_policy::Time;
use hawser_sim::run::{FlowSample, LinkSample, PacketRecord, PathSample, Recorder};
use pyo3::prelude::*;

use crate::table::Table;
use crate::trouble::{Stop, Trouble};
use columns::{Flags, Numbers, Texts};

/// Instants between two looks for signals: some milliseconds.
const INSTANTS_PER_LOOK: u32 = 512;

/// Keeps samples and packets, and looks whether the run is to go on.
pub(crate) struct Columns {
    pub(crate) interval: Option<Duration>,
    pub(crate) packets: Option<Packets>,
    flows: Flows,
    paths: Paths,
    links: Links,
    watch: Watch,
}

/// What may end a run before its time.
pub(crate) struct Watch {
    pub(crate) trouble: Trouble,
    pub(crate) stop: Stop,
    /// Whether this thread handles signals: the interpreter's main thread does.
    pub(crate) signals: bool,
    instants: u32,
}

impl Watch {
    pub(crate) fn new(trouble: Trouble, stop: Stop, signals: bool) -> Self {
        Watch { trouble, stop, signals, instants: 0 }
    }

    fn goes_on(&mut self) -> bool {
        self.instants += 1;
        if self.signals && self.instants >= INSTANTS_PER_LOOK {
            self.instants = 0;
            if let Err(error) = Python::attach(|py| py.check_signals()) {
                self.trouble.note(error);
            }
        }
        !self.trouble.is_there() && !self.stop.is_set()
    }
}

#[derive(Default)]
struct Flows {
    time: Numbers,
    flow: Texts,
    bytes: Numbers,
    completed: Numbers,
}

#[derive(Default)]
struct Paths {
    time: Numbers,
    flow: Texts,
    path: Numbers,
    link: Texts,
    window: Numbers,
    in_flight: Numbers,
    smoothed_rtt: Numbers,
    min_rtt: Numbers,
    acked: Numbers,
    lost: Numbers,
    sent: Numbers,
    rate: Numbers,
}

#[derive(Default)]
struct Links {
    time: Numbers,
    link: Texts,
    direction: Texts,
    up: Flags,
    queued: Numbers,
    delivered: Numbers,
    dropped: Numbers,
}

/// Packets in the order in which their ways ended.
#[derive(Default)]
pub(crate) struct Packets {
    sent: Numbers,
    at: Numbers,
    delivered: Vec<Option<u64>>,
    link: Texts,
    direction: Texts,
    port: Numbers,
    length: Numbers,
    marked: Flags,
    dropped_at: Texts,
    cause: Texts,
    /// Rows of packets whose data was not read yet, by label.
    waiting: BTreeMap<u64, usize>,
    /// Data that was read before the end of its packet, by label.
    early: BTreeMap<u64, Option<u64>>,
}

impl Columns {
    /// Keeps samples every `interval`, and packets if they are wanted.
    pub(crate) fn new(interval: Option<Duration>, packets: bool, watch: Watch) -> Self {
        Columns {
            interval,
            packets: packets.then(Packets::default),
            flows: Flows::default(),
            paths: Paths::default(),
            links: Links::default(),
            watch,
        }
    }

    /// Names and rows of all tables.
    ///
    /// # Errors
    /// None that can be met: columns have one length.
    pub(crate) fn finish(self) -> PyResult<Vec<(&'static str, Table)>> {
        let Columns { flows, paths, links, packets, .. } = self;
        let mut tables = vec![
            (
                "flows",
                Table::new(vec![
                    flows.time.finish("time_ns"),
                    flows.flow.finish("flow"),
                    flows.bytes.finish("bytes"),
                    flows.completed.finish("completed"),
                ])?,
            ),
            ("paths", paths.finish()?),
            (
                "links",
                Table::new(vec![
                    links.time.finish("time_ns"),
                    links.link.finish("link"),
                    links.direction.finish("direction"),
                    links.up.finish("up"),
                    links.queued.finish("queued_bytes"),
                    links.delivered.finish("delivered_bytes"),
                    links.dropped.finish("dropped_packets"),
                ])?,
            ),
        ];
        if let Some(packets) = packets {
            tables.push(("packets", packets.finish()?));
        }
        Ok(tables)
    }
}

impl Paths {
    fn finish(self) -> PyResult<Table> {
        Table::new(vec![
            self.time.finish("time_ns"),
            self.flow.finish("flow"),
            self.path.finish("path"),
            self.link.finish("link"),
            self.window.finish("congestion_window_bytes"),
            self.in_flight.finish("in_flight_bytes"),
            self.smoothed_rtt.finish("smoothed_rtt_ns"),
            self.min_rtt.finish("min_rtt_ns"),
            self.acked.finish("acked_bytes"),
            self.lost.finish("lost_packets"),
            self.sent.finish("sent_bytes"),
            self.rate.finish("delivery_rate_bps"),
        ])
    }
}

impl Packets {
    fn add(&mut self, record: &PacketRecord<'_>) {
        let row = self.delivered.len();
        let delivered = record.followed.and_then(|label| {
            let early = self.early.remove(&label);
            if early.is_none() {
                self.waiting.insert(label, row);
            }
            early.flatten()
        });
        self.delivered.push(delivered);
        self.sent.push(record.sent.as_nanos());
        self.at.push(record.at.as_nanos());
        self.link.push(record.route);
        self.direction.push(record.direction.name());
        self.port.push(u64::from(record.port));
        self.length.push(u64::from(record.length));
        self.marked.push(record.ecn == Some(Ecn::Ce));
        self.dropped_at.push_option(record.dropped.map(|(link, _)| link));
        self.cause.push_option(record.dropped.map(|(_, cause)| cause_name(cause)));
    }

    fn settled(&mut self, label: u64, delivered: Option<u64>) {
        match self.waiting.remove(&label) {
            Some(row) => self.delivered[row] = delivered,
            None => {
                self.early.insert(label, delivered);
            }
        }
    }

    fn finish(self) -> PyResult<Table> {
        Table::new(vec![
            self.sent.finish("sent_ns"),
            self.at.finish("at_ns"),
            columns::optional_numbers("delivered_ns", self.delivered),
            self.link.finish("link"),
            self.direction.finish("direction"),
            self.port.finish("port"),
            self.length.finish("length"),
            self.marked.finish("ce"),
            self.dropped_at.finish("dropped_at"),
            self.cause.finish("cause"),
        ])
    }
}

fn cause_name(cause: DropCause) -> &'static str {
    match cause {
        DropCause::Queue => "queue",
        DropCause::Aqm => "aqm",
        DropCause::Loss => "loss",
        DropCause::Down => "down",
        DropCause::Mtu => "mtu",
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl Recorder for Columns {
    fn sample_interval(&self) -> Option<Duration> {
        self.interval
    }

    fn wants_packets(&self) -> bool {
        self.packets.is_some()
    }

    fn wants_deliveries(&self) -> bool {
        self.packets.is_some()
    }

    fn goes_on(&mut self) -> bool {
        self.watch.goes_on()
    }

    fn flow(&mut self, sample: &FlowSample<'_>) {
        self.flows.time.push(sample.at.as_nanos());
        self.flows.flow.push(sample.flow);
        self.flows.bytes.push(sample.bytes);
        self.flows.completed.push(sample.completed);
    }

    fn path(&mut self, sample: &PathSample<'_>) {
        let (paths, stats) = (&mut self.paths, sample.stats);
        paths.time.push(sample.at.as_nanos());
        paths.flow.push(sample.flow);
        paths.path.push(u64::from(sample.path.0));
        paths.link.push(sample.link);
        paths.window.push(stats.congestion_window);
        paths.in_flight.push(stats.bytes_in_flight);
        paths.smoothed_rtt.push(nanos(stats.smoothed_rtt));
        paths.min_rtt.push(nanos(stats.min_rtt));
        paths.acked.push(stats.bytes_acked);
        paths.lost.push(stats.packets_lost);
        paths.sent.push(stats.bytes_sent);
        paths.rate.push_option(stats.delivery_rate.map(|rate| rate.bits_per_second()));
    }

    fn link(&mut self, sample: &LinkSample<'_>) {
        let links = &mut self.links;
        links.time.push(sample.at.as_nanos());
        links.link.push(sample.link);
        links.direction.push(sample.direction.name());
        links.up.push(sample.up);
        links.queued.push(sample.queued_bytes);
        links.delivered.push(sample.delivered_bytes);
        links.dropped.push(sample.dropped_packets);
    }

    fn packet(&mut self, record: &PacketRecord<'_>) {
        if let Some(packets) = &mut self.packets {
            packets.add(record);
        }
    }

    fn settled(&mut self, label: u64, delivered: Option<Time>) {
        if let Some(packets) = &mut self.packets {
            packets.settled(label, delivered.map(Time::as_nanos));
        }
    }
}
