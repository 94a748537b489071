//! IP packets of clients, to and from the network behind the gateway.
//!
//! A client has addresses of the gateway's pools, sends from these and no others, and reaches what the egress rules allow. Other
//! clients are not reached whatever the rules say. What is dropped is counted.

mod tunnel;

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use hawser_masque::flows::FlowTable;
use hawser_masque::packet::{self, Packet, Unreachable};
use ipnet::IpNet;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::directory::User;
use crate::egress::{Denied, EgressRules};
use crate::ip_relay::IpSender;
use crate::meter::Direction;
use crate::pools::{Lease, PoolError, Pools};

pub(super) use tunnel::serve;

/// Bytes of a TCP header without options.
const TCP_HEADER: usize = 20;
/// Packets of a tunnel, in bytes: at least what IPv6 asks for, at most the MTU of the device behind the gateway.
const LEAST_ROOM: usize = 1_280;
const MOST_ROOM: usize = 1_400;
/// Answers to packets that are not allowed, for each client and second.
const ANSWERS_PER_SECOND: u64 = 100;
/// Between two lines in the log that say so of one client.
const DENIAL_INTERVAL: Duration = Duration::from_secs(10);

/// What takes packets from clients: a TUN device of this machine.
pub trait Device: Send + Sync {
    /// Hands a packet to the network. One that it has no room for is lost.
    fn send(&self, packet: &[u8]);
}

/// How packets came to be dropped.
#[derive(Debug, Default)]
struct Counters {
    up: AtomicU64,
    down: AtomicU64,
    malformed: AtomicU64,
    spoofed: AtomicU64,
    denied: AtomicU64,
    unknown: AtomicU64,
    limited: AtomicU64,
}

/// Packets since the gateway began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IpCounters {
    /// From clients to the network.
    pub up: u64,
    /// From the network to clients.
    pub down: u64,
    /// Dropped: no sound IP packet.
    pub malformed: u64,
    /// Dropped: from an address that is not the client's.
    pub spoofed: u64,
    /// Dropped: to an address that the rules deny, or to another client.
    pub denied: u64,
    /// Dropped: to an address that no client has now.
    pub unknown: u64,
    /// Dropped: beyond the rate or the volume of the client's user.
    pub limited: u64,
}

/// The network behind a gateway, and the clients that reach it. Cheap to clone.
#[derive(Clone)]
pub struct IpNetwork(Arc<Network>);

struct Network {
    device: Box<dyn Device>,
    pools: Mutex<Pools>,
    prefixes: Vec<IpNet>,
    clients: RwLock<HashMap<IpAddr, Arc<IpClient>>>,
    counters: Counters,
    started: Instant,
}

/// A client that has addresses.
struct IpClient {
    user: Arc<User>,
    lease: Lease,
    sender: IpSender,
    flows: Arc<Mutex<FlowTable>>,
    /// Somebody else has these addresses now.
    replaced: Notify,
    /// The second of the last answers, and how many there were in it.
    answers: Mutex<(u64, u64)>,
    /// When it was logged last that its packets are denied.
    denial_noted: Mutex<Option<Duration>>,
}

impl fmt::Debug for IpNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IpNetwork").field("pools", &self.0.prefixes).finish_non_exhaustive()
    }
}

impl IpNetwork {
    /// Behind this device, with these addresses for clients. Must be called inside a tokio runtime.
    pub fn new(device: Box<dyn Device>, pools: Pools) -> Self {
        IpNetwork(Arc::new(Network {
            device,
            prefixes: pools.prefixes().to_vec(),
            pools: Mutex::new(pools),
            clients: RwLock::default(),
            counters: Counters::default(),
            started: Instant::now(),
        }))
    }

    /// A packet came from the network: sends it to the client whose address it has.
    pub fn deliver(&self, bytes: &[u8]) {
        let network = &*self.0;
        let Ok(packet) = packet::read(bytes) else { return count(&network.counters.malformed) };
        let clients = network.clients.read().unwrap_or_else(PoisonError::into_inner);
        let Some(client) = clients.get(&packet.destination) else {
            return count(&network.counters.unknown);
        };
        if !client.user.meter.admits(Direction::Down, bytes.len()) {
            return count(&network.counters.limited);
        }
        count(&network.counters.down);
        let clamped = clamp(bytes, &packet, client.sender.room());
        client.send(network.started.elapsed(), clamped.as_deref().unwrap_or(bytes), &packet);
    }

