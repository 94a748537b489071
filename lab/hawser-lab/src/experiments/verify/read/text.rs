//! The file as it is written.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::{Spanned, Table, Value};

use super::super::list::Data;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListText {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) source: String,
    /// The page of deviations that name none.
    pub(super) page: Option<String>,
    pub(super) system: Spanned<BTreeMap<String, String>>,
    /// The policy that stands in the system's place as a negative control, unless an item names another.
    pub(super) control: Option<Spanned<String>>,
    /// What is used by default in its runs, by the field of scenarios.
    #[serde(default)]
    pub(super) defaults: BTreeMap<Spanned<String>, String>,
    #[serde(default)]
    pub(super) policies: BTreeMap<Spanned<String>, Value>,
    /// Lists of policies.
    #[serde(default)]
    pub(super) compare: BTreeMap<Spanned<String>, Vec<String>>,
    #[serde(default)]
    pub(super) groups: BTreeMap<String, Spanned<Value>>,
    #[serde(default)]
    pub(super) causes: BTreeMap<String, String>,
    /// Fields that several runs set.
    #[serde(default)]
    pub(super) settings: BTreeMap<String, Table>,
    pub(super) runs: BTreeMap<Spanned<String>, RunsText>,
    pub(super) item: Vec<ItemText>,
    #[serde(default)]
    pub(super) figure: Vec<FigureText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunsText {
    pub(super) scenario: Option<String>,
    /// Of programs that read several.
    #[serde(default)]
    pub(super) scenarios: Vec<String>,
    pub(super) program: Option<Spanned<String>>,
    /// Names of settings; `set` adds to them.
    #[serde(default)]
    pub(super) settings: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) set: Table,
    #[serde(default)]
    pub(super) vary: BTreeMap<String, Spanned<Vec<Value>>>,
    /// The name of a list of policies, or an array; by default the system.
    pub(super) policies: Option<Spanned<Value>>,
    /// By default, and with `--full`; absent: nothing is random.
    pub(super) seeds: Option<[u64; 2]>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ItemText {
    pub(super) id: Spanned<String>,
    pub(super) statement: String,
    pub(super) threshold: String,
    #[serde(default)]
    pub(super) paper: String,
    #[serde(default)]
    pub(super) must: bool,
    #[serde(default = "synthetic")]
    pub(super) data: Data,
    pub(super) claims: Vec<Spanned<String>>,
    /// Tests of crates that compute the same.
    #[serde(default)]
    pub(super) tests: Vec<Spanned<String>>,
    /// The negative control of this item, or `none`.
    pub(super) control: Option<Spanned<String>>,
    /// The cause, `@NAME` of one that several share, or `{ page, cause }`.
    pub(super) deviation: Option<Spanned<Value>>,
}

fn synthetic() -> Data {
    Data::Synthetic
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FigureText {
    pub(super) name: Spanned<String>,
    pub(super) title: String,
    /// A drawing that is written in Rust; all else is absent then.
    pub(super) draw: Option<String>,
    /// The metric of bars or lines.
    #[serde(default)]
    pub(super) metric: String,
    /// A group, or an array of names.
    pub(super) runs: Option<Value>,
    pub(super) policies: Option<Value>,
    /// Lines instead of bars.
    pub(super) lines: Option<LinesText>,
}

/// A line per policy, over the numbers of a group.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinesText {
    pub(super) x: String,
    pub(super) y: String,
    #[serde(default)]
    pub(super) logarithmic: bool,
    /// What values are divided by.
    #[serde(default = "one")]
    pub(super) unit: f64,
}

fn one() -> f64 {
    1.0
}
