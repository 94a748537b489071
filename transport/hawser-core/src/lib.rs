//! QUIC v1 and multipath QUIC without I/O.
//!
//! An [`Endpoint`] routes datagrams to connections; a [`Connection`] is the whole state of one. Neither reads a
//! clock, a random source or a socket: time, seeds and datagrams come in as arguments, datagrams and events go
//! out through `poll_*` calls. The same code therefore runs on real sockets, on emulated links and in virtual
//! time.
//!
//! The core is mechanism. Which path carries which bytes, how fast, and which paths exist is asked of the
//! policies behind the traits of `hawser-policy`.
//!
//! Its driver moves datagrams and time. Here a client and a server exchange theirs at once, without a network; the
//! null session stands in for TLS:
//!
//! ```
//! use std::sync::Arc;
//!
//! use hawser_core::crypto::null::{NullClient, NullServer};
//! use hawser_core::{
//!     ClientConfig, Connection, Datagram, Endpoint, EndpointConfig, FourTuple, Routed, ServerConfig, TransportConfig,
//! };
//! use hawser_policy::{Composition, Registry, Time};
//!
//! // Policies by name; an endpoint has no own ones.
//! let mut registry = Registry::new();
//! hawser_sched::register(&mut registry);
//! hawser_cc::register(&mut registry);
//! hawser_paths::register(&mut registry);
//! let policies = registry.set(&Composition::of("minrtt".parse()?))?;
//! let transport = Arc::new(TransportConfig::with_policies(policies));
//!
//! let server_config = ServerConfig::new(Arc::new(NullServer::default()), transport.clone(), [9; 32]);
//! let config = Arc::new(EndpointConfig::new([7; 32]));
//! let mut server = Endpoint::new(config.clone(), Some(Arc::new(server_config)), [1; 32]);
//! let mut client = Endpoint::new(config, None, [2; 32]);
//! let tuple = FourTuple { local: "10.0.0.2:40000".parse()?, remote: "10.99.0.1:443".parse()? };
//! let client_config = ClientConfig::new(Arc::new(NullClient::default()), transport);
//! let (_, mut ours) = client.connect(Time::ZERO, client_config, tuple, "server.test")?;
//! let mut theirs: Option<Connection> = None;
//!
//! let (mut buffer, mut stateless) = (Vec::new(), Vec::new());
//! let mut stream = None;
//! for millisecond in 0..100 {
//!     let now = Time::from_millis(millisecond);
//!     ours.handle_timeout(now);
//!     theirs.iter_mut().for_each(|connection| connection.handle_timeout(now));
//!     // From the client: the first datagram makes a connection at the server.
//!     while let Some(transmit) = ours.poll_transmit(now, &mut buffer) {
//!         for payload in buffer[..transmit.size].chunks(transmit.segment_size.unwrap_or(transmit.size)) {
//!             let tuple = FourTuple { local: tuple.remote, remote: tuple.local };
//!             let datagram = Datagram { tuple, ecn: transmit.ecn, received_at: now, payload: payload.into() };
//!             match server.handle_datagram(now, datagram, &mut stateless) {
//!                 Some(Routed::Incoming(incoming)) => {
//!                     theirs = server.accept(now, incoming, None).ok().map(|(_, connection)| connection);
//!                 }
//!                 Some(Routed::Connection(_, datagram)) => {
//!                     theirs.iter_mut().for_each(|connection| connection.handle_datagram(now, datagram.clone()));
//!                 }
//!                 None => {}
//!             }
//!         }
//!     }
//!     // And back.
//!     while let Some(transmit) = theirs.as_mut().and_then(|theirs| theirs.poll_transmit(now, &mut buffer)) {
//!         for payload in buffer[..transmit.size].chunks(transmit.segment_size.unwrap_or(transmit.size)) {
//!             let datagram = Datagram { tuple, ecn: transmit.ecn, received_at: now, payload: payload.into() };
//!             if let Some(Routed::Connection(_, datagram)) = client.handle_datagram(now, datagram, &mut stateless) {
//!                 ours.handle_datagram(now, datagram);
//!             }
//!         }
//!     }
//!     // Endpoints route by what connections tell them; applications hear of the rest by `poll_event`.
//!     while let Some(event) = ours.poll_endpoint_event() {
//!         client.handle_event(hawser_core::ConnectionHandle(0), event);
//!     }
//!     while let Some(event) = theirs.as_mut().and_then(Connection::poll_endpoint_event) {
//!         server.handle_event(hawser_core::ConnectionHandle(0), event);
//!     }
//!     if stream.is_none() {
//!         stream = ours.open_stream(false);
//!         if let Some(id) = stream {
//!             ours.write_bytes(id, "without a network".into())?;
//!             ours.finish(id)?;
//!         }
//!     }
//! }
//! let mut theirs = theirs.expect("the client connected");
//! let id = theirs.accept_stream(false).expect("it opened a stream");
//! assert_eq!(theirs.read_chunk(id, 100)?.as_deref(), Some(&b"without a network"[..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod config;
mod connection;
pub mod crypto;
mod endpoint;
mod error;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod memory_pool;
pub mod quic_lb;
mod rate_limit;
mod receive_memory;
mod send_memory;
mod source;
mod text;
mod tuple;
mod versions;

pub use config::{
    ClientConfig, EndpointConfig, LossRecovery, OutOfRange, PreferredAddresses, ServerConfig, TransportConfig,
};
pub use connection::ack_frequency::AckFrequencyUnsupported;
pub use connection::datagrams::{ReceivedDatagram, SendDatagramError};
pub use connection::messages::SendMessageError;
pub use connection::stats::{ConnectionStats, PathInfo, PathStats};
pub use connection::streams::{
    Chunk, ClosedStream, FrameError, ReadError, ReadOutcome, ResetAtError, StreamEvent, WriteError,
};
pub use connection::{
    Connection, EarlyData, Event, FirstSend, LinkTrafficMeter, PathError, SetControllerError,
};
#[cfg(feature = "qlog")]
pub use connection::{QlogAddresses, QlogConnection, QlogFactory};
pub use endpoint::{
    AcceptError, AcceptErrorReason, ConnectError, ConnectionHandle, Datagram, Endpoint, EndpointEvent,
    EndpointGroup, Incoming, RetryError, Routed, StatelessDatagram, Transmit,
};
pub use error::{Code, ConnectionError, MAX_APPLICATION_CODE, TransportError};
pub use hawser_wire::Version;
pub use hawser_wire::version::UnknownVersion;
pub use receive_memory::ReceiveMemory;
pub use send_memory::SendMemory;
pub use source::source_of;
pub use text::Printable;
pub use tuple::{Ecn, FourTuple};
pub use versions::{VersionPreference, Versions, VersionsError};
