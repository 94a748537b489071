//! Schedulers in Python.

use hawser_policy::{
    Assignment, Commands, Decision, PathId, PathMask, Registry, Scheduler, SchedulerInit, Selection,
    SendView, Side, Time,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt};

use super::views::{Path, View};
use super::{nonsense, place};
use crate::trouble::Trouble;

const EXPECTED: &str = "a path of the view, its id, hawser.Send(...), hawser.Wait(...), or None to wait";

/// What an assignment may take.
const WHAT: [&str; 5] = ["next", "unsent", "datagrams", "copies", "repair"];

/// Bytes for a path.
#[pyclass(module = "hawser._native", name = "Send", frozen, get_all)]
pub(crate) struct Sending {
    path: u32,
    /// At most so many before the next question, rounded up to a datagram.
    max_bytes: Option<u64>,
    /// Bytes at the head of the queue that are left to other paths.
    skip: u64,
    /// `next`: the head of the queue; `unsent`: the same without what is sent again; `datagrams`; `copies`: those that wait for this path;
    /// `repair`: symbols of an erasure code.
    what: &'static str,
    /// Ids of paths for which a copy is queued.
    copies: Vec<u32>,
}

#[pymethods]
impl Sending {
    #[new]
    #[pyo3(signature = (path, *, max_bytes=None, skip=0, what="next", copies=Vec::new()))]
    fn new(
        path: &Bound<'_, PyAny>,
        max_bytes: Option<u64>,
        skip: u64,
        what: &str,
        copies: Vec<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let copies = copies.iter().map(id_of).collect::<PyResult<Vec<u32>>>()?;
        let Some(what) = WHAT.into_iter().find(|known| *known == what) else {
            let known = WHAT.join(", ");
            return Err(PyValueError::new_err(format!("what: expected one of {known}, found {what:?}")));
        };
        if skip > 0 && !["next", "unsent"].contains(&what) {
            return Err(PyValueError::new_err(format!("skip: expected 0 with what={what:?}, found {skip}")));
        }
        Ok(Sending { path: id_of(path)?, max_bytes, skip, what, copies })
    }
}

fn id_of(path: &Bound<'_, PyAny>) -> PyResult<u32> {
    if let Ok(path) = path.cast::<Path>() {
        return Ok(path.get().id);
    }
    path.extract::<u32>()
}

/// Nothing now, although something could be sent.
#[pyclass(module = "hawser._native", frozen, get_all)]
pub(crate) struct Wait {
    /// When to ask again at the latest, in seconds since the start.
    until: Option<f64>,
}

#[pymethods]
impl Wait {
    #[new]
    #[pyo3(signature = (until=None))]
    fn new(until: Option<f64>) -> PyResult<Self> {
        match until {
            Some(until) if !(0.0..1e9).contains(&until) => Err(PyValueError::new_err(format!(
                "until: expected 0 to 1e9 seconds since the start, found {until}"
            ))),
            _ => Ok(Wait { until }),
        }
    }
}

/// Has a function make the schedulers of this name: `make(side, seed)`.
pub(super) fn add(registry: &mut Registry, name: &str, make: Py<PyAny>, trouble: Trouble) {
    registry.add_scheduler(name, move |init: &SchedulerInit| {
        let made = Python::attach(|py| -> PyResult<Py<PyAny>> {
            let side = if init.side == Side::Client { "client" } else { "server" };
            make.call1(py, (side, init.seed))?.getattr(py, "schedule")
        });
        let schedule = made.map_err(|error| trouble.note(error)).ok();
        Box::new(PythonScheduler { schedule, trouble: trouble.clone() })
    });
}

struct PythonScheduler {
    /// The bound method; none once something went wrong.
    schedule: Option<Py<PyAny>>,
    trouble: Trouble,
}

impl Scheduler for PythonScheduler {
    fn name(&self) -> &'static str {
        "python"
    }

    fn schedule(&mut self, view: &SendView<'_>, _commands: &mut Commands) -> Decision {
        let Some(schedule) = self.schedule.as_ref().filter(|_| !self.trouble.is_there()) else {
            return Decision::Wait(None);
        };
        let decision = Python::attach(|py| {
            let method = schedule.bind(py);
            let answer = method.call1((View::of(py, view)?,))?;
            decision(&answer, method, view)
        });
        decision.unwrap_or_else(|error| {
            self.trouble.note(error);
            Decision::Wait(None)
        })
    }
}

/// What an answer means.
fn decision(answer: &Bound<'_, PyAny>, method: &Bound<'_, PyAny>, view: &SendView<'_>) -> PyResult<Decision> {
    if answer.is_none() {
        return Ok(Decision::Wait(None));
    }
    if let Ok(path) = answer.cast::<Path>() {
        return Ok(Decision::Send(Assignment::next(known(id_of(path)?, method, view)?)));
    }
    if let Ok(send) = answer.cast::<Sending>() {
        let send = send.get();
        let mut copies = PathMask::NONE;
        for id in &send.copies {
            let id = known(*id, method, view)?;
            copies = view.paths.iter().position(|path| path.id == id).map_or(copies, |at| copies.with(at));
        }
        return Ok(Decision::Send(Assignment::next(known(send.path, method, view)?).with(|assignment| {
            assignment.selection = match send.what {
                "unsent" => Selection::Unsent(send.skip),
                "datagrams" => Selection::Datagrams,
                "copies" => Selection::Copies,
                "repair" => Selection::Repair,
                _ if send.skip > 0 => Selection::Skip(send.skip),
                _ => Selection::Next,
            };
            assignment.max_bytes = send.max_bytes.unwrap_or(u64::MAX);
            assignment.copies = copies;
        })));
    }
    if let Ok(wait) = answer.cast::<Wait>() {
        let until = wait.get().until;
        return Ok(Decision::Wait(until.map(|seconds| Time::from_nanos((seconds * 1e9) as u64))));
    }
    if answer.is_instance_of::<PyInt>() && !answer.is_instance_of::<PyBool>() {
        let id: u32 = answer.extract().map_err(|_| nonsense(method, answer, EXPECTED))?;
        return Ok(Decision::Send(Assignment::next(known(id, method, view)?)));
    }
    Err(nonsense(method, answer, EXPECTED))
}

/// The path with this id, which must be there.
fn known(id: u32, method: &Bound<'_, PyAny>, view: &SendView<'_>) -> PyResult<PathId> {
    if view.path(PathId(id)).is_some() {
        return Ok(PathId(id));
    }
    let ids: Vec<String> = view.paths.iter().map(|path| path.id.0.to_string()).collect();
    Err(PyValueError::new_err(format!(
        "{} chose path {id}, which is not there: there are {}",
        place(method),
        ids.join(", ")
    )))
}
