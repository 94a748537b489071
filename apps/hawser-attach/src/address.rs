//! The address of an interface, and the way out over it: what a lease configures.

use std::net::{IpAddr, Ipv4Addr};

use hawser_wifi::dhcp::Lease;
use rtnetlink::packet_route::address::{AddressAttribute, CacheInfo};
use rtnetlink::{Handle, RouteMessageBuilder};

/// Sets addresses and routes of an interface. The kernel tells everybody of them: connections add and abandon their paths by that.
#[derive(Debug)]
pub(super) struct Configurator {
    handle: Handle,
    index: u32,
    /// Preference of the default route; larger ones come later.
    metric: u32,
    current: Option<Lease>,
}

impl Configurator {
    /// For the interface of this number. Needs CAP_NET_ADMIN as soon as there is something to set.
    pub(super) fn new(index: u32, metric: u32) -> std::io::Result<Configurator> {
        let (connection, handle, _) = rtnetlink::new_connection()?;
        tokio::spawn(connection);
        Ok(Configurator { handle, index, metric, current: None })
    }

    /// The address that was set.
    pub(super) fn address(&self) -> Option<Ipv4Addr> {
        self.current.as_ref().map(|lease| lease.address)
    }

    /// Sets address and default route, or renews them. The kernel removes the address when the lease expires, even if nobody else does.
    pub(super) async fn set(&mut self, lease: &Lease) -> Result<(), rtnetlink::Error> {
        let address = IpAddr::V4(lease.address);
        let mut add = self.handle.address().add(self.index, address, lease.prefix).replace();
        let mut lifetime = CacheInfo::default();
        lifetime.ifa_valid = lease.seconds;
        lifetime.ifa_preferred = lease.seconds;
        add.message_mut().attributes.push(AddressAttribute::CacheInfo(lifetime));
        add.execute().await?;
        self.current = Some(lease.clone());
        if let Some(router) = lease.router {
            let route = RouteMessageBuilder::<Ipv4Addr>::new()
                .gateway(router)
                .output_interface(self.index)
                .pref_source(lease.address)
                .priority(self.metric)
                // A router outside the network of the address is on the link nevertheless.
                .onlink()
                .build();
            self.handle.route().add(route).replace().execute().await?;
        }
        Ok(())
    }

    /// Removes the address; its routes go with it.
    pub(super) async fn remove(&mut self) {
        let Some(lease) = self.current.take() else { return };
        let mut request = self.handle.address().add(self.index, IpAddr::V4(lease.address), lease.prefix);
        let message = request.message_mut().clone();
        // It may be gone: the lease has expired, or the interface was removed.
        if let Err(error) = self.handle.address().del(message).execute().await {
            tracing::debug!(%error, "the address was not removed");
        }
    }
}
