//! Which interfaces and addresses an endpoint uses, by the user's choice and the machine's state.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use hawser_policy::{LinkId, LinkInfo, LinkKind, PathStatus};

use crate::interfaces::{Interface, Network};
use crate::socket::{Binding, Sharing, wildcard_for};

/// How a user names a link.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LinkSelector {
    /// An interface, whichever address it has: `wlan0`.
    Interface(String),
    /// A local address, on whichever interface it is: `192.0.2.7`.
    Address(IpAddr),
}

/// Text that names neither an interface nor an address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is neither an IP address nor an interface name (1 to 15 characters without `/` or spaces)")]
pub struct InvalidSelector(String);

impl FromStr for LinkSelector {
    type Err = InvalidSelector;

    fn from_str(text: &str) -> Result<Self, InvalidSelector> {
        if let Ok(address) = text.parse() {
            return Ok(LinkSelector::Address(address));
        }
        // The kernel's rules for interface names (dev_valid_name), IFNAMSIZ being 16 with the terminator.
        let is_name = (1..=15).contains(&text.len())
            && !text.contains(|c: char| c == '/' || c == ':' || c.is_whitespace())
            && text != "."
            && text != "..";
        if is_name {
            Ok(LinkSelector::Interface(text.to_owned()))
        } else {
            Err(InvalidSelector(text.to_owned()))
        }
    }
}

impl fmt::Display for LinkSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkSelector::Interface(name) => f.write_str(name),
            LinkSelector::Address(address) => address.fmt(f),
        }
    }
}

/// One link that the user asked for. It need not exist yet: it is used as soon as it appears.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathSpec {
    /// Which.
    pub selector: LinkSelector,
    /// Whether it is for regular use or only when nothing else works.
    pub status: PathStatus,
}

impl PathSpec {
    /// Returns links that a selector names, used as a status says.
    pub fn new(selector: LinkSelector, status: PathStatus) -> Self {
        PathSpec { selector, status }
    }

    /// A link for regular use.
    pub fn available(selector: LinkSelector) -> Self {
        PathSpec { selector, status: PathStatus::Available }
    }

    /// A link for when nothing else works.
    pub fn backup(selector: LinkSelector) -> Self {
        PathSpec { selector, status: PathStatus::Backup }
    }
}

/// Which links a client uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Links {
    /// Every interface that is up and has a suitable address; bridges and the like excepted.
    #[default]
    All,
    /// As [`Links::All`]; these only when none of the others works.
    AllWithBackups(Vec<LinkSelector>),
    /// One socket, and the routing table decides. No further paths are opened.
    Routed,
    /// These.
    Only(Vec<PathSpec>),
}

/// What a link is used for, by an order that came while the endpoint runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LinkUse {
    /// Regularly.
    Available,
    /// When no other link works.
    Backup,
    /// Not at all.
    Paused,
}

/// Why a link cannot be used otherwise.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkUseError {
    /// No link has this name.
    #[error("no link is named `{name}`; known are: {known}")]
    Unknown {
        /// The name.
        name: String,
        /// Those that exist, or that are paused.
        known: String,
    },
    /// It is the last one.
    #[error("`{0}` is the only link in use: resume another one first")]
    Last(String),
    /// The endpoint chooses no links.
    #[error("this endpoint chooses no links: its peers do, or the routing table")]
    NotChosen,
}

/// A link that could carry a connection to a certain address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) binding: Binding,
    pub(crate) status: PathStatus,
    pub(crate) name: String,
}

/// The links that exist now, with numbers that stay the same for as long as the endpoint lives.
#[derive(Debug, Default)]
pub(crate) struct LinkTable {
    selection: Links,
    /// Those that the user pays by volume, however they were selected.
    metered: Vec<LinkSelector>,
    /// Names ever seen; a link's number is its position.
    names: Vec<String>,
    present: Vec<PresentLink>,
    /// All interfaces, while the routing table decides: a path has a link then, too, but no link has a path.
    routed_over: Vec<PresentLink>,
    own_addresses: Vec<IpAddr>,
    /// As the system said last.
    interfaces: Vec<Interface>,
    /// By name, what was ordered; at most one for each of `names`.
    uses: BTreeMap<String, LinkUse>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct PresentLink {
    info: LinkInfo,
    /// Interface to bind to.
    device: Option<String>,
    /// Its networks, and whether a route leads beyond them.
    reach: Reach,
}

/// Where an interface leads.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reach {
    networks: Vec<Network>,
    /// For IPv4 and IPv6.
    leads_on: (bool, bool),
}

