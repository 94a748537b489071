//! Ports of the gateway that lead to hosts of a user.

mod udp;

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use h3::error::{Code, StreamError};
use hawser_masque::status::{ProxyError, ProxyStatus};
use hawser_masque::target::Target;
use http::Response;
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::Inner;
use super::client::{Client, Stream};
use super::directory::User;
use super::request::{admit, note, refuse, relay_tcp};
use crate::grants::Grants;
use crate::halves::{Incoming, Outgoing};
use crate::local::forward::Transport;
use crate::relay::reset;
use crate::remote::{self, ArrivalId, Asked};
use udp::{Hosts, UdpArrival};

/// Connections of one port that wait to be fetched; further ones wait in the kernel, and hosts that send UDP are not heard.
const MOST_WAITING: usize = 64;
/// How long one waits.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often it is looked for those that waited for too long.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);
/// Ports that are tried for a user who takes any.
const MOST_TRIED: usize = 1_024;
/// How long to wait when this machine has no descriptor left.
const PAUSE: Duration = Duration::from_millis(100);

/// Connections that wait to be fetched.
#[derive(Debug, Default)]
pub(super) struct Arrivals(Mutex<HashMap<ArrivalId, Arrival>>);

#[derive(Debug)]
struct Arrival {
    user: Arc<User>,
    what: What,
    since: Instant,
    _place: OwnedSemaphorePermit,
}

#[derive(Debug)]
enum What {
    Tcp(TcpStream, SocketAddr),
    Udp(UdpArrival),
}

impl Arrivals {
    fn waiting(&self) -> MutexGuard<'_, HashMap<ArrivalId, Arrival>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection with this number, if it is the user's.
    fn take(&self, user: &Arc<User>, id: ArrivalId) -> Option<What> {
        let mut waiting = self.waiting();
        let is_own = waiting.get(&id).is_some_and(|arrival| Arc::ptr_eq(&arrival.user, user));
        if is_own { waiting.remove(&id).map(|arrival| arrival.what) } else { None }
    }

    /// Those of which one knows that nobody fetches them are reset.
    fn drop_if(&self, mut is_over: impl FnMut(&ArrivalId, &Arrival) -> bool) {
        self.waiting().retain(|id, arrival| {
            let is_over = is_over(id, arrival);
            if let (true, What::Tcp(tcp, _)) = (is_over, &arrival.what) {
                reset(tcp);
            }
            !is_over
        });
    }
}

/// Answers a request; returns when its port or its connection is closed.
pub(super) async fn serve(
    gateway: &Arc<Inner>,
    client: &Client,
    user: &Arc<User>,
    asked: Asked,
    mut stream: Stream,
) {
    match asked {
        Asked::Listen(transport, address) => listen(gateway, user, transport, address, stream).await,
        Asked::Fetch(transport, id) => fetch(gateway, client, user, transport, id, stream).await,
        Asked::Malformed => {
            refuse(&mut stream, &ProxyStatus::new(ProxyError::HttpRequestError, "no such request")).await;
        }
    }
}

/// Hands over a connection that has come.
async fn fetch(
    gateway: &Arc<Inner>,
    client: &Client,
    user: &Arc<User>,
    transport: Transport,
    id: ArrivalId,
    mut stream: Stream,
) {
    let Some(_permit) = admit(user, &mut stream).await else { return };
    match (transport, gateway.arrivals.take(user, id)) {
        (Transport::Tcp, Some(What::Tcp(tcp, peer))) => {
            let relayed = relay_tcp(gateway, user, &Target::from(peer), tcp, stream, None).await;
            note(user, &Target::from(peer), relayed);
        }
        (Transport::Udp, Some(What::Udp(arrival))) => {
            let peer = Target::from(arrival.peer());
            let (idle, far) = (gateway.config.udp_idle, arrival.into_far_end());
            note(user, &peer, super::udp::relay(client, user, idle, far, stream).await);
        }
        _ => {
            let details = "no such connection waits: it has gone, or was fetched";
            refuse(&mut stream, &ProxyStatus::new(ProxyError::ConnectionTerminated, details)).await;
        }
    }
}

/// A port of the gateway.
enum Port {
    Tcp(TcpListener),
    Udp(Hosts),
}

impl Port {
    async fn bind(transport: Transport, address: SocketAddr) -> std::io::Result<(Self, SocketAddr)> {
        match transport {
            Transport::Tcp => {
                let listener = TcpListener::bind(address).await?;
                let own = listener.local_addr()?;
                Ok((Port::Tcp(listener), own))
            }
            Transport::Udp => {
                let socket = UdpSocket::bind(address).await?;
                let own = socket.local_addr()?;
                Ok((Port::Udp(Hosts::new(socket)), own))
            }
        }
    }

    /// The next connection.
    async fn next(&mut self) -> (What, SocketAddr) {
        match self {
            Port::Tcp(listener) => loop {
                match listener.accept().await {
                    Ok((tcp, peer)) => {
                        let _ = tcp.set_nodelay(true);
                        return (What::Tcp(tcp, peer), peer);
                    }
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept a connection");
                        tokio::time::sleep(PAUSE).await;
                    }
                }
            },
            Port::Udp(hosts) => {
                let arrival = hosts.next().await;
                let peer = arrival.peer();
                (What::Udp(arrival), peer)
            }
        }
    }
}

