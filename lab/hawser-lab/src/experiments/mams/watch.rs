//! What the packets of a transfer did: when each was first sent, when it arrived, when its data was read in order.

use std::time::Duration;

use hawser_policy::{Note, PathId, Time};
use hawser_sim::run::{PacketRecord, PathSample, Recorder};
use rustc_hash::FxHashMap;

use crate::data::statistics::mean;

/// Between samples of the paths.
const INTERVAL: Duration = Duration::from_millis(100);

/// Packets of acknowledgements are shorter; those with data retransmitted are not.
const LONGEST_RETURNED: u32 = 400;

/// A packet that was the first to carry some data.
#[derive(Clone, Copy, Debug)]
struct First {
    sent: Time,
    /// None: it was lost, and its data came otherwise.
    arrived: Option<Time>,
    bytes: u32,
}

/// A packet that arrived, by the link that it came over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) sent: Time,
    pub(super) at: Time,
}

/// Everything that was seen.
#[derive(Debug, Default)]
pub(super) struct Watch {
    packets: FxHashMap<u64, First>,
    /// Seconds from the first sending to the reading in order.
    pub(super) delays: Vec<f64>,
    /// Seconds from the arrival to the reading in order, of packets that arrived themselves.
    pub(super) reordering: Vec<f64>,
    /// Bytes that were read so far over the time since the beginning, bit/s, at each reading.
    goodput: Vec<f64>,
    read: u64,
    began: Option<Time>,
    /// By link, in order of arrival.
    pub(super) arrivals: FxHashMap<String, Vec<Arrival>>,
    /// Packets that carried no new data, such as acknowledgements: how many, and their bytes.
    returned: (u64, u64),
    /// Links by path.
    pub(super) links: FxHashMap<PathId, String>,
    /// Whether plans are wanted, and what was noted of them.
    wants_plans: bool,
    pub(super) plans: Vec<Note>,
}

impl Recorder for Watch {
    fn sample_interval(&self) -> Option<Duration> {
        Some(INTERVAL)
    }

    fn wants_packets(&self) -> bool {
        true
    }

    fn wants_deliveries(&self) -> bool {
        true
    }

    fn wants_notes(&self) -> Vec<&'static str> {
        if self.wants_plans { vec!["mams.plan"] } else { Vec::new() }
    }

    fn note(&mut self, _flow: &str, note: Note) {
        self.plans.push(note);
    }

    fn path(&mut self, sample: &PathSample<'_>) {
        self.links.entry(sample.path).or_insert_with(|| sample.link.to_owned());
    }

    fn packet(&mut self, record: &PacketRecord<'_>) {
        let Some(label) = record.followed else {
            if record.length < LONGEST_RETURNED {
                self.returned = (self.returned.0 + 1, self.returned.1 + u64::from(record.length));
            }
            return;
        };
        let arrived = record.dropped.is_none().then_some(record.at);
        let first = self.packets.entry(label).or_insert(First { sent: record.sent, arrived, bytes: 0 });
        (first.arrived, first.bytes) = (arrived, record.length);
        self.began = Some(self.began.map_or(record.sent, |began| began.min(record.sent)));
        if arrived.is_some() {
            let arrival = Arrival { sent: record.sent, at: record.at };
            match self.arrivals.get_mut(record.route) {
                Some(arrivals) => arrivals.push(arrival),
                None => {
                    self.arrivals.insert(record.route.to_owned(), vec![arrival]);
                }
            }
        }
    }

    fn settled(&mut self, label: u64, delivered: Option<Time>) {
        let (Some(first), Some(read)) = (self.packets.remove(&label), delivered) else { return };
        self.delays.push(read.since(first.sent).as_secs_f64());
        if let Some(arrived) = first.arrived {
            self.reordering.push(read.since(arrived).as_secs_f64());
        }
        self.read += u64::from(first.bytes);
        let passed = self.began.map_or(0.0, |began| read.since(began).as_secs_f64());
        if passed > 0.0 {
            self.goodput.push(8.0 * self.read as f64 / passed);
        }
    }
}

impl Watch {
    /// Has seen nothing so far.
    pub(super) fn new(wants_plans: bool) -> Watch {
        Watch { wants_plans, ..Watch::default() }
    }

    /// Goodput as the paper plots it: the mean over its values at each packet that is read in order.
    pub(super) fn mean_goodput(&self) -> f64 {
        mean(&self.goodput)
    }

    /// Mean length of packets of acknowledgements, in bytes.
    pub(super) fn mean_returned(&self) -> f64 {
        // NaN of none.
        self.returned.1 as f64 / self.returned.0 as f64
    }

    /// Packets that were sent over a link from `from` on and arrived within `budget`.
    pub(super) fn arrived_within(&self, link: &str, from: Time, budget: Duration) -> usize {
        let Some(arrivals) = self.arrivals.get(link) else { return 0 };
        let first = arrivals.partition_point(|arrival| arrival.at < from);
        let until = from + budget;
        let within = arrivals[first..].iter().take_while(|arrival| arrival.at <= until);
        within.filter(|arrival| arrival.sent >= from).count()
    }
}
