//! Anonymous network namespaces.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};

/// A network namespace without a name: it lives as long as this value, its clones, or a process inside.
#[derive(Debug, Clone)]
pub(crate) struct Namespace {
    descriptor: Arc<OwnedFd>,
    /// Device and inode of the namespace file: its identity.
    identity: (u64, u64),
}

impl Namespace {
    /// A new, empty namespace. The calling thread stays where it is.
    pub(crate) fn create() -> io::Result<Self> {
        // A thread of its own enters the new namespace, opens it, and ends: the descriptor keeps it alive.
        let file = thread::spawn(|| -> io::Result<File> {
            unshare(CloneFlags::CLONE_NEWNET)?;
            File::open("/proc/thread-self/ns/net")
        })
        .join()
        .map_err(|_| io::Error::other("the thread that makes the namespace panicked"))??;
        let metadata = file.metadata()?;
        Ok(Self { descriptor: Arc::new(file.into()), identity: (metadata.dev(), metadata.ino()) })
    }

    /// Runs `work` on a thread inside the namespace and waits for it.
    pub(crate) fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        thread::scope(|scope| {
            let inside = scope.spawn(|| self.enter().map(|()| work()));
            inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Moves the calling thread into the namespace. Async-signal-safe: one system call.
    pub(crate) fn enter(&self) -> io::Result<()> {
        Ok(setns(self.descriptor.as_fd(), CloneFlags::CLONE_NEWNET)?)
    }

    /// Device and inode of the namespace file.
    pub(crate) fn identity(&self) -> (u64, u64) {
        self.identity
    }

    /// Another descriptor of the namespace, for a process that must hold it.
    pub(crate) fn duplicate(&self) -> io::Result<OwnedFd> {
        self.descriptor.try_clone()
    }
}
