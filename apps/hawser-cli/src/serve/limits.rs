//! What one client may take of the server.
//!
//! Requests are cheap: ten kilobytes of them could ask for hundreds of files that nobody then reads. So each connection has
//! a share, what does not fit waits without a thread or a file, and what makes no progress ends.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use hawser_command::server::raise_descriptor_limit;
use hawser_command::sources::{Pool, Seat, Seats, Taken, Transfer};

/// Bytes read from a file at a time, and gathered of an upload.
pub(super) const BLOCK: usize = 1 << 18;
/// How long the header of a request may take once its stream has begun.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes handed to the transport at a time.
pub(super) const PIECE: usize = 1 << 16;
/// Answers of so many bytes need no right to reply: they wait in the memory of their source without an open file.
pub(super) const SMALL: u64 = 16 << 10;

/// Replies and uploads at the same time on one connection, each with an open file or two.
const MAX_REPLIES_PER_CONNECTION: usize = 16;
/// Blocks of files in memory on one connection.
const MAX_BLOCKS_PER_CONNECTION: usize = 16;
/// Replies and uploads at the same time in total, where the system allows that many files.
const MAX_REPLIES: usize = 8192;
/// Uploads at the same time in total, most of them of strangers who may send slowly.
const MAX_UPLOADS: usize = 256;
/// Requests at the same time in total, besides one on each connection: each has its header in memory.
const MAX_REQUESTS: usize = 32_768;
/// Files and folders that are looked up at the same time, which waits for the disk and for no client.
const MAX_LOOKUPS: usize = 32;
/// Small answers that wait for their clients, of at most [`SMALL`] bytes each.
const MAX_SMALL: usize = 4096;
/// Descriptors besides those of replies: sockets, standard streams, digests, folders being listed.
const OTHER_DESCRIPTORS: usize = 256;
/// Bytes in a unit of memory.
const UNIT: u64 = 1 << 10;

/// What all connections share. Of each pool a source has at most an eighth.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    requests: Pool,
    replies: Pool,
    uploads: Seats<Transfer>,
    /// What was read of files and not taken by clients, in units.
    memory: Pool,
    /// Small answers have their own: large ones of the same source do not keep them waiting.
    small: Pool,
    lookups: Arc<Semaphore>,
}

/// What one connection may have.
#[derive(Clone, Debug)]
pub(super) struct Share {
    source: IpAddr,
    limits: Limits,
    replies: Arc<Semaphore>,
    blocks: Arc<Semaphore>,
}

/// The right to have a file open, given back when dropped.
#[derive(Debug)]
pub(super) struct ReplyPermit {
    _all: Taken,
    _own: OwnedSemaphorePermit,
}

/// The right to have a block in memory, given back when dropped.
#[derive(Debug)]
pub(super) struct BlockPermit {
    _all: Taken,
    _own: OwnedSemaphorePermit,
}

impl Limits {
    /// Takes as many descriptors as the system gives this process. `memory`: bytes of files that all clients together may
    /// leave waiting.
    pub(super) fn new(memory: u64) -> Self {
        let descriptors = raise_descriptor_limit().unwrap_or(1024);
        // An upload has three: the file and its folder, twice.
        let replies = (descriptors.saturating_sub(OTHER_DESCRIPTORS) / 3).clamp(16, MAX_REPLIES);
        let units = usize::try_from(memory / UNIT).unwrap_or(usize::MAX);
        Limits {
            requests: Pool::new(MAX_REQUESTS),
            replies: Pool::new(replies),
            uploads: Seats::new(MAX_UPLOADS),
            // A share holds a block at least, or nothing could be sent.
            memory: Pool::new(units.max(8 * units_of(BLOCK as u64) as usize)),
            small: Pool::new(MAX_SMALL),
            lookups: Arc::new(Semaphore::new(MAX_LOOKUPS)),
        }
    }

    /// The share of a new connection from this address.
    pub(super) fn share(&self, source: IpAddr) -> Share {
        Share {
            source,
            limits: self.clone(),
            replies: Arc::new(Semaphore::new(MAX_REPLIES_PER_CONNECTION)),
            blocks: Arc::new(Semaphore::new(MAX_BLOCKS_PER_CONNECTION)),
        }
    }
}

impl Share {
    /// Waits until another request may be taken besides those that this connection has.
    pub(super) async fn request(&self) -> Taken {
        self.limits.requests.take(self.source, 1).await
    }

    /// Waits until another reply may begin.
    pub(super) async fn reply(&self) -> io::Result<ReplyPermit> {
        let own = self.replies.clone().acquire_owned().await.map_err(io::Error::other)?;
        Ok(ReplyPermit { _all: self.limits.replies.take(self.source, 1).await, _own: own })
    }

    /// Another reply, if it may begin now.
    pub(super) fn try_reply(&self) -> Option<ReplyPermit> {
        let own = self.replies.clone().try_acquire_owned().ok()?;
        Some(ReplyPermit { _all: self.limits.replies.try_take(self.source, 1)?, _own: own })
    }

    /// Where the connection comes from.
    pub(super) fn source(&self) -> IpAddr {
        self.source
    }

