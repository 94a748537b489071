//! Sockets that take nothing more: their paths wait, the others go on.

use super::Connection;
use crate::FourTuple;

impl Connection {
    /// The socket with the local address of this 4-tuple takes nothing more at present: no data and no control frames are
    /// planned for its paths until [`release_paths`](Self::release_paths). Acknowledgements and probes are, which are few, and
    /// whose loss is noticed as any other. Drivers call this when they had to keep what
    /// [`poll_transmit`](Self::poll_transmit) gave, and go on polling for the other paths.
    pub fn hold_paths(&mut self, tuple: &FourTuple) {
        for path in self.paths.iter_mut() {
            path.is_held_up |= path.tuples.current().local == tuple.local;
        }
        self.policies.on_paths_changed();
    }

    /// Whether a path waits for its socket.
    pub fn has_held_paths(&self) -> bool {
        self.paths.iter().any(|path| path.is_held_up)
    }

    /// Paths whose 4-tuple is that of a socket that has room go on.
    pub fn release_paths(&mut self, mut has_room: impl FnMut(&FourTuple) -> bool) {
        for path in self.paths.iter_mut().filter(|path| path.is_held_up) {
            path.is_held_up = !has_room(&path.tuples.current());
        }
        self.policies.wake();
    }
}
