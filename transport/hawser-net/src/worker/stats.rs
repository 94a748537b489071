use std::time::Instant;

/// Counters of one worker of an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerStats {
    /// Connections that it drives now, those that are closing included.
    pub connections: usize,
    /// Connections that it has accepted so far.
    pub accepted: u64,
    /// Clients that it has refused because what arrived had waited for more than 100 ms.
    pub refused_busy: u64,
    /// Datagrams that arrived at it and that it gave to the worker that drives their connection.
    pub handed_over: u64,
    /// Requests of policies to attach a link elsewhere that nobody could serve, see [`LinkController`](crate::LinkController).
    pub attachments_unsupported: u64,
    /// When the kernel had taken the first datagram, and when the last one: read once per pass, after what it sent, so that
    /// the truth is earlier by less than a pass.
    pub first_sent: Option<Instant>,
    /// See `first_sent`.
    pub last_sent: Option<Instant>,
}
