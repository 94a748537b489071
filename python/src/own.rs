//! Policies written in Python, behind the same seam as those in Rust.
//!
//! The interpreter is taken for each call and let go of afterwards. Whatever goes wrong ends the run: the exception is
//! noted in the run's [`Trouble`], and from then on the policy only waits.

mod controller;
mod scheduler;
mod views;

use std::sync::Arc;

use hawser_policy::Registry;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::trouble::Trouble;

/// Makes policies: names, each with a function that returns a new object for a connection or path.
#[derive(FromPyObject)]
pub(crate) struct Own {
    schedulers: Vec<(String, Py<PyAny>)>,
    controllers: Vec<(String, Py<PyAny>)>,
}

impl Own {
    /// These in addition to others.
    ///
    /// # Errors
    /// `ValueError`: a name that no policy can have.
    pub(crate) fn registry(self, shipped: Arc<Registry>, trouble: &Trouble) -> PyResult<Arc<Registry>> {
        if self.schedulers.is_empty() && self.controllers.is_empty() {
            return Ok(shipped);
        }
        let mut registry = Registry::clone(&shipped);
        for (name, make) in self.schedulers {
            scheduler::add(&mut registry, &name, make, trouble.clone());
        }
        for (name, make) in self.controllers {
            controller::add(&mut registry, &name, make, trouble.clone());
        }
        Ok(Arc::new(registry))
    }
}

/// Where a method begins, for messages: `Mine.schedule (file.py, line 12)`.
fn place(method: &Bound<'_, PyAny>) -> String {
    let name = method.getattr("__qualname__").map_or_else(|_| "?".to_owned(), |name| name.to_string());
    let line = || -> PyResult<String> {
        let code = method.getattr("__code__")?;
        Ok(format!(" ({}, line {})", code.getattr("co_filename")?, code.getattr("co_firstlineno")?))
    };
    name + &line().unwrap_or_default()
}

/// What a method should not have returned or left behind.
fn nonsense(method: &Bound<'_, PyAny>, found: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    let found = found.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string());
    PyTypeError::new_err(format!("{} returned {found}: expected {expected}", place(method)))
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<views::View>()?;
    module.add_class::<views::Path>()?;
    module.add_class::<views::Queue>()?;
    module.add_class::<views::Ack>()?;
    module.add_class::<views::Loss>()?;
    module.add_class::<views::Sibling>()?;
    module.add_class::<scheduler::Sending>()?;
    module.add_class::<scheduler::Wait>()
}
