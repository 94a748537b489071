//! Counts the bytes that a thread has allocated, so that a target can tell when a peer makes it keep too much.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
}

/// Bytes allocated and not freed by this thread.
pub fn live() -> isize {
    LIVE.get()
}

fn count(bytes: isize) {
    // Threads also allocate while they end, when there is nothing left to count with.
    let _ = LIVE.try_with(|live| live.set(live.get() + bytes));
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: all is done by the system's allocator; sizes of allocations fit an isize.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        unsafe { System.realloc(pointer, layout, size) }
    }
}
