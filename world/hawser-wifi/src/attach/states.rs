//! Where an attachment is.

use hawser_policy::Time;

use super::types::{Exchange, ScanKind};
use crate::choose::{Bssid, Sighting};
use crate::dhcp::{Client, Lease};
use crate::phase::{Phase, Timeline};
use crate::retransmit::Retransmit;

/// What an attempt has come to so far.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) sighting: Sighting,
    pub(super) timeline: Timeline,
    pub(super) phase: Phase,
    /// Since when it is in this phase.
    pub(super) since: Time,
    pub(super) resent: u32,
}

impl Attempt {
    /// Counts the time up to now for the phase that it is in.
    pub(super) fn end_phase(&mut self, now: Time) {
        self.timeline.add(self.phase, now - self.since);
        self.since = now;
    }

    /// Goes on to a phase, or stays in it.
    pub(super) fn enter(&mut self, now: Time, phase: Phase) {
        if phase != self.phase {
            self.end_phase(now);
            self.phase = phase;
        }
    }
}

#[derive(Debug)]
pub(super) enum State {
    /// Only while one state is exchanged for another.
    Idle,
    Scanning {
        kind: ScanKind,
        started: Time,
        expires: Time,
    },
    Exchanging {
        exchange: Exchange,
        timer: Retransmit,
        attempt: Attempt,
    },
    Address {
        attempt: Attempt,
        dhcp: Client,
    },
    Probing {
        attempt: Attempt,
        dhcp: Client,
        lease: Lease,
        until: Time,
    },
    Up {
        bssid: Bssid,
        since: Time,
        dhcp: Client,
    },
}
