use std::collections::BTreeSet;

use hawser_core::ConnectionHandle;
use hawser_policy::Time;

/// When each connection wants to be called next.
///
/// Deadlines mostly move later: with every acknowledgement, with every packet. An entry is therefore left where it is
/// when its connection's deadline moves later, and looked at again when it comes up; only a deadline that moves earlier
/// costs a change.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    entries: BTreeSet<(Time, ConnectionHandle)>,
}

impl Timers {
    /// Makes sure that the connection comes up by `deadline`. `scheduled` is its entry, kept by the connection.
    pub(crate) fn schedule(
        &mut self,
        connection: ConnectionHandle,
        scheduled: &mut Option<Time>,
        deadline: Option<Time>,
    ) {
        let Some(deadline) = deadline.filter(|deadline| *deadline != Time::FAR_FUTURE) else { return };
        if scheduled.is_some_and(|at| at <= deadline) {
            return;
        }
        self.cancel(connection, scheduled);
        self.entries.insert((deadline, connection));
        *scheduled = Some(deadline);
    }

    /// Removes the connection's entry.
    pub(crate) fn cancel(&mut self, connection: ConnectionHandle, scheduled: &mut Option<Time>) {
        if let Some(at) = scheduled.take() {
            self.entries.remove(&(at, connection));
        }
    }

    /// Takes out the entries that are due. Their connections must forget them (`scheduled = None`).
    pub(crate) fn pop_due(&mut self, now: Time, due: &mut Vec<ConnectionHandle>) {
        while let Some(&(at, connection)) = self.entries.first() {
            if at > now {
                break;
            }
            self.entries.pop_first();
            due.push(connection);
        }
    }

    /// The earliest entry.
    pub(crate) fn next(&self) -> Option<Time> {
        self.entries.first().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Option<Time> {
        Some(Time::from_millis(millis))
    }

    #[test]
    fn one_entry_per_connection_and_never_later_than_the_deadline() {
        let mut timers = Timers::default();
        let (first, second) = (ConnectionHandle(1), ConnectionHandle(2));
        let (mut a, mut b) = (None, None);
        timers.schedule(first, &mut a, at(30));
        timers.schedule(second, &mut b, at(20));
        timers.schedule(first, &mut a, at(10));
        timers.schedule(first, &mut a, at(500));
        assert_eq!((a, timers.next(), timers.entries.len()), (at(10), at(10), 2));
        let mut due = Vec::new();
        timers.pop_due(Time::from_millis(25), &mut due);
        assert_eq!(due, [first, second]);
        assert_eq!(timers.next(), None);
    }

    #[test]
    fn no_deadline_is_no_entry() {
        let mut timers = Timers::default();
        let mut scheduled = None;
        timers.schedule(ConnectionHandle(0), &mut scheduled, None);
        timers.schedule(ConnectionHandle(0), &mut scheduled, Some(Time::FAR_FUTURE));
        assert_eq!((scheduled, timers.next()), (None, None));
    }
}
