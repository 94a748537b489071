//! systemd-resolved, which learns over D-Bus which resolvers a device has (org.freedesktop.resolve1(5)).
//!
//! These settings go with the device: after a crash nothing has to be undone, and no file of the machine is changed. Resolved keeps
//! asking the resolvers of other links for names of their own domains.

use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use futures_util::StreamExt;
use zbus::connection::Builder;
use zbus::proxy::{MethodFlags, OwnerChangedStream};
use zbus::wire::DynamicDeserialize;
use zbus::{Address, DynamicType, OwnedVariant, Proxy};

use super::netlink::Index;
use super::resolv::Resolv;

const SERVICE: &str = "org.freedesktop.resolve1";
const OBJECT: &str = "/org/freedesktop/resolve1";
const MANAGER: &str = "org.freedesktop.resolve1.Manager";
const PROPERTIES: &str = "org.freedesktop.DBus.Properties";
/// Where resolved listens itself (systemd-resolved.service(8)).
const STUBS: [IpAddr; 2] =
    [IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 53)), IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 54))];
/// How long an answer over D-Bus may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long to wait before a bus that is gone is connected to again.
const PAUSE: Duration = Duration::from_millis(500);
/// Resolved reads of a device over netlink, a little after it was made: how often and after what time it is told of it again.
const TRIES: usize = 10;
const NEXT_TRY: Duration = Duration::from_millis(100);
/// Most resolvers of resolved's own that are looked at.
const MOST_UPSTREAM: usize = 16;

/// Returns true if programs that follow this file (resolv.conf(5)) ask systemd-resolved and nobody else.
///
/// A link to its list of resolvers, `/run/systemd/resolve/resolv.conf`, does not count: programs that follow it ask the resolvers of the
/// links themselves, whatever resolved was told.
pub fn is_asked(file: &Path) -> bool {
    Resolv::resolvers(file)
        .is_ok_and(|named| !named.is_empty() && named.iter().all(|one| STUBS.contains(one)))
}

/// What went wrong between this process and resolved.
#[derive(Debug, thiserror::Error)]
pub enum ResolvedError {
    /// The bus, or what resolved said.
    #[error("{}", described(.0))]
    Bus(#[from] zbus::Error),
    /// No answer.
    #[error("no answer over D-Bus within {} s", PATIENCE.as_secs())]
    Silent,
}

/// What resolved is told of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LinkResolvers {
    pub(crate) device: Index,
    pub(crate) servers: Vec<IpAddr>,
    /// The only names that these are asked for; none: all names.
    pub(crate) domains: Vec<String>,
}

/// What happened to resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// It is there, perhaps as another process, which knows nothing of the device.
    Here,
    /// It, or the bus, is gone.
    Gone,
}

/// A connection to resolved.
pub struct Resolved {
    bus: Address,
    manager: Proxy<'static>,
    properties: Proxy<'static>,
    /// Who is resolved from now on; `None` once the bus is gone.
    owners: Option<OwnerChangedStream<'static>>,
}

impl Resolved {
    /// Finds the one on the system bus, at `DBUS_SYSTEM_BUS_ADDRESS` if that is set, and asks it something.
    ///
    /// # Errors
    /// [`ResolvedError`] if it does not answer.
    pub async fn find() -> Result<Self, ResolvedError> {
        Resolved::connect(&Address::system()?).await
    }

    /// The same on this bus.
    pub(crate) async fn connect(bus: &Address) -> Result<Self, ResolvedError> {
        let connected = async {
            let connection = Builder::address(bus.clone()).build().await?;
            let manager = Proxy::new(&connection, SERVICE, OBJECT, MANAGER).await?;
            let properties = Proxy::new(&connection, SERVICE, OBJECT, PROPERTIES).await?;
            let owners = Some(manager.receive_owner_changed().await?);
            let resolved = Resolved { bus: bus.clone(), manager, properties, owners };
            resolved.servers("DNS").await?;
            Ok(resolved)
        };
        in_time(connected).await
    }

    /// The resolvers that it asks now, of all links, else those that it falls back to.
    pub(crate) async fn upstream(&self) -> Result<Vec<IpAddr>, ResolvedError> {
        let current = in_time(self.servers("DNS")).await?;
        if current.is_empty() { in_time(self.servers("FallbackDNS")).await } else { Ok(current) }
    }

    async fn servers(&self, property: &str) -> zbus::Result<Vec<IpAddr>> {
        let value: OwnedVariant = call(&self.properties, "Get", &(MANAGER, property)).await?;
        let listed: Vec<(i32, i32, Vec<u8>)> = value.try_into()?;
        let addresses = listed.iter().filter_map(|(_, _, bytes)| address(bytes));
        Ok(addresses.filter(|address| !STUBS.contains(address)).take(MOST_UPSTREAM).collect())
    }

    /// Tells it of the resolvers of a device.
    ///
    /// # Errors
    /// [`ResolvedError`]; it then asks none of them.
    pub(crate) async fn tell(&self, link: &LinkResolvers) -> Result<(), ResolvedError> {
        let mut told = self.tell_once(link).await;
        for _ in 0..TRIES {
            if !told.as_ref().is_err_and(is_unknown_link) {
                break;
            }
            tokio::time::sleep(NEXT_TRY).await;
            told = self.tell_once(link).await;
        }
        if told.is_err() {
            self.revert(link).await;
        }
        told
    }

