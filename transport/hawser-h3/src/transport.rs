//! The connection under HTTP/3, and why this layer closed it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use h3::error::Code;
use h3::quic::{ConnectionErrorIncoming, StreamErrorIncoming};
use hawser_net::{ConnectionError, EarlyData, ReadError, WriteError};
use hawser_policy::Side;

use crate::error::Failure;
use crate::guard::{MAX_HEADERLESS_REQUESTS, Settings, Violation};

/// A connection that is closed when its peer breaks HTTP/3. All parts of an HTTP/3 connection share it: whichever hears of
/// the close first can say what it was for.
#[derive(Clone, Debug)]
pub(crate) struct Transport {
    pub(crate) connection: hawser_net::Connection,
    /// What the connection was closed for.
    violation: Arc<OnceLock<Violation>>,
    /// Requests that ended before their header.
    headerless: Arc<AtomicUsize>,
    /// What the peer said of itself, once it has.
    peer: Arc<OnceLock<Settings>>,
}

impl Transport {
    pub(crate) fn new(connection: hawser_net::Connection) -> Self {
        Transport { connection, violation: Arc::default(), headerless: Arc::default(), peer: Arc::default() }
    }

    pub(crate) fn close_for(&self, violation: Violation) -> ConnectionErrorIncoming {
        // Known before the connection is closed, since that wakes the other parts.
        let first = *self.violation.get_or_init(|| violation);
        self.connection.close(first.code.value(), first.reason.as_bytes());
        ConnectionErrorIncoming::Undefined(Arc::new(first))
    }

    /// A request ended before its header. Now and then that happens to honest clients, too.
    pub(crate) fn count_headerless(&self) {
        if self.headerless.fetch_add(1, Ordering::Relaxed) >= MAX_HEADERLESS_REQUESTS {
            let reason = "too many requests that end before their header";
            self.close_for(Violation::new(Code::H3_EXCESSIVE_LOAD, reason));
        }
    }

    /// Whether the peer's SETTINGS frame has come.
    pub(crate) fn is_peer_known(&self) -> bool {
        self.peer.get().is_some()
    }

    /// Whether the peer said that it takes HTTP Datagrams. It has to before any are sent (RFC 9297 section 2.1.1).
    pub(crate) fn peer_takes_datagrams(&self) -> bool {
        self.peer.get().is_some_and(Settings::takes_datagrams)
    }

    /// Whether the peer said that it takes extended CONNECT (RFC 9220 section 3).
    pub(crate) fn peer_takes_extended_connect(&self) -> bool {
        self.peer.get().is_some_and(Settings::takes_extended_connect)
    }

    /// A SETTINGS frame came. A client remembers it for 0-RTT of its next connection; if the server took 0-RTT in this one, it
    /// must not say less than was remembered of it.
    ///
    /// # Errors
    /// It does, or says what cannot be.
    //= rfc9114-7.2.4.2-5: settings are remembered for 0-RTT
    pub(crate) fn on_settings(&self, payload: &[u8]) -> Result<(), Violation> {
        // What can not be read `h3` refuses.
        let Some(settings) = Settings::read(payload) else { return Ok(()) };
        settings.check_values()?;
        // RFC 9297 section 2.1.1.
        if settings.takes_datagrams() && self.connection.max_datagram_size().is_none() {
            let reason = "HTTP Datagrams without the transport parameter of datagrams";
            return Err(Violation::new(Code::H3_SETTINGS_ERROR, reason));
        }
        let _ = self.peer.set(settings);
        if self.connection.side() == Side::Server {
            return Ok(());
        }
        if self.connection.early_data() == EarlyData::Accepted
            && let Some(remembered) = self.connection.remembered()
        {
            settings.check(&Settings::decode(&remembered))?;
        }
        self.connection.remember(&settings.encode());
        Ok(())
    }

    /// Closes the connection if it has to be.
    pub(crate) fn on_failure(&self, failure: Failure) -> ConnectionErrorIncoming {
        match failure {
            Failure::Transport(error) => self.connection_error(error),
            Failure::Violation(violation) => self.close_for(violation),
        }
    }

    pub(crate) fn connection_error(&self, error: ConnectionError) -> ConnectionErrorIncoming {
        match (error, self.violation.get()) {
            (ConnectionError::PeerApplication { code, .. }, _) => {
                ConnectionErrorIncoming::ApplicationClose { error_code: code }
            }
            (ConnectionError::TimedOut, _) => ConnectionErrorIncoming::Timeout,
            (ConnectionError::LocallyClosed, Some(violation)) => {
                ConnectionErrorIncoming::Undefined(Arc::new(*violation))
            }
            (other, _) => ConnectionErrorIncoming::Undefined(Arc::new(other)),
        }
    }

    pub(crate) fn stream_error(&self, error: ConnectionError) -> StreamErrorIncoming {
        StreamErrorIncoming::ConnectionErrorIncoming { connection_error: self.connection_error(error) }
    }

    //= rfc9114-8-1: unknown error codes count as H3_NO_ERROR
    pub(crate) fn read_error(&self, error: ReadError) -> StreamErrorIncoming {
        match error {
            ReadError::Reset(error_code) => StreamErrorIncoming::StreamTerminated { error_code },
            ReadError::ConnectionLost(error) => self.stream_error(error),
            ReadError::Closed(closed) => StreamErrorIncoming::Unknown(Box::new(closed)),
            // HTTP/3 declares nothing unreliable, so a peer that gives bytes up broke the stream.
            other => StreamErrorIncoming::Unknown(Box::new(other)),
        }
    }

    pub(crate) fn write_error(&self, error: WriteError) -> StreamErrorIncoming {
        match error {
            WriteError::Stopped(error_code) => StreamErrorIncoming::StreamTerminated { error_code },
            WriteError::ConnectionLost(error) => self.stream_error(error),
            WriteError::Closed(closed) => StreamErrorIncoming::Unknown(Box::new(closed)),
            other => StreamErrorIncoming::Unknown(Box::new(other)),
        }
    }
}
