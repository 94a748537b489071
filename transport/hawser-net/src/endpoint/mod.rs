//! The endpoint as the application holds it.

mod builder;
mod established;

use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use hawser_paths::CapUse;
use hawser_policy::{LinkId, LinkInfo, LinkState, Time};
use tokio::sync::watch;

pub use self::builder::EndpointBuilder;
pub use self::established::Established;
use crate::connect::Start;
use crate::connection::{ConnectionObserver, ConnectionTotals};
use crate::links::{LinkUse, LinkUseError, Links};
use crate::worker::{Worker, WorkerStats};
use crate::{ClientConfig, ConnectError, Connection, EndpointError, Incoming, ServerConfig, code, connect};

/// How long the first look at the interfaces may delay the first connection.
const INTERFACES_WITHIN: Duration = Duration::from_secs(1);

/// Opens connections, accepts them, or both. Cheap to clone.
///
/// Connections outlive the endpoint; [`close`](Endpoint::close) ends them all.
#[derive(Clone)]
pub struct Endpoint(Arc<EndpointHandle>);

/// An [`Endpoint`] that this does not keep: [`upgrade`](WeakEndpoint::upgrade) gives it while it has other handles.
#[derive(Clone)]
pub struct WeakEndpoint(Weak<EndpointHandle>);

impl WeakEndpoint {
    /// Returns the endpoint; `None` once its last handle was dropped.
    pub fn upgrade(&self) -> Option<Endpoint> {
        self.0.upgrade().map(Endpoint)
    }
}

impl fmt::Debug for WeakEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakEndpoint").finish_non_exhaustive()
    }
}

struct EndpointHandle {
    /// At least one. The first drives the connections that are opened here.
    workers: Vec<Arc<Worker>>,
    /// The worker that is asked first for the next client.
    turn: AtomicUsize,
    client: Mutex<Option<ClientConfig>>,
    listening: Vec<SocketAddr>,
    /// Turns true when the machine's interfaces are known.
    links_known: watch::Receiver<bool>,
}

impl Drop for EndpointHandle {
    fn drop(&mut self) {
        self.workers.iter().for_each(|worker| worker.mailbox.abandon());
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("listening", &self.0.listening).finish_non_exhaustive()
    }
}

