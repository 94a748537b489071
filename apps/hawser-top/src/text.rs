//! Numbers in few columns.

use hawser_status::model::LimitedBy;

/// `12.3M`, at most six columns.
pub(crate) fn rate(bits_per_second: f64) -> String {
    scaled(bits_per_second, 1000.0, ["", "k", "M", "G"])
}

/// `12.3M` bytes, at most six columns.
pub(crate) fn bytes(count: u64) -> String {
    scaled(count as f64, 1024.0, ["", "k", "M", "G"])
}

fn scaled(value: f64, base: f64, units: [&str; 4]) -> String {
    let mut value = if value.is_finite() { value.max(0.0) } else { 0.0 };
    let mut unit = 0;
    while value >= base * 0.999 && unit + 1 < units.len() {
        value /= base;
        unit += 1;
    }
    match (unit, value) {
        (0, value) => format!("{value:.0}"),
        (_, value) if value >= 99.95 => format!("{value:.0}{}", units[unit]),
        (_, value) => format!("{value:.1}{}", units[unit]),
    }
}

/// `23` or `1.4`, at most five columns.
pub(crate) fn milliseconds(value: f64) -> String {
    match value {
        value if !value.is_finite() || value <= 0.0 => "-".to_owned(),
        value if value < 9.95 => format!("{value:.1}"),
        value => format!("{:.0}", value.min(99_999.0)),
    }
}

/// `1:02:03`.
pub(crate) fn clock(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// The time of day (UTC) of milliseconds since 1970.
pub(crate) fn time_of_day(unix_ms: u64) -> String {
    let seconds = unix_ms / 1000 % 86_400;
    let tenths = unix_ms % 1000 / 100;
    format!("{:02}:{:02}:{:02}.{tenths}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// Why a sender stopped, in a word.
pub(crate) fn waits_for(limited: LimitedBy) -> &'static str {
    match limited {
        LimitedBy::Nothing => "-",
        LimitedBy::Application => "data",
        LimitedBy::Scheduler => "its turn",
        LimitedBy::FlowControl => "reader",
        LimitedBy::CongestionWindow => "window",
        LimitedBy::Pacing => "pacing",
        LimitedBy::Amplification => "proof",
    }
}

/// At most so many characters; what is cut ends in a sign for that.
pub(crate) fn fit(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    if width == 0 { kept } else { kept + "~" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fit_their_columns() {
        assert_eq!(rate(12_340_000.0), "12.3M");
        assert_eq!(rate(999_900.0), "1.0M");
        assert_eq!(rate(123_400_000.0), "123M");
        for value in [0.0, 7.0, 999.0, 99_949.0, 1e5, 9.99e8, 1e11, f64::NAN] {
            assert!(rate(value).len() <= 6, "{}", rate(value));
        }
        assert_eq!(
            (milliseconds(0.0), milliseconds(1.42), milliseconds(1234.4)),
            ("-".into(), "1.4".into(), "1234".into())
        );
        assert_eq!(fit("enp0s31f6", 6), "enp0s~");
        assert_eq!(time_of_day(3_723_456), "01:02:03.4");
    }
}
