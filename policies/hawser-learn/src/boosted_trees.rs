//! Gradient-boosted regression trees: evaluation of a model that was trained elsewhere.
//!
//! # Format
//! Lines of text, fields parted by blanks; a line that begins with `#` is a comment:
//!
//! ```text
//! hawser-boosted-trees 1
//! features tput loss delay
//! base 0.5
//! trees 1
//! tree 3
//! split 0 20.5 1 2 left
//! leaf -0.1
//! leaf 0.25
//! ```
//!
//! `split FEATURE THRESHOLD LEFT RIGHT MISSING`: a value below the threshold goes to node LEFT, any other to RIGHT, one that is
//! not a number to `left` or `right`. Nodes of a tree are numbered from its root, 0, in order of appearance, and children come
//! after their parents, so that no walk is endless. Numbers are single precision, as xgboost has them.

use std::fmt;

/// Bounds of what is read: far above what is useful, far below what hurts.
const MAX_FEATURES: usize = 64;
const MAX_TREES: usize = 1_000;
const MAX_NODES: usize = 65_535;

const MAGIC: &str = "hawser-boosted-trees";
const VERSION: &str = "1";

/// A sum of regression trees.
///
/// ```
/// use hawser_learn::BoostedTrees;
///
/// let text = "hawser-boosted-trees 1\nfeatures rate\nbase 0.5\ntrees 1\n\
///             tree 3\nsplit 0 20 1 2 left\nleaf -0.25\nleaf 0.25\n";
/// let model = BoostedTrees::read(text, &["rate"])?;
/// assert_eq!([10.0, 20.0, f32::NAN].map(|rate| model.predict(&[rate])), [0.25, 0.75, 0.25]);
/// # Ok::<(), hawser_learn::BoostedTreesError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct BoostedTrees {
    base: f32,
    features: usize,
    /// Those of all trees, one after the other.
    nodes: Vec<Node>,
    /// Where each tree begins.
    roots: Vec<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Node {
    /// Threshold of a split, value of a leaf.
    value: f32,
    /// [`LEAF`] marks leaves.
    feature: u16,
    missing_goes_left: bool,
    left: u32,
    right: u32,
}

const LEAF: u16 = u16::MAX;

/// A model that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoostedTreesError {
    /// It is something else.
    NotAModel,
    /// It is of another version of the format.
    Version(String),
    /// It was trained on other features.
    Features {
        /// What this program gives it.
        expected: String,
        /// What it wants.
        found: String,
    },
    /// It ends in the middle.
    Truncated {
        /// What was to come.
        expected: &'static str,
    },
    /// A line says something else than it should.
    Line {
        /// Counted from 1.
        line: usize,
        /// What was expected there.
        expected: &'static str,
    },
    /// There is more than the bounds allow, or than the header says.
    TooMuch(&'static str),
}

impl fmt::Display for BoostedTreesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAModel => write!(f, "not a model: expected it to begin with \"{MAGIC} {VERSION}\""),
            Self::Version(found) => {
                write!(f, "a model of version {found}; this program reads version {VERSION}")
            }
            Self::Features { expected, found } => {
                write!(f, "a model for other features: expected \"{expected}\", found \"{found}\"")
            }
            Self::Truncated { expected } => write!(f, "the model is truncated: expected {expected}"),
            Self::Line { line, expected } => write!(f, "line {line} of the model: expected {expected}"),
            Self::TooMuch(what) => write!(f, "the model has too many {what}"),
        }
    }
}

impl std::error::Error for BoostedTreesError {}

impl BoostedTrees {
    /// Reads a model that was trained on these features, in this order.
    pub fn read(text: &str, features: &[&str]) -> Result<Self, BoostedTreesError> {
        let mut lines = Lines { lines: text.lines(), number: 0 };
        lines.header(features)?;
        let base = lines.number_after("base", "base NUMBER")?;
        let trees: usize = lines.count_after("trees", "trees COUNT")?;
        if trees > MAX_TREES {
            return Err(BoostedTreesError::TooMuch("trees"));
        }
        let mut model = BoostedTrees { base, features: features.len(), nodes: Vec::new(), roots: Vec::new() };
        for _ in 0..trees {
            let count = lines.count_after("tree", "tree NODES")?;
            lines.tree(&mut model, count)?;
        }
        match lines.next() {
            Some(_) => Err(BoostedTreesError::TooMuch("lines")),
            None => Ok(model),
        }
    }

    /// The prediction for these features. Those that are missing are NaN; so are those that `features` is too short for.
    pub fn predict(&self, features: &[f32]) -> f64 {
        // Leaves are added in double precision; xgboost adds in single, which differs by less than 1e-6 for values near 1.
        let leaves = self.roots.iter().map(|root| f64::from(self.leaf(*root, features)));
        f64::from(self.base) + leaves.sum::<f64>()
    }

    /// How many trees there are.
    pub fn trees(&self) -> usize {
        self.roots.len()
    }

