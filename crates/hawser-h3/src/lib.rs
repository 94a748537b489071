//! HTTP/3 over Hawser connections.
//!
//! The `h3` crate speaks HTTP/3 (RFC 9114) over anything that implements its `quic` traits; this crate implements them
//! for [`hawser_net::Connection`]. HTTP itself - frames, QPACK, GOAWAY - is `h3`'s business, paths and packets are
//! Hawser's, and neither knows of the other:
//!
//! ```text
//!   h3::client / h3::server      requests, responses
//!   hawser_h3::Connection        the traits, about what this page shows
//!   hawser_net::Connection       streams over all paths
//! ```
//!
//! # Client
//! ```no_run
//! # async fn example(connection: hawser_net::Connection) -> Result<(), Box<dyn std::error::Error>> {
//! use bytes::Buf;
//!
//! let (mut driver, mut requests) = h3::client::new(hawser_h3::Connection::new(connection)).await?;
//! tokio::spawn(async move { driver.wait_idle().await });
//! let mut stream = requests.send_request(http::Request::get("https://example.org/").body(())?).await?;
//! stream.finish().await?;
//! println!("{}", stream.recv_response().await?.status());
//! while let Some(mut data) = stream.recv_data().await? {
//!     println!("{} bytes", data.copy_to_bytes(data.remaining()).len());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Server
//! ```no_run
//! # async fn example(connection: hawser_net::Connection) -> Result<(), Box<dyn std::error::Error>> {
//! let mut requests = h3::server::builder().build(hawser_h3::Connection::new(connection)).await?;
//! while let Some(resolver) = requests.accept().await? {
//!     let (request, mut stream) = resolver.resolve_request().await?;
//!     stream.send_response(http::Response::builder().status(200).body(())?).await?;
//!     stream.send_data(bytes::Bytes::from(format!("you asked for {}", request.uri()))).await?;
//!     stream.finish().await?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Both ends must have agreed on the application protocol [`ALPN`].

mod connection;
mod error;
mod stream;

pub use connection::{Connection, OpenStreams};
pub use stream::{BidiStream, RecvStream, SendStream};

/// The application protocol of HTTP/3 (RFC 9114 section 3.1).
pub const ALPN: &[u8] = b"h3";
