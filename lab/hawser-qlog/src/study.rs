//! A connection, as the traces of one or both of its ends show it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::clocks;
use crate::delivery::Delivery;
use crate::gaps::{self, Gap};
use crate::trace::{Change, NEVER, Packet, Side, Trace};

/// Gaps that are listed.
const MAX_GAPS: usize = 200;
/// A path that carried data so shortly before a gap is missed in it, in microseconds.
const RECENT: u64 = 250_000;

/// How traces are looked at.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Least length of gaps that are listed, in ms.
    pub least_gap_ms: f64,
    /// Names of links by address of the client: paths are called after them.
    pub names: BTreeMap<String, String>,
}

/// The traces of a connection on one time axis: that of the receiver, or of the sender where only its trace is there.
#[derive(Debug)]
pub struct Study {
    sender: Option<Trace>,
    receiver: Option<Trace>,
    /// What makes a time of the axis of the sender's.
    shift_us: i64,
    pub(crate) delivery: Delivery,
    gaps: Vec<Gap>,
    notices: Vec<String>,
    names: BTreeMap<String, String>,
}

/// What there is to say, for programs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Files that were read.
    pub files: Vec<String>,
    /// Who wrote the trace.
    pub implementation: String,
    /// From the begin of the trace to its last event.
    pub seconds: f64,
    /// Which end received the data: `client` or `server`.
    pub receiver: String,
    /// Stream bytes that arrived in order.
    pub bytes: u64,
    /// From the first of them to the last, in bit/s.
    pub goodput_bps: f64,
    /// What each path did.
    pub paths: Vec<PathSummary>,
    /// Gaps in delivery, the earliest first.
    pub gaps: Vec<Gap>,
    /// What could not be read.
    pub notices: Vec<String>,
}

/// What a path did. Counts of losses are those of the sender, and absent without its trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathSummary {
    /// Its number.
    pub id: u64,
    /// Number and address.
    pub name: String,
    /// Packets with data.
    pub packets: u64,
    /// Stream bytes, repetitions included.
    pub bytes: u64,
    /// Packets that were declared lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    /// Of these, acknowledged later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spuriously_lost: Option<u64>,
}

impl Study {
    /// Of one trace, or of both ends of a connection. The longest 200 gaps are listed.
    ///
    /// A second trace of another connection is left out, which a notice says.
    pub fn new(first: Trace, second: Option<Trace>, options: Options) -> Self {
        let mut notices = Vec::new();
        let second = second.filter(|second| {
            let belongs = are_ends(&first, second);
            if !belongs {
                notices.push(format!("{} is the trace of another connection, and left out", second.file));
            }
            belongs
        });
        for trace in std::iter::once(&first).chain(&second) {
            notices.extend(trace.notices.iter().map(|notice| format!("{}: {notice}", trace.file)));
        }
        let receives = first.stream_bytes(&first.received) >= first.stream_bytes(&first.sent);
        let (receiver, sender) = match second {
            Some(second) if receives => (Some(first), Some(second)),
            Some(second) => (Some(second), Some(first)),
            None if receives => (Some(first), None),
            None => (None, Some(first)),
        };
        let shift_us = match (&receiver, &sender) {
            (Some(receiver), Some(sender)) => clocks::offset(receiver, sender).unwrap_or(0),
            _ => 0,
        };
        let delivery = match (&receiver, &sender) {
            (Some(receiver), _) => Delivery::received(receiver),
            (None, Some(sender)) => Delivery::acknowledged(sender),
            (None, None) => Delivery::default(),
        };
        let mut study =
            Study { sender, receiver, shift_us, delivery, gaps: Vec::new(), notices, names: options.names };
        let waits = study.delivery.longest((options.least_gap_ms * 1e3) as u64, MAX_GAPS);
        study.gaps = gaps::explain(&study, &waits);
        study
    }

    /// The gaps in delivery, the earliest first.
    pub fn gaps(&self) -> &[Gap] {
        &self.gaps
    }

    /// The gap at this time in seconds, or the nearest one.
    pub fn gap_at(&self, at_s: f64) -> Option<&Gap> {
        let distance = |gap: &Gap| (gap.from_s - at_s).max(at_s - gap.to_s).max(0.0);
        self.gaps.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }

