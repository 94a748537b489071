//! Places of transfers, which those lose that are too slow while others wait for one.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hawser::source_of;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::pace::LEAST_RATE;
use super::pool::SHARE;

/// So many places, of which a source has at most an eighth. Cheap to clone.
///
/// A source's own share does not protect those behind the same address from each other, and its places cost an attacker a byte each. So
/// who comes when there is no place left takes that of the slowest transfer, if that has not kept up [`LEAST_RATE`] until
/// then: of its own source if that has its share, else of all.
#[derive(Clone, Debug)]
pub(crate) struct Seats {
    most: usize,
    share: usize,
    room: Arc<Mutex<Room>>,
}

#[derive(Debug, Default)]
struct Room {
    next: u64,
    seats: BTreeMap<u64, Occupant>,
}

#[derive(Debug)]
struct Occupant {
    source: IpAddr,
    since: Instant,
    bytes: u64,
    displaced: Arc<Notify>,
}

impl Occupant {
    /// Bytes per second, as if there had been a second before the beginning in which it was as fast as it must be: who has just
    /// begun is not slow.
    fn rate(&self, now: Instant) -> f64 {
        (self.bytes as f64 + f64::from(LEAST_RATE)) / (now.duration_since(self.since).as_secs_f64() + 1.0)
    }
}

/// A place, given back when dropped.
#[derive(Debug)]
#[must_use = "dropped, it is given back"]
pub(crate) struct Seat {
    room: Arc<Mutex<Room>>,
    number: u64,
    displaced: Arc<Notify>,
}

impl Seats {
    /// So many places.
    pub(crate) fn new(most: usize) -> Self {
        Seats { most, share: (most / SHARE).max(1), room: Arc::default() }
    }

    /// A place for a transfer of this source, if there is one or somebody is too slow to keep his.
    pub(crate) fn try_take(&self, address: IpAddr, now: Instant) -> Option<Seat> {
        let source = source_of(address);
        let mut room = lock(&self.room);
        let own = room.seats.values().filter(|other| other.source == source).count();
        if own >= self.share {
            room.displace(now, |other| other.source == source)?;
        } else if room.seats.len() >= self.most {
            room.displace(now, |_| true)?;
        }
        let (number, displaced) = (room.next, Arc::<Notify>::default());
        room.next += 1;
        room.seats.insert(number, Occupant { source, since: now, bytes: 0, displaced: displaced.clone() });
        Some(Seat { room: self.room.clone(), number, displaced })
    }
}

impl Room {
    /// The slowest of these gives way, if it is slower than it must be.
    fn displace(&mut self, now: Instant, concerns: impl Fn(&Occupant) -> bool) -> Option<()> {
        let rates = self.seats.iter().filter(|(_, other)| concerns(other));
        let rates = rates.map(|(number, other)| (*number, other.rate(now)));
        let (number, rate) = rates.min_by(|(_, one), (_, other)| one.total_cmp(other))?;
        if rate >= f64::from(LEAST_RATE) {
            return None;
        }
        self.seats.remove(&number)?.displaced.notify_one();
        Some(())
    }
}

impl Seat {
    /// So many bytes more have moved.
    pub(crate) fn count(&self, bytes: usize) {
        if let Some(own) = lock(&self.room).seats.get_mut(&self.number) {
            own.bytes = own.bytes.saturating_add(bytes as u64);
        }
    }

    /// Waits until the place is lost.
    pub(crate) async fn displaced(&self) {
        self.displaced.notified().await;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        lock(&self.room).seats.remove(&self.number);
    }
}

fn lock(room: &Mutex<Room>) -> MutexGuard<'_, Room> {
    // Nothing panics while it holds the lock.
    room.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn ip(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    #[tokio::test(start_paused = true)]
    async fn a_source_has_an_eighth_and_who_keeps_the_rate_keeps_his_place() {
        let (seats, start) = (Seats::new(16), Instant::now());
        let held = [(); 2].map(|()| seats.try_take(ip(1), start).unwrap());
        held.iter().for_each(|seat| seat.count(LEAST_RATE as usize));
        assert!(seats.try_take(ip(1), start + Duration::from_millis(500)).is_none(), "both are fast enough");
        let _other = seats.try_take(ip(2), start).unwrap();
        drop(held);
        assert!(seats.try_take(ip(1), start).is_some());
    }

    /// Places that cost a byte each are no places: the slowest gives way, and nobody else.
    #[tokio::test(start_paused = true)]
    async fn the_slowest_gives_way_to_who_comes() {
        let (seats, start) = (Seats::new(16), Instant::now());
        let idle = seats.try_take(ip(1), start).unwrap();
        let honest = seats.try_take(ip(1), start).unwrap();
        honest.count(100_000);
        let late = seats.try_take(ip(1), start + Duration::from_millis(50)).unwrap();
        idle.displaced().await;
        let kept = tokio::time::timeout(Duration::from_secs(1), honest.displaced()).await;
        assert!(kept.is_err(), "it keeps its place");
        drop(idle);
        assert_eq!(lock(&seats.room).seats.len(), 2, "its place was taken already");
        drop((honest, late));
        assert!(lock(&seats.room).seats.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn where_all_places_are_taken_the_slowest_of_all_gives_way() {
        let (seats, start) = (Seats::new(8), Instant::now());
        let held: Vec<_> = (0..8).map(|n| seats.try_take(ip(n), start).unwrap()).collect();
        held.iter().skip(1).for_each(|seat| seat.count(1 << 20));
        let later = start + Duration::from_secs(2);
        let seat = seats.try_take(ip(9), later).unwrap();
        held[0].displaced().await;
        assert!(seats.try_take(ip(10), later).is_none(), "all others are fast enough");
        drop(seat);
    }
}
