//! The attachment: a state machine from looking for access points to a usable address, and back (thesis, section 3.1).
//!
//! ```text
//!  PASSIVE scan of all channels ----> CHOOSE the best that was not tried ----> authenticate .. DHCP ----> up
//!     ^   ^  nothing wanted |            ^                                         | failed             |
//!     |   +-----------------+            | answers                                 v                    |
//!     |                                  +---- ACTIVE scan of the channels of those not tried,          |
//!     |  nothing answers, or too late          while the passive scan is young                          |
//!     +---------------------------------------------------------------------------------------link lost+
//! ```

mod states;
mod types;

use std::collections::VecDeque;
use std::time::Duration;

use hawser_policy::Time;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use self::states::{Attempt, State};
pub use self::types::{Action, Answer, Attached, Event, Exchange, Failed, Report, ScanKind, Settings};
use crate::choose::{Bssid, History, Sighting};
use crate::dhcp::{Client, Lease, Outcome};
use crate::phase::{Phase, Timeline};
use crate::profile::Retry;
use crate::retransmit::{Expired, Retransmit};

/// Most access points that a scan keeps; of more the first count.
pub const MAX_SIGHTINGS: usize = 256;
/// A scan whose end nobody tells is over after its dwell times and this.
const SCAN_GRACE: Duration = Duration::from_secs(2);
/// How many channels a radio may have that is to scan all of them (2.4 and 5 GHz).
const ALL_CHANNELS: u32 = 45;
/// RFC 5227 section 1.1: PROBE_WAIT, PROBE_MIN, PROBE_MAX (seconds), ANNOUNCE_WAIT; PROBE_NUM is 3.
const PROBE_WAIT: f64 = 1.0;
const PROBE_MIN: f64 = 1.0;
const PROBE_MAX: f64 = 2.0;
const ANNOUNCE_WAIT: f64 = 2.0;

/// The client of one interface. The driver gives it events and timeouts, and does its actions.
#[derive(Debug)]
pub struct Attachment {
    settings: Settings,
    random: ChaCha8Rng,
    history: History,
    position: Option<[f64; 2]>,
    state: State,
    /// What the newest passive scan heard, and when it ended.
    seen: Vec<Sighting>,
    seen_at: Time,
    /// What the running scan heard.
    heard: Vec<Sighting>,
    tried: Vec<Bssid>,
    /// Time in scans since the last attempt.
    scanned: Duration,
    known: Option<(String, Lease)>,
    actions: VecDeque<Action>,
}

impl Attachment {
    /// Begins with a passive scan, now.
    pub fn new(now: Time, settings: Settings, seed: u64) -> Self {
        let mut attachment = Attachment {
            settings,
            random: ChaCha8Rng::seed_from_u64(seed),
            history: History::default(),
            position: None,
            state: State::Idle,
            seen: Vec::new(),
            seen_at: Time::ZERO,
            heard: Vec::new(),
            tried: Vec::new(),
            scanned: Duration::ZERO,
            known: None,
            actions: VecDeque::new(),
        };
        attachment.scan_passively(now);
        attachment
    }

    /// What to do next.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// When [`Attachment::handle_timeout`] wants to be called.
    pub fn poll_timeout(&self) -> Option<Time> {
        match &self.state {
            State::Idle => None,
            State::Scanning { expires, .. } => Some(*expires),
            State::Exchanging { timer, .. } => Some(timer.expires),
            State::Address { dhcp, .. } | State::Up { dhcp, .. } => dhcp.poll_timeout(),
            State::Probing { until, .. } => Some(*until),
        }
    }

    /// Where the host is, metres east and north of a fixed origin: for the choice by history.
    pub fn set_position(&mut self, position: Option<[f64; 2]>) {
        self.position = position;
    }

    /// The goodput of an association that is over, bit/s: for the choice by history.
    pub fn add_goodput(&mut self, bssid: Bssid, goodput: f64) {
        self.history.add(bssid, self.position, goodput);
    }

    /// The hardware address of the interface from now on: DHCP messages name it.
    pub fn set_mac(&mut self, mac: [u8; 6]) {
        self.settings.mac = mac;
    }

