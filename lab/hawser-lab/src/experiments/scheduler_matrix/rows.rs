//! Means over the seeds, cell by cell, and who is first.

use hawser_sim::oracle::OracleEdpf;
use serde::Serialize;

use super::Settings;
use super::grid::{chosen_links, chosen_workloads};
use super::plan::{Judged, Workload};
use crate::data::statistics::mean_of;
use crate::data::table::{Table, TableError};

/// A scheduler is as good as another when it is not worse by more than this.
const AS_GOOD: f64 = 0.03;

/// A scheduler with a controller over some links with a workload.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The links.
    pub links: String,
    /// The workload.
    pub workload: String,
    /// The controller.
    pub controller: String,
    /// The scheduler.
    pub scheduler: String,
    /// Mean over the seeds, as all numbers; bit/s.
    pub goodput_bps: Option<f64>,
    /// Of the runs that were complete in time; of a tunnel the mean of its pages.
    pub completion_seconds: Option<f64>,
    /// Share of the runs that were; of workloads without an end none.
    pub completed: f64,
    /// Median of the delay, milliseconds: of bytes in order, of answers, of frames, of datagrams, of the packets of a call.
    pub p50_ms: Option<f64>,
    /// 99th percentile.
    pub p99_ms: Option<f64>,
    /// Most bytes that waited at the receiver for earlier ones.
    pub reordered_bytes: Option<f64>,
    /// Bytes sent as copies, over those that arrived in order.
    pub redundancy: Option<f64>,
    /// How good it is by what the workload is judged by, as a share of the oracle; none: one of the two did not get anything done.
    pub oracle_share: Option<f64>,
}

/// Schedulers with a controller over some links with a workload.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Contest {
    /// The links.
    pub links: String,
    /// The workload.
    pub workload: String,
    /// The controller.
    pub controller: String,
    /// The first, the oracle left out.
    pub first: String,
    /// How good each is by what the workload is judged by, as a share of the first; in the order of the schedulers.
    pub shares: Vec<(String, f64)>,
}

/// The whole matrix.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rows {
    /// The schedulers, in order.
    pub schedulers: Vec<String>,
    /// The workloads, in order.
    pub workloads: Vec<String>,
    /// Seeds.
    pub seeds: u64,
    /// Every cell.
    pub rows: Vec<Row>,
    /// Who is first where.
    pub contests: Vec<Contest>,
    /// Runs that failed, with the reason.
    pub failed: Vec<String>,
}

impl Rows {
    pub(super) fn read(table: &Table, settings: &Settings) -> Result<Rows, TableError> {
        let mut rows = Rows {
            schedulers: settings.schedulers.clone(),
            workloads: chosen_workloads(settings).map(|workload| workload.name.clone()).collect(),
            seeds: settings.seeds,
            rows: Vec::new(),
            contests: Vec::new(),
            failed: failed(table)?,
        };
        let keys = ["links", "workload", "controller", "scheduler"];
        let keys = keys.map(|name| table.texts(name));
        let [links_of, workloads, controllers, schedulers] = keys;
        let (links_of, workloads, controllers, schedulers) =
            (links_of?, workloads?, controllers?, schedulers?);
        for links in chosen_links(settings) {
            for workload in chosen_workloads(settings) {
                for controller in &settings.controllers {
                    let in_contest: Vec<usize> = (0..schedulers.len())
                        .filter(|row| {
                            links_of[*row] == Some(links.name.as_str())
                                && workloads[*row] == Some(workload.name.as_str())
                                && controllers[*row] == Some(controller.as_str())
                        })
                        .collect();
                    let mut contest = Vec::new();
                    for scheduler in &settings.schedulers {
                        let of = in_contest.iter().copied();
                        let runs: Vec<usize> = of.filter(|row| schedulers[*row] == Some(scheduler)).collect();
                        contest.push(row(
                            table,
                            &runs,
                            [&links.name, &workload.name, controller, scheduler],
                        )?);
                    }
                    rows.contests.extend(judge(&mut contest, workload));
                    rows.rows.append(&mut contest);
                }
            }
        }
        Ok(rows)
    }

    /// A scheduler in a cell.
    pub fn row(&self, of: &Contest, scheduler: &str) -> Option<&Row> {
        self.rows.iter().find(|row| {
            row.scheduler == scheduler
                && row.links == of.links
                && row.workload == of.workload
                && row.controller == of.controller
        })
    }

