//! Values that change at known times: schedules of rate and delay.

use crate::time::Nanos;

/// A step function of time: each value holds from its point until the next one.
///
/// Before the first point the first value holds. After the last point the last value holds for ever, or the
/// whole series starts again when it has a period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Series<T> {
    points: Vec<(Nanos, T)>,
    period: Option<Nanos>,
}

/// Why a list of points is no series.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SeriesError {
    /// There is no point at all.
    #[error("a schedule needs at least one point")]
    Empty,
    /// A point is not later than the one before it.
    #[error("times of a schedule must increase: point {index} is not later than the point before it")]
    NotIncreasing {
        /// Position of the offending point, counted from 1.
        index: usize,
    },
    /// The period ends before the last point.
    #[error("the schedule repeats before its last point")]
    PeriodTooShort,
}

impl<T: Copy> Series<T> {
    /// A value that never changes.
    pub fn constant(value: T) -> Self {
        Self { points: vec![(0, value)], period: None }
    }

    /// A schedule of `(time, value)` points, repeated every `period` if given.
    ///
    /// # Errors
    /// Fails when there is no point, when times do not increase, or when the period ends before the last point.
    pub fn new(points: Vec<(Nanos, T)>, period: Option<Nanos>) -> Result<Self, SeriesError> {
        let Some(&(last, _)) = points.last() else { return Err(SeriesError::Empty) };
        if let Some(index) = points.windows(2).position(|pair| pair[0].0 >= pair[1].0) {
            return Err(SeriesError::NotIncreasing { index: index + 2 });
        }
        if period.is_some_and(|period| period <= last) {
            return Err(SeriesError::PeriodTooShort);
        }
        Ok(Self { points, period })
    }

    /// The value at `time`.
    pub fn value_at(&self, time: Nanos) -> T {
        self.points[self.index_at(self.phase(time).1)].1
    }

    /// The first time after `time` at which the value may differ, or `None` when it never changes again.
    pub fn next_change(&self, time: Nanos) -> Option<Nanos> {
        let (base, phase) = self.phase(time);
        // Before the first point its value already holds, so that point is no change (but see the period).
        let next = self.points.partition_point(|point| point.0 <= phase).max(1);
        match (self.points.get(next), self.period) {
            (Some(point), _) => Some(base + point.0),
            (None, Some(period)) => Some(base + period),
            (None, None) => None,
        }
    }

    /// The points as they were given.
    pub fn points(&self) -> &[(Nanos, T)] {
        &self.points
    }

    /// The period, if the series repeats.
    pub fn period(&self) -> Option<Nanos> {
        self.period
    }

    /// Splits a time into the start of the current repetition and the time since then.
    fn phase(&self, time: Nanos) -> (Nanos, Nanos) {
        match self.period {
            Some(period) => (time - time % period, time % period),
            None => (0, time),
        }
    }

    fn index_at(&self, phase: Nanos) -> usize {
        self.points.partition_point(|point| point.0 <= phase).saturating_sub(1)
    }
}

impl Series<u64> {
    /// Replaces jumps by straight lines, in steps of `step`: each step takes the value of the line's middle.
    ///
    /// Exact time averages follow, and the consumers of a series need to know steps only.
    #[must_use]
    pub fn interpolated(&self, step: Nanos) -> Self {
        let step = step.max(1);
        let mut points = Vec::new();
        for pair in self.points.windows(2) {
            let ((from, first), (to, second)) = (pair[0], pair[1]);
            let mut time = from;
            while time < to {
                let middle = (time + (time + step).min(to)) / 2;
                let share = (middle - from) as f64 / (to - from) as f64;
                let value = first as f64 + (second as f64 - first as f64) * share;
                points.push((time, value.round() as u64));
                time += step;
            }
        }
        points.extend(self.points.last());
        Self { points, period: self.period }
    }
}

#[cfg(test)]
mod tests;