    /// What has been counted.
    pub fn counters(&self) -> IpCounters {
        let counters = &self.0.counters;
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        IpCounters {
            up: read(&counters.up),
            down: read(&counters.down),
            malformed: read(&counters.malformed),
            spoofed: read(&counters.spoofed),
            denied: read(&counters.denied),
            unknown: read(&counters.unknown),
            limited: read(&counters.limited),
        }
    }

    fn pools(&self) -> MutexGuard<'_, Pools> {
        self.0.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a client addresses, those it had if they are the user's. A client that still has them loses them.
    fn join(
        &self,
        user: &Arc<User>,
        wanted: &[IpAddr],
        sender: IpSender,
    ) -> Result<Arc<IpClient>, PoolError> {
        let lease = self.pools().lease(&user.name, wanted)?;
        let client = Arc::new(IpClient {
            user: user.clone(),
            lease,
            sender,
            flows: Arc::default(),
            replaced: Notify::new(),
            answers: Mutex::default(),
            denial_noted: Mutex::default(),
        });
        let mut clients = self.0.clients.write().unwrap_or_else(PoisonError::into_inner);
        for address in &client.lease.addresses {
            if let Some(before) = clients.insert(*address, client.clone()) {
                before.replaced.notify_one();
            }
        }
        Ok(client)
    }

    /// A client has gone.
    fn leave(&self, client: &Arc<IpClient>) {
        let mut clients = self.0.clients.write().unwrap_or_else(PoisonError::into_inner);
        let before = clients.len();
        clients.retain(|_, other| !Arc::ptr_eq(other, client));
        if clients.len() < before {
            self.pools().release(client.lease.number);
        }
    }

    /// A packet came from a client: hands it to the network if it may go there.
    fn forward(&self, client: &IpClient, rules: &EgressRules, bytes: &[u8]) {
        let network = &*self.0;
        let Ok(packet) = packet::read(bytes) else { return count(&network.counters.malformed) };
        if !client.lease.addresses.contains(&packet.source) {
            return count(&network.counters.spoofed);
        }
        let is_client = network.prefixes.iter().any(|pool| pool.contains(&packet.destination));
        let denied = rules.check(packet.destination).err();
        if is_client || denied.is_some() {
            count(&network.counters.denied);
            let now = network.started.elapsed();
            client.note_denied(now, packet.destination, denied.as_ref());
            return client.refuse(now, bytes, &packet);
        }
        if !client.user.meter.admits(Direction::Up, bytes.len()) {
            return count(&network.counters.limited);
        }
        count(&network.counters.up);
        let clamped = clamp(bytes, &packet, client.sender.room());
        network.device.send(clamped.as_deref().unwrap_or(bytes));
    }
}

impl IpClient {
    fn send(&self, now: std::time::Duration, bytes: &[u8], packet: &Packet) {
        let verdict = self.flows.lock().unwrap_or_else(PoisonError::into_inner).judge(now, bytes, packet);
        self.sender.send(bytes, &verdict);
    }

    /// Logs that packets to an address are denied, at most once in a while: which of many addresses is up to the client.
    fn note_denied(&self, now: Duration, destination: IpAddr, denied: Option<&Denied>) {
        let mut noted = self.denial_noted.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.is_some_and(|at| now.saturating_sub(at) < DENIAL_INTERVAL) {
            return;
        }
        *noted = Some(now);
        match denied {
            Some(denied) => tracing::info!(user = self.user.name, "packets refused: {denied}"),
            None => {
                tracing::info!(user = self.user.name, "packets refused: {destination} is of another client")
            }
        }
    }

    /// Tells the client that a packet goes nowhere, so often and no more.
    fn refuse(&self, now: Duration, bytes: &[u8], packet: &Packet) {
        {
            let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
            if answers.0 != now.as_secs() {
                *answers = (now.as_secs(), 0);
            }
            answers.1 += 1;
            if answers.1 > ANSWERS_PER_SECOND {
                return;
            }
        }
        if let Some(answer) = packet::unreachable(bytes, packet, Unreachable::Prohibited)
            && let Ok(packet) = packet::read(&answer)
        {
            self.send(now, &answer, &packet);
        }
    }
}

/// A SYN that asks for segments that fit a datagram with so much room; `None` of all others.
fn clamp(bytes: &[u8], packet: &Packet, room: usize) -> Option<Vec<u8>> {
    let headers = packet.payload + TCP_HEADER;
    let most = u16::try_from(room.clamp(LEAST_ROOM, MOST_ROOM).saturating_sub(headers)).unwrap_or(u16::MAX);
    packet::clamp_mss(bytes, packet, most)
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
