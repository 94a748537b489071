use std::sync::Arc;

use bytes::Bytes;

use super::{ConnectionShared, ConnectionState};
use crate::wakers::wake_all;

/// Counts the application's handles, streams included; the worker holds the connection itself.
#[derive(Debug)]
pub(crate) struct Handle {
    shared: Arc<ConnectionShared>,
}

impl Handle {
    pub(crate) fn new(shared: Arc<ConnectionShared>) -> Self {
        Handle { shared }
    }

    pub(crate) fn shared(&self) -> &Arc<ConnectionShared> {
        &self.shared
    }

    /// Acts on the connection and has the worker see to the consequences.
    pub(super) fn act<T>(&self, act: impl FnOnce(&mut ConnectionState) -> T) -> T {
        self.shared.act(act)
    }

    pub(super) fn close(&self, code: u64, reason: Bytes) {
        let mut due = Vec::new();
        self.act(|state| state.close(self.shared.now(), code, reason, &mut due));
        wake_all(&mut due);
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.close(0, Bytes::new());
    }
}
