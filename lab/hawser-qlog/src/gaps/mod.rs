//! Gaps in delivery, and what held up the head of the line.

mod cause;
mod story;

use serde::Serialize;

use crate::delivery::Wait;
use crate::study::Study;
use crate::trace::{NEVER, Packet};

/// A time in which no data came in order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gap {
    /// When it began, in seconds on the time axis of the study.
    pub from_s: f64,
    /// When it ended.
    pub to_s: f64,
    /// Its length.
    pub length_ms: f64,
    /// The stream that went on at its end.
    pub stream: u64,
    /// The byte of that stream which everything waited for.
    pub offset: u64,
    /// Bytes behind that one which were there and had to wait.
    pub waiting_bytes: u64,
    /// What caused it.
    pub cause: Cause,
    /// The path that is to blame, where one is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<u64>,
    /// The cause in a sentence.
    pub because: String,
    /// What happened, in the order of time.
    pub story: Vec<Line>,
}

/// Something that happened around a gap.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// In seconds on the time axis of the study.
    pub at_s: f64,
    /// What happened.
    pub text: String,
}

/// Kinds of causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The path that carried the first missing bytes fell silent.
    PathSilent,
    /// They were lost and had to be sent again.
    Loss,
    /// They took longer than the bytes behind them, on a slower path.
    SlowPath,
    /// The sender had not sent them: its windows were full.
    WindowFull,
    /// The sender had nothing to send, or was not allowed to.
    NothingSent,
    /// Nothing arrived; only the trace of the other end could tell why.
    NothingArrived,
    /// Later bytes arrived before them; only the trace of the sender could tell why.
    OutOfOrder,
}

impl Cause {
    /// Returns the cause in two or three words.
    pub fn words(self) -> &'static str {
        match self {
            Cause::PathSilent => "path fell silent",
            Cause::Loss => "packets lost",
            Cause::SlowPath => "slow path",
            Cause::WindowFull => "windows full",
            Cause::NothingSent => "nothing sent",
            Cause::NothingArrived => "nothing arrived",
            Cause::OutOfOrder => "earlier bytes missing",
        }
    }
}

/// Explains these times, the earliest first.
pub(crate) fn explain(study: &Study, waits: &[Wait]) -> Vec<Gap> {
    let sent = transmissions(study, waits);
    let mut gaps: Vec<Gap> = waits
        .iter()
        .zip(sent)
        .map(|(wait, sent)| {
            let cause::Verdict { cause, path, because } = cause::judge(study, wait, &sent);
            Gap {
                from_s: seconds(wait.from_us as i64),
                to_s: seconds(wait.to_us as i64),
                length_ms: (wait.to_us - wait.from_us) as f64 / 1e3,
                stream: wait.stream,
                offset: wait.offset,
                waiting_bytes: wait.buffered,
                cause,
                path,
                because,
                story: story::tell(study, wait, &sent),
            }
        })
        .collect();
    gaps.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
    gaps
}

/// One time that the first missing byte was sent, with times on the axis of the study.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transmission {
    pub(crate) sent_us: i64,
    pub(crate) lost_us: Option<i64>,
    pub(crate) path: u64,
    pub(crate) number: u64,
}

/// Transmissions of one byte that are kept.
const MAX_TRANSMISSIONS: usize = 64;

/// For each time, when the byte that was waited for had been sent, the first transmission first.
fn transmissions(study: &Study, waits: &[Wait]) -> Vec<Vec<Transmission>> {
    let mut found = vec![Vec::new(); waits.len()];
    let Some(sender) = study.sender() else { return found };
    let mut wanted: Vec<(u64, u64, usize)> =
        waits.iter().enumerate().map(|(index, wait)| (wait.stream, wait.offset, index)).collect();
    wanted.sort_unstable();
    for packet in &sender.sent {
        for chunk in sender.data_of(packet) {
            let first = wanted
                .partition_point(|&(stream, offset, _)| (stream, offset) < (chunk.stream, chunk.offset));
            let inside = wanted[first..]
                .iter()
                .take_while(|(stream, offset, _)| *stream == chunk.stream && *offset < chunk.end());
            for &(_, _, index) in inside {
                let end = waits[index].to_us as i64;
                let sent_us = study.sender_time(packet.at_us);
                if sent_us <= end && found[index].len() < MAX_TRANSMISSIONS {
                    found[index].push(transmission(study, packet, sent_us));
                }
            }
        }
    }
    found
}

fn transmission(study: &Study, packet: &Packet, sent_us: i64) -> Transmission {
    Transmission {
        sent_us,
        lost_us: (packet.lost_us != NEVER).then(|| study.sender_time(packet.lost_us)),
        path: packet.path,
        number: packet.number,
    }
}

pub(crate) fn seconds(micros: i64) -> f64 {
    micros as f64 / 1e6
}

/// `12 ms`, `1.20 s`.
pub(crate) fn length(micros: i64) -> String {
    if micros >= 1_000_000 {
        format!("{:.2} s", seconds(micros))
    } else {
        format!("{:.0} ms", micros as f64 / 1e3)
    }
}

/// `12 KiB`.
pub(crate) fn bytes(count: u64) -> String {
    match count {
        0..1024 => format!("{count} bytes"),
        1024..1_048_576 => format!("{} KiB", count >> 10),
        _ => format!("{:.1} MiB", count as f64 / 1_048_576.0),
    }
}