impl Reach {
    fn leads_on(&self, remote: IpAddr) -> bool {
        if remote.is_ipv4() { self.leads_on.0 } else { self.leads_on.1 }
    }
}

/// A difference between two states of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LinkChange {
    Up(LinkInfo),
    Down(LinkId),
}

impl LinkTable {
    pub(crate) fn new(selection: Links) -> Self {
        LinkTable { selection, ..LinkTable::default() }
    }

    /// The user pays these by volume.
    pub(crate) fn set_metered(&mut self, selectors: &[LinkSelector]) {
        self.metered = selectors.to_vec();
    }

    /// The links that exist.
    pub(crate) fn present(&self) -> impl Iterator<Item = &LinkInfo> {
        self.present.iter().map(|link| &link.info)
    }

    /// All links that a path may turn out to use.
    pub(crate) fn known(&self) -> impl Iterator<Item = &LinkInfo> {
        self.present.iter().chain(&self.routed_over).map(|link| &link.info)
    }

    /// The link that has this local address.
    pub(crate) fn link_of(&self, local: IpAddr) -> Option<LinkId> {
        self.known().find(|link| link.addresses.contains(&local)).map(|link| link.id)
    }

    /// Takes in the machine's state and tells what changed.
    pub(crate) fn update(&mut self, interfaces: &[Interface]) -> Vec<LinkChange> {
        self.own_addresses = interfaces.iter().flat_map(|i| i.addresses.iter().copied()).collect();
        self.interfaces = interfaces.to_vec();
        self.update_present()
    }

    /// Uses a link otherwise from now on, and tells what changed.
    pub(crate) fn set_use(&mut self, name: &str, wanted: LinkUse) -> Result<Vec<LinkChange>, LinkUseError> {
        if self.selection == Links::Routed || self.names.is_empty() {
            return Err(LinkUseError::NotChosen);
        }
        if !self.names.iter().any(|known| known == name) {
            return Err(LinkUseError::Unknown { name: name.to_owned(), known: self.names.join(", ") });
        }
        let is_local = |link: &PresentLink| link.info.addresses.iter().all(IpAddr::is_loopback);
        let named = self.present.iter().find(|link| link.info.name == name);
        let is_last = named.is_some_and(|named| {
            let other = |link: &&PresentLink| link.info.name != name && is_local(link) == is_local(named);
            !self.present.iter().any(|link| other(&link))
        });
        if wanted == LinkUse::Paused && is_last {
            return Err(LinkUseError::Last(name.to_owned()));
        }
        self.uses.insert(name.to_owned(), wanted);
        Ok(self.update_present())
    }

    /// What links of these names will be used for, whether they exist or not.
    pub(crate) fn expect_uses(&mut self, uses: &[(String, LinkUse)]) {
        self.uses.extend(uses.iter().cloned());
    }

    /// What was ordered.
    pub(crate) fn uses(&self) -> Vec<(String, LinkUse)> {
        self.uses.iter().map(|(name, wanted)| (name.clone(), *wanted)).collect()
    }

    /// Addresses of this machine.
    pub(crate) fn own_addresses(&self) -> &[IpAddr] {
        &self.own_addresses
    }

    fn update_present(&mut self) -> Vec<LinkChange> {
        let interfaces = std::mem::take(&mut self.interfaces);
        let changes = self.compare(&interfaces);
        self.interfaces = interfaces;
        changes
    }

    fn compare(&mut self, interfaces: &[Interface]) -> Vec<LinkChange> {
        let mut wanted = self.resolve(interfaces);
        wanted.retain_mut(|link| match self.uses.get(&link.info.name) {
            Some(LinkUse::Paused) => false,
            Some(LinkUse::Available) => {
                link.info.preference = PathStatus::Available;
                true
            }
            Some(LinkUse::Backup) => {
                link.info.preference = PathStatus::Backup;
                true
            }
            None => true,
        });
        if self.selection == Links::Routed {
            self.routed_over = self.link_all(interfaces, |_| true);
        }
        let gone = self
            .present
            .iter()
            .filter(|old| !wanted.iter().any(|new| new.info.id == old.info.id))
            .map(|old| LinkChange::Down(old.info.id));
        let new =
            wanted.iter().filter(|new| !self.present.contains(new)).map(|l| LinkChange::Up(l.info.clone()));
        let changes = gone.chain(new).collect();
        self.present = wanted;
        changes
    }

