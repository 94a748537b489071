//! What a lease configures on an interface: the address, the way out over it, routes, the MTU, name servers.

use std::net::{IpAddr, Ipv4Addr};
use std::pin::pin;

use futures_util::TryStreamExt;
use hawser_wifi::dhcp::{Lease, Route};
use rtnetlink::packet_route::address::{AddressAttribute, CacheInfo};
use rtnetlink::packet_route::link::LinkAttribute;
use rtnetlink::packet_route::route::{RouteMessage, RouteScope};
use rtnetlink::{Handle, LinkUnspec, RouteMessageBuilder};

use super::names::NameServers;

/// Sets addresses and routes of an interface. The kernel tells everybody of them: connections add and abandon their paths by that.
pub(super) struct Configurator {
    handle: Handle,
    index: u32,
    /// Preference of the default route; larger ones come later.
    metric: u32,
    /// `None`: name servers stay as they are.
    names: Option<NameServers>,
    current: Option<Lease>,
    /// The MTU of the interface before a lease named a smaller one.
    own_mtu: Option<u32>,
}

impl Configurator {
    /// For the interface of this number. Needs CAP_NET_ADMIN as soon as there is something to set.
    pub(super) fn new(index: u32, metric: u32, names: Option<NameServers>) -> std::io::Result<Configurator> {
        let (connection, handle, _) = rtnetlink::new_connection()?;
        tokio::spawn(connection);
        Ok(Configurator { handle, index, metric, names, current: None, own_mtu: None })
    }

    /// The address that was set.
    pub(super) fn address(&self) -> Option<Ipv4Addr> {
        self.current.as_ref().map(|lease| lease.address)
    }

    /// Sets address, routes, MTU and name servers, or renews them. The kernel removes the address when the lease expires, even if nobody else does.
    pub(super) async fn set(&mut self, lease: &Lease) -> Result<(), rtnetlink::Error> {
        // Before the address, so that connections find a path that is as it will be.
        if let Err(error) = self.set_mtu(lease.mtu).await {
            tracing::warn!(%error, mtu = lease.mtu, "the MTU of the lease was not set");
        }
        let address = IpAddr::V4(lease.address);
        let mut add = self.handle.address().add(self.index, address, lease.prefix).replace();
        let mut lifetime = CacheInfo::default();
        lifetime.ifa_valid = lease.seconds;
        lifetime.ifa_preferred = lease.seconds;
        add.message_mut().attributes.push(AddressAttribute::CacheInfo(lifetime));
        add.execute().await?;
        let before = self.current.replace(lease.clone());
        let wanted = routes(lease);
        for route in before.iter().flat_map(routes).filter(|route| !wanted.contains(route)) {
            // It may be gone by itself.
            if let Err(error) = self.handle.route().del(self.message(&route, lease.address)).execute().await {
                tracing::debug!(%error, ?route, "a route was not removed");
            }
        }
        for route in &wanted {
            self.handle.route().add(self.message(route, lease.address)).replace().execute().await?;
        }
        if let Some(names) = &mut self.names {
            names.set(&lease.name_servers).await;
        }
        Ok(())
    }

    /// Removes the address, with which its routes go, and restores MTU and name servers.
    pub(super) async fn remove(&mut self) {
        let Some(lease) = self.current.take() else { return };
        let mut request = self.handle.address().add(self.index, IpAddr::V4(lease.address), lease.prefix);
        let message = request.message_mut().clone();
        // It may be gone: the lease has expired, or the interface was removed.
        if let Err(error) = self.handle.address().del(message).execute().await {
            tracing::debug!(%error, "the address was not removed");
        }
        if let Err(error) = self.set_mtu(None).await {
            tracing::debug!(%error, "the MTU was not restored");
        }
        if let Some(names) = &mut self.names {
            names.remove().await;
        }
    }

    fn message(&self, route: &Route, source: Ipv4Addr) -> RouteMessage {
        let builder = RouteMessageBuilder::<Ipv4Addr>::new()
            .destination_prefix(route.network, route.prefix)
            .output_interface(self.index)
            .pref_source(source)
            .priority(self.metric);
        match route.router {
            // A router outside the network of the address is on the link nevertheless.
            Some(router) => builder.gateway(router).onlink().build(),
            None => builder.scope(RouteScope::Link).build(),
        }
    }

    /// Has the interface send packets of at most this size, or of its own; never of more than its own.
    async fn set_mtu(&mut self, mtu: Option<u16>) -> Result<(), rtnetlink::Error> {
        let own = match (self.own_mtu, mtu) {
            (Some(own), _) => own,
            (None, None) => return Ok(()),
            (None, Some(_)) => self.mtu().await?,
        };
        self.own_mtu = mtu.map(|_| own);
        let wanted = mtu.map_or(own, |mtu| own.min(mtu.into()));
        if wanted == self.mtu().await? {
            return Ok(());
        }
        let message = LinkUnspec::new_with_index(self.index).mtu(wanted).build();
        self.handle.link().set(message).execute().await
    }

    /// The MTU that the interface has now.
    async fn mtu(&self) -> Result<u32, rtnetlink::Error> {
        let mut found = pin!(self.handle.link().get().match_index(self.index).execute());
        let mtu =
            found.try_next().await?.into_iter().flat_map(|link| link.attributes).find_map(|attribute| {
                match attribute {
                    LinkAttribute::Mtu(mtu) => Some(mtu),
                    _ => None,
                }
            });
        mtu.ok_or(rtnetlink::Error::RequestFailed)
    }
}

/// All routes of a lease, the default one first.
fn routes(lease: &Lease) -> Vec<Route> {
    let default = Route { network: Ipv4Addr::UNSPECIFIED, prefix: 0, router: lease.router };
    let default = lease.router.map(|_| default);
    default.into_iter().chain(lease.routes.iter().copied()).collect()
}
