//! JSON text, written piece by piece into a buffer that is used again for every record.

use std::fmt::{self, Write as _};
use std::time::Duration;

/// JSON under construction. Commas come by themselves: one is due unless something was just opened.
#[derive(Debug, Default)]
pub(super) struct Json {
    text: String,
}

impl Json {
    /// Clears it and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.text.clear();
    }

    /// What was written.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Text as it is, for what frames a record.
    pub(super) fn verbatim(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// An object without a name: the whole record, or an element of an array.
    pub(super) fn object(&mut self, members: impl FnOnce(&mut Json)) {
        self.separate();
        self.enclose('{', '}', members);
    }

    /// A member that is an object.
    pub(super) fn member(&mut self, name: &str, members: impl FnOnce(&mut Json)) {
        self.name(name);
        self.enclose('{', '}', members);
    }

    /// A member that is an array.
    pub(super) fn array(&mut self, name: &str, elements: impl FnOnce(&mut Json)) {
        self.name(name);
        self.enclose('[', ']', elements);
    }

    /// An array in an array.
    pub(super) fn nested(&mut self, elements: impl FnOnce(&mut Json)) {
        self.separate();
        self.enclose('[', ']', elements);
    }

    /// A number in an array.
    pub(super) fn element(&mut self, value: u64) {
        self.separate();
        self.format(format_args!("{value}"));
    }

    /// A string in an array.
    pub(super) fn text_element(&mut self, value: &str) {
        self.separate();
        self.quote(value);
    }

    /// A number in an array; null if JSON has no such number.
    pub(super) fn float_element(&mut self, value: f64) {
        self.separate();
        self.write_float(value);
    }

    /// A number with a fraction, likewise.
    pub(super) fn float(&mut self, name: &str, value: f64) {
        self.name(name);
        self.write_float(value);
    }

    fn write_float(&mut self, value: f64) {
        if value.is_finite() {
            self.format(format_args!("{value}"));
        } else {
            self.text.push_str("null");
        }
    }

    pub(super) fn number(&mut self, name: &str, value: u64) {
        self.name(name);
        self.format(format_args!("{value}"));
    }

    pub(super) fn bool(&mut self, name: &str, value: bool) {
        self.name(name);
        self.text.push_str(if value { "true" } else { "false" });
    }

    pub(super) fn text(&mut self, name: &str, value: &str) {
        self.name(name);
        self.quote(value);
    }

    /// A string of characters that need no escape, as formatted.
    pub(super) fn plain(&mut self, name: &str, value: fmt::Arguments<'_>) {
        self.name(name);
        self.text.push('"');
        self.format(value);
        self.text.push('"');
    }

    /// Bytes in hexadecimal.
    pub(super) fn hex(&mut self, name: &str, bytes: &[u8]) {
        self.name(name);
        self.text.push('"');
        for byte in bytes {
            self.format(format_args!("{byte:02x}"));
        }
        self.text.push('"');
    }

    /// A duration in milliseconds with three decimals.
    pub(super) fn millis(&mut self, name: &str, value: Duration) {
        self.name(name);
        let micros = value.as_micros();
        self.format(format_args!("{}.{:03}", micros / 1000, micros % 1000));
    }

    fn name(&mut self, name: &str) {
        self.separate();
        self.quote(name);
        self.text.push(':');
    }

    fn separate(&mut self) {
        if matches!(self.text.as_bytes().last(), Some(last) if !b"{[:\x1e".contains(last)) {
            self.text.push(',');
        }
    }

    fn enclose(&mut self, open: char, close: char, inner: impl FnOnce(&mut Json)) {
        self.text.push(open);
        inner(self);
        self.text.push(close);
    }

    /// RFC 8259 section 7.
    fn quote(&mut self, value: &str) {
        self.text.push('"');
        for character in value.chars() {
            match character {
                '"' | '\\' => {
                    self.text.push('\\');
                    self.text.push(character);
                }
                '\0'..='\x1f' => self.format(format_args!("\\u{:04x}", u32::from(character))),
                _ => self.text.push(character),
            }
        }
        self.text.push('"');
    }

    fn format(&mut self, value: fmt::Arguments<'_>) {
        // Writing to a String does not fail.
        let _ = self.text.write_fmt(value);
    }
}
