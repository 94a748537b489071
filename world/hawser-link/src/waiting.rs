//! A packet inside a link.

use crate::time::Nanos;

/// A packet in the queue of a link.
#[derive(Debug)]
pub(crate) struct Waiting<P> {
    pub(crate) arrived: Nanos,
    pub(crate) length: u32,
    pub(crate) payload: P,
}
