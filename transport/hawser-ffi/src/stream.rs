//! Streams.

use std::future::poll_fn;
use std::sync::Mutex;
use std::task::{Context, Poll};

use hawser::{ReadError, RecvStream, SendStream, WriteError};

use crate::engine::{Engine, lock};
use crate::pointer::{buffer, data, free, handle, put};
use crate::result::{Failure, HawserResult, checked, guard, lost};

/// A stream, or the half of one. When it is freed, what was written is still delivered, followed by the end; what was not read is not wanted.
#[derive(Debug)]
pub struct HawserStream {
    id: u64,
    send: Mutex<Option<SendStream>>,
    receive: Mutex<Option<RecvStream>>,
    // The last: the others are dropped while there is a thread.
    engine: Engine,
}

impl HawserStream {
    pub(crate) fn new(send: Option<SendStream>, receive: Option<RecvStream>, engine: Engine) -> Self {
        let id = send.as_ref().map(|send| send.id()).or(receive.as_ref().map(|receive| receive.id()));
        HawserStream {
            id: id.map_or(0, |id| id.0),
            send: Mutex::new(send),
            receive: Mutex::new(receive),
            engine,
        }
    }

    /// Asks the sending half once. It is locked for that only, so that another thread may reset it meanwhile.
    fn with_send<T>(&self, ask: impl FnOnce(&mut SendStream) -> T) -> Result<T, Failure> {
        lock(&self.send).as_mut().map(ask).ok_or_else(no_half)
    }

    fn with_receive<T>(&self, ask: impl FnOnce(&mut RecvStream) -> T) -> Result<T, Failure> {
        lock(&self.receive).as_mut().map(ask).ok_or_else(no_half)
    }

    /// Some of `data`, at least one byte if there is one.
    fn poll_write(&self, cx: &mut Context<'_>, data: &[u8]) -> Poll<Result<usize, Failure>> {
        match self.with_send(|send| send.poll_write_some(cx, data)) {
            Ok(outcome) => outcome.map_err(write_error),
            Err(failure) => Poll::Ready(Err(failure)),
        }
    }
}

fn no_half() -> Failure {
    Failure::new(HawserResult::StreamClosed, "the stream has no such half")
}

fn closed(error: impl std::fmt::Display) -> Failure {
    Failure::new(HawserResult::StreamClosed, error)
}

fn write_error(error: WriteError) -> Failure {
    match error {
        WriteError::ConnectionLost(reason) => lost(reason),
        WriteError::Closed(_) => closed(error),
        _ => Failure::new(HawserResult::Reset, error),
    }
}

fn read_error(error: ReadError) -> Failure {
    match error {
        ReadError::ConnectionLost(reason) => lost(reason),
        ReadError::Closed(_) => closed(error),
        _ => Failure::new(HawserResult::Reset, error),
    }
}

/// Writes `length` bytes, as fast as the peer and the links take them. `written` is how much of it was taken, also if the time was over
/// (`HAWSER_RESULT_TIMEOUT`): go on from there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_stream_write(
    stream: *const HawserStream,
    bytes: *const u8,
    length: usize,
    timeout_ms: i64,
    written: *mut usize,
) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let (stream, bytes) = unsafe { (handle(stream, "stream")?, data(bytes, length)?) };
        // SAFETY: the contract of the crate.
        unsafe { put(written, 0)? };
        let mut taken = 0;
        let writing = async {
            while taken < bytes.len() {
                taken += poll_fn(|cx| stream.poll_write(cx, &bytes[taken..])).await?;
            }
            Ok::<_, Failure>(())
        };
        let outcome = stream.engine.wait(timeout_ms, writing);
        // SAFETY: the contract of the crate.
        unsafe { put(written, taken)? };
        outcome.map_or(Ok(HawserResult::Timeout), |done| done.map(|()| HawserResult::Ok))
    })
}