    fn resolve(&mut self, interfaces: &[Interface]) -> Vec<PresentLink> {
        match self.selection.clone() {
            Links::Routed => Vec::new(),
            Links::All => self.all(interfaces),
            Links::AllWithBackups(selectors) => {
                let backups: Vec<PathSpec> = selectors.into_iter().map(PathSpec::backup).collect();
                let mut links = self.chosen(&backups, interfaces);
                // What an interface has beyond the addresses chosen as backups is for regular use.
                let mut others = self.all(interfaces);
                for other in &mut others {
                    let is_backup =
                        |address: &IpAddr| links.iter().any(|link| link.info.addresses.contains(address));
                    other.info.addresses.retain(|address| !is_backup(address));
                }
                links.extend(others.into_iter().filter(|other| !other.info.addresses.is_empty()));
                links
            }
            Links::Only(specs) => self.chosen(&specs, interfaces),
        }
    }

    fn all(&mut self, interfaces: &[Interface]) -> Vec<PresentLink> {
        self.link_all(interfaces, |interface| !interface.is_internal)
    }

    /// A link for each of these interfaces that has an address.
    fn link_all(
        &mut self,
        interfaces: &[Interface],
        wanted: impl Fn(&Interface) -> bool,
    ) -> Vec<PresentLink> {
        let usable = interfaces.iter().filter(|i| wanted(i) && !i.addresses.is_empty());
        usable
            .map(|interface| {
                let spec = PathSpec::available(LinkSelector::Interface(interface.name.clone()));
                self.link(&spec, interface, interface.addresses.clone())
            })
            .collect()
    }

    fn chosen(&mut self, specs: &[PathSpec], interfaces: &[Interface]) -> Vec<PresentLink> {
        let mut links: Vec<PresentLink> = Vec::new();
        for spec in specs {
            if let Some((interface, addresses)) = find(&spec.selector, interfaces) {
                let link = self.link(spec, interface, addresses);
                if !links.iter().any(|other| other.info.id == link.info.id) {
                    links.push(link);
                }
            }
        }
        links
    }

