//! What the controllers of the transfer did, from what is noted of their calls.

use std::collections::BTreeMap;

use hawser_policy::{Note, PathId, Time};
use hawser_sim::run::Probes;

/// A window or a rate that falls to less than this share in one step was reduced.
const REDUCED: f64 = 0.85;

/// The notes of the core on controllers, of which those of the client count: the server sends acknowledgements only.
pub(super) const NOTES: [&str; 6] = [
    "controller.begin",
    "controller.sent",
    "controller.ack",
    "controller.loss",
    "controller.timeout",
    "controller.link",
];

/// What the controllers of the client did.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// Windows that were reduced for a loss or mark: when, subflow.
    pub(super) reductions: Vec<(Time, usize)>,
    /// Recovery epochs: losses that may have been congestion.
    pub(super) epochs: u64,
    /// Falls of the pacing rate, or of the window for any reason.
    pub(super) back_offs: u64,
    /// Slow starts up to a threshold.
    pub(super) starts: Vec<Start>,
    /// The first subflow's window after each acknowledgement of the first four seconds.
    pub(super) beginning: Vec<(Time, f64)>,
}

/// A slow start up to a threshold that is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    pub(super) at: Time,
    pub(super) window: f64,
    pub(super) threshold: f64,
    /// Least round-trip time of the path then, seconds.
    pub(super) min_rtt: f64,
    /// When the first packet left that the window let out. Before, it may be filled by what was lost with a satellite.
    pub(super) sent: Option<Time>,
    /// When it ended, and the smoothed round-trip time then in seconds.
    pub(super) end: Option<(Time, f64)>,
}

/// The controller that a path has at a time.
#[derive(Debug)]
struct Controller {
    /// Number of the link.
    subflow: usize,
    min_rtt: f64,
    pacing: Option<f64>,
    /// The slow start that is under way, by its number in the log.
    start: Option<usize>,
}

impl Log {
    /// Of the transfer of a run.
    pub(super) fn of(probes: &Probes) -> Log {
        let mut log = Log::default();
        let mut controllers: BTreeMap<PathId, Controller> = BTreeMap::new();
        let ours = probes.notes().filter(|(flow, note)| *flow == "main" && note.side.is_client());
        for (path, note) in ours.filter_map(|(_, note)| Some((note.path?, note))) {
            if note.name == "controller.begin" {
                controllers.insert(path, Controller::new(note));
            } else if let Some(controller) = controllers.get_mut(&path) {
                controller.add(note, &mut log);
            }
        }
        log
    }
}

impl Controller {
    fn new(begin: &Note) -> Controller {
        let subflow = begin.number("link").unwrap_or(0.0) as usize;
        Controller { subflow, min_rtt: 0.0, pacing: begin.number("pacing_bps"), start: None }
    }

    fn add(&mut self, note: &Note, log: &mut Log) {
        let window = note.number("window_bytes").unwrap_or(0.0);
        match note.name {
            "controller.sent" => {
                let is_let_out = note.number("in_flight_bytes").is_some_and(|bytes| bytes <= window);
                if let Some(start) = self.start.filter(|_| is_let_out) {
                    log.starts[start].sent.get_or_insert(note.at);
                }
                return;
            }
            "controller.ack" => self.min_rtt = note.number("min_rtt_s").unwrap_or(0.0),
            _ => {}
        }
        self.update(note, window, log);
        match note.name {
            "controller.ack" if self.subflow == 0 && note.at < Time::from_secs(4) => {
                log.beginning.push((note.at, window));
            }
            "controller.loss" => {
                log.epochs += u64::from(note.number("new_epoch") == Some(1.0));
                if fell(note.number("before_window_bytes"), Some(window)) {
                    log.reductions.push((note.at, self.subflow));
                }
            }
            _ => {}
        }
    }

    /// After a call that may have moved the window.
    fn update(&mut self, note: &Note, window: f64, log: &mut Log) {
        let [threshold, before] = ["threshold_bytes", "before_threshold_bytes"].map(|name| note.number(name));
        let is = |name: &str| note.number(name) == Some(1.0);
        let in_slow_start = is("in_slow_start");
        if let Some(start) = self.start.take_if(|_| !in_slow_start) {
            log.starts[start].end = Some((note.at, note.number("smoothed_rtt_s").unwrap_or(0.0)));
        }
        let begins = !is("before_in_slow_start") || before != threshold;
        if let Some(threshold) = threshold.filter(|_| in_slow_start && begins) {
            self.start = Some(log.starts.len());
            let (at, min_rtt) = (note.at, self.min_rtt);
            log.starts.push(Start { at, window, threshold, min_rtt, sent: None, end: None });
        }
        let pacing = note.number("pacing_bps");
        let rate_fell = fell(self.pacing, pacing);
        log.back_offs += u64::from(rate_fell || fell(note.number("before_window_bytes"), Some(window)));
        self.pacing = pacing;
    }
}

fn fell(before: Option<f64>, after: Option<f64>) -> bool {
    before.zip(after).is_some_and(|(before, after)| after < REDUCED * before)
}
