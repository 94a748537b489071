//! The one module of Hawser with unsafe code, by itself: the rest of its crate calls the system, which Miri does not
//! interpret. `make miri` runs the module's own tests. The file and its tests are links to those of the crate.

#![allow(dead_code)]

mod receive_buffers;
