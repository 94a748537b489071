//! Ports of the gateway that lead to hosts that this one reaches, as `ssh -R` has them.

use std::net::SocketAddr;
use std::time::Duration;

use hawser_masque::target::{Host, Target};
use hawser_net::LoggedAddress;
use tokio::net::{TcpStream, UdpSocket};
use tokio::task::JoinSet;

use super::{Forward, Transport};
use crate::client::{Arrival, GatewayClient, OpenError, RemotePort, Say, UdpTunnel};
use crate::relay::idle_for;

/// How long a host may take to answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long to wait before the gateway is asked again.
const RETRY: Duration = Duration::from_secs(1);
/// Connections of one port at the same time; others are reset.
const MOST_CONNECTIONS: usize = 4_096;
/// Most bytes of a datagram.
const MAX_DATAGRAM: usize = 65_535;

/// A port of the gateway that leads to a host.
pub struct RemoteForward {
    client: GatewayClient,
    forward: Forward,
    port: Option<RemotePort>,
    idle: Duration,
    say: Say,
}

impl RemoteForward {
    /// Has the gateway listen where `forward` says. Silence of `idle` ends a connection.
    ///
    /// # Errors
    /// [`OpenError`], with the gateway's reason.
    pub async fn start(
        client: GatewayClient,
        forward: Forward,
        idle: Duration,
        say: Say,
    ) -> Result<Self, OpenError> {
        let port = client.listen(forward.transport, forward.listen).await?;
        // The same again after a new connection to the gateway.
        let forward = Forward { listen: port.address, ..forward };
        Ok(RemoteForward { client, forward, port: Some(port), idle, say })
    }

    /// Where the gateway listens, and where that leads.
    pub fn forward(&self) -> &Forward {
        &self.forward
    }

    /// Serves every connection that comes, as long as it is waited for.
    pub async fn run(&mut self) {
        let mut connections = JoinSet::new();
        let mut told = None;
        loop {
            let reason = match self.port.take() {
                Some(port) => {
                    told = None;
                    self.serve(port, &mut connections).await
                }
                None => match self.client.listen(self.forward.transport, self.forward.listen).await {
                    Ok(port) => {
                        (self.say)(&format!("the gateway listens on {} again", port.address));
                        self.port = Some(port);
                        continue;
                    }
                    Err(error) => error.to_string(),
                },
            };
            if told.as_ref() != Some(&reason) {
                (self.say)(&format!("the gateway no longer listens on {}: {reason}", self.forward.listen));
                told = Some(reason);
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Returns why no more connections come.
    async fn serve(&self, mut port: RemotePort, connections: &mut JoinSet<()>) -> String {
        loop {
            tokio::select! {
                next = port.next() => match next {
                    Ok(Some(arrival)) if connections.len() < MOST_CONNECTIONS => {
                        let (target, idle, say) = (self.forward.target.clone(), self.idle, self.say.clone());
                        connections.spawn(async move { carry(arrival, &target, idle, &say).await });
                    }
                    Ok(Some(arrival)) => {
                        (self.say)(&format!("{}: {MOST_CONNECTIONS} connections are open", arrival.peer));
                    }
                    Ok(None) => return "it has closed the port".to_owned(),
                    Err(error) => return error,
                },
                Some(_) = connections.join_next() => {}
            }
        }
    }
}

/// One connection.
async fn carry(arrival: Arrival, target: &Target, idle: Duration, say: &Say) {
    let peer = LoggedAddress(arrival.peer);
    let carried = match arrival.transport() {
        Transport::Tcp => tcp(arrival, target, idle).await,
        Transport::Udp => udp(arrival, target, idle).await,
    };
    if let Err(error) = carried {
        say(&format!("{peer} to {target}: {error}"));
    }
}

async fn tcp(arrival: Arrival, target: &Target, idle: Duration) -> Result<(), String> {
    let connecting = async { TcpStream::connect(&addresses(target).await?[..]).await };
    let connected = tokio::time::timeout(CONNECT_TIMEOUT, connecting).await;
    let tunnel = arrival.tcp().await.map_err(|error| error.to_string())?;
    match connected {
        Ok(Ok(host)) => {
            let _ = host.set_nodelay(true);
            let closed = tunnel.relay(host, idle).await;
            tracing::info!(%target, up = closed.up, down = closed.down, broken = closed.broken, "closed");
            Ok(())
        }
        // The host that connected sees a reset: nobody answers here.
        Ok(Err(error)) => {
            tunnel.reset();
            Err(error.to_string())
        }
        Err(_) => {
            tunnel.reset();
            Err(format!("no answer within {} s", CONNECT_TIMEOUT.as_secs()))
        }
    }
}

async fn udp(arrival: Arrival, target: &Target, idle: Duration) -> Result<(), String> {
    let bound = async {
        let addresses = addresses(target).await?;
        let is_v6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
        let any: SocketAddr = if is_v6 { ([0_u16; 8], 0).into() } else { ([0; 4], 0).into() };
        let socket = UdpSocket::bind(any).await?;
        socket.connect(&addresses[..]).await?;
        Ok::<_, std::io::Error>(socket)
    };
    let socket = bound.await.map_err(|error| error.to_string())?;
    let UdpTunnel { mut sender, mut receiver } = arrival.udp().await.map_err(|error| error.to_string())?;
    let moved = std::sync::atomic::AtomicU64::new(0);
    let count = || moved.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let to_host = async {
        while let Ok(Some(payload)) = receiver.receive().await {
            count();
            // An ICMP message about what was sent before is no end.
            let _ = socket.send(&payload).await;
        }
    };
    let from_host = async {
        let mut buffer = vec![0; MAX_DATAGRAM];
        loop {
            let Ok(read) = socket.recv(&mut buffer).await else {
                tokio::time::sleep(super::udp::ERROR_PAUSE).await;
                continue;
            };
            count();
            if sender.send(buffer.get(..read).unwrap_or_default()).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = to_host => {}
        () = from_host => {}
        () = idle_for(idle, || moved.load(std::sync::atomic::Ordering::Relaxed)) => {}
    }
    Ok(())
}

async fn addresses(target: &Target) -> std::io::Result<Vec<SocketAddr>> {
    match &target.host {
        Host::Address(address) => Ok(vec![SocketAddr::new(*address, target.port)]),
        Host::Name(name) => Ok(tokio::net::lookup_host((name.as_str(), target.port)).await?.collect()),
    }
}
