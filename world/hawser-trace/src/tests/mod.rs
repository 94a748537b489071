//! Tests of the whole way from a text to a trace.

mod formats;
mod properties;

use super::*;

/// Reads a text under a file name.
fn parsed(file: &str, text: &str) -> Trace {
    parse(file, text, &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// The message with which a text is refused.
fn refused(file: &str, text: &str) -> String {
    match parse(file, text, &ReadOptions::default()) {
        Ok(trace) => panic!("read as {trace:?}"),
        Err(error) => error.to_string(),
    }
}
