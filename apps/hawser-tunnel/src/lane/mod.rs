//! The stream lane: TCP ends at this machine and travels as a stream of its own.
//!
//! Segments that programs send into the TUN device are given other ends and handed back to the kernel, which takes them for a
//! connection to a listener of this process ([`table`]). So both sides have the kernel's TCP with all that it can do - segments of
//! 64 KiB through the device, windows that grow, keep-alive, urgent data - and no firewall rule and no TCP of our own is needed. The
//! first segment of a connection is kept until the far end has answered: a program hears of a connection when there is one, and why
//! not without one.

pub mod table;

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hawser_gateway::client::{GatewayClient, OpenError, TcpTunnel};
use hawser_gateway::local::TCP_IDLE;
use hawser_masque::packet::{self, Endpoints, Packet, Segment, Unreachable};
use hawser_masque::status::ProxyError;
use hawser_masque::target::Target;
use ipnet::IpNet;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::Instant;

use crate::device::{HEADER, Tun};
use table::{Action, FlowId, Place, Table};

/// Addresses of the listener and of those who connect to it: of this device only, from ranges that no network uses (RFC 2544,
/// RFC 4193).
const LOCAL_V4: (Ipv4Addr, Ipv4Addr) = (Ipv4Addr::new(198, 18, 45, 1), Ipv4Addr::new(198, 18, 45, 2));
const LOCAL_V6: (Ipv6Addr, Ipv6Addr) = (
    Ipv6Addr::new(0xfd68, 0x6177, 0x7365, 0x7201, 0, 0, 0, 1),
    Ipv6Addr::new(0xfd68, 0x6177, 0x7365, 0x7201, 0, 0, 0, 2),
);
/// How often it is looked for connections that are over.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);
/// How long to wait when this machine has no descriptor left.
const PAUSE: Duration = Duration::from_millis(100);

/// The addresses that the device needs for the lane.
pub(crate) fn addresses() -> [IpNet; 2] {
    let pairs = [(IpAddr::from(LOCAL_V4.0), 30), (IpAddr::from(LOCAL_V6.0), 126)];
    // Both lengths are valid.
    pairs.map(|(address, length)| IpNet::new(address, length).unwrap_or_else(|_| IpNet::from(address)))
}

/// What the lane does to the segments of programs.
pub(crate) struct Lane {
    inner: Arc<Inner>,
    tasks: Vec<JoinHandle<()>>,
}

struct Inner {
    client: GatewayClient,
    device: Arc<Tun>,
    started: Instant,
    families: Mutex<Vec<Family>>,
}

/// The connections of one family.
struct Family {
    table: Table,
    /// What becomes of them.
    flows: HashMap<FlowId, Running>,
}

enum Running {
    /// The far end is asked, by this task.
    Opening(AbortHandle),
    /// It has answered; the listener has not heard of the connection yet.
    Opened(Box<TcpTunnel>),
    /// This task carries it.
    Open(AbortHandle),
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        for family in self.inner.families().iter_mut() {
            for (_, running) in family.flows.drain() {
                end(running);
            }
        }
    }
}

fn end(running: Running) {
    match running {
        Running::Opening(task) | Running::Open(task) => task.abort(),
        Running::Opened(tunnel) => drop(tunnel),
    }
}

impl Lane {
    /// For at most so many connections of each family over this device, which has [`addresses`]. IPv6 may be missing.
    ///
    /// # Errors
    /// When there is no listener.
    pub(crate) async fn start(
        client: GatewayClient,
        device: Arc<Tun>,
        most: usize,
        has_v6: bool,
    ) -> io::Result<Self> {
        let mut listeners = vec![(TcpListener::bind((LOCAL_V4.0, 0)).await?, IpAddr::V4(LOCAL_V4.1))];
        if has_v6 {
            listeners.push((TcpListener::bind((LOCAL_V6.0, 0)).await?, IpAddr::V6(LOCAL_V6.1)));
        }
        let family = |(listener, peer): &(TcpListener, IpAddr)| {
            let place = Place { listener: listener.local_addr()?, peer: *peer };
            Ok(Family { table: Table::new(place, most), flows: HashMap::new() })
        };
        let families = listeners.iter().map(family).collect::<io::Result<Vec<Family>>>()?;
        let inner =
            Arc::new(Inner { client, device, started: Instant::now(), families: Mutex::new(families) });
        let mut tasks: Vec<JoinHandle<()>> =
            listeners.into_iter().map(|(listener, _)| tokio::spawn(inner.clone().accept(listener))).collect();
        tasks.push(tokio::spawn(inner.clone().sweep()));
        Ok(Lane { inner, tasks })
    }

