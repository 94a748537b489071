//! Places, which those lose that are too slow while others wait for one.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hawser::source_of;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::pace::{LEAST_RATE, STALL_TIMEOUT};
use super::pool::SHARE;

/// Occupants that are looked at for one who comes. The next one who comes begins behind them, so that all have their turn.
const MAX_LOOKED_AT: usize = 256;

/// Who has a place.
pub trait Occupant {
    /// Bytes that it has moved until now.
    fn moved(&self) -> u64;
    /// The place was given to another one.
    fn give_way(self);
}

/// So many places, of which a source has a share. Cheap to clone.
///
/// A source's own share does not protect those behind the same address from each other, and its places cost an attacker a byte
/// each. So who comes when there is no place left takes that of the slowest, if that has not kept up [`LEAST_RATE`] of late: of
/// its own source if that has its share, else of all.
#[derive(Debug)]
pub struct Seats<T> {
    most: usize,
    share: usize,
    room: Arc<Mutex<Room<T>>>,
}

#[derive(Debug)]
struct Room<T> {
    next: u64,
    seats: BTreeMap<u64, Held<T>>,
    sources: HashMap<IpAddr, BTreeSet<u64>>,
    /// The last one that was looked at.
    looked_at: u64,
}

#[derive(Debug)]
struct Held<T> {
    source: IpAddr,
    occupant: T,
    /// Since when its bytes are counted, and how many there were then.
    since: Instant,
    before: u64,
}

/// A place, given back when dropped.
#[derive(Debug)]
#[must_use = "dropped, it is given back"]
pub struct Seat<T> {
    room: Arc<Mutex<Room<T>>>,
    number: u64,
}

impl<T> Clone for Seats<T> {
    fn clone(&self) -> Self {
        Seats { most: self.most, share: self.share, room: self.room.clone() }
    }
}

impl<T: Occupant> Seats<T> {
    /// So many places, of which a source has at most an eighth.
    pub fn new(most: usize) -> Self {
        Seats::with_share(most, (most / SHARE).max(1))
    }

    /// So many places, of which a source may have `share`.
    pub fn with_share(most: usize, share: usize) -> Self {
        let (seats, sources) = (BTreeMap::new(), HashMap::new());
        let room = Room { next: 0, seats, sources, looked_at: 0 };
        Seats { most, share: share.min(most), room: Arc::new(Mutex::new(room)) }
    }

    /// Places that nobody has.
    pub fn free(&self) -> usize {
        self.most.saturating_sub(lock(&self.room).seats.len())
    }

    /// Whether there is a place for this source now, or somebody who is too slow to keep his.
    pub fn has_room(&self, address: IpAddr, now: Instant) -> bool {
        let mut room = lock(&self.room);
        match self.crowd(&room, source_of(address)) {
            None => true,
            Some(crowd) => room.slowest(now, crowd).is_some(),
        }
    }

    /// A place for one of this source, if there is one or somebody is too slow to keep his.
    pub fn try_take(&self, address: IpAddr, now: Instant, occupant: T) -> Option<Seat<T>> {
        let source = source_of(address);
        let mut room = lock(&self.room);
        let displaced = match self.crowd(&room, source) {
            None => None,
            Some(crowd) => {
                let number = room.slowest(now, crowd)?;
                room.remove(number)
            }
        };
        let (number, before) = (room.next, occupant.moved());
        room.next += 1;
        room.seats.insert(number, Held { source, occupant, since: now, before });
        room.sources.entry(source).or_default().insert(number);
        drop(room);
        if let Some(displaced) = displaced {
            displaced.give_way();
        }
        Some(Seat { room: self.room.clone(), number })
    }

    /// Of whom somebody has to give way before this source gets a place; `None`: of nobody.
    fn crowd(&self, room: &Room<T>, source: IpAddr) -> Option<Option<IpAddr>> {
        let own = room.sources.get(&source).map_or(0, BTreeSet::len);
        if own >= self.share {
            return Some(Some(source));
        }
        (room.seats.len() >= self.most).then_some(None)
    }
}

impl<T: Occupant> Room<T> {
    /// The slowest of this source, or of all, if it is slower than it must be. Of very many not all are looked at.
    fn slowest(&mut self, now: Instant, of: Option<IpAddr>) -> Option<u64> {
        let behind = (Bound::Excluded(self.looked_at), Bound::Unbounded);
        let numbers: Vec<u64> = match of {
            Some(source) => {
                let own = self.sources.get(&source)?;
                own.range(behind).chain(own.range(..=self.looked_at)).copied().take(MAX_LOOKED_AT).collect()
            }
            None => {
                let (later, earlier) = (self.seats.range(behind), self.seats.range(..=self.looked_at));
                later.chain(earlier).map(|(number, _)| *number).take(MAX_LOOKED_AT).collect()
            }
        };
        if numbers.len() == MAX_LOOKED_AT {
            self.looked_at = *numbers.last()?;
        }
        let rates =
            numbers.into_iter().filter_map(|number| Some((number, self.seats.get_mut(&number)?.rate(now))));
        let (number, rate) = rates.min_by(|(_, one), (_, other)| one.total_cmp(other))?;
        (rate < f64::from(LEAST_RATE)).then_some(number)
    }
}

