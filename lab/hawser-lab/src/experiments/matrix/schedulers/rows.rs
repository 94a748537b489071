//! Means over the seeds, cell by cell, and who is first.

use hawser_sim::oracle::OracleEdpf;
use serde::Serialize;

use super::grid::Settings;
use super::plan::{Judged, Workload};
use crate::data::statistics::mean_of;
use crate::experiments::matrix::Runs;

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
pub struct Schedulers {
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

impl Schedulers {
    pub(super) fn of(runs: &Runs<'_>, settings: &Settings) -> Schedulers {
        let mut rows = Schedulers {
            schedulers: settings.schedulers.clone(),
            workloads: settings.chosen_workloads().map(|workload| workload.name.clone()).collect(),
            seeds: settings.seeds,
            rows: Vec::new(),
            contests: Vec::new(),
            failed: runs.failed.clone(),
        };
        for links in settings.chosen_links() {
            for workload in settings.chosen_workloads() {
                for controller in &settings.controllers {
                    let row = |it: &String| row(runs, [&links.name, &workload.name, controller, it]);
                    let mut contest: Vec<Row> = settings.schedulers.iter().map(row).collect();
                    rows.contests.extend(judge(&mut contest, workload));
                    rows.rows.append(&mut contest);
                }
            }
        }
        rows
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

    /// Cells in which a scheduler is behind the first by more than 3 %, with its share of that one, the worst first.
    pub(super) fn behind(&self, scheduler: &str) -> Vec<(&Contest, f64)> {
        worst_first(self.contests.iter().filter_map(|contest| Some((contest, contest.share(scheduler)?))))
    }

    /// In how many cells a scheduler is within 3 % of the first, and in how many it takes part.
    pub fn near_first(&self, scheduler: &str) -> (usize, usize) {
        let shares = self.contests.iter().filter_map(|contest| contest.share(scheduler));
        shares.fold((0, 0), |(near, all), share| (near + usize::from(share >= 1.0 - AS_GOOD), all + 1))
    }

    /// Cells in which a scheduler is worse than another by more than 3 %, with its share of that one, the worst first.
    pub fn worse(&self, scheduler: &str, than: &str) -> Vec<(&Contest, f64)> {
        let of = |contest: &Contest| Some(contest.share(scheduler)? / contest.share(than)?);
        worst_first(self.contests.iter().filter_map(|contest| Some((contest, of(contest)?))))
    }
}

fn worst_first<'a>(cells: impl Iterator<Item = (&'a Contest, f64)>) -> Vec<(&'a Contest, f64)> {
    let mut cells: Vec<_> = cells.filter(|(_, share)| *share < 1.0 - AS_GOOD).collect();
    cells.sort_by(|a, b| a.1.total_cmp(&b.1));
    cells
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

fn row(runs: &Runs<'_>, key: [&str; 4]) -> Row {
    let mean = |metric| runs.mean(&key, &[], metric);
    let times = runs.values(&key, &[], "completion_seconds");
    let completed = mean_of(times.map(|time| f64::from(u8::from(time.is_some())))).unwrap_or(0.0);
    let [links, workload, controller, scheduler] = key.map(str::to_owned);
    Row {
        links,
        workload,
        controller,
        scheduler,
        goodput_bps: mean("goodput_bps"),
        completion_seconds: mean("completion_seconds"),
        completed,
        p50_ms: mean("p50_ms"),
        p99_ms: mean("p99_ms"),
        reordered_bytes: mean("reordered_bytes"),
        redundancy: mean("redundancy"),
        oracle_share: None,
    }
}