/// Listens for as long as the client holds its request.
async fn listen(
    gateway: &Inner,
    user: &Arc<User>,
    transport: Transport,
    address: SocketAddr,
    mut stream: Stream,
) {
    let Some(_permit) = admit(user, &mut stream).await else { return };
    let (mut port, own) = match open(user, transport, address).await {
        Ok(opened) => opened,
        Err(status) => {
            tracing::info!(user = user.name, %address, "refused: {}", status.details);
            return refuse(&mut stream, &status).await;
        }
    };
    tracing::info!(user = user.name, address = %own, ?transport, "listens");
    let mut own_arrivals = Vec::new();
    if let Err(error) = announce(gateway, user, transport, own, &mut port, stream, &mut own_arrivals).await {
        tracing::debug!(user = user.name, %error, "a port is closed");
    }
    gateway.arrivals.drop_if(|id, _| own_arrivals.contains(id));
    tracing::info!(user = user.name, address = %own, "listens no more");
}

/// Binds, if the user may.
async fn open(
    user: &User,
    transport: Transport,
    address: SocketAddr,
) -> Result<(Port, SocketAddr), ProxyStatus> {
    let grants = user.grants().borrow().clone();
    let mut last = None;
    for port in candidates(&grants, transport, address) {
        match Port::bind(transport, SocketAddr::new(address.ip(), port)).await {
            Ok(opened) => return Ok(opened),
            Err(error) => last = Some(error),
        }
    }
    Err(match last {
        Some(error) => ProxyStatus::new(
            ProxyError::ProxyInternalError,
            format_args!("the gateway cannot listen on {address}: {error}"),
        ),
        None => ProxyStatus::new(
            ProxyError::HttpRequestDenied,
            format_args!(
                "the gateway does not let {} listen on {address}; there, `hawser gateway user set {} --listen {}` does",
                user.name,
                user.name,
                suggestion(transport, address)
            ),
        ),
    })
}

fn candidates(grants: &Grants, transport: Transport, address: SocketAddr) -> Vec<u16> {
    match address.port() {
        0 => grants.ports(transport, address.ip()).take(MOST_TRIED).collect(),
        port if grants.allows(transport, address) => vec![port],
        _ => Vec::new(),
    }
}

/// The rule that would allow it.
fn suggestion(transport: Transport, address: SocketAddr) -> String {
    let kind = if transport == Transport::Udp { "/udp" } else { "" };
    let port = if address.port() == 0 { "8000-8099".to_owned() } else { address.port().to_string() };
    match address.ip() {
        ip if ip.is_unspecified() => format!("'*:{port}{kind}'"),
        IpAddr::V6(ip) => format!("'[{ip}]:{port}{kind}'"),
        IpAddr::V4(ip) => format!("{ip}:{port}{kind}"),
    }
}

/// Says where the gateway listens, and then each connection that comes.
async fn announce(
    gateway: &Inner,
    user: &Arc<User>,
    transport: Transport,
    own: SocketAddr,
    port: &mut Port,
    mut stream: Stream,
    own_arrivals: &mut Vec<ArrivalId>,
) -> Result<(), StreamError> {
    let response = Response::builder().header(remote::LISTENING, own.to_string()).body(());
    stream.send_response(response.unwrap_or_default()).await?;
    let (mut outgoing, mut incoming) = stream.split();
    let places = Arc::new(Semaphore::new(MOST_WAITING));
    let mut grants = user.grants();
    let mut sweep = tokio::time::interval(SWEEP_INTERVAL);
    loop {
        tokio::select! {
            (place, (what, peer)) = arrival(&places, port) => {
                let id = ArrivalId::random();
                let arrival = Arrival { user: user.clone(), what, since: Instant::now(), _place: place };
                own_arrivals.push(id);
                gateway.arrivals.waiting().insert(id, arrival);
                Outgoing::send(&mut outgoing, remote::encode_arrival(id, peer)).await?;
            }
            // The client says nothing more; the end of its request is the end of the port.
            said = Incoming::receive(&mut incoming) => if said?.is_none() { break },
            _ = sweep.tick() => {
                let now = Instant::now();
                gateway.arrivals.drop_if(|_, arrival| now - arrival.since >= PATIENCE);
                let waiting = gateway.arrivals.waiting();
                own_arrivals.retain(|id| waiting.contains_key(id));
            }
            changed = grants.changed() => {
                let may = grants.borrow().allows(transport, own);
                if changed.is_err() || !may {
                    break;
                }
            }
        }
    }
    incoming.stop_sending(Code::H3_NO_ERROR);
    Outgoing::finish(&mut outgoing).await
}

/// The next connection that there is a place for.
async fn arrival(places: &Arc<Semaphore>, port: &mut Port) -> (OwnedSemaphorePermit, (What, SocketAddr)) {
    loop {
        // TCP waits in the kernel. UDP does not: hosts that are served already must not wait for those that are not.
        let place = match port {
            Port::Tcp(_) => places.clone().acquire_owned().await.ok(),
            Port::Udp(_) => None,
        };
        let next = port.next().await;
        if let Some(place) = place.or_else(|| places.clone().try_acquire_owned().ok()) {
            return (place, next);
        }
    }
}
