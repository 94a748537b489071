//! Numbers, which some implementations write as text.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A number that is not below zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Number(pub(crate) f64);

impl Number {
    /// Without its fraction; numbers above 2^53 lose their last digits.
    pub(crate) fn whole(self) -> u64 {
        self.0 as u64
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl Visitor<'_> for Reader {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number that is not below zero")
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Number, E> {
        Ok(Number(value as f64))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Number, E> {
        self.visit_f64(value as f64)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Number, E> {
        if value.is_finite() && value >= 0.0 {
            Ok(Number(value))
        } else {
            Err(E::custom(format!("{value} is below zero")))
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Number, E> {
        let value = text.trim().parse().map_err(|_| E::custom(format!("{text:?} is no number")))?;
        self.visit_f64(value)
    }
}
