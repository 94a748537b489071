//! The memory as text. A policy does no I/O: the driver gives a reader or a writer, and decides what becomes of a file that
//! cannot be read.
//!
//! ```text
//! hawser-sscc-prefixes 1 bbr cubic vegas c2tcp westwood illinois
//! 203.0.113.0 2 31.5 0 1.9 0 0 0 0
//! 2001:db8:: - 4000 1 0 0 0 0 0
//! end 2
//! ```
//!
//! Network, number of the link or `-`, seconds since the last use, weights.

use std::fmt;
use std::io::{self, BufRead, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use hawser_policy::{LinkId, Time};

use super::{CAPACITY, Entry, PrefixKey, PrefixMemory};
use crate::sscc::{CANDIDATES, Candidate};

const MAGIC: &str = "hawser-sscc-prefixes 1";
/// Far more than the longest line times the number of prefixes.
const MAX_BYTES: u64 = 1 << 20;

/// A memory that cannot be read.
#[derive(Debug)]
pub enum PrefixFileError {
    /// Reading failed.
    Io(io::Error),
    /// It is no such file, or was written by a version with other candidates.
    Header,
    /// It has no last line, or more prefixes than are remembered.
    Truncated,
    /// A line says something else than it should; counted from 1.
    Line(usize),
}

impl fmt::Display for PrefixFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "{error}"),
            Self::Header => write!(f, "expected a first line \"{}\"", header()),
            Self::Truncated => {
                write!(f, "expected a last line \"end COUNT\" after at most {CAPACITY} prefixes")
            }
            Self::Line(line) => {
                write!(f, "line {line}: expected a network, a link, an age and {CANDIDATES} weights")
            }
        }
    }
}

impl std::error::Error for PrefixFileError {}

fn header() -> String {
    format!("{MAGIC} {}", Candidate::ALL.map(Candidate::name).join(" "))
}

impl PrefixMemory {
    /// Writes what has not expired by `now`.
    pub fn write(&self, now: Time, output: &mut dyn Write) -> io::Result<()> {
        writeln!(output, "{}", header())?;
        let mut count = 0;
        for (key, entry) in self.entries.iter().filter(|(_, entry)| !entry.is_expired(now)) {
            let link = key.link.map_or_else(|| "-".to_owned(), |link| link.0.to_string());
            let age = (now.as_secs_f64() - entry.used_at).max(0.0);
            write!(output, "{} {link} {age}", key.network)?;
            entry.weights.iter().try_for_each(|weight| write!(output, " {weight}"))?;
            writeln!(output)?;
            count += 1;
        }
        writeln!(output, "end {count}")
    }

    /// Reads a memory that was written `ago`, which is `now`.
    pub fn read(input: &mut dyn BufRead, now: Time, ago: Duration) -> Result<PrefixMemory, PrefixFileError> {
        let mut memory = PrefixMemory::default();
        let mut lines = input.take(MAX_BYTES).lines().enumerate();
        let first = lines.next().map(|(_, line)| line).transpose().map_err(PrefixFileError::Io)?;
        if first.is_none_or(|line| line != header()) {
            return Err(PrefixFileError::Header);
        }
        // The header is line 0, so that the number of a line is how many prefixes came before it, and one.
        for (index, line) in lines {
            let line = line.map_err(PrefixFileError::Io)?;
            if let Some(expected) = line.strip_prefix("end ") {
                let is_whole = expected.parse() == Ok(index - 1) && index <= CAPACITY + 1;
                return if is_whole { Ok(memory) } else { Err(PrefixFileError::Truncated) };
            }
            let (key, mut entry) = entry(&line).ok_or(PrefixFileError::Line(index + 1))?;
            entry.used_at = now.as_secs_f64() - ago.as_secs_f64() - entry.used_at;
            if !entry.is_expired(now) {
                memory.insert(key, entry);
            }
        }
        Err(PrefixFileError::Truncated)
    }
}

/// A line, with the age in the place of the time.
fn entry(line: &str) -> Option<(PrefixKey, Entry)> {
    let mut words = line.split(' ');
    let network: IpAddr = words.next()?.parse().ok()?;
    let link = match words.next()? {
        "-" => None,
        link => Some(LinkId(link.parse().ok()?)),
    };
    let key = PrefixKey::new(SocketAddr::new(network, 0), link);
    // A positive number that is no infinity.
    let mut number = || words.next()?.parse().ok().filter(|value: &f64| (0.0..1e12).contains(value));
    let used_at = number()?;
    let mut weights = [0.0; CANDIDATES];
    for weight in &mut weights {
        *weight = number()?;
    }
    (words.next().is_none() && key.network == network).then_some((key, Entry { weights, used_at }))
}