    /// The right to upload; `None` if too many do, and none of them is slower than it must be.
    pub(super) fn upload(&self, now: Instant) -> Option<(Seat<Transfer>, Transfer)> {
        let transfer = Transfer::default();
        Some((self.limits.uploads.try_take(self.source, now, transfer.clone())?, transfer))
    }

    /// Waits until another block of so many bytes may be read.
    pub(super) async fn block(&self, bytes: u64) -> io::Result<BlockPermit> {
        let own = self.blocks.clone().acquire_owned().await.map_err(io::Error::other)?;
        Ok(BlockPermit { _all: self.limits.memory.take(self.source, units_of(bytes)).await, _own: own })
    }

    /// A block in advance, if there is room.
    pub(super) fn try_block(&self, bytes: u64) -> Option<BlockPermit> {
        let own = self.blocks.clone().try_acquire_owned().ok()?;
        Some(BlockPermit { _all: self.limits.memory.try_take(self.source, units_of(bytes))?, _own: own })
    }

    /// Waits for memory that is no block: a page that was made.
    pub(super) async fn memory(&self, bytes: u64) -> Taken {
        self.limits.memory.take(self.source, units_of(bytes)).await
    }

    /// Memory for a small answer, if there is room.
    pub(super) fn try_small(&self) -> Option<Taken> {
        self.limits.small.try_take(self.source, 1)
    }

    /// Memory for a page, if there is room.
    pub(super) fn try_memory(&self, bytes: u64) -> Option<Taken> {
        self.limits.memory.try_take(self.source, units_of(bytes))
    }

    /// Waits until something may be looked up.
    pub(super) async fn lookup(&self) -> io::Result<OwnedSemaphorePermit> {
        self.limits.lookups.clone().acquire_owned().await.map_err(io::Error::other)
    }
}

fn units_of(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT).max(1)).unwrap_or(u32::MAX)
}

/// The header of a request, if it comes within [`HEADER_TIMEOUT`].
//= rfc9000-21.6-1: slow peers are bounded
pub(super) async fn header_in_time<T>(header: impl Future<Output = T>) -> Result<T, LateHeader> {
    tokio::time::timeout(HEADER_TIMEOUT, header).await.map_err(|_| LateHeader)
}

/// A request began, and its header did not come.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("a request took longer than {} s to say what it wants", HEADER_TIMEOUT.as_secs())]
pub(super) struct LateHeader;

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn ip(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    /// An upload that is fast enough.
    fn upload(share: &Share) -> Option<Seat<Transfer>> {
        let (seat, transfer) = share.upload(Instant::now())?;
        transfer.count(1 << 30);
        Some(seat)
    }

    #[tokio::test]
    async fn one_connection_can_not_take_what_another_needs() {
        let limits = Limits::new(GIB);
        let (greedy, modest) = (limits.share(ip(1)), limits.share(ip(1)));
        let mut held = Vec::new();
        for _ in 0..MAX_REPLIES_PER_CONNECTION {
            held.push(greedy.reply().await.unwrap());
        }
        let more = tokio::time::timeout(Duration::from_millis(20), greedy.reply()).await;
        assert!(more.is_err() && greedy.try_reply().is_none(), "its share is used up");
        modest.reply().await.unwrap();
        held.pop();
        greedy.reply().await.unwrap();
    }

    /// However many connections it opens.
    #[tokio::test]
    async fn one_source_can_not_take_what_another_needs() {
        let limits = Limits::new(64 << 20);
        let (mut replies, mut blocks, mut uploads) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..1000 {
            let share = limits.share(ip(1));
            replies.extend((0..16).map_while(|_| share.try_reply()));
            blocks.extend((0..16).map_while(|_| share.try_block(BLOCK as u64)));
            uploads.extend((0..16).map_while(|_| upload(&share)));
        }
        let requests: Vec<_> = (0..MAX_REQUESTS).map_while(|_| limits.requests.try_take(ip(1), 1)).collect();
        assert_eq!(requests.len(), MAX_REQUESTS / 8);
        assert!(replies.len() <= MAX_REPLIES / 8, "{}", replies.len());
        assert_eq!((blocks.len(), uploads.len()), (8 * (1 << 20) / BLOCK, MAX_UPLOADS / 8));
        let other = limits.share(ip(2));
        assert!(other.try_reply().is_some() && other.try_block(BLOCK as u64).is_some());
        assert!(upload(&other).is_some() && other.try_memory(SMALL).is_some());
        assert!(limits.share(ip(1)).try_small().is_some(), "small answers do not wait for large ones");
        tokio::time::timeout(Duration::from_secs(1), other.reply()).await.unwrap().unwrap();
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

    #[test]
    fn uploads_are_bounded_in_all() {
        let limits = Limits::new(GIB);
        let upload = |n: usize| upload(&limits.share(ip(u8::try_from(n % 9).unwrap())));
        let mut held: Vec<_> = (0..9 * MAX_UPLOADS).filter_map(upload).collect();
        assert_eq!(held.len(), MAX_UPLOADS);
        held.pop();
        assert!((0..9).any(|n| upload(n).is_some()));
    }

    #[tokio::test]
    async fn the_smallest_memory_has_a_block_for_each_share() {
        let share = Limits::new(0).share(ip(1));
        let _block = share.block(BLOCK as u64).await.unwrap();
        assert!(share.try_block(BLOCK as u64).is_none() && share.try_memory(1).is_none());
    }
}
