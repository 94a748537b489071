//! The progress of a transfer: one line per path, one for the total.

use std::fmt::Write as _;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use crate::paths::{Flow, PathReport, PathTable};
use crate::report;
use crate::silence::Shown;
use crate::units;

/// Between two drawings.
const INTERVAL: Duration = Duration::from_millis(200);
/// Without a byte for this long there is no telling when it ends.
const SILENCE: Duration = Duration::from_secs(2);
/// Width of the bar in characters.
const BAR: usize = 24;

/// How far a transfer is. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    done: Arc<AtomicU64>,
    /// 0: not known.
    length: Arc<AtomicU64>,
    /// Of the files that are transferred at the same time, if it is one of these or all of them.
    files: Option<Arc<Files>>,
}

/// Files that are transferred several at a time.
#[derive(Debug)]
struct Files {
    count: u64,
    complete: AtomicU64,
    /// Bytes received of all of them.
    bytes: Arc<AtomicU64>,
}

impl Progress {
    /// That of `count` files together. How long they are is known only when the last of them has begun, so it is not told.
    pub fn of_files(count: usize) -> Self {
        let bytes = Arc::<AtomicU64>::default();
        let files = Files { count: count as u64, complete: AtomicU64::new(0), bytes: bytes.clone() };
        Progress { done: bytes, files: Some(Arc::new(files)), ..Progress::default() }
    }

    /// That of one of these files.
    pub fn of_one(&self) -> Self {
        Progress { files: self.files.clone(), ..Progress::default() }
    }

