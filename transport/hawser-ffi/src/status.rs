//! What a connection has done.

use crate::connection::HawserConnection;
use crate::pointer::{handle, put};
use crate::result::{HawserResult, guard};

/// A connection at one moment. Counters are of its whole life.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HawserStatus {
    /// Whether it has ended.
    pub is_closed: bool,
    /// Whether both ends speak multipath.
    pub is_multipath: bool,
    /// Paths that exist.
    pub paths: u32,
    /// Bytes of UDP datagrams sent.
    pub bytes_sent: u64,
    /// Bytes of UDP datagrams received.
    pub bytes_received: u64,
    /// Bytes of streams sent for the first time.
    pub stream_bytes_sent: u64,
    /// Bytes of streams sent again because they were lost.
    pub stream_bytes_retransmitted: u64,
    /// Bytes of streams sent as copies on other paths.
    pub stream_bytes_copied: u64,
    /// Bytes of streams that the peer acknowledged.
    pub stream_bytes_acked: u64,
    /// Bytes of streams received for the first time.
    pub stream_bytes_received: u64,
}

/// Looks at a connection.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_connection_status(
    connection: *const HawserConnection,
    status: *mut HawserStatus,
) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let this = unsafe { handle(connection, "connection")? };
        let stats = this.connection.stats();
        let seen = HawserStatus {
            is_closed: this.connection.close_reason().is_some(),
            is_multipath: this.connection.is_multipath(),
            paths: u32::try_from(this.connection.paths().len()).unwrap_or(u32::MAX),
            bytes_sent: stats.bytes_sent,
            bytes_received: stats.bytes_received,
            stream_bytes_sent: stats.stream_bytes_sent,
            stream_bytes_retransmitted: stats.stream_bytes_retransmitted,
            stream_bytes_copied: stats.stream_bytes_copied,
            stream_bytes_acked: stats.stream_bytes_acked,
            stream_bytes_received: stats.stream_bytes_received,
        };
        // SAFETY: the contract of the crate.
        unsafe { put(status, seen) }
    })
}
