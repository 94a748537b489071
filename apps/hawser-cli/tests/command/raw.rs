//! A client that speaks HTTP/3 by hand, so that it can do what no client does.

use hawser::{ClientConfig, Connection, Endpoint, Links, TransportConfig, Trust};

use crate::support::*;

/// The control stream with an empty SETTINGS frame (RFC 9114 section 6.2.1).
pub(crate) const SETTINGS: &[u8] = b"\x00\x04\x00";

pub(crate) fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len()).unwrap() | 0x4000;
    [&[kind], length.to_be_bytes().as_slice(), payload].concat()
}

/// HEADERS with names from the static table, values as they are, and literal lines (RFC 9204 section 4.5).
pub(crate) fn request(method: u8, path: &[u8], lines: &[(&str, &str)]) -> Vec<u8> {
    let mut section =
        vec![0, 0, 0xc0 | method, 0xc0 | 23, 0x50, 1, b'l', 0x51, u8::try_from(path.len()).unwrap()];
    section.extend_from_slice(path);
    for (name, value) in lines {
        assert!(name.len() < 7, "its length fits the first byte");
        section.push(0x20 | u8::try_from(name.len()).unwrap());
        section.extend_from_slice(name.as_bytes());
        section.push(u8::try_from(value.len()).unwrap());
        section.extend_from_slice(value.as_bytes());
    }
    frame(1, &section)
}

/// Their places in the static table.
pub(crate) const GET: u8 = 17;
pub(crate) const PUT: u8 = 21;

/// A client that speaks HTTP/3 by hand.
pub(crate) struct Raw {
    pub(crate) connection: Connection,
    _endpoint: Endpoint,
    _control: hawser::SendStream,
}

impl Raw {
    pub(crate) async fn connect(server: &Server, transport: TransportConfig) -> Self {
        let trust = Trust::Pins(vec![server.pin.parse().unwrap()]);
        let config = ClientConfig::builder().trust(trust).alpn([hawser::h3::ALPN]).transport(transport);
        let endpoint = Endpoint::client(config.build().unwrap(), Links::All).unwrap();
        let address = ([127, 0, 0, 1], server.port).into();
        // On a machine with much else to do the server has no time for new clients now and then.
        let mut connected = endpoint.connect(address, "localhost").await;
        for _ in 0..20 {
            if connected.is_ok() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            connected = endpoint.connect(address, "localhost").await;
        }
        let connection = connected.unwrap();
        let mut control = connection.open_uni().await.unwrap();
        control.write_all(SETTINGS).await.unwrap();
        Raw { connection, _endpoint: endpoint, _control: control }
    }

    /// Sends a request that has no body.
    pub(crate) async fn ask(&self, request: &[u8]) -> hawser::RecvStream {
        let (mut send, receive) = self.connection.open_bi().await.unwrap();
        send.write_all(request).await.unwrap();
        send.finish().unwrap();
        receive
    }
}
