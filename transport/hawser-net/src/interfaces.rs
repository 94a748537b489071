//! The machine's network interfaces, and news of them.
//!
//! On any netlink message about a link, an address or a route the whole table is read again and published if it changed.
//! Reading everything costs well under a millisecond and can not drift from the truth when messages are lost, which a
//! table patched message by message can.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use futures_util::{StreamExt, TryStreamExt};
use hawser_policy::LinkKind;
use rtnetlink::packet_route::AddressFamily;
use rtnetlink::packet_route::address::{AddressAttribute, AddressFlags, AddressMessage};
use rtnetlink::packet_route::link::{InfoKind, LinkAttribute, LinkFlags, LinkInfo, LinkMessage};
use rtnetlink::packet_route::route::{RouteAttribute, RouteMessage, RouteProtocol, RouteType};
use rtnetlink::{Handle, MulticastGroup};
use tokio::sync::{mpsc, watch};

/// The group (`ip link set group`) of devices that lead into a tunnel over the others: what is sent over one of them comes back as
/// packets for the others, so none is a link.
pub const TUNNEL_GROUP: u32 = 18_450;

/// A network interface that is up.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Interface {
    /// Kernel index.
    pub index: u32,
    /// Name, for example `wlan0`.
    pub name: String,
    /// What carries it, as far as the system tells.
    pub kind: LinkKind,
    /// Whether it is the loopback interface.
    pub is_loopback: bool,
    /// Whether it only joins other interfaces, swallows packets (bridge, dummy, ifb) or leads into a tunnel over the others
    /// ([`TUNNEL_GROUP`]): never chosen unless named.
    pub is_internal: bool,
    /// Addresses usable as source: neither tentative nor deprecated.
    pub addresses: Vec<IpAddr>,
    /// The networks that it is on: hosts in them are reached without a gateway.
    pub networks: Vec<Network>,
    /// Whether a route over it leads beyond its networks, for IPv4 and for IPv6. Those of containers and virtual machines have
    /// none. True for all where the routes are not known.
    pub leads_on: (bool, bool),
}

impl Interface {
    /// Returns an interface with an index, a name and addresses: of an unknown kind, neither loopback nor internal, on no known
    /// network, with routes beyond its networks. Programs that hand in a list ([`EndpointBuilder::interfaces`](crate::EndpointBuilder::interfaces))
    /// set the fields of which they know more.
    pub fn new(index: u32, name: impl Into<String>, addresses: Vec<IpAddr>) -> Self {
        Interface {
            index,
            name: name.into(),
            kind: LinkKind::default(),
            is_loopback: false,
            is_internal: false,
            addresses,
            networks: Vec::new(),
            leads_on: (true, true),
        }
    }

    /// Whether a packet to this address has a way over it.
    pub fn leads_to(&self, remote: IpAddr) -> bool {
        let leads_on = if remote.is_ipv4() { self.leads_on.0 } else { self.leads_on.1 };
        leads_on || self.networks.iter().any(|network| network.contains(remote))
    }
}

/// A network: the addresses that share the first bits of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// One of its addresses.
    pub address: IpAddr,
    /// How many bits they share.
    pub prefix: u8,
}

impl Network {
    /// Whether an address belongs to it.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differing = own.to_bits() ^ other.to_bits();
                differing.leading_zeros() >= u32::from(self.prefix)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let differing = own.to_bits() ^ other.to_bits();
                differing.leading_zeros() >= u32::from(self.prefix)
            }
            _ => false,
        }
    }
}

/// All interfaces that are up, in order of index.
pub type Interfaces = Arc<Vec<Interface>>;

/// What the interfaces are from a moment on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InterfaceNews {
    /// When the kernel's word arrived, before the interfaces were read.
    pub noticed: Instant,
    /// Those that are up.
    pub interfaces: Interfaces,
}

/// News that wait for a reader; meanwhile the kernel's words gather and become one.
const NEWS_WAITING: usize = 64;

/// Routes that are looked at. A machine with more of them is a router of the internet: each of its interfaces leads somewhere.
const MAX_ROUTES: usize = 4096;