    /// A segment comes from the kernel, in a frame. Returns whether the lane has taken it.
    pub(crate) fn take(&self, frame: &mut [u8], packet: &Packet, is_partial: bool) -> bool {
        let Some(bytes) = frame.get(HEADER..) else { return false };
        let Some(segment) = packet::segment(bytes, packet) else { return false };
        let ends = Endpoints {
            source: SocketAddr::new(packet.source, segment.source),
            destination: SocketAddr::new(packet.destination, segment.destination),
        };
        match self.inner.decide(&ends, &segment) {
            Some(Decided::Pass(ends)) => self.inner.pass(frame, packet, &ends, is_partial),
            Some(Decided::Open(flow)) => {
                self.inner.open(flow, ends.destination, frame.to_vec(), *packet, is_partial)
            }
            Some(Decided::Reset) => self.inner.answer(packet::reset(packet, &segment)),
            Some(Decided::Drop) => {}
            None => return false,
        }
        true
    }
}

enum Decided {
    Pass(Endpoints),
    Open(FlowId),
    Reset,
    Drop,
}

impl Inner {
    fn families(&self) -> MutexGuard<'_, Vec<Family>> {
        self.families.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What happens to a segment; `None` if it is of a family without a lane.
    fn decide(&self, ends: &Endpoints, segment: &Segment) -> Option<Decided> {
        let now = self.started.elapsed();
        let mut families = self.families();
        let family = find(&mut families, ends.source.is_ipv4())?;
        if ends.source == family.table.place().listener {
            let back = family.table.returning(now, ends.destination);
            return Some(back.map_or(Decided::Drop, Decided::Pass));
        }
        Some(match family.table.outgoing(now, *ends, segment) {
            Action::Pass(ends) => Decided::Pass(ends),
            Action::Drop => Decided::Drop,
            Action::Reset => Decided::Reset,
            Action::Open { flow, evicted } => {
                if let Some(evicted) = evicted.and_then(|evicted| family.flows.remove(&evicted)) {
                    tracing::warn!("too many TCP connections: the one that was silent for longest ends");
                    end(evicted);
                }
                Decided::Open(flow)
            }
        })
    }

    /// Gives a segment other ends and hands it to the kernel.
    fn pass(&self, frame: &mut [u8], packet: &Packet, ends: &Endpoints, is_partial: bool) {
        if let Some(bytes) = frame.get_mut(HEADER..)
            && packet::rewrite(bytes, packet, ends, is_partial)
        {
            self.device.send(frame);
        }
    }

    /// Hands an answer to the kernel.
    fn answer(&self, packet: Option<Vec<u8>>) {
        if let Some(packet) = packet {
            self.device.send_packet(&packet);
        }
    }

    /// Asks for a connection to the far end, and then hands the first segment on.
    fn open(
        self: &Arc<Self>,
        flow: FlowId,
        far: SocketAddr,
        mut frame: Vec<u8>,
        packet: Packet,
        is_partial: bool,
    ) {
        let inner = self.clone();
        // Held until the task is known: it may end at once.
        let mut families = self.families();
        let task = tokio::spawn(async move {
            let opened = inner.client.tcp(&Target::from(far)).await;
            match inner.answered(flow, far, opened) {
                Some(Ok(ends)) => inner.pass(&mut frame, &packet, &ends, is_partial),
                Some(Err(error)) => {
                    tracing::info!(%far, %error, "no connection");
                    inner.answer(frame.get(HEADER..).and_then(|bytes| refusal(bytes, &packet, &error)));
                }
                None => {}
            }
        });
        if let Some(family) = find(&mut families, far.is_ipv4()) {
            family.flows.insert(flow, Running::Opening(task.abort_handle()));
        }
    }