    /// In how many cells a scheduler is within 3 % of the first, and in how many it takes part.
    pub fn near_first(&self, scheduler: &str) -> (usize, usize) {
        let shares = self.contests.iter().filter_map(|contest| contest.share(scheduler));
        shares.fold((0, 0), |(near, all), share| (near + usize::from(share >= 1.0 - AS_GOOD), all + 1))
    }

    /// Cells in which a scheduler is worse than another by more than 3 %, with its share of that one, the worst first.
    pub fn worse(&self, scheduler: &str, than: &str) -> Vec<(&Contest, f64)> {
        let of = |contest: &Contest| Some(contest.share(scheduler)? / contest.share(than)?);
        let cells = self.contests.iter().filter_map(|contest| Some((contest, of(contest)?)));
        let mut cells: Vec<_> = cells.filter(|(_, share)| *share < 1.0 - AS_GOOD).collect();
        cells.sort_by(|a, b| a.1.total_cmp(&b.1));
        cells
    }
}

impl Contest {
    /// How good a scheduler is, as a share of the first.
    pub fn share(&self, scheduler: &str) -> Option<f64> {
        self.shares.iter().find(|(name, _)| name == scheduler).map(|(_, share)| *share)
    }
}

/// Higher is better; zero for who got nothing done.
fn merit(row: &Row, judged: Judged) -> f64 {
    let inverse = |value: Option<f64>| value.filter(|value| *value > 0.0).map_or(0.0, f64::recip);
    match judged {
        Judged::Goodput => row.goodput_bps.unwrap_or(0.0),
        // Who needs longer than there was time for in one of several runs is as slow as that.
        Judged::Completion => inverse(row.completion_seconds) * row.completed,
        Judged::Delay => inverse(row.p99_ms),
        // What any of the three is given as a share of cancels out between schedulers.
        Judged::Mix => {
            let all = row.goodput_bps.unwrap_or(0.0) * inverse(row.completion_seconds) * inverse(row.p99_ms);
            all.cbrt()
        }
    }
}

/// Compares the rows of a cell, and notes in each the share of the oracle.
fn judge(rows: &mut [Row], workload: &Workload) -> Option<Contest> {
    let merits: Vec<f64> = rows.iter().map(|row| merit(row, workload.judged)).collect();
    let oracle = rows.iter().position(|row| row.scheduler == OracleEdpf::NAME);
    if let Some(best) = oracle.map(|at| merits[at]).filter(|best| *best > 0.0) {
        for (row, merit) in rows.iter_mut().zip(&merits) {
            row.oracle_share = (*merit > 0.0).then(|| merit / best);
        }
    }
    let others = || rows.iter().zip(&merits).filter(|(row, _)| row.scheduler != OracleEdpf::NAME);
    let (first, best) = others().reduce(|best, other| if other.1 > best.1 { other } else { best })?;
    (*best > 0.0).then(|| Contest {
        links: first.links.clone(),
        workload: first.workload.clone(),
        controller: first.controller.clone(),
        first: first.scheduler.clone(),
        shares: others().map(|(row, merit)| (row.scheduler.clone(), merit / best)).collect(),
    })
}

fn row(table: &Table, runs: &[usize], key: [&str; 4]) -> Result<Row, TableError> {
    let column = |name: &str| -> Result<Option<f64>, TableError> {
        let values = table.numbers(name)?;
        Ok(mean_of(runs.iter().filter_map(|row| values[*row])))
    };
    let [links, workload, controller, scheduler] = key.map(str::to_owned);
    let times = table.numbers("completion_seconds")?;
    Ok(Row {
        links,
        workload,
        controller,
        scheduler,
        goodput_bps: column("goodput_bps")?,
        completion_seconds: column("completion_seconds")?,
        completed: mean_of(runs.iter().map(|row| f64::from(u8::from(times[*row].is_some())))).unwrap_or(0.0),
        p50_ms: column("p50_ms")?,
        p99_ms: column("p99_ms")?,
        reordered_bytes: column("reordered_bytes")?,
        redundancy: column("redundancy")?,
        oracle_share: None,
    })
}

fn failed(table: &Table) -> Result<Vec<String>, TableError> {
    let (links, schedulers) = (table.texts("links")?, table.texts("scheduler")?);
    let messages = table.texts("message")?.into_iter().enumerate();
    let of = |(row, message): (usize, Option<&str>)| {
        Some(format!("{} over {}: {}", schedulers[row]?, links[row]?, message?))
    };
    Ok(messages.filter_map(of).collect())
}