    fn link(&mut self, spec: &PathSpec, interface: &Interface, addresses: Vec<IpAddr>) -> PresentLink {
        let metered = self.metered.iter().any(|selector| match selector {
            LinkSelector::Interface(name) => *name == interface.name,
            LinkSelector::Address(address) => addresses.contains(address),
        });
        let name = spec.selector.to_string();
        let position = self.names.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.names.push(name.clone());
            self.names.len() - 1
        });
        let kind = if interface.is_loopback { LinkKind::Unknown } else { interface.kind };
        PresentLink {
            info: LinkInfo::new(LinkId(u32::try_from(position).unwrap_or(u32::MAX)), name, addresses).with(
                |info| {
                    info.kind = kind;
                    info.preference = spec.status;
                    info.metered = metered;
                },
            ),
            device: (!interface.is_loopback).then(|| interface.name.clone()),
            reach: Reach { networks: interface.networks.clone(), leads_on: interface.leads_on },
        }
    }

    /// The ways to reach `remote`, in order of preference; regular links before backups.
    pub(crate) fn candidates(&self, remote: SocketAddr) -> Vec<Candidate> {
        if self.selection == Links::Routed {
            return vec![self.routed(remote)];
        }
        let mut candidates: Vec<Candidate> = self
            .present
            .iter()
            .filter(|link| self.is_way(link, remote.ip()))
            .filter_map(|link| {
                let source = link.info.source_for(remote.ip())?;
                Some(Candidate {
                    binding: self.bind_to(link, source, remote),
                    status: link.info.preference,
                    name: link.info.name.clone(),
                })
            })
            .collect();
        candidates.sort_by_key(|candidate| candidate.status == PathStatus::Backup);
        if candidates.is_empty() && matches!(self.selection, Links::All | Links::AllWithBackups(_)) {
            // Nothing enumerated fits (netlink not available, an unusual network): let the kernel decide.
            candidates.push(self.routed(remote));
        }
        candidates
    }

    /// Whether a path to `remote` may be worth its place: a link without a route to it is none where others have one. On hosts
    /// with containers most interfaces lead nowhere. A link that was named is used as it is.
    pub(crate) fn leads_to(&self, link: LinkId, remote: IpAddr) -> bool {
        self.present
            .iter()
            .find(|present| present.info.id == link)
            .is_some_and(|link| self.is_way(link, remote))
    }

    fn is_way(&self, link: &PresentLink, remote: IpAddr) -> bool {
        let is_chosen =
            matches!(self.selection, Links::Only(_)) || link.info.preference == PathStatus::Backup;
        is_chosen
            || self.own_addresses.contains(&remote)
            || link.reach.leads_on(remote)
            || link.reach.networks.iter().any(|network| network.contains(remote))
            || !self.present.iter().any(|other| other.reach.leads_on(remote))
    }

    /// How a path manager's choice of link and address is bound; `None` when that link is gone.
    pub(crate) fn binding(&self, link: LinkId, source: IpAddr, remote: SocketAddr) -> Option<Binding> {
        let link = self.present.iter().find(|present| present.info.id == link)?;
        Some(self.bind_to(link, source, remote))
    }

    fn bind_to(&self, link: &PresentLink, source: IpAddr, remote: SocketAddr) -> Binding {
        // Packets to one of our own addresses travel over loopback; a socket bound to another device would never see
        // the replies.
        let is_own = self.own_addresses.contains(&remote.ip());
        Binding {
            address: SocketAddr::new(source, 0),
            device: if is_own { None } else { link.device.clone() },
            link: Some(link.info.id),
            report_errors: true,
            sharing: Sharing::Alone,
        }
    }

    fn routed(&self, remote: SocketAddr) -> Candidate {
        Candidate {
            binding: Binding {
                address: wildcard_for(remote),
                device: None,
                link: None,
                report_errors: true,
                sharing: Sharing::Alone,
            },
            status: PathStatus::Available,
            name: "default route".to_owned(),
        }
    }

    /// What can be assumed of the links that were named, where the machine's interfaces cannot be listed (sandboxes without
    /// netlink, Android): that an address is one of this machine, and that an interface has whichever the routing table gives.
    pub(crate) fn named_interfaces(&self) -> Vec<Interface> {
        let Links::Only(specs) = &self.selection else { return Vec::new() };
        let named = specs.iter().zip(1..).map(|(spec, index)| {
            let (addresses, is_loopback) = match &spec.selector {
                LinkSelector::Address(address) => (vec![*address], true),
                LinkSelector::Interface(_) => {
                    (vec![Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()], false)
                }
            };
            Interface {
                index,
                name: spec.selector.to_string(),
                kind: LinkKind::Unknown,
                // Then no device is named to the kernel: an address is no name of one.
                is_loopback,
                is_internal: false,
                addresses,
                networks: Vec::new(),
                leads_on: (true, true),
            }
        });
        named.collect()
    }

    /// The user's links, for messages.
    pub(crate) fn describe(&self) -> String {
        match &self.selection {
            Links::All | Links::AllWithBackups(_) => "all interfaces".to_owned(),
            Links::Routed => "the default route".to_owned(),
            Links::Only(specs) => {
                let named = specs.iter().map(|spec| spec.selector.to_string()).collect::<Vec<_>>().join(", ");
                let is_unknown = |spec: &&PathSpec| match &spec.selector {
                    LinkSelector::Interface(name) => !self.interfaces.iter().any(|known| known.name == *name),
                    LinkSelector::Address(address) => !self.own_addresses.contains(address),
                };
                let unknown: Vec<String> =
                    specs.iter().filter(is_unknown).map(|spec| spec.selector.to_string()).collect();
                if unknown.is_empty() || self.interfaces.is_empty() {
                    return named;
                }
                format!(
                    "{named}; there is no {} that is up here; there are: {}",
                    unknown.join(", no "),
                    self.interfaces.iter().map(|known| known.name.as_str()).collect::<Vec<_>>().join(", ")
                )
            }
        }
    }
}

fn find<'a>(selector: &LinkSelector, interfaces: &'a [Interface]) -> Option<(&'a Interface, Vec<IpAddr>)> {
    match selector {
        LinkSelector::Interface(name) => {
            let interface = interfaces.iter().find(|interface| interface.name == *name)?;
            (!interface.addresses.is_empty()).then(|| (interface, interface.addresses.clone()))
        }
        LinkSelector::Address(address) => {
            // All of 127.0.0.0/8 is local although only one address of it is listed.
            let interface = interfaces.iter().find(|interface| {
                interface.addresses.contains(address) || (interface.is_loopback && address.is_loopback())
            })?;
            Some((interface, vec![*address]))
        }
    }
}

#[cfg(test)]
mod tests;
