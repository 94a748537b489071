//! Multipath QUIC for mobile hosts: one connection over several links.
//!
//! A car, a train, a drone, a van with a dish: hosts that move have several links, and none of them is good all the time.
//! Hawser speaks QUIC version 1 with the multipath extension over all of them at once. An application opens one connection
//! and streams on it, as with any QUIC library; which links carry the bytes, and what happens when one of them dies, is
//! not its business unless it wants it to be.
//!
//! ```
//! use hawser::{ClientConfig, Endpoint, Identity, Links, ServerConfig, Trust};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! // A server with a certificate of its own: its pin is all that a client has to know.
//! let identity = Identity::self_signed(&["localhost"])?;
//! let trust = Trust::Pins(vec![identity.pin()?]);
//! let server = Endpoint::server(ServerConfig::builder(identity).alpn(["echo"]).build()?, "[::1]:0".parse()?)?;
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
//! // A client on every link of this machine; links that come or go later are taken up or left.
//! let config = ClientConfig::builder().trust(trust).alpn(["echo"]).build()?;
//! let connection = Endpoint::client(config, Links::All)?.connect(address, "localhost").await?;
//! let (mut send, mut receive) = connection.open_bi().await?;
//! send.write_all(b"over all links").await?;
//! send.finish()?;
//! assert_eq!(receive.read_to_end(100).await?, b"over all links");
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
//! ```
//!
//! # What is where
//! * [`Endpoint`], [`Connection`], [`SendStream`], [`RecvStream`]: the transport.
//! * [`Links`], [`PathSpec`]: which interfaces and addresses a client uses, and which of them only when nothing else works.
//! * [`Trust`], [`Identity`], [`Pin`]: who is believed, and why.
//! * [`policies`]: every scheduler and congestion controller by name; put one into a [`TransportConfig`], or exchange it
//!   while a connection runs with [`Connection::set_scheduler`]. [`policy`] holds the traits for your own.
//! * `h3`: HTTP/3 over a connection, with the feature of that name.
//!
//! # Features
//! `ring` (default) or `aws-lc-rs`: the cryptography; for `aws-lc-rs` alone, switch the default off. The others are off by default: `native-certs`, the authorities
//! of this machine ([`Trust::System`]); `self-signed`, certificates that are made here (`Identity::self_signed`); `qlog`, traces of connections; `learned`,
//! policies that come with what training made (`dqn`, `4d-map`, `ride`; the models of `sscc`); `h3`, HTTP/3; `full`, all of these. The command `hawser` is a
//! crate of its own, `hawser-cli`.

#[cfg(feature = "qlog")]
pub use hawser_core::{QlogAddresses, QlogConnection, QlogFactory};
#[cfg(feature = "h3")]
pub use hawser_h3 as h3;
pub use hawser_net::*;
pub use hawser_policy::{
    AttachReport, AttachResult, Composition, LinkId, PathEvent, PathId, PathState, PathStatus, PolicyError,
    PolicyKind, PolicySpec, Rate, Registry,
};

/// The program of the project's README, compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}

/// The code of the page about programs, compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/running.md")]
mod running {}
