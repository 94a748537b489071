//! Until when a key is valid: times of RFC 3339.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A moment, in milliseconds since 1970 (UTC).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment(u64);

impl Moment {
    /// The present, by this machine's clock.
    pub(super) fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Moment(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    /// How long it is until another one; nothing if that has passed.
    pub(super) fn until(self, later: Moment) -> Duration {
        Duration::from_millis(later.0.saturating_sub(self.0))
    }

    /// Reads a time of RFC 3339 (section 5.6), such as `2027-01-31T18:00:00Z` or `2027-01-31T19:00:00+01:00`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}`: expected a time such as 2027-01-31T18:00:00Z (RFC 3339)");
        read(text).ok_or_else(wrong)
    }
}

fn read(text: &str) -> Option<Moment> {
    if !text.is_ascii() {
        return None;
    }
    let digits = |from: usize, to: usize| {
        let part = text.get(from..to)?;
        part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse::<i64>().ok())?
    };
    let sign = |at: usize, wanted: &[u8]| wanted.contains(text.as_bytes().get(at)?).then_some(());
    let (year, month, day) = (digits(0, 4)?, digits(5, 7)?, digits(8, 10)?);
    let (hour, minute, second) = (digits(11, 13)?, digits(14, 16)?, digits(17, 19)?);
    sign(4, b"-")?;
    sign(7, b"-")?;
    sign(10, b"Tt ")?;
    sign(13, b":")?;
    sign(16, b":")?;
    // A leap second is the one before it.
    let is_time = hour < 24 && minute < 60 && second <= 60;
    if !is_time || !(1..=12).contains(&month) || !(1..=days_of(year, month)).contains(&day) {
        return None;
    }
    let (millis, zone) = match text.get(19..)?.strip_prefix('.') {
        None => (0, text.get(19..)?),
        Some(rest) => {
            let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
            let (fraction, zone) = rest.split_at(end);
            if fraction.is_empty() || fraction.len() > 9 {
                return None;
            }
            (format!("{fraction:0<3}").get(..3)?.parse::<i64>().ok()?, zone)
        }
    };
    let seconds = days_since_1970(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second.min(59);
    let total = (seconds - offset_seconds(zone)?) * 1_000 + millis;
    u64::try_from(total).ok().map(Moment)
}

/// Seconds by which a zone is ahead of UTC: `Z`, or `+01:00`.
fn offset_seconds(zone: &str) -> Option<i64> {
    if matches!(zone, "Z" | "z") {
        return Some(0);
    }
    let sign = match zone.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    let number = |text: &str| {
        let is_sound = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        is_sound.then(|| text.parse::<i64>().ok())?
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3_600 + minutes * 60))
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a day of the Gregorian calendar.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let before = year - 1;
    let leaps = |year: i64| year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let years = (year - 1970) * 365 + leaps(before) - leaps(1969);
    years + (1..month).map(|month| days_of(year, month)).sum::<i64>() + day - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_rfc_3339_writes_them() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T12:00:00Z", 951_825_600),
            ("2027-01-31T18:00:00Z", 1_801_418_400),
            ("2027-01-31T19:00:00+01:00", 1_801_418_400),
            ("2027-01-31t17:30:00-00:30", 1_801_418_400),
            ("2027-01-31 18:00:00z", 1_801_418_400),
            ("2016-12-31T23:59:60Z", 1_483_228_799),
        ] {
            assert_eq!(Moment::parse(text), Ok(Moment(seconds * 1_000)), "{text}");
        }
        assert_eq!(Moment::parse("1970-01-01T00:00:01.2599Z"), Ok(Moment(1_259)));
    }

    #[test]
    fn text_that_is_no_time_is_refused() {
        for text in [
            "",
            "2027-01-31",
            "2027-01-31T18:00:00",
            "2027-13-01T00:00:00Z",
            "2027-02-29T00:00:00Z",
            "2027-01-31T24:00:00Z",
            "2027-01-31T18:00:00+1:00",
            "2027-01-31T18:00:00.Z",
            "+027-01-31T18:00:00Z",
            "1969-12-31T23:59:59Z",
            "2027-01-31T18:00:00Z ",
            "2027\u{2011}01-31T18:00:00Z",
        ] {
            assert!(Moment::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_has_passed_is_no_time_away() {
        let (early, late) = (Moment(1_000), Moment(3_500));
        assert_eq!((early.until(late), late.until(early)), (Duration::from_millis(2_500), Duration::ZERO));
    }
}
