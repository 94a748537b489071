//! What ends a run before its end: an exception of a policy, a signal, another thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use tokio::sync::Notify;

/// Ends all runs that were given it.
#[pyclass(module = "hawser._native", frozen)]
#[derive(Clone, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Self {
        Stop::default()
    }

    /// Ends the runs, each within a few milliseconds.
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether it was set.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The first exception of a run, which its policies and its recorder share.
#[derive(Clone, Default)]
pub(crate) struct Trouble {
    stop: Stop,
    /// Wakes those who wait for the first exception.
    news: Arc<Notify>,
    error: Arc<Mutex<Option<PyErr>>>,
}

impl Trouble {
    /// Keeps the first exception, and ends the run.
    pub(crate) fn note(&self, error: PyErr) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.stop.set();
        self.news.notify_waiters();
    }

    /// What ends the run when it is set from outside.
    pub(crate) fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Waits until there was an exception.
    pub(crate) async fn noted(&self) {
        let mut news = std::pin::pin!(self.news.notified());
        // Before the look, so that nothing is missed in between.
        news.as_mut().enable();
        if !self.stop.is_set() {
            news.await;
        }
    }

    /// Returns whether the run is to end.
    pub(crate) fn is_there(&self) -> bool {
        self.stop.is_set()
    }

    /// The exception, once.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
