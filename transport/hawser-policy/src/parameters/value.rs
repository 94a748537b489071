//! Values of parameters, and how durations and rates are written.

use std::fmt;
use std::time::Duration;

use super::PolicyFile;
use crate::Rate;

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ParameterValue {
    /// A number.
    Number(f64),
    /// A whole number.
    Integer(u64),
    /// A duration.
    Duration(Duration),
    /// A rate.
    Rate(Rate),
    /// On or off.
    Flag(bool),
    /// One of the declared words.
    Choice(String),
    /// A file, if one was given.
    File(Option<PolicyFile>),
}

/// Units of duration in nanoseconds, the largest first.
const DURATIONS: [(&str, u64); 6] = [
    ("h", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Units of rate in bit/s, the largest first. `/s` may follow.
const RATES: [(&str, u64); 4] = [("Gbit", 1_000_000_000), ("Mbit", 1_000_000), ("kbit", 1_000), ("bit", 1)];

/// Writes what [`ParameterInfo::read`](crate::ParameterInfo::read) reads.
impl fmt::Display for ParameterValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParameterValue::Number(number) => write!(f, "{number}"),
            ParameterValue::Integer(number) => write!(f, "{number}"),
            ParameterValue::Duration(duration) => {
                let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
                // Seconds at most: 90s, not 1.5min.
                write_in(f, nanos, &DURATIONS[2..])
            }
            ParameterValue::Rate(rate) => write_in(f, rate.bits_per_second(), &RATES),
            ParameterValue::Flag(flag) => write!(f, "{flag}"),
            ParameterValue::Choice(word) => f.write_str(word),
            ParameterValue::File(file) => f.write_str(file.as_ref().map_or("none", PolicyFile::name)),
        }
    }
}

/// In the largest unit of which it is a whole number.
fn write_in(f: &mut fmt::Formatter<'_>, amount: u64, units: &[(&str, u64)]) -> fmt::Result {
    let fits = |(_, size): &&(&str, u64)| amount > 0 && amount.is_multiple_of(*size);
    match units.iter().find(fits) {
        Some((unit, size)) => write!(f, "{}{unit}", amount / size),
        None => write!(f, "{amount}"),
    }
}

pub(super) fn read_duration(text: &str) -> Option<Duration> {
    read_amount(text, &DURATIONS).map(Duration::from_nanos)
}

pub(super) fn read_rate(text: &str) -> Option<Rate> {
    read_amount(text.strip_suffix("/s").unwrap_or(text), &RATES).map(Rate::from_bits_per_second)
}

/// A number and a unit, in the smallest unit. Zero needs none.
fn read_amount(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    if text == "0" {
        return Some(0);
    }
    let split = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = (text[..split].trim_end(), &text[split..]);
    let size = units.iter().find(|(known, _)| *known == unit)?.1;
    // Whole numbers exactly, as far as they go.
    if let Ok(number) = number.parse::<u64>() {
        return number.checked_mul(size);
    }
    let amount = number.parse::<f64>().ok()? * size as f64;
    (amount >= 0.0 && amount < u64::MAX as f64).then(|| amount.round() as u64)
}
