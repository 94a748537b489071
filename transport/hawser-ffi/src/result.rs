//! What functions return, and the words for it.

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// What became of a call. Below zero are errors, which [`hawser_last_error`] has words for.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HawserResult {
    /// It was done.
    Ok = 0,
    /// There is nothing more: the end of a stream, of the events of a connection, of an endpoint that was closed.
    End = 1,
    /// It did not happen within the time that was given. Nothing was done.
    Timeout = 2,
    /// An argument makes no sense.
    InvalidArgument = -1,
    /// The settings make no sense together, or a file that they name cannot be read.
    Configuration = -2,
    /// A socket could not be opened.
    Bind = -3,
    /// There is no connection: nobody answered, or who answered is not the one that was wanted.
    Connect = -4,
    /// The connection has ended.
    ConnectionLost = -5,
    /// The peer gave the stream up, or does not want it any more.
    Reset = -6,
    /// The stream was finished, reset or stopped here before, or has no such half.
    StreamClosed = -7,
    /// The buffer of the caller is too small, or the datagram too large.
    TooLarge = -8,
    /// The peer takes no datagrams.
    Unsupported = -9,
    /// A defect of the library.
    Internal = -10,
}

/// An error and its words.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) HawserResult, pub(crate) String);

impl Failure {
    pub(crate) fn new(result: HawserResult, words: impl Display) -> Self {
        Failure(result, words.to_string())
    }

    pub(crate) fn argument(words: impl Display) -> Self {
        Failure::new(HawserResult::InvalidArgument, words)
    }
}

/// Codes of applications go into 62 bits.
pub(crate) fn checked(code: u64) -> Result<u64, Failure> {
    if code <= hawser::MAX_APPLICATION_CODE {
        Ok(code)
    } else {
        Err(Failure::argument(format_args!("the code {code} is not below 2^62")))
    }
}

/// What a connection says of its end.
pub(crate) fn lost(error: impl Display) -> Failure {
    Failure::new(HawserResult::ConnectionLost, error)
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Runs the body of a function that C calls: keeps the words of its error, and lets no panic out.
pub(crate) fn guard(body: impl FnOnce() -> Result<HawserResult, Failure>) -> HawserResult {
    // What a panic left half done is behind locks, whose poison is ignored as in `hawser-net`: the core checks itself.
    let outcome = catch_unwind(AssertUnwindSafe(body));
    let Failure(result, words) = match outcome {
        Ok(Ok(result)) => return result,
        Ok(Err(failure)) => failure,
        Err(_) => Failure::new(HawserResult::Internal, "a defect of the library; its words went to stderr"),
    };
    // A zero byte would end the text in C.
    let text = CString::new(words.replace('\0', " ")).unwrap_or_default();
    LAST.with(|last| last.replace(text));
    result
}

/// The words of the last error in this thread; an empty text if there was none. They belong to the library, and remain until the next
/// error in this thread.
#[unsafe(no_mangle)]
pub extern "C" fn hawser_last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(ptr::null())
}
