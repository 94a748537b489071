use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hawser_core::{ConnectionHandle, FourTuple};
use hawser_policy::Time;

use super::ConnectionState;
use crate::clock::Clock;
use crate::worker::Mailbox;

/// A connection as the worker and all handles share it.
pub(crate) struct ConnectionShared {
    handle: ConnectionHandle,
    /// Among all that the endpoint ever had, from 1.
    number: u64,
    first_tuple: FourTuple,
    state: Mutex<ConnectionState>,
    mailbox: Arc<Mailbox>,
    clock: Clock,
}

impl ConnectionShared {
    pub(crate) fn new(
        handle: ConnectionHandle,
        number: u64,
        state: ConnectionState,
        first_tuple: FourTuple,
        mailbox: Arc<Mailbox>,
        clock: Clock,
    ) -> Self {
        ConnectionShared { handle, number, first_tuple, state: Mutex::new(state), mailbox, clock }
    }

    pub(crate) fn handle(&self) -> ConnectionHandle {
        self.handle
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Where the handshake ran.
    pub(crate) fn first_tuple(&self) -> FourTuple {
        self.first_tuple
    }

    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, ConnectionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Acts on the connection and has the worker see to the consequences.
    pub(crate) fn act<T>(&self, act: impl FnOnce(&mut ConnectionState) -> T) -> T {
        let mut state = self.lock();
        let result = act(&mut state);
        self.touch(&mut state);
        result
    }

    /// Has the worker look after the connection.
    pub(crate) fn touch(&self, state: &mut ConnectionState) {
        if state.queue() {
            self.mailbox.push(self.handle);
        }
    }
}

impl std::fmt::Debug for ConnectionShared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("handle", &self.handle.0)
            .field("tuple", &self.first_tuple)
            .finish_non_exhaustive()
    }
}
