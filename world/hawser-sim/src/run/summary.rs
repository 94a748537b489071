//! The summary of a simulation that was run: flows, paths, links, totals.

use hawser_core::{Connection, ConnectionStats, PathStats};
use hawser_link::LinkStats;
use hawser_media::Measure;
use hawser_policy::PathId;
use hawser_scenario::{Direction, SceneSource};
use serde::{Serialize, Serializer};

use super::meter::DelaySummary;

/// A simulation that was run. Rates are bit/s, times seconds or as their names say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of everything random.
    pub seed: u64,
    /// What its scenes were made from: a model, or a recording.
    pub scenes: Vec<SceneSource>,
    /// Depends on every packet delivered: when, where, how long, and what. Sixteen hexadecimal digits.
    pub trace_hash: String,
    /// Virtual time that passed.
    pub simulated_seconds: f64,
    /// Why it ended.
    pub end: End,
    /// Packets that arrived at a host.
    pub packets: u64,
    /// Instants at which something happened.
    pub events: u64,
    /// Sum over all connections.
    pub goodput_bps: f64,
    /// What each flow got.
    pub flows: Vec<FlowOutcome>,
    /// What each path of each connection did, at its sending end.
    pub paths: Vec<PathOutcome>,
    /// What each direction of each link did.
    pub links: Vec<LinkOutcome>,
}

/// Why a simulation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Every flow that is waited for had done its work.
    Finished,
    /// The duration was over.
    Duration,
    /// Nothing would happen any more.
    Quiet,
    /// The bound on events was reached.
    Events,
    /// The recorder did not want it to go on.
    Stopped,
}

/// What a flow got.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowOutcome {
    /// Its name.
    pub flow: String,
    /// `bulk`, `requests`, `datagrams`, `application`, `tunnel-mix` or `udp`.
    pub kind: &'static str,
    /// The way of its data.
    pub direction: Direction,
    /// Scheduler of the sending end with what was set of it, such as `ecf,beta=0.5`; empty for UDP.
    pub scheduler: String,
    /// Congestion controller of the sending end, likewise.
    pub controller: String,
    /// When it began.
    pub start_seconds: f64,
    /// From its beginning to the connection.
    pub connect_seconds: Option<f64>,
    /// From its beginning to its end; none: it did not end by itself.
    pub completion_seconds: Option<f64>,
    /// Bytes of application data that arrived in order.
    pub bytes: u64,
    /// These over the time from the flow's beginning to its end, or that of the simulation.
    pub goodput_bps: f64,
    /// Longest time between two arrivals, or from the last one to the end of a run that the flow did not see out.
    pub longest_gap_ms: f64,
    /// Requests answered, datagrams or UDP packets received.
    pub completed: u64,
    /// Datagrams or UDP packets sent.
    pub sent: u64,
    /// Bulk: of bytes from their first sending to their delivery in order. Requests: from the request to the end of the
    /// answer. Datagrams, UDP and the call of a mix: from end to end.
    pub delay: DelaySummary,
    /// Whether every byte was the one that had been sent.
    pub intact: bool,
    /// What its connection sent more than once.
    pub copies: CopyOutcome,
    /// What was lost, and how it came after all.
    pub repair: RepairOutcome,
    /// How its connection broke, if it did.
    pub error: Option<String>,
    /// What its application measured, at both ends, by [`Measure::key`]; none of other flows.
    #[serde(serialize_with = "by_key", skip_serializing_if = "Vec::is_empty")]
    pub measures: Vec<Measure>,
}

fn by_key<S: Serializer>(measures: &[Measure], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(measures.iter().map(|measure| (measure.key(), measure.value)))
}

/// Stream data that a connection sent more than once; zero for UDP and foreign peers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CopyOutcome {
    /// Bytes that the sending end sent as copies.
    pub copied_bytes: u64,
    /// Of these, the ones whose original was acknowledged before the copy.
    pub needless_bytes: u64,
    /// Their share of the copies; none: there were no copies.
    pub needless_share: Option<f64>,
    /// Bytes that arrived although they were there already, copies or retransmissions.
    pub duplicate_bytes: u64,
    /// Their share of all stream bytes that arrived; none: none did.
    pub duplicate_share: Option<f64>,
}

