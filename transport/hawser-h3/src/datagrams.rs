//! HTTP Datagrams in QUIC datagrams (RFC 9297 section 2.1).

use bytes::{BufMut, Bytes, BytesMut};
use h3::error::Code;
use h3::quic::StreamId;
use hawser_net::policy::DatagramInfo;
use hawser_net::{ConnectionError, SendDatagramError};

use crate::guard::{Violation, varint};
use crate::transport::Transport;

/// RFC 9297 section 2.1: quarter stream ids are below 2^60.
const MAX_QUARTER_STREAM_ID: u64 = (1 << 60) - 1;
/// Most bytes of a quarter stream id.
const MAX_ID_LENGTH: usize = 8;

/// The HTTP Datagrams of a connection. Made by [`Connection::datagrams`](crate::Connection::datagrams); clones are handles on
/// the same ones. Each datagram that arrives goes to one reader.
#[derive(Clone, Debug)]
pub struct Datagrams {
    transport: Transport,
}

/// An HTTP Datagram that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpDatagram {
    /// The stream of the request that it belongs to, as an integer since that stream may not have been seen yet.
    pub stream: u64,
    /// What it says.
    pub payload: Bytes,
    /// Whether a router on the way marked its packet because of congestion (ECN-CE).
    pub is_marked: bool,
}

/// Why an HTTP Datagram was not sent. Over a stream, as a capsule, it still can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DatagramError {
    /// The peer has not said that it takes them, or takes none.
    #[error("the peer takes no HTTP Datagrams outside of streams")]
    Unsupported,
    /// It fits no packet now.
    #[error("the datagram fits no packet")]
    TooLarge,
    /// What waits is of a higher priority, and there is no room behind it.
    #[error("datagrams of higher priority wait")]
    Full,
}

impl Datagrams {
    pub(crate) fn new(transport: Transport) -> Self {
        Datagrams { transport }
    }

    /// Sends a datagram of the request on this stream. When the send buffer is full, the oldest datagrams give way.
    ///
    /// # Errors
    /// [`DatagramError`]. Datagrams of a connection that has ended are lost like others.
    pub fn send(&self, stream: StreamId, payload: &[u8]) -> Result<(), DatagramError> {
        self.send_with(stream, [payload, &[]], &DatagramInfo::default())
    }

    /// The same for a payload in two parts, with what the scheduler should know of it: those of higher priority go first.
    ///
    /// # Errors
    /// [`DatagramError`].
    pub fn send_with(
        &self,
        stream: StreamId,
        payload: [&[u8]; 2],
        info: &DatagramInfo,
    ) -> Result<(), DatagramError> {
        if !self.transport.peer_takes_datagrams() {
            return Err(DatagramError::Unsupported);
        }
        let length = payload[0].len() + payload[1].len();
        let mut datagram = BytesMut::with_capacity(length + MAX_ID_LENGTH);
        put_quarter(&mut datagram, stream.into_inner() / 4);
        payload.into_iter().for_each(|part| datagram.put_slice(part));
        match self.transport.connection.send_newest_datagram_with(datagram.freeze(), info) {
            Ok(()) => Ok(()),
            Err(SendDatagramError::TooLarge { .. }) => Err(DatagramError::TooLarge),
            Err(SendDatagramError::Blocked) => Err(DatagramError::Full),
            Err(_) => Err(DatagramError::Unsupported),
        }
    }

    /// Most bytes of a payload of the request on this stream that fit a packet of every path now; `None` if the peer takes none.
    pub fn max_payload(&self, stream: StreamId) -> Option<usize> {
        let mut id = BytesMut::with_capacity(MAX_ID_LENGTH);
        put_quarter(&mut id, stream.into_inner() / 4);
        self.transport.connection.max_datagram_size()?.checked_sub(id.len())
    }

    /// Waits for the next datagram.
    ///
    /// # Errors
    /// When the connection has ended, by itself or because the peer sent something that is no HTTP Datagram.
    pub async fn receive(&self) -> Result<HttpDatagram, ConnectionError> {
        let received = self.transport.connection.read_datagram_as_received().await?;
        match split(received.data) {
            Some((stream, payload)) => Ok(HttpDatagram { stream, payload, is_marked: received.is_marked }),
            None => {
                let reason = "a datagram without a stream that it could belong to";
                self.transport.close_for(Violation::new(Code::H3_DATAGRAM_ERROR, reason));
                Err(ConnectionError::LocallyClosed)
            }
        }
    }
}

/// RFC 9000 section 16.
fn put_quarter(buffer: &mut BytesMut, value: u64) {
    match value {
        0..0x40 => buffer.put_u8(value as u8),
        0x40..0x4000 => buffer.put_u16(value as u16 | 0x4000),
        0x4000..0x4000_0000 => buffer.put_u32(value as u32 | 0x8000_0000),
        _ => buffer.put_u64(value | 0xc000_0000_0000_0000),
    }
}

/// The stream and the payload of a datagram; `None` if it has none.
fn split(datagram: Bytes) -> Option<(u64, Bytes)> {
    let (quarter, payload) = varint(&datagram)?;
    if quarter > MAX_QUARTER_STREAM_ID {
        return None;
    }
    let payload = datagram.slice_ref(payload);
    Some((quarter * 4, payload))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(quarter in 0..=MAX_QUARTER_STREAM_ID, payload: Vec<u8>) {
            let mut datagram = BytesMut::new();
            put_quarter(&mut datagram, quarter);
            datagram.put_slice(&payload);
            prop_assert_eq!(split(datagram.freeze()), Some((quarter * 4, Bytes::from(payload))));
        }

        #[test]
        fn any_bytes_can_be_read(bytes: Vec<u8>) {
            let length = bytes.len();
            if let Some((stream, payload)) = split(bytes.into()) {
                prop_assert!(stream % 4 == 0 && payload.len() < length);
            }
        }
    }

    #[test]
    fn a_stream_id_that_cannot_exist_is_refused() {
        let mut datagram = BytesMut::new();
        put_quarter(&mut datagram, MAX_QUARTER_STREAM_ID + 1);
        assert_eq!(split(datagram.freeze()), None);
        assert_eq!(split(Bytes::new()), None);
        assert_eq!(split(Bytes::from_static(b"\x40")), None);
    }
}
