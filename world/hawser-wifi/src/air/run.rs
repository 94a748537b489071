//! A client on a drive.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::net::Ipv4Addr;
use std::time::Duration;

use hawser_policy::Time;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::point::AccessPoint;
use super::scene::Drive;
use super::server;
use crate::attach::{Action, Answer, Attachment, Event, Exchange, Report, ScanKind, Settings};
use crate::choose::{Bssid, Sighting};
use crate::dhcp::Leases;
use crate::phase::{Phase, Timeline};
use crate::profile::Profile;

/// Beacons come this often.
const BEACON_S: f64 = 0.1024;
/// A client that hears no beacons for seven intervals calls the link lost.
const LOST_AFTER: Duration = Duration::from_millis(717);
const MAC: [u8; 6] = [0x02, 0x00, 0x5e, 0xff, 0x00, 0x01];

/// An attempt to attach: what came of it, and how long each phase took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Encounter {
    /// Name of the client's profile.
    pub client: String,
    /// When the authentication began, seconds since the start.
    pub at_s: f64,
    /// Network.
    pub ssid: String,
    /// Access point.
    pub bssid: String,
    /// Frequency, MHz.
    pub mhz: u16,
    /// Signal in the scan before, dBm.
    pub dbm: f64,
    /// Phase in which it failed; none: it succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_in: Option<Phase>,
    /// Milliseconds in each phase that it had; `scan`: all scans since the attempt before.
    pub phases_ms: BTreeMap<Phase, f64>,
    /// Exchanges and messages that were sent again.
    pub resent: u32,
    /// The address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Ipv4Addr>,
    /// Whether it is that of an earlier visit, asked for at once.
    #[serde(default)]
    pub is_known_address: bool,
    /// How long it could be used, seconds.
    pub up_s: f64,
}

impl Encounter {
    /// From what the client reports, except for the time up.
    pub fn new(client: &str, now_s: f64, sighting: &Sighting, timeline: &Timeline, resent: u32) -> Encounter {
        let phases_ms: BTreeMap<Phase, f64> = Phase::ALL
            .into_iter()
            .filter_map(|phase| Some((phase, timeline.of(phase)?.as_secs_f64() * 1e3)))
            .collect();
        let mut encounter = Encounter {
            client: client.to_owned(),
            at_s: now_s,
            ssid: sighting.ssid.clone(),
            bssid: sighting.bssid.to_string(),
            mhz: sighting.mhz,
            dbm: sighting.dbm,
            failed_in: None,
            phases_ms,
            resent,
            address: None,
            is_known_address: false,
            up_s: 0.0,
        };
        encounter.at_s -= encounter.total_s();
        encounter
    }

    /// Seconds in a phase.
    pub fn phase_s(&self, phase: Phase) -> Option<f64> {
        self.phases_ms.get(&phase).map(|ms| ms / 1e3)
    }

    /// Seconds from the start of the authentication to the end of the attempt: of a successful one "time to IP".
    pub fn total_s(&self) -> f64 {
        self.phases_ms.iter().filter(|(phase, _)| **phase != Phase::Scan).map(|(_, ms)| ms / 1e3).sum()
    }

    /// Seconds from the start of the authentication to keys.
    pub fn association_s(&self) -> f64 {
        let phases = [Phase::Authenticate, Phase::Associate, Phase::Eap, Phase::Handshake];
        phases.iter().filter_map(|phase| self.phase_s(*phase)).sum()
    }
}

impl Drive {
    /// Drives it with a client of this profile, from start to end.
    pub fn run(&self, profile: &Profile) -> Vec<Encounter> {
        let mut run = Run::new(self, profile);
        let mut encounters = Vec::new();
        while let Some(encounter) = run.next_encounter() {
            encounters.push(encounter);
        }
        encounters
    }
}

/// What the air brings to the client.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Delivery {
    Heard { point: usize },
    ScanDone,
    Answer { point: usize, what: Said },
    Dhcp { point: usize, bytes: Vec<u8> },
    Lost { point: usize },
}

/// An answer that can be ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Said {
    Authenticated,
    Associated,
    Eap(u8),
    Handshake(u8),
}

