//! The thesis' tables, from anyone's records (F. Yang, thesis, chapter 3).

use std::collections::{BTreeMap, BTreeSet};

use hawser_link::Direction;
use serde::Serialize;

use super::compute::{Figures as SessionFigures, pearson};
use super::{Records, RunId, Session};
use crate::data::statistics::Spread;

/// Degrees to radians to metres.
const EARTH: f64 = 6_371_008.8;
/// Interfaces with rows of their own, of which each costs a look at all sessions. A record says any name.
const MOST_INTERFACES: usize = 32;

/// What records amount to.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Runs.
    pub runs: usize,
    /// How long clients ran, in hours.
    pub hours: f64,
    /// Along the positions, in kilometres; absent without any.
    pub kilometres: Option<f64>,
    /// Mean over the time of the positions, km/h.
    pub speed_kmh: Option<f64>,
    /// Records that clients dropped for want of room.
    pub dropped: u64,
    /// Lines that could not be read.
    pub unreadable: usize,
    /// By interface, in the order of names; where there are several, `all` comes first.
    pub groups: Vec<Group>,
    /// Interfaces that are in `all` only: those with the fewest sessions of very many.
    pub interfaces_left_out: usize,
    /// Goodput by direction, controller and number of flows.
    pub goodput: Vec<Figures>,
}

/// What was measured on an interface.
#[derive(Debug, Clone, Serialize)]
pub struct Group {
    /// The interface, or `all`.
    pub name: String,
    /// Times that it had an address.
    pub associations: usize,
    /// The same per hour.
    pub associations_per_hour: Option<f64>,
    /// Sessions, and those in which a flow was connected.
    pub sessions: usize,
    /// See `sessions`.
    pub connected: usize,
    /// Different access points, where the radio told.
    pub access_points: usize,
    /// Payload from the client, GB.
    pub uploaded_gb: f64,
    /// Payload to it, GB.
    pub downloaded_gb: f64,
    /// From the kernel's word of an address to the first datagram, ms.
    pub start_ms: Option<Spread>,
    /// From its word that the address is gone to the last datagram; negative: it left before.
    pub stop_ms: Option<Spread>,
    /// From the address to the first handshake, s.
    pub first_answer_s: Option<Spread>,
    /// Life of an address, s.
    pub address_s: Option<Spread>,
    /// Life of a session that was connected, to its end, s.
    pub session_s: Option<Spread>,
    /// Between the lives of two addresses, s.
    pub address_hole_s: Option<Spread>,
    /// Between two sessions that were connected, s.
    pub session_hole_s: Option<Spread>,
    /// Box around the positions under an access point, its diagonal in m.
    pub coverage_m: Option<Spread>,
    /// Payload of a session from the client, MB.
    pub uploaded_mb: Option<Spread>,
    /// Payload of a session to the client, MB.
    pub downloaded_mb: Option<Spread>,
    /// By how much what the receivers' applications got exceeds what was acknowledged, as a share of it; absent where
    /// either end is not known.
    pub volumes_differ: Option<f64>,
    /// Flows that vary much.
    pub fractions: Fractions,
    /// Pearson's R: speed and life of the address, speed and goodput, first signal strength and life, that and goodput.
    pub correlations: [Option<f64>; 4],
}

/// Shares of flows, of those seen from their sender.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Fractions {
    /// Flows.
    pub flows: usize,
    /// Standard deviation of the round-trip time above half its mean.
    pub rtt_varies: Option<f64>,
    /// Loss above 5 %.
    pub loss_above_5_percent: Option<f64>,
    /// Standard deviation of the throughput of whole seconds above half its mean.
    pub throughput_varies: Option<f64>,
}

/// Goodput of the sessions of a configuration, in Mbit/s.
#[derive(Debug, Clone, Serialize)]
pub struct Figures {
    /// Which way.
    pub direction: Direction,
    /// Congestion controller.
    pub controller: String,
    /// Number of flows.
    pub flows: u32,
    /// Goodput.
    #[serde(flatten)]
    pub mbps: Spread,
}

