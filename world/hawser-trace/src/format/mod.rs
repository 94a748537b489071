//! The formats, and how they are told apart.

mod iperf3;
mod mahimahi;
mod measure;
mod nettrack;
mod pam;
mod ping;
mod ping_dialect;
mod series;
mod simulator;
mod victoria;

pub use mahimahi::chances_of;

use hawser_link::Nanos;
use serde::Serialize;

use crate::lines::Source;
use crate::{Trace, TraceError};

/// Bytes that are looked at to recognise a format.
const LOOKED_AT: usize = 64 << 10;

/// A trace format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Mahimahi: a line per chance to send 1500 bytes, in ms; repeats.
    Mahimahi,
    /// One delay per line in ms, the lines a fixed time apart: the delay half of a LeoReplayer pair.
    Delay,
    /// `ul_Mbps, dl_Mbps, ul_ms, dl_ms, ul_loss, dl_loss, t_ms`.
    Victoria,
    /// `seconds Mbit/s`; the rate is that of the time before the line.
    Pensieve,
    /// `seconds value`, the value holds from then on: the series files of a scenario.
    Series,
    /// A scenario string of quic-network-simulator.
    Simulator,
    /// Two carriers in one CSV file, with handover marks (PAM 2025 multi-carrier drives).
    Pam,
    /// What `ping` prints.
    Ping,
    /// Records of `hawser measure`, JSON lines.
    Measure,
    /// What G-NetTrack writes: the Irish 4G and 5G datasets.
    Nettrack,
    /// What `iperf3 --json` prints.
    Iperf3,
}

/// What the reader of a format has to know besides the text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hints {
    /// Time between the lines of a format without time stamps.
    pub(crate) interval: Nanos,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 11] = [
        Self::Mahimahi,
        Self::Delay,
        Self::Victoria,
        Self::Pensieve,
        Self::Series,
        Self::Simulator,
        Self::Pam,
        Self::Ping,
        Self::Measure,
        Self::Nettrack,
        Self::Iperf3,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mahimahi => "mahimahi",
            Self::Delay => "delay",
            Self::Victoria => "victoria",
            Self::Pensieve => "pensieve",
            Self::Series => "series",
            Self::Simulator => "quic-network-simulator",
            Self::Pam => "pam",
            Self::Ping => "ping",
            Self::Measure => "measure",
            Self::Nettrack => "nettrack",
            Self::Iperf3 => "iperf3",
        }
    }

    /// What its files look like.
    pub fn looks(self) -> &'static str {
        match self {
            Self::Mahimahi => "lines of one whole number: ms at which 1500 bytes can leave, not decreasing",
            Self::Delay => "lines of one number: the one-way delay in ms, 10 ms apart (or --interval)",
            Self::Victoria => "lines of 7 numbers: ul_Mbps,dl_Mbps,ul_ms,dl_ms,ul_loss,dl_loss,t_ms",
            Self::Pensieve => "lines of two numbers: seconds, Mbit/s of the time before",
            Self::Series => {
                "lines of two numbers: seconds, value from then on (files *.rate, *.delay, *.loss)"
            }
            Self::Simulator => "a line such as: simple-p2p --delay=15ms --bandwidth=10Mbps --queue=25",
            Self::Pam => {
                "CSV with TIME_STAMP_x, DLtput_x or ULtput_x, modified_tech_x, handover_status_x and the same with _y"
            }
            Self::Ping => "the output of ping: lines with icmp_seq= and time=, or as Windows writes them",
            Self::Measure => "records of hawser measure: JSON objects with a kind and a run; or their folder",
            Self::Nettrack => {
                "CSV of G-NetTrack (Irish 4G and 5G datasets): Timestamp, DL_bitrate, UL_bitrate, ..."
            }
            Self::Iperf3 => "the output of iperf3 --json: intervals with a sum",
        }
    }

    /// The format of a file, from its content; of its name only the ending counts, and whether it says `delay`.
    ///
    /// # Errors
    /// Fails for an empty text and for one that looks like none of the formats.
    pub fn recognise(file: &str, text: &str) -> Result<Self, TraceError> {
        let head = head(text);
        let source = Source { file, text: head, format: Self::Mahimahi };
        let mut lines = source.lines();
        let Some(first) = lines.next() else {
            return Err(TraceError::Empty { file: file.to_owned(), expected: "a trace".to_owned() });
        };
        let is_number = |word: &&str| word.parse::<f64>().is_ok();
        let words = first.words();
        let numbers = words.iter().filter(|word| is_number(word)).count();
        // The whole line: a record is longer than what is looked at otherwise.
        let whole = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let format = if measure::is_record(whole) {
            Some(Self::Measure)
        } else if iperf3::is_report(head) {
            Some(Self::Iperf3)
        } else if nettrack::is_header(first.text) {
            Some(Self::Nettrack)
        } else if first.text.contains("TIME_STAMP_x") {
            Some(Self::Pam)
        } else if ping_dialect::is_ping(head) || words.contains(&"PING") {
            Some(Self::Ping)
        } else if simulator::is_scenario(first.text) {
            Some(Self::Simulator)
        } else if words.len() == 7 && (numbers == 7 || victoria::is_header(&words)) {
            Some(Self::Victoria)
        } else if (words.len(), numbers) == (2, 2) {
            let is_series = series::Quantity::of(file).is_some();
            Some(if is_series { Self::Series } else { Self::Pensieve })
        } else if (words.len(), numbers) == (1, 1) {
            Some(if looks_like_delay(file, &source) { Self::Delay } else { Self::Mahimahi })
        } else {
            None
        };
        format.ok_or_else(|| TraceError::Unrecognised {
            file: file.to_owned(),
            found: first.text.chars().take(60).collect(),
            known: Self::table(),
        })
    }

    /// The formats, one per line, for messages.
    pub fn table() -> String {
        let line = |format: &Self| format!("  {:<23}{}", format.name(), format.looks());
        Self::ALL.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// Reads a text of this format. The trace has the name `name`, and so has its link if the format names none.
    pub(crate) fn parse(self, source: Source<'_>, name: &str, hints: Hints) -> Result<Trace, TraceError> {
        match self {
            Self::Mahimahi => mahimahi::parse(source, name),
            Self::Delay => series::parse_delays(source, name, hints.interval),
            Self::Victoria => victoria::parse(source, name),
            Self::Pensieve => series::parse_pensieve(source, name),
            Self::Series => series::parse_series(source, name),
            Self::Simulator => simulator::parse(source, name),
            Self::Pam => pam::parse(source, name),
            Self::Ping => ping::parse(source, name),
            Self::Measure => measure::parse(source, name),
            Self::Nettrack => nettrack::parse(source, name),
            Self::Iperf3 => iperf3::parse(source, name),
        }
    }
}

