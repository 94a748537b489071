//! The endpoint as the application holds it.

use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::Poll;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use hawser_core::EndpointConfig;
use hawser_policy::LinkInfo;
use tokio::sync::watch;

use crate::clock::Clock;
use crate::interfaces::watch_interfaces;
use crate::links::Links;
use crate::socket::Binding;
use crate::worker::{Driver, Worker};
use crate::{ClientConfig, ConnectError, Connection, EndpointError, Incoming, ServerConfig, connect};

/// Kernel buffer asked for each socket, in each direction: what a gigabit per second brings in 50 ms. Without
/// privileges the kernel grants at most net.core.rmem_max and wmem_max.
const SOCKET_BUFFER: usize = 7 << 20;

/// How long the first look at the interfaces may delay the first connection.
const INTERFACES_WITHIN: Duration = Duration::from_secs(1);

/// Opens connections, accepts them, or both. Cheap to clone.
///
/// Connections outlive the endpoint; [`close`](Endpoint::close) ends them all.
#[derive(Clone)]
pub struct Endpoint(Arc<EndpointHandle>);

struct EndpointHandle {
    worker: Arc<Worker>,
    client: Mutex<Option<ClientConfig>>,
    listening: Vec<SocketAddr>,
    /// Turns true when the machine's interfaces are known.
    links_known: watch::Receiver<bool>,
}

impl Drop for EndpointHandle {
    fn drop(&mut self) {
        self.worker.mailbox.abandon();
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("listening", &self.0.listening).finish_non_exhaustive()
    }
}

/// Builds an [`Endpoint`].
#[derive(Debug)]
pub struct EndpointBuilder {
    links: Links,
    listen: Vec<SocketAddr>,
    server: Option<ServerConfig>,
    client: Option<ClientConfig>,
    socket_buffer: usize,
    reset_key: Option<[u8; 32]>,
    connection_id_length: Option<usize>,
}

impl EndpointBuilder {
    /// The links over which to connect. Default: all.
    #[must_use]
    pub fn links(mut self, links: Links) -> Self {
        self.links = links;
        self
    }

    /// Accepts connections at this address. `[::]:PORT` is every address of both families. May be called more than once.
    #[must_use]
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.listen.push(address);
        self
    }

    /// How to accept connections.
    #[must_use]
    pub fn server(mut self, config: ServerConfig) -> Self {
        self.server = Some(config);
        self
    }

    /// How [`Endpoint::connect`] connects.
    #[must_use]
    pub fn client(mut self, config: ClientConfig) -> Self {
        self.client = Some(config);
        self
    }

    /// Bytes of kernel buffer to ask for, for each socket and direction. Default: 7 MiB.
    #[must_use]
    pub fn socket_buffer(mut self, bytes: usize) -> Self {
        self.socket_buffer = bytes;
        self
    }

    /// The key of stateless reset tokens (RFC 9000 section 10.3). A server that keeps it over restarts can tell the
    /// clients of its former life at once that their connections are gone. Default: random.
    #[must_use]
    pub fn reset_key(mut self, key: [u8; 32]) -> Self {
        self.reset_key = Some(key);
        self
    }

    /// Bytes of the connection ids that are issued, 8 to 20. Default: 8.
    #[must_use]
    pub fn connection_id_length(mut self, length: usize) -> Self {
        self.connection_id_length = Some(length);
        self
    }

    /// Binds the sockets and starts the worker.
    ///
    /// # Errors
    /// [`EndpointError`].
    pub fn bind(self) -> Result<Endpoint, EndpointError> {
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| EndpointError::NoRuntime)?;
        let clock = Clock::start();
        let mut config = EndpointConfig::new(self.reset_key.unwrap_or_else(rand::random));
        config.unix_time_at_origin = unix_time_at_origin(clock);
        config.connection_id_length = self.connection_id_length.unwrap_or(config.connection_id_length);
        let server = self.server.map(|server| server.core);
        let core = hawser_core::Endpoint::new(Arc::new(config), server, rand::random());
        let worker = Arc::new(Worker::new(core, self.links, clock, self.socket_buffer));
        let mut listening = Vec::new();
        for address in self.listen {
            let binding = Binding { address, device: None, link: None, report_errors: false };
            let bound = worker.bind(&mut worker.lock(), binding);
            listening.push(bound.map_err(|source| EndpointError::Listen { address, source })?);
        }
        runtime.spawn(Driver::new(worker.clone()));
        let (known, links_known) = watch::channel(false);
        // An endpoint that only accepts has no use for links.
        let connects = self.client.is_some() || listening.is_empty();
        if connects {
            let task = runtime.spawn(follow_interfaces(Arc::downgrade(&worker), known));
            worker.lock().follow_with(task.abort_handle());
        }
        Ok(Endpoint(Arc::new(EndpointHandle {
            worker,
            client: Mutex::new(self.client),
            listening,
            links_known,
        })))
    }
}

