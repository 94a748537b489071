//! SHA-256 of served files, computed once per version.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::command::digest::{Digest, hash_prefix};

/// Versions remembered. When there are more, all are forgotten and computed again as needed.
const CAPACITY: usize = 10_000;

/// A version of a file: device, inode, time of last change, size.
type Version = (u64, u64, i64, i64, u64);

/// Files hashed at the same time, over all requests.
const MAX_WORKERS: usize = 2;

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
    result: PendingDigest,
}

/// A digest that is known or will be soon.
#[derive(Clone, Debug, Default)]
pub(crate) struct PendingDigest {
    state: Arc<(Mutex<State>, Condvar)>,
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
            && !matches!(pending.get(), State::Failed)
        {
            return pending.clone();
        }
        if shared.known.len() >= CAPACITY {
            shared.known.clear();
        }
        let result = PendingDigest::default();
        shared.known.insert(version, result.clone());
        shared.queue.push_back(Job { file: file.clone(), version, result: result.clone() });
        if shared.workers < MAX_WORKERS {
            let owned = self.shared.clone();
            let spawned = std::thread::Builder::new().name("digest".into()).spawn(move || work(&owned));
            shared.workers += usize::from(spawned.is_ok());
        }
        result
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
        job.result.settle(match hash_prefix(&job.file, size) {
            Ok(hasher) if unchanged() => State::Known(Digest::of(hasher)),
            _ => State::Failed,
        });
    }
}

impl PendingDigest {
    /// Waits for at most `patience`; `None` when it is not known by then.
    pub(crate) fn wait(&self, patience: Duration) -> Option<Digest> {
        let deadline = Instant::now() + patience;
        let (state, changed) = &*self.state;
        let mut guard = state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match *guard {
                State::Known(digest) => return Some(digest),
                State::Failed => return None,
                State::Computing => {}
            }
            let left = deadline.checked_duration_since(Instant::now())?;
            guard = changed.wait_timeout(guard, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn get(&self) -> State {
        *self.state.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settle(&self, new: State) {
        *self.state.0.lock().unwrap_or_else(PoisonError::into_inner) = new;
        self.state.1.notify_all();
    }
}

fn version_of(metadata: &Metadata) -> Version {
    (metadata.dev(), metadata.ino(), metadata.mtime(), metadata.mtime_nsec(), metadata.size())
}
