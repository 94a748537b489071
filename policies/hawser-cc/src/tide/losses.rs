//! Which losses are the queue's.
//!
//! Loss alone does not say whether a queue overflowed or a radio lost a packet. So it is tried: where more is lost than usual, the queue is
//! kept below what it was when that was lost. If as much is lost then, it was not the queue, and that share is what the path loses
//! anyway; otherwise the queue stays below.

/// What a period of losses is judged by: at least so many datagrams, so that one loss is no share.
const PERIOD_DATAGRAMS: f64 = 60.0;
/// More is lost than usual from this share of what is lost anyway on, and this much above it, and so many datagrams: tails of
/// random loss in windows of some hundred datagrams stay below.
const UNUSUAL: f64 = 1.5;
const EXCESS: f64 = 0.01;
const LEAST_LOST: f64 = 3.0;
/// What remains of the queue in which packets were lost, in one trial after the other: CUBIC's beta, then less, then next to nothing.
const KEEP: [f64; 3] = [0.7, 0.4, 0.1];
/// Losses that fell by less than this factor were not the queue's, or not only.
const CURED: f64 = 0.5;
/// A path that loses more than this anyway is not believed.
const MOST_ORDINARY: f64 = 0.1;
/// A ceiling rises by this per round trip, by half in 200: the queue of a router keeps its size. Where the queue is empty, so that the
/// ceiling may hold the sender back, by more.
const RISE: f64 = 1.002;
const RISE_EMPTY: f64 = 1.1;
/// Weight of a quiet period in what is lost anyway.
const GAIN: f64 = 0.125;
const SLOW_GAIN: f64 = 0.02;

/// A queue that is as long again, by this share, although this sender kept its part below, was filled by another one.
const REFILLED: f64 = 0.75;
/// So it is if the queue overflows before the ceiling rose by this factor.
const EARLY: f64 = 1.15;

/// Losses of a path and the ceiling that they set.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Losses {
    acked: f64,
    lost: f64,
    /// Bytes in the queue when most was lost in this period, and the delay that they made, seconds.
    queued: f64,
    delay: f64,
    /// What the ceiling was when it was set last.
    set_at: f64,
    /// Round trips until another overflow counts.
    rest: u32,
    /// An overflow that this sender did not cause.
    foreign: bool,
    /// Share that is lost whatever the queue is.
    ordinary: f64,
    /// Moving average of all periods, slow: one overflow does not show in it.
    mean: f64,
    ceiling: Option<f64>,
    trial: Option<Trial>,
}

/// The queue is kept lower, to see whether less is lost.
#[derive(Clone, Copy, Debug)]
struct Trial {
    share: f64,
    /// Bytes in the queue when that was lost.
    queued: f64,
    delay: f64,
    stage: usize,
    /// Round trips until what was sent before is settled.
    settle: u32,
}

impl Losses {
    pub(crate) fn on_ack(&mut self, bytes: f64) {
        self.acked += bytes;
    }

    /// Lost with so many bytes in the queue, which delay as long. True if more is lost than usual.
    pub(crate) fn on_loss(&mut self, bytes: f64, queued: f64, delay: f64, path: (f64, f64)) -> bool {
        let (window, datagram) = path;
        self.lost += bytes;
        (self.queued, self.delay) = (self.queued.max(queued), self.delay.max(delay));
        let total = (self.acked + self.lost).max(window);
        let is_unusual = self.is_unusual(self.lost / total, datagram);
        if self.trial.is_some() || !is_unusual {
            return is_unusual;
        }
        let (share, queued, delay) = (self.lost / total, self.queued, self.delay);
        self.begin(Trial { share, queued, delay, stage: 0, settle: SETTLE }, datagram);
        true
    }

    /// The queue overflowed for certain, with so many bytes of this sender's in it.
    pub(crate) fn on_overflow(&mut self, queued: f64, datagram: f64) {
        if self.trial.is_some() || self.rest > 0 {
            return;
        }
        self.foreign |= self.ceiling.is_some_and(|ceiling| ceiling < EARLY * self.set_at);
        self.set_ceiling((KEEP[0] * queued).max(2.0 * datagram));
        self.rest = SETTLE;
        self.begin_period();
    }

