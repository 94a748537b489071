//! Asks the kernel for the state of a link, again and again.

use std::time::Duration;

use hawser_policy::Time;

use super::Observation;
use super::message::{Attributes, Body, Scope, replies, request};
use super::observation::ATTR_IFINDEX;

/// Between two questions.
const INTERVAL: Duration = Duration::from_millis(100);
/// An answer that has not come by then is not waited for: the kernel drops messages for which a socket has no room.
const PATIENCE: Duration = Duration::from_secs(1);
/// The controller of generic netlink: its family, commands and attributes.
const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_NEWFAMILY: u8 = 1;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
/// Commands of nl80211 (`enum nl80211_commands`).
const GET_INTERFACE: u8 = 5;
const NEW_INTERFACE: u8 = 7;
const GET_STATION: u8 = 17;
const NEW_STATION: u8 = 19;
/// `errno`: no such family, and no such (wireless) interface.
const ENOENT: i32 = 2;
const ENODEV: i32 = 19;
const EOPNOTSUPP: i32 = 95;

/// Why a link cannot be watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MonitorError {
    /// No wireless driver is loaded: the kernel does not know the family.
    NoWireless,
    /// The interface is none of a radio, or has gone.
    NotWireless,
    /// Anything else, by its `errno`.
    Refused(i32),
}

impl std::fmt::Display for MonitorError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoWireless => f.write_str("this kernel has no nl80211: no driver of a WiFi card is loaded"),
            Self::NotWireless => f.write_str("it is no wireless interface"),
            Self::Refused(errno) => write!(f, "nl80211 refuses to tell of it (errno {errno})"),
        }
    }
}

impl std::error::Error for MonitorError {}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Family,
    Interface,
    Station,
    /// The next question is asked then.
    Rest(Time),
}

/// Watches one interface.
#[derive(Debug)]
pub struct Monitor {
    /// Number of the interface.
    index: u32,
    /// The number that the kernel gave nl80211.
    family: Option<u16>,
    step: Step,
    sequence: u32,
    /// When the question was asked; none: it is still to be.
    asked: Option<Time>,
    /// When this round of questions began.
    round: Time,
    current: Observation,
    reports: Option<Observation>,
}

impl Monitor {
    /// For the interface of this number.
    pub fn new(index: u32) -> Self {
        Monitor {
            index,
            family: None,
            step: Step::Family,
            sequence: 0,
            asked: None,
            round: Time::ZERO,
            current: Observation::default(),
            reports: None,
        }
    }

    /// The next message to the kernel.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Vec<u8>> {
        if self.asked.is_some() || matches!(self.step, Step::Rest(_)) {
            return None;
        }
        self.asked = Some(now);
        self.sequence = self.sequence.wrapping_add(1);
        let index = self.index.to_ne_bytes();
        let of_interface = [(ATTR_IFINDEX, &index[..])];
        Some(match (self.step, self.family) {
            (Step::Interface, Some(family)) => {
                self.round = now;
                self.current = Observation::default();
                request(family, self.sequence, Scope::One, GET_INTERFACE, &of_interface)
            }
            (Step::Station, Some(family)) => {
                request(family, self.sequence, Scope::All, GET_STATION, &of_interface)
            }
            _ => {
                let name = [(CTRL_ATTR_FAMILY_NAME, &b"nl80211\0"[..])];
                request(GENL_ID_CTRL, self.sequence, Scope::One, CTRL_CMD_GETFAMILY, &name)
            }
        })
    }

    /// A datagram of the kernel. Answers to older questions are left out.
    ///
    /// # Errors
    /// [`MonitorError`]: there is nothing to watch, and there will not be by asking again.
    pub fn handle(&mut self, datagram: &[u8]) -> Result<(), MonitorError> {
        for reply in replies(datagram) {
            if reply.sequence != self.sequence || self.asked.is_none() {
                continue;
            }
            match reply.body {
                Body::Data { family, command, attributes } => self.answer(family, command, attributes),
                Body::Done => self.step_is_done(),
                Body::Refused(errno) => return Err(self.refusal(errno)),
            }
        }
        Ok(())
    }

    fn answer(&mut self, family: u16, command: u8, attributes: Attributes<'_>) {
        match (self.step, command) {
            (Step::Family, CTRL_CMD_NEWFAMILY) if family == GENL_ID_CTRL => {
                self.family = attributes.u16(CTRL_ATTR_FAMILY_ID);
            }
            (Step::Interface, NEW_INTERFACE) => self.current.add_interface(attributes),
            (Step::Station, NEW_STATION) => self.current.add_station(attributes),
            _ => {}
        }
    }

    fn step_is_done(&mut self) {
        self.asked = None;
        self.step = match self.step {
            Step::Family => Step::Interface,
            Step::Interface => Step::Station,
            Step::Station | Step::Rest(_) => {
                self.reports = Some(self.current);
                Step::Rest(self.round + INTERVAL)
            }
        };
    }

    fn refusal(&self, errno: i32) -> MonitorError {
        match (self.step, errno) {
            (Step::Family, ENOENT) => MonitorError::NoWireless,
            (_, ENODEV | EOPNOTSUPP) => MonitorError::NotWireless,
            _ => MonitorError::Refused(errno),
        }
    }

    /// What a whole round of questions has given.
    pub fn poll_report(&mut self) -> Option<Observation> {
        self.reports.take()
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub fn poll_timeout(&self) -> Option<Time> {
        match self.step {
            Step::Rest(until) => Some(until),
            _ => self.asked.map(|asked| asked + PATIENCE),
        }
    }

    /// Time has passed: the next round begins, or a question is asked again.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.poll_timeout().is_none_or(|due| now < due) {
            return;
        }
        self.asked = None;
        if self.family.is_some() {
            self.step = Step::Interface;
        }
    }
}
