//! The thread of an endpoint, and waiting for what it does.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use crate::result::{Failure, HawserResult};

/// Shared by all handles on an endpoint; the thread ends with the last of them.
#[derive(Clone, Debug)]
pub(crate) struct Engine(Arc<Runtime>);

impl Engine {
    pub(crate) fn start() -> Result<Self, Failure> {
        let mut builder = Builder::new_multi_thread();
        let started = builder.worker_threads(1).thread_name("hawser").enable_all().build();
        let failed =
            |error| Failure::new(HawserResult::Internal, format_args!("cannot start a thread: {error}"));
        Ok(Engine(Arc::new(started.map_err(failed)?)))
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        &self.0
    }

    /// Waits for `happening` in the calling thread, for as long as the caller wants: `None` if it did not come to pass.
    pub(crate) fn wait<T>(&self, timeout_ms: i64, happening: impl Future<Output = T>) -> Option<T> {
        self.0.block_on(async {
            match u64::try_from(timeout_ms) {
                Ok(limit) => tokio::time::timeout(Duration::from_millis(limit), happening).await.ok(),
                Err(_) => Some(happening.await),
            }
        })
    }
}

/// Locks, whatever became of a thread that had the lock.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
