//! An allocator that counts, for each party of the measurement apart.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU64, Ordering::Relaxed};

/// Counts what it passes to the system's allocator.
pub(crate) struct CountingAllocator;

/// On whose behalf memory is asked for now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Party {
    /// The measurement itself: wires, applications.
    Harness = 0,
    /// The client's endpoint and connections.
    Client = 1,
    /// The server's.
    Server = 2,
}

const PARTIES: usize = 3;

static NOW: AtomicU8 = AtomicU8::new(Party::Harness as u8);
static LIVE_BYTES: AtomicI64 = AtomicI64::new(0);
static ALLOCATIONS: [AtomicU64; PARTIES] = [const { AtomicU64::new(0) }; PARTIES];
static ALLOCATED_BYTES: [AtomicU64; PARTIES] = [const { AtomicU64::new(0) }; PARTIES];

/// Runs `work` on behalf of `party`.
#[inline]
pub(crate) fn on_behalf_of<T>(party: Party, work: impl FnOnce() -> T) -> T {
    let before = NOW.swap(party as u8, Relaxed);
    let result = work();
    NOW.store(before, Relaxed);
    result
}

/// Bytes allocated and not freed, by everybody.
pub(crate) fn live_bytes() -> i64 {
    LIVE_BYTES.load(Relaxed)
}

/// Allocations and their bytes so far on behalf of `party`. Growing a block counts as one more.
pub(crate) fn allocations(party: Party) -> (u64, u64) {
    (ALLOCATIONS[party as usize].load(Relaxed), ALLOCATED_BYTES[party as usize].load(Relaxed))
}

fn count(bytes: usize) {
    let party = usize::from(NOW.load(Relaxed)) % PARTIES;
    ALLOCATIONS[party].fetch_add(1, Relaxed);
    ALLOCATED_BYTES[party].fetch_add(bytes as u64, Relaxed);
}

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        LIVE_BYTES.fetch_add(layout.size() as i64, Relaxed);
        // SAFETY: the caller's contract is the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        LIVE_BYTES.fetch_add(layout.size() as i64, Relaxed);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        LIVE_BYTES.fetch_sub(layout.size() as i64, Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size);
        LIVE_BYTES.fetch_add(new_size as i64 - layout.size() as i64, Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(block, layout, new_size) }
    }
}
