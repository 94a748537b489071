//! Runs cells on several threads.

use std::any::Any;
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use hawser_scenario::Scenario;
use hawser_sim::run::Outcome;
use serde::Serialize;

use super::folder::ShardFolder;
use super::{
    CELLS, CellOutput, CellResult, Folder, Found, Manifest, Shard, Sweep, SweepError, TableName, Work, merge,
    table_file,
};
use crate::data::table::{Cell, Schema, TableError, TableWriter, read_table};

/// Runs one scenario; an error says why it cannot.
pub type Simulate = dyn Fn(&Scenario) -> Result<Outcome, String> + Send + Sync;

/// The cells of a plan, and what runs them.
struct Simulated {
    sweep: Arc<Sweep>,
    simulate: Arc<Simulate>,
}

impl Work for Simulated {
    type Output = Outcome;

    fn manifest(&self) -> Manifest {
        self.sweep.manifest()
    }

    fn description(&self) -> Option<(&str, &str)> {
        Some(("plan.toml", &self.sweep.text))
    }

    fn run(&self, cell: usize) -> Result<Outcome, String> {
        let scenario = self.sweep.scenario(&self.sweep.plan().cells[cell]);
        scenario.map_err(|error| error.to_string()).and_then(|scenario| (self.simulate)(&scenario))
    }

    fn schema(&self, table: &str) -> Result<Schema, TableError> {
        TableName::named(table).unwrap_or(TableName::Cells).schema(&self.sweep.plan().factors)
    }

    fn write(
        &self,
        table: &str,
        writer: &mut dyn TableWriter,
        result: &CellResult<Outcome>,
    ) -> Result<(), TableError> {
        TableName::named(table).unwrap_or(TableName::Cells).write(writer, &self.sweep, result)
    }
}

/// How often the watcher is asked whether to go on.
const HEARTBEAT: Duration = Duration::from_millis(100);
/// Results are kept in memory for at least and at most this long before they become a part: a hundredth of the time
/// that has passed, so that a kill costs little and a long sweep does not leave thousands of parts.
const SHORTEST_PART: Duration = Duration::from_millis(250);
const LONGEST_PART: Duration = Duration::from_secs(60);
/// Rows after which results become a part in any case, which bounds the memory that they take.
const MOST_ROWS: usize = 1 << 15;

/// How a sweep is run.
#[derive(Debug, Clone)]
pub struct RunSettings {
    /// Where results go.
    pub folder: PathBuf,
    /// Threads; at least one.
    pub threads: usize,
    /// Which of the cells.
    pub shard: Shard,
}

/// How far a sweep is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Cells of the shard.
    pub cells: usize,
    /// Of these, finished by earlier runs.
    pub found: usize,
    /// Of these, finished by this run.
    pub ran: usize,
    /// Of those that this run has finished, how many failed.
    pub failed: usize,
    /// Time since it began.
    pub elapsed: Duration,
}

/// A cell that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CellFailure {
    /// Its place in the plan, counted from 0.
    pub cell: usize,
    /// Why.
    pub message: String,
}

/// What a run of a sweep did.
#[derive(Debug, Clone, Default)]
pub struct RunSummary {
    /// How far it came.
    pub progress: Progress,
    /// Whether the watcher ended it.
    pub stopped: bool,
    /// Cells of the whole plan that have no result yet.
    pub missing: usize,
    /// Cells of the whole plan that failed.
    pub failed: usize,
    /// The first of these, in the order of the plan.
    pub first_failure: Option<CellFailure>,
    /// Packets and events of the cells that this run has finished.
    pub packets: u64,
    /// Events of these.
    pub events: u64,
    /// Parts that are damaged, with what is wrong: their cells ran again.
    pub damaged: Vec<(PathBuf, String)>,
}

/// The cells that are left, taken by one thread after the other.
struct Queue<W> {
    work: Arc<W>,
    cells: Mutex<VecDeque<usize>>,
}

