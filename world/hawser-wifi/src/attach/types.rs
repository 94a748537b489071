//! What goes in and out of the state machine.

use std::time::Duration;

use crate::choose::{Bssid, Choice, Sighting};
use crate::dhcp::Lease;
use crate::phase::{Phase, Timeline};
use crate::profile::Profile;

/// How a client behaves.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its timers.
    pub profile: Profile,
    /// Names of the networks that it has credentials for.
    pub networks: Vec<String>,
    /// Which access point it takes.
    pub choice: Choice,
    /// Frequencies of a passive scan, MHz. None: all that the radio may use.
    pub channels: Vec<u16>,
    /// Hardware address of the interface.
    pub mac: [u8; 6],
}

/// How to scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanKind {
    /// Waits for beacons.
    Passive,
    /// Asks.
    Active,
}

/// What is sent to an access point and answered. Numbers count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// 802.11 authentication.
    Authenticate,
    /// 802.11 association.
    Associate,
    /// An EAP response, and the request or the success after it.
    Eap(u8),
    /// Half of the 4-way handshake.
    Handshake(u8),
}

impl Exchange {
    /// The phase that it belongs to.
    pub fn phase(self) -> Phase {
        match self {
            Exchange::Authenticate => Phase::Authenticate,
            Exchange::Associate => Phase::Associate,
            Exchange::Eap(_) => Phase::Eap,
            Exchange::Handshake(_) => Phase::Handshake,
        }
    }
}

/// What an access point says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// To [`Exchange::Authenticate`].
    Authenticated,
    /// To [`Exchange::Associate`].
    Associated {
        /// Whether access authentication follows, or the handshake.
        eap: bool,
    },
    /// To [`Exchange::Eap`].
    Eap {
        /// Of the exchange.
        number: u8,
        /// Whether that was the last one: success.
        is_last: bool,
    },
    /// To [`Exchange::Handshake`] of this number.
    Handshake(u8),
    /// To any.
    Refused,
}

/// What happens to the client.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// A scan heard an access point.
    Heard(Sighting),
    /// The scan is over.
    ScanDone,
    /// An access point has answered.
    Answered {
        /// Which.
        from: Bssid,
        /// What.
        answer: Answer,
    },
    /// The link carries data: the program that does the exchanges has finished all of them.
    LinkUp,
    /// The access point is gone, or has thrown the client out.
    LinkLost,
    /// A DHCP message arrived.
    Dhcp(&'a [u8]),
}

/// What the driver is to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Scan these frequencies, so long on each, and say [`Event::Heard`] and [`Event::ScanDone`].
    Scan {
        /// How.
        kind: ScanKind,
        /// Where, MHz; empty: everywhere.
        channels: Vec<u16>,
        /// How long on each.
        dwell: Duration,
    },
    /// Say which lease is known of this network, if any, by [`Attachment::know_lease`](crate::Attachment::know_lease).
    WantLease {
        /// Name of the network.
        ssid: String,
    },
    /// Send this to an access point: for the first time, or again.
    Send {
        /// To whom.
        to: Bssid,
        /// What.
        exchange: Exchange,
    },
    /// Broadcast a DHCP message on the link.
    Dhcp(Vec<u8>),
    /// Leave the access point, and remove the address.
    Disconnect,
    /// Something that people, and the paths of connections, want to know.
    Report(Report),
}

/// What became of an attempt, or of an attachment.
#[derive(Clone, Debug, PartialEq)]
pub enum Report {
    /// There is an address: configure it.
    Up(Box<Attached>),
    /// The lease was renewed.
    Renewed(Lease),
    /// An attempt has failed.
    Failed(Failed),
    /// The address may no longer be used.
    Down {
        /// Which access point.
        bssid: Bssid,
        /// How long it was there.
        up: Duration,
    },
}

/// A successful attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct Attached {
    /// The access point.
    pub sighting: Sighting,
    /// The address.
    pub lease: Lease,
    /// How long each phase took.
    pub timeline: Timeline,
    /// Exchanges and messages that were sent again.
    pub resent: u32,
    /// Whether the address is that of an earlier visit.
    pub is_known_address: bool,
}

/// An attempt that failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Failed {
    /// The access point.
    pub sighting: Sighting,
    /// In which phase.
    pub phase: Phase,
    /// How long each phase took, the last one included.
    pub timeline: Timeline,
    /// Exchanges and messages that were sent again.
    pub resent: u32,
}
