//! Every combination of a grid.

use std::sync::Arc;

use super::Settings;
use super::plan::{Link, Plan};

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

    pub(super) fn named(name: &str) -> Option<Against> {
        Against::ALL.into_iter().find(|against| against.name() == name)
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
    /// Of everything random.
    pub seed: u64,
}

impl Cell {
    /// Simulated seconds.
    pub(super) fn seconds(&self, settings: &Settings) -> u64 {
        let own = match self.against {
            Against::Nothing => self.link.seconds_alone,
            Against::Cubic => settings.plan.seconds_with_cubic,
            Against::Itself | Against::PathsNewReno | Against::PathsCubic => {
                settings.plan.seconds_with_another
            }
        };
        settings.longest.map_or(own, |longest| own.min(longest))
    }

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

/// Every cell of some settings, those of one link, buffer and loss side by side: what is compared is there early.
pub(super) fn cells(settings: &Settings) -> Vec<Cell> {
    let plan = &settings.plan;
    let mut cells = Vec::new();
    for seed in 1..=settings.seeds {
        for link in chosen_links(settings) {
            for (buffer, loss) in plan.places() {
                for controller in &settings.controllers {
                    let of = |against| Cell {
                        controller: controller.clone(),
                        link: link.clone(),
                        buffer,
                        loss,
                        against,
                        seed,
                    };
                    cells.extend(Against::ALL.map(of).into_iter().filter(|cell| cell.is_wanted(plan)));
                }
            }
        }
    }
    cells
}

pub(super) fn chosen_links(settings: &Settings) -> impl Iterator<Item = &Arc<Link>> {
    let is_wanted = |link: &&Arc<Link>| settings.links.is_empty() || settings.links.contains(&link.name);
    settings.plan.links.iter().filter(is_wanted)
}