/// Publishes the interfaces of this network namespace. The task behind it ends when the last receiver is dropped.
///
/// # Errors
/// When netlink is not available (some sandboxes).
pub async fn watch_interfaces() -> io::Result<watch::Receiver<Interfaces>> {
    let mut news = interface_news().await?;
    let first = news.recv().await.ok_or(io::ErrorKind::BrokenPipe)?;
    let (publisher, receiver) = watch::channel(first.interfaces);
    tokio::spawn(async move {
        loop {
            tokio::select! {
                next = news.recv() => match next {
                    Some(next) => publisher.send_replace(next.interfaces),
                    None => return,
                },
                () = publisher.closed() => return,
            };
        }
    });
    Ok(receiver)
}

/// The interfaces of this network namespace, at once and then each time that they differ, in order. Unlike
/// [`watch_interfaces`] it keeps what its reader has not read yet, so that an address that comes and goes meanwhile is seen.
/// The task behind it ends when the receiver is dropped.
///
/// # Errors
/// When netlink is not available (some sandboxes).
pub async fn interface_news() -> io::Result<mpsc::Receiver<InterfaceNews>> {
    let groups = [
        MulticastGroup::Link,
        MulticastGroup::Ipv4Ifaddr,
        MulticastGroup::Ipv6Ifaddr,
        MulticastGroup::Ipv4Route,
        MulticastGroup::Ipv6Route,
    ];
    // Questions go over a socket of their own: news of a change has the number of the request that made it, and would be taken for the
    // answer to the question that has the same number here.
    let (connection, _news, mut messages) = rtnetlink::new_multicast_connection(&groups)?;
    tokio::spawn(connection);
    let (connection, handle, _) = rtnetlink::new_connection()?;
    tokio::spawn(connection);
    let mut noticed = Instant::now();
    let mut current = Arc::new(enumerate(&handle).await.map_err(io::Error::other)?);
    let (sender, receiver) = mpsc::channel(NEWS_WAITING);
    tokio::spawn(async move {
        loop {
            let news = InterfaceNews { noticed, interfaces: current.clone() };
            if sender.send(news).await.is_err() {
                return;
            }
            // Until something differs.
            loop {
                tokio::select! {
                    message = messages.next() => if message.is_none() { return },
                    () = sender.closed() => return,
                }
                noticed = Instant::now();
                while messages.try_recv().is_ok() {}
                match enumerate(&handle).await {
                    Ok(interfaces) if interfaces == *current => {}
                    Ok(interfaces) => {
                        current = Arc::new(interfaces);
                        break;
                    }
                    Err(error) => {
                        tracing::warn!(%error, "reading the interfaces failed; keeping the last state");
                    }
                }
            }
        }
    });
    Ok(receiver)
}

async fn enumerate(handle: &Handle) -> Result<Vec<Interface>, rtnetlink::Error> {
    let mut interfaces = BTreeMap::new();
    let mut links = pin!(handle.link().get().execute());
    while let Some(message) = links.try_next().await? {
        if let Some(interface) = interface_of(&message) {
            interfaces.insert(interface.index, interface);
        }
    }
    let mut addresses: Vec<AddressMessage> = handle.address().get().execute().try_collect().await?;
    // The kernel lists those of a narrow scope first, from which it sends nothing unless a program asks for them.
    addresses.sort_by_key(|message| u8::from(message.header.scope));
    for message in &addresses {
        if let (Some(interface), Some(address)) =
            (interfaces.get_mut(&message.header.index), usable_address(message))
        {
            interface.addresses.push(address);
            interface.networks.extend(network_of(message));
        }
    }
    for family in [AddressFamily::Inet, AddressFamily::Inet6] {
        let leading = leading_interfaces(handle, family).await;
        for interface in interfaces.values_mut() {
            let leads_on = leading.as_ref().is_none_or(|indices| indices.contains(&interface.index));
            match family {
                AddressFamily::Inet => interface.leads_on.0 = leads_on,
                _ => interface.leads_on.1 = leads_on,
            }
        }
    }
    Ok(interfaces.into_values().collect())
}

