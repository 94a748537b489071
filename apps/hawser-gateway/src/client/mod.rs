//! The end at the host: a connection to the gateway, kept up, and tunnels over it.

mod ip;
mod keeper;
mod open;
mod remote;
mod session;

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hawser_masque::status::ProxyStatus;
use hawser_masque::target::Target;
use hawser_net::Connection;
use tokio::sync::watch;

use crate::local::forward::Transport;
use crate::traffic::Traffic;
use crate::users::Key;
use keeper::{Keeper, State};
use session::Session;

pub use ip::{IpTunnel, IpTunnelReceiver, IpTunnelSender};
pub use open::{Closed, TcpTunnel, UdpReceiver, UdpSender, UdpTunnel};
pub use remote::{Arrival, RemotePort};
pub use session::Hello;

/// RFC 9114 section 8.1.
const H3_NO_ERROR: u64 = 0x100;

/// A connection to the gateway, and what has to live as long as it: its endpoint, whatever watches it.
pub struct Dialed {
    /// The connection, its handshake complete.
    pub connection: Connection,
    /// Dropped when the connection is no longer needed.
    pub keep: Box<dyn Any + Send + Sync>,
}

/// Connects to the gateway, again and again.
pub type Dialer = Box<
    dyn Fn() -> Pin<Box<dyn Future<Output = Result<Dialed, Box<dyn Error + Send + Sync>>> + Send>>
        + Send
        + Sync,
>;

/// What a client says to the person who runs it.
pub type Say = Arc<dyn Fn(&str) + Send + Sync>;

/// How a client behaves.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// The gateway's name and port, as an authority.
    pub authority: String,
    /// The user's key.
    pub key: Key,
    /// How long a new tunnel waits for a connection to the gateway.
    pub patience: Duration,
    /// How long a gateway may take to answer a request for a tunnel.
    pub open_timeout: Duration,
}

/// Why there is no tunnel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// There is no connection to the gateway.
    #[error("no connection to the gateway: {0}")]
    GatewayDown(String),
    /// The gateway does not know the key.
    #[error(
        "the gateway does not know this key; `hawser gateway user list` there names the users, `user add` makes a key"
    )]
    UnknownKey,
    /// The gateway said why.
    #[error("{}", .0.details)]
    Refused(ProxyStatus),
    /// The gateway did not answer in time.
    #[error("the gateway did not answer the request for {0} in time")]
    NoAnswer(String),
    /// The gateway does not speak this.
    #[error("the gateway carries no UDP and no IP (it takes no extended CONNECT)")]
    NoUdp,
    /// It has no addresses for this client.
    #[error("the gateway assigned no address{0}")]
    NoAddress(&'static str),
    /// Something that should not be.
    #[error("{0}")]
    Protocol(String),
}

/// A client of a gateway. Cheap to clone; connects again when the connection is lost, as long as one is left.
#[derive(Clone)]
pub struct GatewayClient(Arc<Inner>);

struct Inner {
    config: ClientConfig,
    state: watch::Receiver<State>,
    keeper: Keeper,
    traffic: Traffic,
}

impl fmt::Debug for GatewayClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatewayClient").field("config", &self.0.config).finish_non_exhaustive()
    }
}

impl GatewayClient {
    /// Begins on this connection, and asks the gateway whether it knows the key. `dialer` makes those that follow.
    ///
    /// # Errors
    /// When it does not, or does not answer.
    pub async fn start(
        config: ClientConfig,
        first: Dialed,
        dialer: Dialer,
        say: Say,
    ) -> Result<(Self, Hello), OpenError> {
        let session = Arc::new(Session::begin(first).await?);
        let hello = session.hello(&config).await?;
        let (keeper, state) = Keeper::start(session, dialer, say);
        Ok((GatewayClient(Arc::new(Inner { config, state, keeper, traffic: Traffic::default() })), hello))
    }

    /// Ends the connection, and makes no other. For the gateway to hear of it, wait for its endpoint to be idle.
    pub fn close(&self) {
        self.0.keeper.stop();
        if let State::Up(session) = &*self.0.state.borrow() {
            session.connection.close(H3_NO_ERROR, b"");
        }
    }

    /// What its tunnels carry and carried, by kind.
    pub fn traffic(&self) -> &Traffic {
        &self.0.traffic
    }

    /// Opens a tunnel for TCP: returns when the gateway has connected to the target.
    ///
    /// # Errors
    /// [`OpenError`].
    pub async fn tcp(&self, target: &Target) -> Result<TcpTunnel, OpenError> {
        open::tcp(self, target).await
    }

    /// Opens a tunnel for UDP.
    ///
    /// # Errors
    /// [`OpenError`].
    pub async fn udp(&self, target: &Target) -> Result<UdpTunnel, OpenError> {
        open::udp(self, target).await
    }

    /// Opens a tunnel for IP packets; `wanted` are addresses that this client had before.
    ///
    /// # Errors
    /// [`OpenError`].
    pub async fn ip(&self, wanted: &[IpAddr]) -> Result<IpTunnel, OpenError> {
        ip::open(self, wanted).await
    }

    /// Has the gateway listen there, for as long as the port is held. Port 0: one that the user may listen on.
    ///
    /// # Errors
    /// [`OpenError`].
    pub async fn listen(&self, transport: Transport, address: SocketAddr) -> Result<RemotePort, OpenError> {
        remote::listen(self, transport, address).await
    }

    /// The session that is there, or comes in time.
    async fn session(&self) -> Result<Arc<Session>, OpenError> {
        let mut state = self.0.state.clone();
        let up = state.wait_for(|state| matches!(state, State::Up(session) if session.is_usable()));
        match tokio::time::timeout(self.0.config.patience, up).await {
            Ok(Ok(state)) => match &*state {
                State::Up(session) => Ok(session.clone()),
                State::Down(reason) => Err(OpenError::GatewayDown(reason.clone())),
            },
            _ => Err(OpenError::GatewayDown(match &*self.0.state.borrow() {
                State::Down(reason) => reason.clone(),
                State::Up(session) => session.why_not_usable(),
            })),
        }
    }
}
