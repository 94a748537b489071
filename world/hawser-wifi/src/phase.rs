//! The phases of an attachment, and how long each took.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What the client does between being alone and having a usable address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Looks for access points.
    Scan,
    /// 802.11 authentication.
    Authenticate,
    /// 802.11 association.
    Associate,
    /// Access authentication (EAP) with a server in the core network.
    Eap,
    /// 4-way handshake: keys.
    Handshake,
    /// From the first DHCP message to the acknowledgement.
    Dhcp,
    /// Asks by ARP whether somebody else has the address (RFC 5227).
    Probe,
}

impl Phase {
    /// All, in their order.
    pub const ALL: [Phase; 7] = [
        Phase::Scan,
        Phase::Authenticate,
        Phase::Associate,
        Phase::Eap,
        Phase::Handshake,
        Phase::Dhcp,
        Phase::Probe,
    ];

    /// How it is called in records and tables.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Scan => "scan",
            Phase::Authenticate => "authenticate",
            Phase::Associate => "associate",
            Phase::Eap => "eap",
            Phase::Handshake => "handshake",
            Phase::Dhcp => "dhcp",
            Phase::Probe => "probe",
        }
    }
}

/// How long each phase took; `None` for those that were not reached, or that the network does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timeline([Option<Duration>; Phase::ALL.len()]);

impl Timeline {
    /// Time spent in a phase.
    pub fn of(&self, phase: Phase) -> Option<Duration> {
        self.0[phase as usize]
    }

    /// Adds to a phase.
    pub(crate) fn add(&mut self, phase: Phase, duration: Duration) {
        let slot = &mut self.0[phase as usize];
        *slot = Some(slot.unwrap_or_default() + duration);
    }

    /// From the start of the 802.11 authentication to keys: "association setup time".
    pub fn association(&self) -> Duration {
        self.sum(&[Phase::Authenticate, Phase::Associate, Phase::Eap, Phase::Handshake])
    }

    /// From the start of the 802.11 authentication to a usable address: "time to IP".
    pub fn to_address(&self) -> Duration {
        self.association() + self.sum(&[Phase::Dhcp, Phase::Probe])
    }

    fn sum(&self, phases: &[Phase]) -> Duration {
        phases.iter().filter_map(|phase| self.of(*phase)).sum()
    }
}
