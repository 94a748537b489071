//! From settings to running workers.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, Weak};

use hawser_core::quic_lb::QuicLbServer;
use hawser_core::{EndpointConfig, EndpointGroup, ReceiveMemory, SendMemory};
use hawser_paths::CostCaps;
use hawser_policy::{LinkObserver, Registry};
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::{Endpoint, EndpointHandle};
use crate::clock::Clock;
use crate::connection::EndpointPolicies;
use crate::interfaces::{Interfaces, watch_interfaces};
use crate::link_control::{Controller, LinkController};
use crate::link_state::{Observer, Unobserved};
use crate::links::{LinkSelector, LinkUse, Links};
use crate::socket::{Binding, Sharing, SocketFactory, SocketOptions};
use crate::worker::{Home, Tally, Team, Worker, inform};
use crate::{ClientConfig, EndpointError, ServerConfig};

/// Kernel buffer asked for each socket, in each direction: what a gigabit per second brings in 50 ms. Without
/// privileges the kernel grants at most net.core.rmem_max and wmem_max.
const SOCKET_BUFFER: usize = 7 << 20;

/// Builds an [`Endpoint`].
#[derive(Debug)]
pub struct EndpointBuilder {
    links: Links,
    listen: Vec<SocketAddr>,
    server: Option<ServerConfig>,
    client: Option<ClientConfig>,
    socket_options: SocketOptions,
    reset_key: Option<[u8; 32]>,
    connection_id_length: Option<usize>,
    quic_lb: Option<QuicLbServer>,
    receive_memory: Option<u64>,
    send_memory: Option<u64>,
    policies: Option<Arc<Registry>>,
    allowed_schedulers: Vec<String>,
    link_observer: Option<Observer>,
    link_controller: Controller,
    cost_caps: Option<Arc<CostCaps>>,
    link_uses: Vec<(String, LinkUse)>,
    metered: Vec<LinkSelector>,
    listen_on: Vec<UdpSocket>,
    sockets: Option<Arc<dyn SocketFactory>>,
    interfaces: Option<watch::Receiver<Interfaces>>,
}

impl EndpointBuilder {
    pub(super) fn new() -> Self {
        EndpointBuilder {
            links: Links::All,
            listen: Vec::new(),
            server: None,
            client: None,
            socket_options: SocketOptions { buffer_bytes: SOCKET_BUFFER, dscp: 0 },
            reset_key: None,
            connection_id_length: None,
            quic_lb: None,
            receive_memory: None,
            send_memory: None,
            policies: None,
            allowed_schedulers: Vec::new(),
            link_observer: None,
            link_controller: Controller::default(),
            cost_caps: None,
            link_uses: Vec::new(),
            metered: Vec::new(),
            listen_on: Vec::new(),
            sockets: None,
            interfaces: None,
        }
    }

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

    /// Accepts connections on this socket, which the program bound or was handed (socket activation). Only an endpoint of one
    /// [worker](crate::ServerConfigBuilder::workers) takes sockets. May be called more than once.
    #[must_use]
    pub fn listen_on(mut self, socket: UdpSocket) -> Self {
        self.listen_on.push(socket);
        self
    }

    /// What makes all other sockets of the endpoint. Default: the endpoint, which binds each to its interface by
    /// SO_BINDTODEVICE. [`socket_buffer`](Self::socket_buffer) says nothing to sockets that are made elsewhere.
    #[must_use]
    pub fn sockets(mut self, factory: Arc<dyn SocketFactory>) -> Self {
        self.sockets = Some(factory);
        self
    }

    /// The interfaces that there are, in place of what the system says of them; each new value is the whole list. Where
    /// netlink is forbidden, or the program knows better. Default: [`watch_interfaces`](crate::watch_interfaces).
    #[must_use]
    pub fn interfaces(mut self, interfaces: watch::Receiver<Interfaces>) -> Self {
        self.interfaces = Some(interfaces);
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
        self.socket_options.buffer_bytes = bytes;
        self
    }

    /// Differentiated services codepoint (RFC 2474) of all packets, 0 to 63, whatever they carry: packets of one path that routers
    /// treated differently would look lost. Bits beyond are left out. Default: 0.
    #[must_use]
    pub fn dscp(mut self, codepoint: u8) -> Self {
        self.socket_options.dscp = codepoint & 63;
        self
    }

    /// The key of stateless reset tokens (RFC 9000 section 10.3). A server that keeps it over restarts can tell the
    /// clients of its former life at once that their connections are gone. Default: random.
    #[must_use]
    pub fn reset_key(mut self, key: [u8; 32]) -> Self {
        self.reset_key = Some(key);
        self
    }

    /// Bytes that all its connections may hold for applications that do not read; beyond it, those that hold more than an
    /// equal share are closed. Default: 1 GiB.
    #[must_use]
    pub fn receive_memory(mut self, bytes: u64) -> Self {
        self.receive_memory = Some(bytes);
        self
    }

