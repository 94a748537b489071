//! `[scene.NAME]`: what `hawser-radio` generates, with the file's parameters over those of the model's source, and a
//! recording over that if there is one.

use std::collections::BTreeMap;
use std::sync::Arc;

use hawser_link::{SECOND, derive_seed};
use hawser_radio::{Model, Profile, RadioError, Scene};
use serde::Deserialize;
use toml::{Table, Value as Toml};

use super::fields::{Fields, Value};
use super::link::plain_name;
use super::recordings::{self, Played};
use super::{Context, Result, units};
use crate::document::{Content, Node};
use crate::{SceneSource, SourceKind};

/// A scene is generated as a whole before the run begins.
const LONGEST_SCENE: u64 = 24 * 3600 * SECOND;

/// The fields of a scene that do not belong to its model.
const OWN_FIELDS: [&str; 4] = ["name", "seed", "model", "recordings"];

/// The profiles of each scene.
pub(super) type Scenes = BTreeMap<String, Vec<Arc<Profile>>>;

/// Makes all scenes, and says from what.
pub(super) fn scenes(fields: &Fields<'_>, context: &mut Context<'_, '_>) -> Result<Vec<SceneSource>> {
    let mut sources = Vec::new();
    let Some(value) = fields.optional("scene") else { return Ok(sources) };
    for item in value.array()? {
        let mut fields = item.fields()?;
        let name_field = fields.required("name", "\"road\"")?;
        let name = plain_name(&name_field, "a scene")?;
        if context.scenes.contains_key(name) {
            return Err(name_field.error(format!("two scenes are named {name:?}; names must differ")));
        }
        fields.rename(format!("scene.{name}"));
        let (profiles, source) = profiles(name, &fields, context)?;
        context.scenes.insert(name.to_owned(), profiles);
        sources.push(source);
    }
    Ok(sources)
}

fn profiles(
    name: &str,
    fields: &Fields<'_>,
    context: &mut Context<'_, '_>,
) -> Result<(Vec<Arc<Profile>>, SceneSource)> {
    let model_field = fields.required("model", "\"highway\"")?;
    let model = model(&model_field, fields, context)?;
    let seed = fields.read("seed", |value| value.integer(0..=i64::MAX as u64))?;
    let seed = seed.unwrap_or_else(|| derive_seed(context.seed, &format!("scene/{name}")));
    let duration = match context.duration {
        Some(duration) if duration <= LONGEST_SCENE => duration,
        Some(_) => return Err(fields.error("a scene can be 24 h long at most; shorten `duration`")),
        None => {
            return Err(fields
                .error("a scene needs the scenario's `duration`; write `duration = \"60 s\"` at the top"));
        }
    };
    let profiles = model.profiles(duration, seed).map_err(|error| {
        // The first part of the parameter's path is a field of this table, unless the model is made of parts.
        let place = match &error {
            RadioError::Parameter { parameter, .. } => {
                let first = parameter.split('.').next().unwrap_or_default();
                fields.all().find(|(key, _)| *key == first).map(|(_, value)| value)
            }
            _ => None,
        };
        place.map_or_else(|| fields.error(error.to_string()), |value| value.error(error.to_string()))
    })?;
    let Played { profiles, files, notes } = recordings::play(fields, profiles, duration, seed, context)?;
    let model_name = model_field.string()?.to_owned();
    let kind = if files.is_empty() { SourceKind::Model } else { SourceKind::Recording };
    let source = SceneSource { name: name.to_owned(), kind, model: model_name, files, notes };
    Ok((profiles.into_iter().map(Arc::new).collect(), source))
}

/// The model of the given name, with the fields of the table over its own values.
fn model(field: &Value<'_>, fields: &Fields<'_>, context: &mut Context<'_, '_>) -> Result<Model> {
    let name = field.string()?;
    let Some(preset) = Model::named(name) else {
        let names = Model::NAMES.map(|name| format!("\"{name}\""));
        return Err(field.error(format!("unknown model {name:?}; allowed: {}", names.join(", "))));
    };
    let Ok(Toml::Table(preset)) = Toml::try_from(&preset) else {
        return Err(field.error(format!("the model {name:?} cannot be changed in a file")));
    };
    let mut all = preset.clone();
    for (key, value) in fields.all().filter(|(key, _)| !OWN_FIELDS.contains(key)) {
        let parameter = toml_value(&value, value.node(), context)?;
        let one = |base: &Table| -> Result<Table> {
            let mut table = base.clone();
            let merged = match table.remove(key) {
                Some(base) => overlay(base, parameter.clone()).map_err(|message| value.error(message))?,
                None => parameter.clone(),
            };
            table.insert(key.to_owned(), merged);
            Ok(table)
        };
        // Alone over the model's own values, so that an error can name its field.
        Model::deserialize(Toml::Table(one(&preset)?))
            .map_err(|error| value.error(in_our_words(error.message())))?;
        all = one(&all)?;
    }
    Model::deserialize(Toml::Table(all)).map_err(|error| fields.error(in_our_words(error.message())))
}

