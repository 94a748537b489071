//! Every combination of a grid.

use std::sync::Arc;

use hawser_sched::Modes;

use super::Settings;
use super::plan::{Links, Workload};

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

/// Every cell of some settings, those of one workload on the same links side by side: what is compared is there early.
pub(super) fn cells(settings: &Settings) -> Vec<Cell> {
    let mut cells = Vec::new();
    for seed in 1..=settings.seeds {
        for links in chosen_links(settings) {
            for workload in chosen_workloads(settings) {
                for controller in &settings.controllers {
                    cells.extend(settings.schedulers.iter().map(|scheduler| Cell {
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

pub(super) fn chosen_links(settings: &Settings) -> impl Iterator<Item = &Arc<Links>> {
    let is_wanted = |links: &&Arc<Links>| settings.links.is_empty() || settings.links.contains(&links.name);
    settings.plan.links.iter().filter(is_wanted)
}

pub(super) fn chosen_workloads(settings: &Settings) -> impl Iterator<Item = &Arc<Workload>> {
    let wanted = &settings.workloads;
    settings.plan.workloads.iter().filter(|it| wanted.is_empty() || wanted.contains(&it.name))
}
