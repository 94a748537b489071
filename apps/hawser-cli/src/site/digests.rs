//! SHA-256 of served files, computed once per version.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::watch;

use hawser_command::digest::{Digest, hash_while};

/// Versions remembered. When there are more, all are forgotten and computed again as needed.
const CAPACITY: usize = 10_000;

/// A version of a file: device, inode, time of last change, size.
type Version = (u64, u64, i64, i64, u64);

/// Files hashed at the same time, over all requests.
const MAX_WORKERS: usize = 2;

/// Files that wait to be hashed, each of them open. Responses about others have no digest.
const MAX_QUEUED: usize = 64;

/// Files up to this size are hashed to their end even if those who asked have left: they may ask again, and it takes less
/// than a second.
const ALWAYS: u64 = 256 << 20;

/// Digests by version.
#[derive(Debug, Default)]
pub(super) struct Digests {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    known: BTreeMap<Version, Entry>,
    queue: VecDeque<Job>,
    workers: usize,
}

/// A digest that was asked for.
#[derive(Debug)]
struct Entry {
    state: watch::Receiver<State>,
    askers: Weak<Asker>,
}

#[derive(Debug)]
struct Job {
    file: Arc<File>,
    version: Version,
    result: watch::Sender<State>,
    askers: Weak<Asker>,
}

/// Kept by everybody who waits for a digest.
#[derive(Debug)]
struct Asker;

/// A digest that is known or will be soon.
#[derive(Clone, Debug)]
pub(crate) struct PendingDigest {
    state: watch::Receiver<State>,
    _asker: Option<Arc<Asker>>,
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
        if let Some(pending) = shared.known.get(&version).and_then(Entry::join) {
            return pending;
        }
        if shared.known.len() >= CAPACITY {
            shared.known.clear();
        }
        let (result, state) = watch::channel(State::default());
        let asker = Arc::new(Asker);
        let askers = Arc::downgrade(&asker);
        let pending = PendingDigest { state: state.clone(), _asker: Some(asker) };
        if shared.queue.len() >= MAX_QUEUED {
            result.send_replace(State::Failed);
            return pending;
        }
        shared.known.insert(version, Entry { state, askers: askers.clone() });
        shared.queue.push_back(Job { file: file.clone(), version, result, askers });
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
        let is_wanted = || size <= ALWAYS || job.askers.strong_count() > 0;
        job.result.send_replace(match hash_while(&job.file, size, is_wanted) {
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
}

impl Entry {
    /// The digest for one more who asks; `None` if it must be computed again: the file could not be read, or everybody had
    /// left.
    fn join(&self) -> Option<PendingDigest> {
        let asker = match *self.state.borrow() {
            State::Known(_) => None,
            State::Computing if self.state.has_changed().is_ok() => Some(self.askers.upgrade()?),
            State::Computing | State::Failed => return None,
        };
        Some(PendingDigest { state: self.state.clone(), _asker: asker })
    }
}

fn version_of(metadata: &Metadata) -> Version {
    (metadata.dev(), metadata.ino(), metadata.mtime(), metadata.mtime_nsec(), metadata.size())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of zeros that takes no space.
    fn sparse(length: u64) -> (Arc<File>, Metadata) {
        let file = tempfile::tempfile().unwrap();
        file.set_len(length).unwrap();
        let metadata = file.metadata().unwrap();
        (Arc::new(file), metadata)
    }

    fn workers(digests: &Digests) -> usize {
        digests.shared.lock().unwrap().workers
    }

    /// Nobody waits for the digest of a terabyte any more: the thread ends. It would take an hour.
    #[test]
    fn a_digest_ends_with_those_who_asked_for_it() {
        let digests = Digests::default();
        let (file, metadata) = sparse(1 << 40);
        let first = digests.start(&file, &metadata);
        let second = digests.start(&file, &metadata);
        drop(first);
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(workers(&digests), 1, "somebody waits");
        drop(second);
        for _ in 0..1000 {
            if workers(&digests) == 0 {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the digest goes on without anybody");
    }

    #[tokio::test]
    async fn a_small_file_is_hashed_whoever_waits_and_once() {
        let digests = Digests::default();
        let (file, metadata) = sparse(1 << 20);
        drop(digests.start(&file, &metadata));
        for _ in 0..1000 {
            if workers(&digests) == 0 {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let known = digests.start(&file, &metadata);
        assert_eq!(workers(&digests), 0, "it is known");
        assert!(known.wait(Duration::ZERO).await.is_some());
    }
}
