//! SHA-256 of served files, computed once per version.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use crate::digest::{Digest, hash_prefix};

/// Versions remembered. When there are more, all are forgotten and computed again as needed.
const CAPACITY: usize = 10_000;

/// A version of a file: device, inode, time of last change, size.
type Version = (u64, u64, i64, i64, u64);

/// Files hashed at the same time, over all requests.
const MAX_WORKERS: usize = 2;

/// Files that wait to be hashed, each of them open. Responses about others have no digest.
const MAX_QUEUED: usize = 64;

/// Digests by version.
#[derive(Debug, Default)]
pub(super) struct Digests {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    known: BTreeMap<Version, PendingDigest>,
    queue: VecDeque<Job>,
    workers: usize,
}

#[derive(Debug)]
struct Job {
    file: Arc<File>,
    version: Version,
    result: watch::Sender<State>,
}

/// A digest that is known or will be soon.
#[derive(Clone, Debug)]
pub(crate) struct PendingDigest {
    state: watch::Receiver<State>,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Computing,
    Known(Digest),
    /// The file could not be read to its end or changed meanwhile.
    Failed,
}

impl Digests {
    /// The digest of an open file. If it is not known, a thread begins to compute it.
    pub(super) fn start(&self, file: &Arc<File>, metadata: &Metadata) -> PendingDigest {
        let version = version_of(metadata);
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pending) = shared.known.get(&version)
            && !pending.has_failed()
        {
            return pending.clone();
        }
        if shared.known.len() >= CAPACITY {
            shared.known.clear();
        }
        let (result, state) = watch::channel(State::default());
        let pending = PendingDigest { state };
        if shared.queue.len() >= MAX_QUEUED {
            result.send_replace(State::Failed);
            return pending;
        }
        shared.known.insert(version, pending.clone());
        shared.queue.push_back(Job { file: file.clone(), version, result });
        if shared.workers < MAX_WORKERS {
            let owned = self.shared.clone();
            let spawned = std::thread::Builder::new().name("digest".into()).spawn(move || work(&owned));
            shared.workers += usize::from(spawned.is_ok());
        }
        pending
    }
}

/// Computes what is queued, then ends.
fn work(shared: &Mutex<Shared>) {
    loop {
        let job = {
            let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(job) = shared.queue.pop_front() else {
                shared.workers -= 1;
                return;
            };
            job
        };
        let unchanged = || job.file.metadata().is_ok_and(|now| version_of(&now) == job.version);
        let (.., size) = job.version;
        job.result.send_replace(match hash_prefix(&job.file, size) {
            Ok(hasher) if unchanged() => State::Known(Digest::of(hasher)),
            _ => State::Failed,
        });
    }
}

impl PendingDigest {
    /// Waits for at most `patience`, without a thread; `None` when it is not known by then.
    pub(crate) async fn wait(&self, patience: Duration) -> Option<Digest> {
        let mut state = self.state.clone();
        let settled = state.wait_for(|state| !matches!(state, State::Computing));
        match *tokio::time::timeout(patience, settled).await.ok()?.ok()? {
            State::Known(digest) => Some(digest),
            State::Computing | State::Failed => None,
        }
    }

    /// Whether it must be computed again. That is so, too, when the task that computed it is gone.
    fn has_failed(&self) -> bool {
        match *self.state.borrow() {
            State::Known(_) => false,
            State::Computing => self.state.has_changed().is_err(),
            State::Failed => true,
        }
    }
}

fn version_of(metadata: &Metadata) -> Version {
    (metadata.dev(), metadata.ino(), metadata.mtime(), metadata.mtime_nsec(), metadata.size())
}
