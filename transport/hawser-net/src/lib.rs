//! Tokio driver: sockets, interfaces and the asynchronous API.
//!
//! The protocol lives in `hawser-core`, which knows neither clocks nor sockets. This crate gives it both, and gives an
//! application what it knows from other QUIC libraries: an [`Endpoint`] that connects or accepts, a [`Connection`], and
//! streams that are [`AsyncRead`](tokio::io::AsyncRead) and [`AsyncWrite`](tokio::io::AsyncWrite). What is new is that a
//! client's endpoint stands on all links of the machine:
//!
//! * **One socket per link**, bound to its device, so that several uplinks work without policy routing.
//! * **The handshake is raced** over all links; a link that is up but dead delays nothing.
//! * **Paths follow the links.** A link that appears gets a path, one that goes loses it, without the application's doing.
//!   [`Connection::paths`] shows them, [`Connection::path_events`] tells of changes, and a
//!   [`PathManager`](hawser_policy::PathManager) other than [`FullMesh`] may decide otherwise.
//! * **Policies hear what links do** from a [`LinkObserver`], such as a file that a modem's script writes
//!   ([`LinkStateFile`]), and may have them attached elsewhere by a [`LinkController`].
//!
//! ```
//! use hawser_net::{ClientConfig, Endpoint, Identity, Links, ServerConfig, Trust};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! // A server with a certificate of its own. Its pin is all that a client needs to know.
//! let identity = Identity::self_signed(&["localhost"])?;
//! let pin = identity.pin()?;
//! let server = Endpoint::server(ServerConfig::builder(identity).alpn(["echo"]).build()?, "127.0.0.1:0".parse()?)?;
//! let address = server.listening()[0];
//! tokio::spawn(async move {
//!     let connection = server.accept().await.expect("open").await?;
//!     let (mut send, mut receive) = connection.accept_bi().await?;
//!     tokio::io::copy(&mut receive, &mut send).await?;
//!     send.finish()?;
//!     connection.closed().await;
//!     Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
//! });
//!
//! // A client that uses every link of the machine.
//! let config = ClientConfig::builder().trust(Trust::Pins(vec![pin])).alpn(["echo"]).build()?;
//! let connection = Endpoint::client(config, Links::All)?.connect(address, "localhost").await?;
//! let (mut send, mut receive) = connection.open_bi().await?;
//! send.write_all(b"hello over all links").await?;
//! send.finish()?;
//! assert_eq!(receive.read_to_end(1000).await?, b"hello over all links");
//! println!("paths: {:?}", connection.paths());
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
//! ```
//!
//! # Inside
//!
//! A worker task (or several, see [`ServerConfigBuilder::workers`]) owns the sockets, the core endpoint and the timers. Calls of the application act on a connection under its
//! lock and leave a note in the worker's mailbox. A pass of the worker reads the clock once, receives up to a quarter of a
//! mebibyte (several datagrams per message, several messages per call), gives each connection concerned its turn to send
//! (up to 64 datagrams per call) and wakes only the tasks that wait for what happened. Nothing is allocated per packet.

#[cfg(not(any(target_os = "linux", target_os = "android")))]
compile_error!(
    "hawser-net needs Linux or Android: it binds sockets to interfaces and reads them by netlink. hawser-core, hawser-wire, \
     hawser-policy and the policies have no such needs"
);

mod cipher;
mod clock;
mod code;
mod config;
mod connect;
mod connection;
mod endpoint;
mod error;
mod identity;
mod incoming;
mod interfaces;
mod link_control;
mod link_state;
mod links;
mod logged_address;
mod pin;
#[cfg(feature = "qlog")]
mod qlog;
mod receive_buffers;
mod sessions;
mod socket;
mod stream;
mod trust;
mod wakers;
mod worker;

pub use cipher::{Cipher, UnknownCipher};
pub use clock::cost_cap_uses;
pub use config::{
    ClientConfig, ClientConfigBuilder, ServerConfig, ServerConfigBuilder, default_transport, policies,
};
pub use connection::{
    Connection, ConnectionObserver, ConnectionSample, ConnectionTotals, DatagramError, ExportError,
    MAX_SCHEDULER_REQUESTS, OpenPathError, PathEventError, PathEvents, PathSample, SchedulerAnswer,
    SchedulerRequestError,
};
pub use endpoint::{Endpoint, EndpointBuilder, Established, WeakEndpoint};
pub use error::{ConfigError, ConnectError, EndpointError};
pub use hawser_core::crypto::{SessionStore, TlsConfigError, default_provider};
pub use hawser_core::quic_lb;
pub use hawser_core::{
    AcceptErrorReason, Code, ConnectionError, ConnectionStats, EarlyData, FourTuple, LossRecovery,
    MAX_APPLICATION_CODE, OutOfRange, PathError, PathInfo, PathStats, PreferredAddresses, Printable,
    ReceivedDatagram, SendDatagramError, SendMessageError, SetControllerError, TransportConfig,
    TransportError, UnknownVersion, Version, VersionPreference, Versions, VersionsError, source_of,
};
pub use hawser_paths::{CapReached, CapUse, CostCaps, FullMesh};
pub use hawser_policy as policy;
pub use hawser_policy::{CostCap, InvalidCostCap, LinkObserver, PathManagerFactory, PathManagerInit};
pub use identity::{Identity, IdentityError};
pub use incoming::{AcceptError, Connecting, Incoming};
pub use interfaces::{
    Interface, InterfaceNews, Interfaces, Network, TUNNEL_GROUP, interface_news, watch_interfaces,
};
pub use link_control::{AttachAnswer, LinkController};
pub use link_state::LinkStateFile;
#[cfg(feature = "fuzzing")]
pub use link_state::read_line;
pub use links::{InvalidSelector, LinkSelector, LinkUse, LinkUseError, Links, PathSpec};
pub use logged_address::{LoggedAddress, log_full_addresses};
pub use pin::{InvalidPin, Pin};
pub use rustls;
pub use sessions::{FileSessions, MemorySessions, SessionFileError};
pub use socket::{SocketFactory, SocketRequest};
pub use stream::{
    AbortError, Chunk, ClosedStream, FrameError, ReadError, ReadExactError, ReadToEndError, RecvStream,
    SendStream, StoppedError, WriteError,
};
pub use trust::{CertificateProblem, ClientAuthorities, Trust};
pub use worker::WorkerStats;
