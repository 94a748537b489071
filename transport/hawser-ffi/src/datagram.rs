//! Datagrams.

use bytes::Bytes;
use hawser::{DatagramError, SendDatagramError};

use crate::connection::HawserConnection;
use crate::pointer::{buffer, data, handle, put};
use crate::result::{Failure, HawserResult, guard, lost};

/// Sends a datagram (RFC 9221) on the path that the scheduler chooses, as soon as there is room for it. It may be lost.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_connection_send_datagram(
    connection: *const HawserConnection,
    bytes: *const u8,
    length: usize,
    timeout_ms: i64,
) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let (this, bytes) = unsafe { (handle(connection, "connection")?, data(bytes, length)?) };
        let sending = this.connection.send_datagram_wait(Bytes::copy_from_slice(bytes));
        match this.engine.wait(timeout_ms, sending) {
            None => Ok(HawserResult::Timeout),
            Some(Ok(())) => Ok(HawserResult::Ok),
            Some(Err(DatagramError::ConnectionLost(error))) => Err(lost(error)),
            Some(Err(DatagramError::Send(error))) => Err(refused(error)),
            Some(Err(error)) => Err(Failure::new(HawserResult::Internal, error)),
        }
    })
}

fn refused(error: SendDatagramError) -> Failure {
    let result = match error {
        SendDatagramError::Unsupported => HawserResult::Unsupported,
        SendDatagramError::TooLarge { .. } => HawserResult::TooLarge,
        _ => HawserResult::Internal,
    };
    Failure::new(result, error)
}

/// Waits for the next datagram. `length` is its length; if that is more than `capacity`, the rest is lost and the result
/// `HAWSER_RESULT_TOO_LARGE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_connection_read_datagram(
    connection: *const HawserConnection,
    to: *mut u8,
    capacity: usize,
    timeout_ms: i64,
    length: *mut usize,
) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let (this, buffer) = unsafe { (handle(connection, "connection")?, buffer(to, capacity)?) };
        // SAFETY: the contract of the crate.
        unsafe { put(length, 0)? };
        let Some(read) = this.engine.wait(timeout_ms, this.connection.read_datagram()) else {
            return Ok(HawserResult::Timeout);
        };
        let datagram = read.map_err(lost)?;
        // SAFETY: the contract of the crate.
        unsafe { put(length, datagram.len())? };
        let fits = datagram.len().min(buffer.len());
        buffer[..fits].copy_from_slice(&datagram[..fits]);
        if fits < datagram.len() {
            let words = format!("the datagram has {} bytes, the buffer {capacity}", datagram.len());
            return Err(Failure::new(HawserResult::TooLarge, words));
        }
        Ok(HawserResult::Ok)
    })
}

/// Gives the longest datagram that fits on every path now, in bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_connection_max_datagram_size(
    connection: *const HawserConnection,
    size: *mut usize,
) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let this = unsafe { handle(connection, "connection")? };
        let max =
            this.connection.max_datagram_size().ok_or_else(|| refused(SendDatagramError::Unsupported))?;
        // SAFETY: the contract of the crate.
        unsafe { put(size, max) }
    })
}