/// Runs every cell of the shard that has no result yet, or failed before. `watch` is called after each cell and several times a
/// second, and may end the run: cells that are finished are kept, those that are running are given up.
///
/// # Errors
/// [`SweepError`]. What was finished before is kept. A cell that fails is no error.
pub fn run(
    sweep: &Arc<Sweep>,
    settings: &RunSettings,
    simulate: &Arc<Simulate>,
    watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<RunSummary, SweepError> {
    let work = Simulated { sweep: sweep.clone(), simulate: simulate.clone() };
    run_work(&Arc::new(work), settings, watch)
}

/// The same for any work.
///
/// # Errors
/// As [`run`].
pub fn run_work<W: Work>(
    work: &Arc<W>,
    settings: &RunSettings,
    watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<RunSummary, SweepError> {
    let began = Instant::now();
    let folder = Folder::begin(&settings.folder, &**work)?;
    let cells = folder.manifest().cells;
    let found = folder.look()?;
    let shard_folder = ShardFolder::open(&folder, settings.shard, &found)?;
    // Now that nobody else writes to the shard: what has been finished in the meantime?
    let found = folder.look()?;
    let mut finished = found.finished(cells);
    let mut failures = found.failures()?;
    let again: Vec<usize> = failures.keys().copied().filter(|cell| settings.shard.has(*cell)).collect();
    for cell in &again {
        failures.remove(cell);
        finished[*cell] = false;
    }
    if !again.is_empty() {
        merge::forget(&folder)?;
    }
    let mine = (0..cells).filter(|cell| settings.shard.has(*cell));
    let (there, left): (Vec<usize>, Vec<usize>) = mine.partition(|cell| finished[*cell]);
    if !left.is_empty() {
        same_program(&**work, &folder, &found)?;
    }
    let mut writer = Writer {
        work: &**work,
        folder: shard_folder,
        began,
        written_at: Instant::now(),
        results: Vec::new(),
        rows: 0,
        summary: RunSummary {
            progress: Progress { cells: there.len() + left.len(), found: there.len(), ..Progress::default() },
            missing: finished.iter().filter(|is_finished| !**is_finished).count(),
            failed: failures.len(),
            first_failure: failures.into_iter().next().map(|(cell, message)| CellFailure { cell, message }),
            damaged: found.damaged,
            ..RunSummary::default()
        },
    };
    let threads = settings.threads.clamp(1, left.len().max(1));
    let (sender, receiver) = sync_channel(threads * 4);
    let cells = Mutex::new(left.into());
    let queue = Arc::new(Queue { work: work.clone(), cells });
    for _ in 0..threads {
        let (queue, sender) = (queue.clone(), sender.clone());
        // Not joined: a cell that is given up must not keep the process from ending.
        thread::spawn(move || queue.work(&sender));
    }
    drop(sender);
    let result = writer.collect(&receiver, watch);
    queue.clear();
    result.map(|()| writer.summary)
}

impl<W: Work> Queue<W> {
    fn next(&self) -> Option<usize> {
        self.cells.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    fn clear(&self) {
        self.cells.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn work(&self, results: &SyncSender<CellResult<W::Output>>) {
        while let Some(cell) = self.next() {
            if results.send(run_cell(&*self.work, cell)).is_err() {
                break;
            }
        }
    }
}

fn run_cell<W: Work>(work: &W, cell: usize) -> CellResult<W::Output> {
    let began = Instant::now();
    // A mistake in the program that one of a million cells meets must not cost the others.
    let outcome =
        catch_unwind(AssertUnwindSafe(|| work.run(cell))).unwrap_or_else(|panic| Err(panic_message(&*panic)));
    CellResult { cell, outcome, wall_seconds: began.elapsed().as_secs_f64() }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("the program broke down: {}", text.unwrap_or("no reason given"))
}

/// Takes results and makes parts of them.
struct Writer<'a, W: Work> {
    work: &'a W,
    folder: ShardFolder,
    began: Instant,
    written_at: Instant,
    results: Vec<CellResult<W::Output>>,
    /// Rows of these.
    rows: usize,
    summary: RunSummary,
}

impl<W: Work> Writer<'_, W> {
    fn collect(
        &mut self,
        results: &Receiver<CellResult<W::Output>>,
        watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<(), SweepError> {
        loop {
            match results.recv_timeout(HEARTBEAT) {
                Ok(result) => self.take(result),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.write(),
            }
            self.summary.progress.elapsed = self.began.elapsed();
            if watch(&self.summary.progress).is_break() {
                self.summary.stopped = true;
                results.try_iter().for_each(|result| self.take(result));
                return self.write();
            }
            let patience = (self.began.elapsed() / 100).clamp(SHORTEST_PART, LONGEST_PART);
            if self.rows >= MOST_ROWS || self.written_at.elapsed() >= patience {
                self.write()?;
            }
        }
    }

    fn take(&mut self, result: CellResult<W::Output>) {
        self.summary.progress.ran += 1;
        self.summary.missing -= 1;
        self.rows += 2;
        match &result.outcome {
            Ok(outcome) => {
                self.summary.packets += outcome.packets();
                self.summary.events += outcome.events();
                self.rows += outcome.rows();
            }
            Err(message) => {
                self.summary.progress.failed += 1;
                self.summary.failed += 1;
                let failure = CellFailure { cell: result.cell, message: message.clone() };
                self.summary.first_failure = earlier(self.summary.first_failure.take(), failure);
            }
        }
        self.results.push(result);
    }

    fn write(&mut self) -> Result<(), SweepError> {
        self.written_at = Instant::now();
        if self.results.is_empty() {
            return Ok(());
        }
        self.folder.add(self.work, &mut self.results)?;
        self.results.clear();
        self.rows = 0;
        Ok(())
    }
}

/// Whichever of the two comes first in the plan.
fn earlier(first: Option<CellFailure>, other: CellFailure) -> Option<CellFailure> {
    first.into_iter().chain([other]).min_by_key(|failure| failure.cell)
}

/// Runs a cell that is already there once more: this program must get the same.
fn same_program<W: Work>(work: &W, folder: &Folder, found: &Found) -> Result<(), SweepError> {
    for part in &found.parts {
        let table = read_table(&table_file(&part.path, CELLS))?;
        let (cells, events) = (table.numbers("cell")?, table.numbers("events")?);
        let least = (0..table.rows()).filter_map(|row| Some((events[row]? as u64, row))).min();
        let Some((_, row)) = least else { continue };
        let (Some(cell), Some(hashes)) = (cells[row], table.schema().position("trace_hash")) else {
            continue;
        };
        let result = run_cell(work, cell as usize);
        let now = result.outcome.map_or_else(|error| error, |outcome| outcome.trace_hash().to_owned());
        let then = match table.cell(row, hashes) {
            Cell::Text(hash) => hash.to_owned(),
            _ => String::new(),
        };
        if now == then {
            return Ok(());
        }
        let folder = folder.path().to_owned();
        return Err(SweepError::OtherProgram { folder, cell: result.cell, then, now });
    }
    Ok(())
}
