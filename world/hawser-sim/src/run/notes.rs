//! What the policies of all flows note, for recorders that want it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hawser_policy::{Note, TraceSink};

/// Notes on their way from the policies to the recorder.
#[derive(Clone, Default)]
pub(super) struct FlowNotes(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// Names of those that are wanted; not set: the run has not begun.
    wanted: OnceLock<Vec<&'static str>>,
    /// With the number of the flow.
    waiting: Mutex<VecDeque<(usize, Note)>>,
}

impl FlowNotes {
    /// From now on these are wanted.
    pub(super) fn start(&self, wanted: Vec<&'static str>) {
        // A simulation is run once.
        let _ = self.0.wanted.set(wanted);
    }

    /// The next note, with the number of its flow.
    pub(super) fn poll(&self) -> Option<(usize, Note)> {
        self.waiting().pop_front()
    }

    /// What the connections of a flow note to.
    pub(super) fn of_flow(&self, flow: usize) -> Arc<dyn TraceSink> {
        Arc::new(FlowSink { flow, notes: self.clone() })
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<(usize, Note)>> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct FlowSink {
    flow: usize,
    notes: FlowNotes,
}

impl TraceSink for FlowSink {
    fn wants(&self, name: &str) -> bool {
        self.notes.0.wanted.get().is_some_and(|names| names.contains(&name))
    }

    fn note(&self, note: &Note) {
        self.notes.waiting().push_back((self.flow, note.clone()));
    }
}