    /// The lease to ask for in a network; answers [`Action::WantLease`].
    pub fn know_lease(&mut self, ssid: &str, lease: Lease) {
        self.known = Some((ssid.to_owned(), lease));
    }

    /// A timer may have expired.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.poll_timeout().is_none_or(|expires| now < expires) {
            return;
        }
        match &mut self.state {
            State::Idle => {}
            State::Scanning { .. } => self.end_scan(now),
            State::Exchanging { timer, exchange, attempt } => match timer.expire(now, &mut self.random) {
                Expired::SendAgain => {
                    attempt.resent += 1;
                    let (to, exchange) = (attempt.sighting.bssid, *exchange);
                    self.actions.push_back(Action::Send { to, exchange });
                }
                Expired::Abandon => self.fail(now),
            },
            State::Address { dhcp, .. } | State::Up { dhcp, .. } => {
                dhcp.handle_timeout(now);
                self.after_dhcp(now);
            }
            State::Probing { .. } => self.take_address(now),
        }
    }

    /// Something happened.
    pub fn handle(&mut self, now: Time, event: Event<'_>) {
        match event {
            Event::Heard(sighting) => {
                let is_scanning = matches!(self.state, State::Scanning { .. });
                if is_scanning && self.heard.len() < MAX_SIGHTINGS {
                    self.heard.push(sighting);
                }
            }
            Event::ScanDone => {
                if matches!(self.state, State::Scanning { .. }) {
                    self.end_scan(now);
                }
            }
            Event::Answered { from, answer } => self.answered(now, from, answer),
            Event::LinkUp => {
                if let State::Exchanging { .. } = self.state {
                    self.ask_for_address(now);
                }
            }
            Event::LinkLost => self.link_lost(now),
            Event::Dhcp(message) => {
                match &mut self.state {
                    State::Address { dhcp, .. } | State::Up { dhcp, .. } => dhcp.handle(now, message),
                    _ => return,
                }
                self.after_dhcp(now);
            }
        }
    }

    fn scan_passively(&mut self, now: Time) {
        self.tried.clear();
        self.seen.clear();
        let channels = self.settings.channels.clone();
        self.scan(now, ScanKind::Passive, channels);
    }

    fn scan(&mut self, now: Time, kind: ScanKind, channels: Vec<u16>) {
        let profile = &self.settings.profile;
        let dwell = match kind {
            ScanKind::Passive => profile.passive_dwell,
            ScanKind::Active => profile.active_dwell,
        };
        let count = if channels.is_empty() { ALL_CHANNELS } else { channels.len() as u32 };
        let length = dwell.saturating_mul(count);
        self.heard.clear();
        self.state = State::Scanning { kind, started: now, expires: now + length + SCAN_GRACE };
        self.actions.push_back(Action::Scan { kind, channels, dwell });
    }

    fn end_scan(&mut self, now: Time) {
        let State::Scanning { kind, started, .. } = self.state else { return };
        self.scanned += now - started;
        let wanted = |sighting: &Sighting| self.settings.networks.contains(&sighting.ssid);
        let mut heard = std::mem::take(&mut self.heard);
        heard.retain(wanted);
        if kind == ScanKind::Passive {
            self.seen = heard.clone();
            self.seen_at = now;
        }
        let untried = heard.iter().filter(|sighting| !self.tried.contains(&sighting.bssid));
        let best = self.settings.choice.best(untried, &self.history, self.position).cloned();
        match best {
            Some(sighting) => self.attempt(now, sighting),
            None => self.scan_passively(now),
        }
    }

    fn attempt(&mut self, now: Time, sighting: Sighting) {
        let mut timeline = Timeline::default();
        timeline.add(Phase::Scan, std::mem::take(&mut self.scanned));
        self.known = None;
        if self.settings.profile.reboot.is_some() {
            self.actions.push_back(Action::WantLease { ssid: sighting.ssid.clone() });
        }
        let attempt = Attempt { sighting, timeline, phase: Phase::Authenticate, since: now, resent: 0 };
        self.exchange(now, Exchange::Authenticate, attempt);
    }

    /// Sends an exchange for the first time.
    fn exchange(&mut self, now: Time, exchange: Exchange, attempt: Attempt) {
        let timer = Retransmit::start(now, self.retry(exchange), &mut self.random);
        self.actions.push_back(Action::Send { to: attempt.sighting.bssid, exchange });
        self.state = State::Exchanging { exchange, timer, attempt };
    }

    fn retry(&self, exchange: Exchange) -> Retry {
        let profile = &self.settings.profile;
        match exchange {
            Exchange::Authenticate => profile.authenticate,
            Exchange::Associate => profile.associate,
            Exchange::Eap(_) => profile.eap,
            Exchange::Handshake(_) => profile.handshake,
        }
    }

    fn answered(&mut self, now: Time, from: Bssid, answer: Answer) {
        let State::Exchanging { exchange, attempt, .. } = &self.state else { return };
        if attempt.sighting.bssid != from {
            return;
        }
        // An answer to an exchange that is over, because it was sent twice, is no answer to this one.
        let next = match (*exchange, answer) {
            (_, Answer::Refused) => return self.fail(now),
            (Exchange::Authenticate, Answer::Authenticated) => Exchange::Associate,
            (Exchange::Associate, Answer::Associated { eap: true }) => Exchange::Eap(0),
            (Exchange::Associate, Answer::Associated { eap: false }) => Exchange::Handshake(0),
            (Exchange::Eap(n), Answer::Eap { number, is_last }) if n == number => {
                if is_last {
                    Exchange::Handshake(0)
                } else {
                    Exchange::Eap(n.saturating_add(1))
                }
            }
            (Exchange::Handshake(0), Answer::Handshake(0)) => Exchange::Handshake(1),
            (Exchange::Handshake(1), Answer::Handshake(1)) => return self.ask_for_address(now),
            _ => return,
        };
        let Some(mut attempt) = self.leave_exchange() else { return };
        attempt.enter(now, next.phase());
        self.exchange(now, next, attempt);
    }

    fn leave_exchange(&mut self) -> Option<Attempt> {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Exchanging { attempt, .. } => Some(attempt),
            other => {
                self.state = other;
                None
            }
        }
    }

    fn ask_for_address(&mut self, now: Time) {
        let Some(mut attempt) = self.leave_exchange() else { return };
        attempt.enter(now, Phase::Dhcp);
        let known = self.known.as_ref().filter(|(ssid, _)| *ssid == attempt.sighting.ssid);
        let random = ChaCha8Rng::seed_from_u64(self.random.random());
        let (mac, profile) = (self.settings.mac, &self.settings.profile);
        let patience = profile.dhcp_patience.filter(|_| !self.has_others(attempt.sighting.bssid));
        let dhcp =
            Client::new(now, mac, profile, known.map(|known| &known.1), random).with_patience(patience);
        self.state = State::Address { attempt, dhcp };
        self.after_dhcp(now);
    }

    /// Does what the DHCP client wants after something happened to it.
    fn after_dhcp(&mut self, now: Time) {
        let (State::Address { dhcp, .. } | State::Up { dhcp, .. }) = &mut self.state else { return };
        if let Some(message) = dhcp.poll_message() {
            self.actions.push_back(Action::Dhcp(message));
        }
        match dhcp.poll_outcome() {
            None => {}
            Some(Outcome::Bound(lease)) => self.bound(now, lease),
            Some(Outcome::Failed) => self.fail(now),
            Some(Outcome::Expired) => self.go_down(now),
        }
    }

    fn bound(&mut self, now: Time, lease: Lease) {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Address { attempt, dhcp } if self.settings.profile.probes_address => {
                let until = now + self.probe_time();
                let mut attempt = attempt;
                attempt.enter(now, Phase::Probe);
                self.state = State::Probing { attempt, dhcp, lease, until };
            }
            State::Address { attempt, dhcp } => self.come_up(now, attempt, dhcp, lease),
            // Renewed: nothing changes but the time.
            State::Up { bssid, since, dhcp } => {
                self.actions.push_back(Action::Report(Report::Renewed(lease)));
                self.state = State::Up { bssid, since, dhcp };
            }
            other => self.state = other,
        }
    }

    /// RFC 5227 section 2.1.1: three probes after a random wait, then a wait for objections. The driver sends none: what
    /// counts here is the time that a stock client spends.
    fn probe_time(&mut self) -> Duration {
        let spacing = PROBE_MAX - PROBE_MIN;
        let mut unit = || self.random.random::<f64>();
        let seconds = PROBE_WAIT * unit() + 2.0 * PROBE_MIN + spacing * (unit() + unit()) + ANNOUNCE_WAIT;
        Duration::from_secs_f64(seconds)
    }

    fn take_address(&mut self, now: Time) {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Probing { attempt, dhcp, lease, .. } => self.come_up(now, attempt, dhcp, lease),
            other => self.state = other,
        }
    }

    fn come_up(&mut self, now: Time, mut attempt: Attempt, dhcp: Client, lease: Lease) {
        attempt.end_phase(now);
        let attached = Attached {
            sighting: attempt.sighting.clone(),
            timeline: attempt.timeline,
            resent: attempt.resent + dhcp.resent(),
            is_known_address: dhcp.is_known_address(),
            lease,
        };
        self.actions.push_back(Action::Report(Report::Up(Box::new(attached))));
        self.state = State::Up { bssid: attempt.sighting.bssid, since: now, dhcp };
    }

    /// The attempt has failed: another access point, if one is near.
    fn fail(&mut self, now: Time) {
        let (mut attempt, resent) = match std::mem::replace(&mut self.state, State::Idle) {
            State::Exchanging { attempt, .. } => (attempt, 0),
            State::Address { attempt, dhcp } => (attempt, dhcp.resent()),
            State::Probing { attempt, dhcp, .. } => (attempt, dhcp.resent()),
            other => {
                self.state = other;
                return;
            }
        };
        attempt.end_phase(now);
        self.tried.push(attempt.sighting.bssid);
        let failed = Failed {
            sighting: attempt.sighting,
            phase: attempt.phase,
            timeline: attempt.timeline,
            resent: attempt.resent + resent,
        };
        self.actions.push_back(Action::Report(Report::Failed(failed)));
        self.actions.push_back(Action::Disconnect);
        let channels = self.untried_channels(now);
        if channels.is_empty() {
            self.scan_passively(now)
        } else {
            self.scan(now, ScanKind::Active, channels)
        }
    }

    /// Where access points were heard that have not been tried, if the scan is young enough to believe it.
    fn untried_channels(&self, now: Time) -> Vec<u16> {
        let within = self.settings.profile.active_scan_within;
        if within.is_none_or(|within| now - self.seen_at >= within) {
            return Vec::new();
        }
        let untried = self.seen.iter().filter(|sighting| !self.tried.contains(&sighting.bssid));
        let mut channels: Vec<u16> = untried.map(|sighting| sighting.mhz).collect();
        channels.sort_unstable();
        channels.dedup();
        channels
    }

    /// Whether an access point other than this one was heard and has not been tried.
    fn has_others(&self, than: Bssid) -> bool {
        let mut others = self.seen.iter().map(|sighting| sighting.bssid);
        others.any(|bssid| bssid != than && !self.tried.contains(&bssid))
    }

    fn link_lost(&mut self, now: Time) {
        match &self.state {
            State::Up { .. } => self.go_down(now),
            State::Exchanging { .. } | State::Address { .. } | State::Probing { .. } => self.fail(now),
            State::Idle | State::Scanning { .. } => {}
        }
    }

    fn go_down(&mut self, now: Time) {
        let State::Up { bssid, since, .. } = &self.state else { return };
        let report = Report::Down { bssid: *bssid, up: now - *since };
        self.actions.push_back(Action::Report(report));
        self.actions.push_back(Action::Disconnect);
        // Any interruption returns to scanning at once.
        self.scan_passively(now);
    }
}

#[cfg(test)]
mod tests;
