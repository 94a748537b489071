//! What was learned before, as text (4D-MAP, section 4.3: "pre-learn a model offline").

use std::fmt;
use std::fmt::Write as _;
use std::str::SplitAsciiWhitespace;
#[cfg(feature = "learned")]
use std::sync::{Arc, OnceLock};

use hawser_learn::{LinUcb, LinUcbArm};

use super::features::{FourDMapFeatures, MAX_PATHS};
use super::mechanisms::FourDMapModel;

const MAGIC: &str = "hawser-4d-map-model";
const VERSION: &str = "1";
/// What is read at most, in bytes: four arms of 21 features are under 60 kB.
const MAX_BYTES: usize = 256 << 10;
/// The names of the arms, in their order.
const ARMS: [&str; 4] = ["normal", "duplicate", "discard", "decompensate"];

/// A model that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FourDMapModelError {
    /// It is something else.
    NotAModel,
    /// It is of another version of the format.
    Version(String),
    /// It ends in the middle, or before the line `end`.
    Truncated,
    /// It is larger than 256 kiB.
    TooLarge,
    /// Another line was expected here; the first one is 1.
    Line {
        /// Where.
        number: usize,
        /// What was expected.
        expected: &'static str,
    },
    /// A number of the arm is not finite, or its `A` is not symmetric and positive definite.
    Arm(&'static str),
}

impl fmt::Display for FourDMapModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAModel => {
                write!(f, "no model of 4D-MAP: expected it to begin with \"{MAGIC} {VERSION}\"")
            }
            Self::Version(found) => {
                write!(f, "a model of version {found}; this program reads version {VERSION}")
            }
            Self::Truncated => write!(f, "the model is truncated: expected a last line \"end\""),
            Self::TooLarge => write!(f, "the model is larger than {MAX_BYTES} bytes"),
            Self::Line { number, expected } => write!(f, "line {number} of the model: expected {expected}"),
            Self::Arm(name) => {
                write!(
                    f,
                    "arm {name} of the model: A is not symmetric and positive definite, or something is not finite"
                )
            }
        }
    }
}

impl std::error::Error for FourDMapModelError {}

impl FourDMapModel {
    /// The model that comes with this crate, as text; `models/4d-map.json` next to it says what it was learned from.
    /// `hawser lab prelearn` makes both.
    #[cfg(feature = "learned")]
    pub const SHIPPED: &'static str = include_str!("../../models/4d-map.model");

    /// The model that comes with this crate, read once.
    ///
    /// # Panics
    /// Never: a test reads it.
    #[cfg(feature = "learned")]
    pub fn shipped() -> Arc<FourDMapModel> {
        static MODEL: OnceLock<Arc<FourDMapModel>> = OnceLock::new();
        MODEL
            .get_or_init(|| Arc::new(FourDMapModel::read(FourDMapModel::SHIPPED).expect("it is whole")))
            .clone()
    }

    /// As text: a line `hawser-4d-map-model 1`, a line `features MAP PATHS`, then for each arm a line `arm NAME`, a line `b` and
    /// a line for each row of `A`, all of as many numbers as there are features; last a line `end`. Numbers are those that
    /// give the same value when they are read.
    pub fn write(&self) -> String {
        let mut text = format!("{MAGIC} {VERSION}\nfeatures {} {}\n", name_of(self.features), self.paths);
        let count = self.features.count(self.paths).max(1);
        for (name, arm) in ARMS.into_iter().zip(&self.arms) {
            let _ = writeln!(text, "arm {name}");
            write_row(&mut text, "b", &arm.b);
            arm.matrix.chunks(count).for_each(|row| write_row(&mut text, "a", row));
        }
        text.push_str("end\n");
        text
    }

