//! Counts the bytes that a thread allocates, so that a target can tell when a peer makes it keep or do too much.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static ALLOCATED: Cell<u64> = const { Cell::new(0) };
}

/// Bytes allocated and not freed by this thread.
pub fn live() -> isize {
    LIVE.get()
}

/// What a reader may hold and do for what a peer sends.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Bytes held besides those for each byte that came.
    pub held: isize,
    /// Bytes held for each.
    pub held_per_byte: isize,
    /// Work besides that for each byte that came: bytes allocated in all, which are the same on every machine.
    pub work: u64,
    /// Work for each.
    pub work_per_byte: u64,
}

/// Measures what this thread allocates from its beginning on.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    live: isize,
    allocated: u64,
}

impl Meter {
    pub fn start() -> Self {
        Meter { live: LIVE.get(), allocated: ALLOCATED.get() }
    }

    /// So many bytes have come.
    pub fn check(&self, bounds: &Bounds, received: usize) {
        let (held, work) = (LIVE.get() - self.live, ALLOCATED.get() - self.allocated);
        let most = bounds.held + bounds.held_per_byte * received as isize;
        assert!(held <= most, "{held} bytes held for {received} received, of {most}");
        let most = bounds.work + bounds.work_per_byte * received as u64;
        assert!(work <= most, "{work} bytes allocated for {received} received, of {most}");
    }
}

/// So many bytes more are held, for which so many were allocated.
fn count(held: isize, allocated: usize) {
    // Threads also allocate while they end, when there is nothing left to count with.
    let _ = LIVE.try_with(|live| live.set(live.get() + held));
    let _ = ALLOCATED.try_with(|sum| sum.set(sum.get() + allocated as u64));
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: all is done by the system's allocator; sizes of allocations fit an isize.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize, layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize), 0);
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // What is there may have to be copied.
        count(size as isize - layout.size() as isize, size);
        unsafe { System.realloc(pointer, layout, size) }
    }
}
