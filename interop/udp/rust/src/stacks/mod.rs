//! What the programs need of a stack, and the stacks.

pub(crate) mod noq;
pub(crate) mod quinn;
pub(crate) mod s2n_quic;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;

use tokio::io::{AsyncRead, AsyncWrite};

use crate::Error;
use crate::options::Get;

/// A handshake under way.
pub(crate) type Handshake<C> = Pin<Box<dyn Future<Output = Result<C, Error>> + Send>>;

/// Both directions of a stream.
pub(crate) type Streams<C> = (<C as Connection>::Send, <C as Connection>::Receive);

/// A socket that takes connections.
pub(crate) trait Server {
    type Connection: Connection;

    /// Where it listens.
    fn local_address(&self) -> Result<SocketAddr, Error>;

    /// The next client, whose address was validated if that is wanted.
    async fn accept(&mut self) -> Option<Handshake<Self::Connection>>;
}

/// A socket for connections, which share tickets.
pub(crate) trait Client {
    type Connection: Connection;

    /// A connection; with a ticket that allows it, before the handshake is complete.
    async fn connect(&self, server: SocketAddr, name: &str) -> Result<Self::Connection, Error>;
}

/// One connection.
pub(crate) trait Connection: Send + Sync + 'static {
    type Send: AsyncWrite + Refuse + Send + Unpin;
    type Receive: AsyncRead + Send + Unpin;

    /// Opens a bidirectional stream, as soon as the peer allows one.
    fn open(&self) -> impl Future<Output = Result<Streams<Self>, Error>> + Send;

    /// The peer's next bidirectional stream, until the connection ends.
    fn accept(&mut self) -> impl Future<Output = Option<Streams<Self>>> + Send;

    /// Called when another MiB was received, with their number: the moment for what is to happen during a transfer.
    fn on_mebibyte(&self, count: u64) -> Result<(), Error>;

    /// Says goodbye, and waits until it is said.
    async fn close(&self);
}

/// A stream that can say that there is no answer.
pub(crate) trait Refuse {
    /// Resets it.
    fn refuse(&mut self);
}

/// What a client does during a transfer.
#[derive(Clone, Copy)]
struct Change {
    update_keys: bool,
    migrate: bool,
    local: IpAddr,
}

impl From<&Get> for Change {
    fn from(options: &Get) -> Self {
        let &Get { update_keys, migrate, local, .. } = options;
        Change { update_keys, migrate, local }
    }
}

/// Any address of the same family.
fn unspecified(address: IpAddr) -> SocketAddr {
    match address {
        IpAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        IpAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}
