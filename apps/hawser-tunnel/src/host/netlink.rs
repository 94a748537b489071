//! Devices, addresses, routes and rules, by rtnetlink.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::pin::pin;

use futures_util::TryStreamExt;
use ipnet::IpNet;
use rtnetlink::packet_route::AddressFamily;
use rtnetlink::packet_route::address::{AddressAttribute, AddressFlags, AddressMessage, AddressScope};
use rtnetlink::packet_route::route::{RouteAddress, RouteAttribute, RouteMessage, RouteType};
use rtnetlink::packet_route::rule::{RuleAction, RuleAttribute, RuleMessage, RuleUidRange};
use rtnetlink::{Handle, IpVersion, LinkUnspec, RouteMessageBuilder};

/// The routing table of the tunnel, and the first of the priorities of its rules.
pub const TABLE: u32 = 18_450;
/// The routing table of those whose packets go through the tunnel wherever they go.
pub const SENDERS_TABLE: u32 = TABLE + 1;
/// The mark of packets that look into it.
pub(crate) const SENDERS_MARK: u32 = TABLE;
/// Rules: addresses of the gateway, the main table but for its default routes, the table of the tunnel, that of senders.
const PRIORITIES: std::ops::Range<u32> = TABLE..TABLE + 4;
/// The main routing table.
const MAIN: u32 = 254;
/// That of the machine's own addresses.
const LOCAL: u32 = 255;
/// Preference of routes that stop what the tunnel does not carry: behind all others.
const LAST_METRIC: u32 = 4_000_000_000;
/// Routes and rules that are removed in one go: more are somebody else's mistake.
const MOST_REMOVED: usize = 10_000;

/// A change that the kernel refused.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what}: {source}")]
pub struct NetlinkError {
    /// What was to be done.
    pub what: String,
    /// What the kernel said.
    #[source]
    pub source: io::Error,
}

fn refused<'a>(what: impl Into<String> + 'a) -> impl FnOnce(rtnetlink::Error) -> NetlinkError + 'a {
    move |error| {
        let source = match error {
            rtnetlink::Error::NetlinkError(message) => message.to_io(),
            other => io::Error::other(other.to_string()),
        };
        NetlinkError { what: what.into(), source }
    }
}

/// A handle on the network of this machine.
#[derive(Clone, Debug)]
pub struct Netlink {
    handle: Handle,
}

/// A device of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index(u32);

impl Index {
    /// As the kernel counts.
    pub(crate) fn number(self) -> u32 {
        self.0
    }

    #[cfg(test)]
    pub(crate) fn numbered(number: u32) -> Self {
        Index(number)
    }
}

impl Netlink {
    /// Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// When there is no netlink.
    pub fn new() -> Result<Self, NetlinkError> {
        let opened = rtnetlink::new_connection();
        let opened = opened.map_err(|source| NetlinkError { what: "open netlink".to_owned(), source });
        let (connection, handle, _) = opened?;
        tokio::spawn(connection);
        Ok(Netlink { handle })
    }

    /// The device of this name.
    ///
    /// # Errors
    /// When it does not exist.
    pub async fn find(&self, name: &str) -> Result<Index, NetlinkError> {
        let failed = || refused(format!("find the device {name}"));
        let mut found = pin!(self.handle.link().get().match_name(name.to_owned()).execute());
        let link = found.try_next().await.map_err(failed())?;
        let missing = || NetlinkError {
            what: format!("find the device {name}"),
            source: io::ErrorKind::NotFound.into(),
        };
        Ok(Index(link.ok_or_else(missing)?.header.index))
    }

