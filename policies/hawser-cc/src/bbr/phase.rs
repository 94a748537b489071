//! The phases of the family, and the moves between them that each member declares.

use hawser_policy::Time;

#[cfg(test)]
mod tests;

/// What a member of the family is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Looking for the bandwidth, doubling per round trip.
    Startup,
    /// Letting go the queue that Startup built.
    Drain,
    /// At the estimated bandwidth.
    Cruise,
    /// A round at the bandwidth without lower bounds, so that a probe starts from a full pipe.
    Refill,
    /// BBRv2+: a round slightly above the bandwidth.
    Try1,
    /// BBRv2+: the round in which the acknowledgements of Try1 return.
    Try2,
    /// Above the bandwidth: is there more?
    Up,
    /// BBRv2+: the round in which the acknowledgements of Up return.
    PostUp,
    /// Under the bandwidth: the queue of Up goes.
    Down,
    /// BBRv2+: slightly under it: the queue of Try1 goes.
    DownSlight,
    /// Little in flight: what is the round-trip time without a queue of this flow?
    ProbeRtt,
}

impl Phase {
    /// Whether it belongs to the cycle that BBR spends its life in.
    pub(crate) fn is_cycle(self) -> bool {
        !matches!(self, Phase::Startup | Phase::Drain | Phase::ProbeRtt)
    }

    /// As it is called in traces.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Phase::Startup => "Startup",
            Phase::Drain => "Drain",
            Phase::Cruise => "Cruise",
            Phase::Refill => "Refill",
            Phase::Try1 => "Try1",
            Phase::Try2 => "Try2",
            Phase::Up => "Up",
            Phase::PostUp => "PostUp",
            Phase::Down => "Down",
            Phase::DownSlight => "DownSlight",
            Phase::ProbeRtt => "ProbeRtt",
        }
    }

    /// Whether loss is what this phase risks on purpose, so that it does not lower the short-term bounds.
    pub(crate) fn is_probing(self) -> bool {
        use Phase::{PostUp, Refill, Startup, Try1, Try2, Up};
        matches!(self, Startup | Refill | Try1 | Try2 | Up | PostUp)
    }
}

/// All legal moves: the phases that may follow a phase.
pub(crate) type Table = [(Phase, &'static [Phase])];

use Phase::{Cruise, Down, DownSlight, Drain, PostUp, ProbeRtt, Refill, Startup, Try1, Try2, Up};

/// BBRv1. The cycle begins anywhere but in Down.
pub(crate) const V1: &Table = &[
    (Startup, &[Drain, ProbeRtt]),
    (Drain, &[Up, Cruise, ProbeRtt]),
    (Up, &[Down, ProbeRtt]),
    (Down, &[Cruise, ProbeRtt]),
    (Cruise, &[Up, ProbeRtt]),
    (ProbeRtt, &[Up, Cruise, Startup]),
];

/// BBRv2. Down goes to Refill at once when the wait is over, or when the last probe stopped out of caution.
pub(crate) const V2: &Table = &[
    (Startup, &[Drain, ProbeRtt]),
    (Drain, &[Down, ProbeRtt]),
    (Down, &[Cruise, Refill, ProbeRtt]),
    (Cruise, &[Refill, ProbeRtt]),
    (Refill, &[Up, ProbeRtt]),
    (Up, &[Down, ProbeRtt]),
    (ProbeRtt, &[Down, Startup]),
];

/// BBRv3: after a loss that was none it may go back to Startup, and from the cycle to another probe
/// (draft-ietf-ccwg-bbr section 5.5.11).
pub(crate) const V3: &Table = &[
    (Startup, &[Drain, ProbeRtt]),
    (Drain, &[Down, Startup, ProbeRtt]),
    (Down, &[Cruise, Refill, Startup, ProbeRtt]),
    (Cruise, &[Refill, Startup, ProbeRtt]),
    (Refill, &[Up, Startup, ProbeRtt]),
    (Up, &[Down, Startup, ProbeRtt]),
    (ProbeRtt, &[Down, Startup]),
];

/// BBRv2+: the cycle of its own, that of BBRv2 for its second mode, and the restart when it changes to that.
pub(crate) const V2_PLUS: &Table = &[
    (Startup, &[Drain, ProbeRtt]),
    (Drain, &[Down, ProbeRtt]),
    (Down, &[Cruise, Refill, ProbeRtt]),
    (DownSlight, &[Cruise, ProbeRtt]),
    (Cruise, &[Refill, Startup, ProbeRtt]),
    (Refill, &[Try1, Up, ProbeRtt]),
    (Try1, &[Try2, ProbeRtt]),
    (Try2, &[Up, DownSlight, ProbeRtt]),
    (Up, &[PostUp, Down, ProbeRtt]),
    (PostUp, &[Up, Down, ProbeRtt]),
    (ProbeRtt, &[Down, Startup]),
];

/// Where a controller is in its table.
#[derive(Clone, Debug)]
pub(crate) struct Phases {
    table: &'static Table,
    current: Phase,
    since: Time,
    illegal_moves: u64,
}

impl Phases {
    /// A new path starts in Startup.
    pub(crate) fn new(table: &'static Table, now: Time) -> Phases {
        Phases { table, current: Startup, since: now, illegal_moves: 0 }
    }

    /// A controller that takes over a path whose bandwidth is known starts in Cruise.
    pub(crate) fn in_cruise(table: &'static Table, now: Time) -> Phases {
        Phases { table, current: Cruise, since: now, illegal_moves: 0 }
    }

    pub(crate) fn table(&self) -> &'static Table {
        self.table
    }

    pub(crate) fn current(&self) -> Phase {
        self.current
    }

    /// When the phase began.
    pub(crate) fn since(&self) -> Time {
        self.since
    }

    /// Whether the table has this move.
    pub(crate) fn allows(&self, next: Phase) -> bool {
        self.table.iter().any(|(from, to)| *from == self.current && to.contains(&next))
    }

    /// Moves on. A move that the table does not have is a mistake in the program: it fails tests and is not made.
    pub(crate) fn enter(&mut self, next: Phase, now: Time) {
        let legal = self.allows(next);
        debug_assert!(legal, "illegal transition from {:?} to {next:?}", self.current);
        if legal {
            (self.current, self.since) = (next, now);
        } else {
            self.illegal_moves += 1;
        }
    }

    /// Moves that were asked for and not made.
    pub(crate) fn illegal_moves(&self) -> u64 {
        self.illegal_moves
    }

    /// Restarts the clock of the phase.
    pub(crate) fn renew(&mut self, now: Time) {
        self.since = now;
    }
}