impl<T> Room<T> {
    fn remove(&mut self, number: u64) -> Option<T> {
        let held = self.seats.remove(&number)?;
        if let Some(own) = self.sources.get_mut(&held.source) {
            own.remove(&number);
            if own.is_empty() {
                self.sources.remove(&held.source);
            }
        }
        Some(held.occupant)
    }
}

impl<T: Occupant> Held<T> {
    /// Bytes per second, as if there had been a second before the beginning in which it was as fast as it must be: who has just
    /// begun is not slow. What was long ago does not count: a fast beginning is no leave to hold on to a place for hours.
    fn rate(&mut self, now: Instant) -> f64 {
        let (age, moved) = (now.saturating_duration_since(self.since), self.occupant.moved());
        let bytes = moved.saturating_sub(self.before);
        if age > STALL_TIMEOUT {
            (self.since, self.before) = (now, moved);
        }
        (bytes as f64 + f64::from(LEAST_RATE)) / (age.as_secs_f64() + 1.0)
    }
}

impl<T> Drop for Seat<T> {
    fn drop(&mut self) {
        let removed = lock(&self.room).remove(self.number);
        drop(removed);
    }
}

fn lock<T>(room: &Mutex<Room<T>>) -> MutexGuard<'_, Room<T>> {
    // Nothing panics while it holds the lock.
    room.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A transfer that counts its bytes itself, and is told when it has lost its place.
#[derive(Clone, Debug, Default)]
pub struct Transfer {
    bytes: Arc<AtomicU64>,
    displaced: Arc<Notify>,
}

impl Transfer {
    /// So many bytes more have moved.
    pub fn count(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Waits until the place is lost.
    pub async fn displaced(&self) {
        self.displaced.notified().await;
    }
}

impl Occupant for Transfer {
    fn moved(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn give_way(self) {
        self.displaced.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn ip(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    type Taken = (Seat<Transfer>, Transfer);

    fn take(seats: &Seats<Transfer>, address: IpAddr, now: Instant) -> Option<Taken> {
        let transfer = Transfer::default();
        Some((seats.try_take(address, now, transfer.clone())?, transfer))
    }

    async fn keeps_its_place((_, transfer): &Taken) -> bool {
        tokio::time::timeout(Duration::from_secs(1), transfer.displaced()).await.is_err()
    }

    #[tokio::test(start_paused = true)]
    async fn a_source_has_an_eighth_and_who_keeps_the_rate_keeps_his_place() {
        let (seats, start) = (Seats::new(16), Instant::now());
        let held = [(); 2].map(|()| take(&seats, ip(1), start).unwrap());
        held.iter().for_each(|(_, transfer)| transfer.count(LEAST_RATE as usize));
        let later = start + Duration::from_millis(500);
        assert!(!seats.has_room(ip(1), later) && seats.has_room(ip(2), later));
        assert!(take(&seats, ip(1), later).is_none(), "both are fast enough");
        let _other = take(&seats, ip(2), start).unwrap();
        drop(held);
        assert!(take(&seats, ip(1), start).is_some());
    }

    /// Places that cost a byte each are no places: the slowest gives way, and nobody else.
    #[tokio::test(start_paused = true)]
    async fn the_slowest_gives_way_to_who_comes() {
        let (seats, start) = (Seats::new(16), Instant::now());
        let idle = take(&seats, ip(1), start).unwrap();
        let honest = take(&seats, ip(1), start).unwrap();
        honest.1.count(100_000);
        let late = take(&seats, ip(1), start + Duration::from_millis(50)).unwrap();
        idle.1.displaced().await;
        assert!(keeps_its_place(&honest).await);
        drop(idle);
        assert_eq!(seats.free(), 14, "its place was taken already");
        drop((honest, late));
        let room = lock(&seats.room);
        assert!(room.seats.is_empty() && room.sources.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn where_all_places_are_taken_the_slowest_of_all_gives_way() {
        let (seats, start) = (Seats::new(8), Instant::now());
        let held: Vec<_> = (0..8).map(|n| take(&seats, ip(n), start).unwrap()).collect();
        held.iter().skip(1).for_each(|(_, transfer)| transfer.count(1 << 20));
        let later = start + Duration::from_secs(2);
        let seat = take(&seats, ip(9), later).unwrap();
        held[0].1.displaced().await;
        assert!(take(&seats, ip(10), later).is_none(), "all others are fast enough");
        drop(seat);
    }

    #[tokio::test(start_paused = true)]
    async fn a_fast_beginning_is_forgotten() {
        let (seats, start) = (Seats::new(8), Instant::now());
        let rich = take(&seats, ip(1), start).unwrap();
        rich.1.count(1 << 30);
        assert!(!seats.has_room(ip(1), start + STALL_TIMEOUT + Duration::from_secs(1)));
        assert!(seats.has_room(ip(1), start + STALL_TIMEOUT + Duration::from_secs(3)));
    }

    /// However many places there are, one who comes costs little, and all of them have their turn.
    #[tokio::test(start_paused = true)]
    async fn of_many_places_some_are_looked_at_in_turn() {
        let (seats, start) = (Seats::with_share(1_000, 1_000), Instant::now());
        let held: Vec<_> = (0..1_000).map(|_| take(&seats, ip(1), start).unwrap()).collect();
        held.iter().take(999).for_each(|(_, transfer)| transfer.count(1 << 20));
        let later = start + Duration::from_secs(60);
        let found = (0..4).filter(|_| seats.has_room(ip(1), later)).count();
        assert_eq!(found, 1);
    }
}
