//! The list of X-Fi and X-Perf (F. Yang, thesis, Sorbonne Université and UCAS 2022, chapter 3; `docs/measure.md`): the generator
//! of encounters, attachment, and the tool.
//!
//! Items that nobody has built, or written a run for, ask for metrics that no run has, and fall short.

mod attachment;
mod generator;
mod items;
mod tool;

use super::verify::{List, Policy, Seeds, System, program};

const OURS: &[Policy] = &[Policy::System];

/// Five drives have more than the 20,000 associations of a city that the sheet asks for.
const DRIVES: Seeds = Seeds { default: 5, full: 20 };

/// The list.
pub const LIST: List = List {
    name: "xfi",
    title: "X-Fi and X-Perf: WiFi encounters from a car, and the tool that measures them",
    source: "F. Yang, thesis, Sorbonne Université and UCAS 2022, chapter 3",
    system: System { key: "encounters.tool", policy: "hawser-measure" },
    runs: &[
        program("drives", generator::drives, &[], OURS, DRIVES),
        program("correlations", generator::correlations, &[], OURS, DRIVES),
        program("same-seed", generator::same_seed, &[], OURS, Seeds { default: 2, full: 5 }),
        program("clients", attachment::clients, &[], OURS, DRIVES),
        program("phases", attachment::phases, &[], OURS, DRIVES),
        program("draws", tool::draws, &[], OURS, DRIVES),
        program("links", tool::links, &[], OURS, Seeds::ONCE),
    ],
    items: &[items::GENERATOR, items::ATTACHMENT, items::MISSING, items::CORRELATIONS, items::TOOL],
    figures: &[],
};

#[cfg(test)]
mod tests;