/// An association: the sessions of one address.
struct Association<'a> {
    sessions: Vec<&'a Session>,
    figures: Vec<SessionFigures>,
}

impl Report {
    /// Of these records.
    pub fn of(records: &Records) -> Report {
        let (mut names, interfaces_left_out) = interfaces(records);
        let hours = hours(records);
        let mut groups = Vec::new();
        if names.len() > 1 {
            groups.push(Group::of("all", records, |_| true, hours));
        }
        while let Some(name) = names.pop_first() {
            groups.push(Group::of(name, records, |session| session.interface == name, hours));
        }
        let metres: f64 = records.tracks.iter().map(|track| track.distance_m).sum();
        let located: f64 = records
            .tracks
            .iter()
            .filter_map(|track| Some(track.fixes.last()?.0 - track.fixes.first()?.0))
            .sum::<f64>()
            / 1e3;
        // The count of a run only grows.
        let mut dropped: BTreeMap<RunId, u64> = BTreeMap::new();
        for session in &records.sessions {
            let count = dropped.entry(session.run).or_default();
            *count = session.dropped.max(*count);
        }
        Report {
            runs: hours_by_run(records).len(),
            hours,
            kilometres: (!records.tracks.is_empty()).then_some(metres / 1e3),
            speed_kmh: (located > 0.0).then(|| metres / located * 3.6),
            dropped: dropped.values().copied().max().unwrap_or(0),
            unreadable: records.unreadable.len(),
            groups,
            interfaces_left_out,
            goodput: goodput(records),
        }
    }

    /// The page.
    pub fn html(&self) -> String {
        super::page::page(self)
    }
}

/// The interfaces with the most sessions, and how many others there are.
fn interfaces(records: &Records) -> (BTreeSet<&str>, usize) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for session in &records.sessions {
        *counts.entry(&session.interface).or_default() += 1;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, sessions)| std::cmp::Reverse(*sessions));
    let left_out = counts.len().saturating_sub(MOST_INTERFACES);
    (counts.into_iter().take(MOST_INTERFACES).map(|(name, _)| name).collect(), left_out)
}

/// How long each run lasted, in ms: as its record says, and at least until its last session ended.
fn hours_by_run(records: &Records) -> BTreeMap<RunId, f64> {
    let mut lengths: BTreeMap<RunId, f64> = BTreeMap::new();
    let runs = records.runs.iter().map(|run| (run.run, run.length_ms));
    let sessions = records.sessions.iter().map(|session| (session.run, session.run_ms + session.stopped_ms));
    for (run, length) in runs.chain(sessions) {
        let longest = lengths.entry(run).or_default();
        *longest = longest.max(length);
    }
    lengths
}

fn hours(records: &Records) -> f64 {
    hours_by_run(records).values().sum::<f64>() / 3.6e6
}

fn goodput(records: &Records) -> Vec<Figures> {
    let mut rates: BTreeMap<(Direction, String, u32), Vec<f64>> = BTreeMap::new();
    for session in &records.sessions {
        let configuration = session.configuration.clone();
        if let Some(rate) = SessionFigures::of(session, records).goodput {
            let key = (configuration.direction, configuration.controller, configuration.flows);
            rates.entry(key).or_default().push(rate / 1e6);
        }
    }
    let row = |((direction, controller, flows), rates): ((Direction, String, u32), Vec<f64>)| {
        Some(Figures { direction, controller, flows, mbps: Spread::of(rates)? })
    };
    rates.into_iter().filter_map(row).collect()
}