    /// Begins again; where the longest queue is known, in bytes, the next one stays below.
    pub(crate) fn leave_room(&mut self, longest: Option<f64>) {
        self.ceiling = longest.map(|bytes| KEEP[0] * bytes);
        self.set_at = self.ceiling.unwrap_or_default();
        (self.trial, self.foreign) = (None, false);
        self.begin_period();
    }

    fn set_ceiling(&mut self, bytes: f64) {
        let ceiling = self.ceiling.map_or(bytes, |before| before.min(bytes));
        (self.ceiling, self.set_at) = (Some(ceiling), ceiling);
    }

    /// Whether a queue overflowed lately that this sender had not filled.
    pub(crate) fn take_foreign(&mut self) -> bool {
        std::mem::take(&mut self.foreign)
    }

    fn is_unusual(&self, share: f64, datagram: f64) -> bool {
        share > UNUSUAL * self.ordinary + EXCESS && self.lost >= LEAST_LOST * datagram
    }

    fn begin(&mut self, trial: Trial, datagram: f64) {
        self.set_ceiling((KEEP[trial.stage] * trial.queued).max(2.0 * datagram));
        self.trial = Some(trial);
        self.begin_period();
    }

    fn begin_period(&mut self) {
        (self.acked, self.lost, self.queued, self.delay) = (0.0, 0.0, 0.0, 0.0);
    }

    /// A round trip is over, with or without a queue.
    pub(crate) fn on_round(&mut self, datagram: f64, is_empty: bool) {
        if let Some(ceiling) = &mut self.ceiling {
            *ceiling *= if is_empty && self.trial.is_none() { RISE_EMPTY } else { RISE };
        }
        self.rest = self.rest.saturating_sub(1);
        if let Some(trial) = &mut self.trial
            && trial.settle > 0
        {
            trial.settle -= 1;
            self.begin_period();
            return;
        }
        let total = self.acked + self.lost;
        if total < PERIOD_DATAGRAMS * datagram {
            return;
        }
        let share = self.lost / total;
        self.mean += SLOW_GAIN * (share - self.mean);
        match self.trial.take() {
            Some(trial) if share > CURED * trial.share => self.on_uncured(trial, share, datagram),
            Some(_) => {}
            None => self.ordinary += GAIN * (share.min(MOST_ORDINARY) - self.ordinary),
        }
        self.begin_period();
    }

    fn on_uncured(&mut self, trial: Trial, share: f64, datagram: f64) {
        if self.delay > REFILLED * trial.delay && trial.delay > LEAST_DELAY {
            self.foreign = true;
        }
        if trial.stage + 1 < KEEP.len() {
            self.begin(Trial { stage: trial.stage + 1, settle: SETTLE, ..trial }, datagram);
        } else {
            self.ordinary = share.max(self.ordinary).min(MOST_ORDINARY);
            self.ceiling = None;
        }
    }

    /// A congestion mark with so many bytes in the queue: no trial is needed.
    pub(crate) fn on_mark(&mut self, queued: f64, datagram: f64) {
        self.ceiling = Some((KEEP[0] * queued).max(2.0 * datagram));
    }

    /// Share that is lost in the long run.
    pub(crate) fn mean(&self) -> f64 {
        self.mean
    }

    /// Most bytes that the queue may hold; `None` while it never overflowed.
    pub(crate) fn ceiling(&self) -> Option<f64> {
        self.ceiling
    }

    /// A ceiling above what is wanted says nothing any more.
    pub(crate) fn forget_above(&mut self, wanted: f64) {
        self.ceiling = self.ceiling.filter(|ceiling| *ceiling < wanted);
    }
}

/// A shorter queue says nothing of who filled it, seconds.
const LEAST_DELAY: f64 = 0.004;
/// Round trips after a cut until what was sent before it is acknowledged or lost.
const SETTLE: u32 = 2;

#[cfg(test)]
mod tests;
