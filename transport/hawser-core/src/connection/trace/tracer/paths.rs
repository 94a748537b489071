//! What was last said of a path, so that only changes are written.

use std::time::Duration;

use hawser_policy::{PathId, Time};

use super::addresses::{Addresses, endpoint_info, tuple_id};
use super::json::Json;
use super::records::Records;
use crate::FourTuple;
use crate::connection::paths::life_cycle::{LifeCycle, LifeEvent, Move};
use crate::connection::paths::path::Path;
use crate::connection::recovery::{EcnState, PathRecovery, SentPacket};

/// What was written of each path.
#[derive(Debug)]
pub(super) struct PathTrace {
    paths: Vec<PathMemory>,
    /// What stands for addresses.
    pub(super) addresses: Addresses,
}

/// The last values written for one path.
#[derive(Debug)]
struct PathMemory {
    id: PathId,
    tuple: FourTuple,
    mtu: u16,
    ecn: EcnState,
    metrics: Metrics,
    congestion: Congestion,
}

/// Values of `quic:recovery_metrics_updated`; `None` where nothing was written or is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Metrics {
    min_rtt: Option<Duration>,
    smoothed_rtt: Option<Duration>,
    latest_rtt: Option<Duration>,
    rtt_variance: Option<Duration>,
    pto_count: Option<u64>,
    congestion_window: Option<u64>,
    bytes_in_flight: Option<u64>,
    ssthresh: Option<u64>,
    pacing_rate: Option<u64>,
}

impl Metrics {
    fn of(now: Time, recovery: &PathRecovery) -> Self {
        let snapshot = recovery.snapshot(now);
        let sampled = recovery.rtt.has_sample();
        Metrics {
            min_rtt: sampled.then_some(as_written(snapshot.min_rtt)),
            smoothed_rtt: Some(as_written(snapshot.smoothed_rtt)),
            latest_rtt: sampled.then(|| as_written(recovery.rtt.latest())),
            rtt_variance: Some(as_written(snapshot.rtt_variance)),
            pto_count: Some(u64::from(recovery.pto_count())),
            congestion_window: Some(snapshot.congestion_window),
            bytes_in_flight: Some(snapshot.bytes_in_flight),
            ssthresh: Some(snapshot.slow_start_threshold).filter(|&threshold| threshold < u64::MAX),
            pacing_rate: snapshot.pacing_rate.map(|rate| rate.bits_per_second()),
        }
    }

    /// Writes what differs from `before`.
    fn write_changes(&self, json: &mut Json, before: &Metrics) {
        let durations = [
            ("min_rtt", self.min_rtt, before.min_rtt),
            ("smoothed_rtt", self.smoothed_rtt, before.smoothed_rtt),
            ("latest_rtt", self.latest_rtt, before.latest_rtt),
            ("rtt_variance", self.rtt_variance, before.rtt_variance),
        ];
        for (name, value, before) in durations {
            if let Some(value) = value.filter(|_| value != before) {
                json.millis(name, value);
            }
        }
        let numbers = [
            ("pto_count", self.pto_count, before.pto_count),
            ("congestion_window", self.congestion_window, before.congestion_window),
            ("bytes_in_flight", self.bytes_in_flight, before.bytes_in_flight),
            ("ssthresh", self.ssthresh, before.ssthresh),
            ("pacing_rate", self.pacing_rate, before.pacing_rate),
        ];
        for (name, value, before) in numbers {
            if let Some(value) = value.filter(|_| value != before) {
                json.number(name, value);
            }
        }
    }
}

/// What the congestion controller does, as RFC 9002 section 7.3 names it.
#[derive(Clone, Copy, Debug)]
struct Congestion {
    state: &'static str,
    /// When the present recovery period began.
    recovery_since: Option<Time>,
    events: u64,
    persistent: u64,
}

