//! From files to one trace.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use hawser_link::{Direction, MILLISECOND, Nanos, SECOND};

use crate::format::Hints;
use crate::lines::Source;
use crate::{DirectionTrace, Format, LinkTrace, Trace, TraceError};

/// Larger files are no traces.
const LARGEST: u64 = 1 << 30;
/// Longer than any recording; times that are wrong look like years.
const LONGEST: Nanos = 31 * 86_400 * SECOND;

/// Fails if a trace covers more than makes sense.
pub(crate) fn check_duration(source: Source<'_>, duration: Nanos) -> Result<(), TraceError> {
    if duration <= LONGEST {
        return Ok(());
    }
    let days = duration / (86_400 * SECOND);
    Err(source.error(format!("it covers {days} days; a trace of at most 31 makes sense")))
}

/// A file to read, or a text given in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Name for its link, instead of the one drawn from the file name.
    pub link: Option<String>,
    /// The file; `-` is standard input.
    pub path: PathBuf,
    /// The content, if it was given instead of a file.
    pub text: Option<String>,
}

/// How inputs are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadOptions {
    /// The format of all inputs; otherwise each is recognised by its content.
    pub format: Option<Format>,
    /// The direction that inputs without one are about; both otherwise.
    pub direction: Option<Direction>,
    /// Time between the lines of a format that has no time stamps.
    pub interval: Nanos,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { format: None, direction: None, interval: 10 * MILLISECOND }
    }
}

impl Input {
    /// Understands `FILE`, `LINK=FILE` and a scenario string of quic-network-simulator.
    pub fn new(argument: &str) -> Self {
        let whole = Path::new(argument);
        if !whole.exists() && Format::recognise("", argument).is_ok_and(|format| format == Format::Simulator)
        {
            let name = argument.split_whitespace().next().unwrap_or_default();
            return Self { link: None, path: name.into(), text: Some(argument.to_owned()) };
        }
        match argument.split_once('=') {
            Some((link, file)) if !whole.exists() && !link.is_empty() && !link.contains('/') => {
                Self { link: Some(link.to_owned()), ..Self::new(file) }
            }
            _ => Self { link: None, path: whole.to_owned(), text: None },
        }
    }

    fn read(&self) -> Result<String, TraceError> {
        if let Some(text) = &self.text {
            return Ok(text.clone());
        }
        let file = self.path.display().to_string();
        let failed = |source| TraceError::Read { file: file.clone(), source };
        let mut bytes = Vec::new();
        if self.path.as_os_str() == "-" {
            std::io::stdin().lock().take(LARGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
        } else if self.path.is_dir() {
            // What `hawser measure` has left.
            for file in records_of(&self.path).map_err(failed)? {
                File::open(file)
                    .and_then(|opened| opened.take(LARGEST + 1).read_to_end(&mut bytes))
                    .map_err(failed)?;
                bytes.push(b'\n');
                if bytes.len() as u64 > LARGEST {
                    break;
                }
            }
        } else {
            let opened = File::open(&self.path).map_err(failed)?;
            opened.take(LARGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
        }
        if bytes.len() as u64 > LARGEST {
            return Err(TraceError::NotText { file, reason: "it is larger than 1 GiB" });
        }
        String::from_utf8(bytes).map_err(|_| TraceError::NotText { file, reason: "it is not text" })
    }
}

/// The files of a folder that may have records, by name.
fn records_of(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        files.push(entry?.path());
    }
    files.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    if files.is_empty() {
        let reason = "a folder without records of `hawser measure` (.jsonl)";
        return Err(std::io::Error::new(std::io::ErrorKind::IsADirectory, reason));
    }
    files.sort();
    Ok(files)
}

/// Reads all inputs and puts them together.
///
/// # Errors
/// Fails on the first file that cannot be read or is wrong, and when two say the same about a link.
pub fn read(inputs: &[Input], options: &ReadOptions) -> Result<Trace, TraceError> {
    let mut whole: Option<Trace> = None;
    for input in inputs {
        let file = input.path.display().to_string();
        let mut trace = parse(&file, &input.read()?, options)?;
        if let Some(name) = &input.link {
            match &mut trace.links[..] {
                [link] => link.name.clone_from(name),
                links => {
                    let names: Vec<_> = links.iter().map(|link| link.name.as_str()).collect();
                    let names = names.join(", ");
                    return Err(TraceError::Unfitting(format!(
                        "{name}={file}: the file has several links, {names}; they cannot all be named {name}"
                    )));
                }
            }
        }
        whole = Some(match whole {
            None => trace,
            Some(before) => join(before, trace, &file)?,
        });
    }
    whole.ok_or_else(|| TraceError::Unfitting("no trace given; expected at least one file".to_owned()))
}

/// Reads one text; `file` names it in messages and says what its name can say.
///
/// # Errors
/// Fails when the format is not recognised, or on the first line that is wrong.
pub fn parse(file: &str, text: &str, options: &ReadOptions) -> Result<Trace, TraceError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let format = match options.format {
        Some(format) => format,
        None => Format::recognise(file, text)?,
    };
    let source = Source { file, text, format };
    let hints = Hints { interval: options.interval.max(1) };
    let mut trace = format.parse(source, &name_of(file), hints)?;
    check_duration(source, trace.duration)?;
    if let (Some(only), Format::Mahimahi | Format::Delay | Format::Pensieve | Format::Series) =
        (options.direction, format)
    {
        for link in &mut trace.links {
            restrict(link, only);
        }
    }
    Ok(trace)
}

