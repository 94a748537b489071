//! A scenario file that plays a trace, with its series next to it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use hawser_link::{MILLISECOND, Nanos, OutagePolicy, SECOND, Series};

use super::super::{DirectionTrace, LinkTrace, RateTrace, Trace};
use super::{Draft, ExportError, plain_names, write_drafts};

/// What a scenario needs that a trace may not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScenarioOptions {
    /// Rate of a direction that was not measured, bit/s; unlimited otherwise.
    pub rate: Option<u64>,
    /// One-way delay of a direction that was not measured, ns; zero otherwise.
    pub delay: Option<Nanos>,
}

/// How every scenario begins that was made here, so that another import knows that it may replace it.
pub const SCENARIO_MARK: &str =
    "# Made by `hawser trace import`; another import into this folder replaces it.\n";

/// Writes [`scenario_files`] into a folder, which must exist. Returns all files, the scenario first.
///
/// # Errors
/// Fails when a rate is never above zero, and when a file cannot be written.
pub fn to_scenario(
    trace: &Trace,
    folder: &Path,
    options: &ScenarioOptions,
) -> Result<Vec<PathBuf>, ExportError> {
    write_drafts(scenario_files(trace, folder, options)?)
}

/// `scenario.toml`, which begins with [`SCENARIO_MARK`], and the files that it names, not yet written.
///
/// # Errors
/// Fails when a rate is never above zero.
pub fn scenario_files(
    trace: &Trace,
    folder: &Path,
    options: &ScenarioOptions,
) -> Result<Vec<Draft>, ExportError> {
    let mut files = Vec::new();
    let mut toml = format!(
        "{SCENARIO_MARK}version = 1\nname = {}\ndescription = {}\nduration = \"{} s\"\n",
        quoted(&trace.name),
        quoted(&description(trace)),
        seconds(trace.duration)
    );
    for note in &trace.notes {
        let _ = writeln!(toml, "# {}", note.replace('\n', " "));
    }
    for (link, name) in trace.links.iter().zip(plain_names(trace)) {
        let mut writer = LinkWriter { folder, name, options, files: &mut files };
        toml.push_str(&writer.link(link)?);
    }
    files.insert(0, Draft { path: folder.join("scenario.toml"), text: toml });
    Ok(files)
}

fn description(trace: &Trace) -> String {
    let names: Vec<&str> = trace.links.iter().map(|link| link.name.as_str()).collect();
    format!("Recorded: {}", names.join(", "))
}

/// Makes the files of one link.
struct LinkWriter<'a> {
    folder: &'a Path,
    name: String,
    options: &'a ScenarioOptions,
    files: &'a mut Vec<Draft>,
}

impl LinkWriter<'_> {
    fn link(&mut self, link: &LinkTrace) -> Result<String, ExportError> {
        let mut toml = format!("\n[[link]]\nname = {}\n", quoted(&self.name));
        if self.name != link.name {
            let _ = writeln!(toml, "# in the trace: {}", link.name.escape_debug());
        }
        if link.up == link.down {
            return Ok(toml + &self.fields("", &link.down)?);
        }
        // What both have goes to the link.
        let shared = link.up.outages == link.down.outages && link.up.outage_policy == link.down.outage_policy;
        if shared {
            toml.push_str(&outages(&link.down));
        }
        for (direction, fields) in [("up", &link.up), ("down", &link.down)] {
            let mut rest = fields.clone();
            if shared {
                rest.outages.clear();
            }
            let _ = write!(toml, "\n[link.{direction}]\n{}", self.fields(&format!(".{direction}"), &rest)?);
        }
        Ok(toml)
    }

    /// The fields of one direction, or of both; `part` goes into the names of files.
    fn fields(&mut self, part: &str, direction: &DirectionTrace) -> Result<String, ExportError> {
        let mut toml = self.rate(part, direction)?;
        match (&direction.delay, self.options.delay) {
            (Some(series), _) => {
                let milliseconds = |delay: Nanos| delay as f64 / MILLISECOND as f64;
                toml.push_str(
                    &self.series(part, "delay", series, milliseconds, |value| format!("\"{value} ms\""))?,
                );
            }
            (None, Some(delay)) => {
                let _ = writeln!(toml, "delay = \"{} ms\" # not measured", delay as f64 / MILLISECOND as f64);
            }
            (None, None) => toml.push_str("# delay: not measured\n"),
        }
        if let Some(series) = &direction.loss {
            toml.push_str(&self.series(part, "loss", series, |loss| loss, |value| value.to_string())?);
        }
        if let Some(queue) = direction.queue {
            let _ = writeln!(toml, "queue = \"{queue} B\"");
        }
        Ok(toml + &outages(direction))
    }

    fn rate(&mut self, part: &str, direction: &DirectionTrace) -> Result<String, ExportError> {
        match &direction.rate {
            None => Ok(match self.options.rate {
                Some(rate) => format!("rate = \"{} Mbit/s\" # not measured\n", rate as f64 / 1e6),
                None => "rate = \"unlimited\" # not measured\n".to_owned(),
            }),
            Some(RateTrace::Chances(chances)) => {
                // One file for both directions has the name of the link alone.
                let part = if part.is_empty() { ".trace" } else { part };
                let file = format!("{}{part}", self.name);
                let lines: String = chances.iter().map(|chance| format!("{chance}\n")).collect();
                self.add(&file, lines);
                Ok(format!("rate = {{ trace = \"{file}\" }}\n"))
            }
            Some(RateTrace::Steps(series)) => {
                if series.points().iter().all(|point| point.1 == 0) {
                    return Err(ExportError::Unfitting(format!(
                        "the rate of link `{}` is never above zero; a scenario needs a link that carries something",
                        self.name
                    )));
                }
                self.series(
                    part,
                    "rate",
                    series,
                    |rate| rate as f64 / 1e6,
                    |value| format!("\"{value} Mbit/s\""),
                )
            }
        }
    }

    /// A constant in place, or a series in a file.
    fn series<T: Copy>(
        &mut self,
        part: &str,
        field: &str,
        series: &Series<T>,
        value: impl Fn(T) -> f64,
        constant: impl Fn(f64) -> String,
    ) -> Result<String, ExportError> {
        if let [(_, only)] = series.points() {
            return Ok(format!("{field} = {}\n", constant(value(*only))));
        }
        let mut lines = String::new();
        for &(time, point) in series.points() {
            let _ = writeln!(lines, "{} {}", seconds(time), value(point));
        }
        let file = format!("{}{part}.{field}", self.name);
        self.add(&file, lines);
        let repeat =
            series.period().map_or(String::new(), |period| format!(", repeat = \"{} s\"", seconds(period)));
        Ok(format!("{field} = {{ series = \"{file}\"{repeat} }}\n"))
    }

    fn add(&mut self, file: &str, text: String) {
        self.files.push(Draft { path: self.folder.join(file), text });
    }
}

fn outages(direction: &DirectionTrace) -> String {
    if direction.outages.is_empty() {
        return String::new();
    }
    let mut toml = "outage = [\n".to_owned();
    for (from, to) in &direction.outages {
        let _ = writeln!(toml, "  {{ from = \"{} s\", to = \"{} s\" }},", seconds(*from), seconds(*to));
    }
    toml.push_str("]\n");
    if direction.outage_policy == OutagePolicy::Hold {
        toml.push_str("on_outage = \"hold\"\n");
    }
    toml
}

/// Seconds in decimal, without rounding.
fn seconds(time: Nanos) -> String {
    let text = format!("{}.{:09}", time / SECOND, time % SECOND);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted + "\""
}
