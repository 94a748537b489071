//! Users while the gateway runs: found by their keys, held to their limits, sent away when they are removed.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::usage::Usage;
use crate::grants::Grants;
use crate::meter::Meter;
use crate::traffic::{SeenKind, Traffic};
use crate::users::{Account, Key, KeyHash, UserFile, Users, UsersError, Version};

/// Next to the file of users: how much of their volumes is used.
const USAGE_FILE: &str = "gateway-usage.toml";

/// How often it is looked whether the file has changed.
pub(super) const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// What users have used is written down once in so many looks.
pub(super) const LOOKS_PER_SAVE: u64 = 20;

/// A user.
#[derive(Debug)]
pub(super) struct User {
    /// As in the file.
    pub(super) name: String,
    /// What the user's tunnels carry and carried.
    pub(super) traffic: Traffic,
    /// The right to open tunnels.
    tunnels: Arc<Semaphore>,
    /// Most of them.
    pub(super) most: usize,
    /// Becomes true when the user is removed or gets another key.
    removed: watch::Sender<bool>,
    /// What the user may.
    grants: watch::Sender<Grants>,
    /// How much passes.
    pub(super) meter: Meter,
    /// Numbers of the connections on which the key was shown, at most [`MAX_SEEN`].
    connections: Mutex<BTreeSet<u64>>,
}

/// A user and what he has open, for those who look at a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenUser {
    /// As in the file.
    pub name: String,
    /// Tunnels that are open.
    pub tunnels: usize,
    /// The most that may be.
    pub most: usize,
    /// [Numbers](hawser_net::Connection::number) of the connections on which the key was shown.
    pub connections: Vec<u64>,
    /// What went through the tunnels, by kind.
    pub traffic: Vec<SeenKind>,
}

/// Connections of one user that are named.
const MAX_SEEN: usize = 64;

impl User {
    fn new(name: String, most: usize, traffic: Traffic, grants: Grants) -> Self {
        let meter = Meter::default();
        meter.limit(grants.rate, grants.volume);
        User {
            grants: watch::Sender::new(grants),
            meter,
            name,
            traffic,
            tunnels: Arc::new(Semaphore::new(most)),
            most,
            removed: watch::Sender::new(false),
            connections: Mutex::default(),
        }
    }

    /// The right to one more tunnel; `None` if that is one too many.
    pub(super) fn tunnel(&self) -> Option<OwnedSemaphorePermit> {
        self.tunnels.clone().try_acquire_owned().ok()
    }

    /// What the user may, and whenever that changes.
    pub(super) fn grants(&self) -> watch::Receiver<Grants> {
        self.grants.subscribe()
    }

    fn grant(&self, grants: Grants) {
        self.meter.limit(grants.rate, grants.volume);
        self.grants.send_if_modified(|before| {
            let is_other = *before != grants;
            *before = grants;
            is_other
        });
    }

    /// The key was shown on this connection.
    pub(super) fn note_connection(&self, number: u64) {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        if connections.len() < MAX_SEEN {
            connections.insert(number);
        }
    }

    fn seen(&self) -> SeenUser {
        let connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        SeenUser {
            name: self.name.clone(),
            tunnels: self.most.saturating_sub(self.tunnels.available_permits()),
            most: self.most,
            connections: connections.iter().copied().collect(),
            traffic: self.traffic.seen(),
        }
    }

    /// Waits until the user is removed.
    pub(super) async fn removed(&self) {
        let mut removed = self.removed.subscribe();
        // The sender lives as long as this user.
        let _ = removed.wait_for(|removed| *removed).await;
    }
}

/// All users.
#[derive(Debug)]
pub(super) struct Directory {
    file: UserFile,
    most: usize,
    traffic: Traffic,
    users: RwLock<HashMap<KeyHash, Arc<User>>>,
    usage: Usage,
    version: Mutex<Version>,
}

