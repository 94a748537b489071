//! Where traces go.

use std::io::Write;
use std::sync::Arc;

use hawser_policy::Side;
use hawser_wire::ConnectionId;

/// Which connection a trace is of.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct QlogConnection {
    /// Our end.
    pub side: Side,
    /// What the client's first Initial packet was sent to; both ends know it, and no other connection has it.
    pub original_destination: ConnectionId,
}

/// Says where the trace of a new connection goes; `None` leaves it without one. See
/// [`TransportConfig::qlog`](crate::TransportConfig::qlog).
pub type QlogFactory = Arc<dyn Fn(&QlogConnection) -> Option<Box<dyn Write + Send>> + Send + Sync>;