/// The delivery chances of a mahimahi file in ms: at least one, not decreasing, the last above 0. `file` names it in
/// messages.
///
/// # Errors
/// Fails on the first line that is wrong.
pub fn chances(file: &str, text: &str) -> Result<Vec<u32>, TraceError> {
    mahimahi::parse_chances(Source { file, text, format: Format::Mahimahi })
}

/// Values over time, whatever their unit: lines of `seconds value` with increasing times, or of `value` alone that are
/// one `interval` apart. At least one; none is negative. `file` names it in messages.
///
/// # Errors
/// Fails on the first line that is wrong.
pub fn points(file: &str, text: &str, interval: Option<Nanos>) -> Result<Vec<(Nanos, f64)>, TraceError> {
    series::parse_points(Source { file, text, format: Format::Series }, interval)
}

/// One column is a list of chances or of delays: chances never go back and are whole.
fn looks_like_delay(file: &str, source: &Source<'_>) -> bool {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file).to_ascii_lowercase();
    if name.contains("delay") || name.contains("owd") {
        return true;
    }
    if name.ends_with(".up") || name.ends_with(".down") {
        return false;
    }
    let mut before = 0.0;
    let mut going_back = 0;
    let mut lines = 0;
    for line in source.lines() {
        lines += 1;
        match line.text.parse::<f64>() {
            // One line that goes back in a list of chances is a mistake in it; many are another format.
            Ok(value) => {
                if value.fract() != 0.0 {
                    return true;
                }
                going_back += usize::from(value < before);
                before = value;
            }
            // What is no number is complained about when the lines are read.
            Err(_) => break,
        }
    }
    going_back * 10 > lines
}

/// The beginning of a text, whole lines of it if it is long.
fn head(text: &str) -> &str {
    if text.len() <= LOOKED_AT {
        return text;
    }
    let mut end = LOOKED_AT;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let head = &text[..end];
    head.rfind('\n').map_or(head, |line_end| &head[..line_end])
}
