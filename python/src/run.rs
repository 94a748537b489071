//! A run: the simulator without the interpreter's lock, and what comes of it.

use std::sync::Arc;
use std::time::Duration;

use hawser_core::{QlogConnection, QlogFactory};
use hawser_policy::Registry;
use hawser_scenario::Flow;
use hawser_sim::run::{FlowTraces, Options, Outcome, Simulation};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::own::Own;
use crate::recorder::{Columns, Watch};
use crate::scenario::Source;
use crate::table::Table;
use crate::trouble::{Stop, Trouble};
use crate::{policies, wrong};

mod traces;

use traces::Traces;

/// Samples are taken this often at most: a run of a minute then gives 60,000 of each flow, path and link.
const SHORTEST_SAMPLING: f64 = 0.001;
/// And this seldom.
const LONGEST_SAMPLING: f64 = 86_400.0;

/// What to record, and who may end the run.
#[derive(FromPyObject)]
pub(crate) struct Wanted {
    /// Seconds between samples.
    interval: Option<f64>,
    packets: bool,
    qlog: bool,
    /// Whether the calling thread handles signals.
    signals: bool,
}

impl Wanted {
    fn interval(&self) -> PyResult<Option<Duration>> {
        let Some(seconds) = self.interval else { return Ok(None) };
        if !(SHORTEST_SAMPLING..=LONGEST_SAMPLING).contains(&seconds) {
            return Err(wrong(format!(
                "interval: expected {SHORTEST_SAMPLING} to {LONGEST_SAMPLING} seconds, or None for no samples; found {seconds}"
            )));
        }
        Ok(Some(Duration::from_secs_f64(seconds)))
    }
}

/// A run that is over.
#[pyclass(module = "hawser._native", frozen)]
pub(crate) struct Finished {
    /// What `hawser sim run --json` prints of it, but for the real time.
    #[pyo3(get)]
    outcome: String,
    /// Depends on every packet delivered. Sixteen hexadecimal digits.
    #[pyo3(get)]
    trace_hash: String,
    tables: Py<PyDict>,
    /// Traces by name: those of the ends of connections.
    #[pyo3(get)]
    qlog: Vec<(String, String)>,
}

#[pymethods]
impl Finished {
    /// The tables by name.
    #[getter]
    fn tables(&self, py: Python<'_>) -> Py<PyDict> {
        self.tables.clone_ref(py)
    }
}

/// What came of a simulation, before Python sees it.
struct Played {
    outcome: Outcome,
    tables: Vec<(&'static str, Table)>,
    qlog: Vec<(String, String)>,
}

/// Runs a scenario to its end.
///
/// # Errors
/// `ValueError` for a scenario, policy or option that makes no sense; whatever a policy in Python raised; `KeyboardInterrupt`;
/// `RuntimeError` when `stop` ended it.
#[pyfunction]
pub(crate) fn run(
    py: Python<'_>,
    source: Source,
    chosen: Vec<(String, String)>,
    own: Own,
    seed: Option<u64>,
    wanted: Wanted,
    stop: Py<Stop>,
) -> PyResult<Finished> {
    let interval = wanted.interval()?;
    let stop = stop.get();
    let trouble = Trouble::default();
    let registry = own.registry(policies::registry(), &trouble)?;
    let watch = Watch::new(trouble.clone(), stop.clone(), wanted.signals);
    let columns = Columns::new(interval, wanted.packets, watch);
    let played =
        py.detach(|| play(&source, &registry, &chosen, seed, columns, wanted.qlog.then(Traces::default)));
    if let Some(error) = trouble.take() {
        return Err(error);
    }
    let Played { outcome, tables, qlog } = played?;
    if stop.is_set() {
        return Err(pyo3::exceptions::PyRuntimeError::new_err("the run was stopped"));
    }
    let by_name = PyDict::new(py);
    for (name, table) in tables {
        by_name.set_item(name, Py::new(py, table)?)?;
    }
    Ok(Finished {
        trace_hash: outcome.trace_hash.clone(),
        outcome: serde_json::to_string(&outcome).map_err(wrong)?,
        tables: by_name.unbind(),
        qlog,
    })
}

fn play(
    source: &Source,
    registry: &Arc<Registry>,
    chosen: &[(String, String)],
    seed: Option<u64>,
    mut columns: Columns,
    traces: Option<Traces>,
) -> PyResult<Played> {
    let scenario = source.read(registry, chosen, seed)?;
    let qlog: Option<FlowTraces> = traces.clone().map(|traces| {
        Arc::new(move |_: &Flow| {
            let traces = traces.clone();
            Arc::new(move |connection: &QlogConnection| Some(traces.open(connection))) as QlogFactory
        }) as FlowTraces
    });
    let options = Options { qlog, ..Options::default() };
    let mut simulation = Simulation::new(&scenario, registry, options).map_err(wrong)?;
    let outcome = simulation.run(&mut columns);
    // The connections go with it, and their last words reach their traces.
    drop(simulation);
    let mut tables = columns.finish()?;
    let qlog = traces.map(|traces| traces.take()).unwrap_or_default();
    if !qlog.is_empty() {
        tables.push(("events", traces::events(&qlog)?));
    }
    Ok(Played { outcome, tables, qlog })
}
