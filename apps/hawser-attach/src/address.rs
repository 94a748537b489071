//! What a lease configures on an interface: the address, the way out over it, routes, the MTU.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::pin::pin;

use futures_util::{StreamExt, TryStreamExt};
use hawser_wifi::dhcp::{Lease, Route};
use rtnetlink::packet_core::{
    NLM_F_ACK, NLM_F_APPEND, NLM_F_CREATE, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use rtnetlink::packet_route::RouteNetlinkMessage;
use rtnetlink::packet_route::address::{AddressAttribute, CacheInfo};
use rtnetlink::packet_route::link::LinkAttribute;
use rtnetlink::packet_route::route::{RouteMessage, RouteScope};
use rtnetlink::{Handle, LinkUnspec, RouteMessageBuilder};
use serde::{Deserialize, Serialize};

use super::record::Record;

/// Sets addresses and routes of an interface. The kernel tells everybody of them: connections add and abandon their paths by that.
pub(super) struct Configurator {
    handle: Handle,
    /// Preference of the default route; larger ones come later.
    metric: u32,
    current: Option<Lease>,
    changed: Changed,
    record: Record<Changed>,
}

/// What has to be undone on an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Changed {
    /// Number of the interface: one that is plugged in again has another one, and nothing of before.
    link: u32,
    /// The address and the bits of its network.
    address: Option<(Ipv4Addr, u8)>,
    /// The MTU that the interface had, and the one that was set.
    mtu: Option<(u32, u32)>,
}

impl Configurator {
    /// For the interface of this number; what it changes is kept in the file `record`. Needs CAP_NET_ADMIN as soon as there is something to
    /// set.
    pub(super) fn new(link: u32, metric: u32, record: PathBuf) -> io::Result<Configurator> {
        let (connection, handle, _) = rtnetlink::new_connection()?;
        tokio::spawn(connection);
        let changed = Changed { link, address: None, mtu: None };
        Ok(Configurator { handle, metric, current: None, changed, record: Record::new(record) })
    }

    /// Number of the interface.
    pub(super) fn link(&self) -> u32 {
        self.changed.link
    }

    /// The address that was set.
    pub(super) fn address(&self) -> Option<Ipv4Addr> {
        self.current.as_ref().map(|lease| lease.address)
    }

    /// Undoes what a process that was killed has left on the interface.
    pub(super) async fn recover(&mut self) {
        let Some(left) = self.record.read() else { return };
        if left.link == self.changed.link {
            self.changed = left;
            self.remove().await;
        } else {
            self.record.remove();
        }
    }

    /// Sets address, routes and MTU, or renews them. The kernel removes the address when the lease expires, even if nobody else does.
    /// Returns what of the rest was refused, in words: a server may name anything.
    ///
    /// # Errors
    /// When there is no address.
    pub(super) async fn set(&mut self, lease: &Lease) -> io::Result<Vec<String>> {
        let mut refused = Vec::new();
        // Before the address, so that connections find a path that is as it will be.
        if let Err(error) = self.set_mtu(lease.mtu).await {
            refused.push(format!("the MTU of the lease is not set: {error}"));
        }
        let address = (lease.address, lease.prefix);
        if let Some(old) = self.changed.address.filter(|old| *old != address) {
            self.delete(old).await;
        }
        self.changed.address = Some(address);
        self.note();
        let mut add =
            self.handle.address().add(self.link(), IpAddr::V4(lease.address), lease.prefix).replace();
        let mut lifetime = CacheInfo::default();
        lifetime.ifa_valid = lease.seconds;
        lifetime.ifa_preferred = lease.seconds;
        add.message_mut().attributes.push(AddressAttribute::CacheInfo(lifetime));
        add.execute().await.map_err(reason)?;
        let wanted = routes(lease);
        if let Some(before) = self.current.replace(lease.clone()) {
            for route in routes(&before).iter().filter(|route| !wanted.contains(route)) {
                // It may be gone by itself.
                let message = self.message(route, before.address);
                if let Err(error) = self.handle.route().del(message).execute().await {
                    tracing::debug!(%error, ?route, "a route was not removed");
                }
            }
        }
        for route in &wanted {
            if let Err(error) = self.add(route, lease.address).await {
                let Route { network, prefix, .. } = route;
                refused.push(format!("the route of the lease to {network}/{prefix} is not set: {error}"));
            }
        }
        Ok(refused)
    }

