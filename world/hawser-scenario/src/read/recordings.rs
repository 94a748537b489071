//! `recordings = { files = "drives/*.csv", otherwise = "generate" }`: what was measured takes the place of what the
//! model of a scene generates.

mod overlay;
mod window;

use hawser_link::{MILLISECOND, Nanos, SECOND, derive_seed};
use hawser_radio::Profile;
use hawser_trace::{Direction, Input, ReadOptions, Trace};

use super::fields::{Fields, Value};
use super::{Context, Result};

/// Time between the lines of recorded delays that have no time stamps.
const INTERVAL: Nanos = 10 * MILLISECOND;

/// The links of a scene, and what they were made from.
pub(super) struct Played {
    pub(super) profiles: Vec<Profile>,
    /// The files of the recording; empty: without one, the model alone was used.
    pub(super) files: Vec<String>,
    /// What a reader of results should know.
    pub(super) notes: Vec<String>,
}

/// What the field says.
struct Wanted<'v> {
    /// Each a recording, or a pattern of names of recordings, or several files that make one recording.
    entries: Vec<Value<'v>>,
    /// Whether the files may be missing.
    is_optional: bool,
    options: ReadOptions,
    /// Whether the seed chooses where in the recording the scenario begins.
    is_random_window: bool,
}

/// Lays the recording that the seed chooses over the links of a scene, if there is one.
pub(super) fn play(
    fields: &Fields<'_>,
    profiles: Vec<Profile>,
    duration: Nanos,
    seed: u64,
    context: &mut Context<'_, '_>,
) -> Result<Played> {
    let alone = |profiles, notes| Ok(Played { profiles, files: Vec::new(), notes });
    let Some(field) = fields.optional("recordings") else { return alone(profiles, Vec::new()) };
    let Some(wanted) = Wanted::read(&field)? else { return alone(profiles, Vec::new()) };
    let mut recordings = wanted.present(context)?;
    if recordings.is_empty() {
        let names: Vec<String> = wanted.entries.iter().map(shown).collect();
        return alone(profiles, vec![format!("no recording is there: {}", names.join(", "))]);
    }
    // Whatever order a folder has.
    recordings.sort_unstable();
    recordings.dedup();
    let chosen = derive_seed(seed, "recording") % recordings.len() as u64;
    let files = recordings.swap_remove(chosen as usize);
    let trace = read(&files, &wanted.options, context).map_err(|message| field.error(message))?;
    let mut notes = notes(&trace, duration);
    let from = match wanted.is_random_window {
        true => derive_seed(seed, "window") % trace.duration.max(1),
        false => 0,
    };
    if from > 0 {
        notes.insert(0, format!("from {:.3} s on", from as f64 / SECOND as f64));
    }
    let profiles = overlay::links(&profiles, &trace, from, duration)
        .map_err(|message| field.error(format!("{}: {message}", files.join(" with "))))?;
    Ok(Played { profiles, files, notes })
}

impl<'v> Wanted<'v> {
    /// `"none"`, files, or a table of files and how to read them.
    fn read(field: &Value<'v>) -> Result<Option<Self>> {
        if field.as_string() == Some("none") {
            return Ok(None);
        }
        let mut options = ReadOptions { interval: INTERVAL, ..ReadOptions::default() };
        if !field.is_table() {
            let entries = entries(field)?;
            return Ok(Some(Wanted { entries, is_optional: false, options, is_random_window: false }));
        }
        let fields = field.fields()?;
        let files = fields.required("files", "\"drives/*.csv\"")?;
        let otherwise = fields.optional("otherwise");
        let may_be_missing = match &otherwise {
            Some(value) => value.choice(&[("fail", false), ("generate", true)])?,
            None => false,
        };
        options.direction = fields
            .read("direction", |value| {
                value.choice(&[("both", None), ("up", Some(Direction::Up)), ("down", Some(Direction::Down))])
            })?
            .flatten();
        let window = fields.read("window", |value| value.choice(&[("start", false), ("random", true)]))?;
        options.interval = fields.read_or("interval", INTERVAL, |value| value.positive_duration())?;
        fields.finish()?;
        // It excuses the files that it was written for, not those that an override puts in their place.
        let is_optional = may_be_missing
            && otherwise.is_some_and(|value| value.node().origin.is_written_with(&files.node().origin));
        let is_random_window = window.unwrap_or(false);
        Ok(Some(Wanted { entries: entries(&files)?, is_optional, options, is_random_window }))
    }