/// Leaves one direction of a link that says the same about both.
fn restrict(link: &mut LinkTrace, only: Direction) {
    if link.up == link.down {
        match only {
            Direction::Up => link.down = DirectionTrace::default(),
            Direction::Down => link.up = DirectionTrace::default(),
        }
    }
}

/// The name of a file without folders, endings, and what tells the halves of a pair apart.
fn name_of(file: &str) -> String {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    const ENDINGS: [&str; 13] = [
        ".rate", ".delay", ".loss", ".up", ".down", ".csv", ".txt", ".log", ".out", ".trace", ".dat", ".com",
        ".jsonl",
    ];
    let mut stem = name;
    while let Some(shorter) = ENDINGS.iter().find_map(|ending| stem.strip_suffix(ending)) {
        stem = shorter;
    }
    let halves = ["bw_", "bandwidth_", "delay_", "owd_"];
    let stem = halves.iter().find_map(|half| stem.strip_prefix(half)).unwrap_or(stem);
    if stem.is_empty() || stem == "-" { "link".to_owned() } else { stem.to_owned() }
}

/// Puts two traces together; links of the same name complete each other.
fn join(mut whole: Trace, added: Trace, file: &str) -> Result<Trace, TraceError> {
    whole.duration = whole.duration.max(added.duration);
    whole.notes.extend(added.notes);
    for link in added.links {
        match whole.links.iter_mut().find(|known| known.name == link.name) {
            Some(known) => complete(known, link).map_err(|(link, what)| TraceError::Conflict {
                link,
                what,
                file: file.to_owned(),
            })?,
            None => whole.links.push(link),
        }
    }
    Ok(whole)
}

/// Adds what is missing; fails with the link and what is there twice.
fn complete(known: &mut LinkTrace, added: LinkTrace) -> Result<(), (String, &'static str)> {
    fn fill<T>(known: &mut Option<T>, added: Option<T>, what: &'static str) -> Result<(), &'static str> {
        match (&known, added) {
            (Some(_), Some(_)) => return Err(what),
            (None, Some(added)) => *known = Some(added),
            (_, None) => {}
        }
        Ok(())
    }
    let name = known.name.clone();
    let pairs = [(&mut known.up, added.up), (&mut known.down, added.down)];
    for (known, added) in pairs {
        let DirectionTrace { rate, delay, loss, outages, outage_policy, queue } = added;
        fill(&mut known.rate, rate, "rate")
            .and_then(|()| fill(&mut known.delay, delay, "delay"))
            .and_then(|()| fill(&mut known.loss, loss, "loss"))
            .and_then(|()| fill(&mut known.queue, queue, "queue"))
            .map_err(|what| (name.clone(), what))?;
        if known.outages.is_empty() {
            (known.outages, known.outage_policy) = (outages, outage_policy);
        } else if !outages.is_empty() && outages != known.outages {
            return Err((name, "outages"));
        }
    }
    known.events.extend(added.events);
    known.events.sort_by_key(|event| event.from);
    Ok(())
}
