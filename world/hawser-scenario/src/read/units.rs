//! Quantities as people write them: `"40 Mbit/s"`, `"15 ms"`, `"250 kB"`, `"1 %"`.

use hawser_link::{Nanos, SECOND};

const RATES: &[(&str, f64)] = &[("bit/s", 1.0), ("kbit/s", 1e3), ("Mbit/s", 1e6), ("Gbit/s", 1e9)];
const TIMES: &[(&str, f64)] =
    &[("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0), ("min", 60.0), ("h", 3600.0)];
const SIZES: &[(&str, f64)] =
    &[("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("KiB", 1024.0), ("MiB", 1024.0 * 1024.0), ("GB", 1e9)];

/// Sums of a few times stay below 2^64 ns.
const LONGEST: f64 = 100.0 * 365.0 * 86_400.0;
/// Products with times stay below 2^128.
const FASTEST: f64 = 1e15;

/// A rate in bit/s. The error is a sentence that says what was expected.
///
/// # Errors
/// Fails when the text is not a number of 0 or more with a unit of bit/s.
pub(crate) fn parse_rate(text: &str) -> Result<u64, String> {
    match quantity(text, RATES, "a rate such as \"40 Mbit/s\"")? {
        rate if rate <= FASTEST => Ok(rate.round() as u64),
        _ => Err(format!("expected a rate of at most 1000000 Gbit/s, found {text:?}")),
    }
}

/// A duration in nanoseconds.
///
/// # Errors
/// Fails when the text is not a number of 0 or more with a unit of time.
pub(crate) fn parse_duration(text: &str) -> Result<Nanos, String> {
    match quantity(text, TIMES, "a duration such as \"15 ms\"")? {
        time if time <= LONGEST => Ok((time * SECOND as f64).round() as Nanos),
        _ => Err(format!("expected a duration of at most 100 years, found {text:?}")),
    }
}

/// A size in bytes.
///
/// # Errors
/// Fails when the text is not a number of 0 or more with a unit of size.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    quantity(text, SIZES, "a size such as \"250 kB\"").map(|value| value.round() as u64)
}

/// A probability, written `"1 %"`, in `0.0..=1.0`.
///
/// # Errors
/// Fails when the text is not a percentage between 0 and 100.
pub(crate) fn parse_probability(text: &str) -> Result<f64, String> {
    let value = quantity(text, &[("%", 0.01)], "a probability such as 0.01 or \"1 %\"")?;
    if value <= 1.0 {
        Ok(value)
    } else {
        Err(format!("expected a probability up to \"100 %\", found {text:?}"))
    }
}

/// A number of packets, written `"50 packets"`; `None` when it is something else.
pub(crate) fn parse_packets(text: &str) -> Option<u64> {
    text.trim().strip_suffix("packets")?.trim().replace('_', "").parse().ok()
}

/// Units of the radio models, as factors of metres, seconds, m/s, bit/s, Hz, W, degrees and decibels.
const SI: &[(&str, f64)] = &[
    ("m", 1.0),
    ("km", 1e3),
    ("m/s", 1.0),
    ("km/s", 1e3),
    ("km/h", 1.0 / 3.6),
    ("Hz", 1.0),
    ("kHz", 1e3),
    ("MHz", 1e6),
    ("GHz", 1e9),
    ("W", 1.0),
    ("mW", 1e-3),
    ("W/Hz", 1.0),
    ("dB", 1.0),
    ("dBi", 1.0),
    ("dBm", 1.0),
    ("dBW", 1.0),
    ("dBm/Hz", 1.0),
    ("deg", 1.0),
    ("%", 0.01),
];

/// A quantity in the base units of the radio models; `None` when it is something else, such as a name.
pub(crate) fn parse_si(text: &str) -> Option<f64> {
    let text = text.trim();
    let split = text.find(|c: char| !(c.is_ascii_digit() || "+-._".contains(c)))?;
    let (number, unit) = text.split_at(split);
    let number: f64 = number.replace('_', "").parse().ok()?;
    let unit = unit.trim();
    let units = SI.iter().chain(RATES).chain(TIMES);
    units.into_iter().find(|(name, _)| *name == unit).map(|(_, factor)| number * factor)
}

/// The units that [`parse_si`] knows.
pub(crate) fn names_of_si() -> String {
    let names: Vec<_> = SI.iter().chain(RATES).chain(TIMES).map(|(name, _)| *name).collect();
    names.join(", ")
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
