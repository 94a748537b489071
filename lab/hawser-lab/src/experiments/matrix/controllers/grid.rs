//! Every combination of controllers, links, buffers, losses and neighbours.

use std::path::PathBuf;
use std::sync::Arc;

use hawser_policy::{PolicyKind, Registry};

use super::plan::{Link, Plan};
use crate::experiments::ExperimentError;
use crate::experiments::matrix::Matrix;
use crate::experiments::matrix::plan::{check, chosen};
use crate::experiments::matrix::work::Parts;

/// What to run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Bottlenecks, buffers and losses.
    pub plan: Arc<Plan>,
    /// The folder of scenarios.
    pub scenarios: PathBuf,
    /// Controllers with their parameters, such as `cubic,beta=0.8`.
    pub controllers: Vec<String>,
    /// Which links of the plan; none: all.
    pub links: Vec<String>,
    /// Seeds 1 to this.
    pub seeds: u64,
    /// No run takes longer than this many simulated seconds; none: as long as the link asks for.
    pub longest: Option<u64>,
}

/// Who else sends through the bottleneck.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Against {
    /// Nobody.
    Nothing,
    /// A second flow of the same controller, later.
    Itself,
    /// A flow of CUBIC, from the beginning.
    Cubic,
    /// Two paths of the controller, against a flow of NewReno.
    PathsNewReno,
    /// Two paths of the controller, against a flow of CUBIC.
    PathsCubic,
}

impl Against {
    /// All of them.
    pub const ALL: [Against; 5] =
        [Against::Nothing, Against::Itself, Against::Cubic, Against::PathsNewReno, Against::PathsCubic];

    /// What it is called in tables.
    pub fn name(self) -> &'static str {
        match self {
            Against::Nothing => "alone",
            Against::Itself => "itself",
            Against::Cubic => "cubic",
            Against::PathsNewReno => "two-paths-newreno",
            Against::PathsCubic => "two-paths-cubic",
        }
    }

    /// Whether the controller has two paths through the bottleneck.
    pub(super) fn has_two_paths(self) -> bool {
        matches!(self, Against::PathsNewReno | Against::PathsCubic)
    }
}

/// One simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The controller, with its parameters.
    pub controller: String,
    /// The bottleneck.
    pub link: Arc<Link>,
    /// Its buffer, in bandwidth-delay products.
    pub buffer: f64,
    /// Random loss.
    pub loss: f64,
    /// Who else sends.
    pub against: Against,
    /// Simulated seconds.
    pub seconds: u64,
    /// Of everything random.
    pub seed: u64,
}

impl Cell {
    /// Whether the matrix has it: only coupled controllers have two paths, and only on one link; CUBIC against CUBIC is CUBIC
    /// against itself.
    fn is_wanted(&self, plan: &Plan) -> bool {
        match self.against {
            Against::Nothing | Against::Itself => true,
            Against::Cubic => self.controller.trim() != "cubic",
            Against::PathsNewReno | Against::PathsCubic => plan.is_coupled(&self.controller, &self.link.name),
        }
    }
}

impl Settings {
    /// The matrix of these settings.
    ///
    /// # Errors
    /// [`ExperimentError`]: a name is not known, or a scenario cannot be read.
    pub fn matrix(self, registry: Arc<Registry>) -> Result<Matrix<Settings>, ExperimentError> {
        let links: Vec<&str> = self.plan.links.iter().map(|link| link.name.as_str()).collect();
        check("link", &links, &self.links)?;
        let parts = Parts {
            cells: self.cells(),
            scenarios: &self.scenarios.clone(),
            links: links.into_iter().map(str::to_owned).collect(),
            policies: vec![(PolicyKind::Congestion, "controller", self.controllers.clone())],
            grid: self,
        };
        Matrix::of(parts, registry)
    }

    pub(super) fn chosen_links(&self) -> impl Iterator<Item = &Arc<Link>> {
        chosen(&self.plan.links, &self.links, |link| &link.name)
    }

    /// Every cell, those of one link, buffer and loss side by side.
    fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for seed in 1..=self.seeds {
            for link in self.chosen_links() {
                for (buffer, loss) in self.plan.places() {
                    for controller in &self.controllers {
                        let of = |against| Cell {
                            controller: controller.clone(),
                            link: link.clone(),
                            buffer,
                            loss,
                            against,
                            seconds: self.seconds(link, against),
                            seed,
                        };
                        let all = Against::ALL.map(of).into_iter();
                        cells.extend(all.filter(|cell| cell.is_wanted(&self.plan)));
                    }
                }
            }
        }
        cells
    }

    fn seconds(&self, link: &Link, against: Against) -> u64 {
        let own = match against {
            Against::Nothing => link.seconds_alone,
            Against::Cubic => self.plan.seconds_with_cubic,
            Against::Itself | Against::PathsNewReno | Against::PathsCubic => self.plan.seconds_with_another,
        };
        self.longest.map_or(own, |longest| own.min(longest))
    }
}
