//! The tables of a sweep: which columns, and the rows of a cell.

use std::path::{Path, PathBuf};

use hawser_link::LinkStats;
use hawser_sim::run::{DelaySummary, End, FlowOutcome, LinkOutcome, Outcome, PathOutcome};

use super::work::timing_schema;
use super::{CELLS, CellResult, Sweep, TIMING, table_file};
use crate::data::table::{Cell, Column, Kind, Schema, TableError, TableWriter, column};

/// A table of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TableName {
    /// One row per cell: how it ended, or why it failed.
    Cells,
    /// One row per flow of a cell.
    Flows,
    /// One row per path of a connection of a cell.
    Paths,
    /// One row per direction of a link of a cell.
    Links,
    /// One row per cell: real time that it took.
    Timing,
}

impl TableName {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Cells, Self::Flows, Self::Paths, Self::Links, Self::Timing];

    /// The name of its file, without ending.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cells => CELLS,
            Self::Flows => "flows",
            Self::Paths => "paths",
            Self::Links => "links",
            Self::Timing => TIMING,
        }
    }

    /// Its file in a folder.
    pub fn path(self, folder: &Path) -> PathBuf {
        table_file(folder, self.name())
    }

    /// The table of this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.name() == name)
    }

    /// Its columns, with these keys as what varies.
    pub(super) fn schema(self, factors: &[(String, Vec<String>)]) -> Result<Schema, TableError> {
        let own = match self {
            Self::Cells => cell_columns(),
            Self::Flows => flow_columns(),
            Self::Paths => path_columns(),
            Self::Links => link_columns(),
            Self::Timing => return timing_schema(),
        };
        let keys = factors.iter().map(|(key, _)| column(key.as_str(), Kind::Text));
        let identity = [column("cell", Kind::U64), column("scenario", Kind::Text)].into_iter().chain(keys);
        let identity = identity.chain([column("replicate", Kind::U64), column("seed", Kind::U64)]);
        Schema::new(identity.chain(own))
    }

    /// Writes the rows of a cell.
    pub(super) fn write(
        self,
        writer: &mut dyn TableWriter,
        sweep: &Sweep,
        result: &CellResult<Outcome>,
    ) -> Result<(), TableError> {
        let identity = identity(sweep, result.cell);
        let mut row = |own: Vec<Cell<'_>>| {
            let mut cells = identity.clone();
            cells.extend(own);
            writer.row(&cells)
        };
        match (self, &result.outcome) {
            (Self::Cells, outcome) => row(cell_row(outcome)),
            (_, Err(_)) => Ok(()),
            (Self::Flows, Ok(outcome)) => {
                outcome.flows.iter().try_for_each(|flow| row(flow_row(flow, outcome)))
            }
            (Self::Paths, Ok(outcome)) => outcome.paths.iter().try_for_each(|path| row(path_row(path))),
            (Self::Links, Ok(outcome)) => outcome.links.iter().try_for_each(|link| row(link_row(link))),
            (Self::Timing, Ok(_)) => Ok(()),
        }
    }
}

/// What tells a cell from the others.
fn identity(sweep: &Sweep, index: usize) -> Vec<Cell<'_>> {
    let plan = sweep.plan();
    let cell = &plan.cells[index];
    // Factors stand behind what is the same for all.
    let values = &cell.overrides[cell.overrides.len() - plan.factors.len()..];
    let mut cells = vec![Cell::U64(index as u64), Cell::Text(sweep.label(&cell.scenario))];
    cells.extend(values.iter().map(|(_, value)| Cell::Text(value)));
    cells.extend([Cell::U64(u64::from(cell.replicate)), Cell::U64(cell.seed)]);
    cells
}

fn u64s(names: &[&str]) -> impl Iterator<Item = Column> {
    names.iter().map(|name| column(*name, Kind::U64))
}

/// How the cause of an end is written.
fn end_name(end: End) -> &'static str {
    match end {
        End::Finished => "finished",
        End::Duration => "duration",
        End::Quiet => "quiet",
        End::Events => "events",
        End::Stopped => "stopped",
    }
}

fn cell_columns() -> Vec<Column> {
    vec![
        column("status", Kind::Text),
        column("message", Kind::Text).optional(),
        column("end", Kind::Text).optional(),
        column("trace_hash", Kind::Text).optional(),
        column("simulated_seconds", Kind::F64).optional(),
        column("packets", Kind::U64).optional(),
        column("events", Kind::U64).optional(),
        column("goodput_bps", Kind::F64).optional(),
    ]
}

fn cell_row(outcome: &Result<Outcome, String>) -> Vec<Cell<'_>> {
    match outcome {
        Ok(outcome) => vec![
            Cell::Text("done"),
            Cell::Null,
            Cell::Text(end_name(outcome.end)),
            Cell::Text(&outcome.trace_hash),
            outcome.simulated_seconds.into(),
            outcome.packets.into(),
            outcome.events.into(),
            outcome.goodput_bps.into(),
        ],
        Err(message) => {
            let mut row = vec![Cell::Text("failed"), Cell::Text(message)];
            row.resize(8, Cell::Null);
            row
        }
    }
}

