//! What a link may cost: bytes in a period.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::LinkId;

/// At most so many bytes over a link in each period, as `1GB/24h`.
///
/// Bytes are those of IP packets, both directions together: UDP payload and the headers of UDP and IP.
///
/// ```
/// # use hawser_policy::CostCap;
/// let cap: CostCap = "1.5 GB / 24h".parse()?;
/// assert_eq!((cap.bytes, cap.period.as_secs()), (1_500_000_000, 86_400));
/// assert_eq!(cap.to_string(), "1.5GB/24h");
/// # Ok::<(), hawser_policy::InvalidCostCap>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostCap {
    /// The budget of one period; 0: the link is not used.
    pub bytes: u64,
    /// How long it is for; not zero.
    pub period: Duration,
}

/// A text that is no cost cap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidCostCap(String);

impl fmt::Display for InvalidCostCap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}`: expected BYTES/PERIOD such as 1GB/24h: bytes with B, kB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, and a \
             period of 1 s to 366 days with s, min, h or d",
            self.0
        )
    }
}

impl std::error::Error for InvalidCostCap {}

/// Units of bytes, the largest first.
const BYTES: [(&str, u64); 8] = [
    ("TB", 1_000_000_000_000),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("kB", 1_000),
    ("B", 1),
];

/// Units of time in seconds.
const PERIODS: [(&str, u64); 4] = [("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)];

/// The longest period: a plan may be for a year.
const LONGEST: u64 = 366 * 86_400;

impl FromStr for CostCap {
    type Err = InvalidCostCap;

    fn from_str(text: &str) -> Result<Self, InvalidCostCap> {
        let read = || {
            let (bytes, period) = text.split_once('/')?;
            let bytes = scaled(bytes, &BYTES)?;
            let seconds = scaled(period, &PERIODS).filter(|seconds| (1..=LONGEST).contains(seconds))?;
            Some(CostCap { bytes, period: Duration::from_secs(seconds) })
        };
        read().ok_or_else(|| InvalidCostCap(text.to_owned()))
    }
}

/// A number with one of these units; zero needs none.
fn scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let value: f64 = number.trim().parse().ok()?;
    let known = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).map(|(_, scale)| *scale);
    let scale = known.or_else(|| (unit.is_empty() && value == 0.0).then_some(1))?;
    let scaled = value * scale as f64;
    (0.0..9e18).contains(&scaled).then_some(scaled.round() as u64)
}

impl fmt::Display for CostCap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimal = BYTES.iter().filter(|(name, _)| !name.contains('i'));
        let (unit, scale) = decimal.copied().find(|(_, scale)| self.bytes >= *scale).unwrap_or(("B", 1));
        let seconds = self.period.as_secs();
        // Days only from the third on: a day is written 24h.
        let fits = |(name, scale): &&(&str, u64)| {
            seconds.is_multiple_of(*scale) && (*name != "d" || seconds > 2 * scale)
        };
        let (time, length) = PERIODS.iter().find(fits).copied().unwrap_or(("s", 1));
        write!(f, "{}{unit}/{}{time}", self.bytes as f64 / scale as f64, seconds / length)
    }
}

/// What went over a link since it was last told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkTraffic {
    /// The link.
    pub link: LinkId,
    /// Bytes of IP packets, both directions together, of one connection.
    pub bytes: u64,
}

impl LinkTraffic {
    /// Returns so many bytes over a link.
    pub fn new(link: LinkId, bytes: u64) -> Self {
        LinkTraffic { link, bytes }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_no_cap_says_what_one_is() {
        for text in [
            "", "1GB", "1GB/", "/24h", "1/24h", "-1GB/24h", "1GB/0s", "1GB/24", "1GB/400d", "nanB/1h",
            "1XB/1h",
        ] {
            let error = text.parse::<CostCap>().expect_err(text).to_string();
            assert!(error.starts_with(&format!("`{text}`: expected BYTES/PERIOD")), "{error}");
        }
        assert_eq!("0/1h".parse::<CostCap>().map(|cap| cap.bytes), Ok(0));
        assert_eq!("64MiB/30d".parse::<CostCap>().map(|cap| cap.bytes), Ok(64 << 20));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(bytes in 0_u64..1 << 50, seconds in 1..LONGEST) {
            let cap = CostCap { bytes, period: Duration::from_secs(seconds) };
            prop_assert_eq!(cap.to_string().parse::<CostCap>().unwrap(), cap);
        }
    }
}
