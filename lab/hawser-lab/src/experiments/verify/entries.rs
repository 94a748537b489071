//! Entries of a list in few words: what lists would each have to define for themselves.

use super::{Bound, Claim, Data, Drawing, Figure, Item, Policy, Program, Runs, Seeds, Source, Value};

/// What most items have in common, to be filled in.
pub const ITEM: Item = Item {
    id: "",
    statement: "",
    threshold: "",
    paper: "",
    must: false,
    data: Data::Synthetic,
    claims: &[],
    deviation: None,
};

/// What computations have in common: there are no links, and they must hold.
pub const MUST: Item = Item { must: true, data: Data::None, ..ITEM };

/// A value has to lie there.
pub const fn claim(value: Value, bound: Bound) -> Claim {
    Claim { value, bound }
}

/// Runs of a scenario file, with fields set otherwise as `KEY=VALUE`.
pub const fn scenario(
    name: &'static str,
    file: &'static str,
    set: &'static [&'static str],
    policies: &'static [Policy],
    seeds: Seeds,
) -> Runs {
    Runs { name, source: Source::Scenario { file, set }, policies, seeds }
}

/// Runs of a program that reads these scenario files.
pub const fn program(
    name: &'static str,
    run: Program,
    reads: &'static [&'static str],
    policies: &'static [Policy],
    seeds: Seeds,
) -> Runs {
    Runs { name, source: Source::Program { run, reads }, policies, seeds }
}

/// A figure of bars: a metric of these runs, a bar for each policy.
pub const fn bars(
    name: &'static str,
    title: &'static str,
    metric: &'static str,
    runs: &'static [&'static str],
    policies: &'static [Policy],
) -> Figure {
    Figure { name, title, drawing: Drawing::Bars { metric, runs, policies } }
}
