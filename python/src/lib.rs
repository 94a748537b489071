//! Hawser for Python: scenarios in virtual time with policies of one's own, tables as Arrow, learning environments.
//!
//! What people call is Python (`package/hawser`); here is what needs the simulator. Nothing of it holds the interpreter
//! while a simulation runs: [`run`] lets go of it, and a policy in Python takes it back for each of its calls.

mod environment;
mod links;
mod net;
mod own;
mod policies;
mod recorder;
mod ride;
mod run;
mod scenario;
mod summary;
mod table;
mod trouble;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A value that is not allowed, as Python says it.
fn wrong(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    ride::register(module)?;
    own::register(module)?;
    net::register(module)?;
    module.add_class::<table::Table>()?;
    module.add_class::<trouble::Stop>()?;
    module.add_class::<run::Finished>()?;
    module.add_class::<environment::SchedulerCourse>()?;
    module.add_class::<environment::CongestionCourse>()?;
    module.add_function(wrap_pyfunction!(run::run, module)?)?;
    module.add_function(wrap_pyfunction!(summary::summary, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::describe, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::cells, module)?)?;
    module.add_function(wrap_pyfunction!(links::read_links, module)?)?;
    module.add_function(wrap_pyfunction!(links::link_models, module)?)?;
    module.add_function(wrap_pyfunction!(links::generate_links, module)?)?;
    module.add_function(wrap_pyfunction!(links::satellites, module)?)?;
    module.add_function(wrap_pyfunction!(policies::policies, module)?)?;
    module.add_function(wrap_pyfunction!(policies::check_policy, module)?)
}