    /// Bytes that all its connections may keep of what applications wrote, until it is acknowledged; each keeps up to a quarter
    /// of what is free, an eighth of the whole, and 1 MiB in any case. Writers wait for more. Default: 1 GiB.
    #[must_use]
    pub fn send_memory(mut self, bytes: u64) -> Self {
        self.send_memory = Some(bytes);
        self
    }

    /// Bytes of the connection ids that are issued, 8 to 20. Default: 8.
    #[must_use]
    pub fn connection_id_length(mut self, length: usize) -> Self {
        self.connection_id_length = Some(length);
        self
    }

    /// Connection ids by which a load balancer finds this server among several (draft-ietf-quic-load-balancers), whatever
    /// address a client or one of its paths has. They then have the length that follows from the configuration. With
    /// several workers the nonces carry the worker's number. Default: random ids.
    #[must_use]
    pub fn quic_lb(mut self, server: QuicLbServer) -> Self {
        self.quic_lb = Some(server);
        self
    }

    /// The policies that its connections choose from by name while they run
    /// ([`Connection::set_scheduler`](crate::Connection::set_scheduler)). Default: [`policies`](crate::policies).
    #[must_use]
    pub fn policies(mut self, registry: Arc<Registry>) -> Self {
        self.policies = Some(registry);
        self
    }

    /// Schedulers that peers may choose for what this endpoint sends
    /// ([`Connection::request_scheduler`](crate::Connection::request_scheduler)), with any parameters that they take.
    /// Default: none; what is asked for is refused.
    #[must_use]
    pub fn allow_schedulers<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.allowed_schedulers = names.into_iter().map(Into::into).collect();
        self
    }

    /// The source of link states and forecasts: asked ten times a second, and what is new is told to the policies of all
    /// connections that the endpoint opens, as in the simulator. Default: nobody. [`LinkStateFile`](crate::LinkStateFile)
    /// takes the word of another program.
    #[must_use]
    pub fn link_observer(mut self, observer: impl LinkObserver + 'static) -> Self {
        self.link_observer = Some(Observer::new(observer));
        self
    }

    /// The links that the user pays by volume, however they were [selected](Self::links): policies spend nothing on them that is worth
    /// less than its bytes, such as copies of messages, and the peer is told. Default: none.
    #[must_use]
    pub fn metered(mut self, links: impl IntoIterator<Item = LinkSelector>) -> Self {
        self.metered = links.into_iter().collect();
        self
    }

    /// The controller that attaches links elsewhere when a policy asks for it. Default: none.
    #[must_use]
    pub fn link_controller(mut self, controller: Arc<dyn LinkController>) -> Self {
        self.link_controller = Controller(Some(controller));
        self
    }

    /// What the links may carry in a period. A link whose budget is used up carries nothing before the next period: its paths are
    /// abandoned, and it is not connected over. What is left no other path for is closed with NO_VIABLE_PATH. The budgets may be
    /// shared with other endpoints of the process. Under [`Links::Routed`] nobody knows which link is taken: such an endpoint
    /// connects to nobody but this machine. Default: none.
    #[must_use]
    pub fn cost_caps(mut self, caps: Arc<CostCaps>) -> Self {
        self.cost_caps = Some(caps);
        self
    }

    /// What links of these names are used for, whatever [`links`](Self::links) says of them, until
    /// [`Endpoint::set_link_use`] says otherwise. They need not exist yet. Default: none.
    #[must_use]
    pub fn link_uses(mut self, uses: impl IntoIterator<Item = (String, LinkUse)>) -> Self {
        self.link_uses.extend(uses);
        self
    }

    /// Binds the sockets and starts the workers. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// [`EndpointError`].
    pub fn bind(mut self) -> Result<Endpoint, EndpointError> {
        let runtime = Handle::try_current().map_err(|_| EndpointError::NoRuntime)?;
        let count = match &self.server {
            Some(server) if !(self.listen.is_empty() && self.listen_on.is_empty()) => server.workers,
            _ => 1,
        };
        if count > 1 && !self.listen_on.is_empty() {
            return Err(EndpointError::WorkersOfOneSocket { workers: count });
        }
        let crew = self.crew(count, &runtime)?;
        let mut listening = self.listen_with(&crew)?;
        for socket in std::mem::take(&mut self.listen_on) {
            listening.push(crew[0].1.listen_on(socket).map_err(EndpointError::Socket)?);
        }
        let workers: Vec<Arc<Worker>> = crew.iter().map(|(_, worker)| worker.clone()).collect();
        let (known, links_known) = watch::channel(false);
        // An endpoint that only accepts has no use for links.
        if self.client.is_some() || listening.is_empty() {
            let task = runtime.spawn(follow_interfaces(
                workers.iter().map(Arc::downgrade).collect(),
                known,
                self.interfaces.take(),
            ));
            workers[0].lock().follow_with(task.abort_handle());
            let told = || (!self.metered.is_empty()).then(|| Observer::new(Unobserved));
            if let Some(observer) = self.link_observer.or_else(told) {
                let task = runtime.spawn(inform(observer, Arc::downgrade(&workers[0]), links_known.clone()));
                workers[0].lock().follow_with(task.abort_handle());
            }
        }
        // From here on dropping it ends the workers that have started.
        let endpoint = Endpoint(Arc::new(EndpointHandle {
            workers,
            turn: AtomicUsize::new(0),
            client: Mutex::new(self.client),
            listening,
            links_known,
        }));
        start(crew)?;
        Ok(endpoint)
    }

    /// The workers and where each will run.
    fn crew(&self, count: usize, runtime: &Handle) -> Result<Vec<(Home, Arc<Worker>)>, EndpointError> {
        let clock = Clock::start();
        let mut config = EndpointConfig::new(self.reset_key.unwrap_or_else(rand::random));
        config.unix_time_at_origin = clock.unix_origin();
        config.connection_id_length = self.connection_id_length.unwrap_or(config.connection_id_length);
        config.quic_lb = self.quic_lb.clone();
        if let Some(bytes) = self.receive_memory {
            config.receive_memory = ReceiveMemory::new(bytes);
        }
        if let Some(bytes) = self.send_memory {
            config.send_memory = SendMemory::new(bytes);
        }
        let config = Arc::new(config);
        let server = self.server.as_ref().map(|server| server.core.clone());
        let group = (count > 1).then(|| Arc::new(EndpointGroup::new(count, rand::random())));
        let tally = Tally::default();
        let policies = Arc::new(EndpointPolicies {
            registry: self.policies.clone().unwrap_or_else(|| Arc::new(crate::policies())),
            on_request: self.allowed_schedulers.clone(),
        });
        let member = |index| {
            let mut core = hawser_core::Endpoint::new(config.clone(), server.clone(), rand::random());
            let home = match &group {
                Some(group) => {
                    core.join(group.clone(), index);
                    Home::thread().map_err(EndpointError::Thread)?
                }
                None => Home::Caller(runtime.clone()),
            };
            let handle = home.handle().map_err(EndpointError::Thread)?;
            let worker = Worker::new(
                core,
                self.links.clone(),
                clock,
                handle,
                self.socket_options,
                tally.clone(),
                policies.clone(),
            );
            let worker = worker.with_sockets(self.sockets.clone());
            worker.lock().links.expect_uses(&self.link_uses);
            worker.lock().links.set_metered(&self.metered);
            let worker = worker.with_controller(self.link_controller.clone());
            Ok((home, Arc::new(worker.with_cost_caps(self.cost_caps.clone()))))
        };
        (0..count).map(member).collect()
    }

    /// Binds every worker to every address. Returns the addresses with their real ports.
    fn listen_with(&self, crew: &[(Home, Arc<Worker>)]) -> Result<Vec<SocketAddr>, EndpointError> {
        let mut listening = Vec::new();
        for &asked in &self.listen {
            let mut address = asked;
            for (index, (_, worker)) in crew.iter().enumerate() {
                let sharing = match index {
                    _ if crew.len() == 1 => Sharing::Alone,
                    0 => Sharing::First,
                    _ => Sharing::Joining,
                };
                let binding = Binding { address, device: None, link: None, report_errors: false, sharing };
                let bound = worker.bind(&mut worker.lock(), binding);
                address = bound.map_err(|source| EndpointError::Listen { address: asked, source })?;
            }
            listening.push(address);
        }
        Ok(listening)
    }
}

