//! The values of a factor: a list, or a range of numbers or quantities.

use super::Result;
use crate::document::{Content, Node};
use crate::error::ScenarioError;
use crate::read::fields::Value;
use toml::de::DeValue;

/// Values of one range.
const MOST_VALUES: usize = 100_000;

/// `["default", "minrtt"]`, or `{ from = "10 ms", to = "50 ms", step = "10 ms" }`: `to` is included if a step meets
/// it.
pub(super) fn values(value: &Value<'_>) -> Result<Vec<String>> {
    if value.is_table() {
        return range(value);
    }
    if !value.is_array() {
        return Err(value.expected("a list of values, or { from = .., to = .., step = .. }"));
    }
    let mut values: Vec<String> = Vec::new();
    for item in value.array()? {
        let text = text(item.node())?;
        if values.contains(&text) {
            return Err(item.error(format!("the value {text} is there twice")));
        }
        values.push(text);
    }
    if values.is_empty() {
        return Err(value.error("expected at least one value"));
    }
    Ok(values)
}

fn range(value: &Value<'_>) -> Result<Vec<String>> {
    let fields = value.fields()?;
    let bound = |name, example| fields.required(name, example).and_then(|value| quantity(&value));
    let (from, to, step) =
        (bound("from", "\"10 ms\"")?, bound("to", "\"50 ms\"")?, bound("step", "\"10 ms\"")?);
    fields.finish()?;
    if from.unit != to.unit || from.unit != step.unit {
        return Err(value.error("`from`, `to` and `step` need the same unit"));
    }
    if step.number <= 0.0 || to.number < from.number {
        return Err(value.error("expected a `step` above zero and a `to` that is not below `from`"));
    }
    // Half a thousandth of a step forgives that 0.1 has no exact binary value.
    let count = ((to.number - from.number) / step.number + 5e-4).floor() as usize + 1;
    if count > MOST_VALUES {
        return Err(value.error(format!("expected at most {MOST_VALUES} values, found {count}")));
    }
    let places = from.places.max(step.places);
    Ok((0..count)
        .map(|index| {
            let number = from.number + index as f64 * step.number;
            let number = format!("{number:.places$}");
            if from.unit.is_empty() { number } else { format!("{number} {}", from.unit) }
        })
        .collect())
}

struct Quantity {
    number: f64,
    /// Digits behind the point.
    places: usize,
    /// May be empty.
    unit: String,
}

/// A number, or a string of a number and a unit. Which units there are is known to the field.
fn quantity(value: &Value<'_>) -> Result<Quantity> {
    let text = match &value.node().content {
        Content::Integer { digits, radix: 10 } | Content::Float(digits) => digits.clone(),
        Content::String(text) => text.trim().replace('_', ""),
        _ => return Err(value.expected("a number, or a quantity such as \"10 ms\"")),
    };
    let end = match value.node().content {
        Content::String(_) => text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '-'),
        _ => None,
    };
    let (digits, unit) = text.split_at(end.unwrap_or(text.len()));
    let number = digits.parse::<f64>().ok().filter(|number| number.is_finite() && number.abs() < 1e15);
    let Some(number) = number else {
        return Err(
            value.error(format!("expected a number, or a quantity such as \"10 ms\", found {text:?}"))
        );
    };
    let places = digits
        .find('.')
        .map_or(0, |point| digits[point + 1..].bytes().take_while(u8::is_ascii_digit).count());
    Ok(Quantity { number, places: places.min(12), unit: unit.trim().to_owned() })
}

/// A value as it stands behind the `=` of an override.
pub(super) fn text(node: &Node) -> Result<String> {
    match &node.content {
        // In quotes only where the bare text would mean something else.
        Content::String(text) if DeValue::parse(text).is_err() && *text == text.trim() => Ok(text.clone()),
        _ => inline(node),
    }
}

/// A value as TOML.
fn inline(node: &Node) -> Result<String> {
    Ok(match &node.content {
        Content::String(text) => toml::Value::from(text.as_str()).to_string(),
        Content::Integer { digits, radix: 10 } | Content::Float(digits) => digits.clone(),
        Content::Integer { digits, radix } => {
            u64::from_str_radix(digits, *radix).map_err(|_| refused(node, "a whole number"))?.to_string()
        }
        Content::Boolean(value) => value.to_string(),
        Content::Datetime => {
            return Err(refused(node, "a string, a number, true or false, an array or a table"));
        }
        Content::Array(items) => {
            let items = items.iter().map(inline).collect::<Result<Vec<_>>>()?;
            format!("[{}]", items.join(", "))
        }
        Content::Table(table) => {
            let entry = |entry: &crate::document::Entry| {
                let key = toml::Value::from(entry.key.as_str()).to_string();
                Ok(format!("{key} = {}", inline(&entry.value)?))
            };
            let entries = table.entries.iter().map(entry).collect::<Result<Vec<_>>>()?;
            format!("{{ {} }}", entries.join(", "))
        }
    })
}

fn refused(node: &Node, expected: &str) -> ScenarioError {
    node.origin.error("", format!("expected {expected}, found {}", node.kind()))
}