    /// Bytes that it takes in memory, about.
    pub fn memory(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>() + self.roots.capacity() * size_of::<u32>()
    }

    fn leaf(&self, root: u32, features: &[f32]) -> f32 {
        let mut at = root;
        loop {
            let node = &self.nodes[at as usize];
            if node.feature == LEAF {
                return node.value;
            }
            let value = features.get(usize::from(node.feature)).copied().unwrap_or(f32::NAN);
            let left = if value.is_nan() { node.missing_goes_left } else { value < node.value };
            at = if left { node.left } else { node.right };
        }
    }
}

/// Lines that say something.
struct Lines<'a> {
    lines: std::str::Lines<'a>,
    /// Of the last one, from 1.
    number: usize,
}

impl<'a> Lines<'a> {
    fn next(&mut self) -> Option<&'a str> {
        loop {
            let line = self.lines.next()?.trim();
            self.number += 1;
            if !line.is_empty() && !line.starts_with('#') {
                return Some(line);
            }
        }
    }

    fn wrong(&self, expected: &'static str) -> BoostedTreesError {
        BoostedTreesError::Line { line: self.number, expected }
    }

    fn header(&mut self, features: &[&str]) -> Result<(), BoostedTreesError> {
        let first = self.next().ok_or(BoostedTreesError::NotAModel)?;
        let version = first.strip_prefix(MAGIC).ok_or(BoostedTreesError::NotAModel)?.trim();
        if version != VERSION {
            return Err(BoostedTreesError::Version(version.chars().take(20).collect()));
        }
        let found = self.after("features", "features NAME...")?;
        if features.len() > MAX_FEATURES {
            return Err(BoostedTreesError::TooMuch("features"));
        }
        if !found.split_whitespace().eq(features.iter().copied()) {
            let found = found.chars().take(300).collect();
            return Err(BoostedTreesError::Features { expected: features.join(" "), found });
        }
        Ok(())
    }

    /// What follows a word at the beginning of the next line.
    fn after(&mut self, word: &str, expected: &'static str) -> Result<&'a str, BoostedTreesError> {
        let line = self.next().ok_or(BoostedTreesError::Truncated { expected })?;
        let rest = line.strip_prefix(word).filter(|rest| rest.starts_with(' '));
        rest.map(str::trim).ok_or_else(|| self.wrong(expected))
    }

    fn number_after(&mut self, word: &str, expected: &'static str) -> Result<f32, BoostedTreesError> {
        let text = self.after(word, expected)?;
        finite(text).ok_or_else(|| self.wrong(expected))
    }

    fn count_after(&mut self, word: &str, expected: &'static str) -> Result<usize, BoostedTreesError> {
        let text = self.after(word, expected)?;
        text.parse().map_err(|_| self.wrong(expected))
    }

    /// Reads a tree of so many nodes to the end of the model.
    fn tree(&mut self, model: &mut BoostedTrees, count: usize) -> Result<(), BoostedTreesError> {
        let root = model.nodes.len();
        if count == 0 || count > MAX_NODES - root {
            return Err(if count == 0 {
                self.wrong("a tree with nodes")
            } else {
                BoostedTreesError::TooMuch("nodes")
            });
        }
        model.roots.push(root as u32);
        for index in 0..count {
            const EXPECTED: &str = "\"leaf VALUE\" or \"split FEATURE THRESHOLD LEFT RIGHT left|right\"";
            let line = self.next().ok_or(BoostedTreesError::Truncated { expected: EXPECTED })?;
            let node = node(line, index, count, root, model.features).ok_or_else(|| self.wrong(EXPECTED))?;
            model.nodes.push(node);
        }
        Ok(())
    }
}

/// Reads node `index` of a tree of `count` nodes that begins at `root`.
fn node(line: &str, index: usize, count: usize, root: usize, features: usize) -> Option<Node> {
    let mut words = line.split_whitespace();
    let node = match words.next()? {
        "leaf" => {
            let value = finite(words.next()?)?;
            Node { value, feature: LEAF, missing_goes_left: false, left: 0, right: 0 }
        }
        "split" => {
            let feature: u16 =
                words.next()?.parse().ok().filter(|feature| usize::from(*feature) < features)?;
            let value = finite(words.next()?)?;
            // A child comes after its parent.
            let mut child = || {
                let child = words.next()?.parse().ok().filter(|child| (index + 1..count).contains(child))?;
                u32::try_from(root + child).ok()
            };
            let (left, right) = (child()?, child()?);
            let missing_goes_left = match words.next()? {
                "left" => true,
                "right" => false,
                _ => return None,
            };
            Node { value, feature, missing_goes_left, left, right }
        }
        _ => return None,
    };
    words.next().is_none().then_some(node)
}

fn finite(text: &str) -> Option<f32> {
    text.parse().ok().filter(|value: &f32| value.is_finite())
}

#[cfg(test)]
mod tests;
