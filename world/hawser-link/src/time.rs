//! Time as the link models count it.

use std::time::Duration;

/// Nanoseconds since the start of the scenario.
///
/// A bare integer and not the core's `Time`: a scenario has its own zero, and the models compute with it.
pub type Nanos = u64;

/// One microsecond.
pub const MICROSECOND: Nanos = 1_000;
/// One millisecond.
pub const MILLISECOND: Nanos = 1_000_000;
/// One second.
pub const SECOND: Nanos = 1_000_000_000;
/// Later than everything: what a rate of zero that never ends yields.
pub const NEVER: Nanos = Nanos::MAX;

/// Converts a duration; saturates after 584 years.
pub fn nanos(duration: Duration) -> Nanos {
    u64::try_from(duration.as_nanos()).unwrap_or(NEVER)
}

/// Converts seconds, rounding to the nanosecond. Negative values and NaN become zero.
pub fn seconds(value: f64) -> Nanos {
    // `as` saturates, and maps NaN and negative values to zero.
    (value * SECOND as f64).round() as Nanos
}