impl Congestion {
    /// Takes note of acknowledgements and losses; returns what caused a recovery period to begin.
    fn settle(
        &mut self,
        now: Time,
        recovery: &PathRecovery,
        acked: &[SentPacket],
        lost: &[SentPacket],
    ) -> Option<&'static str> {
        let totals = &recovery.totals;
        let begins = totals.congestion_events > self.events;
        let persistent = totals.persistent_congestion > self.persistent;
        (self.events, self.persistent) = (totals.congestion_events, totals.persistent_congestion);
        if begins {
            self.recovery_since = Some(now);
        } else if let Some(since) = self.recovery_since
            && acked.iter().any(|packet| packet.sent_at > since)
        {
            // RFC 9002 section 7.3.2: over when a packet that was sent during it is acknowledged.
            self.recovery_since = None;
        }
        if persistent {
            // RFC 9002 section 7.6.2: with the least window slow start begins at once.
            self.recovery_since = None;
            return Some("persistent_congestion");
        }
        begins.then_some(if lost.is_empty() { "ecn" } else { "packet_loss" })
    }

    fn present(&self, recovery: &PathRecovery) -> &'static str {
        if self.recovery_since.is_some() {
            "recovery"
        } else if recovery.in_slow_start() {
            "slow_start"
        } else {
            "congestion_avoidance"
        }
    }
}

impl PathTrace {
    pub(super) fn new(addresses: Addresses) -> Self {
        PathTrace { paths: Vec::new(), addresses }
    }

    /// The state of a path's life changed.
    #[inline(never)]
    pub(super) fn moved(
        &mut self,
        records: &mut Records,
        now: Time,
        id: PathId,
        moved: Move,
        event: LifeEvent,
    ) {
        if moved.from == moved.to {
            return;
        }
        records.event_on(now, id, "hawser:path_state_updated", |json| {
            json.number("path_id", u64::from(id.0));
            json.text("old", life_name(moved.from));
            json.text("new", life_name(moved.to));
            json.text("trigger", cause_name(event));
        });
        if moved.to == LifeCycle::Closed && self.paths.iter().any(|memory| memory.id == id) {
            self.paths.retain(|memory| memory.id != id);
            // Without addresses: the tuple is abandoned (draft-ietf-quic-qlog-quic-events-13 section 4.7).
            records.event_on(now, id, "quic:tuple_assigned", |json| {
                tuple_id(json, "tuple_id", id);
                json.number("path_id", u64::from(id.0));
            });
        }
    }

    /// A path that exists when the trace begins.
    pub(super) fn found(&mut self, records: &mut Records, now: Time, path: &Path) {
        records.event_on(now, path.id, "hawser:path_state_updated", |json| {
            json.number("path_id", u64::from(path.id.0));
            json.text("new", life_name(path.life()));
        });
        self.changed(records, now, path);
    }

    /// Addresses, datagram size, ECN, metrics: writes whatever changed.
    #[inline(never)]
    pub(super) fn changed(&mut self, records: &mut Records, now: Time, path: &Path) {
        let at = self.memory_of(records, now, path);
        self.write_metrics(records, now, at, path);
        let state = match self.paths.get(at) {
            Some(memory) => memory.congestion.present(&path.recovery),
            None => return,
        };
        self.write_congestion(records, now, at, state, None);
    }

    /// Packets of a path's recovery were acknowledged or lost.
    pub(super) fn settled(
        &mut self,
        records: &mut Records,
        now: Time,
        path: &Path,
        acked: &[SentPacket],
        lost: &[SentPacket],
    ) {
        let at = self.memory_of(records, now, path);
        let Some(memory) = self.paths.get_mut(at) else { return };
        let cause = memory.congestion.settle(now, &path.recovery, acked, lost);
        let state = memory.congestion.present(&path.recovery);
        self.write_metrics(records, now, at, path);
        self.write_congestion(records, now, at, state, cause);
    }

    /// The position of a path's memory. Writes its addresses if they are new.
    fn memory_of(&mut self, records: &mut Records, now: Time, path: &Path) -> usize {
        let tuple = path.tuples.current();
        let known = self.paths.iter().position(|memory| memory.id == path.id);
        let at = known.unwrap_or(self.paths.len());
        match self.paths.get_mut(at) {
            Some(memory) if memory.tuple == tuple => return at,
            Some(memory) => memory.tuple = tuple,
            None => self.paths.push(PathMemory::new(path)),
        }
        let tuple = self.addresses.tuple(tuple);
        records.event_on(now, path.id, "quic:tuple_assigned", |json| {
            tuple_id(json, "tuple_id", path.id);
            json.number("path_id", u64::from(path.id.0));
            json.member("tuple_remote", |json| endpoint_info(json, tuple.remote));
            json.member("tuple_local", |json| endpoint_info(json, tuple.local));
        });
        at
    }

