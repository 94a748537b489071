//! One budget for what all connections of an endpoint hold unread.
//!
//! Flow control bounds each connection, but not their number times that bound. Windows do not grow beyond half of an equal
//! share of the budget, which those sources have that hold something, and of which each of their connections has an equal share:
//! idle connections, however many, leave the windows of others as they are, and so do those of another address. Where the budget is exceeded
//! all the same, the largest holder of the source that holds most is closed, not the one whose packet came last: nobody suffers from
//! others who hold more.

use std::net::IpAddr;
use std::sync::Arc;
use std::task::Waker;

use crate::memory_pool::{self, LARGEST_PART, Pool};

/// A window that is enough for most paths: 1 Gbit/s over 400 ms.
const AMPLE: u64 = 48 << 20;

/// Most bytes that the connections of one endpoint, or of several, may hold for applications that do not read. Clones are
/// the same budget.
#[derive(Clone, Debug)]
pub struct ReceiveMemory(Arc<Pool>);

impl ReceiveMemory {
    /// A budget of its own. Data of streams counts from the first byte unread to the highest received, with the gaps in
    /// between; unread datagrams count with what they cost.
    pub fn new(limit: u64) -> Self {
        ReceiveMemory(Pool::new(limit))
    }

    /// What is held now, to within 32 KiB for each connection.
    pub fn held(&self) -> u64 {
        self.0.held()
    }

    /// A further connection takes part, of a client at this address.
    pub(crate) fn join(&self, client: Option<IpAddr>) -> Share {
        Share(self.0.join(client))
    }
}

/// What one connection holds.
#[derive(Debug)]
pub(crate) struct Share(memory_pool::Share);

impl Share {
    /// The connection holds so much. Returns true if it must be closed.
    #[inline]
    #[must_use]
    pub(crate) fn update(&mut self, held: u64) -> bool {
        self.0.update_or_relieve(held);
        self.0.is_condemned()
    }

    /// The connection is closed, and what it held is free.
    pub(crate) fn give_back(&mut self) {
        self.0.give_back();
    }

    /// Whom to wake when others need what it holds. Called with locks held: it must not act on the connection at once.
    pub(crate) fn set_waker(&self, waker: Waker) {
        self.0.set_waker(waker);
    }

    /// What its windows may grow to: half of an equal share, so that a connection whose application reads does not come near to
    /// it; and however few others there are an eighth of the whole, unless that is less than most paths need.
    pub(crate) fn largest_window(&self) -> u64 {
        let holdings = self.0.holdings();
        let of_source =
            (holdings.limit / 2 / holdings.sources).min((holdings.limit / LARGEST_PART).max(AMPLE));
        of_source / holdings.siblings
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::Wake;

    use super::*;
    use crate::memory_pool::STEP;

    const KIB: u64 = 1 << 10;

    fn client(number: u8) -> Option<IpAddr> {
        Some([192, 0, 2, number].into())
    }

    #[derive(Default)]
    struct Flag(AtomicBool);

    impl Wake for Flag {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    #[test]
    fn the_largest_holder_is_closed_and_not_who_arrives() {
        let memory = ReceiveMemory::new(1_000 * KIB);
        let mut shares: Vec<Share> = (0..4).map(|number| memory.join(client(number))).collect();
        let woken = Arc::new(Flag::default());
        shares[0].set_waker(woken.clone().into());
        assert!(!shares[0].update(700 * KIB), "more than an equal share, but there is room");
        assert!(!shares[1].update(200 * KIB));
        assert!(!woken.0.load(Ordering::Relaxed));
        assert!(!shares[2].update(240 * KIB), "the budget is exceeded, by somebody else");
        assert!(woken.0.load(Ordering::Relaxed), "who may hear nothing for long");
        assert!(shares[0].update(740 * KIB), "who is to be closed");
        assert!(!shares[3].update(200 * KIB), "with what he holds left out there is room");
        drop(shares.remove(0));
        assert_eq!(memory.held(), 640 * KIB);
        assert!(!shares[0].update(500 * KIB));
        drop(shares);
        assert_eq!(memory.held(), 0);
    }

    /// A hundred connections of one address hold little each, one of another holds more than any of them.
    #[test]
    fn many_small_holders_of_one_source_have_no_large_one_of_another_closed() {
        let memory = ReceiveMemory::new(3_200 * KIB);
        let mut honest = memory.join(client(1));
        assert!(!honest.update(1_000 * KIB));
        let mut closed = 0;
        let mut crowd: Vec<Share> = (0..100).map(|_| memory.join(client(2))).collect();
        for share in &mut crowd {
            closed += u32::from(share.update(64 * KIB));
        }
        assert!(!honest.update(1_100 * KIB), "the source with most bytes is another");
        for share in &mut crowd {
            closed += u32::from(share.update(64 * KIB));
        }
        assert!(closed >= 64, "{closed} of the crowd");
        crowd.clear();
        assert_eq!(memory.held(), 1_100 * KIB);
    }

    #[test]
    fn idle_connections_do_not_shrink_windows() {
        let memory = ReceiveMemory::new(1_000 * KIB);
        let mut shares: Vec<Share> = (0..1000).map(|_| memory.join(None)).collect();
        assert_eq!(shares[0].largest_window(), 500 * KIB);
        assert!(!shares[0].update(100 * KIB));
        assert_eq!(shares[0].largest_window(), 500 * KIB, "it holds something itself");
        assert_eq!(shares[1].largest_window(), 250 * KIB, "it would share with one other");
        assert!(!shares[1].update(100 * KIB));
        assert_eq!((shares[0].largest_window(), shares[2].largest_window()), (250 * KIB, 1_000 * KIB / 6));
        assert!(!shares[0].update(0));
        drop(shares.remove(1));
        assert_eq!(shares[2].largest_window(), 500 * KIB, "nobody holds anything");
    }

    /// Nor do those that hold a little, if they are of another address.
    #[test]
    fn a_crowd_of_one_source_shrinks_windows_of_others_by_half() {
        let memory = ReceiveMemory::new(1 << 30);
        let mut crowd: Vec<Share> = (0..1000).map(|_| memory.join(client(2))).collect();
        crowd.iter_mut().for_each(|share| assert!(!share.update(STEP)));
        assert_eq!(memory.join(client(1)).largest_window(), 128 << 20);
        let of_crowd = memory.join(client(2)).largest_window();
        assert!(of_crowd <= (128 << 20) / 1_000, "{of_crowd}");
    }

    /// One who sends fast to an application that reads fast, and then does not, fills an eighth.
    #[test]
    fn a_connection_alone_does_not_get_the_whole() {
        let window = |limit| ReceiveMemory::new(limit).join(None).largest_window();
        assert_eq!(window(1 << 30), 128 << 20);
        assert_eq!(window(256 << 20), AMPLE);
        assert_eq!(window(64 << 20), 32 << 20, "half of it");
    }

    #[test]
    fn small_changes_are_not_passed_on() {
        let memory = ReceiveMemory::new(STEP);
        let mut share = memory.join(None);
        assert!(!share.update(STEP - 1));
        assert_eq!(memory.held(), 0);
        assert!(!share.update(STEP));
        assert!(!share.update(1));
        assert_eq!(memory.held(), STEP);
        assert!(!share.update(0));
        assert_eq!(memory.held(), 0);
        assert!(share.update(2 * STEP));
    }
}
