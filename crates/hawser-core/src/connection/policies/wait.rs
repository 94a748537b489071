//! Why the scheduler is not asked although data is queued, and what makes it be asked again.

use std::time::Duration;

use hawser_policy::{MIN_WAIT, Time};

/// Why the scheduler is not asked. Whatever may change its mind ends the wait ([`Policies::wake`](super::Policies::wake)):
/// an acknowledgement, a loss, a datagram of the peer, a change of the queue, of a path, of a controller, any timer. Each
/// wait that nothing of this kind may ever end has a time of its own, so that data which could leave never stays for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Wait {
    /// It is asked as soon as data is queued and a path can send.
    #[default]
    None,
    /// It answered [`Decision::Wait`](hawser_policy::Decision::Wait), or named a path that cannot send.
    Asked {
        /// When it is asked again at the latest; `None` while an acknowledgement is due, whose timers end the wait.
        until: Option<Time>,
    },
    /// What it chose could not be written. The next answer may be the same: it is asked again after a while only.
    Unwritable {
        /// When.
        until: Time,
    },
}

impl Wait {
    /// The scheduler wants to wait, until a time that it named or until something changes. `is_outstanding`: an
    /// acknowledgement is due on some path, whose loss and probe timers run; without one, `patience` is all that is waited.
    pub(super) fn asked(now: Time, named: Option<Time>, is_outstanding: bool, patience: Duration) -> Self {
        let named = named.map(|at| at.max(now + MIN_WAIT));
        let bound = (!is_outstanding).then_some(now + patience);
        let until = match (named, bound) {
            (Some(named), Some(bound)) => Some(named.min(bound)),
            (named, bound) => named.or(bound),
        };
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
            Wait::Asked { until } => until,
            Wait::Unwritable { until } => Some(until),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wait_that_no_acknowledgement_ends_has_a_time() {
        let (now, patience) = (Time::from_millis(100), Duration::from_millis(50));
        let until = |named, is_outstanding| Wait::asked(now, named, is_outstanding, patience).until();
        assert_eq!(until(None, true), None);
        assert_eq!(until(None, false), Some(Time::from_millis(150)));
        assert_eq!(until(Some(Time::from_secs(9)), false), Some(Time::from_millis(150)));
        assert_eq!(until(Some(Time::from_secs(9)), true), Some(Time::from_secs(9)));
        // A time that has come already is the shortest wait, not an endless one.
        for past in [Time::ZERO, now] {
            assert_eq!(until(Some(past), true), Some(now + MIN_WAIT));
        }
    }
}
