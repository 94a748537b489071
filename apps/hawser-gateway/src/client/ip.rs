//! IP packets through the gateway.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hawser_h3::{CONNECT_IP, RecvStream, SendStream};
use hawser_masque::flows::Verdict;
use hawser_masque::ip::{self, PrefixEntry, Route};
use hawser_masque::order;
use http::HeaderValue;
use tokio::task::JoinHandle;

use super::session::{Answer, Session};
use super::{GatewayClient, OpenError, open};
use crate::ip_relay::{IpEvent, IpReceiver, IpSender, dropped, takes_numbers};

type Incoming = h3::client::RequestStream<RecvStream, Bytes>;
type Outgoing = h3::client::RequestStream<SendStream<Bytes>, Bytes>;

/// How long a gateway may take to assign addresses.
const PATIENCE: Duration = Duration::from_secs(10);

/// A tunnel for IP packets.
pub struct IpTunnel {
    /// The addresses of this client, one of a family at most.
    pub addresses: Vec<IpAddr>,
    /// Sends packets.
    pub sender: IpTunnelSender,
    /// Receives them.
    pub receiver: IpTunnelReceiver,
}

/// Sends packets to the gateway. Cheap to clone.
#[derive(Clone)]
pub struct IpTunnelSender {
    inner: IpSender,
}

impl IpTunnelSender {
    /// Sends one, which may be lost.
    pub fn send(&self, packet: &[u8], verdict: &Verdict) {
        self.inner.send(packet, verdict);
    }

    /// Most bytes of a packet that fits a datagram now; 0 if none does. Larger ones travel on the stream of the tunnel, in order.
    pub fn room(&self) -> usize {
        self.inner.room()
    }
}

/// Receives packets from the gateway. The tunnel ends when it is dropped.
pub struct IpTunnelReceiver {
    inner: IpReceiver<Incoming>,
    writer: JoinHandle<()>,
    _session: Arc<Session>,
}

impl IpTunnelReceiver {
    /// The next packet; `None` when the gateway has ended the tunnel.
    ///
    /// # Errors
    /// When it is lost; in words.
    pub async fn receive(&mut self) -> Result<Option<Bytes>, String> {
        loop {
            match self.inner.receive().await {
                Ok(Some(IpEvent::Packet(packet))) => return Ok(Some(packet)),
                // Addresses stay for as long as a tunnel is there, and it leads everywhere.
                Ok(Some(_)) => {}
                Ok(None) => return Ok(None),
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    async fn assigned(&mut self) -> Result<Vec<IpAddr>, OpenError> {
        let (mut addresses, mut routes) = (None, Vec::<Route>::new());
        while addresses.is_none() || routes.is_empty() {
            match self.inner.receive().await {
                Ok(Some(IpEvent::Assigned(entries))) => addresses = Some(hosts(&entries)),
                Ok(Some(IpEvent::Routes(advertised))) => routes = advertised,
                Ok(Some(_)) => {}
                Ok(None) => return Err(OpenError::NoAddress(": its pool may be used up")),
                Err(error) => return Err(OpenError::Protocol(error.to_string())),
            }
        }
        let mut addresses = addresses.unwrap_or_default();
        let leads = |address: &IpAddr| routes.iter().any(|route| route.first.is_ipv4() == address.is_ipv4());
        addresses.retain(leads);
        if addresses.is_empty() { Err(OpenError::NoAddress("")) } else { Ok(addresses) }
    }
}

impl Drop for IpTunnelReceiver {
    fn drop(&mut self) {
        self.inner.stop();
        self.writer.abort();
    }
}

/// The first address of each family.
fn hosts(entries: &[PrefixEntry]) -> Vec<IpAddr> {
    let of = |is_v4: bool| {
        let own = entries.iter().filter(|entry| entry.address.is_ipv4() == is_v4);
        own.map(|entry| entry.address).find(|address| !address.is_unspecified())
    };
    of(true).into_iter().chain(of(false)).collect()
}

pub(super) async fn open(client: &GatewayClient, wanted: &[IpAddr]) -> Result<IpTunnel, OpenError> {
    let request = ip::request(&client.0.config.authority);
    let mut request = request.map_err(|error| OpenError::Protocol(error.to_string()))?;
    request.extensions_mut().insert(CONNECT_IP);
    request.headers_mut().insert(order::FIELD, HeaderValue::from_static(order::FIELD_VALUE));
    let traffic = client.traffic().clone();
    let dropped = || dropped(&traffic);
    let (session, answer) = open::open(client, &"IP packets", &request, &dropped).await?;
    let Answer { stream, response, flow } = answer;
    let numbers = takes_numbers(response.headers());
    let (flow_sender, flow_receiver) = flow.ok_or(OpenError::NoUdp)?;
    let (outgoing, incoming) = stream.split();
    let (sender, mut writer) = IpSender::new::<Outgoing>(
        outgoing,
        flow_sender,
        session.connection.clone(),
        numbers,
        traffic.clone(),
    );
    let writer = tokio::spawn(async move {
        if writer.run().await.is_ok() {
            writer.finish().await;
        }
    });
    let inner = IpReceiver::new(incoming, flow_receiver, numbers, traffic);
    let mut receiver = IpTunnelReceiver { inner, writer, _session: session };
    let find = |is_v4: bool| wanted.iter().copied().find(|address| address.is_ipv4() == is_v4);
    let v4 = find(true).unwrap_or(Ipv4Addr::UNSPECIFIED.into());
    let v6 = find(false).unwrap_or(Ipv6Addr::UNSPECIFIED.into());
    let entries = [
        PrefixEntry { request: 1, address: v4, length: 32 },
        PrefixEntry { request: 2, address: v6, length: 128 },
    ];
    sender.tell(ip::ADDRESS_REQUEST, &ip::write_prefixes(&entries)).await;
    let assigned = tokio::time::timeout(PATIENCE, receiver.assigned()).await;
    let addresses = assigned.map_err(|_| OpenError::NoAnswer("addresses".to_owned()))??;
    Ok(IpTunnel { addresses, sender: IpTunnelSender { inner: sender }, receiver })
}