/// A drive under way.
#[derive(Debug)]
pub struct Run<'a> {
    drive: &'a Drive,
    profile: &'a Profile,
    client: Attachment,
    random: ChaCha8Rng,
    now: Time,
    queue: BinaryHeap<Reverse<(Time, u64, Delivery)>>,
    queued: u64,
    /// Access points before this one are out of reach for good.
    gone: usize,
    /// The access point that the client is with or talks to.
    with: Option<usize>,
    /// EAP pairs that this attempt takes.
    pairs: u8,
    leases: Leases,
    /// Networks with an EAP session that can be resumed.
    sessions: BTreeSet<String>,
    up: Option<Encounter>,
    ended: Vec<Encounter>,
}

impl<'a> Run<'a> {
    /// At the start of the drive.
    pub fn new(drive: &'a Drive, profile: &'a Profile) -> Self {
        let settings = Settings {
            profile: *profile,
            networks: drive.networks.clone(),
            choice: drive.choice,
            channels: drive.channels.clone(),
            mac: MAC,
        };
        Run {
            drive,
            profile,
            client: Attachment::new(Time::ZERO, settings, drive.seed),
            random: ChaCha8Rng::seed_from_u64(drive.seed ^ 0x5eed),
            now: Time::ZERO,
            queue: BinaryHeap::new(),
            queued: 0,
            gone: 0,
            with: None,
            pairs: 0,
            leases: Leases::default(),
            sessions: BTreeSet::new(),
            up: None,
            ended: Vec::new(),
        }
    }

    /// Where the drive is.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Goes on until the next encounter is over; `None` at the end of the drive.
    pub fn next_encounter(&mut self) -> Option<Encounter> {
        while self.ended.is_empty() {
            while let Some(action) = self.client.poll_action() {
                self.act(action);
            }
            if !self.ended.is_empty() {
                break;
            }
            let delivery = self.queue.peek().map(|Reverse((time, ..))| *time);
            let timer = self.client.poll_timeout();
            let next = delivery.into_iter().chain(timer).min()?;
            if next >= self.drive.until {
                return self.up.take();
            }
            self.now = self.now.max(next);
            if delivery == Some(next) {
                if let Some(Reverse((_, _, delivery))) = self.queue.pop() {
                    self.deliver(delivery);
                }
            } else {
                self.client.handle_timeout(self.now);
            }
        }
        Some(self.ended.remove(0))
    }

    fn later(&mut self, time: Time, delivery: Delivery) {
        self.queued += 1;
        self.queue.push(Reverse((time, self.queued, delivery)));
    }

    fn deliver(&mut self, delivery: Delivery) {
        let points = &self.drive.points;
        match delivery {
            Delivery::Heard { point } => {
                self.client.handle(self.now, Event::Heard(points[point].sighting()));
            }
            Delivery::ScanDone => self.client.handle(self.now, Event::ScanDone),
            Delivery::Answer { point, what } => {
                let answer = match what {
                    Said::Authenticated => Answer::Authenticated,
                    Said::Associated => Answer::Associated { eap: self.pairs > 0 },
                    Said::Eap(number) => Answer::Eap { number, is_last: number + 1 >= self.pairs },
                    Said::Handshake(number) => Answer::Handshake(number),
                };
                self.client.handle(self.now, Event::Answered { from: points[point].bssid, answer });
            }
            Delivery::Dhcp { point, bytes } if self.with == Some(point) => {
                self.client.handle(self.now, Event::Dhcp(&bytes));
            }
            Delivery::Lost { point } if self.with == Some(point) => {
                self.client.handle(self.now, Event::LinkLost);
            }
            Delivery::Dhcp { .. } | Delivery::Lost { .. } => {}
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Scan { kind, channels, dwell } => self.scan(kind, &channels, dwell),
            Action::WantLease { ssid } => {
                let known = self.leases.get(&ssid, self.now.as_secs_f64() as u64).cloned();
                if let Some(lease) = known {
                    self.client.know_lease(&ssid, lease);
                }
            }
            Action::Send { to, exchange } => self.send(to, exchange),
            Action::Dhcp(bytes) => self.send_dhcp(&bytes),
            Action::Disconnect => self.with = None,
            Action::Report(report) => self.note(report),
        }
    }

