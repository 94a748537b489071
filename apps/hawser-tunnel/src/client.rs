//! The end at the host: its packets through the gateway.

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use hawser_gateway::client::{GatewayClient, IpTunnel, IpTunnelReceiver, IpTunnelSender, OpenError, Say};
use hawser_gateway::traffic::Traffic;
use hawser_masque::flows::FlowTable;
use hawser_masque::packet::{self, Packet, Unreachable};
use ipnet::IpNet;
use tokio::sync::Mutex as AsyncMutex;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::device::{self, DeviceError, FrameHeader, HEADER, MAX_FRAME, Tun};
use crate::host::netlink::{Netlink, NetlinkError, SENDERS_MARK};
use crate::host::resolv::Resolv;
use crate::host::resolved::LinkResolvers;
use crate::host::split::Split;
use crate::host::state::{State, StateError};
use crate::host::sysctl::Sysctl;
use crate::host::{forwarding, nft};
use crate::lane::{self, Lane};
use crate::links::Host;
use crate::names::{self, Listener, Names};
use crate::resolvers::{File, Plan, Resolvers, ResolversError, Wanted, Way};

/// MTU of the device: at least what IPv6 asks for, at most what links carry. Larger packets than a datagram has room for travel on
/// the stream of the tunnel.
const MTU: std::ops::RangeInclusive<u16> = 1_280..=1_400;
/// How often it is looked how large packets may be.
const MTU_INTERVAL: Duration = Duration::from_secs(1);
/// How long to wait before addresses are asked for again.
const RETRY: Duration = Duration::from_millis(500);

/// What a tunnel carries, and what of the machine it changes.
#[derive(Clone, Debug)]
pub struct TunnelConfig {
    /// Name of the TUN device.
    pub device: String,
    /// What goes through the tunnel.
    pub split: Split,
    /// Addresses of the gateway, which never do.
    pub direct: Vec<IpAddr>,
    /// Resolvers; none: those of the machine.
    pub dns: Vec<IpAddr>,
    /// Where the machine's resolvers are named.
    pub resolv: PathBuf,
    /// Whether what would go through the tunnel is stopped when it is gone, until somebody cleans up.
    pub kill_switch: bool,
    /// File that says what has to be undone.
    pub state: PathBuf,
    /// The device of a LAN whose hosts use the tunnel, too.
    pub lan: Option<String>,
    /// TCP connections of a family that travel as streams at the same time; 0: none does, and TCP travels in packets.
    pub connections: usize,
}