    /// Reads a model.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn read(text: &str) -> Result<FourDMapModel, FourDMapModelError> {
        if text.len() > MAX_BYTES {
            return Err(FourDMapModelError::TooLarge);
        }
        let header = text.lines().next().and_then(|line| line.strip_prefix(MAGIC));
        let version = header.ok_or(FourDMapModelError::NotAModel)?.trim();
        if version != VERSION {
            return Err(FourDMapModelError::Version(version.chars().take(20).collect()));
        }
        let mut lines = Lines { lines: text.lines(), number: 0 };
        lines.next()?;
        let (features, paths) = lines.next()?.features()?;
        let count = features.count(paths);
        let mut arms = Vec::with_capacity(ARMS.len());
        for name in ARMS {
            lines.next()?.words(
                "arm",
                name,
                "arm normal, duplicate, discard, decompensate, in this order",
            )?;
            let b = lines.next()?.numbers("b", count)?;
            let mut matrix = Vec::with_capacity(count * count);
            for _ in 0..count {
                matrix.extend(lines.next()?.numbers("a", count)?);
            }
            let arm = LinUcbArm { matrix, b };
            if !is_symmetric(&arm.matrix, count) || !LinUcb::new(1, count, 0.0).load(0, &arm) {
                return Err(FourDMapModelError::Arm(name));
            }
            arms.push(arm);
        }
        lines.next()?.words("end", "", "end")?;
        if let Ok(more) = lines.next() {
            return Err(more.wrong("nothing after end"));
        }
        // There is one for each name.
        let arms = arms.try_into().map_err(|_| FourDMapModelError::Truncated)?;
        Ok(FourDMapModel { features, paths, arms })
    }
}

fn name_of(features: FourDMapFeatures) -> &'static str {
    match features {
        FourDMapFeatures::Scaled => "scaled",
        FourDMapFeatures::Raw => "raw",
    }
}

fn write_row(text: &mut String, name: &str, row: &[f64]) {
    text.push_str(name);
    for value in row {
        let _ = write!(text, " {value:e}");
    }
    text.push('\n');
}

fn is_symmetric(matrix: &[f64], count: usize) -> bool {
    let at = |row: usize, column: usize| matrix[row * count + column];
    let near = |one: f64, other: f64| (one - other).abs() <= 1e-9 * one.abs().max(other.abs());
    (0..count).all(|row| (0..row).all(|column| near(at(row, column), at(column, row))))
}

/// The lines of a model, counted.
struct Lines<'a> {
    lines: std::str::Lines<'a>,
    number: usize,
}

impl<'a> Lines<'a> {
    fn next(&mut self) -> Result<Line<'a>, FourDMapModelError> {
        let text = self.lines.next().ok_or(FourDMapModelError::Truncated)?;
        self.number += 1;
        Ok(Line { words: text.split_ascii_whitespace(), number: self.number })
    }
}

struct Line<'a> {
    words: SplitAsciiWhitespace<'a>,
    number: usize,
}

impl Line<'_> {
    fn wrong(&self, expected: &'static str) -> FourDMapModelError {
        FourDMapModelError::Line { number: self.number, expected }
    }

    /// Two words and no more; of one word the second is empty.
    fn words(mut self, first: &str, second: &str, expected: &'static str) -> Result<(), FourDMapModelError> {
        let is_right = self.words.next() == Some(first)
            && self.words.next().unwrap_or_default() == second
            && self.words.next().is_none();
        if is_right { Ok(()) } else { Err(self.wrong(expected)) }
    }

    fn features(mut self) -> Result<(FourDMapFeatures, usize), FourDMapModelError> {
        let expected = "features, scaled or raw, and 1 to 4 paths";
        let is_named = self.words.next() == Some("features");
        let map = match self.words.next() {
            Some("scaled") => Some(FourDMapFeatures::Scaled),
            Some("raw") => Some(FourDMapFeatures::Raw),
            _ => None,
        };
        let paths = self.words.next().and_then(|word| word.parse().ok());
        let paths = paths.filter(|paths| (1..=MAX_PATHS).contains(paths));
        match (is_named, map, paths, self.words.next()) {
            (true, Some(map), Some(paths), None) => Ok((map, paths)),
            _ => Err(self.wrong(expected)),
        }
    }

    /// So many numbers behind this word.
    fn numbers(mut self, name: &str, count: usize) -> Result<Vec<f64>, FourDMapModelError> {
        let expected = "b or a, and a number for each feature";
        if self.words.next() != Some(name) {
            return Err(self.wrong(expected));
        }
        let numbers: Option<Vec<f64>> = self.words.by_ref().map(|word| word.parse().ok()).collect();
        numbers.filter(|numbers| numbers.len() == count).ok_or(self.wrong(expected))
    }
}

#[cfg(test)]
mod tests;
