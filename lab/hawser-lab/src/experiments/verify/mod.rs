//! Acceptance lists: what a published system, or a part of Hawser, is held to.
//!
//! ```text
//!   List (data) --Verification--> cells --data::sweep--> DIR/shard-1-of-1/part-000001/{cells,runs,timing}.parquet
//!                                                               | merge
//!                                     DIR/merged/runs.parquet   v   every run: scenario, policy, seed, trace hash, metric
//!                                                 |
//!                                               Kept --judge--> Verdicts: one row per item
//!                                                 +---draw----> figures
//! ```
//!
//! A [`List`] says which runs there are and what each item asks of them. Runs are kept first and judged afterwards, from
//! the kept tables alone: so anybody can judge them again, and a run that was interrupted goes on. What is verified is
//! the value of one field of all scenarios ([`System`]); another policy in its place is the negative control, under
//! which every ordering has to fall short.

mod bootstrap;
mod card;
mod claim;
pub mod dataset;
mod error;
mod estimate;
mod expression;
mod figure;
mod judge;
mod kept;
mod list;
mod metric;
mod metrics;
mod names;
mod page;
mod read;
mod text;
mod tokens;
mod units;
mod value;
mod work;

use std::path::Path;

pub use crate::data::sweep::Measured;
pub use error::ListError;
pub use estimate::Estimate;
pub use expression::{Estimator, Expression, Operator};
pub(crate) use figure::line_chart;
pub use figure::{Drawing, Drawn, Figure, Lines, Plot};
pub use judge::{ClaimRow, ControlRow, MetricRow, Row, Verdict, Verdicts, Weight};
pub use kept::Kept;
pub use list::{Data, Deviation, Item, List, Load, NamedPolicy, Program, Request, Runs, Seeds, System};
pub use metric::{Metric, Policy};
pub use read::{Known, read, read_file};
pub use value::{Bound, Claim, Value};
pub use work::{Settings, Verification, default_folder};

use crate::data::sweep::{self, Folder, merged_file, write_json};
use crate::data::table::{self, read_table};
use crate::experiments::ExperimentError;

/// What is printed with `--json`, in a file.
pub const VERDICTS: &str = "verdicts.json";
/// The kept runs as JSON lines.
pub const RUNS_LINES: &str = "runs.jsonl";

/// Judges the runs in a folder, and writes beside them what is needed to judge them again.
///
/// # Errors
/// [`ExperimentError`]: there are no runs, or a file cannot be read or written.
pub fn judge(verification: &Verification, folder: &Path) -> Result<(Verdicts, Kept), ExperimentError> {
    let kept = collect(verification, folder)?;
    let list = verification.list();
    let is_substitute = verification.policy() != list.system.policy;
    let items = verification.settings().items(list);
    let verdicts = judge::judge(&kept, &list.name, items, verification.policy(), is_substitute);
    write_json(&folder.join(VERDICTS), &verdicts)?;
    write_lines(folder)?;
    Ok((verdicts, kept))
}

/// Draws a figure of the runs in a folder.
///
/// # Errors
/// [`ExperimentError`]: there is no such figure, or runs are missing.
pub fn draw(verification: &Verification, folder: &Path, name: &str) -> Result<String, ExperimentError> {
    let list = verification.list();
    let unknown = || {
        let known = list.figures.iter().map(|figure| format!("{}.{}", list.name, figure.name));
        let known: Vec<String> = known.collect();
        ExperimentError::unknown("figure", name, known.iter().map(String::as_str))
    };
    let figure = list.figure(name).ok_or_else(unknown)?;
    if !Folder::is_sweep(folder) {
        return Err(ExperimentError::no_runs(folder, &list.name));
    }
    let kept = collect(verification, folder)?;
    figure::svg(figure, &kept)
        .map_err(|reason| ExperimentError::NotDrawn(format!("figure `{name}`: {reason}")))
}

/// The verdicts and figures as a page.
pub fn page(verdicts: &Verdicts, list: &List, kept: &Kept) -> String {
    page::page(verdicts, list, kept)
}

/// The verdicts as a table of this width.
pub fn table(verdicts: &Verdicts, width: usize) -> String {
    text::table(verdicts, width)
}

/// One line for each list: how many effects there are, how many hold, and what is not counted.
pub fn overview(all: &[Verdicts]) -> String {
    text::overview(all)
}

/// Removes the runs of a folder, and nothing else in it.
///
/// # Errors
/// [`ExperimentError`]: a file cannot be removed.
pub fn discard(folder: &Path) -> Result<(), ExperimentError> {
    Ok(Folder::discard(folder, &[VERDICTS, RUNS_LINES])?)
}

fn collect(verification: &Verification, folder: &Path) -> Result<Kept, ExperimentError> {
    sweep::merge(&Folder::open(folder)?)?;
    let list = verification.list();
    let substitute = Some(verification.policy()).filter(|it| *it != list.system.policy);
    Kept::read(folder, &list.name, &list.system.policy, substitute)
}

/// The runs once more, for people and small programs.
fn write_lines(folder: &Path) -> Result<(), ExperimentError> {
    let runs = read_table(&merged_file(folder, kept::RUNS))?;
    let mut writer = table::create(&folder.join(RUNS_LINES), runs.schema().clone())?;
    for row in 0..runs.rows() {
        writer.row(&runs.row(row))?;
    }
    writer.finish()?;
    Ok(())
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