impl Group {
    fn of(name: &str, records: &Records, belongs: impl Fn(&Session) -> bool, hours: f64) -> Group {
        let associations = associations(records, belongs);
        let sessions = || associations.iter().flat_map(|it| it.sessions.iter().copied().zip(&it.figures));
        let spread = |of: &dyn Fn(&Session, &SessionFigures) -> Option<f64>| {
            Spread::of(sessions().filter_map(|(session, figures)| of(session, figures)))
        };
        let volume = |direction, session: &Session, figures: &SessionFigures| {
            let bytes = figures.application_bytes.or(figures.acked_bytes)?;
            (session.configuration.direction == direction && session.ok).then_some(bytes as f64 / 1e6)
        };
        let volumes = |direction| spread(&|session, figures| volume(direction, session, figures));
        let total =
            |spread: &Option<Spread>| spread.as_ref().map_or(0.0, |it| it.sorted.iter().sum::<f64>() / 1e3);
        let (uploaded_mb, downloaded_mb) = (volumes(Direction::Up), volumes(Direction::Down));
        let first = |session: &Session| session.attempt == 0 && !session.present_at_start;
        Group {
            name: name.to_owned(),
            associations: associations.len(),
            associations_per_hour: (hours > 0.0).then(|| associations.len() as f64 / hours),
            sessions: sessions().count(),
            connected: sessions().filter(|(session, _)| session.ok).count(),
            access_points: access_points(&associations).len(),
            uploaded_gb: total(&uploaded_mb),
            downloaded_gb: total(&downloaded_mb),
            start_ms: spread(&|session, _| session.first_packet_ms.filter(|_| first(session))),
            stop_ms: spread(&|session, _| Some(session.last_packet_ms? - session.address_down_ms?)),
            first_answer_s: spread(&|session, figures| {
                figures.connected_ms.filter(|_| first(session)).map(|ms| ms / 1e3)
            }),
            address_s: Spread::of(associations.iter().filter_map(Association::life)),
            session_s: spread(&|session, _| session.ok.then_some(session.stopped_ms / 1e3)),
            address_hole_s: Spread::of(holes(&associations, |_| true)),
            session_hole_s: Spread::of(holes(&associations, |it| {
                it.sessions.iter().any(|session| session.ok)
            })),
            coverage_m: Spread::of(access_points(&associations).into_values().flatten().map(diagonal)),
            volumes_differ: volumes_differ(sessions()),
            fractions: Fractions::of(sessions()),
            correlations: correlations(&associations),
            uploaded_mb,
            downloaded_mb,
        }
    }
}

/// The sessions of each address together; those of a run and an interface follow each other.
fn associations(records: &Records, belongs: impl Fn(&Session) -> bool) -> Vec<Association<'_>> {
    let mut found: Vec<Association<'_>> = Vec::new();
    for session in records.sessions.iter().filter(|session| belongs(session)) {
        let key = |session: &Session| (session.run, session.interface.clone(), session.association);
        let figures = SessionFigures::of(session, records);
        match found.last_mut().filter(|it| it.sessions.last().is_some_and(|last| key(last) == key(session))) {
            Some(association) => {
                association.sessions.push(session);
                association.figures.push(figures);
            }
            None => found.push(Association { sessions: vec![session], figures: vec![figures] }),
        }
    }
    found
}

impl Association<'_> {
    fn began(&self) -> f64 {
        self.sessions.first().map_or(0.0, |session| session.run_ms)
    }

    /// When its address went, ms since the beginning of the run.
    fn ended(&self) -> Option<f64> {
        self.sessions.last().and_then(|session| Some(session.run_ms + session.address_down_ms?))
    }

    /// Life of its address in seconds, if it was seen from its beginning to its end.
    fn life(&self) -> Option<f64> {
        let was_there = self.sessions.first().is_none_or(|session| session.present_at_start);
        self.ended().filter(|_| !was_there).map(|ended| (ended - self.began()) / 1e3)
    }
}