/// What a new file brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change {
    added: usize,
    removed: usize,
    total: usize,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} added, {} removed, {} in all", self.added, self.removed, self.total)
    }
}

impl Directory {
    /// Reads the file. What users carry is part of `traffic`.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn open(file: UserFile, most: usize, traffic: &Traffic) -> Result<Self, UsersError> {
        let (version, users) = (file.version(), file.read()?);
        let (traffic, usage) = (traffic.clone(), Usage::open(file.path().with_file_name(USAGE_FILE)));
        let version = Mutex::new(version);
        let directory = Directory { file, most, traffic, users: RwLock::default(), usage, version };
        directory.replace(users);
        Ok(directory)
    }

    pub(super) fn len(&self) -> usize {
        self.users.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// The user with this key. Looked up by its hash: how long that takes says nothing of hashes that a stranger could use.
    pub(super) fn find(&self, key: &Key) -> Option<Arc<User>> {
        self.users.read().unwrap_or_else(PoisonError::into_inner).get(&key.hash()).cloned()
    }

    /// All users by name, and what they have open.
    pub(super) fn seen(&self) -> Vec<SeenUser> {
        let users = self.users.read().unwrap_or_else(PoisonError::into_inner);
        let mut seen: Vec<SeenUser> = users.values().map(|user| user.seen()).collect();
        seen.sort_by(|a, b| a.name.cmp(&b.name));
        seen
    }

    /// What the user of this name may.
    pub(super) fn grants(&self, name: &str) -> Option<Grants> {
        let users = self.users.read().unwrap_or_else(PoisonError::into_inner);
        users.values().find(|user| user.name == name).map(|user| user.grants.borrow().clone())
    }

    /// Writes down what users with a volume have used of it.
    ///
    /// # Errors
    /// When that cannot be written.
    pub(super) fn save_usage(&self, now: SystemTime) -> io::Result<()> {
        let users = self.users.read().unwrap_or_else(PoisonError::into_inner);
        let counted = users.values().filter(|user| user.grants.borrow().volume.is_some());
        self.usage.save(now, counted.map(|user| (user.name.as_str(), &user.meter)))
    }

    /// A connection has ended.
    pub(super) fn forget_connection(&self, number: u64) {
        for user in self.users.read().unwrap_or_else(PoisonError::into_inner).values() {
            user.connections.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
        }
    }

    /// Reads the file again if it has changed; `None` if it has not.
    ///
    /// # Errors
    /// When it cannot be read; said once for each state of the file.
    pub(super) fn reload(&self) -> Result<Option<Change>, UsersError> {
        let mut version = self.version.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.file.version();
        if now == *version {
            return Ok(None);
        }
        *version = now;
        Ok(Some(self.replace(self.file.read()?)))
    }

    fn replace(&self, users: Users) -> Change {
        let mut known = self.users.write().unwrap_or_else(PoisonError::into_inner);
        let mut kept = HashMap::with_capacity(users.len());
        let mut added = 0;
        for (name, Account { hash, grants }) in users {
            let user = match known.remove(&hash).filter(|user| user.name == name) {
                Some(user) => {
                    user.grant(grants);
                    user
                }
                None => {
                    added += 1;
                    let user = User::new(name, self.most, self.traffic.part(), grants);
                    self.usage.restore(&user.name, &user.meter);
                    Arc::new(user)
                }
            };
            kept.insert(hash, user);
        }
        let removed = known.len();
        for user in known.values() {
            user.removed.send_replace(true);
        }
        *known = kept;
        Change { added, removed, total: known.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn users_come_and_go_while_it_runs() {
        let folder = tempfile::tempdir().unwrap();
        let file = UserFile::new(folder.path().join("users.toml"));
        let directory = Directory::open(file.clone(), 2, &Traffic::default()).unwrap();
        assert_eq!((directory.len(), directory.reload().unwrap()), (0, None));
        let (alice, bob) = (file.add("alice").unwrap(), file.add("bob").unwrap());
        assert_eq!(directory.reload().unwrap(), Some(Change { added: 2, removed: 0, total: 2 }));
        let user = directory.find(&alice).unwrap();
        user.note_connection(7);
        let held = [user.tunnel().unwrap(), user.tunnel().unwrap()];
        assert!(user.tunnel().is_none(), "two are the most");
        file.remove("bob").unwrap();
        let gone = directory.find(&bob).unwrap();
        assert_eq!(directory.reload().unwrap(), Some(Change { added: 0, removed: 1, total: 1 }));
        gone.removed().await;
        assert!(directory.find(&bob).is_none());
        assert!(Arc::ptr_eq(&user, &directory.find(&alice).unwrap()), "who stays keeps what he has");
        let (connections, traffic) = (vec![7], Vec::new());
        let seen = SeenUser { name: "alice".to_owned(), tunnels: 2, most: 2, connections, traffic };
        assert_eq!(directory.seen(), [seen]);
        directory.forget_connection(7);
        assert!(directory.seen()[0].connections.is_empty());
        drop(held);
        assert!(user.tunnel().is_some());
    }

    #[test]
    fn a_file_that_is_wrong_changes_nothing_and_is_told_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = UserFile::new(folder.path().join("users.toml"));
        let key = file.add("alice").unwrap();
        let directory = Directory::open(file.clone(), 2, &Traffic::default()).unwrap();
        std::fs::write(file.path(), "[user.alice]\n").unwrap();
        assert!(directory.reload().is_err());
        assert_eq!(directory.reload().unwrap(), None);
        assert!(directory.find(&key).is_some());
    }

    /// Nobody learns from how long an answer takes whether a key, or what is like it, is somebody's: finding a user costs the same work as
    /// finding none, wherever keys begin to differ.
    #[test]
    fn a_wrong_key_costs_as_much_as_a_right_one() {
        const KEYS: usize = 200;
        let folder = tempfile::tempdir().unwrap();
        let file = UserFile::new(folder.path().join("users.toml"));
        let right: Vec<Key> = (0..KEYS).map(|n| file.add(&format!("user{n}")).unwrap()).collect();
        let directory = Directory::open(file.clone(), 2, &Traffic::default()).unwrap();
        // Another last character, another first one, and keys that were those of users.
        let other = |key: &Key, at: usize| -> Key {
            let mut text = key.secret().as_bytes().to_vec();
            text[at] = if text[at] == b'x' { b'y' } else { b'x' };
            String::from_utf8(text).unwrap().parse().unwrap()
        };
        let last = right[0].secret().len() - 1;
        let near: Vec<Key> = right.iter().map(|key| other(key, last)).collect();
        let far: Vec<Key> = right.iter().map(|key| other(key, 0)).collect();
        let removed: Vec<Key> = (0..KEYS).map(|n| file.add(&format!("gone{n}")).unwrap()).collect();
        (0..KEYS).for_each(|n| file.remove(&format!("gone{n}")).unwrap());
        directory.reload().unwrap();
        let kinds = [&right, &near, &far, &removed];
        assert_eq!(
            kinds.map(|keys| keys.iter().filter(|key| directory.find(key).is_some()).count()),
            [KEYS, 0, 0, 0]
        );
        // In turns, and the least of many: other work only adds to it.
        let mut least = [Duration::MAX; 4];
        for _ in 0..300 {
            for (kind, keys) in kinds.iter().enumerate() {
                let began = std::time::Instant::now();
                keys.iter().for_each(|key| drop(std::hint::black_box(directory.find(key))));
                least[kind] = least[kind].min(began.elapsed());
            }
        }
        let [right, wrong @ ..] = least.map(|time| time.as_secs_f64());
        for wrong in wrong {
            let ratio = wrong / right;
            assert!((0.8..1.25).contains(&ratio), "{least:?}");
        }
    }
}