    fn write_metrics(&mut self, records: &mut Records, now: Time, at: usize, path: &Path) {
        let Some(memory) = self.paths.get_mut(at) else { return };
        let metrics = Metrics::of(now, &path.recovery);
        let before = std::mem::replace(&mut memory.metrics, metrics);
        let mtu = std::mem::replace(&mut memory.mtu, path.mtu.current());
        let ecn = std::mem::replace(&mut memory.ecn, path.recovery.ecn_state());
        let id = path.id;
        if metrics != before {
            records.event_on(now, id, "quic:recovery_metrics_updated", |json| {
                json.number("path_id", u64::from(id.0));
                metrics.write_changes(json, &before);
            });
        }
        if mtu != path.mtu.current() {
            records.event_on(now, id, "quic:mtu_updated", |json| {
                json.number("path_id", u64::from(id.0));
                json.number("old", u64::from(mtu));
                json.number("new", u64::from(path.mtu.current()));
            });
        }
        if ecn != path.recovery.ecn_state() {
            records.event_on(now, id, "quic:ecn_state_updated", |json| {
                json.number("path_id", u64::from(id.0));
                json.text("old", ecn_name(ecn));
                json.text("new", ecn_name(path.recovery.ecn_state()));
            });
        }
    }

    fn write_congestion(
        &mut self,
        records: &mut Records,
        now: Time,
        at: usize,
        state: &'static str,
        cause: Option<&str>,
    ) {
        let Some(memory) = self.paths.get_mut(at) else { return };
        let id = memory.id;
        let old = std::mem::replace(&mut memory.congestion.state, state);
        if old == state {
            return;
        }
        records.event_on(now, id, "quic:congestion_state_updated", |json| {
            json.number("path_id", u64::from(id.0));
            if !old.is_empty() {
                json.text("old", old);
            }
            json.text("new", state);
            if let Some(cause) = cause {
                json.text("trigger", cause);
            }
        });
    }
}

impl PathMemory {
    fn new(path: &Path) -> Self {
        PathMemory {
            id: path.id,
            tuple: path.tuples.current(),
            mtu: path.mtu.current(),
            ecn: path.recovery.ecn_state(),
            metrics: Metrics::default(),
            congestion: Congestion {
                state: "",
                recovery_since: None,
                events: path.recovery.totals.congestion_events,
                persistent: path.recovery.totals.persistent_congestion,
            },
        }
    }
}

/// Without what is lost in writing, so that nothing is written twice because of it.
fn as_written(duration: Duration) -> Duration {
    Duration::new(duration.as_secs(), duration.subsec_micros() * 1_000)
}

fn life_name(life: LifeCycle) -> &'static str {
    match life {
        LifeCycle::Unused => "unused",
        LifeCycle::Validating => "validating",
        LifeCycle::Active => "active",
        LifeCycle::Suspect => "suspect",
        LifeCycle::Abandoning => "abandoning",
        LifeCycle::Draining => "draining",
        LifeCycle::Closed => "closed",
    }
}

fn cause_name(event: LifeEvent) -> &'static str {
    match event {
        LifeEvent::Opened => "opened",
        LifeEvent::Validated => "validated",
        LifeEvent::ValidationFailed => "validation_failed",
        LifeEvent::FellSilent => "fell_silent",
        LifeEvent::Answered => "answered",
        LifeEvent::HeardAgain => "heard_again",
        LifeEvent::AbandonedLocally => "abandoned_locally",
        LifeEvent::AbandonedByPeer => "abandoned_by_peer",
        LifeEvent::PeriodOver => "period_over",
    }
}

fn ecn_name(state: EcnState) -> &'static str {
    match state {
        EcnState::Testing => "testing",
        EcnState::Unknown => "unknown",
        EcnState::Capable => "capable",
        EcnState::Failed => "failed",
    }
}
