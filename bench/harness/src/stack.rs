//! What a stack must offer to be measured. Each implements it with the cheapest call of its own API: owned
//! chunks where the stack passes them on without a copy.

use std::future::Future;
use std::net::SocketAddr;

use bytes::Bytes;
use futures_util::future::BoxFuture;

use crate::Error;
use crate::options::{ClientOptions, ServerOptions};
use crate::report::PathSample;

/// A QUIC implementation.
pub trait Stack: 'static {
    /// Short name, also of the binary: `bench-NAME`.
    const NAME: &'static str;
    /// Its server.
    type Listener: Listener;
    /// Its client.
    type Connector: Connector;

    /// Binds a server. Called inside the runtime.
    ///
    /// # Errors
    /// Whatever the stack says.
    fn listen(options: &ServerOptions) -> Result<Self::Listener, Error>;

    /// Prepares a client. Called inside the runtime.
    ///
    /// # Errors
    /// Whatever the stack says.
    fn connector(options: &ClientOptions) -> Result<Self::Connector, Error>;
}

/// A server's handshake under way.
pub type Handshake<C> = BoxFuture<'static, Result<C, Error>>;

/// A server.
pub trait Listener: Send + 'static {
    /// A connection of a server.
    type Connection: Connection;

    /// Where it listens.
    ///
    /// # Errors
    /// Whatever the stack says.
    fn local_address(&self) -> Result<SocketAddr, Error>;

    /// The next client, whose handshake may still be under way; `None` when there will be no more.
    fn accept(&mut self) -> impl Future<Output = Option<Handshake<Self::Connection>>> + Send;
}

/// A client.
pub trait Connector: Send + Sync + 'static {
    /// A connection of a client.
    type Connection: Connection;

    /// A new connection with all paths of the options (paths beyond the first may come up later).
    fn connect(&self) -> impl Future<Output = Result<Self::Connection, Error>> + Send;
}

/// A connection.
pub trait Connection: Send + Sized + 'static {
    /// Sending half of a stream.
    type SendStream: SendStream;
    /// Receiving half of a stream.
    type ReceiveStream: ReceiveStream;

    /// Opens a bidirectional stream.
    fn open(&mut self)
    -> impl Future<Output = Result<(Self::SendStream, Self::ReceiveStream), Error>> + Send;

    /// The peer's next bidirectional stream; `None` once the connection is closed.
    fn accept(&mut self) -> impl Future<Output = Option<(Self::SendStream, Self::ReceiveStream)>> + Send;

    /// Closes and waits until the peer has been told.
    fn close(self) -> impl Future<Output = ()> + Send;

    /// A function that samples the paths of this connection, where the stack can.
    fn path_sampler(&self) -> Option<Box<dyn FnMut() -> Vec<PathSample> + Send>> {
        None
    }
}

/// Sending half of a stream.
pub trait SendStream: Send + 'static {
    /// Hands over all of `chunk`.
    fn send(&mut self, chunk: Bytes) -> impl Future<Output = Result<(), Error>> + Send;

    /// Says that this was all.
    ///
    /// # Errors
    /// Whatever the stack says.
    fn finish(&mut self) -> Result<(), Error>;
}

/// Receiving half of a stream.
pub trait ReceiveStream: Send + 'static {
    /// The next bytes in order, in one or more of `chunks`: tells how many, `None` at the end of the stream.
    fn receive(&mut self, chunks: &mut [Bytes]) -> impl Future<Output = Result<Option<usize>, Error>> + Send;
}

/// Chunks taken from a stack at once.
pub const CHUNKS: usize = 32;

/// Reads a stream to its end, tells `arrived` of the bytes of each batch, and returns their number.
///
/// # Errors
/// Whatever the stack says.
pub async fn drain<R: ReceiveStream>(stream: &mut R, mut arrived: impl FnMut(usize)) -> Result<u64, Error> {
    let mut chunks = [const { Bytes::new() }; CHUNKS];
    let mut bytes = 0;
    while let Some(filled) = stream.receive(&mut chunks).await? {
        // Dropping what came gives its memory back, as any application would in time.
        let length: usize = chunks[..filled].iter_mut().map(|chunk| std::mem::take(chunk).len()).sum();
        bytes += length as u64;
        arrived(length);
    }
    Ok(bytes)
}
