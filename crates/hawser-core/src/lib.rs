//! QUIC v1 and multipath QUIC without I/O.
//!
//! An [`Endpoint`] routes datagrams to connections; a [`Connection`] is the whole state of one. Neither reads a
//! clock, a random source or a socket: time, seeds and datagrams come in as arguments, datagrams and events go
//! out through `poll_*` calls. The same code therefore runs on real sockets, on emulated links and in virtual
//! time.
//!
//! The core is mechanism. Which path carries which bytes, how fast, and which paths exist is asked of the
//! policies behind the traits of `hawser-policy`.

mod config;
mod connection;
pub mod crypto;
mod endpoint;
mod error;
mod rate_limit;
mod tuple;

pub use config::{ClientConfig, EndpointConfig, ServerConfig, TransportConfig};
pub use connection::ack_frequency::AckFrequencyUnsupported;
pub use connection::datagrams::SendDatagramError;
pub use connection::messages::SendMessageError;
pub use connection::stats::{ConnectionStats, PathInfo, PathStats};
pub use connection::streams::{
    Chunk, ClosedStream, FrameError, ReadError, ReadOutcome, ResetAtError, StreamEvent, WriteError,
};
pub use connection::{Connection, Event, FirstSend, PathError, QlogConnection, QlogFactory};
pub use endpoint::{
    AcceptError, AcceptErrorReason, ConnectError, ConnectionHandle, Datagram, Endpoint, EndpointEvent,
    EndpointGroup, Incoming, RetryError, Routed, StatelessDatagram, Transmit,
};
pub use error::{Code, ConnectionError, TransportError};
pub use tuple::{Ecn, FourTuple};
