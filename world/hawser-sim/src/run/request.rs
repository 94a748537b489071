//! What a client asks of a server: the first bytes of each stream.

use hawser_core::Connection;
use hawser_policy::StreamId;

/// Bytes of an encoded request.
pub const REQUEST_LENGTH: usize = 25;

/// What the server of a scenario is asked to do on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Read the rest of the stream, then answer with so many bytes of the pattern; `u64::MAX`: unbounded.
    Serve {
        /// Bytes of the answer.
        length: u64,
    },
    /// Read the rest of the stream, which is the pattern, and answer with nothing.
    Receive,
    /// Send unreliable datagrams while the connection lasts.
    Datagrams {
        /// Bytes of each.
        size: u32,
        /// Bit/s.
        rate: u64,
    },
    /// Run the other end of the application that both know of on this connection.
    Application,
}

impl Request {
    /// As bytes.
    pub fn encode(self) -> [u8; REQUEST_LENGTH] {
        let (kind, length, size, rate) = match self {
            Request::Serve { length } => (0, length, 0, 0),
            Request::Receive => (1, 0, 0, 0),
            Request::Datagrams { size, rate } => (2, 0, u64::from(size), rate),
            Request::Application => (3, 0, 0, 0),
        };
        let mut bytes = [0; REQUEST_LENGTH];
        bytes[0] = kind;
        for (slot, value) in bytes[1..].chunks_exact_mut(8).zip([length, size, rate]) {
            slot.copy_from_slice(&value.to_be_bytes());
        }
        bytes
    }

    /// From bytes; `None` when they are no request.
    pub fn decode(bytes: &[u8; REQUEST_LENGTH]) -> Option<Self> {
        let mut values = bytes[1..].as_chunks::<8>().0.iter().map(|value| u64::from_be_bytes(*value));
        let (length, size, rate) = (values.next()?, values.next()?, values.next()?);
        match bytes[0] {
            0 => Some(Request::Serve { length }),
            1 => Some(Request::Receive),
            2 => Some(Request::Datagrams { size: u32::try_from(size).ok()?, rate }),
            3 => Some(Request::Application),
            _ => None,
        }
    }
}

/// Opens a stream and puts a request on it.
pub(super) fn ask(connection: &mut Connection, request: Request) -> Option<StreamId> {
    let id = connection.open_stream(true)?;
    // A fresh stream takes a request, or the connection is over.
    connection.write(id, &request.encode()).ok()?;
    Some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_survive_the_wire() {
        let requests = [
            Request::Serve { length: u64::MAX },
            Request::Receive,
            Request::Datagrams { size: 1200, rate: 7 },
            Request::Application,
        ];
        for request in requests {
            assert_eq!(Request::decode(&request.encode()), Some(request));
        }
        assert_eq!(Request::decode(&[9; REQUEST_LENGTH]), None);
    }
}
