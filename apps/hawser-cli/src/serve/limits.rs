//! What one client may take of the server.
//!
//! Requests are cheap: ten kilobytes of them could ask for hundreds of files that nobody then reads. So each connection has
//! a share, what does not fit waits without a thread or a file, and what makes no progress ends.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};
use tokio::time::Instant;

/// Bytes read from a file at a time, and gathered of an upload.
pub(super) const BLOCK: usize = 1 << 18;
/// How long the header of a request may take once its stream has begun.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a response or an upload may make no progress. Dead zones on the road take tens of seconds.
pub(super) const STALL_TIMEOUT: Duration = Duration::from_secs(120);
/// Bytes that count as progress of a response or an upload.
pub(super) const PROGRESS: usize = 1 << 16;

/// Replies and uploads at the same time on one connection, each with an open file or two.
const MAX_REPLIES_PER_CONNECTION: usize = 16;
/// Blocks of files in memory on one connection.
const MAX_BLOCKS_PER_CONNECTION: usize = 16;
/// Replies and uploads at the same time in total, where the system allows that many files.
const MAX_REPLIES: usize = 8192;
/// Uploads at the same time in total, most of them of strangers who may send slowly.
const MAX_UPLOADS: usize = 256;
/// Descriptors beside those of replies: sockets, standard streams, digests, folders being listed.
const OTHER_DESCRIPTORS: usize = 256;

/// What all connections share.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    replies: Arc<Semaphore>,
    uploads: Arc<Semaphore>,
}

/// What one connection may have.
#[derive(Clone, Debug)]
pub(super) struct Share {
    own: Arc<Semaphore>,
    all: Arc<Semaphore>,
    blocks: Arc<Semaphore>,
}

/// The right to have a file open, given back when dropped.
#[derive(Debug)]
pub(super) struct ReplyPermit {
    _own: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl Limits {
    /// Takes as many descriptors as the system gives this process.
    pub(super) fn new() -> Self {
        let descriptors = raise_descriptor_limit().unwrap_or(1024);
        // An upload has three: the file and its folder, twice.
        let replies = (descriptors.saturating_sub(OTHER_DESCRIPTORS) / 3).clamp(16, MAX_REPLIES);
        Limits { replies: Arc::new(Semaphore::new(replies)), uploads: Arc::new(Semaphore::new(MAX_UPLOADS)) }
    }

    /// The right to upload; `None` if too many do.
    pub(super) fn upload(&self) -> Option<OwnedSemaphorePermit> {
        self.uploads.clone().try_acquire_owned().ok()
    }

    /// The share of a new connection.
    pub(super) fn share(&self) -> Share {
        Share {
            own: Arc::new(Semaphore::new(MAX_REPLIES_PER_CONNECTION)),
            all: self.replies.clone(),
            blocks: Arc::new(Semaphore::new(MAX_BLOCKS_PER_CONNECTION)),
        }
    }
}

impl Share {
    /// Waits until another reply may begin.
    pub(super) async fn reply(&self) -> io::Result<ReplyPermit> {
        let own = self.own.clone().acquire_owned().await.map_err(io::Error::other)?;
        let all = self.all.clone().acquire_owned().await.map_err(io::Error::other)?;
        Ok(ReplyPermit { _own: own, _all: all })
    }

    /// Waits until another block may be read.
    pub(super) async fn block(&self) -> io::Result<OwnedSemaphorePermit> {
        self.blocks.clone().acquire_owned().await.map_err(io::Error::other)
    }

    /// A block in advance, if there is room.
    pub(super) fn try_block(&self) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.blocks.clone().try_acquire_owned()
    }
}

/// Sets the limit of open files to the most that is allowed, and returns it.
pub(crate) fn raise_descriptor_limit() -> Option<usize> {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};

    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
    // A process that can have a million never needs them.
    let wanted = hard.min(1 << 16).max(soft);
    let now = setrlimit(Resource::RLIMIT_NOFILE, wanted, hard).map_or(soft, |()| wanted);
    usize::try_from(now).ok()
}

