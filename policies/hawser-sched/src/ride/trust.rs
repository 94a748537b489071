//! Whether the agent decides.

use std::time::Duration;

use hawser_policy::Time;

/// Tiles over which the agent is judged.
const JUDGED: u32 = 40;
/// As many of them late or missing as this are too many.
const TOO_MANY: u32 = JUDGED / 4;
/// How long the guard decides the first time, and at most.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(64);

/// How often who decided, and what came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RideCounts {
    /// Tiles for which the agent decided.
    pub by_agent: u64,
    /// Tiles for which the guard did.
    pub by_guard: u64,
    /// Of the agent's: skipped.
    pub skipped: u64,
    /// Tiles that were acknowledged as a whole by their deadlines.
    pub in_time: u64,
    /// Tiles that were not.
    pub late: u64,
    /// Times that the guard took over since too many were late.
    pub firings: u64,
}

/// What changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    TakesOver,
    HandsBack,
}

/// Tiles, and those of them that were late.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    all: u32,
    late: u32,
}

impl Tally {
    fn add(&mut self, in_time: bool) {
        self.all += 1;
        self.late += u32::from(!in_time);
    }

    fn share(&self) -> f64 {
        f64::from(self.late) / f64::from(self.all.max(1))
    }
}

/// The guard decides, until a time.
#[derive(Clone, Copy, Debug)]
struct Pause {
    until: Time,
    /// How many of the agent's tiles were late.
    agent: f64,
    own: Tally,
}

/// Judges the agent by what became of tiles.
#[derive(Debug, Default)]
pub(super) struct Trust {
    acts: bool,
    agent: Tally,
    pause: Option<Pause>,
    length: Duration,
    pub(super) counts: RideCounts,
}

impl Trust {
    pub(super) fn new(acts: bool) -> Self {
        Trust { acts, ..Trust::default() }
    }

    /// Whether the agent decides.
    pub(super) fn trusts(&self) -> bool {
        self.pause.is_none()
    }

    /// It is known what became of a tile for which the agent or the guard had decided.
    pub(super) fn note(&mut self, by_agent: bool, in_time: bool, now: Time) -> Option<Turn> {
        *if in_time { &mut self.counts.in_time } else { &mut self.counts.late } += 1;
        if !self.acts {
            return None;
        }
        match &mut self.pause {
            Some(pause) if !by_agent => pause.own.add(in_time),
            None if by_agent => self.agent.add(in_time),
            _ => {}
        }
        if self.agent.all < JUDGED || self.pause.is_some() {
            return None;
        }
        let judged = std::mem::take(&mut self.agent);
        if judged.late < TOO_MANY {
            return None;
        }
        self.counts.firings += 1;
        self.length = self.length.max(FIRST_PAUSE);
        self.pause = Some(Pause { until: now + self.length, agent: judged.share(), own: Tally::default() });
        Some(Turn::TakesOver)
    }

    /// Looks whether the agent gets another chance.
    pub(super) fn look(&mut self, now: Time) -> Option<Turn> {
        let Pause { agent, own, .. } = self.pause.filter(|pause| pause.until <= now)?;
        // If the guard does no better, the network is to blame.
        let failed = own.all > 0 && 2.0 * own.share() <= agent;
        self.length = if failed { self.length.saturating_mul(2).min(LONGEST_PAUSE) } else { FIRST_PAUSE };
        self.pause = None;
        Some(Turn::HandsBack)
    }
}
