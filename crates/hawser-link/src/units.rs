//! Quantities as people write them: `"40 Mbit/s"`, `"15 ms"`, `"250 kB"`, `"1 %"`.

use crate::time::{Nanos, SECOND};

const RATES: &[(&str, f64)] = &[("bit/s", 1.0), ("kbit/s", 1e3), ("Mbit/s", 1e6), ("Gbit/s", 1e9)];
const TIMES: &[(&str, f64)] =
    &[("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0), ("min", 60.0), ("h", 3600.0)];
const SIZES: &[(&str, f64)] =
    &[("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("KiB", 1024.0), ("MiB", 1024.0 * 1024.0), ("GB", 1e9)];

/// A rate in bit/s. The error is a sentence that says what was expected.
///
/// # Errors
/// Fails when the text is not a number of 0 or more with a unit of bit/s.
pub fn parse_rate(text: &str) -> Result<u64, String> {
    quantity(text, RATES, "a rate such as \"40 Mbit/s\"").map(|value| value.round() as u64)
}

/// A duration in nanoseconds.
///
/// # Errors
/// Fails when the text is not a number of 0 or more with a unit of time.
pub fn parse_duration(text: &str) -> Result<Nanos, String> {
    quantity(text, TIMES, "a duration such as \"15 ms\"")
        .map(|value| (value * SECOND as f64).round() as Nanos)
}

/// A size in bytes.
///
/// # Errors
/// Fails when the text is not a number of 0 or more with a unit of size.
pub fn parse_size(text: &str) -> Result<u64, String> {
    quantity(text, SIZES, "a size such as \"250 kB\"").map(|value| value.round() as u64)
}

/// A probability, written `"1 %"`, in `0.0..=1.0`.
///
/// # Errors
/// Fails when the text is not a percentage between 0 and 100.
pub fn parse_probability(text: &str) -> Result<f64, String> {
    let value = quantity(text, &[("%", 0.01)], "a probability such as 0.01 or \"1 %\"")?;
    if value <= 1.0 {
        Ok(value)
    } else {
        Err(format!("expected a probability up to \"100 %\", found {text:?}"))
    }
}

fn quantity(text: &str, units: &[(&str, f64)], expected: &str) -> Result<f64, String> {
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(split);
    let number = number.replace('_', "").parse::<f64>().ok();
    let factor = units.iter().find(|(name, _)| *name == unit.trim()).map(|(_, factor)| factor);
    match (number, factor) {
        (Some(number), Some(factor)) => Ok(number * factor),
        _ => {
            let names: Vec<_> = units.iter().map(|(name, _)| *name).collect();
            Err(format!("expected {expected} (units: {}), found {text:?}", names.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_as_people_write_them() {
        assert_eq!(parse_rate("40 Mbit/s"), Ok(40_000_000));
        assert_eq!(parse_rate("1.5Gbit/s"), Ok(1_500_000_000));
        assert_eq!(parse_duration("15 ms"), Ok(15_000_000));
        assert_eq!(parse_duration("2min"), Ok(120 * SECOND));
        assert_eq!(parse_size("64 KiB"), Ok(65_536));
        assert_eq!(parse_probability("0.5 %"), Ok(0.005));
    }

    #[test]
    fn messages_name_the_units() {
        for text in ["40", "-1 Mbit/s", "fast", "40 Mbps", "1e3 bit/s", ""] {
            let message = parse_rate(text).unwrap_err();
            assert!(message.contains("Mbit/s") && message.contains(&format!("{text:?}")), "{message}");
        }
        assert!(parse_probability("101 %").is_err());
    }
}
