//! The policies of `[transport]` and of flows.

use hawser_policy::{Composition, PolicyError, PolicyKind, PolicySpec, Registry, SpecError};

use super::Result;
use super::fields::{Fields, Value};
use crate::document::{Content, Node};

/// The entry of every registry that parameters without a name belong to.
const DEFAULT: &str = "default";

/// The policies that a table names, which must exist if a registry is at hand. Parameters without a name belong to what
/// `general` chooses, or else to the default.
pub(super) fn policies(
    fields: &Fields<'_>,
    general: &Composition,
    registry: Option<&Registry>,
) -> Result<Composition> {
    let mut policies = Composition::default();
    for kind in PolicyKind::ALL {
        if let Some(value) = fields.optional(kind.field()) {
            let spec = spec(&value, general.get(kind))?;
            check(&value, kind, &spec, registry)?;
            policies.set(kind, spec);
        }
    }
    Ok(policies)
}

/// `"cubic,beta=0.8"`, or `{ name = "cubic", beta = 0.8 }`, in which the name may be missing.
pub(super) fn spec(value: &Value<'_>, general: Option<&PolicySpec>) -> Result<PolicySpec> {
    let refused = |value: &Value<'_>, error: SpecError| value.error(error.to_string());
    if !value.is_table() {
        return value.string()?.parse().map_err(|error| refused(value, error));
    }
    let fields = value.fields()?;
    let mut spec = match (fields.optional("name"), general) {
        (Some(name), _) => PolicySpec::new(name.string()?).map_err(|error| refused(&name, error))?,
        (None, Some(general)) => general.clone(),
        (None, None) => PolicySpec::new(DEFAULT).map_err(|error| refused(value, error))?,
    };
    for (parameter, value) in fields.all().filter(|(parameter, _)| *parameter != "name") {
        spec = spec.with(parameter, text(&value)?).map_err(|error| refused(&value, error))?;
    }
    Ok(spec)
}

/// Whether a registry has this policy. A parameter may stand elsewhere than the name: in an override.
fn check(value: &Value<'_>, kind: PolicyKind, spec: &PolicySpec, registry: Option<&Registry>) -> Result<()> {
    let Some(Err(error)) = registry.map(|registry| registry.check(kind, spec)) else { return Ok(()) };
    let parameter = match &error {
        PolicyError::UnknownParameter { parameter, .. } => Some(parameter),
        PolicyError::BadValue { parameter, .. } => Some(&parameter.name),
        _ => None,
    };
    let fields = value.is_table().then(|| value.fields()).transpose()?;
    let place = fields.and_then(|fields| fields.all().find(|(name, _)| parameter.is_some_and(|p| p == name)));
    Err(place.map_or_else(|| value.clone(), |(_, value)| value).error(error.to_string()))
}

/// The value of a parameter as it stands in a text.
fn text(value: &Value<'_>) -> Result<String> {
    match &value.node().content {
        Content::String(text) => Ok(text.trim().to_owned()),
        Content::Integer { digits, radix: 10 } | Content::Float(digits) => Ok(digits.clone()),
        Content::Boolean(flag) => Ok(flag.to_string()),
        _ => Err(value.expected("a number, true or false, or a string such as \"20ms\"")),
    }
}

/// Whether the policies of a document exist, without reading anything else of it.
pub(super) fn check_document(document: &Node, registry: &Registry) -> Result<()> {
    let empty = crate::document::Table::default();
    let fields = Fields::new(&document.origin, String::new(), document.table().unwrap_or(&empty));
    let nothing = Composition::default();
    let general = fields.read_or("transport", nothing.clone(), |value| {
        policies(&value.fields()?, &nothing, Some(registry))
    })?;
    let Some(flows) = fields.optional("flow") else { return Ok(()) };
    for flow in flows.array()? {
        let mut fields = flow.fields()?;
        if let Some(name) = fields.read("name", |value| value.string())? {
            fields.rename(format!("flow.{name}"));
        }
        policies(&fields, &general, Some(registry))?;
    }
    Ok(())
}
