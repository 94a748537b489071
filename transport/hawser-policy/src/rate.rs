use std::fmt;
use std::time::Duration;

/// A data rate in bit/s.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(u64);

impl Rate {
    /// No data at all.
    pub const ZERO: Rate = Rate(0);
    /// More than any link carries.
    pub const MAX: Rate = Rate(u64::MAX);

    /// A rate in bit/s.
    pub const fn from_bits_per_second(bits: u64) -> Self {
        Rate(bits)
    }

    /// A rate in Mbit/s (10^6 bit/s).
    pub const fn from_megabits_per_second(megabits: u64) -> Self {
        Rate(megabits.saturating_mul(1_000_000))
    }

    /// `bytes` delivered in `duration`; zero for an empty duration.
    pub fn from_bytes_over(bytes: u64, duration: Duration) -> Self {
        let nanos = duration.as_nanos();
        if nanos == 0 {
            return Rate::ZERO;
        }
        // Asked with every acknowledgement, and a division of 128 bits takes several times as long.
        if let (Some(scaled), Ok(nanos)) = (bytes.checked_mul(8_000_000_000), u64::try_from(nanos)) {
            return Rate(scaled / nanos);
        }
        Rate(u64::try_from(u128::from(bytes) * 8_000_000_000 / nanos).unwrap_or(u64::MAX))
    }

    /// The rate in bit/s.
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }

    /// The rate in Mbit/s, for formulas and plots.
    pub fn megabits_per_second(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// How long `bytes` take at this rate; [`Duration::MAX`] at rate zero.
    pub fn time_for(self, bytes: u64) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        let nanos = u128::from(bytes) * 8_000_000_000 / u128::from(self.0);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// How many whole bytes pass in `duration`.
    pub fn bytes_in(self, duration: Duration) -> u64 {
        let nanos = duration.as_nanos();
        // Schedulers ask for every packet, and a division of 128 bits takes several times as long.
        if let Some(scaled) = u64::try_from(nanos).ok().and_then(|nanos| self.0.checked_mul(nanos)) {
            return scaled / 8_000_000_000;
        }
        u64::try_from(u128::from(self.0).saturating_mul(nanos) / 8_000_000_000).unwrap_or(u64::MAX)
    }

    /// This rate times `numerator / denominator` (`denominator` is not zero).
    pub fn scaled(self, numerator: u64, denominator: u64) -> Rate {
        let denominator = denominator.max(1);
        if let Some(scaled) = self.0.checked_mul(numerator) {
            return Rate(scaled / denominator);
        }
        let scaled = u128::from(self.0) * u128::from(numerator) / u128::from(denominator);
        Rate(u64::try_from(scaled).unwrap_or(u64::MAX))
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} Mbit/s", self.megabits_per_second())
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

#[cfg(test)]
mod tests;
