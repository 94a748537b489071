//! Which losses are the queue's.
//!
//! Loss alone does not say whether a queue overflowed or a radio lost a packet. So it is tried: where more is lost than usual, the queue is
//! kept below what it was when that was lost. If as much is lost then, it was not the queue, and that share is what the path loses
//! anyway; otherwise the queue stays below.

/// What a period of losses is judged by: at least so many datagrams, so that one loss is no share.
const PERIOD_DATAGRAMS: f64 = 60.0;
/// Above what the path loses anyway by more than this (BBRv2's threshold), and by at least [`LEAST_LOST`] datagrams.
const EXCESS: f64 = 0.02;
const LEAST_LOST: f64 = 2.5;
/// What remains of the queue in which packets were lost (CUBIC's beta).
const KEEP: f64 = 0.7;
/// Losses that fell by less than this factor were not the queue's.
const CURED: f64 = 0.5;
/// A path that loses more than this anyway is not believed.
const MOST_ORDINARY: f64 = 0.1;
/// A ceiling rises by this per round trip: it doubles in 35.
const RISE: f64 = 1.02;
/// Weight of a quiet period in what is lost anyway.
const GAIN: f64 = 0.125;

/// Losses of a path and the ceiling that they set.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Losses {
    acked: f64,
    lost: f64,
    /// Bytes in the queue when most was lost in this period.
    queued: f64,
    /// Share that is lost whatever the queue is.
    ordinary: f64,
    ceiling: Option<f64>,
    trial: Option<Trial>,
}

/// The queue is kept lower, to see whether less is lost.
#[derive(Clone, Copy, Debug)]
struct Trial {
    share: f64,
    /// Round trips until what was sent before is settled.
    settle: u32,
}

impl Losses {
    pub(crate) fn on_ack(&mut self, bytes: f64) {
        self.acked += bytes;
    }

    /// Lost with so many bytes in the queue.
    pub(crate) fn on_loss(&mut self, bytes: f64, queued: f64) {
        self.lost += bytes;
        self.queued = self.queued.max(queued);
    }

    /// A round trip is over. True if a ceiling was set.
    pub(crate) fn on_round(&mut self, datagram: f64) -> bool {
        if let Some(ceiling) = &mut self.ceiling {
            *ceiling *= RISE;
        }
        if let Some(trial) = &mut self.trial
            && trial.settle > 0
        {
            trial.settle -= 1;
            (self.acked, self.lost, self.queued) = (0.0, 0.0, 0.0);
            return false;
        }
        let total = self.acked + self.lost;
        if total < PERIOD_DATAGRAMS * datagram {
            return false;
        }
        let (share, lost, queued) = (self.lost / total, self.lost, self.queued);
        (self.acked, self.lost, self.queued) = (0.0, 0.0, 0.0);
        match self.trial.take() {
            Some(trial) if share > CURED * trial.share => {
                self.ordinary = ((share + trial.share) / 2.0).max(self.ordinary).min(MOST_ORDINARY);
                self.ceiling = None;
                false
            }
            None if share > self.ordinary + EXCESS && lost > LEAST_LOST * datagram => {
                let ceiling = (KEEP * queued).max(2.0 * datagram);
                self.ceiling = Some(self.ceiling.map_or(ceiling, |before| before.min(ceiling)));
                self.trial = Some(Trial { share, settle: 2 });
                true
            }
            _ => {
                self.ordinary += GAIN * (share.min(MOST_ORDINARY) - self.ordinary);
                false
            }
        }
    }

    /// A congestion mark with so many bytes in the queue: no trial is needed.
    pub(crate) fn on_mark(&mut self, queued: f64, datagram: f64) {
        self.ceiling = Some((KEEP * queued).max(2.0 * datagram));
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

#[cfg(test)]
mod tests;
