//! Numbers as people read and write them.

use std::time::Duration;

/// `64.0 MiB`.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = count as f64;
    let mut unit = 0;
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{count} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

/// `1 cell`, `2 cells`: `of` is the word for one.
pub fn count(number: impl TryInto<u64>, of: &str) -> String {
    match number.try_into() {
        Ok(1) => format!("1 {of}"),
        Ok(number) => format!("{number} {of}s"),
        Err(_) => format!("many {of}s"),
    }
}

/// `41.3 Mbit/s`.
pub fn bit_rate(bits_per_second: f64) -> String {
    const UNITS: [&str; 4] = ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"];
    let mut value = bits_per_second.max(0.0);
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 { format!("{value:.0} {}", UNITS[0]) } else { format!("{value:.1} {}", UNITS[unit]) }
}

/// `1:02:03` or `2:03`.
pub fn clock(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// Reads a number of bytes with curl's suffixes: `500k`, `2.5M`, `1G` are powers of 1024.
///
/// # Errors
/// Says what was expected.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    scaled(text, 1024.0)
        .ok_or_else(|| format!("`{text}`: expected a number of bytes such as 500k, 2.5M or 1G"))
}

/// Reads a rate in bytes per second with curl's suffixes.
///
/// # Errors
/// Says what was expected, and what a rate in bit/s would be.
pub fn parse_byte_rate(text: &str) -> Result<u64, String> {
    let digits = text.trim().trim_end_matches("/s").trim_end_matches("ps");
    scaled(digits, 1024.0).ok_or_else(|| {
        let bits = digits.to_ascii_lowercase();
        let bits = bits.strip_suffix("bits").or(bits.strip_suffix("bit")).or(bits.strip_suffix('b'));
        let hint = match bits.and_then(|bits| scaled(bits, 1000.0)) {
            Some(bits) => format!("; {} bit/s are {} bytes per second", bits, bits / 8),
            None => String::new(),
        };
        format!("`{text}`: expected bytes per second, such as 500k, 2.5M or 1G{hint}")
    })
}

/// Reads a rate in bit/s with iperf3's suffixes: `10M`, `1.5G` are powers of 1000.
///
/// # Errors
/// Says what was expected.
pub fn parse_bit_rate(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches("bit/s").trim();
    scaled(digits, 1000.0)
        .ok_or_else(|| format!("`{text}`: expected a rate in bit/s such as 500k, 20M or 1G"))
}

fn scaled(text: &str, base: f64) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, suffix) = text.split_at(split);
    let power = match suffix.to_ascii_lowercase().trim_end_matches("ib").trim_end_matches('b') {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return None,
    };
    let value: f64 = number.trim().parse().ok()?;
    let value = value * base.powi(power);
    (value.is_finite() && (0.0..=9e18).contains(&value)).then_some(value.round() as u64)
}

#[cfg(test)]
mod rate_tests {
    use super::*;

    #[test]
    fn rates_are_bytes_per_second_and_bits_are_told_apart() {
        assert_eq!((parse_byte_rate("2M"), parse_byte_rate("500kB/s")), (Ok(2 << 20), Ok(500 << 10)));
        let words = parse_byte_rate("1Mbit").unwrap_err();
        assert!(words.contains("bytes per second") && words.contains("1000000 bit/s are 125000"), "{words}");
        assert!(parse_byte_rate("fast").unwrap_err().contains("expected bytes per second"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(64 << 20), "64.0 MiB");
        assert_eq!(bytes((1 << 20) - 1), "1.0 MiB");
        assert_eq!(bit_rate(41_300_000.0), "41.3 Mbit/s");
        assert_eq!(bit_rate(999_990.0), "1.0 Mbit/s");
        assert_eq!(clock(Duration::from_secs(3723)), "1:02:03");
    }

    #[test]
    fn numbers_are_read_from_people() {
        assert_eq!(parse_bytes("500k"), Ok(512_000));
        assert_eq!(parse_bytes("2.5MiB"), Ok(2_621_440));
        assert_eq!(parse_bytes("12"), Ok(12));
        assert_eq!(parse_bit_rate("20M"), Ok(20_000_000));
        for text in ["", "x", "-1", "1q", "1e400", "nan"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }
}
