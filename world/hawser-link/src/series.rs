//! Values that change at known times: schedules of rate and delay.

use std::f64::consts::TAU;
use std::sync::Arc;

use crate::time::{MICROSECOND, MILLISECOND, NEVER, Nanos};

/// Aim for the length of the steps of a sinusoid.
const SINUSOID_STEP: Nanos = 10 * MILLISECOND;

/// A step function of time: each value holds from its point until the next one.
///
/// Before the first point the first value holds. After the last point the last value holds, or the
/// whole series starts again when it has a period. Clones share the points, so a series may have millions of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Series<T> {
    points: Arc<[(Nanos, T)]>,
    period: Option<Nanos>,
}

/// A stretch of time with one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span<T> {
    /// The value.
    pub value: T,
    /// Its first moment.
    pub from: Nanos,
    /// The first moment after it; [`NEVER`] when the value never changes again.
    pub until: Nanos,
}

impl<T> Span<T> {
    /// Whether a time lies in it.
    pub fn contains(&self, time: Nanos) -> bool {
        self.from <= time && (time < self.until || self.until == NEVER)
    }
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
        Self { points: Arc::new([(0, value)]), period: None }
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
        Ok(Self { points: points.into(), period })
    }

    /// Values one `interval` (above zero) apart, the first at time zero; with `repeat` they start again after
    /// the last one has had its interval. The form in which recorded delays come.
    ///
    /// # Errors
    /// Fails when there is no value.
    pub fn sampled(
        values: impl IntoIterator<Item = T>,
        interval: Nanos,
        repeat: bool,
    ) -> Result<Self, SeriesError> {
        let points: Vec<_> = (0..).map(|index| index * interval).zip(values).collect();
        let period = repeat.then_some(points.len() as u64 * interval);
        Self::new(points, period)
    }

    /// The value at `time`.
    pub fn value_at(&self, time: Nanos) -> T {
        match *self.points {
            // By far the most.
            [(_, constant)] => constant,
            _ => self.points[self.index_at(self.phase(time).1)].1,
        }
    }

    /// The value at `time` and how long it holds. One binary search; see [`SeriesCursor`] for many look-ups.
    pub fn span_at(&self, time: Nanos) -> Span<T> {
        let (base, phase) = self.phase(time);
        self.span(base, self.index_at(phase))
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

    /// The span of point `index` in the repetition that starts at `base`.
    fn span(&self, base: Nanos, index: usize) -> Span<T> {
        // The first value also holds before its point.
        let from = if index == 0 { base } else { base + self.points[index].0 };
        let end = self.points.get(index + 1).map(|point| point.0).or(self.period);
        Span { value: self.points[index].1, from, until: end.map_or(NEVER, |end| base.saturating_add(end)) }
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
        Self { points: points.into(), period: self.period }
    }

    /// `mean + amplitude sin(2 pi (t / period + phase))`, not below zero, as a repeating series of at least 64
    /// steps per period but none below a microsecond, each with the exact mean of the curve over the step. `phase` counts in turns.
    pub fn sinusoid(mean: u64, amplitude: u64, period: Nanos, phase: f64) -> Self {
        let period = period.max(1);
        // No step is shorter than a microsecond: a quick curve would else consist of changes that no packet notices.
        let steps = (period / SINUSOID_STEP).clamp(64, 8192).min((period / MICROSECOND).max(1));
        let turns = |step: u64| TAU * (step as f64 / steps as f64 + phase);
        let point = |step: u64| {
            let (from, to) = (turns(step), turns(step + 1));
            // The mean of the sine over the step, by its integral.
            let sine = (libm::cos(from) - libm::cos(to)) / (to - from);
            let value = (mean as f64 + amplitude as f64 * sine).max(0.0);
            ((u128::from(period) * u128::from(step) / u128::from(steps)) as Nanos, value.round() as u64)
        };
        Self { points: (0..steps).map(point).collect(), period: Some(period) }
    }
}

/// Reads a series at times that mostly move forward, in constant time.
#[derive(Debug, Clone)]
pub struct SeriesCursor<T> {
    series: Series<T>,
    base: Nanos,
    index: usize,
    span: Span<T>,
}

impl<T: Copy> SeriesCursor<T> {
    /// A cursor at time zero.
    pub fn new(series: Series<T>) -> Self {
        let span = series.span(0, 0);
        Self { series, base: 0, index: 0, span }
    }

    /// The value at `time` and how long it holds.
    pub fn span_at(&mut self, time: Nanos) -> Span<T> {
        if !self.span.contains(time) {
            self.seek(time);
        }
        self.span
    }

    /// As [`Self::span_at`], without moving.
    pub fn peek(&self, time: Nanos) -> Span<T> {
        if self.span.contains(time) { self.span } else { self.series.span_at(time) }
    }

    fn seek(&mut self, time: Nanos) {
        let last = self.index + 1 == self.series.points.len();
        // `contains` said no, so after the last point there is a period.
        let (base, index) = if last { (self.span.until, 0) } else { (self.base, self.index + 1) };
        if time >= self.span.until {
            let next = self.series.span(base, index);
            if next.contains(time) {
                (self.base, self.index, self.span) = (base, index, next);
                return;
            }
        }
        let (base, phase) = self.series.phase(time);
        (self.base, self.index) = (base, self.series.index_at(phase));
        self.span = self.series.span(self.base, self.index);
    }
}

#[cfg(test)]
mod tests;
