//! Tests of what becomes of a trace: its figures, its drawings, its exports.

mod figures;
mod properties;
mod real;

use super::*;

/// Reads a text under a file name.
fn parsed(file: &str, text: &str) -> Trace {
    parse(file, text, &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}
