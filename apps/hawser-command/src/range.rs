//! Which part of a file is asked for (RFC 9110 section 14).

use std::ops::Range;

use http::HeaderMap;
use http::header::RANGE;

/// What a `Range` field selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Everything: there is no such field, or it is one that a server may ignore (several ranges, another unit).
    Whole,
    /// These bytes; not empty.
    Part(Range<u64>),
    /// Bytes that the file does not have.
    Unsatisfiable,
}

impl Selection {
    /// What the fields of a request select of a file of this length.
    pub fn of(headers: &HeaderMap, length: u64) -> Self {
        let Some(field) = headers.get(RANGE).and_then(|value| value.to_str().ok()) else {
            return Selection::Whole;
        };
        parse(field, length).unwrap_or(Selection::Whole)
    }
}

/// `None` for what is no valid single range of bytes.
fn parse(field: &str, length: u64) -> Option<Selection> {
    let (unit, ranges) = field.split_once('=')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") || ranges.contains(',') {
        return None;
    }
    let (first, last) = ranges.trim().split_once('-')?;
    let range = if first.is_empty() {
        let suffix = number(last)?;
        length.saturating_sub(suffix)..length
    } else {
        let first = number(first)?;
        let end = if last.is_empty() { length } else { number(last)?.saturating_add(1) };
        if end <= first && !last.is_empty() {
            return None;
        }
        first..end.min(length)
    };
    Some(if range.is_empty() { Selection::Unsatisfiable } else { Selection::Part(range) })
}

/// Digits only: `parse` alone would accept a sign. Too many of them are as good as the largest number.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn select(field: &str, length: u64) -> Selection {
        let mut headers = HeaderMap::new();
        headers.insert(RANGE, field.parse().unwrap());
        Selection::of(&headers, length)
    }

    #[test]
    fn single_ranges() {
        assert_eq!(select("bytes=0-499", 1000), Selection::Part(0..500));
        assert_eq!(select("bytes=500-", 1000), Selection::Part(500..1000));
        assert_eq!(select("bytes=-300", 1000), Selection::Part(700..1000));
        assert_eq!(select("bytes=-3000", 1000), Selection::Part(0..1000));
        assert_eq!(select("bytes=999-9999999999999999999999", 1000), Selection::Part(999..1000));
    }

    #[test]
    fn beyond_the_end() {
        assert_eq!(select("bytes=1000-", 1000), Selection::Unsatisfiable);
        assert_eq!(select("bytes=-0", 1000), Selection::Unsatisfiable);
        assert_eq!(select("bytes=0-", 0), Selection::Unsatisfiable);
    }

    #[test]
    fn what_a_server_may_ignore() {
        for field in
            ["bytes=0-1,5-6", "lines=1-2", "bytes=5-2", "bytes=+1-2", "bytes=a-b", "bytes", "bytes=-", "5"]
        {
            assert_eq!(select(field, 1000), Selection::Whole, "{field}");
        }
    }
}
