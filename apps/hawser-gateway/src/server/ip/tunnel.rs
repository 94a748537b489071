//! The tunnel of one client.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use h3::error::StreamError;
use hawser_masque::ip::{self, PrefixEntry, Route};
use hawser_masque::order;
use hawser_masque::status::{ProxyError, ProxyStatus};
use http::Response;

use super::{IpClient, IpNetwork};
use crate::ip_relay::{IpEvent, IpReceiver, IpSender, dropped};
use crate::server::Inner;
use crate::server::client::Client;
use crate::server::client::Stream;
use crate::server::directory::User;
use crate::server::request::{admit, refuse};

/// How long a client may take to say which addresses it wants, before it gets those that come.
const REQUEST_PATIENCE: Duration = Duration::from_millis(300);

/// Answers a request for an IP tunnel; returns when it has ended.
pub(in crate::server) async fn serve(
    gateway: &Arc<Inner>,
    client: &Client,
    user: &Arc<User>,
    numbers: bool,
    mut stream: Stream,
) {
    let Some(network) = &gateway.config.ip else {
        let details = "this gateway carries no IP packets; `hawser gateway --nat` or `--routed` does";
        return refuse(&mut stream, &ProxyStatus::new(ProxyError::HttpRequestDenied, details)).await;
    };
    let Some(_permit) = admit(user, &mut stream).await else { return };
    if let Err(error) = carry(gateway, network, client, user, numbers, stream).await {
        tracing::info!(user = user.name, %error, "an IP tunnel ended");
    }
}

async fn carry(
    gateway: &Inner,
    network: &IpNetwork,
    client: &Client,
    user: &Arc<User>,
    numbers: bool,
    mut stream: Stream,
) -> Result<(), StreamError> {
    // Before the answer, so that nothing is lost that comes right behind it.
    let (flow_sender, flow_receiver) = client.flows.open(stream.id(), dropped(&user.traffic));
    let response = Response::builder().header("capsule-protocol", "?1");
    let response = if numbers { response.header(order::FIELD, order::FIELD_VALUE) } else { response };
    stream.send_response(response.body(()).unwrap_or_default()).await?;
    let (outgoing, incoming) = stream.split();
    let (connection, traffic) = (client.connection.clone(), user.traffic.clone());
    let (sender, mut writer) = IpSender::new(outgoing, flow_sender, connection, numbers, traffic.clone());
    let mut receiver = IpReceiver::new(incoming, flow_receiver, numbers, traffic);
    let talk = async {
        let wanted = wanted(&mut receiver).await;
        let addresses: Vec<IpAddr> = wanted.iter().map(|entry| entry.address).collect();
        let joined = match network.join(user, &addresses, sender) {
            Ok(joined) => Joined { network, client: joined },
            Err(error) => return tracing::warn!(user = user.name, %error, "no address for a client"),
        };
        user.traffic.watch(network.0.started, &joined.client.flows);
        tracing::info!(user = user.name, addresses = ?joined.client.lease.addresses, "an IP tunnel begins");
        joined.tell(&wanted).await;
        tokio::select! {
            () = upwards(gateway, network, &joined.client, &mut receiver) => {}
            () = joined.client.replaced.notified() => {
                tracing::info!(user = user.name, "a newer tunnel has these addresses");
            }
        }
    };
    tokio::select! {
        () = talk => {}
        result = writer.run() => result?,
    }
    writer.finish().await;
    receiver.stop();
    Ok(())
}

/// The addresses that a client asks for at the beginning; none if it asks for nothing.
async fn wanted(receiver: &mut IpReceiver<impl crate::halves::Incoming>) -> Vec<PrefixEntry> {
    let request = async {
        loop {
            match receiver.receive().await {
                Ok(Some(IpEvent::Requested(wanted))) => return wanted,
                // Packets before there is an address to send them from.
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => return Vec::new(),
            }
        }
    };
    tokio::time::timeout(REQUEST_PATIENCE, request).await.unwrap_or_default()
}

async fn upwards(
    gateway: &Inner,
    network: &IpNetwork,
    client: &Arc<IpClient>,
    receiver: &mut IpReceiver<impl crate::halves::Incoming>,
) {
    loop {
        match receiver.receive().await {
            Ok(Some(IpEvent::Packet(packet))) => network.forward(client, &gateway.config.egress, &packet),
            Ok(Some(IpEvent::Requested(wanted))) => assign(client, &wanted).await,
            // What a client leads to is not used: it is a host.
            Ok(Some(IpEvent::Assigned(_) | IpEvent::Routes(_))) => {}
            Ok(None) => return,
            Err(error) => return tracing::debug!(%error, "an IP tunnel broke"),
        }
    }
}

/// A client with addresses, as long as its tunnel is there.
struct Joined<'a> {
    network: &'a IpNetwork,
    client: Arc<IpClient>,
}

impl Joined<'_> {
    /// Says which addresses the client has and where the gateway leads.
    async fn tell(&self, wanted: &[PrefixEntry]) {
        assign(&self.client, wanted).await;
        let routes = self.client.lease.addresses.iter().map(|address| everything(*address));
        let mut routes: Vec<Route> = routes.collect();
        routes.sort_by_key(|route| route.first.is_ipv6());
        self.client.sender.tell(ip::ROUTE_ADVERTISEMENT, &ip::write_routes(&routes)).await;
    }
}

impl Drop for Joined<'_> {
    fn drop(&mut self) {
        self.network.leave(&self.client);
    }
}

/// Assigns the addresses of a client, each as the answer to the request for one of its family; a request that there is no
/// address for is answered with none (RFC 9484 section 4.7.2).
async fn assign(client: &IpClient, wanted: &[PrefixEntry]) {
    let mut requests: Vec<&PrefixEntry> = wanted.iter().collect();
    let own = client.lease.addresses.iter().map(|address| {
        let position = requests.iter().position(|entry| entry.address.is_ipv4() == address.is_ipv4());
        let request = position.map_or(0, |position| requests.remove(position).request);
        PrefixEntry { request, address: *address, length: if address.is_ipv4() { 32 } else { 128 } }
    });
    let mut entries: Vec<PrefixEntry> = own.collect();
    entries.extend(requests.into_iter().map(|entry| match entry.address {
        IpAddr::V4(_) => PrefixEntry { address: Ipv4Addr::UNSPECIFIED.into(), length: 32, ..*entry },
        IpAddr::V6(_) => PrefixEntry { address: Ipv6Addr::UNSPECIFIED.into(), length: 128, ..*entry },
    }));
    client.sender.tell(ip::ADDRESS_ASSIGN, &ip::write_prefixes(&entries)).await;
}

/// All addresses of a family.
fn everything(family: IpAddr) -> Route {
    let (first, last): (IpAddr, IpAddr) = match family {
        IpAddr::V4(_) => (Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::BROADCAST.into()),
        IpAddr::V6(_) => (Ipv6Addr::UNSPECIFIED.into(), Ipv6Addr::from_bits(u128::MAX).into()),
    };
    Route { first, last, protocol: 0 }
}
