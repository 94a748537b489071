//! Results of a measurement, named as iperf3 names them where it has a name.

use serde::Serialize;

use super::protocol::{DatagramCounts, Outcome, Request};
use hawser_command::paths::{PathReport, by_interface};
use hawser_command::report::{FailureDetails, print};
use hawser_command::server_scheduler::ServerScheduler;
use hawser_command::session::Status;
use hawser_command::units;

/// All of it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Report {
    pub(super) start: Start,
    pub(super) intervals: Vec<Interval>,
    pub(super) end: End,
    /// Whether Ctrl-C ended it. What the other end saw is not known then.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) interrupted: bool,
    /// Why it ended early, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<FailureDetails>,
}

/// Conditions.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Start {
    pub(super) version: &'static str,
    pub(super) remote: String,
    pub(super) multipath: bool,
    pub(super) connect_seconds: f64,
    pub(super) test: Request,
    /// With --reverse and --scheduler: what the server said to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) server_scheduler: Option<ServerScheduler>,
}

/// What happened between two reports.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Interval {
    pub(super) streams: Vec<Sum>,
    pub(super) sum: Sum,
    pub(super) paths: Vec<PathReport>,
}

/// Bytes over a time.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Sum {
    pub(super) start: f64,
    pub(super) end: f64,
    pub(super) seconds: f64,
    pub(super) bytes: u64,
    pub(super) bits_per_second: f64,
}

impl Sum {
    pub(super) fn new(start: f64, end: f64, bytes: u64) -> Self {
        let seconds = (end - start).max(0.0);
        let bits_per_second = if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 };
        Sum { start, end, seconds, bytes, bits_per_second }
    }
}

/// The whole measurement.
#[derive(Clone, Debug, Serialize)]
pub(super) struct End {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sum_sent: Option<Sum>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sum_received: Option<Sum>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) datagrams: Option<Datagrams>,
    pub(super) paths: Vec<PathReport>,
    /// The connection at the end, in the words of `hawser ctl status --json`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) connection: Option<Status>,
}

/// Of datagrams.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Datagrams {
    pub(super) packets: u64,
    pub(super) lost_packets: u64,
    pub(super) lost_percent: f64,
    pub(super) out_of_order: u64,
    pub(super) jitter_ms: f64,
}

impl End {
    /// `None`: what that end did is not known.
    pub(super) fn new(sent: Option<&Outcome>, received: Option<&Outcome>, paths: Vec<PathReport>) -> Self {
        let counts = |outcome: Option<&Outcome>| outcome.and_then(|outcome| outcome.datagrams);
        let datagrams = counts(sent).zip(counts(received)).map(|(sent, received)| losses(sent, received));
        let sum = |outcome: &Outcome| Sum::new(0.0, outcome.seconds, outcome.bytes);
        End { sum_sent: sent.map(sum), sum_received: received.map(sum), datagrams, paths, connection: None }
    }

    pub(super) fn print(&self) {
        for (name, sum) in [("sent", &self.sum_sent), ("received", &self.sum_received)] {
            if let Some(sum) = sum {
                print(line(name, sum));
            }
        }
        if let Some(datagrams) = &self.datagrams {
            print(format_args!(
                "datagrams  {} sent, {} lost ({:.2} %), {} out of order, jitter {:.3} ms",
                datagrams.packets,
                datagrams.lost_packets,
                datagrams.lost_percent,
                datagrams.out_of_order,
                datagrams.jitter_ms
            ));
        }
        print_paths(&self.paths);
    }
}

fn print_paths(paths: &[PathReport]) {
    for path in by_interface(paths) {
        print(format_args!(
            "{:<12} share {:>3.0} %, rtt {:.1} ms (least {:.1}), loss {:.2} %, {}",
            path.interface,
            path.share * 100.0,
            path.rtt_ms,
            path.min_rtt_ms,
            path.loss * 100.0,
            path.state
        ));
    }
}

impl Interval {
    pub(super) fn print(&self) {
        let mut text = line("", &self.sum);
        for path in self.paths.iter().filter(|path| path.state != "closed") {
            text.push_str(&format!("  {} {}", path.interface, units::bit_rate(path.rate_bps)));
        }
        print(text);
    }
}

fn line(name: &str, sum: &Sum) -> String {
    format!(
        "{name:<9} {:>6.2}-{:<6.2} s  {:>10}  {:>13}",
        sum.start,
        sum.end,
        units::bytes(sum.bytes),
        units::bit_rate(sum.bits_per_second)
    )
}

fn losses(sent: DatagramCounts, received: DatagramCounts) -> Datagrams {
    let lost = sent.count.saturating_sub(received.count);
    Datagrams {
        packets: sent.count,
        lost_packets: lost,
        lost_percent: if sent.count == 0 { 0.0 } else { lost as f64 * 100.0 / sent.count as f64 },
        out_of_order: received.out_of_order,
        jitter_ms: received.jitter_ms,
    }
}