    /// Removes the address, with which its routes go, and restores the MTU.
    pub(super) async fn remove(&mut self) {
        self.current = None;
        if let Some(address) = self.changed.address.take() {
            self.delete(address).await;
        }
        match self.set_mtu(None).await {
            Ok(()) => self.record.remove(),
            // The interface may be gone, and the MTU with it.
            Err(error) => tracing::debug!(%error, "the MTU was not restored"),
        }
    }

    async fn delete(&self, (address, prefix): (Ipv4Addr, u8)) {
        let mut request = self.handle.address().add(self.link(), IpAddr::V4(address), prefix);
        let message = request.message_mut().clone();
        // It may be gone: the lease has expired, or the interface was removed.
        if let Err(error) = self.handle.address().del(message).execute().await {
            tracing::debug!(%error, "the address was not removed");
        }
    }

    /// Adds a route behind those of other interfaces with the same metric, which stay: a request that replaces would take them.
    async fn add(&self, route: &Route, source: Ipv4Addr) -> io::Result<()> {
        let mut request = NetlinkMessage::from(RouteNetlinkMessage::NewRoute(self.message(route, source)));
        request.header.flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_APPEND;
        let mut handle = self.handle.clone();
        let mut answers = pin!(handle.request(request).map_err(reason)?);
        while let Some(answer) = answers.next().await {
            if let NetlinkPayload::Error(error) = answer.payload {
                let error = error.to_io();
                // One of before, which is this one to the last detail.
                return if error.kind() == io::ErrorKind::AlreadyExists { Ok(()) } else { Err(error) };
            }
        }
        Ok(())
    }

    fn message(&self, route: &Route, source: Ipv4Addr) -> RouteMessage {
        let builder = RouteMessageBuilder::<Ipv4Addr>::new()
            .destination_prefix(route.network, route.prefix)
            .output_interface(self.link())
            .pref_source(source)
            .priority(self.metric);
        match route.router {
            // A router outside the network of the address is on the link nevertheless.
            Some(router) => builder.gateway(router).onlink().build(),
            None => builder.scope(RouteScope::Link).build(),
        }
    }

    /// Has the interface send packets of at most this size, or of its own (`None`); never of more than its own.
    async fn set_mtu(&mut self, mtu: Option<u16>) -> io::Result<()> {
        if mtu.is_none() && self.changed.mtu.is_none() {
            return Ok(());
        }
        let now = self.mtu().await?;
        // One that another program has set meanwhile is the interface's own.
        let own = self.changed.mtu.filter(|(_, set)| *set == now).map_or(now, |(own, _)| own);
        let wanted = mtu.map_or(own, |mtu| own.min(mtu.into()));
        let changed = (wanted != own).then_some((own, wanted));
        if changed.is_some() {
            self.changed.mtu = changed;
            self.note();
        }
        if wanted != now {
            let message = LinkUnspec::new_with_index(self.link()).mtu(wanted).build();
            self.handle.link().set(message).execute().await.map_err(reason)?;
        }
        self.changed.mtu = changed;
        Ok(())
    }

    /// The MTU that the interface has now.
    async fn mtu(&self) -> io::Result<u32> {
        let mut found = pin!(self.handle.link().get().match_index(self.link()).execute());
        let link = found.try_next().await.map_err(reason)?;
        let mut attributes = link.into_iter().flat_map(|link| link.attributes);
        let mtu = attributes.find_map(|attribute| match attribute {
            LinkAttribute::Mtu(mtu) => Some(mtu),
            _ => None,
        });
        mtu.ok_or_else(|| io::Error::other("the kernel does not say the MTU"))
    }

    /// Puts on file what has to be undone. Without a file it is not undone after a kill, which is no reason to do without the link.
    fn note(&self) {
        if let Err(error) = self.record.write(&self.changed) {
            tracing::debug!(%error, "what is changed on the interface is not on file");
        }
    }
}

/// All routes of a lease, the default one first.
fn routes(lease: &Lease) -> Vec<Route> {
    let default = Route { network: Ipv4Addr::UNSPECIFIED, prefix: 0, router: lease.router };
    let default = lease.router.map(|_| default);
    default.into_iter().chain(lease.routes.iter().copied()).collect()
}

/// What the kernel said.
fn reason(error: rtnetlink::Error) -> io::Error {
    match error {
        rtnetlink::Error::NetlinkError(message) => message.to_io(),
        other => io::Error::other(other.to_string()),
    }
}
