//! Scenarios from their texts, and the cells of plans.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hawser_policy::{PolicyKind, PolicySpec, Registry};
use hawser_scenario::{FlowKind, Folder, ReadOptions, Scenario, load_plan};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::{policies, wrong};

/// What describes a scenario until it is run.
#[derive(FromPyObject)]
pub(crate) struct Source {
    /// TOML.
    text: String,
    /// Its name in messages.
    file: String,
    /// Where the files are that it names.
    folder: PathBuf,
    /// Each `KEY=VALUE`; the last one of a key counts.
    overrides: Vec<String>,
}

impl Source {
    /// Reads it as `hawser sim run` does, with these policies unless an override has others.
    ///
    /// # Errors
    /// `ValueError` with file, line, field and what is allowed there.
    pub(crate) fn read(
        &self,
        registry: &Registry,
        chosen: &[(String, String)],
        seed: Option<u64>,
    ) -> PyResult<Scenario> {
        let mut overrides = Vec::new();
        for (kind, text) in chosen {
            let kind = policies::kind(kind)?;
            let spec: PolicySpec = text.parse().map_err(wrong)?;
            registry.check(kind, &spec).map_err(|error| wrong(format!("{}: {error}", keyword(kind))))?;
            overrides.push(format!("transport.{}={spec}", kind.field()));
        }
        overrides.extend(self.overrides.iter().cloned());
        // As an override: what is drawn while the scenario is read depends on the seed as well.
        overrides.extend(seed.map(|seed| format!("seed={seed}")));
        let mut files = Folder(self.folder.clone());
        let (text, file) = (self.text.as_str(), self.file.as_str());
        let options =
            ReadOptions { text, file, overrides: &overrides, files: &mut files, registry: Some(registry) };
        Scenario::read(options).map_err(wrong)
    }
}

/// The argument of `run` that chooses a policy of this kind.
fn keyword(kind: PolicyKind) -> &'static str {
    kind.field()
}

/// What a scenario says, as a dictionary: name, description, seed, duration (s), links and flows.
///
/// # Errors
/// As [`Source::read`].
#[pyfunction]
pub(crate) fn describe<'py>(py: Python<'py>, source: Source) -> PyResult<Bound<'py, PyDict>> {
    let registry: Arc<Registry> = policies::registry();
    let scenario = py.detach(|| source.read(&registry, &[], None))?;
    let described = PyDict::new(py);
    described.set_item("name", &scenario.name)?;
    described.set_item("description", &scenario.description)?;
    described.set_item("seed", scenario.seed)?;
    described.set_item("duration", scenario.duration.map(|duration| duration.as_secs_f64()))?;
    let names: Vec<&str> = scenario.links.iter().map(|link| link.name.as_str()).collect();
    described.set_item("links", names)?;
    let flows = PyList::empty(py);
    for flow in scenario.traffic().iter() {
        let row = PyDict::new(py);
        row.set_item("name", &flow.name)?;
        row.set_item("kind", kind_of(&flow.kind))?;
        row.set_item("direction", flow.kind.direction().name())?;
        flows.append(row)?;
    }
    described.set_item("flows", flows)?;
    Ok(described)
}

fn kind_of(kind: &FlowKind) -> &'static str {
    match kind {
        FlowKind::Bulk { .. } => "bulk",
        FlowKind::Requests { .. } => "requests",
        FlowKind::Datagrams { .. } => "datagrams",
        FlowKind::Application { .. } => "application",
        FlowKind::TunnelMix(_) => "tunnel-mix",
        FlowKind::Udp { .. } => "udp",
    }
}

/// A run of a plan: scenario file, replicate, seed, overrides.
type CellRow = (PathBuf, u32, u64, Vec<(String, String)>);

/// Names of what varies in a plan, and its cells in their order.
///
/// # Errors
/// `FileNotFoundError` and its like; `ValueError` with the line of the plan.
#[pyfunction]
pub(crate) fn cells(plan: PathBuf) -> PyResult<(Vec<String>, Vec<CellRow>)> {
    let registry = policies::registry();
    let read = load_plan(&plan).map_err(load_error)?;
    read.check_policies(&plan, &registry).map_err(wrong)?;
    let factors = read.factors.iter().map(|(key, _)| key.clone()).collect();
    let row = |cell: &hawser_scenario::Cell| {
        let scenario = hawser_scenario::Plan::scenario_path(Path::new(&plan), cell);
        (scenario, cell.replicate, cell.seed, cell.overrides.clone())
    };
    Ok((factors, read.cells.iter().map(row).collect()))
}

fn load_error(error: hawser_scenario::LoadError) -> PyErr {
    match error {
        hawser_scenario::LoadError::Read { path, source } => match source.raw_os_error() {
            // With its number Python chooses the class: FileNotFoundError, PermissionError.
            Some(number) => PyOSError::new_err((number, source.to_string(), path.display().to_string())),
            None => wrong(format!("cannot read {}: {source}", path.display())),
        },
        hawser_scenario::LoadError::Scenario(error) => wrong(error),
    }
}