/// Starts the workers' tasks.
fn start(crew: Vec<(Home, Arc<Worker>)>) -> Result<(), EndpointError> {
    let mailboxes: Arc<[_]> = crew.iter().map(|(_, worker)| worker.mailbox.clone()).collect();
    for (index, (home, worker)) in crew.into_iter().enumerate() {
        let team = (mailboxes.len() > 1).then(|| Team::new(index, mailboxes.clone()));
        home.start(worker, team).map_err(EndpointError::Thread)?;
    }
    Ok(())
}

/// Keeps the workers' idea of the interfaces up to date.
async fn follow_interfaces(
    workers: Vec<Weak<Worker>>,
    known: watch::Sender<bool>,
    given: Option<watch::Receiver<Interfaces>>,
) {
    let found = match given {
        Some(given) => Ok(given),
        None => watch_interfaces().await,
    };
    let mut interfaces = match found {
        Ok(interfaces) => interfaces,
        Err(error) => {
            tracing::warn!(%error, "the interfaces of this machine are not known; using links as they are named");
            workers.iter().filter_map(Weak::upgrade).for_each(|worker| worker.assume_links());
            known.send_replace(true);
            return;
        }
    };
    loop {
        let current = interfaces.borrow_and_update().clone();
        for worker in &workers {
            match worker.upgrade() {
                Some(worker) => worker.update_links(&current),
                None => return,
            }
        }
        known.send_replace(true);
        if interfaces.changed().await.is_err() {
            return;
        }
    }
}