    /// One of several files is complete.
    pub fn complete(&self) {
        if let Some(files) = &self.files {
            files.complete.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The bytes that are there already and the length of the whole, if it is known.
    pub fn begin(&self, done: u64, length: Option<u64>) {
        self.done.store(done, Ordering::Relaxed);
        self.length.store(length.unwrap_or(0), Ordering::Relaxed);
    }

    /// More bytes are there.
    pub fn add(&self, bytes: u64) {
        self.done.fetch_add(bytes, Ordering::Relaxed);
        if let Some(files) = &self.files {
            files.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    fn read(&self) -> (u64, Option<u64>) {
        let length = self.length.load(Ordering::Relaxed);
        (self.done.load(Ordering::Relaxed), (length > 0).then_some(length))
    }

    /// ` 3 of 20 files`, where there are several.
    fn files(&self) -> String {
        let text =
            |files: &Files| format!("  {} of {} files", files.complete.load(Ordering::Relaxed), files.count);
        self.files.as_deref().map(text).unwrap_or_default()
    }
}

/// Watches the paths and, on a terminal, draws.
#[derive(Debug)]
pub struct Meter {
    table: Arc<Mutex<PathTable>>,
    task: JoinHandle<()>,
    flow: Flow,
    visible: bool,
}

impl Meter {
    /// Begins to watch. `hidden` keeps it from drawing; so does a standard error that is no terminal.
    pub fn start(table: PathTable, flow: Flow, progress: Progress, hidden: bool) -> Self {
        let visible = !hidden && std::io::stderr().is_terminal();
        let shown = table.shown.clone();
        // One of several meters of a connection is seen at most.
        if visible {
            shown.set_drawn(true);
        }
        let table = Arc::new(Mutex::new(table));
        let mut drawing = Drawing::new(progress, shown);
        let watched = table.clone();
        let task = tokio::spawn(async move {
            let mut ticks = tokio::time::interval(INTERVAL);
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
            loop {
                ticks.tick().await;
                let mut table = watched.lock().await;
                table.sample();
                if visible {
                    drawing.draw(&table.report(flow), flow);
                }
            }
        });
        Meter { table, task, flow, visible }
    }

    /// Wipes the lines and returns what the paths did.
    pub async fn stop(self) -> Vec<PathReport> {
        self.task.abort();
        // The task that has the table does not draw at the same time.
        let mut table = self.table.lock().await;
        table.sample();
        if self.visible {
            table.shown.set_drawn(false);
            report::wipe();
        }
        table.report(self.flow)
    }
}

#[derive(Debug)]
struct Drawing {
    progress: Progress,
    rate: f64,
    last: (Instant, u64),
    /// When the last bytes came.
    moved: Instant,
    /// Whether the server answers at all.
    shown: Shown,
}

impl Drawing {
    fn new(progress: Progress, shown: Shown) -> Self {
        let now = Instant::now();
        Drawing { progress, rate: 0.0, last: (now, 0), moved: now, shown }
    }

    fn draw(&mut self, paths: &[PathReport], flow: Flow) {
        let now = Instant::now();
        let (done, length) = self.progress.read();
        let (then, before) = self.last;
        let elapsed = now.duration_since(then).as_secs_f64().max(0.001);
        // A resumed transfer begins with a jump that is no rate.
        if before > 0 {
            self.rate += 0.3 * (done.saturating_sub(before) as f64 * 8.0 / elapsed - self.rate);
        }
        self.last = (now, done);
        if done != before {
            self.moved = now;
        }
        let silent = now.duration_since(self.moved);
        // A line that is wrapped could not be erased: on narrow terminals the ends are cut off (DECAWM).
        let mut text = "\x1b[?7l".to_owned();
        let open = paths.iter().filter(|path| path.state != "closed");
        let mut lines = 0;
        for path in open {
            let _ = writeln!(text, "\x1b[2K{}", path_line(path, flow));
            lines += 1;
        }
        let _ = writeln!(text, "\x1b[2K{}\x1b[?7h", self.total(done, length, silent));
        report::draw(&text, lines + 1);
    }

    fn total(&self, done: u64, length: Option<u64>, silent: Duration) -> String {
        let who = if self.shown.is_silent() { "the server is silent" } else { "nothing" };
        total_line((done, length), &self.progress.files(), self.rate, (who, silent))
    }
}

/// One path in a line.
pub fn path_line(path: &PathReport, flow: Flow) -> String {
    let mut line = format!(
        "  {:<12} {:>13}  share {:>3.0} %  rtt {:>7.1} ms",
        path.interface,
        units::bit_rate(path.rate_bps),
        path.share * 100.0,
        path.rtt_ms,
    );
    // Of a download only the other end knows them.
    if flow == Flow::Sent {
        let _ =
            write!(line, "  loss {:>5.2} %  cwnd {:>10}", path.loss * 100.0, units::bytes(path.cwnd_bytes));
    }
    if path.backup {
        line.push_str("  backup");
    }
    if path.state != "active" {
        let _ = write!(line, "  {}", path.state);
    }
    line
}

fn total_line(
    (done, length): (u64, Option<u64>),
    files: &str,
    rate: f64,
    (who, silent): (&str, Duration),
) -> String {
    let rate_text = units::bit_rate(rate);
    let silence = (silent >= SILENCE).then(|| format!("{who} for {} s", silent.as_secs()));
    let Some(length) = length else {
        let silence = silence.map(|text| format!("  {text}")).unwrap_or_default();
        return format!("  {:<12} {rate_text:>13}  {}{files}{silence}", "total", units::bytes(done));
    };
    let part = (done as f64 / length as f64).clamp(0.0, 1.0);
    let filled = (part * BAR as f64) as usize;
    let left = length.saturating_sub(done) as f64 * 8.0 / rate;
    let eta = || Duration::try_from_secs_f64(left).map_or_else(|_| "-:--".to_owned(), units::clock);
    let outlook = silence.unwrap_or_else(|| format!("ETA {}", eta()));
    format!(
        "  {:<12} {rate_text:>13}  [{}{}] {:>3.0} %  {} of {}  {outlook}",
        "total",
        "#".repeat(filled),
        "-".repeat(BAR - filled),
        part * 100.0,
        units::bytes(done),
        units::bytes(length),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_that_stands_still_has_no_estimate() {
        let line =
            |silent| total_line((500, Some(1_000)), "", 4_000.0, ("nothing", Duration::from_millis(silent)));
        assert!(line(1_999).ends_with("ETA 0:01"), "{}", line(1_999));
        assert!(line(12_300).ends_with("nothing for 12 s"), "{}", line(12_300));
        assert!(total_line((5, None), "", 0.0, ("nothing", SILENCE)).ends_with("5 B  nothing for 2 s"));
    }

    #[test]
    fn files_beside_each_other_are_counted_together() {
        let all = Progress::of_files(3);
        let [one, other] = [all.of_one(), all.of_one()];
        // What was there already is of the file, and did not come over the network.
        one.begin(100, Some(400));
        one.add(300);
        one.complete();
        other.begin(0, None);
        other.add(7);
        assert_eq!((one.read(), other.read(), all.read()), ((400, Some(400)), (7, None), (307, None)));
        assert_eq!(all.files(), "  1 of 3 files");
    }
}