    async fn tell_once(&self, link: &LinkResolvers) -> Result<(), ResolvedError> {
        let index = index(link)?;
        let is_everything = link.domains.is_empty();
        let domains: Vec<(&str, bool)> = if is_everything {
            vec![(".", true)]
        } else {
            link.domains.iter().map(|domain| (domain.as_str(), true)).collect()
        };
        // First what is asked there, then where that is: it is never asked for anything else.
        self.call("SetLinkDomains", &(index, domains)).await?;
        self.call("SetLinkDefaultRoute", &(index, is_everything)).await?;
        if link.servers.iter().any(IpAddr::is_loopback)
            && let Err(error) = self.call("SetLinkDNSOverTLS", &(index, "no")).await
        {
            // A resolver of this machine has no certificate. One that is built without DNS over TLS has no such setting.
            tracing::debug!(%error, "systemd-resolved keeps its setting of DNS over TLS");
        }
        let servers: Vec<(i32, Vec<u8>)> = link.servers.iter().map(family_and_bytes).collect();
        self.call("SetLinkDNS", &(index, servers)).await
    }

    /// Has it forget what it was told of a device, which it does by itself when the device goes.
    pub(crate) async fn revert(&self, link: &LinkResolvers) {
        let Ok(index) = index(link) else { return };
        if let Err(error) = self.call("RevertLink", &(index,)).await {
            tracing::debug!(%error, "systemd-resolved forgets the resolvers of the tunnel with its device");
        }
    }

    /// Has it ask the resolvers that a link got by DHCP, next to those of other links.
    ///
    /// # Errors
    /// [`ResolvedError`], also where this process may not change them (polkit).
    pub async fn set_lease_resolvers(&self, link: u32, servers: &[IpAddr]) -> Result<(), ResolvedError> {
        let servers: Vec<(i32, Vec<u8>)> = servers.iter().map(family_and_bytes).collect();
        self.call("SetLinkDNS", &(number(link)?, servers)).await
    }

    /// Has it forget what it was told of a link. With one that is gone it has done so.
    ///
    /// # Errors
    /// [`ResolvedError`], also where this process may not change it (polkit).
    pub async fn forget_lease_resolvers(&self, link: u32) -> Result<(), ResolvedError> {
        match self.call("RevertLink", &(number(link)?,)).await {
            Err(error) if is_unknown_link(&error) => Ok(()),
            result => result,
        }
    }

    /// Returns at the next change. Cancel safe.
    pub(crate) async fn changed(&mut self) -> Change {
        if let Some(owners) = &mut self.owners {
            match owners.next().await {
                Some(Some(_)) => return Change::Here,
                Some(None) => return Change::Gone,
                None => {
                    self.owners = None;
                    return Change::Gone;
                }
            }
        }
        loop {
            tokio::time::sleep(PAUSE).await;
            match Resolved::connect(&self.bus).await {
                Ok(again) => {
                    *self = again;
                    return Change::Here;
                }
                Err(error) => tracing::debug!(%error, "systemd-resolved is not found again yet"),
            }
        }
    }

    async fn call<B>(&self, method: &'static str, body: &B) -> Result<(), ResolvedError>
    where
        B: serde::Serialize + DynamicType,
    {
        in_time(call(&self.manager, method, body)).await
    }
}

/// Calls a method, and starts nothing: a service that somebody has stopped stays so.
async fn call<B, R>(proxy: &Proxy<'_>, method: &'static str, body: &B) -> zbus::Result<R>
where
    B: serde::Serialize + DynamicType,
    R: for<'d> DynamicDeserialize<'d>,
{
    let answer = proxy.call_with_flags(method, MethodFlags::NO_AUTO_START, body).await?;
    answer.ok_or(zbus::Error::InvalidReply)
}

async fn in_time<T>(work: impl Future<Output = zbus::Result<T>>) -> Result<T, ResolvedError> {
    tokio::time::timeout(PATIENCE, work).await.map_err(|_| ResolvedError::Silent)?.map_err(ResolvedError::Bus)
}

/// What resolved said, without the name of the error in front.
fn described(error: &zbus::Error) -> String {
    match error {
        zbus::Error::MethodError(_, Some(text), _) => text.clone(),
        other => other.to_string(),
    }
}

fn is_unknown_link(error: &ResolvedError) -> bool {
    matches!(error, ResolvedError::Bus(zbus::Error::MethodError(name, ..)) if name.as_str() == "org.freedesktop.resolve1.NoSuchLink")
}

fn index(link: &LinkResolvers) -> Result<i32, ResolvedError> {
    number(link.device.number())
}

fn number(link: u32) -> Result<i32, ResolvedError> {
    i32::try_from(link).map_err(|error| zbus::Error::from(io::Error::other(error)).into())
}

/// An address of any family that can be asked without naming a link.
fn address(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    let address = v4.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok()?;
    match address {
        IpAddr::V6(v6) if v6.is_unicast_link_local() => None,
        _ => Some(address),
    }
}

/// As D-Bus has it: a family of addresses of this system, and the bytes.
fn family_and_bytes(address: &IpAddr) -> (i32, Vec<u8>) {
    match address {
        IpAddr::V4(v4) => (nix::libc::AF_INET, v4.octets().to_vec()),
        IpAddr::V6(v6) => (nix::libc::AF_INET6, v6.octets().to_vec()),
    }
}

#[cfg(test)]
pub(crate) mod stand_in;
#[cfg(test)]
mod tests;