    fn scan(&mut self, kind: ScanKind, channels: &[u16], dwell: Duration) {
        let start = self.now;
        let wanted: BTreeMap<u16, u32> = channels.iter().copied().zip(0..).collect();
        let points = &self.drive.points;
        while points.get(self.gone).is_some_and(|point| point.until < start) {
            self.gone += 1;
        }
        for (index, point) in points.iter().enumerate().skip(self.gone) {
            if point.from > start + Duration::from_secs(10) {
                break;
            }
            let Some(&place) = wanted.get(&point.mhz) else { continue };
            let begin = start + dwell.saturating_mul(place);
            // A passive scan hears an access point if a beacon falls into the dwell time; an active one, if it answers.
            let hears = match kind {
                ScanKind::Passive => (dwell.as_secs_f64() / BEACON_S).min(1.0),
                ScanKind::Active => f64::from(u8::from(point.answers)),
            };
            if point.covers(begin) && self.random.random::<f64>() < hears * (1.0 - point.loss(begin)) {
                self.queued += 1;
                self.queue.push(Reverse((begin + dwell, self.queued, Delivery::Heard { point: index })));
            }
        }
        let length = dwell.saturating_mul(channels.len() as u32);
        self.later(start + length, Delivery::ScanDone);
    }

    /// An exchange is answered after its time, unless it is lost.
    fn send(&mut self, to: Bssid, exchange: Exchange) {
        let drive = self.drive;
        let Some(index) = drive.index_of(to) else { return };
        let point = &drive.points[index];
        if self.with != Some(index) {
            self.with = Some(index);
            let resumes = self.profile.resumes_eap && self.sessions.contains(&point.ssid);
            self.pairs = if resumes { point.resumed_pairs } else { point.eap_pairs };
            // One that is out of reach already is not lost: it does not answer.
            if point.covers(self.now) {
                self.later(point.until + LOST_AFTER, Delivery::Lost { point: index });
            }
        }
        let what = match exchange {
            Exchange::Authenticate => Said::Authenticated,
            Exchange::Associate => Said::Associated,
            Exchange::Eap(number) => Said::Eap(number),
            Exchange::Handshake(number) => Said::Handshake(number),
        };
        let time = match exchange {
            Exchange::Eap(_) => point.core(&mut self.random),
            _ => AccessPoint::local(&mut self.random),
        };
        if point.answers && !self.is_lost(point) {
            self.later(self.now + time, Delivery::Answer { point: index, what });
        }
    }

    fn send_dhcp(&mut self, bytes: &[u8]) {
        let drive = self.drive;
        let Some(index) = self.with else { return };
        let point = &drive.points[index];
        let time = point.core(&mut self.random);
        if self.is_lost(point) {
            return;
        }
        if let Some(bytes) = server::answer(point, bytes) {
            self.later(self.now + time, Delivery::Dhcp { point: index, bytes });
        }
    }

    fn is_lost(&mut self, point: &AccessPoint) -> bool {
        self.random.random::<f64>() < point.loss(self.now)
    }

    fn note(&mut self, report: Report) {
        let now_s = self.now.as_secs_f64();
        match report {
            Report::Up(attached) => {
                let (sighting, timeline) = (&attached.sighting, &attached.timeline);
                let known = Encounter::new(self.profile.name, now_s, sighting, timeline, attached.resent);
                self.up = Some(Encounter {
                    address: Some(attached.lease.address),
                    is_known_address: attached.is_known_address,
                    ..known
                });
                self.sessions.insert(sighting.ssid.clone());
                self.leases.put(&attached.sighting.ssid, attached.lease, now_s as u64);
            }
            Report::Failed(failed) => {
                let (sighting, timeline) = (&failed.sighting, &failed.timeline);
                let known = Encounter::new(self.profile.name, now_s, sighting, timeline, failed.resent);
                self.ended.push(Encounter { failed_in: Some(failed.phase), ..known });
            }
            Report::Down { bssid, .. } => {
                let Some(mut encounter) = self.up.take() else { return };
                let point = self.drive.index_of(bssid).map(|index| &self.drive.points[index]);
                // What could be used ends with the coverage, not when the client notices.
                let until = point.map_or(self.now, |point| point.until.min(self.now));
                let came_up = encounter.at_s + encounter.total_s();
                encounter.up_s = (until.as_secs_f64() - came_up).max(0.0);
                if let Some(point) = point.filter(|point| point.goodput > 0.0) {
                    self.client.add_goodput(bssid, point.goodput);
                }
                self.ended.push(encounter);
            }
            Report::Renewed(_) => {}
        }
    }
}
