//! Every combination of schedulers, controllers, links and workloads.

use std::path::PathBuf;
use std::sync::Arc;

use hawser_policy::{PolicyKind, Registry};
use hawser_sched::Modes;

use super::plan::{Plan, Workload};
use crate::experiments::ExperimentError;
use crate::experiments::matrix::plan::{check, chosen};
use crate::experiments::matrix::work::Parts;
use crate::experiments::matrix::{Links, Matrix};

/// What to run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Links and workloads.
    pub plan: Arc<Plan>,
    /// The folder of scenarios.
    pub scenarios: PathBuf,
    /// Schedulers with their parameters, such as `ecf,beta=0.5`.
    pub schedulers: Vec<String>,
    /// Controllers with their parameters.
    pub controllers: Vec<String>,
    /// Which links of the plan; none: all.
    pub links: Vec<String>,
    /// Which workloads of the plan; none: all.
    pub workloads: Vec<String>,
    /// Seeds 1 to this.
    pub seeds: u64,
}

/// One simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The scheduler, with its parameters.
    pub scheduler: String,
    /// The controller of every path.
    pub controller: String,
    /// The links.
    pub links: Arc<Links>,
    /// What is transferred.
    pub workload: Arc<Workload>,
    /// Of everything random.
    pub seed: u64,
}

impl Cell {
    /// The scheduler as it runs: `modes` without more is in the mode that the workload is for.
    pub fn policy(&self) -> String {
        match self.scheduler == Modes::NAME {
            true => format!("{},mode={}", Modes::NAME, self.workload.mode.name()),
            false => self.scheduler.clone(),
        }
    }
}

impl Settings {
    /// The matrix of these settings.
    ///
    /// # Errors
    /// [`ExperimentError`]: a name is not known, or a scenario cannot be read.
    pub fn matrix(self, registry: Arc<Registry>) -> Result<Matrix<Settings>, ExperimentError> {
        let links: Vec<&str> = self.plan.links.iter().map(|links| links.name.as_str()).collect();
        check("link", &links, &self.links)?;
        let workloads: Vec<&str> = self.plan.workloads.iter().map(|it| it.name.as_str()).collect();
        check("workload", &workloads, &self.workloads)?;
        let parts = Parts {
            cells: self.cells(),
            scenarios: &self.scenarios.clone(),
            links: links.into_iter().map(str::to_owned).collect(),
            policies: vec![
                (PolicyKind::Scheduler, "scheduler", self.schedulers.clone()),
                (PolicyKind::Congestion, "controller", self.controllers.clone()),
            ],
            grid: self,
        };
        Matrix::of(parts, registry)
    }

    pub(super) fn chosen_links(&self) -> impl Iterator<Item = &Arc<Links>> {
        chosen(&self.plan.links, &self.links, |links| &links.name)
    }

    pub(super) fn chosen_workloads(&self) -> impl Iterator<Item = &Arc<Workload>> {
        chosen(&self.plan.workloads, &self.workloads, |workload| &workload.name)
    }

    /// Every cell, those of one workload on the same links side by side.
    fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for seed in 1..=self.seeds {
            for links in self.chosen_links() {
                for workload in self.chosen_workloads() {
                    for controller in &self.controllers {
                        cells.extend(self.schedulers.iter().map(|scheduler| Cell {
                            scheduler: scheduler.clone(),
                            controller: controller.clone(),
                            links: links.clone(),
                            workload: workload.clone(),
                            seed,
                        }));
                    }
                }
            }
        }
        cells
    }
}