impl Endpoint {
    /// Starts from the defaults.
    pub fn builder() -> EndpointBuilder {
        EndpointBuilder::new()
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

    /// Connects with a configuration of its own to whichever of the server's addresses answers first. Further paths go to
    /// that address, and over links without an address of its family to the first of the other family: give addresses of the
    /// same server, as a resolver does for its name.
    ///
    /// # Errors
    /// As [`connect`](Endpoint::connect).
    pub async fn connect_with(
        &self,
        config: &ClientConfig,
        addresses: &[SocketAddr],
        name: &str,
    ) -> Result<Connection, ConnectError> {
        self.connect_from(config, addresses, name, Start::Connected).await
    }

    /// As [`connect_with`](Endpoint::connect_with), but if the server gave a ticket for 0-RTT in an earlier connection, the
    /// new one is there at once, and what is written goes out with the first packets
    /// ([`Connection::early_data`] is then [`Offered`](crate::EarlyData::Offered)). **Anyone who sees these packets can send
    /// them to the server again**: write only what may be done twice.
    ///
    /// Such a connection is not raced over the links, for each attempt would send the data again: it begins over the first
    /// link, to the first address, and others join it once the handshake is complete. If nothing answers, it ends by its
    /// idle timeout; an application that does not want to wait for that limits the time of
    /// [`handshake_complete`](Connection::handshake_complete) and connects without 0-RTT.
    ///
    /// # Errors
    /// As [`connect`](Endpoint::connect).
    pub async fn connect_early(
        &self,
        config: &ClientConfig,
        addresses: &[SocketAddr],
        name: &str,
    ) -> Result<Connection, ConnectError> {
        self.connect_from(config, addresses, name, Start::Early).await
    }

    async fn connect_from(
        &self,
        config: &ClientConfig,
        addresses: &[SocketAddr],
        name: &str,
        start: Start,
    ) -> Result<Connection, ConnectError> {
        let mut known = self.0.links_known.clone();
        // If that takes long or never happens, what the routing table says is good enough.
        let _ = tokio::time::timeout(INTERFACES_WITHIN, known.wait_for(|known| *known)).await;
        connect::connect(&self.0.workers[0], config, addresses, name, start).await
    }

    /// As if the host had answered packets from this local address that nobody listens there.
    #[cfg(test)]
    pub(crate) fn forge_refusal(&self, local: SocketAddr, host: std::net::IpAddr) {
        self.0.workers[0].on_refusal(local, host);
    }

    /// Waits for the next client; `None` once the endpoint is closed, or a panic has ended all of its workers (what
    /// [`Connection::closed`] says of their connections then).
    ///
    /// A client that races its links may begin a connection on each; all but one are closed at once.
    pub async fn accept(&self) -> Option<Incoming> {
        let workers = &self.0.workers;
        poll_fn(|cx| {
            let turn = self.0.turn.fetch_add(1, Ordering::Relaxed);
            let mut is_open = false;
            for worker in workers.iter().cycle().skip(turn % workers.len()).take(workers.len()) {
                let mut state = worker.lock();
                if let Some(incoming) = state.next_incoming() {
                    return Poll::Ready(Some(Incoming::new(incoming, worker.clone())));
                }
                if !state.is_closed() {
                    is_open = true;
                    state.wait_for_incoming(cx);
                }
            }
            if is_open { Poll::Pending } else { Poll::Ready(None) }
        })
        .await
    }

    /// Changes how [`connect`](Endpoint::connect) connects from now on.
    pub fn set_client_config(&self, config: ClientConfig) {
        *self.0.client.lock().unwrap_or_else(PoisonError::into_inner) = Some(config);
    }

    /// Changes how connections are accepted from now on; `None`: not at all, and new clients are refused at once, while connections
    /// that exist go on.
    pub fn set_server_config(&self, config: Option<ServerConfig>) {
        let config = config.map(|config| config.core);
        for worker in &self.0.workers {
            worker.lock().core.set_server_config(config.clone());
        }
    }

    /// The addresses at which connections are accepted, with their real ports.
    pub fn listening(&self) -> &[SocketAddr] {
        &self.0.listening
    }

    /// The addresses of all sockets now, those towards servers included.
    pub fn local_addresses(&self) -> Vec<SocketAddr> {
        self.0.workers[0].lock().local_addresses()
    }

    /// The links that can be used now, as far as they are known.
    pub fn links(&self) -> Vec<LinkInfo> {
        self.0.workers[0].lock().links.present().cloned().collect()
    }

    /// Connections that exist, those that are closing included.
    pub fn open_connections(&self) -> usize {
        self.0.workers.iter().map(|worker| worker.lock().live()).sum()
    }

    /// Returns a handle that does not keep the endpoint.
    pub fn downgrade(&self) -> WeakEndpoint {
        WeakEndpoint(Arc::downgrade(&self.0))
    }

    /// Returns true if both are handles on the same endpoint.
    pub fn is_same(&self, other: &Endpoint) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Looks at the connections that exist, those that are closing included, without keeping them open.
    pub fn connections(&self) -> Vec<ConnectionObserver> {
        self.0.workers.iter().flat_map(|worker| worker.connections()).map(ConnectionObserver).collect()
    }

    /// Returns what connections counted that ended, of all that the endpoint ever had.
    pub fn ended_connections(&self) -> ConnectionTotals {
        self.0.workers[0].ended_connections()
    }

    /// What the [link observer](EndpointBuilder::link_observer) said last of each link.
    pub fn link_states(&self) -> Vec<(LinkId, LinkState)> {
        self.0.workers[0].link_states()
    }

    /// The present in the endpoint's own time, in which forecasts of links are given.
    pub fn now(&self) -> Time {
        self.0.workers[0].clock.now()
    }

    /// What is left of the [budgets](EndpointBuilder::cost_caps) of links.
    pub fn cost_cap_uses(&self) -> Vec<CapUse> {
        self.0.workers[0].cost_cap_uses()
    }

    /// What links are to be used for, where that was [changed](Self::set_link_use).
    pub fn link_uses(&self) -> Vec<(String, LinkUse)> {
        self.0.workers[0].lock().links.uses()
    }

    /// Uses a link otherwise from now on, whatever [`Links`] said of it: connections that exist follow, and so do those that are
    /// opened later, also after the link was away. A link that is paused loses its paths, and gets new ones when it is resumed.
    /// The name of a link that was chosen by its address is that address.
    ///
    /// # Errors
    /// [`LinkUseError`].
    pub fn set_link_use(&self, name: &str, wanted: LinkUse) -> Result<(), LinkUseError> {
        self.0.workers.iter().try_for_each(|worker| worker.set_link_use(name, wanted))
    }

    /// What each worker has done, see [`ServerConfigBuilder::workers`](crate::ServerConfigBuilder::workers).
    pub fn worker_stats(&self) -> Vec<WorkerStats> {
        self.0.workers.iter().map(|worker| worker.lock().stats()).collect()
    }

    /// Closes all connections with an application's code and a reason for people, and takes no new ones. A code above
    /// [`MAX_APPLICATION_CODE`](crate::MAX_APPLICATION_CODE) is sent as that one, and a warning is logged. To let the peers
    /// know, wait for [`wait_idle`](Endpoint::wait_idle) before the program ends.
    pub fn close(&self, code: u64, reason: &[u8]) {
        let (code, reason) = (code::at_most(code), Bytes::copy_from_slice(reason));
        self.0.workers.iter().for_each(|worker| worker.close(code, &reason));
    }

    /// Waits until no connection has anything to say any more: the peer of each that was closed has answered, or did not for
    /// three probe timeouts (RFC 9000 section 10.2). Afterwards the program may end. It waits for connections that are open, too:
    /// [`close`](Endpoint::close) them before, or it waits until they end.
    pub async fn wait_idle(&self) {
        poll_fn(|cx| {
            // One after the other: a busy one wakes this task when it no longer is.
            for worker in &self.0.workers {
                let mut state = worker.lock();
                if state.unsettled() > 0 {
                    state.wait_until_idle(cx);
                    return Poll::Pending;
                }
            }
            Poll::Ready(())
        })
        .await;
    }
}