/// Why there is no tunnel.
#[derive(Debug, thiserror::Error)]
pub enum TunnelError {
    /// The gateway carries no packets.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// No device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The kernel refused a change.
    #[error(transparent)]
    Netlink(#[from] NetlinkError),
    /// The state file.
    #[error(transparent)]
    State(#[from] StateError),
    /// Packets of the tunnel would come back into it.
    #[error("no tunnel in a tunnel: {0}")]
    Loop(String),
    /// Control groups cannot be told apart.
    #[error(
        "cannot tell control groups apart: {0}; it needs a kernel with nftables and its match of sockets (CONFIG_NFT_SOCKET)"
    )]
    Cgroups(io::Error),
    /// Names cannot be looked up here.
    #[error("cannot look names up for --domain: {0}")]
    Names(io::Error),
    /// TCP cannot end here.
    #[error("cannot listen for TCP of the tunnel: {0}")]
    Listen(io::Error),
    /// No tunnel for a LAN.
    #[error("cannot share the tunnel with {device}: {reason}")]
    Lan {
        /// The device of the LAN.
        device: String,
        /// Why.
        reason: String,
    },
    /// The resolvers.
    #[error("cannot change {}: {source}", .path.display())]
    Resolv {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl From<ResolversError> for TunnelError {
    fn from(error: ResolversError) -> Self {
        match error {
            ResolversError::State(error) => TunnelError::State(error),
            ResolversError::File { path, source } => TunnelError::Resolv { path, source },
        }
    }
}

/// A tunnel that runs. [`stop`](Tunnel::stop) undoes what it changed.
pub struct Tunnel {
    /// The addresses of this machine in it.
    pub addresses: Vec<IpAddr>,
    /// What was left behind by one before, and undone.
    pub undone: Vec<String>,
    state: Arc<AsyncMutex<State>>,
    netlink: Netlink,
    tasks: Vec<JoinHandle<()>>,
    resolvers: Option<Resolvers>,
    /// Address translation for a LAN, and marks of control groups.
    _tables: Vec<nft::Table>,
}

/// What a tunnel begins with.
struct Begun {
    addresses: Vec<IpAddr>,
    tasks: Vec<JoinHandle<()>>,
    resolvers: Option<Resolvers>,
    tables: Vec<nft::Table>,
}

/// What the tasks of a tunnel share.
struct Shared {
    device: Arc<Tun>,
    /// The way to the gateway, and the addresses that go with it.
    up: Mutex<Option<Up>>,
}

#[derive(Clone)]
struct Up {
    sender: IpTunnelSender,
    addresses: Vec<IpAddr>,
}

impl Tunnel {
    /// Asks the gateway for addresses and sends the machine's packets there.
    ///
    /// # Errors
    /// [`TunnelError`]; the machine is then as it was.
    pub async fn start(client: GatewayClient, config: TunnelConfig, say: Say) -> Result<Self, TunnelError> {
        let netlink = Netlink::new()?;
        let (state, undone) = State::begin(&config.state, &netlink).await?;
        let state = Arc::new(AsyncMutex::new(state));
        match Tunnel::set_up(client, &config, say, &netlink, &state).await {
            Ok(Begun { addresses, tasks, resolvers, tables }) => {
                Ok(Tunnel { addresses, undone, state, netlink, tasks, resolvers, _tables: tables })
            }
            Err(error) => {
                if let Err(error) = state.lock().await.undo(&netlink).await {
                    tracing::error!(%error, "what was changed is not undone");
                }
                Err(error)
            }
        }
    }

    async fn set_up(
        client: GatewayClient,
        config: &TunnelConfig,
        say: Say,
        netlink: &Netlink,
        state: &Arc<AsyncMutex<State>>,
    ) -> Result<Begun, TunnelError> {
        refuse_loops(&config.direct, netlink).await?;
        let tunnel = client.ip(&[]).await?;
        let addresses = tunnel.addresses.clone();
        let device = Arc::new(Tun::create(&config.device)?);
        let index = netlink.find(&config.device).await?;
        let has_v6 = enable_v6(&config.device);
        netlink.turn_on(index, *MTU.start()).await?;
        let host = Host::new(netlink, index, &config.split, has_v6);
        host.add(&addresses).await?;
        let lane = lane(&client, &device, config.connections, &host, has_v6).await?;
        state.lock().await.note_rules()?;
        for is_v4 in [true, false].into_iter().filter(|is_v4| *is_v4 || has_v6) {
            if config.kill_switch {
                host.block(is_v4).await?;
            }
            netlink.add_rules(is_v4, &config.direct).await?;
            let has_marks = !config.split.cgroups.is_empty();
            netlink.add_sender_rules(is_v4, &config.split.users, has_marks).await?;
        }
        let mut tables = Vec::new();
        if let Some(lan) = &config.lan {
            tables.push(share(lan, &config.device, netlink, &mut *state.lock().await).await?);
        }
        if !config.split.cgroups.is_empty() {
            let marked = nft::mark(&config.split.cgroups, SENDERS_MARK, &config.device);
            tables.push(marked.map_err(TunnelError::Cgroups)?);
        }
        let (resolvers, names) = resolvers(config, &host, state, &say).await?;
        let IpTunnel { sender, receiver, .. } = tunnel;
        let up = Up { sender, addresses: addresses.clone() };
        let shared = Arc::new(Shared { device, up: Mutex::new(Some(up)) });
        let direct = config.direct.clone();
        let mut tasks = vec![
            tokio::spawn(upwards(shared.clone(), lane, client.traffic().clone(), direct)),
            tokio::spawn(keep(shared.clone(), client, receiver, host.clone(), say)),
            tokio::spawn(adapt(shared, host)),
        ];
        tasks.extend(names.map(|names| tokio::spawn(names.run())));
        Ok(Begun { addresses, tasks, resolvers, tables })
    }

    /// How programs come to ask the resolvers of the tunnel; `None` if they ask others.
    pub fn resolvers(&self) -> Option<Way> {
        self.resolvers.as_ref().map(|resolvers| resolvers.way)
    }

    /// Ends it, and undoes what it changed. Returns in words what that was.
    ///
    /// # Errors
    /// When something cannot be undone; the next start, or [`State::clean`], tries again.
    pub async fn stop(self) -> Result<Vec<String>, StateError> {
        if let Some(resolvers) = self.resolvers {
            resolvers.stop().await;
        }
        // First the routes: what is sent meanwhile goes over the links.
        let undone = self.state.lock().await.undo(&self.netlink).await;
        for task in &self.tasks {
            task.abort();
        }
        undone
    }
}

/// A tunnel whose packets would be sent into it, or into another one of this machine.
async fn refuse_loops(direct: &[IpAddr], netlink: &Netlink) -> Result<(), TunnelError> {
    if let Some(address) = netlink.own_address(direct).await? {
        return Err(TunnelError::Loop(format!(
            "the gateway's address {address} is one of this machine, and what the gateway sends on would come back into the tunnel"
        )));
    }
    if netlink.has_tunnel().await? {
        let reason = "another one runs on this machine, with another folder (--run): end it first";
        return Err(TunnelError::Loop(reason.to_owned()));
    }
    Ok(())
}

/// Has names looked up elsewhere: at the resolvers that were asked for, or by this process, where what is sent to some of them takes the
/// tunnel.
async fn resolvers(
    config: &TunnelConfig,
    host: &Host,
    state: &Arc<AsyncMutex<State>>,
    say: &Say,
) -> Result<(Option<Resolvers>, Option<Names>), TunnelError> {
    let domains = &config.split.domains;
    if config.dns.is_empty() && domains.is_empty() {
        return Ok((None, None));
    }
    let wanted =
        Wanted { file: &config.resolv, dns: &config.dns, split: &config.split, direct: &config.direct };
    let plan = wanted.plan(&host.netlink).await?;
    let mut file = File { path: config.resolv.clone(), names: config.dns.clone(), state: state.clone() };
    let mut link =
        LinkResolvers { device: host.index, servers: config.dns.clone(), domains: domains.clone() };
    if domains.is_empty() {
        return Ok((Some(Resolvers::start(plan, link, file, say).await?), None));
    }
    let failed = |source| TunnelError::Resolv { path: config.resolv.clone(), source };
    let before = Resolv::resolvers(&config.resolv).map_err(failed)?;
    // Who resolved asks now: if it asks this process, that cannot ask it.
    let upstream = match &plan {
        Plan::Resolved(resolved) => {
            // Some versions ask over the device, whatever the address: there this one leads here, too (systemd 25397).
            host.netlink.add_local_address(host.index, IpNet::from(names::ADDRESS)).await?;
            resolved.upstream().await.unwrap_or_default()
        }
        Plan::File(_) => Vec::new(),
    };
    let listener = Listener::bind().await.map_err(TunnelError::Names)?;
    link.servers = vec![names::ADDRESS];
    // Behind it those of before: after a crash there are still some.
    file.names = std::iter::once(names::ADDRESS).chain(before.iter().copied()).collect();
    let resolvers = Resolvers::start(plan, link, file, say).await?;
    let others = if resolvers.way == Way::Resolved { upstream } else { before };
    match Names::start(listener, domains.clone(), config.dns.clone(), others, host.clone()).await {
        Ok(names) => Ok((Some(resolvers), Some(names))),
        Err(error) => {
            resolvers.stop().await;
            Err(TunnelError::Names(error))
        }
    }
}

/// The lane in which TCP travels as streams; none for a gateway that takes packets only.
async fn lane(
    client: &GatewayClient,
    device: &Arc<Tun>,
    connections: usize,
    host: &Host,
    has_v6: bool,
) -> Result<Option<Lane>, TunnelError> {
    if connections == 0 {
        return Ok(None);
    }
    for address in lane::addresses().into_iter().filter(|address| has_v6 || address.addr().is_ipv4()) {
        host.netlink.add_local_address(host.index, address).await?;
    }
    let lane = Lane::start(client.clone(), device.clone(), connections, has_v6).await;
    lane.map(Some).map_err(TunnelError::Listen)
}

/// Lets the hosts of a LAN use the tunnel: this machine passes their packets on, as its own.
async fn share(
    lan: &str,
    device: &str,
    netlink: &Netlink,
    state: &mut State,
) -> Result<nft::Table, TunnelError> {
    let failed = |reason: String| TunnelError::Lan { device: lan.to_owned(), reason };
    let networks = netlink.networks(netlink.find(lan).await?).await?;
    if networks.is_empty() {
        return Err(failed(
            "it has no address: `ip address add 192.168.7.1/24 dev DEVICE` gives it one".to_owned(),
        ));
    }
    let families = [true, false].into_iter();
    for is_v4 in families.filter(|is_v4| networks.iter().any(|network| network.addr().is_ipv4() == *is_v4)) {
        let changes =
            forwarding::changes(is_v4).map_err(|error| failed(format!("no forwarding: {error}")))?;
        state.note_sysctls(changes.iter().map(|(before, _)| before.clone()).collect())?;
        for (_, after) in &changes {
            after.write().map_err(|error| failed(format!("no forwarding: {error}")))?;
        }
    }
    nft::share(device, &networks).map_err(|error| failed(format!("no address translation: {error}")))
}

/// IPv6 on the device, also where it is off for others. Returns whether there is IPv6.
fn enable_v6(device: &str) -> bool {
    let name = format!("ipv6/conf/{device}/disable_ipv6");
    match Sysctl::read(&name) {
        Ok(Some(sysctl)) if sysctl.value == "0" => true,
        Ok(Some(_)) => Sysctl { name, value: "0".to_owned() }.write().is_ok(),
        Ok(None) | Err(_) => false,
    }
}

impl Shared {
    fn up(&self) -> Option<Up> {
        self.up.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_up(&self, up: Option<Up>) {
        *self.up.lock().unwrap_or_else(PoisonError::into_inner) = up;
    }

    fn answer(&self, bytes: &[u8], packet: &Packet, why: Unreachable) {
        if let Some(answer) = packet::unreachable(bytes, packet, why) {
            self.deliver(&answer);
        }
    }

    /// Hands a packet to this machine.
    fn deliver(&self, packet: &[u8]) {
        self.device.send_packet(packet);
    }
}

/// Packets of this machine: TCP into the lane, if there is one, the rest into datagrams. Packets of the tunnel itself, to these addresses, are
/// not sent into it, whatever the machine's routes say now.
async fn upwards(shared: Arc<Shared>, lane: Option<Lane>, traffic: Traffic, direct: Vec<IpAddr>) {
    let mut is_told = false;
    let (started, flows) = (Instant::now(), Arc::new(Mutex::new(FlowTable::default())));
    traffic.watch(started, &flows);
    let mut buffer = vec![0; MAX_FRAME];
    loop {
        let length = match shared.device.receive(&mut buffer).await {
            Ok(length) => length,
            Err(error) => return tracing::error!(%error, "the TUN device is gone"),
        };
        let Some(frame) = buffer.get_mut(..length) else { continue };
        let Some(header) = FrameHeader::read(frame) else { continue };
        let packet = match frame.get(HEADER..).map(packet::read) {
            Some(Ok(packet)) => packet,
            Some(Err(error)) => {
                tracing::debug!(%error, "a packet of this machine is dropped");
                continue;
            }
            None => continue,
        };
        if packet.protocol == packet::UDP && direct.contains(&packet.destination) {
            if !std::mem::replace(&mut is_told, true) {
                tracing::warn!(
                    "packets to the gateway came into the tunnel, and are dropped: who has changed routing rules?"
                );
            }
            continue;
        }
        if packet.protocol == packet::TCP
            && lane.as_ref().is_some_and(|lane| lane.take(frame, &packet, header.is_partial()))
        {
            continue;
        }
        let up = shared.up();
        let now = started.elapsed();
        device::complete(frame, |bytes| match (&up, packet::read(bytes)) {
            (Some(up), Ok(packet)) if up.addresses.contains(&packet.source) => {
                let verdict = flows.lock().unwrap_or_else(PoisonError::into_inner).judge(now, bytes, &packet);
                up.sender.send(bytes, &verdict);
            }
            (_, Ok(packet)) => shared.answer(bytes, &packet, Unreachable::Network),
            (_, Err(_)) => {}
        });
    }
}

/// Packets of the gateway; when it is lost, another tunnel with the same addresses.
async fn keep(
    shared: Arc<Shared>,
    client: GatewayClient,
    mut receiver: IpTunnelReceiver,
    host: Host,
    say: Say,
) {
    loop {
        let reason = downwards(&shared, &mut receiver).await;
        let before = shared.up().map(|up| up.addresses).unwrap_or_default();
        tracing::info!(reason, "the IP tunnel ended");
        let tunnel = again(&client, &before, &say).await;
        if tunnel.addresses != before {
            say(&format!("this machine is {} in the tunnel now", list(&tunnel.addresses)));
            if let Err(error) = host.replace(&before, &tunnel.addresses).await {
                say(&format!("the addresses of the tunnel are wrong: {error}"));
            }
        }
        shared.set_up(Some(Up { sender: tunnel.sender, addresses: tunnel.addresses }));
        receiver = tunnel.receiver;
    }
}

/// Asks for a tunnel until there is one.
async fn again(client: &GatewayClient, before: &[IpAddr], say: &Say) -> IpTunnel {
    let mut told = None;
    loop {
        match client.ip(before).await {
            Ok(tunnel) => return tunnel,
            Err(error) => {
                let error = error.to_string();
                if told.as_ref() != Some(&error) {
                    say(&format!("no addresses from the gateway: {error}; trying on"));
                    told = Some(error);
                }
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}

/// Hands the packets of the gateway to this machine, those to its addresses. Returns why there are no more.
async fn downwards(shared: &Shared, receiver: &mut IpTunnelReceiver) -> String {
    loop {
        let bytes: Bytes = match receiver.receive().await {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return "the gateway ended it".to_owned(),
            Err(error) => return error,
        };
        let is_own =
            |packet: Packet| shared.up().is_some_and(|up| up.addresses.contains(&packet.destination));
        if packet::read(&bytes).is_ok_and(is_own) {
            shared.deliver(&bytes);
        }
    }
}

/// Lets packets be as large as fits a datagram.
async fn adapt(shared: Arc<Shared>, host: Host) {
    let mut current = *MTU.start();
    loop {
        tokio::time::sleep(MTU_INTERVAL).await;
        let Some(up) = shared.up() else { continue };
        let room = u16::try_from(up.sender.room()).unwrap_or(u16::MAX).clamp(*MTU.start(), *MTU.end());
        if room != current && host.netlink.set_mtu(host.index, room).await.is_ok() {
            tracing::info!(mtu = room, "packets of the tunnel have another size");
            current = room;
        }
    }
}

/// Addresses in words.
fn list(addresses: &[IpAddr]) -> String {
    addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
}
