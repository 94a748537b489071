//! A client that speaks HTTP/3 by hand, so that it can do what no client does.

use std::net::SocketAddr;
use std::time::Duration;

use hawser::{ClientConfig, Connection, Endpoint, Links, RecvStream, SendStream, TransportConfig, Trust};
use hawser_wire::Writer;

use super::Error;
use super::server::Server;

/// The control stream with an empty SETTINGS frame (RFC 9114 section 6.2.1).
const SETTINGS: &[u8] = b"\x00\x04\x00";
/// How often a client tries again, and after which pause.
const ATTEMPTS: u32 = 30;
const PAUSE: Duration = Duration::from_millis(100);
/// Places in the static table of QPACK.
pub(crate) const GET: u8 = 17;
pub(crate) const HEAD: u8 = 18;
pub(crate) const PUT: u8 = 21;

pub(crate) struct Client {
    pub(crate) connection: Connection,
    _endpoint: Endpoint,
    _control: Option<SendStream>,
}

/// HEADERS with names from the static table, values as they are, and literal lines (RFC 9204 section 4.5).
pub(crate) fn request(method: u8, path: &str, lines: &[(&str, &str)]) -> Vec<u8> {
    let mut section = vec![0, 0, 0xc0 | method, 0xc0 | 23, 0x50, 1, b'l', 0x51, path.len() as u8];
    section.extend_from_slice(path.as_bytes());
    for (name, value) in lines {
        section.push(0x20 | name.len() as u8);
        section.extend_from_slice(name.as_bytes());
        section.push(value.len() as u8);
        section.extend_from_slice(value.as_bytes());
    }
    let length = section.len() as u16 | 0x4000;
    [&[1], length.to_be_bytes().as_slice(), &section].concat()
}

/// PUT of a file of so many bytes: HEADERS, and the head of the DATA frame that all of them follow in.
pub(crate) fn upload(path: &str, length: u64) -> Vec<u8> {
    let mut head = [0; 16];
    let mut w = Writer::new(&mut head);
    let is_written = w.write_varint(0).and_then(|()| w.write_varint(length));
    debug_assert!(is_written.is_ok(), "two integers of at most eight bytes");
    [&request(PUT, path, &[])[..], w.written()].concat()
}

/// Windows of so many bytes for all that the server sends.
pub(crate) fn windows(stream: u64, connection: u64) -> TransportConfig {
    hawser::default_transport().with(|transport| {
        transport.initial_stream_window = stream;
        transport.max_stream_window = stream;
        transport.initial_connection_window = connection;
        transport.max_connection_window = connection;
    })
}

impl Client {
    pub(crate) async fn connect(server: &Server, alpn: &'static [u8]) -> Result<Self, Error> {
        Client::with(server, alpn, hawser::default_transport()).await
    }

    pub(crate) async fn with(
        server: &Server,
        alpn: &'static [u8],
        transport: TransportConfig,
    ) -> Result<Self, Error> {
        let endpoint = Endpoint::client(config(server, alpn, transport)?, Links::All)?;
        Client::of(&endpoint, address(server), alpn).await
    }

    /// One of many that share an endpoint, to this address.
    pub(crate) async fn of(endpoint: &Endpoint, to: SocketAddr, alpn: &'static [u8]) -> Result<Self, Error> {
        let mut connected = endpoint.connect(to, "localhost").await;
        for _ in 0..ATTEMPTS {
            if connected.is_ok() {
                break;
            }
            // A server that has no time for new clients says so: others come back, too.
            tokio::time::sleep(PAUSE).await;
            connected = endpoint.connect(to, "localhost").await;
        }
        let connection = connected?;
        let mut control = None;
        if alpn == hawser_h3::ALPN {
            let mut stream = connection.open_uni().await?;
            stream.write_all(SETTINGS).await?;
            control = Some(stream);
        }
        Ok(Client { connection, _endpoint: endpoint.clone(), _control: control })
    }

    /// Sends a request that has no body.
    pub(crate) async fn ask(&self, request: &[u8]) -> Result<RecvStream, Error> {
        let (mut send, receive) = self.connection.open_bi().await?;
        send.write_all(request).await?;
        send.finish()?;
        Ok(receive)
    }

    /// The small file that every folder has.
    pub(crate) async fn get_small(&self) -> Result<(), Error> {
        let answer = self.ask(&request(GET, "/small", &[])).await?.read_to_end(1 << 16).await?;
        if answer.windows(7).any(|window| window == b"content") { Ok(()) } else { Err("no content".into()) }
    }
}

pub(crate) fn config(
    server: &Server,
    alpn: &'static [u8],
    transport: TransportConfig,
) -> Result<ClientConfig, Error> {
    let trust = Trust::Pins(vec![server.pin.parse()?]);
    Ok(ClientConfig::builder().trust(trust).alpn([alpn]).transport(transport).build()?)
}

pub(crate) fn address(server: &Server) -> SocketAddr {
    ([127, 0, 0, 1], server.port).into()
}
