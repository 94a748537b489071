//! Bytes that connections hold, and their sources: what [`ReceiveMemory`](crate::ReceiveMemory) and
//! [`SendMemory`](crate::SendMemory) have in common.
//!
//! A limit for a connection bounds nothing where connections are cheap. So a server counts for the source of each client, which is an
//! IPv4 address or an IPv6 network of 64 bits. The connections that an endpoint opens itself are each a source of their own.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use crate::source_of;

/// Smaller changes are not passed on: they would cost every packet.
pub(crate) const STEP: u64 = 32 << 10;

/// The largest part of the whole for one source: one in so many.
pub(crate) const LARGEST_PART: u64 = 8;

/// What all connections together hold, at most `limit` bytes if they keep to it.
#[derive(Debug)]
pub(crate) struct Pool {
    limit: u64,
    all: Account,
    /// Of what is held, how much those hold that are to be closed.
    condemned: AtomicU64,
    sources: Mutex<Sources>,
}

#[derive(Debug, Default)]
struct Sources {
    of: BTreeMap<Key, Entry>,
    /// Counts those who joined.
    joined: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Address(IpAddr),
    /// The connection with this number.
    Own(u64),
}

#[derive(Debug, Default)]
struct Entry {
    account: Arc<Account>,
    members: BTreeMap<u64, Arc<Member>>,
}

/// What several hold together.
#[derive(Debug, Default)]
struct Account {
    held: AtomicU64,
    /// Those that hold something.
    holders: AtomicU64,
}

impl Account {
    fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    fn holders(&self) -> u64 {
        self.holders.load(Ordering::Relaxed)
    }

    /// Somebody begins to hold something, or no longer does. Returns true if he is the first or was the last.
    fn count(&self, before: u64, now: u64) -> bool {
        match (before > 0, now > 0) {
            (false, true) => self.holders.fetch_add(1, Ordering::Relaxed) == 0,
            (true, false) => self.holders.fetch_sub(1, Ordering::Relaxed) == 1,
            _ => false,
        }
    }
}

#[derive(Debug, Default)]
struct Member {
    held: AtomicU64,
    is_condemned: AtomicBool,
    /// With how much it was counted among those.
    condemned_with: AtomicU64,
    waker: Mutex<Option<Waker>>,
}

/// What one connection holds.
#[derive(Debug)]
pub(crate) struct Share {
    pool: Arc<Pool>,
    source: Arc<Account>,
    member: Arc<Member>,
    key: Key,
    number: u64,
    held: u64,
}

/// What is held by whom, and the part of it that a connection has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Holdings {
    pub(crate) limit: u64,
    /// By all.
    pub(crate) held: u64,
    /// By its source, the connection itself included.
    pub(crate) of_source: u64,
    /// By the connection itself.
    pub(crate) own: u64,
    /// How many sources would hold something if it did, at least 1.
    pub(crate) sources: u64,
    /// How many connections of its source would, at least 1.
    pub(crate) siblings: u64,
}

impl Pool {
    pub(crate) fn new(limit: u64) -> Arc<Self> {
        Arc::new(Pool {
            limit,
            all: Account::default(),
            condemned: AtomicU64::new(0),
            sources: Mutex::default(),
        })
    }

    /// What is held now, to within [`STEP`] for each connection.
    pub(crate) fn held(&self) -> u64 {
        self.all.held()
    }

    /// A further connection takes part, of a client at this address.
    pub(crate) fn join(self: &Arc<Self>, client: Option<IpAddr>) -> Share {
        let mut sources = self.lock();
        sources.joined += 1;
        let number = sources.joined;
        let key = client.map_or(Key::Own(number), |address| Key::Address(source_of(address)));
        let entry = sources.of.entry(key).or_default();
        let (member, source) = (Arc::<Member>::default(), entry.account.clone());
        entry.members.insert(number, member.clone());
        drop(sources);
        Share { pool: self.clone(), source, member, key, number, held: 0 }
    }

    fn lock(&self) -> MutexGuard<'_, Sources> {
        // Nothing panics while it holds the lock.
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Names those who are to be closed until what the others hold is within the limit: the largest of the largest source, over
    /// and over.
    #[cold]
    fn relieve(&self) {
        let sources = self.lock();
        while self.held().saturating_sub(self.condemned.load(Ordering::Relaxed)) > self.limit {
            let Some(member) = sources.largest() else { return };
            let held = member.size();
            member.condemned_with.store(held, Ordering::Relaxed);
            member.is_condemned.store(true, Ordering::Relaxed);
            self.condemned.fetch_add(held, Ordering::Relaxed);
            if let Some(waker) = &*member.waker.lock().unwrap_or_else(PoisonError::into_inner) {
                waker.wake_by_ref();
            }
        }
    }
}

