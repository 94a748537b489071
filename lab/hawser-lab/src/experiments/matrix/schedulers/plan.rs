//! The grid as it stands in a file: links, and what is transferred over them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hawser_scenario::FlowKind;
use hawser_sched::Mode;
use serde::Deserialize;

use crate::experiments::ExperimentError;
use crate::experiments::matrix::Links;
use crate::experiments::plans::{Traffic, doubled, read_plan};

/// The grid that comes with the program, and where it stands.
const SHIPPED: (&str, &str) =
    ("lab/matrices/schedulers.toml", include_str!("../../../../matrices/schedulers.toml"));

/// A grid.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// How much is run unless something else is said.
    pub thin: Extent,
    /// The same for `--full`.
    pub full: Extent,
    /// Links; their names differ.
    pub links: Vec<Arc<Links>>,
    /// Workloads; their names differ.
    pub workloads: Vec<Arc<Workload>>,
}

/// How much is run.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extent {
    /// Controllers with their parameters.
    pub controllers: Vec<String>,
    /// Seeds 1 to this.
    pub seeds: u64,
}

/// What is transferred.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// What it is called.
    pub name: String,
    /// By what it is judged.
    pub judged: Judged,
    /// The mode of the scheduler `modes` that is meant for it.
    pub mode: Mode,
    /// Longest simulated time.
    pub longest: Duration,
    /// What it does.
    pub(super) traffic: Traffic,
}

/// By what a workload is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Judged {
    /// Mean goodput; more is better.
    Goodput,
    /// Time until everything is there; less is better.
    Completion,
    /// 99th percentile of the delay; less is better.
    Delay,
    /// Of a tunnel: goodput of the download over the time of a page and the 99th percentile of the call's delay, each as a ratio,
    /// in their geometric mean.
    Mix,
}

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanFile {
    thin: Extent,
    full: Extent,
    links: Vec<Links>,
    workload: Vec<WorkloadFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkloadFile {
    name: String,
    judged: Judged,
    mode: String,
    longest: String,
    flow: toml::Table,
}

impl Plan {
    /// The grid in a file; none: that which comes with the program.
    ///
    /// # Errors
    /// [`ExperimentError::NotRead`]: it cannot be read, or is wrong; with the line where that is known.
    pub fn read(file: Option<&Path>) -> Result<Plan, ExperimentError> {
        read_plan(SHIPPED, file, PlanFile::complete).map_err(ExperimentError::NotRead)
    }
}

impl PlanFile {
    fn complete(self) -> Result<Plan, String> {
        let workloads = self.workload.into_iter().map(WorkloadFile::read);
        let workloads: Vec<Workload> = workloads.collect::<Result<_, _>>()?;
        let links: Vec<&str> = self.links.iter().map(|links| links.name.as_str()).collect();
        let named: Vec<&str> = workloads.iter().map(|workload| workload.name.as_str()).collect();
        if let Some(name) = doubled(&links).or_else(|| doubled(&named)) {
            return Err(format!("two are named {name:?}; names must differ"));
        }
        Ok(Plan {
            thin: self.thin,
            full: self.full,
            links: self.links.into_iter().map(Arc::new).collect(),
            workloads: workloads.into_iter().map(Arc::new).collect(),
        })
    }
}

impl WorkloadFile {
    fn read(self) -> Result<Workload, String> {
        let WorkloadFile { name, judged, mode, longest, flow } = self;
        let place = format!("workload {name:?}");
        let (traffic, longest) = Traffic::read(&place, &longest, flow)?;
        let is_whole = matches!(&traffic.kind, FlowKind::TunnelMix(mix) if mix.bulk.is_some() && mix.web.is_some() && mix.call.is_some());
        if judged == Judged::Mix && !is_whole {
            return Err(format!("{place}: only a \"tunnel-mix\" with bulk, web and call is judged as a mix"));
        }
        let known = || Mode::ALL.map(Mode::name).join(", ");
        let mode = Mode::ALL.into_iter().find(|known| known.name() == mode);
        let mode = mode.ok_or_else(|| format!("{place}: expected one of these modes: {}", known()))?;
        Ok(Workload { judged, mode, longest, traffic, name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::plans::parse_plan;

    #[test]
    fn the_shipped_grid_has_what_its_names_say() {
        let plan = Plan::read(None).unwrap();
        assert_eq!((plan.links.len(), plan.workloads.len()), (11, 7));
        let names: Vec<&str> = plan.workloads.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["5 MB", "50 MB", "page", "requests", "frames", "datagrams", "tunnel mix"]);
        let awaited: Vec<bool> = plan.workloads.iter().map(|it| it.traffic.awaited).collect();
        assert_eq!(awaited, [true, true, true, false, false, false, false]);
        let FlowKind::Requests { every, response, parallel, .. } = plan.workloads[4].traffic.kind else {
            panic!()
        };
        assert_eq!((every, response, parallel), (Some(Duration::from_nanos(33_333_333)), 12_500, 1_000));
    }

    #[test]
    fn what_is_wrong_with_a_grid_is_said_with_its_place() {
        let text = SHIPPED.1;
        let said = |text: String| parse_plan(("my.toml", &text), PlanFile::complete).unwrap_err();
        let unknown = said(text.replacen("judged = \"delay\"", "judged = \"speed\"", 1));
        assert!(
            unknown.contains("my.toml") && unknown.contains("line") && unknown.contains("goodput"),
            "{unknown}"
        );
        let field = said(text.replacen("think = \"100 ms\"", "thinks = \"100 ms\"", 1));
        assert!(field.contains("\"requests\"") && field.contains("thinks"), "{field}");
        let twice = said(text.replacen("name = \"three-links\"", "name = \"wifi-lte\"", 1));
        assert!(twice.contains("two are named \"wifi-lte\""), "{twice}");
        let mode = said(text.replacen("mode = \"low-latency\"", "mode = \"fast\"", 1));
        assert!(mode.contains("low-latency, redundant"), "{mode}");
        let whole = said(text.replacen("judged = \"goodput\"", "judged = \"mix\"", 1));
        assert!(whole.contains("\"5 MB\"") && whole.contains("bulk, web and call"), "{whole}");
    }
}