/// Reads what is there, at most `capacity` bytes (1 or more), and waits if nothing is. `HAWSER_RESULT_END`: the peer has sent everything.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_stream_read(
    stream: *const HawserStream,
    to: *mut u8,
    capacity: usize,
    timeout_ms: i64,
    length: *mut usize,
) -> HawserResult {
    guard(|| {
        if capacity == 0 {
            return Err(Failure::argument("capacity is 0; 1 or more"));
        }
        // SAFETY: the contract of the crate.
        let (stream, buffer) = unsafe { (handle(stream, "stream")?, buffer(to, capacity)?) };
        // SAFETY: the contract of the crate.
        unsafe { put(length, 0)? };
        let reading = poll_fn(|cx| match stream.with_receive(|receive| receive.poll_read_some(cx, buffer)) {
            Ok(outcome) => outcome.map_err(read_error),
            Err(failure) => Poll::Ready(Err(failure)),
        });
        match stream.engine.wait(timeout_ms, reading) {
            None => Ok(HawserResult::Timeout),
            Some(outcome) => match outcome? {
                None => Ok(HawserResult::End),
                // SAFETY: the contract of the crate.
                Some(count) => unsafe { put(length, count) },
            },
        }
    })
}

/// Marks the end of what is written. It is still delivered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_stream_finish(stream: *const HawserStream) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let stream = unsafe { handle(stream, "stream")? };
        stream.with_send(SendStream::finish)?.map_err(closed)?;
        Ok(HawserResult::Ok)
    })
}

/// Waits until the peer has received everything, the end included. `HAWSER_RESULT_RESET`: it does not want it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_stream_wait_delivered(
    stream: *const HawserStream,
    timeout_ms: i64,
) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let stream = unsafe { handle(stream, "stream")? };
        let delivery = poll_fn(|cx| match stream.with_send(|send| send.poll_stopped(cx)) {
            Ok(outcome) => outcome.map_err(|error| lost(error.0)),
            Err(failure) => Poll::Ready(Err(failure)),
        });
        match stream.engine.wait(timeout_ms, delivery) {
            None => Ok(HawserResult::Timeout),
            Some(outcome) => match outcome? {
                None => Ok(HawserResult::Ok),
                Some(code) => Err(write_error(WriteError::Stopped(code))),
            },
        }
    })
}

/// Gives up what was written and not delivered, with a code below 2^62.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_stream_reset(stream: *const HawserStream, code: u64) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let stream = unsafe { handle(stream, "stream")? };
        let code = checked(code)?;
        stream.with_send(|send| send.reset(code))?.map_err(closed)?;
        Ok(HawserResult::Ok)
    })
}

/// Tells the peer that what it still sends is not wanted, with a code below 2^62.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_stream_stop(stream: *const HawserStream, code: u64) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let stream = unsafe { handle(stream, "stream")? };
        let code = checked(code)?;
        stream.with_receive(|receive| receive.stop(code))?.map_err(closed)?;
        Ok(HawserResult::Ok)
    })
}

/// Sets how urgent the stream is: larger goes first, 0 is the default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_stream_set_priority(
    stream: *const HawserStream,
    priority: i32,
) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let stream = unsafe { handle(stream, "stream")? };
        stream.with_send(|send| send.set_priority(priority))?.map_err(closed)?;
        Ok(HawserResult::Ok)
    })
}

/// Gives the id of the stream, the same at both ends (RFC 9000 section 2.1).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_stream_id(stream: *const HawserStream, id: *mut u64) -> HawserResult {
    guard(|| {
        // SAFETY: the contract of the crate.
        let stream = unsafe { handle(stream, "stream")? };
        // SAFETY: the contract of the crate.
        unsafe { put(id, stream.id) }
    })
}

/// Frees a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hawser_stream_free(stream: *mut HawserStream) {
    // SAFETY: the contract of the crate.
    unsafe { free(stream) }
}