impl Sources {
    fn largest(&self) -> Option<&Member> {
        let rest = |entry: &Entry| entry.remaining().map(Member::size).sum::<u64>();
        let source = self.of.values().max_by_key(|entry| rest(entry))?;
        source.remaining().max_by_key(|member| member.size()).filter(|member| member.size() > 0)
    }
}

impl Entry {
    /// Those who are not to be closed.
    fn remaining(&self) -> impl Iterator<Item = &Member> {
        self.members.values().map(|member| &**member).filter(|member| !member.is_condemned())
    }
}

impl Member {
    fn size(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    fn is_condemned(&self) -> bool {
        self.is_condemned.load(Ordering::Relaxed)
    }
}

impl Share {
    /// The connection holds so much. Returns true if that was passed on.
    #[inline]
    pub(crate) fn update(&mut self, held: u64) -> bool {
        let passes_on = held.abs_diff(self.held) >= STEP;
        if passes_on {
            self.settle(held);
        }
        passes_on
    }

    /// The same; if all together exceed the limit by it, those who hold most are to be closed.
    #[inline]
    pub(crate) fn update_or_relieve(&mut self, held: u64) {
        let grows = held > self.held;
        if self.update(held) && grows && self.pool.held() > self.pool.limit {
            self.pool.relieve();
        }
    }

    #[inline(never)]
    fn settle(&mut self, held: u64) {
        // What the others may hold was computed with what it held.
        if !self.is_condemned() {
            self.apply(held);
        }
    }

    fn apply(&mut self, held: u64) {
        // Wraps where it falls, as the counters do.
        let change = held.wrapping_sub(self.held);
        self.pool.all.held.fetch_add(change, Ordering::Relaxed);
        self.source.held.fetch_add(change, Ordering::Relaxed);
        self.member.held.store(held, Ordering::Relaxed);
        if self.source.count(self.held, held) {
            self.pool.all.count(self.held, held);
        }
        self.held = held;
    }

    /// What it held is free. If it was to be closed, nothing counts for it any more.
    #[cold]
    pub(crate) fn give_back(&mut self) {
        let pool = self.pool.clone();
        let _sources = pool.lock();
        pool.condemned.fetch_sub(self.member.condemned_with.swap(0, Ordering::Relaxed), Ordering::Relaxed);
        self.apply(0);
    }

    /// Whether the connection is to be closed.
    #[inline]
    pub(crate) fn is_condemned(&self) -> bool {
        self.member.is_condemned()
    }

    /// Whom to wake when the connection is to be closed, which may be long after anything arrived for it. Called with locks
    /// held: it must not act on the connection at once.
    pub(crate) fn set_waker(&self, waker: Waker) {
        *self.member.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker);
    }

    pub(crate) fn holdings(&self) -> Holdings {
        let (all, source) = (&self.pool.all, &self.source);
        let siblings = source.holders().saturating_sub(u64::from(self.held > 0));
        let others = all.holders().saturating_sub(u64::from(source.holders() > 0));
        Holdings {
            limit: self.pool.limit,
            held: all.held(),
            of_source: source.held(),
            own: self.held,
            sources: others + 1,
            siblings: siblings + 1,
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.give_back();
        let mut sources = self.pool.lock();
        if let Some(entry) = sources.of.get_mut(&self.key) {
            entry.members.remove(&self.number);
            if entry.members.is_empty() {
                sources.of.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_kept_of_those_who_left() {
        let pool = Pool::new(100 * STEP);
        let client = |text: &str| Some(text.parse().unwrap());
        let mut shares: Vec<Share> =
            ["2001:db8::1", "2001:db8::2", "192.0.2.1"].map(|address| pool.join(client(address))).into();
        shares.push(pool.join(None));
        for share in &mut shares {
            assert!(share.update(10 * STEP) && !share.update(10 * STEP + 1));
        }
        let holdings = shares[0].holdings();
        assert_eq!((pool.held(), holdings.of_source, holdings.own), (40 * STEP, 20 * STEP, 10 * STEP));
        assert_eq!((holdings.sources, holdings.siblings), (3, 2));
        shares.truncate(1);
        let holdings = shares[0].holdings();
        assert_eq!((holdings.held, holdings.sources, holdings.siblings), (10 * STEP, 1, 1));
        drop(shares);
        assert!(pool.lock().of.is_empty());
        assert_eq!((pool.held(), pool.all.holders()), (0, 0));
    }
}