    /// All recordings that are there.
    fn present(&self, context: &mut Context<'_, '_>) -> Result<Vec<Vec<String>>> {
        let mut recordings = Vec::new();
        for entry in &self.entries {
            let found = match entry.is_array() {
                true => together(entry, context)?,
                false => matching(entry, context)?.into_iter().map(|file| vec![file]).collect(),
            };
            if found.is_empty() && !self.is_optional {
                return Err(entry.error(format!("there is no file {}", shown(entry))));
            }
            recordings.extend(found);
        }
        Ok(recordings)
    }
}

/// The items of a list, or the only one.
fn entries<'v>(field: &Value<'v>) -> Result<Vec<Value<'v>>> {
    let entries = if field.is_array() { field.array()? } else { vec![field.clone()] };
    if entries.is_empty() {
        return Err(field.error("expected at least one file; \"none\" plays no recording"));
    }
    Ok(entries)
}

/// The files that make one recording: all of them, or none.
fn together(entry: &Value<'_>, context: &mut Context<'_, '_>) -> Result<Vec<Vec<String>>> {
    let (mut files, mut missing) = (Vec::new(), None);
    for part in entry.array()? {
        match &matching(&part, context)?[..] {
            [file] => files.push(file.clone()),
            [] => missing = Some(part),
            several => {
                return Err(part.error(format!(
                    "{} files match; files that make one recording need a name each",
                    several.len()
                )));
            }
        }
    }
    match (files.first(), missing) {
        (Some(first), Some(part)) => {
            Err(part.error(format!("there is no file {}, which completes {first}", shown(&part))))
        }
        (Some(_), None) => Ok(vec![files]),
        (None, _) => Ok(Vec::new()),
    }
}

/// The files that are there.
fn matching(entry: &Value<'_>, context: &mut Context<'_, '_>) -> Result<Vec<String>> {
    let pattern = entry.file()?;
    if pattern.rsplit_once('/').is_some_and(|(folder, _)| folder.contains('*')) {
        return Err(entry.error("only the last part of a name may have *"));
    }
    context.files.matching(&pattern).map_err(|message| entry.error(message))
}

/// How messages call the files of an entry.
fn shown(entry: &Value<'_>) -> String {
    let parts = entry.array().unwrap_or_else(|_| vec![entry.clone()]);
    let names: Vec<String> = parts.iter().filter_map(|part| part.file().ok()).collect();
    names.join(" with ")
}

/// Reads the files of one recording.
fn read(
    files: &[String],
    options: &ReadOptions,
    context: &mut Context<'_, '_>,
) -> std::result::Result<Trace, String> {
    let mut inputs = Vec::new();
    for file in files {
        inputs.push(Input { link: None, path: file.into(), text: Some(context.files.read(file)?) });
    }
    hawser_trace::read(&inputs, options).map_err(|error| error.to_string())
}

/// What is repeated and what was not recorded.
fn notes(trace: &Trace, duration: Nanos) -> Vec<String> {
    let mut notes = Vec::new();
    if trace.duration < duration {
        notes.push(format!("repeats after {:.3} s", trace.duration as f64 / SECOND as f64));
    }
    let generated = overlay::not_recorded(trace);
    if !generated.is_empty() {
        notes.push(format!("not recorded, so generated: {}", generated.join(", ")));
    }
    notes.extend(trace.notes.iter().cloned());
    notes
}