/// A message about a value of the wrong kind, without the names that kinds have in the program.
fn in_our_words(message: &str) -> String {
    let message = message.trim();
    let wrong = ["invalid type: ", "invalid value: "].iter().find_map(|start| message.strip_prefix(start));
    let Some((found, expected)) = wrong.and_then(|wrong| wrong.rsplit_once(", expected ")) else {
        return message.to_owned();
    };
    let found = found.strip_prefix("string ").unwrap_or(found);
    match expected {
        "f64" => format!(
            "expected a number, or a quantity such as \"72 km/h\" (units: {}), found {found}",
            units::names_of_si()
        ),
        "i64" | "u64" | "u32" | "u16" | "u8" | "usize" => format!("expected a whole number, found {found}"),
        "a boolean" => format!("expected true or false, found {found}"),
        other => format!("expected {other}, found {found}"),
    }
}

/// A value in the units of the models, which are metres, seconds, bit/s, Hz, W and dB: `"72 km/h"` becomes 20.
/// `{ file = "name" }` becomes the text of that file.
fn toml_value(field: &Value<'_>, node: &Node, context: &mut Context<'_, '_>) -> Result<Toml> {
    Ok(match &node.content {
        Content::String(text) => match units::parse_si(text) {
            Some(value) => Toml::Float(value),
            None => Toml::String(text.clone()),
        },
        Content::Integer { digits, radix } => match i64::from_str_radix(digits, *radix) {
            Ok(value) => Toml::Integer(value),
            Err(_) => return Err(field.error(format!("{digits} is too large"))),
        },
        Content::Float(text) => match text.parse() {
            Ok(value) => Toml::Float(value),
            Err(_) => return Err(field.error(format!("{text} is no number"))),
        },
        Content::Boolean(value) => Toml::Boolean(*value),
        Content::Datetime => return Err(field.error("expected a number or a string, found datetime")),
        Content::Array(items) => {
            let items = items.iter().map(|item| toml_value(field, item, context));
            Toml::Array(items.collect::<Result<_>>()?)
        }
        Content::Table(table) => match &table.entries[..] {
            [entry] if entry.key == "file" => {
                let Content::String(name) = &entry.value.content else {
                    return Err(field.error("expected the name of a file in quotes"));
                };
                let text = context.files.read(&entry.value.origin.resolve(name));
                Toml::String(text.map_err(|message| field.error(message))?)
            }
            entries => {
                let entry = |entry: &crate::document::Entry| {
                    Ok((entry.key.clone(), toml_value(field, &entry.value, &mut *context)?))
                };
                Toml::Table(entries.iter().map(entry).collect::<Result<_>>()?)
            }
        },
    })
}

/// Lays a value over that of the model: tables field by field, lists of named tables name by name.
fn overlay(base: Toml, over: Toml) -> std::result::Result<Toml, String> {
    Ok(match (base, over) {
        (Toml::Table(base), Toml::Table(over)) if is_other_variant(&base, &over) => Toml::Table(over),
        (Toml::Table(mut base), Toml::Table(over)) => {
            for (key, value) in over {
                let value = match base.remove(&key) {
                    Some(below) => overlay(below, value)?,
                    None => value,
                };
                base.insert(key, value);
            }
            Toml::Table(base)
        }
        (Toml::Array(mut base), Toml::Table(over)) if base.iter().all(|item| name_of(item).is_some()) => {
            for (name, value) in over {
                let Some(item) = base.iter_mut().find(|item| name_of(item) == Some(&name)) else {
                    let names: Vec<_> = base.iter().filter_map(name_of).collect();
                    return Err(format!("there is no {name:?} in it; there are: {}", names.join(", ")));
                };
                *item = overlay(item.clone(), value)?;
            }
            Toml::Array(base)
        }
        (Toml::Array(base), Toml::Array(over)) => {
            let item = |over: Toml| {
                let below =
                    base.iter().find(|item| name_of(item).is_some() && name_of(item) == name_of(&over));
                match below {
                    Some(below) => overlay(below.clone(), over),
                    None => Ok(over),
                }
            };
            Toml::Array(over.into_iter().map(item).collect::<std::result::Result<_, _>>()?)
        }
        (_, over) => over,
    })
}

/// Whether both are a choice among variants, as `{ rician = {..} }` is, and not the same one.
fn is_other_variant(base: &Table, over: &Table) -> bool {
    base.len() == 1 && over.len() == 1 && base.keys().ne(over.keys())
}

fn name_of(item: &Toml) -> Option<&str> {
    item.get("name")?.as_str()
}
