//! The lines of a trace file, and numbers in them.

use hawser_link::{MILLISECOND, Nanos, SECOND};

use crate::{Format, TraceError};

/// More than any link: 1 Pbit/s, in Mbit/s.
const MOST_MEGABITS: f64 = 1e9;
/// Longest delay that is taken for one, in ms: a day.
const LONGEST_DELAY: f64 = 86_400_000.0;
/// Seconds that a time stamp may show; Unix times are below.
const LATEST: f64 = 9e9;

/// A file, its content, and what it is taken for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) file: &'a str,
    pub(crate) text: &'a str,
    pub(crate) format: Format,
}

/// A line that is not blank and no comment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    source: Source<'a>,
    number: usize,
    /// Without blanks at the ends.
    pub(crate) text: &'a str,
}

/// A plain decimal number in units of `unit` ns, exactly: a Unix time with its fraction has more digits than an
/// `f64` keeps. None for other ways to write a number.
pub(crate) fn decimal(text: &str, unit: Nanos) -> Option<Nanos> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    // Beyond a hundredth of a nanosecond nothing counts.
    let fraction = &fraction[..fraction.len().min(11)];
    let scale = 10u128.pow(fraction.len() as u32);
    let part = if fraction.is_empty() { 0 } else { fraction.parse::<u128>().ok()? };
    let part = (part * u128::from(unit) + scale / 2) / scale;
    whole.parse::<u64>().ok()?.checked_mul(unit)?.checked_add(u64::try_from(part).ok()?)
}

impl<'a> Source<'a> {
    /// The name of the file without its folders, for remarks.
    pub(crate) fn short_name(self) -> &'a str {
        self.file.rsplit(['/', '\\']).next().unwrap_or(self.file)
    }

    /// The lines that say something; `#` begins a comment.
    pub(crate) fn lines(self) -> impl Iterator<Item = Line<'a>> {
        self.text.lines().enumerate().filter_map(move |(index, text)| {
            let text = text.split('#').next().unwrap_or_default().trim();
            (!text.is_empty()).then_some(Line { source: self, number: index + 1, text })
        })
    }

    /// The error for a file without content.
    pub(crate) fn empty(self) -> TraceError {
        TraceError::Empty { file: self.file.to_owned(), expected: self.format.looks().to_owned() }
    }

    /// An error about a line, counted from 1.
    pub(crate) fn line_error(self, line: usize, message: impl Into<String>) -> TraceError {
        let (file, format) = (self.file.to_owned(), self.format.name());
        TraceError::Line { file, line, message: message.into(), format }
    }

    /// An error about the file as a whole.
    pub(crate) fn error(self, message: impl Into<String>) -> TraceError {
        let format = self.format.name();
        TraceError::Content { file: self.file.to_owned(), message: message.into(), format }
    }
}

impl<'a> Line<'a> {
    /// An error about this line.
    pub(crate) fn error(&self, message: impl Into<String>) -> TraceError {
        TraceError::Line {
            file: self.source.file.to_owned(),
            line: self.number,
            message: message.into(),
            format: self.source.format.name(),
        }
    }

    /// Its number in the file, from 1.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// The cells between commas, blanks removed.
    pub(crate) fn cells(&self) -> Vec<&'a str> {
        self.text.split(',').map(str::trim).collect()
    }

    /// The words between blanks, tabs or commas.
    pub(crate) fn words(&self) -> Vec<&'a str> {
        self.text.split([' ', '\t', ',']).filter(|word| !word.is_empty()).collect()
    }

    /// A finite number from 0 to `most`.
    pub(crate) fn value(&self, text: &str, what: &str, most: f64) -> Result<f64, TraceError> {
        let shown: String = text.chars().take(40).collect();
        match text.parse::<f64>() {
            Ok(value) if value < 0.0 => Err(self.error(format!("{what} is {shown}; it cannot be negative"))),
            Ok(value) if value > most => {
                Err(self.error(format!("{what} is {shown}; at most {most} makes sense")))
            }
            Ok(value) if value.is_finite() => Ok(value),
            _ => Err(self.error(format!("{what} is {shown:?}; expected a number"))),
        }
    }

    /// A rate in Mbit/s, as bit/s.
    pub(crate) fn rate(&self, text: &str, what: &str) -> Result<u64, TraceError> {
        Ok((self.value(text, what, MOST_MEGABITS)? * 1e6).round() as u64)
    }

    /// A delay in ms.
    pub(crate) fn delay(&self, text: &str, what: &str) -> Result<Nanos, TraceError> {
        Ok((self.value(text, what, LONGEST_DELAY)? * MILLISECOND as f64).round() as u64)
    }

    /// A probability.
    pub(crate) fn probability(&self, text: &str, what: &str) -> Result<f64, TraceError> {
        match self.value(text, what, f64::MAX)? {
            value if value <= 1.0 => Ok(value),
            value => Err(self.error(format!("{what} is {value}; expected a probability from 0 to 1"))),
        }
    }

    /// A time in units of `unit` ns.
    pub(crate) fn time(&self, text: &str, what: &str, unit: Nanos) -> Result<Nanos, TraceError> {
        let value = self.value(text, what, LATEST * (SECOND / unit.max(1)) as f64)?;
        Ok(decimal(text, unit).unwrap_or((value * unit as f64).round() as u64))
    }

    /// A whole number.
    pub(crate) fn whole(&self, text: &str, what: &str) -> Result<u32, TraceError> {
        text.parse().map_err(|_| {
            let shown: String = text.chars().take(40).collect();
            match text.parse::<f64>() {
                Ok(value) if value < 0.0 => self.error(format!("{what} is {shown}; it cannot be negative")),
                _ => self.error(format!("{what} is {shown:?}; expected a whole number below 2^32")),
            }
        })
    }
}