    /// Makes a device of the tunnel known as such, gives it an MTU in bytes, and turns it on.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub async fn turn_on(&self, device: Index, mtu: u16) -> Result<(), NetlinkError> {
        let message = LinkUnspec::new_with_index(device.0)
            .link_group(hawser_net::TUNNEL_GROUP)
            .mtu(mtu.into())
            .txqueuelen(1_000)
            .up()
            .build();
        self.handle.link().set(message).execute().await.map_err(refused("turn the TUN device on"))
    }

    /// Gives a device another MTU, in bytes.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub async fn set_mtu(&self, device: Index, mtu: u16) -> Result<(), NetlinkError> {
        let message = LinkUnspec::new_with_index(device.0).mtu(mtu.into()).build();
        self.handle.link().set(message).execute().await.map_err(refused(format!("set the MTU to {mtu}")))
    }

    /// Gives a device an address.
    ///
    /// # Errors
    /// When the kernel refuses, for example because IPv6 is disabled.
    pub async fn add_address(&self, device: Index, address: IpNet) -> Result<(), NetlinkError> {
        self.add_address_of(device, address, AddressScope::Universe).await
    }

    /// Gives a device an address that nothing is sent from unless it asks for it.
    ///
    /// # Errors
    /// When the kernel refuses, for example because IPv6 is disabled.
    pub async fn add_local_address(&self, device: Index, address: IpNet) -> Result<(), NetlinkError> {
        self.add_address_of(device, address, AddressScope::Link).await
    }

    async fn add_address_of(
        &self,
        device: Index,
        address: IpNet,
        scope: AddressScope,
    ) -> Result<(), NetlinkError> {
        let mut request = self.handle.address().add(device.0, address.addr(), address.prefix_len()).replace();
        request.message_mut().header.scope = scope;
        if address.addr().is_ipv6() {
            // Usable at once: nobody else is on this link who could have it.
            request.message_mut().attributes.push(AddressAttribute::Flags(AddressFlags::Nodad));
        }
        request.execute().await.map_err(refused(format!("add the address {address}")))
    }

    /// The networks that a device is on, without those of link-local addresses.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub async fn networks(&self, device: Index) -> Result<Vec<IpNet>, NetlinkError> {
        let request = self.handle.address().get().set_link_index_filter(device.0);
        let found: Vec<_> = request.execute().try_collect().await.map_err(refused("list the addresses"))?;
        let of = |attributes: &[AddressAttribute], length: u8| {
            attributes.iter().find_map(|attribute| match attribute {
                AddressAttribute::Address(address) => IpNet::new(*address, length).ok(),
                _ => None,
            })
        };
        let global = found.iter().filter(|message| message.header.scope == AddressScope::Universe);
        let networks = global.filter_map(|message| of(&message.attributes, message.header.prefix_len));
        Ok(networks.map(|network| network.trunc()).collect())
    }

    /// Whether this machine has one of these addresses; the first of them that it has.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub async fn own_address(&self, wanted: &[IpAddr]) -> Result<Option<IpAddr>, NetlinkError> {
        let found: Vec<_> = self
            .handle
            .address()
            .get()
            .execute()
            .try_collect()
            .await
            .map_err(refused("list the addresses"))?;
        let address_of = |message: &AddressMessage| {
            // On links from point to point `Address` is the far end.
            let local = message.attributes.iter().find_map(|attribute| match attribute {
                AddressAttribute::Local(address) => Some(*address),
                _ => None,
            });
            local.or_else(|| {
                message.attributes.iter().find_map(|attribute| match attribute {
                    AddressAttribute::Address(address) => Some(*address),
                    _ => None,
                })
            })
        };
        Ok(found.iter().filter_map(address_of).find(|address| wanted.contains(address)))
    }

    /// Takes an address from a device.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub async fn remove_address(&self, device: Index, address: IpNet) -> Result<(), NetlinkError> {
        let mut request = self.handle.address().add(device.0, address.addr(), address.prefix_len());
        let message = request.message_mut().clone();
        let removed = self.handle.address().del(message).execute().await;
        removed.map_err(refused(format!("remove the address {address}")))
    }

    /// A route to a prefix over a device, in a table of the tunnel; packets of this machine have this source.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub async fn add_route(
        &self,
        device: Index,
        prefix: IpNet,
        source: Option<IpAddr>,
        table: u32,
    ) -> Result<(), NetlinkError> {
        let failed = refused(format!("add the route to {prefix}"));
        let message = match prefix {
            IpNet::V4(prefix) => {
                let mut route = RouteMessageBuilder::<Ipv4Addr>::new()
                    .destination_prefix(prefix.network(), prefix.prefix_len())
                    .output_interface(device.0)
                    .table_id(table);
                if let Some(IpAddr::V4(source)) = source {
                    route = route.pref_source(source);
                }
                route.build()
            }
            IpNet::V6(prefix) => {
                let mut route = RouteMessageBuilder::<Ipv6Addr>::new()
                    .destination_prefix(prefix.network(), prefix.prefix_len())
                    .output_interface(device.0)
                    .table_id(table);
                if let Some(IpAddr::V6(source)) = source {
                    route = route.pref_source(source);
                }
                route.build()
            }
        };
        self.handle.route().add(message).replace().execute().await.map_err(failed)
    }

    /// Takes a route to a prefix over a device from a table.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub async fn remove_route(&self, device: Index, prefix: IpNet, table: u32) -> Result<(), NetlinkError> {
        let message = match prefix {
            IpNet::V4(prefix) => RouteMessageBuilder::<Ipv4Addr>::new()
                .destination_prefix(prefix.network(), prefix.prefix_len())
                .output_interface(device.0)
                .table_id(table)
                .build(),
            IpNet::V6(prefix) => RouteMessageBuilder::<Ipv6Addr>::new()
                .destination_prefix(prefix.network(), prefix.prefix_len())
                .output_interface(device.0)
                .table_id(table)
                .build(),
        };
        let removed = self.handle.route().del(message).execute().await;
        removed.map_err(refused(format!("remove the route to {prefix}")))
    }

    /// Stops what would leave the machine past the tunnel to this prefix when its device is gone, until [`clear`](Self::clear).
    ///
    /// # Errors
    /// When the kernel refuses.
    pub async fn block(&self, prefix: IpNet, table: u32) -> Result<(), NetlinkError> {
        let kind = RouteType::Unreachable;
        let message = match prefix {
            IpNet::V4(prefix) => {
                let route = RouteMessageBuilder::<Ipv4Addr>::new().table_id(table);
                let route = route.destination_prefix(prefix.network(), prefix.prefix_len());
                route.priority(LAST_METRIC).kind(kind).build()
            }
            IpNet::V6(prefix) => {
                let route = RouteMessageBuilder::<Ipv6Addr>::new().table_id(table);
                let route = route.destination_prefix(prefix.network(), prefix.prefix_len());
                route.priority(LAST_METRIC).kind(kind).build()
            }
        };
        self.handle.route().add(message).replace().execute().await.map_err(refused("add the kill switch"))
    }

    /// Rules: these addresses by the main table; what that has a route for that is no default route; then the tunnel's table.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub async fn add_rules(&self, is_v4: bool, direct: &[IpAddr]) -> Result<(), NetlinkError> {
        for address in direct.iter().filter(|address| address.is_ipv4() == is_v4) {
            let bits = if is_v4 { 32 } else { 128 };
            let destination = [RuleAttribute::Destination(*address)];
            self.add_rule(is_v4, PRIORITIES.start, MAIN, bits, &destination).await?;
        }
        self.add_rule(is_v4, PRIORITIES.start + 1, MAIN, 0, &[RuleAttribute::SuppressPrefixLen(0)]).await?;
        self.add_rule(is_v4, PRIORITIES.start + 2, TABLE, 0, &[]).await
    }

    /// Rules: what these users send, and what is marked with [`SENDERS_MARK`], by the table of senders.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) async fn add_sender_rules(
        &self,
        is_v4: bool,
        users: &[u32],
        has_marks: bool,
    ) -> Result<(), NetlinkError> {
        let own = users.iter().map(|user| RuleAttribute::UidRange(RuleUidRange { start: *user, end: *user }));
        for sender in own.chain(has_marks.then_some(RuleAttribute::FwMark(SENDERS_MARK))) {
            self.add_rule(is_v4, PRIORITIES.start + 3, SENDERS_TABLE, 0, &[sender]).await?;
        }
        Ok(())
    }

    async fn add_rule(
        &self,
        is_v4: bool,
        priority: u32,
        table: u32,
        destination_bits: u8,
        attributes: &[RuleAttribute],
    ) -> Result<(), NetlinkError> {
        let mut request = self.handle.rule().add().table_id(table).priority(priority);
        request = request.action(RuleAction::ToTable);
        let message = request.message_mut();
        message.header.family = if is_v4 { AddressFamily::Inet } else { AddressFamily::Inet6 };
        message.header.dst_len = destination_bits;
        message.attributes.extend_from_slice(attributes);
        match request.execute().await {
            // One that is there already is good enough.
            Err(rtnetlink::Error::NetlinkError(error))
                if error.to_io().kind() == io::ErrorKind::AlreadyExists =>
            {
                Ok(())
            }
            result => result.map_err(refused(format!("add the rule {priority}"))),
        }
    }

    /// Removes the rules of a tunnel and what is in its table. Returns how many there were of both.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub async fn clear(&self) -> Result<usize, NetlinkError> {
        let mut removed = 0;
        for version in [IpVersion::V4, IpVersion::V6] {
            for rule in self.rules(version.clone()).await?.into_iter().filter(is_own).take(MOST_REMOVED) {
                self.handle.rule().del(rule).execute().await.map_err(refused("remove a rule"))?;
                removed += 1;
            }
            removed += self.clear_table(version).await?;
        }
        Ok(removed)
    }

    async fn rules(&self, version: IpVersion) -> Result<Vec<RuleMessage>, NetlinkError> {
        let found = self.handle.rule().get(version.clone()).execute().try_collect().await;
        match found {
            // A kernel without IPv6 has none.
            Err(_) if version == IpVersion::V6 => Ok(Vec::new()),
            found => found.map_err(refused("list the rules")),
        }
    }

    async fn clear_table(&self, version: IpVersion) -> Result<usize, NetlinkError> {
        let mut removed = 0;
        for route in self.own_routes(version).await? {
            // Those of a device go with it.
            if self.handle.route().del(route).execute().await.is_ok() {
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// What is in the tables of a tunnel.
    async fn own_routes(&self, version: IpVersion) -> Result<Vec<RouteMessage>, NetlinkError> {
        let tables = [TABLE, SENDERS_TABLE].map(RouteAttribute::Table);
        self.routes(version, |route| tables.iter().any(|table| route.attributes.contains(table))).await
    }

    /// The routes that are wanted, of all tables.
    async fn routes(
        &self,
        version: IpVersion,
        is_wanted: impl Fn(&RouteMessage) -> bool,
    ) -> Result<Vec<RouteMessage>, NetlinkError> {
        let message = match version {
            IpVersion::V4 => RouteMessageBuilder::<Ipv4Addr>::new().build(),
            IpVersion::V6 => RouteMessageBuilder::<Ipv6Addr>::new().build(),
        };
        let mut routes = pin!(self.handle.route().get(message).execute());
        let mut wanted = Vec::new();
        loop {
            match routes.try_next().await {
                Ok(Some(route)) => {
                    if is_wanted(&route) && wanted.len() < MOST_REMOVED {
                        wanted.push(route);
                    }
                }
                Ok(None) => return Ok(wanted),
                // A kernel without IPv6 has none.
                Err(_) if version == IpVersion::V6 => return Ok(wanted),
                Err(error) => return Err(refused("list the routes")(error)),
            }
        }
    }

    /// Whether a tunnel runs on this machine: routes over its device are there as long as its process is.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub async fn has_tunnel(&self) -> Result<bool, NetlinkError> {
        let leads = |route: &RouteMessage| {
            route.attributes.iter().any(|attribute| matches!(attribute, RouteAttribute::Oif(_)))
        };
        let routes = [self.own_routes(IpVersion::V4).await?, self.own_routes(IpVersion::V6).await?];
        Ok(routes.concat().iter().any(leads))
    }

    /// Returns true if this machine reaches an address past any tunnel: it is its own, or has a route in the main table that is not a
    /// default route (which [`add_rules`](Self::add_rules) leaves in front of the tunnel).
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) async fn has_near_route(&self, address: IpAddr) -> Result<bool, NetlinkError> {
        let version = if address.is_ipv4() { IpVersion::V4 } else { IpVersion::V6 };
        Ok(!self.routes(version, |route| leads_near(route, address)).await?.is_empty())
    }

    /// How many rules of a tunnel there are.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub async fn own_rules(&self) -> Result<usize, NetlinkError> {
        let v4 = self.rules(IpVersion::V4).await?;
        let v6 = self.rules(IpVersion::V6).await?;
        Ok(v4.iter().chain(&v6).filter(|rule| is_own(rule)).count())
    }
}

