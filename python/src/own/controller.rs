//! Congestion controllers in Python.

use hawser_policy::{CongestionController, ControllerInit, Rate, Registry, Siblings, Time};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;

use super::{place, views};
use crate::trouble::Trouble;

/// Windows beyond this are mistakes: a terabyte.
const LARGEST_WINDOW: f64 = 1e12;
/// Rates beyond this are mistakes: 10 Tbit/s.
const HIGHEST_RATE: f64 = 1e13;

/// Has a function make the controllers of this name: `make(path, initial_window, max_datagram_size, seed)`.
pub(super) fn add(registry: &mut Registry, name: &str, make: Py<PyAny>, trouble: Trouble) {
    registry.add_controller(name, move |init: &ControllerInit| {
        let mut controller = PythonController {
            object: None,
            trouble: trouble.clone(),
            window: init.initial_window,
            rate: None,
            threshold: u64::MAX,
            siblings: false,
        };
        let made = Python::attach(|py| -> PyResult<()> {
            let arguments = (init.path.0, init.initial_window, init.max_datagram_size, init.seed);
            let object = make.call1(py, arguments)?;
            controller.siblings = object.getattr(py, intern!(py, "wants_siblings"))?.extract(py)?;
            controller.take(object.bind(py), intern!(py, "__init__"))?;
            controller.object = Some(object);
            Ok(())
        });
        if let Err(error) = made {
            trouble.note(error);
        }
        Box::new(controller)
    });
}

struct PythonController {
    /// None once something went wrong.
    object: Option<Py<PyAny>>,
    trouble: Trouble,
    /// What the object said after its last call, bytes.
    window: u64,
    rate: Option<Rate>,
    threshold: u64,
    siblings: bool,
}

impl std::fmt::Debug for PythonController {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PythonController").field("window", &self.window).field("rate", &self.rate).finish()
    }
}

type Name<'a, 'py> = &'a Bound<'py, pyo3::types::PyString>;

impl PythonController {
    /// Reads window, threshold and pacing rate off the object.
    fn take(&mut self, object: &Bound<'_, PyAny>, after: Name<'_, '_>) -> PyResult<()> {
        let py = object.py();
        let bounded = |name: Name<'_, '_>, unit: &str, most: f64| -> PyResult<Option<f64>> {
            let found = object.getattr(name)?;
            if found.is_none() {
                return Ok(None);
            }
            match found.extract::<f64>() {
                Ok(value) if (0.0..=most).contains(&value) => Ok(Some(value)),
                _ => Err(PyValueError::new_err(format!(
                    "{} left {name} = {}: expected 0 to {most:e} {unit}",
                    place(&object.getattr(after)?),
                    found.repr()?
                ))),
            }
        };
        let window = bounded(intern!(py, "window"), "bytes", LARGEST_WINDOW)?;
        let Some(window) = window else {
            return Err(PyValueError::new_err(format!(
                "{} left window = None: expected 0 to {LARGEST_WINDOW:e} bytes",
                place(&object.getattr(after)?)
            )));
        };
        self.window = window as u64;
        let threshold = bounded(intern!(py, "slow_start_threshold"), "bytes", f64::INFINITY)?;
        self.threshold = threshold.map_or(u64::MAX, |bytes| bytes as u64);
        let rate = bounded(intern!(py, "pacing_rate"), "bit/s, or None", HIGHEST_RATE)?;
        self.rate = rate.map(|bits| Rate::from_bits_per_second(bits as u64));
        Ok(())
    }

    /// Calls a method and takes what it left.
    fn call<'a>(
        &mut self,
        name: &'static str,
        argument: impl for<'py> FnOnce(Python<'py>) -> PyResult<Py<PyAny>> + 'a,
    ) {
        if self.trouble.is_there() {
            return;
        }
        let Some(object) = self.object.take() else { return };
        let done = Python::attach(|py| -> PyResult<()> {
            let (object, name) = (object.bind(py), pyo3::types::PyString::intern(py, name));
            object.call_method1(&name, (argument(py)?,))?;
            self.take(object, &name)
        });
        match done {
            Ok(()) => self.object = Some(object),
            Err(error) => self.trouble.note(error),
        }
    }
}

impl CongestionController for PythonController {
    fn name(&self) -> &'static str {
        "python"
    }

    fn on_ack(&mut self, ack: &hawser_policy::Ack, siblings: &Siblings<'_>) {
        self.call("on_ack", |py| Ok(Py::new(py, views::Ack::of(py, ack, siblings)?)?.into_any()));
    }

    fn on_loss(&mut self, loss: &hawser_policy::Loss, siblings: &Siblings<'_>) {
        self.call("on_loss", |py| Ok(Py::new(py, views::Loss::of(py, loss, siblings)?)?.into_any()));
    }

    fn on_path_reset(&mut self, now: Time) {
        self.call("on_path_reset", |py| Ok(now.as_secs_f64().into_pyobject(py)?.into_any().unbind()));
    }

    fn on_max_datagram_size(&mut self, bytes: u16) {
        self.call("on_max_datagram_size", |py| Ok(bytes.into_pyobject(py)?.into_any().unbind()));
    }

    fn window(&self) -> u64 {
        self.window
    }

    fn slow_start_threshold(&self) -> u64 {
        self.threshold
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.rate
    }

    fn wants_siblings(&self) -> bool {
        self.siblings
    }
}
