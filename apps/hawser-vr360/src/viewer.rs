//! What the tasks of a viewer share.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::film::Shape;
use super::screen::Screen;
use hawser_command::paths::PathTable;

/// What the tasks of a viewer share.
pub(super) struct Viewer {
    pub(super) shape: Shape,
    pub(super) started: Instant,
    pub(super) screen: Mutex<Screen>,
    pub(super) paths: Mutex<PathTable>,
}

impl Viewer {
    /// Since the beginning.
    pub(super) fn now(&self) -> Duration {
        self.started.elapsed()
    }

    pub(super) fn screen(&self) -> MutexGuard<'_, Screen> {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn paths(&self) -> MutexGuard<'_, PathTable> {
        self.paths.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