/// Keeps the worker's idea of the interfaces up to date.
async fn follow_interfaces(worker: Weak<Worker>, known: watch::Sender<bool>) {
    let mut interfaces = match watch_interfaces().await {
        Ok(interfaces) => interfaces,
        Err(error) => {
            tracing::warn!(%error, "the interfaces of this machine are not known; following the routing table");
            known.send_replace(true);
            return;
        }
    };
    loop {
        let current = interfaces.borrow_and_update().clone();
        match worker.upgrade() {
            Some(worker) => worker.update_links(&current),
            None => return,
        }
        known.send_replace(true);
        if interfaces.changed().await.is_err() {
            return;
        }
    }
}

/// Real time at the clock's origin; zero, which means unknown, if the machine's clock is before 1970.
fn unix_time_at_origin(clock: Clock) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.saturating_sub(clock.now().since(hawser_policy::Time::ZERO))
}

impl Endpoint {
    /// Starts from the defaults.
    pub fn builder() -> EndpointBuilder {
        EndpointBuilder {
            links: Links::All,
            listen: Vec::new(),
            server: None,
            client: None,
            socket_buffer: SOCKET_BUFFER,
            reset_key: None,
            connection_id_length: None,
        }
    }

    /// An endpoint that connects over these links. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// [`EndpointError`].
    pub fn client(config: ClientConfig, links: Links) -> Result<Endpoint, EndpointError> {
        Endpoint::builder().client(config).links(links).bind()
    }

    /// An endpoint that accepts connections at this address. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// [`EndpointError`].
    pub fn server(config: ServerConfig, address: SocketAddr) -> Result<Endpoint, EndpointError> {
        Endpoint::builder().server(config).listen(address).bind()
    }

    /// Connects to the server at this address, which must prove to be `name`: a DNS name or an IP address.
    ///
    /// # Errors
    /// [`ConnectError`]; of several links that failed, the failure that tells most.
    pub async fn connect(&self, address: SocketAddr, name: &str) -> Result<Connection, ConnectError> {
        let config = self.0.client.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.connect_with(&config.ok_or(ConnectError::NoConfig)?, &[address], name).await
    }

    /// Connects with a configuration of its own to whichever of the server's addresses answers first.
    ///
    /// # Errors
    /// As [`connect`](Endpoint::connect).
    pub async fn connect_with(
        &self,
        config: &ClientConfig,
        addresses: &[SocketAddr],
        name: &str,
    ) -> Result<Connection, ConnectError> {
        let mut known = self.0.links_known.clone();
        // If that takes long or never happens, what the routing table says is good enough.
        let _ = tokio::time::timeout(INTERFACES_WITHIN, known.wait_for(|known| *known)).await;
        connect::connect(&self.0.worker, config, addresses, name).await
    }

    /// Waits for the next client; `None` once the endpoint is closed.
    ///
    /// A client that races its links may begin a connection on each; all but one are closed at once.
    pub async fn accept(&self) -> Option<Incoming> {
        poll_fn(|cx| {
            let mut state = self.0.worker.lock();
            if let Some(incoming) = state.next_incoming() {
                return Poll::Ready(Some(Incoming::new(incoming, self.0.worker.clone())));
            }
            if state.is_closed() {
                return Poll::Ready(None);
            }
            state.wait_for_incoming(cx);
            Poll::Pending
        })
        .await
    }

    /// Changes how [`connect`](Endpoint::connect) connects from now on.
    pub fn set_client_config(&self, config: ClientConfig) {
        *self.0.client.lock().unwrap_or_else(PoisonError::into_inner) = Some(config);
    }

    /// Changes how connections are accepted from now on; `None`: not at all.
    pub fn set_server_config(&self, config: Option<ServerConfig>) {
        self.0.worker.lock().core.set_server_config(config.map(|config| config.core));
    }

    /// The addresses at which connections are accepted, with their real ports.
    pub fn listening(&self) -> &[SocketAddr] {
        &self.0.listening
    }

    /// The addresses of all sockets now, those towards servers included.
    pub fn local_addresses(&self) -> Vec<SocketAddr> {
        self.0.worker.lock().local_addresses()
    }

    /// The links that can be used now, as far as they are known.
    pub fn links(&self) -> Vec<LinkInfo> {
        self.0.worker.lock().links.present().cloned().collect()
    }

    /// Connections that exist, those that are closing included.
    pub fn open_connections(&self) -> usize {
        self.0.worker.lock().live()
    }

    /// Closes all connections with an application's code below 2^62 and a reason for people, and takes no new ones. To let
    /// the peers know, wait for [`wait_idle`](Endpoint::wait_idle) before the program ends.
    pub fn close(&self, code: u64, reason: &[u8]) {
        self.0.worker.close(code, &Bytes::copy_from_slice(reason));
    }

    /// Waits until no connection is left, closing ones included.
    pub async fn wait_idle(&self) {
        poll_fn(|cx| {
            let mut state = self.0.worker.lock();
            if state.live() == 0 {
                return Poll::Ready(());
            }
            state.wait_until_idle(cx);
            Poll::Pending
        })
        .await;
    }
}
