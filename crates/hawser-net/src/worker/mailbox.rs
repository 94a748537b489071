use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::Waker;

use futures_util::task::AtomicWaker;
use hawser_core::ConnectionHandle;

/// How everybody else gets a worker's attention.
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    /// Connections that the application acted on.
    dirty: Mutex<Vec<ConnectionHandle>>,
    worker: AtomicWaker,
    /// Whether the last handle of the endpoint was dropped.
    abandoned: AtomicBool,
}

impl Mailbox {
    /// Asks the worker to look after a connection.
    pub(crate) fn push(&self, connection: ConnectionHandle) {
        let mut dirty = self.dirty.lock().unwrap_or_else(PoisonError::into_inner);
        let was_empty = dirty.is_empty();
        dirty.push(connection);
        drop(dirty);
        // Whoever made it non-empty has woken the worker, which has not emptied it since.
        if was_empty {
            self.worker.wake();
        }
    }

    /// Asks the worker to look after the endpoint.
    pub(crate) fn wake(&self) {
        self.worker.wake();
    }

    /// Tells the worker that nobody can open or accept connections any more.
    pub(crate) fn abandon(&self) {
        self.abandoned.store(true, Ordering::Release);
        self.worker.wake();
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Acquire)
    }

    /// Where to wake the worker. To be called before [`take`](Self::take).
    pub(crate) fn register(&self, waker: &Waker) {
        self.worker.register(waker);
    }

    /// Moves the connections to `dirty`.
    pub(crate) fn take(&self, dirty: &mut Vec<ConnectionHandle>) {
        dirty.append(&mut self.dirty.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
