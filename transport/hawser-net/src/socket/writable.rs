//! Waiting for room in a socket.
//!
//! The kernel reports room to everybody who watches for it whenever a packet has left, which is as often as packets are sent. So it
//! is watched for only from an attempt that found none until nothing is left that waits, with a descriptor of its own.

use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Whether a socket has room.
#[derive(Debug, Default)]
pub(super) struct Writable(Mutex<Option<AsyncFd<OwnedFd>>>);

impl Writable {
    /// Sends once more after an attempt that found no room. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// `WouldBlock` while there is none, which [`poll_ready`](Self::poll_ready) waits for; others as they come.
    pub(super) fn attempt(&self, socket: &UdpSocket, attempt: impl Fn() -> io::Result<()>) -> io::Result<()> {
        let mut watched = self.watched();
        if let Some(watched) = &*watched {
            // The runtime must see an attempt of its own: after noting alone, news that came in between would be lost.
            return watched.try_io(Interest::WRITABLE, |_| attempt());
        }
        let begin = || {
            let descriptor = socket.as_fd().try_clone_to_owned()?;
            watch(descriptor, Interest::WRITABLE)
        };
        match begin() {
            Ok(new) => *watched = Some(new),
            // Not watched, it counts as ready, and is tried again after a pause.
            Err(error) => tracing::debug!(%error, "a full socket is tried again from time to time"),
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// Waits until there may be room.
    pub(super) fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &*self.watched() {
            Some(watched) => watched.poll_write_ready(cx).map_ok(drop),
            None => Poll::Ready(Ok(())),
        }
    }

    /// Nobody waits any more.
    pub(super) fn forget(&self) {
        *self.watched() = None;
    }

    fn watched(&self) -> MutexGuard<'_, Option<AsyncFd<OwnedFd>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Watches a descriptor. Must be called inside a tokio runtime.
#[expect(
    deprecated,
    reason = "its replacement is unsafe for the sake of types that close their descriptors too early; these do not"
)]
pub(super) fn watch<T: AsRawFd + AsFd>(owner: T, interest: Interest) -> io::Result<AsyncFd<T>> {
    AsyncFd::with_interest(owner, interest)
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::os::unix::net::UnixDatagram;

    use super::*;

    /// A pair of Unix sockets has a bound that can be reached at will; to the kernel they are watched as UDP sockets are.
    fn full() -> (UdpSocket, UnixDatagram) {
        let (near, far) = UnixDatagram::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        while near.send(&[0; 100]).is_ok() {}
        (UdpSocket::from(OwnedFd::from(near)), far)
    }

    #[tokio::test]
    async fn a_full_socket_is_ready_again_when_its_peer_has_read() {
        let (near, far) = full();
        let writable = Writable::default();
        let send = || near.send(&[0; 100]).map(drop);
        let is_blocked =
            |result: io::Result<()>| result.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock);
        assert!(is_blocked(writable.attempt(&near, send)));
        let early =
            tokio::time::timeout(std::time::Duration::from_millis(50), poll_fn(|cx| writable.poll_ready(cx)));
        assert!(early.await.is_err(), "there is no room");
        far.set_nonblocking(true).unwrap();
        while far.recv(&mut [0; 100]).is_ok() {}
        poll_fn(|cx| writable.poll_ready(cx)).await.unwrap();
        writable.attempt(&near, send).unwrap();
        writable.forget();
        poll_fn(|cx| writable.poll_ready(cx)).await.unwrap();
    }
}
