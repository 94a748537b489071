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

/// How the addresses of both ends are written to traces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QlogAddresses {
    /// As they are. The default of [`TransportConfig`](crate::TransportConfig), for connections in virtual time.
    #[default]
    Full,
    /// By a name of networks for documentation, such as 192.0.2.1, the same for an address throughout the trace: paths can be told
    /// apart, and who had them cannot. Loopback addresses and ports stay.
    Redacted,
}

/// Says where the trace of a new connection goes; `None` leaves it without one. See
/// [`TransportConfig::qlog`](crate::TransportConfig::qlog).
pub type QlogFactory = Arc<dyn Fn(&QlogConnection) -> Option<Box<dyn Write + Send>> + Send + Sync>;
