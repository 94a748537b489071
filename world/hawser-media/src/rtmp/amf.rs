//! AMF 0: the values of commands.

use bytes::{BufMut, BytesMut};

/// Values in one command, nested ones included.
const MAX_VALUES: usize = 256;
/// Objects within objects.
const MAX_DEPTH: usize = 4;

/// A value. What no command needs is read and passed over.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Number(f64),
    Text(String),
    Object(Vec<(String, Value)>),
    Null,
    /// Of a type whose value nobody asks for.
    Other,
}

impl Value {
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// A property of an object.
    pub(super) fn property(&self, name: &str) -> Option<&Value> {
        let Value::Object(properties) = self else { return None };
        properties.iter().find(|(found, _)| found == name).map(|(_, value)| value)
    }
}

/// The values of a command, up to the first that cannot be read: what follows is of a type that no command needs, such as
/// AMF 3.
pub(super) fn read(payload: &[u8]) -> Vec<Value> {
    let mut reader = Reader { rest: payload, left: MAX_VALUES };
    let mut values = Vec::new();
    while let Some(value) = (!reader.rest.is_empty()).then(|| reader.value(0)).flatten() {
        values.push(value);
    }
    values
}

struct Reader<'a> {
    rest: &'a [u8],
    /// Values that may still come.
    left: usize,
}

impl Reader<'_> {
    fn value(&mut self, depth: usize) -> Option<Value> {
        self.left = self.left.checked_sub(1)?;
        if depth > MAX_DEPTH {
            return None;
        }
        Some(match self.take(1)?[0] {
            0 => Value::Number(f64::from_be_bytes(*self.take(8)?.first_chunk()?)),
            1 => self.skip(1)?,
            2 => Value::Text(self.short_text()?),
            3 => Value::Object(self.properties(depth)?),
            5 | 6 => Value::Null,
            7 => self.skip(2)?,
            8 => {
                self.skip(4)?;
                Value::Object(self.properties(depth)?)
            }
            10 => {
                for _ in 0..self.length(4)? {
                    self.value(depth + 1)?;
                }
                Value::Other
            }
            11 => self.skip(10)?,
            // Of no type that the encoder could name.
            13 => Value::Other,
            12 | 15 => {
                let length = self.length(4)?;
                self.skip(length)?
            }
            // An object of a class, whose name comes first.
            16 => {
                self.short_text()?;
                Value::Object(self.properties(depth)?)
            }
            _ => return None,
        })
    }

    fn properties(&mut self, depth: usize) -> Option<Vec<(String, Value)>> {
        let mut properties = Vec::new();
        loop {
            if let Some(rest) = self.rest.strip_prefix(&[0, 0, 9]) {
                self.rest = rest;
                return Some(properties);
            }
            let name = self.short_text()?;
            properties.push((name, self.value(depth + 1)?));
        }
    }

    fn short_text(&mut self) -> Option<String> {
        let length = self.length(2)?;
        Some(String::from_utf8_lossy(self.take(length)?).into_owned())
    }

    fn length(&mut self, bytes: usize) -> Option<usize> {
        let bytes = self.take(bytes)?;
        Some(bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)))
    }

    fn skip(&mut self, length: usize) -> Option<Value> {
        self.take(length).map(|_| Value::Other)
    }

    fn take(&mut self, length: usize) -> Option<&[u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }
}

/// Writes a value. Texts are shorter than 64 KiB: they are our own.
pub(super) fn write(bytes: &mut BytesMut, value: &Value) {
    match value {
        Value::Number(number) => {
            bytes.put_u8(0);
            bytes.put_f64(*number);
        }
        Value::Text(text) => {
            bytes.put_u8(2);
            put_text(bytes, text);
        }
        Value::Object(properties) => {
            bytes.put_u8(3);
            for (name, value) in properties {
                put_text(bytes, name);
                write(bytes, value);
            }
            bytes.put_slice(&[0, 0, 9]);
        }
        Value::Null | Value::Other => bytes.put_u8(5),
    }
}

fn put_text(bytes: &mut BytesMut, text: &str) {
    let length = text.len().min(usize::from(u16::MAX));
    bytes.put_u16(length as u16);
    bytes.put_slice(&text.as_bytes()[..length]);
}
