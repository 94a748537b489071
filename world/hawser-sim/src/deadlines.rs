use hawser_link::{NEVER, TimerQueue};
use hawser_policy::Time;

/// The next deadline of each of many things, by number.
#[derive(Debug, Default)]
pub(crate) struct Deadlines(TimerQueue);

impl Deadlines {
    /// Sets or clears a deadline.
    pub(crate) fn set(&mut self, index: usize, deadline: Option<Time>) {
        self.0.set(index, deadline.map_or(NEVER, Time::as_nanos));
    }

    /// The first deadline.
    pub(crate) fn next(&self) -> Option<Time> {
        self.0.first().map(|(at, _)| Time::from_nanos(at))
    }

    /// Takes a deadline that has come, in the order of time and then of number.
    pub(crate) fn pop_due(&mut self, now: Time) -> Option<usize> {
        let (_, index) = self.0.first().filter(|(at, _)| *at <= now.as_nanos())?;
        self.0.set(index, NEVER);
        Some(index)
    }
}