/// Indices of the interfaces with a route beyond their own networks, in whichever table; `None` if the routes cannot be read or
/// are too many.
async fn leading_interfaces(handle: &Handle, family: AddressFamily) -> Option<BTreeSet<u32>> {
    let mut request = RouteMessage::default();
    request.header.address_family = family;
    let mut routes = pin!(handle.route().get(request).execute());
    let (mut leading, mut seen) = (BTreeSet::new(), 0);
    while let Some(route) = routes.try_next().await.ok()? {
        seen += 1;
        if seen > MAX_ROUTES {
            return None;
        }
        // The kernel adds those to an interface's own networks and addresses.
        let leads_on =
            route.header.kind == RouteType::Unicast && route.header.protocol != RouteProtocol::Kernel;
        for attribute in route.attributes.iter().filter(|_| leads_on) {
            match attribute {
                RouteAttribute::Oif(index) => drop(leading.insert(*index)),
                RouteAttribute::MultiPath(hops) => leading.extend(hops.iter().map(|hop| hop.interface_index)),
                _ => {}
            }
        }
    }
    Some(leading)
}

/// The network of an address: of the far end on a point-to-point link.
fn network_of(message: &AddressMessage) -> Option<Network> {
    let address = message.attributes.iter().find_map(|attribute| match attribute {
        AddressAttribute::Address(address) => Some(*address),
        _ => None,
    })?;
    Some(Network { address, prefix: message.header.prefix_len })
}

/// `None` when it is down or its carrier is off.
fn interface_of(message: &LinkMessage) -> Option<Interface> {
    let flags = message.header.flags;
    if !flags.contains(LinkFlags::Up | LinkFlags::Running) {
        return None;
    }
    let mut name = None;
    let mut is_internal = false;
    for attribute in &message.attributes {
        match attribute {
            LinkAttribute::IfName(text) => name = Some(text.clone()),
            LinkAttribute::LinkInfo(details) => is_internal |= details.iter().any(is_internal_kind),
            LinkAttribute::Group(group) => is_internal |= *group == TUNNEL_GROUP,
            _ => {}
        }
    }
    let name = name?;
    Some(Interface {
        index: message.header.index,
        kind: kind_of(&name),
        is_loopback: flags.contains(LinkFlags::Loopback),
        is_internal,
        addresses: Vec::new(),
        networks: Vec::new(),
        leads_on: (true, true),
        name,
    })
}

fn is_internal_kind(detail: &LinkInfo) -> bool {
    matches!(detail, LinkInfo::Kind(InfoKind::Bridge | InfoKind::Dummy | InfoKind::Ifb))
}

fn usable_address(message: &AddressMessage) -> Option<IpAddr> {
    let mut address = None;
    let mut local = None;
    for attribute in &message.attributes {
        match attribute {
            AddressAttribute::Address(ip) => address = Some(*ip),
            // On point-to-point links `Address` is the far end and `Local` this host's.
            AddressAttribute::Local(ip) => local = Some(*ip),
            AddressAttribute::Flags(flags) => {
                let unusable = AddressFlags::Tentative | AddressFlags::Deprecated | AddressFlags::Dadfailed;
                if flags.intersects(unusable) {
                    return None;
                }
            }
            _ => {}
        }
    }
    local.or(address)
}

/// What sysfs says about the medium.
fn kind_of(name: &str) -> LinkKind {
    let folder = Path::new("/sys/class/net").join(name);
    if folder.join("phy80211").exists() || folder.join("wireless").exists() {
        return LinkKind::Wifi;
    }
    let is_wwan = fs::read_to_string(folder.join("uevent")).is_ok_and(|text| text.contains("DEVTYPE=wwan"));
    if is_wwan {
        return LinkKind::Cellular;
    }
    if folder.join("device").exists() { LinkKind::Wired } else { LinkKind::Unknown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_contain_what_shares_their_bits() {
        let network = |text: &str, prefix| Network { address: text.parse().unwrap(), prefix };
        let contains = |network: Network, text: &str| network.contains(text.parse().unwrap());
        assert!(contains(network("172.17.3.1", 24), "172.17.3.200"));
        assert!(!contains(network("172.17.3.1", 24), "172.17.4.1"));
        assert!(
            contains(network("192.0.2.1", 0), "10.0.0.1") && !contains(network("192.0.2.1", 32), "192.0.2.2")
        );
        assert!(contains(network("2001:db8::1", 64), "2001:db8::99"));
        assert!(!contains(network("2001:db8::1", 0), "10.0.0.1"), "another family");
    }
}