/// Whether a route to this address goes before the default routes.
fn leads_near(route: &RouteMessage, address: IpAddr) -> bool {
    let tables = [MAIN, LOCAL].map(RouteAttribute::Table);
    let length = route.header.destination_prefix_length;
    let has_it = |attribute: &RouteAttribute| {
        let prefix = match attribute {
            RouteAttribute::Destination(RouteAddress::Inet(prefix)) => IpAddr::V4(*prefix),
            RouteAttribute::Destination(RouteAddress::Inet6(prefix)) => IpAddr::V6(*prefix),
            _ => return false,
        };
        IpNet::new(prefix, length).is_ok_and(|prefix| prefix.contains(&address))
    };
    length > 0
        && tables.iter().any(|table| route.attributes.contains(table))
        && route.attributes.iter().any(has_it)
}

/// Whether a rule is one that a tunnel adds.
fn is_own(rule: &RuleMessage) -> bool {
    let has = |wanted: &dyn Fn(&RuleAttribute) -> bool| rule.attributes.iter().any(wanted);
    has(&|attribute| matches!(attribute, RuleAttribute::Priority(priority) if PRIORITIES.contains(priority)))
        && has(&|attribute| matches!(attribute, RuleAttribute::Table(MAIN | TABLE | SENDERS_TABLE)))
}