    /// The far end has answered: the ends for the first segment; `None` if nobody waits for it any more.
    fn answered(
        &self,
        flow: FlowId,
        far: SocketAddr,
        opened: Result<TcpTunnel, OpenError>,
    ) -> Option<Result<Endpoints, OpenError>> {
        let now = self.started.elapsed();
        let mut families = self.families();
        let family = find(&mut families, far.is_ipv4())?;
        match opened {
            Ok(tunnel) => {
                let ends = family.table.opened(now, flow)?;
                family.flows.insert(flow, Running::Opened(Box::new(tunnel)));
                Some(Ok(ends))
            }
            Err(error) => {
                family.table.closed(now, flow);
                family.flows.remove(&flow);
                Some(Err(error))
            }
        }
    }

    /// Takes the connections that come to the listener.
    async fn accept(self: Arc<Self>, listener: TcpListener) {
        loop {
            match listener.accept().await {
                Ok((program, peer)) => self.carry(program, peer),
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    /// Carries one of them. Those that do not come through the device, and so have no flow, are closed.
    fn carry(self: &Arc<Self>, program: TcpStream, peer: SocketAddr) {
        let flow = FlowId(peer.port());
        let mut families = self.families();
        let Some(family) = find(&mut families, peer.is_ipv4()) else { return };
        if peer.ip() != family.table.place().peer {
            return;
        }
        let tunnel = match family.flows.remove(&flow) {
            Some(Running::Opened(tunnel)) => tunnel,
            Some(other) => {
                family.flows.insert(flow, other);
                return;
            }
            None => return,
        };
        let _ = program.set_nodelay(true);
        let inner = self.clone();
        let task = tokio::spawn(async move {
            let closed = tunnel.relay(program, TCP_IDLE).await;
            tracing::debug!(up = closed.up, down = closed.down, broken = closed.broken, "closed");
            let mut families = inner.families();
            if let Some(family) = find(&mut families, peer.is_ipv4()) {
                family.flows.remove(&flow);
                family.table.closed(inner.started.elapsed(), flow);
            }
        });
        family.flows.insert(flow, Running::Open(task.abort_handle()));
    }

    async fn sweep(self: Arc<Self>) {
        loop {
            tokio::time::sleep(SWEEP_INTERVAL).await;
            let now = self.started.elapsed();
            for family in self.families().iter_mut() {
                for late in family.table.sweep(now) {
                    if let Some(running) = family.flows.remove(&late) {
                        end(running);
                    }
                }
            }
        }
    }
}

fn find(families: &mut [Family], is_v4: bool) -> Option<&mut Family> {
    families.iter_mut().find(|family| family.table.place().peer.is_ipv4() == is_v4)
}

/// What a program hears of a connection that there is not.
fn refusal(bytes: &[u8], packet: &Packet, error: &OpenError) -> Option<Vec<u8>> {
    let why = match error {
        OpenError::Refused(status) => match status.error {
            ProxyError::DestinationIpProhibited | ProxyError::HttpRequestDenied => Unreachable::Prohibited,
            ProxyError::DestinationIpUnroutable => Unreachable::Network,
            ProxyError::ConnectionTimeout => Unreachable::Host,
            _ => return packet::reset(packet, &packet::segment(bytes, packet)?),
        },
        OpenError::GatewayDown(_) | OpenError::NoAnswer(_) => Unreachable::Network,
        _ => return packet::reset(packet, &packet::segment(bytes, packet)?),
    };
    packet::unreachable(bytes, packet, why)
}
