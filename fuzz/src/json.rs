//! Messages that are lines of JSON.

use serde_json::Value;

/// What a message says is said again by what is written of it; `write` reads it and writes it again, if it is one.
pub(crate) fn means_the_same(line: &[u8], write: impl Fn(&[u8]) -> Option<String>) {
    let Some(written) = write(line) else { return };
    let again = write(written.as_bytes()).expect("what is written can be read");
    assert!(is_same(&value(&written), &value(&again)), "{written} became {again}");
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON was written")
}

/// Whether two values are the same. Fractions may differ in their last place: they are read by a fast way that does not round as well as
/// possible.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other
                || one.as_f64().zip(other.as_f64()).is_some_and(|(one, other)| {
                    (one - other).abs() <= 1e-14 * one.abs().max(f64::MIN_POSITIVE)
                })
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, one)| other.get(name).is_some_and(|other| is_same(one, other)))
        }
        (one, other) => one == other,
    }
}
