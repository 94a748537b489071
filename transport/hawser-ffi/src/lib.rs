//! Multipath QUIC for programs in C: `hawser.h`.
//!
//! A program makes a [`HawserConfig`], binds a [`HawserEndpoint`] with it, connects or accepts, and reads and writes
//! [`HawserStream`]s and datagrams. Everything happens on all links of the host, as in the library in Rust.
//!
//! # Ownership
//! * What a function gives through its last argument (`HawserConfig **`, ...) belongs to the caller, who frees it once with the `_free`
//!   function of its type. `_free` takes NULL, too. Handles may be freed in any order: a connection lives on without its endpoint, a stream
//!   without its connection.
//! * What is passed in remains the caller's. Nothing of it is kept after the call: texts and data are copied.
//! * Texts are UTF-8 and end with a zero byte. Texts that are given go into a buffer of the caller.
//!
//! # Waiting
//! Functions with `timeout_ms` wait for at most so many milliseconds, and then return `HAWSER_RESULT_TIMEOUT`: nothing was done, and the call
//! may be made again. 0 only looks, for programs that poll; a negative number waits without limit. Nothing calls back.
//!
//! # Threads
//! Every function may be called from any thread, and several on the same handle at a time, except that nothing may use a handle that is
//! being freed. One thread at a time should read a stream, and one write it: of two that wait for the same, one may not be woken. An endpoint
//! has one thread of its own, which ends with the last handle on it. After `fork` the child must
//! not use handles of its parent, for that thread is not in it.
//!
//! # Safety
//! A pointer is NULL only where that is allowed, and then a function returns `HAWSER_RESULT_INVALID_ARGUMENT` elsewhere; otherwise it must
//! point to what its type says: a handle that was not freed, a text with its end, so many bytes of memory as the length next to it says.

mod config;
mod connection;
mod datagram;
mod endpoint;
mod engine;
mod paths;
mod pointer;
mod result;
mod status;
mod stream;

pub use config::*;
pub use connection::*;
pub use datagram::*;
pub use endpoint::*;
pub use paths::*;
pub use result::{HawserResult, hawser_last_error};
pub use status::*;
pub use stream::*;