impl CopyOutcome {
    /// From the counters of both ends.
    pub(super) fn of(sender: &ConnectionStats, receiver: &ConnectionStats) -> Self {
        CopyOutcome {
            copied_bytes: sender.stream_bytes_copied,
            needless_bytes: sender.stream_bytes_copied_needlessly,
            needless_share: sender.needless_copies(),
            duplicate_bytes: receiver.stream_bytes_duplicate,
            duplicate_share: receiver.duplicate_share(),
        }
    }
}

/// How stream data came that was lost on its way; zero for UDP and foreign peers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RepairOutcome {
    /// Bytes that the sending end retransmitted.
    pub retransmitted_bytes: u64,
    /// Repair symbols of erasure codes that it sent.
    pub symbols_sent: u64,
    /// Of these, the ones that arrived.
    pub symbols_received: u64,
    /// Bytes that the receiving end brought back with them.
    pub recovered_bytes: u64,
}

impl RepairOutcome {
    /// From the counters of both ends.
    pub(super) fn of(sender: &ConnectionStats, receiver: &ConnectionStats) -> Self {
        RepairOutcome {
            retransmitted_bytes: sender.stream_bytes_retransmitted,
            symbols_sent: sender.repair_symbols_sent,
            symbols_received: receiver.repair_symbols_received,
            recovered_bytes: receiver.stream_bytes_recovered,
        }
    }
}

/// What a path did, at its sending end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathOutcome {
    /// The flow.
    pub flow: String,
    /// Id of the path.
    pub path: u32,
    /// The link.
    pub link: String,
    /// UDP payload bytes sent.
    pub bytes_sent: u64,
    /// Datagrams sent.
    pub packets_sent: u64,
    /// Packets declared lost.
    pub packets_lost: u64,
    /// Of these, acknowledged after all.
    pub packets_spuriously_lost: u64,
    /// Bytes acknowledged.
    pub bytes_acked: u64,
    /// Bytes acknowledged, as a share of those of all paths of the connection.
    pub share: f64,
    /// At the end.
    pub smoothed_rtt_ms: f64,
    /// Smallest.
    pub min_rtt_ms: f64,
    /// At the end, bytes.
    pub congestion_window: u64,
    /// Probe timeouts.
    pub probe_timeouts: u64,
    /// Times it fell silent with data outstanding.
    pub times_suspect: u64,
}

/// What a direction of a link did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkOutcome {
    /// The link or segment.
    pub link: String,
    /// The direction.
    pub direction: Direction,
    /// Mean rate over the simulated time, outages counted as zero; none: unlimited. A random rate counts with the steps that
    /// it took in this run, a link that a policy attached elsewhere with what it was at each time.
    pub capacity_bps: Option<u64>,
    /// Bytes delivered, over the capacity; at most 1, unless the link duplicates packets.
    pub utilisation: Option<f64>,
    /// Mean time that a packet spent waiting and being sent.
    pub mean_queue_ms: f64,
    /// Of packets that arrived over it, from host to host; none for segments.
    pub one_way_delay: Option<DelaySummary>,
    /// Counters.
    #[serde(flatten)]
    pub counters: LinkStats,
}

/// What a connection and its paths did.
#[derive(Clone, Debug, Default)]
pub(super) struct Totals {
    pub(super) connection: ConnectionStats,
    pub(super) paths: Vec<(PathId, PathStats)>,
}

impl Totals {
    /// Reads the counters of a connection.
    pub(super) fn add(&mut self, connection: &Connection) {
        self.connection = connection.stats();
        // An end need not have seen each: of a path that the other one opened and gave up before anything arrived it knows the
        // end only.
        let known = connection.past_paths().into_iter().chain(connection.paths());
        let mut ids: Vec<PathId> = known.map(|path| path.id).collect();
        ids.sort_unstable();
        ids.dedup();
        self.paths.extend(ids.into_iter().filter_map(|id| Some((id, connection.path_stats(id)?))));
    }

    pub(super) fn of(connection: &Connection) -> Self {
        let mut totals = Totals::default();
        totals.add(connection);
        totals
    }
}