    /// What could not be read, for people.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// The trace of the end that sent the data, if it is there.
    pub fn sender(&self) -> Option<&Trace> {
        self.sender.as_ref()
    }

    /// The trace of the end that received the data, if it is there.
    pub fn receiver(&self) -> Option<&Trace> {
        self.receiver.as_ref()
    }

    /// A time of the sender on the axis of the study.
    pub(crate) fn sender_time(&self, at_us: u64) -> i64 {
        at_us as i64 + self.shift_us
    }

    /// Whether delivery is known from acknowledgements only.
    pub(crate) fn is_by_acknowledgement(&self) -> bool {
        self.receiver.is_none()
    }

    /// Length of the time axis in microseconds.
    pub(crate) fn end_us(&self) -> u64 {
        let sender = self.sender.as_ref().map_or(0, |sender| self.sender_time(sender.end_us).max(0) as u64);
        self.receiver.as_ref().map_or(sender, |receiver| receiver.end_us.max(1))
    }

    /// The paths of both ends.
    pub(crate) fn path_ids(&self) -> Vec<u64> {
        let traces = self.receiver.iter().chain(&self.sender);
        let mut ids: Vec<u64> = traces.flat_map(|trace| trace.paths.keys().copied()).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// `path 1 (10.0.0.2)`: with the client's address, which tells links apart.
    pub(crate) fn path_name(&self, id: u64) -> String {
        let traces = self.receiver.iter().chain(&self.sender);
        let address = traces.filter_map(|trace| {
            let path = trace.paths.get(&id)?;
            let address = if trace.side == Side::Server { &path.remote } else { &path.local };
            let address = address.as_ref()?;
            Some(self.names.get(address).unwrap_or(address).clone())
        });
        match address.into_iter().next() {
            Some(address) => format!("path {id} ({address})"),
            None => format!("path {id}"),
        }
    }

    /// Stream bytes that arrived in a time, by path; empty without the receiver's trace.
    pub(crate) fn arrivals(&self, from_us: u64, to_us: u64) -> BTreeMap<u64, u64> {
        let mut arrived = BTreeMap::new();
        let Some(receiver) = &self.receiver else { return arrived };
        for packet in between(&receiver.received, from_us + 1, to_us) {
            let count = arrived.entry(packet.path).or_insert(0);
            *count += receiver.data_of(packet).iter().map(|chunk| u64::from(chunk.length)).sum::<u64>();
        }
        arrived
    }

    /// Paths that carried data shortly before a time, and nothing in it.
    pub(crate) fn silent_paths(&self, from_us: u64, to_us: u64) -> Vec<u64> {
        let before = self.arrivals(from_us.saturating_sub(RECENT), from_us);
        let during = self.arrivals(from_us, to_us);
        let is_silent = |id: &u64| during.get(id).is_none_or(|count| *count == 0);
        before.into_iter().filter(|(id, count)| *count > 0 && is_silent(id)).map(|(id, _)| id).collect()
    }

    /// Whether the receiver's trace is there, and has no packet of a path in this time.
    pub(crate) fn is_unheard(&self, path: u64, from: i64, to: i64) -> bool {
        let Some(receiver) = &self.receiver else { return false };
        // The packet that came last before a gap has the time at which the gap begins.
        let mut arrived = between(&receiver.received, from.max(0) as u64 + 1, to.max(0) as u64);
        !arrived.any(|packet| packet.path == path)
    }

    /// When a packet of the sender arrived, if the receiver saw it.
    pub(crate) fn arrival_of(&self, path: u64, number: u64) -> Option<u64> {
        let received = &self.receiver.as_ref()?.received;
        let arrived = received.iter().find(|packet| (packet.path, packet.number) == (path, number));
        arrived.map(|packet| packet.at_us)
    }

    /// How fast another path delivered in a time, taken from the packets that arrived.
    pub(crate) fn fastest_other(&self, path: u64, from: i64, to: i64) -> Option<(u64, i64)> {
        let (receiver, sender) = (self.receiver.as_ref()?, self.sender.as_ref()?);
        let arrived = between(&receiver.received, from.max(0) as u64, to.max(0) as u64);
        let of_others = arrived.filter(|packet| packet.path != path && packet.chunks.1 > 0).take(64);
        let delays = of_others.filter_map(|arrived| {
            let until = (arrived.at_us as i64 - self.shift_us).max(0) as u64;
            let recent = between(&sender.sent, until.saturating_sub(2_000_000), until + 1);
            let sent =
                recent.rev().find(|sent| (sent.path, sent.number) == (arrived.path, arrived.number))?;
            Some((arrived.path, arrived.at_us as i64 - self.sender_time(sent.at_us)))
        });
        delays.min_by_key(|(_, delay)| *delay)
    }

    /// Changes of the states of paths in a time, as the sender saw them, or else the receiver.
    pub(crate) fn changes(&self, from: i64, to: i64) -> Vec<(u64, &Change, i64)> {
        let is_sender = self.sender.is_some();
        let trace = self.sender.iter().chain(&self.receiver).next();
        let time = |at: u64| if is_sender { self.sender_time(at) } else { at as i64 };
        let all = trace.into_iter().flat_map(|trace| &trace.paths);
        let all =
            all.flat_map(|(id, path)| path.states.iter().map(|change| (*id, change, time(change.at_us))));
        all.filter(|(_, _, at)| (from..=to).contains(at)).collect()
    }

    /// What there is to say.
    pub fn summary(&self) -> Summary {
        let steps = &self.delivery.steps;
        let (first, last) =
            (steps.first().copied().unwrap_or_default(), steps.last().copied().unwrap_or_default());
        let elapsed = (last.0 - first.0) as f64 / 1e6;
        let rate = (last.1 - first.1) as f64 * 8.0 / elapsed;
        let traces = || self.receiver.iter().chain(&self.sender);
        let receiver = self.receiver.as_ref().map(|trace| trace.side.word()).unwrap_or_else(|| {
            match self.sender.as_ref().map(|sender| sender.side) {
                Some(Side::Client) => Side::Server.word(),
                _ => Side::Client.word(),
            }
        });
        Summary {
            files: traces().map(|trace| trace.file.clone()).collect(),
            implementation: traces().next().map(|trace| trace.implementation.clone()).unwrap_or_default(),
            seconds: self.end_us() as f64 / 1e6,
            receiver: receiver.to_owned(),
            bytes: last.1,
            goodput_bps: if elapsed > 0.0 { rate } else { 0.0 },
            paths: self.path_ids().into_iter().map(|id| self.path_summary(id)).collect(),
            gaps: self.gaps.clone(),
            notices: self.notices.clone(),
        }
    }

    fn path_summary(&self, id: u64) -> PathSummary {
        let (trace, packets): (_, &[Packet]) = match (&self.sender, &self.receiver) {
            (Some(sender), _) => (sender, &sender.sent),
            (None, Some(receiver)) => (receiver, &receiver.received),
            (None, None) => {
                return PathSummary {
                    id,
                    name: String::new(),
                    packets: 0,
                    bytes: 0,
                    lost: None,
                    spuriously_lost: None,
                };
            }
        };
        let on_path = || packets.iter().filter(|packet| packet.path == id);
        let with_data = || on_path().filter(|packet| packet.chunks.1 > 0);
        let lengths =
            with_data().flat_map(|packet| trace.data_of(packet)).map(|chunk| u64::from(chunk.length));
        let counted = |count: usize| self.sender.is_some().then_some(count as u64);
        PathSummary {
            id,
            name: self.path_name(id),
            packets: with_data().count() as u64,
            bytes: lengths.sum(),
            lost: counted(on_path().filter(|packet| packet.lost_us != NEVER).count()),
            spuriously_lost: counted(on_path().filter(|packet| packet.is_spuriously_lost()).count()),
        }
    }
}

/// Returns true if two traces are of the two ends of one connection.
pub fn are_ends(first: &Trace, second: &Trace) -> bool {
    match (&first.group, &second.group) {
        (Some(a), Some(b)) if a == b => first.side != second.side,
        (Some(_), Some(_)) => false,
        _ => clocks::offset(first, second).is_some(),
    }
}

/// Packets from a time to before another.
fn between(packets: &[Packet], from_us: u64, to_us: u64) -> impl DoubleEndedIterator<Item = &Packet> {
    let first = packets.partition_point(|packet| packet.at_us < from_us);
    let last = packets.partition_point(|packet| packet.at_us < to_us).max(first);
    packets[first..last].iter()
}
