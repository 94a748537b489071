//! A file as heads of traces and records, whichever way it is laid out, in memory that does not grow with it.

use std::io::{self, BufRead, Read};

use serde_json::Value;

use super::ReadError;

/// The longest record, and the most that a document may have besides its events.
const MAX_RECORD: usize = 16 << 20;
/// How deeply a document may be nested.
const MAX_DEPTH: usize = 128;
const SEPARATOR: u8 = 0x1e;

/// Takes what is in a file, in its order.
pub(super) trait Sink {
    /// A trace begins; what was said of it so far.
    fn head(&mut self, head: &Value);
    /// An event. Returns whether more is wanted.
    fn record(&mut self, bytes: &[u8]) -> bool;
}

/// How a file ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Complete,
    CutOff,
    /// With something else.
    Unreadable,
}

/// Reads all.
pub(super) fn split(mut input: impl BufRead, sink: &mut dyn Sink) -> Result<End, ReadError> {
    skip_space(&mut input)?;
    match input.fill_buf()?.first() {
        Some(&SEPARATOR) => sequence(input, SEPARATOR, sink),
        Some(b'{') => {
            let mut first = Vec::new();
            bounded_until(&mut input, b'\n', &mut first)?;
            let line: Option<Value> = serde_json::from_slice(&first).ok();
            if line.is_some_and(|line| line.get("traces").is_none()) {
                sequence(first.as_slice().chain(input), b'\n', sink)
            } else {
                document(first.as_slice().chain(input), sink)
            }
        }
        Some(_) => {
            let begin = String::from_utf8_lossy(input.fill_buf()?).chars().take(16).collect();
            Err(ReadError::NotQlog(begin))
        }
        None => Err(ReadError::Empty),
    }
}

fn skip_space(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let bytes = input.fill_buf()?;
        let spaces = bytes.iter().take_while(|byte| byte.is_ascii_whitespace() || **byte > 0xb0).count();
        // A byte order mark counts as space.
        if spaces == 0 || bytes.is_empty() {
            return Ok(());
        }
        input.consume(spaces);
    }
}

/// Reads to a delimiter, and no more than a record may have.
fn bounded_until(input: &mut impl BufRead, delimiter: u8, into: &mut Vec<u8>) -> io::Result<usize> {
    input.by_ref().take(MAX_RECORD as u64).read_until(delimiter, into)
}

/// RFC 7464, and lines of JSON.
fn sequence(mut input: impl BufRead, delimiter: u8, sink: &mut dyn Sink) -> Result<End, ReadError> {
    let mut bytes = Vec::new();
    let mut is_first = true;
    loop {
        bytes.clear();
        if bounded_until(&mut input, delimiter, &mut bytes)? == 0 {
            return Ok(End::Complete);
        }
        if bytes.len() == MAX_RECORD {
            return Ok(End::Unreadable);
        }
        let text = bytes.strip_suffix(&[delimiter]).unwrap_or(&bytes).trim_ascii();
        let text = text.strip_prefix(&[SEPARATOR]).unwrap_or(text).trim_ascii();
        if text.is_empty() {
            continue;
        }
        if std::mem::take(&mut is_first)
            && let Ok(value) = serde_json::from_slice::<Value>(text)
            && value.get("time").is_none()
        {
            sink.head(&value);
        } else if !sink.record(text) {
            return Ok(End::Complete);
        }
    }
}

/// One document: the elements of each array `events` are records, all the rest is a head.
fn document(mut input: impl BufRead, sink: &mut dyn Sink) -> Result<End, ReadError> {
    let mut scanner = Scanner::default();
    loop {
        let bytes = input.fill_buf()?;
        if bytes.is_empty() {
            return Ok(if scanner.open.is_empty() { End::Complete } else { End::CutOff });
        }
        let count = bytes.len();
        for &byte in bytes {
            match scanner.take(byte, sink) {
                Go::On => {}
                Go::Enough => return Ok(End::Complete),
                Go::Lost => return Ok(End::Unreadable),
            }
        }
        input.consume(count);
    }
}

enum Go {
    On,
    Enough,
    Lost,
}

/// Where in a document the reader is.
#[derive(Default)]
struct Scanner {
    /// Closing brackets that are due.
    open: Vec<u8>,
    in_string: bool,
    is_escaped: bool,
    /// The string that was read last, and whether a colon follows it.
    string: Vec<u8>,
    is_value: bool,
    /// The document without its events.
    frame: Vec<u8>,
    /// How many brackets were open in an array of events.
    events: Option<usize>,
    record: Vec<u8>,
}

impl Scanner {
    fn take(&mut self, byte: u8, sink: &mut dyn Sink) -> Go {
        let is_between = !self.in_string && self.events == Some(self.open.len());
        if is_between && (byte == b',' || byte == b']' || byte.is_ascii_whitespace()) {
            if !self.record.is_empty() && byte != b' ' && !byte.is_ascii_whitespace() && !self.emit(sink) {
                return Go::Enough;
            }
            if byte == b']' {
                self.open.pop();
                self.events = None;
                self.frame.push(byte);
            }
            return Go::On;
        }
        let kept = if self.events.is_some() { &mut self.record } else { &mut self.frame };
        if kept.len() == MAX_RECORD {
            return Go::Lost;
        }
        kept.push(byte);
        if self.in_string {
            self.string_byte(byte);
            return Go::On;
        }
        self.structure(byte, sink)
    }

    fn string_byte(&mut self, byte: u8) {
        if self.is_escaped {
            self.is_escaped = false;
        } else if byte == b'\\' {
            self.is_escaped = true;
        } else if byte == b'"' {
            self.in_string = false;
        } else if self.string.len() < 16 {
            self.string.push(byte);
        }
    }

    fn structure(&mut self, byte: u8, sink: &mut dyn Sink) -> Go {
        let is_value = std::mem::take(&mut self.is_value);
        match byte {
            b'"' => {
                self.in_string = true;
                self.string.clear();
            }
            b':' => self.is_value = true,
            b'{' | b'[' if self.open.len() == MAX_DEPTH => return Go::Lost,
            b'{' => self.open.push(b'}'),
            b'[' => {
                self.open.push(b']');
                if is_value && self.string == b"events" && self.events.is_none() {
                    self.events = Some(self.open.len());
                    sink.head(&self.so_far());
                }
            }
            b'}' | b']' if self.open.pop() != Some(byte) => return Go::Lost,
            byte if byte.is_ascii_whitespace() => self.is_value = is_value,
            _ => {}
        }
        Go::On
    }

    fn emit(&mut self, sink: &mut dyn Sink) -> bool {
        let goes_on = sink.record(&self.record);
        self.record.clear();
        goes_on
    }

    /// What was read so far, with all brackets closed.
    fn so_far(&self) -> Value {
        let mut text = self.frame.clone();
        text.extend(self.open.iter().rev());
        serde_json::from_slice(&text).unwrap_or_default()
    }
}
