//! The policies that come with Hawser.

use std::any::Any;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use hawser_policy::{
    FileContents, ParameterInfo, ParameterRange, ParameterValue, PolicyInfo, PolicyKind, PolicySpec, Registry,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::wrong;

/// All of them. What the simulator adds, the command's simulations have, too.
pub(crate) fn registry() -> Arc<Registry> {
    static SHIPPED: LazyLock<Arc<Registry>> = LazyLock::new(|| {
        let mut registry = Registry::new();
        hawser_cc::register(&mut registry);
        hawser_sched::register(&mut registry);
        hawser_paths::register(&mut registry);
        hawser_sched::register_sets(&mut registry);
        hawser_cc::register_sets(&mut registry);
        read_models(&mut registry);
        Arc::new(registry)
    });
    SHIPPED.clone()
}

/// Has the registry read the models that parameters name.
fn read_models(registry: &mut Registry) {
    registry.read_with("sscc", "models", |file| {
        read(file, "sscc.models", |bytes| {
            hawser_cc::sscc::Models::read(&text(bytes)?).map_err(|error| error.to_string())
        })
    });
    registry.read_with("4d-map", "model", |file| {
        read(file, "4d-map.model", |bytes| {
            hawser_sched::FourDMapModel::read(&text(bytes)?).map_err(|error| error.to_string())
        })
    });
    registry.read_with("dqn", "model", |file| {
        read(file, "dqn.model", |bytes| {
            hawser_sched::DqnModel::read(&bytes).map_err(|error| error.to_string())
        })
    });
}

fn text(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|error| error.to_string())
}

/// The contents of a file, or of the one with this name in a folder.
fn read<T: Any + Send + Sync>(
    file: &str,
    name: &str,
    read: impl FnOnce(Vec<u8>) -> Result<T, String>,
) -> Result<FileContents, String> {
    let path = Path::new(file);
    let path = if path.is_dir() { path.join(name) } else { path.to_owned() };
    let bytes = std::fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let contents = read(bytes).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(Arc::new(contents) as FileContents)
}

/// A kind of policy by the name of its field in scenarios.
///
/// # Errors
/// `ValueError` with those that there are.
pub(crate) fn kind(name: &str) -> PyResult<PolicyKind> {
    PolicyKind::named(name).ok_or_else(|| {
        let known: Vec<&str> = PolicyKind::ALL.iter().map(|kind| kind.field()).collect();
        wrong(format!("no kind of policy {name:?}: there are {}", known.join(", ")))
    })
}

/// Every policy, as a dictionary each.
#[pyfunction]
pub(crate) fn policies(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let registry = registry();
    let rows = PyList::empty(py);
    for kind in PolicyKind::ALL {
        let default = registry.policy(kind, "default").map(|info| info.name.clone());
        for info in registry.policies(kind) {
            let row = policy(py, kind, info)?;
            row.set_item("default", default.as_deref() == Some(info.name.as_str()))?;
            rows.append(row)?;
        }
    }
    Ok(rows)
}

fn policy<'py>(py: Python<'py>, kind: PolicyKind, info: &PolicyInfo) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    row.set_item("kind", kind.field())?;
    row.set_item("name", &info.name)?;
    row.set_item("aliases", &info.aliases)?;
    row.set_item("summary", &info.summary)?;
    row.set_item("source", &info.source)?;
    let parameters = PyList::empty(py);
    for parameter in &info.parameters {
        parameters.append(parameter_row(py, parameter)?)?;
    }
    row.set_item("parameters", parameters)?;
    Ok(row)
}

fn parameter_row<'py>(py: Python<'py>, info: &ParameterInfo) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    row.set_item("name", &info.name)?;
    let kind = match &info.range {
        ParameterRange::Number(_) => "number",
        ParameterRange::Integer(_) => "integer",
        ParameterRange::Duration(_) => "duration",
        ParameterRange::Rate(_) => "rate",
        ParameterRange::Flag => "flag",
        ParameterRange::Choice(_) => "choice",
        ParameterRange::File => "file",
        _ => "other",
    };
    row.set_item("kind", kind)?;
    // Durations and rates keep their units: they are texts in scenarios, too.
    match &info.default {
        ParameterValue::Number(number) => row.set_item("default", number)?,
        ParameterValue::Integer(number) => row.set_item("default", number)?,
        ParameterValue::Flag(flag) => row.set_item("default", flag)?,
        ParameterValue::File(None) => row.set_item("default", py.None())?,
        other => row.set_item("default", other.to_string())?,
    }
    row.set_item("allowed", info.allowed())?;
    row.set_item("unit", &info.unit)?;
    row.set_item("meaning", &info.meaning)?;
    row.set_item("source", &info.source)?;
    Ok(row)
}

/// Fails unless a text names a policy of this kind with parameters that it takes.
///
/// # Errors
/// `ValueError` with what is allowed.
#[pyfunction]
pub(crate) fn check_policy(kind_name: &str, text: &str) -> PyResult<()> {
    let spec: PolicySpec = text.parse().map_err(wrong)?;
    registry().check(kind(kind_name)?, &spec).map_err(wrong)
}
