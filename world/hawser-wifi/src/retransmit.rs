//! One exchange on its way: sent, waited for, sent again.

use hawser_policy::Time;
use rand::Rng;

use crate::profile::Retry;

/// When to send again, and when to stop.
#[derive(Clone, Debug)]
pub(crate) struct Retransmit {
    retry: Retry,
    /// Transmissions after the first.
    pub(crate) resent: u32,
    /// When the wait for the newest transmission is over.
    pub(crate) expires: Time,
}

/// What to do when the wait is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expired {
    SendAgain,
    Abandon,
}

impl Retransmit {
    /// The first transmission leaves now.
    pub(crate) fn start(now: Time, retry: Retry, random: &mut impl Rng) -> Self {
        Retransmit { retry, resent: 0, expires: now + retry.wait(0, random.random()) }
    }

    /// The timer has expired.
    pub(crate) fn expire(&mut self, now: Time, random: &mut impl Rng) -> Expired {
        if self.resent >= self.retry.resends {
            return Expired::Abandon;
        }
        self.resent += 1;
        self.expires = now + self.retry.wait(self.resent, random.random());
        Expired::SendAgain
    }
}
