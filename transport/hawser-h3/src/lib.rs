//! HTTP/3 over Hawser connections.
//!
//! The `h3` crate speaks HTTP/3 (RFC 9114) over anything that implements its `quic` traits; this crate implements them
//! for [`hawser_net::Connection`]. HTTP itself - requests, QPACK, GOAWAY - is `h3`'s business, paths and packets are
//! Hawser's, and neither knows of the other:
//!
//! ```text
//!   h3::client / h3::server      requests, responses
//!   hawser_h3::Connection        the traits; frames of the peer, bounded and checked
//!   hawser_net::Connection       streams over all paths
//! ```
//!
//! What comes from the peer is cut into frames here, since `h3` bounds none of them: no field section has more than
//! [`MAX_FIELD_SECTION_SIZE`] bytes, unknown frames are skipped as they come, and a stream that ends within a frame closes
//! the connection (RFC 9114 section 7.1). [`server_builder`] and [`client_builder`] announce the limit to the peer.
//!
//! # CONNECT and datagrams
//! `h3` gives each request a `:scheme` and a `:path`, which CONNECT must not have (RFC 9114 section 4.4): they are taken out
//! of what a client sends. Extended CONNECT (RFC 9220) is there for `connect-udp` and [`connect-ip`](CONNECT_IP); a request
//! with another `:protocol` is malformed to `h3`. HTTP Datagrams (RFC 9297), of which it knows the setting only, are sent and
//! received by [`Datagrams`]. [`tunnel_server_builder`] and [`tunnel_client_builder`] announce both.
//!
//! # Client
//! ```no_run
//! # async fn example(connection: hawser_net::Connection) -> Result<(), Box<dyn std::error::Error>> {
//! use bytes::Buf;
//!
//! let connection = hawser_h3::Connection::new(connection);
//! let (mut driver, mut requests) = hawser_h3::client_builder().build::<_, _, bytes::Bytes>(connection).await?;
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
//! let mut requests = hawser_h3::server_builder().build(hawser_h3::Connection::new(connection)).await?;
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

mod connect_request;
mod connection;
mod datagrams;
mod error;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod guard;
mod stream;
mod transport;
mod uni;

pub use connect_request::{CONNECT_IP, protocol_name};
pub use connection::{Connection, OpenStreams, Peer};
pub use datagrams::{DatagramError, Datagrams, HttpDatagram};
pub use guard::MAX_FIELD_SECTION_SIZE;
pub use stream::{BidiStream, RecvStream, SendStream};

/// Most bytes of a field section, as RFC 9114 section 4.2.2 counts them, that a client may send with 0-RTT: what the server said
/// in the connection that the ticket is from. `None` if it said nothing, or nothing is known of it.
//= rfc9114-7.2.4.2-6: a client with 0-RTT keeps to the remembered settings
pub fn early_field_section_limit(connection: &hawser_net::Connection) -> Option<u64> {
    guard::Settings::decode(&connection.remembered()?).max_field_section_size()
}

/// The application protocol of HTTP/3 (RFC 9114 section 3.1).
pub const ALPN: &[u8] = b"h3";

/// What makes servers, with our limits announced.
//= rfc9114-7.2.4.2-8: a server that cannot keep the remembered settings rejects 0-RTT
//= rfc9114-7.2.4.2-9: a server that accepts 0-RTT lowers no limit of its settings
//= rfc9114-7.2.4.2-10: a server that accepts 0-RTT sends all settings that differ from the defaults
pub fn server_builder() -> h3::server::Builder {
    let mut builder = h3::server::builder();
    builder.max_field_section_size(MAX_FIELD_SECTION_SIZE);
    builder
}

/// What makes clients, with our limits announced.
//= rfc9114-7.2.4.2-7: remembered settings hold until new ones come
pub fn client_builder() -> h3::client::Builder {
    let mut builder = h3::client::builder();
    builder.max_field_section_size(MAX_FIELD_SECTION_SIZE);
    builder
}

/// What makes servers that take CONNECT requests with `:protocol`, and HTTP Datagrams.
pub fn tunnel_server_builder() -> h3::server::Builder {
    let mut builder = server_builder();
    builder.enable_extended_connect(true).enable_datagram(true);
    builder
}

/// What makes clients that take HTTP Datagrams.
pub fn tunnel_client_builder() -> h3::client::Builder {
    let mut builder = client_builder();
    builder.enable_datagram(true);
    builder
}
