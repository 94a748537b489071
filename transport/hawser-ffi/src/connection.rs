//! Connections.

use std::ffi::c_char;

use hawser::{Connection, PathEvents};
use tokio::sync::Mutex;

use crate::engine::Engine;
use crate::pointer::{data, free, give, handle, text};
use crate::result::{Failure, HawserResult, checked, guard, lost};
use crate::stream::HawserStream;

/// A connection, over as many paths as there are. When it and its streams are freed, it is closed with code 0.
#[derive(Debug)]
pub struct HawserConnection {
    pub(crate) connection: Connection,
    pub(crate) events: Mutex<PathEvents>,
    // The last: the others are dropped while there is a thread.
    pub(crate) engine: Engine,
}

impl HawserConnection {
    pub(crate) fn new(connection: Connection, engine: Engine) -> Self {
        HawserConnection { events: Mutex::new(connection.path_events()), connection, engine }
    }
}

/// Opens a stream, for both directions or for sending only, as soon as the peer allows one more. The peer learns of it with the first byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_connection_open_stream(
    connection: *const HawserConnection,
    both_directions: bool,
    timeout_ms: i64,
    stream: *mut *mut HawserStream,
) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let HawserConnection { connection, engine, .. } = unsafe { handle(connection, "connection")? };
        let opening = async {
            if both_directions {
                return connection.open_bi().await.map(|(send, receive)| (Some(send), Some(receive)));
            }
            connection.open_uni().await.map(|send| (Some(send), None))
        };
        let Some(opened) = engine.wait(timeout_ms, opening) else { return Ok(HawserResult::Timeout) };
        let (send, receive) = opened.map_err(lost)?;
        // SAFETY: the contract of the crate.
        unsafe { give(stream, HawserStream::new(send, receive, engine.clone())) }
    })
}

/// Waits for the next stream that the peer opens, of either kind: writing to one that is for its sending only is
/// `HAWSER_RESULT_STREAM_CLOSED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_connection_accept_stream(
    connection: *const HawserConnection,
    timeout_ms: i64,
    stream: *mut *mut HawserStream,
) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let HawserConnection { connection, engine, .. } = unsafe { handle(connection, "connection")? };
        // Whichever is not taken waits for the next call: neither future holds a stream that is dropped with it.
        let accepting = async {
            tokio::select! {
                biased;
                both = connection.accept_bi() => both.map(|(send, receive)| (Some(send), receive)),
                one = connection.accept_uni() => one.map(|receive| (None, receive)),
            }
        };
        let Some(accepted) = engine.wait(timeout_ms, accepting) else { return Ok(HawserResult::Timeout) };
        let (send, receive) = accepted.map_err(lost)?;
        // SAFETY: the contract of the crate.
        unsafe { give(stream, HawserStream::new(send, Some(receive), engine.clone())) }
    })
}

/// Exchanges the scheduler while the connection runs: `ecf,beta=0.5`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_connection_set_scheduler(
    connection: *const HawserConnection,
    choice: *const c_char,
) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let (connection, choice) = unsafe { (handle(connection, "connection")?, text(choice, "choice")?) };
        connection.connection.set_scheduler(choice).map_err(Failure::argument)?;
        Ok(HawserResult::Ok)
    })
}

/// Ends the connection at once with a code below 2^62 and a reason of `length` bytes. What was not acknowledged may be lost: wait for
/// `hawser_stream_wait_delivered` before, if that matters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_connection_close(
    connection: *const HawserConnection,
    code: u64,
    reason: *const u8,
    length: usize,
) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let (connection, reason) = unsafe { (handle(connection, "connection")?, data(reason, length)?) };
        connection.connection.close(checked(code)?, reason);
        Ok(HawserResult::Ok)
    })
}

/// Waits for the end of the connection, from either side: `HAWSER_RESULT_CONNECTION_LOST`, and the words say why.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_connection_wait_closed(
    connection: *const HawserConnection,
    timeout_ms: i64,
) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let HawserConnection { connection, engine, .. } = unsafe { handle(connection, "connection")? };
        match engine.wait(timeout_ms, connection.closed()) {
            Some(reason) => Err(lost(reason)),
            None => Ok(HawserResult::Timeout),
        }
    })
}

/// Frees a connection. Its streams keep it open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_connection_free(connection: *mut HawserConnection) {
    // SAFETY: the contract of the crate.
    unsafe { free(connection) }
}
