//! What the requests of a connection share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use h3::server::RequestStream;
use hawser_net::Connection;

use crate::flows::Flows;

/// RFC 9114 section 8.1.
const H3_EXCESSIVE_LOAD: u64 = 0x107;
/// Requests without a key that is known, after which a connection is closed.
const MAX_UNKNOWN: usize = 64;

/// A request and its answer.
pub(super) type Stream = RequestStream<hawser_h3::BidiStream<Bytes>, Bytes>;

/// A client, as its requests see it.
pub(super) struct Client {
    pub(super) connection: Connection,
    pub(super) flows: Arc<Flows>,
    unknown: AtomicUsize,
}

impl Client {
    pub(super) fn new(connection: Connection, flows: Arc<Flows>) -> Self {
        Client { connection, flows, unknown: AtomicUsize::new(0) }
    }

    /// A request came without a key that is known.
    pub(super) fn count_unknown(&self) {
        if self.unknown.fetch_add(1, Ordering::Relaxed) >= MAX_UNKNOWN {
            self.connection.close(H3_EXCESSIVE_LOAD, b"too many requests without a key");
        }
    }
}