fn flow_columns() -> Vec<Column> {
    let mut columns: Vec<Column> =
        ["flow", "kind", "direction", "scheduler", "controller"].map(|name| column(name, Kind::Text)).into();
    columns.extend([
        column("goodput_bps", Kind::F64),
        column("completion_seconds", Kind::F64).optional(),
        column("connect_seconds", Kind::F64).optional(),
    ]);
    columns.extend(delay_columns("delay"));
    columns.push(column("longest_gap_ms", Kind::F64));
    columns.extend(u64s(&["bytes", "completed", "sent"]));
    columns.extend([
        column("intact", Kind::Bool),
        column("error", Kind::Text).optional(),
        column("end", Kind::Text),
        column("trace_hash", Kind::Text),
    ]);
    columns.extend(u64s(&["packets", "events"]));
    columns
}

fn flow_row<'a>(flow: &'a FlowOutcome, outcome: &'a Outcome) -> Vec<Cell<'a>> {
    let texts = [&flow.flow, flow.kind, flow.direction.name(), &flow.scheduler, &flow.controller];
    let times: [Cell<'_>; 3] =
        [flow.goodput_bps.into(), flow.completion_seconds.into(), flow.connect_seconds.into()];
    let counts: [Cell<'_>; 4] =
        [flow.longest_gap_ms.into(), flow.bytes.into(), flow.completed.into(), flow.sent.into()];
    let ends: [Cell<'_>; 6] = [
        flow.intact.into(),
        flow.error.as_deref().into(),
        end_name(outcome.end).into(),
        outcome.trace_hash.as_str().into(),
        outcome.packets.into(),
        outcome.events.into(),
    ];
    let row = texts.map(Cell::Text).into_iter().chain(times).chain(delay_cells(Some(&flow.delay)));
    row.chain(counts).chain(ends).collect()
}

/// Figures of a distribution of delays; a row without any delay has none.
fn delay_columns(what: &str) -> impl Iterator<Item = Column> {
    let count = column(format!("{what}_count"), Kind::U64);
    let figure = |name: &str| column(format!("{what}_{name}_ms"), Kind::F64).optional();
    std::iter::once(count).chain(["mean", "min", "p50", "p95", "p99", "max"].map(figure))
}

fn delay_cells(delay: Option<&DelaySummary>) -> Vec<Cell<'static>> {
    let Some(delay) = delay.filter(|delay| delay.count > 0) else {
        let mut cells = vec![Cell::U64(0)];
        cells.resize(7, Cell::Null);
        return cells;
    };
    let figures = [delay.mean_ms, delay.min_ms, delay.p50_ms, delay.p95_ms, delay.p99_ms, delay.max_ms];
    std::iter::once(Cell::U64(delay.count)).chain(figures.map(Cell::F64)).collect()
}

fn path_columns() -> Vec<Column> {
    let mut columns = vec![column("flow", Kind::Text), column("path", Kind::U64), column("link", Kind::Text)];
    columns.extend(u64s(&[
        "bytes_sent",
        "packets_sent",
        "packets_lost",
        "packets_spuriously_lost",
        "bytes_acked",
    ]));
    columns.extend(["share", "smoothed_rtt_ms", "min_rtt_ms"].map(|name| column(name, Kind::F64)));
    columns.extend(u64s(&["congestion_window", "probe_timeouts", "times_suspect"]));
    columns
}

fn path_row(path: &PathOutcome) -> Vec<Cell<'_>> {
    vec![
        Cell::Text(&path.flow),
        Cell::U64(u64::from(path.path)),
        Cell::Text(&path.link),
        path.bytes_sent.into(),
        path.packets_sent.into(),
        path.packets_lost.into(),
        path.packets_spuriously_lost.into(),
        path.bytes_acked.into(),
        path.share.into(),
        path.smoothed_rtt_ms.into(),
        path.min_rtt_ms.into(),
        path.congestion_window.into(),
        path.probe_timeouts.into(),
        path.times_suspect.into(),
    ]
}

/// The counters of a link, each with its name.
fn counters(stats: &LinkStats) -> [(&'static str, u64); 15] {
    [
        ("offered_packets", stats.offered_packets),
        ("offered_bytes", stats.offered_bytes),
        ("delivered_packets", stats.delivered_packets),
        ("delivered_bytes", stats.delivered_bytes),
        ("dropped_queue", stats.dropped_queue),
        ("dropped_aqm", stats.dropped_aqm),
        ("dropped_loss", stats.dropped_loss),
        ("dropped_down", stats.dropped_down),
        ("dropped_mtu", stats.dropped_mtu),
        ("marked", stats.marked),
        ("duplicated", stats.duplicated),
        ("corrupted", stats.corrupted),
        ("held_back", stats.held_back),
        ("queue_peak_bytes", stats.queue_peak_bytes),
        ("queue_time_total_ns", stats.queue_time_total),
    ]
}

fn link_columns() -> Vec<Column> {
    let mut columns = vec![
        column("link", Kind::Text),
        column("direction", Kind::Text),
        column("capacity_bps", Kind::U64).optional(),
        column("utilisation", Kind::F64).optional(),
        column("mean_queue_ms", Kind::F64),
    ];
    columns.extend(delay_columns("one_way_delay"));
    columns.extend(counters(&LinkStats::default()).map(|(name, _)| column(name, Kind::U64)));
    columns
}

fn link_row(link: &LinkOutcome) -> Vec<Cell<'_>> {
    let mut row = vec![
        Cell::Text(&link.link),
        Cell::Text(link.direction.name()),
        link.capacity_bps.into(),
        link.utilisation.into(),
        link.mean_queue_ms.into(),
    ];
    row.extend(delay_cells(link.one_way_delay.as_ref()));
    row.extend(counters(&link.counters).map(|(_, value)| Cell::U64(value)));
    row
}