/// The header of a request, if it comes within [`HEADER_TIMEOUT`].
pub(super) async fn header_in_time<T>(header: impl Future<Output = T>) -> Result<T, LateHeader> {
    tokio::time::timeout(HEADER_TIMEOUT, header).await.map_err(|_| LateHeader)
}

/// A request began, and its header did not come.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("a request took longer than {} s to say what it wants", HEADER_TIMEOUT.as_secs())]
pub(super) struct LateHeader;

/// What waits for progress, if there is some within [`STALL_TIMEOUT`].
pub(super) async fn unless_stalled<T>(progress: impl Future<Output = T>) -> Result<T, Stalled> {
    tokio::time::timeout(STALL_TIMEOUT, progress).await.map_err(|_| Stalled)
}

/// A minimum pace: [`PROGRESS`] bytes in [`STALL_TIMEOUT`].
#[derive(Debug)]
pub(super) struct Pace {
    until: Instant,
    bytes: usize,
}

impl Pace {
    pub(super) fn new(now: Instant) -> Self {
        Pace { until: now + STALL_TIMEOUT, bytes: 0 }
    }

    /// Waits, but not for longer than the pace allows.
    pub(super) async fn keep<T>(&self, progress: impl Future<Output = T>) -> Result<T, Stalled> {
        tokio::time::timeout_at(self.until, progress).await.map_err(|_| Stalled)
    }

    /// This many bytes more have come.
    pub(super) fn count(&mut self, now: Instant, bytes: usize) {
        self.bytes += bytes;
        if self.bytes >= PROGRESS {
            *self = Pace::new(now);
        }
    }
}

/// Nothing moved for too long.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("hardly any progress for {} s", STALL_TIMEOUT.as_secs())]
pub(super) struct Stalled;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_connection_can_not_take_what_another_needs() {
        let limits = Limits::new();
        let (greedy, modest) = (limits.share(), limits.share());
        let mut held = Vec::new();
        for _ in 0..MAX_REPLIES_PER_CONNECTION {
            held.push(greedy.reply().await.unwrap());
        }
        let more = tokio::time::timeout(Duration::from_millis(20), greedy.reply()).await;
        assert!(more.is_err(), "its share is used up");
        modest.reply().await.unwrap();
        held.pop();
        greedy.reply().await.unwrap();
    }

    /// In the time of tokio, which goes on to the next timer when nothing else is left to do.
    #[tokio::test(start_paused = true)]
    async fn a_header_that_does_not_come_is_given_up() {
        let start = Instant::now();
        let late = header_in_time(std::future::pending::<()>()).await.unwrap_err();
        assert_eq!(start.elapsed(), HEADER_TIMEOUT);
        assert_eq!(late.to_string(), "a request took longer than 10 s to say what it wants");
        let just_in_time = tokio::time::sleep(HEADER_TIMEOUT - Duration::from_millis(1));
        assert!(header_in_time(just_in_time).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_that_nobody_takes_is_given_up() {
        let start = Instant::now();
        assert!(unless_stalled(std::future::pending::<()>()).await.is_err());
        assert_eq!(start.elapsed(), STALL_TIMEOUT);
        // An upload of which nothing comes any more.
        let pace = Pace::new(Instant::now());
        assert!(pace.keep(std::future::pending::<()>()).await.is_err());
        assert_eq!(start.elapsed(), 2 * STALL_TIMEOUT);
    }

    #[test]
    fn a_byte_now_and_then_is_no_progress() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        let later = start + STALL_TIMEOUT / 2;
        (1..PROGRESS).for_each(|_| pace.count(later, 1));
        assert_eq!(pace.until, start + STALL_TIMEOUT);
        pace.count(later, 1);
        assert_eq!(pace.until, later + STALL_TIMEOUT);
    }

    #[test]
    fn uploads_are_bounded_in_all() {
        let limits = Limits::new();
        let mut held: Vec<_> = (0..MAX_UPLOADS).map(|_| limits.upload().unwrap()).collect();
        assert!(limits.upload().is_none());
        held.pop();
        assert!(limits.upload().is_some());
    }
}
