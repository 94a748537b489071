//! The TUN device on this machine: its addresses, and what goes through it.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use ipnet::IpNet;

use crate::host::netlink::{Index, Netlink, NetlinkError, SENDERS_TABLE, TABLE};
use crate::host::split::Split;

/// The device on this machine.
#[derive(Clone)]
pub(crate) struct Host {
    pub(crate) netlink: Netlink,
    pub(crate) index: Index,
    /// What goes through it, and the tables that say so.
    routes: Arc<Mutex<Vec<(IpNet, u32)>>>,
    /// The addresses that it has now.
    addresses: Arc<Mutex<Vec<IpAddr>>>,
    has_v6: bool,
}

/// All addresses of both families.
fn everything() -> [IpNet; 2] {
    [IpNet::V4(ipnet::Ipv4Net::default()), IpNet::V6(ipnet::Ipv6Net::default())]
}

impl Host {
    pub(crate) fn new(netlink: &Netlink, index: Index, split: &Split, has_v6: bool) -> Self {
        let mut routes: Vec<(IpNet, u32)> = split.routes.iter().map(|route| (*route, TABLE)).collect();
        if split.is_everything() {
            routes.extend(everything().map(|route| (route, TABLE)));
        }
        if split.has_senders() {
            routes.extend(everything().map(|route| (route, SENDERS_TABLE)));
        }
        routes.retain(|(route, _)| has_v6 || route.addr().is_ipv4());
        Host {
            netlink: netlink.clone(),
            index,
            routes: Arc::new(Mutex::new(routes)),
            addresses: Arc::default(),
            has_v6,
        }
    }

    /// Has these addresses, and sends with them.
    pub(crate) async fn add(&self, addresses: &[IpAddr]) -> Result<(), NetlinkError> {
        for address in addresses {
            self.netlink.add_address(self.index, IpNet::from(*address)).await?;
        }
        *self.addresses.lock().unwrap_or_else(PoisonError::into_inner) = addresses.to_vec();
        let routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (route, table) in routes {
            self.lead(route, table).await?;
        }
        Ok(())
    }

    async fn lead(&self, route: IpNet, table: u32) -> Result<(), NetlinkError> {
        let source = {
            let addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
            addresses.iter().copied().find(|address| address.is_ipv4() == route.addr().is_ipv4())
        };
        self.netlink.add_route(self.index, route, source, table).await
    }

    /// Has others from now on.
    pub(crate) async fn replace(&self, before: &[IpAddr], addresses: &[IpAddr]) -> Result<(), NetlinkError> {
        self.add(addresses).await?;
        for gone in before.iter().filter(|address| !addresses.contains(address)) {
            self.netlink.remove_address(self.index, IpNet::from(*gone)).await?;
        }
        Ok(())
    }

    /// What is sent to this address goes through the device as well from now on.
    pub(crate) async fn lead_to(&self, address: IpAddr) -> Result<(), NetlinkError> {
        let route = IpNet::from(address);
        if !self.has_v6 && address.is_ipv6() {
            return Ok(());
        }
        self.lead(route, TABLE).await?;
        let mut routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        if !routes.contains(&(route, TABLE)) {
            routes.push((route, TABLE));
        }
        Ok(())
    }

    /// What is sent to this address goes its own way from now on.
    pub(crate) async fn lead_no_more_to(&self, address: IpAddr) -> Result<(), NetlinkError> {
        let route = IpNet::from(address);
        self.routes.lock().unwrap_or_else(PoisonError::into_inner).retain(|known| *known != (route, TABLE));
        self.netlink.remove_route(self.index, route, TABLE).await
    }

    /// Stops what of a family goes through it when it is gone.
    pub(crate) async fn block(&self, is_v4: bool) -> Result<(), NetlinkError> {
        let routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (route, table) in routes.into_iter().filter(|(route, _)| route.addr().is_ipv4() == is_v4) {
            self.netlink.block(route, table).await?;
        }
        Ok(())
    }
}
