//! Why the scheduler is not asked although data is queued, and what makes it be asked again.

use std::time::Duration;

use hawser_policy::{MIN_WAIT, Time};

/// Why the scheduler is not asked. Whatever may change its mind ends the wait ([`Policies::wake`](super::Policies::wake)):
/// an acknowledgement, a loss, a datagram of the peer, a change of the queue, of a path, of a controller, any timer. Since
/// none of these may come (nothing is in flight, or all that is was lost), each wait has a time of its own as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Wait {
    /// It is asked as soon as data is queued and a path can send.
    #[default]
    None,
    /// It answered [`Decision::Wait`](hawser_policy::Decision::Wait), or named a path that cannot send.
    Asked {
        /// When it is asked again at the latest.
        until: Time,
    },
    /// What it chose could not be written. The next answer may be the same: it is asked again after a while only.
    Unwritable {
        /// When.
        until: Time,
    },
}

impl Wait {
    /// The scheduler wants to wait, until a time that it named or until something changes, but not for longer than
    /// `patience`.
    pub(super) fn asked(now: Time, named: Option<Time>, patience: Duration) -> Self {
        let bound = now + patience.max(MIN_WAIT);
        let until = named.map_or(bound, |at| at.max(now + MIN_WAIT).min(bound));
        Wait::Asked { until }
    }

    /// Whether the scheduler is to be left alone.
    #[inline]
    pub(super) fn is_waiting(self) -> bool {
        self != Wait::None
    }

    /// When the wait ends by itself.
    #[inline]
    pub(super) fn until(self) -> Option<Time> {
        match self {
            Wait::None => None,
            Wait::Asked { until } | Wait::Unwritable { until } => Some(until),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wait_has_a_time() {
        let (now, patience) = (Time::from_millis(100), Duration::from_millis(50));
        let until = |named| Wait::asked(now, named, patience).until();
        assert_eq!(until(None), Some(Time::from_millis(150)));
        assert_eq!(until(Some(Time::from_secs(9))), Some(Time::from_millis(150)));
        assert_eq!(until(Some(Time::from_millis(120))), Some(Time::from_millis(120)));
        // A time that has come already is the shortest wait, not an endless one.
        for past in [Time::ZERO, now] {
            assert_eq!(until(Some(past)), Some(now + MIN_WAIT));
        }
    }
}