/// Seconds between associations of the same run and interface that follow each other.
fn holes(associations: &[Association<'_>], counts: impl Fn(&Association<'_>) -> bool) -> Vec<f64> {
    let counted: Vec<&Association<'_>> = associations.iter().filter(|it| counts(it)).collect();
    let key =
        |it: &Association<'_>| it.sessions.first().map(|session| (session.run, session.interface.clone()));
    let hole = |pair: &[&Association<'_>]| {
        let [before, after] = pair else { return None };
        let gap = (after.began() - before.ended()?) / 1e3;
        (key(before) == key(after)).then_some(gap.max(0.0))
    };
    counted.windows(2).filter_map(hole).collect()
}

/// Bounds of the positions under each access point.
fn access_points(associations: &[Association<'_>]) -> BTreeMap<String, Option<[f64; 4]>> {
    let mut found: BTreeMap<String, Option<[f64; 4]>> = BTreeMap::new();
    for session in associations.iter().flat_map(|it| &it.sessions) {
        let Some(point) = session.radio.as_ref().and_then(|radio| radio.point.clone()) else { continue };
        let bounds = found.entry(point).or_default();
        if let Some([south, west, north, east]) = session.position.map(|position| position.bounds) {
            let before = bounds.unwrap_or([south, west, north, east]);
            *bounds =
                Some([before[0].min(south), before[1].min(west), before[2].max(north), before[3].max(east)]);
        }
    }
    found
}

/// Of a box of degrees, in metres.
fn diagonal([south, west, north, east]: [f64; 4]) -> f64 {
    let across = (east - west).to_radians() * ((south + north) / 2.0).to_radians().cos();
    EARTH * (north - south).to_radians().hypot(across)
}

fn volumes_differ<'a>(sessions: impl Iterator<Item = (&'a Session, &'a SessionFigures)>) -> Option<f64> {
    let known = sessions.filter_map(|(_, figures)| Some((figures.application_bytes?, figures.acked_bytes?)));
    let (application, acked) = known
        .fold((0.0, 0.0), |sum, (application, acked)| (sum.0 + application as f64, sum.1 + acked as f64));
    (acked > 0.0).then(|| application / acked - 1.0)
}

impl Fractions {
    fn of<'a>(sessions: impl Iterator<Item = (&'a Session, &'a SessionFigures)>) -> Fractions {
        let flows: Vec<_> = sessions.flat_map(|(_, figures)| figures.flows.iter().copied()).collect();
        let share = |values: Vec<f64>, above: f64| {
            let count = values.iter().filter(|value| **value > above).count();
            (!values.is_empty()).then(|| count as f64 / values.len() as f64)
        };
        Fractions {
            flows: flows.len(),
            rtt_varies: share(flows.iter().filter_map(|flow| flow.rtt_jitter).collect(), 0.5),
            loss_above_5_percent: share(flows.iter().filter_map(|flow| flow.loss).collect(), 0.05),
            throughput_varies: share(
                flows.iter().filter_map(|flow| flow.throughput_variation).collect(),
                0.5,
            ),
        }
    }
}

fn correlations(associations: &[Association<'_>]) -> [Option<f64>; 4] {
    let (mut speed_life, mut speed_rate, mut signal_life, mut signal_rate) = (vec![], vec![], vec![], vec![]);
    for association in associations {
        let first = association.sessions.first();
        let speed = first.and_then(|session| session.position?.speed_mps);
        let signal = first.and_then(|session| session.radio.as_ref()?.first_dbm);
        let rate = association.figures.first().and_then(|figures| figures.goodput);
        let life = association.life();
        for (list, one, other) in [
            (&mut speed_life, speed, life),
            (&mut speed_rate, speed, rate),
            (&mut signal_life, signal, life),
            (&mut signal_rate, signal, rate),
        ] {
            list.extend(one.zip(other));
        }
    }
    [speed_life, speed_rate, signal_life, signal_rate].map(|pairs: Vec<(f64, f64)>| pearson(&pairs))
}
