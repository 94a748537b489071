use std::task::{Context, Waker};

/// Tasks that wait for the same thing.
#[derive(Debug, Default)]
pub(crate) struct WakerList(Vec<Waker>);

impl WakerList {
    /// Adds the current task unless it waits already.
    pub(crate) fn register(&mut self, cx: &Context<'_>) {
        if !self.0.iter().any(|waker| waker.will_wake(cx.waker())) {
            self.0.push(cx.waker().clone());
        }
    }

    /// Moves all tasks to `due`, to be woken once no lock is held.
    pub(crate) fn release(&mut self, due: &mut Vec<Waker>) {
        due.append(&mut self.0);
    }
}

/// Wakes what was collected while locks were held.
pub(crate) fn wake_all(due: &mut Vec<Waker>) {
    for waker in due.drain(..) {
        waker.wake();
    }
}
