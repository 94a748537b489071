use std::net::IpAddr;
use std::time::Duration;

use crate::{LinkId, PathStatus, Rate, Time};

/// What carries a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum LinkKind {
    /// Cable or fibre.
    Wired,
    /// IEEE 802.11.
    Wifi,
    /// 4G or 5G.
    Cellular,
    /// A satellite terminal.
    Satellite,
    /// Not known.
    #[default]
    Unknown,
}

/// A local link as the driver sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkInfo {
    /// Number given by the driver.
    pub id: LinkId,
    /// Interface name, for example `wlan0`.
    pub name: String,
    /// Addresses usable as source.
    pub addresses: Vec<IpAddr>,
    /// Medium.
    pub kind: LinkKind,
    /// What the user wants it used for.
    pub preference: PathStatus,
    /// Whether the user pays by volume.
    pub metered: bool,
}

impl LinkInfo {
    /// The address from which `remote` can be reached over this link: of its family and scope.
    pub fn source_for(&self, remote: IpAddr) -> Option<IpAddr> {
        self.addresses.iter().copied().find(|address| {
            address.is_ipv4() == remote.is_ipv4()
                && address.is_loopback() == remote.is_loopback()
                && is_link_local(*address) == is_link_local(remote)
        })
    }
}

fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

/// State of a link at one moment, measured or predicted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkState {
    /// Whether it carries anything.
    pub up: bool,
    /// Rate in the sending direction.
    pub capacity: Option<Rate>,
    /// Packet error probability.
    pub loss: Option<f64>,
    /// Propagation delay.
    pub delay: Option<Duration>,
    /// Position (metres east and north of an origin, altitude), when known.
    pub position: Option<[f64; 3]>,
}

/// A predicted state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// When it will hold.
    pub at: Time,
    /// What is expected.
    pub state: LinkState,
    /// Standard deviation of the capacity forecast in bit/s, if known.
    pub capacity_deviation: Option<f64>,
}

/// News of a local link, pushed to every policy that decides on it: the driver asks its [`LinkObserver`] and hands
/// the answer to the core, so that a policy needs no shared observer and a run stays reproducible.
#[derive(Clone, Copy, Debug)]
pub struct LinkUpdate<'a> {
    /// When.
    pub now: Time,
    /// The link; [`PathView::link`](crate::PathView::link) tells which paths use it.
    pub link: LinkId,
    /// Its state now.
    pub state: LinkState,
    /// Its expected states in order of time; may be empty.
    pub forecasts: &'a [Forecast],
}

/// What a moving peer reports of one of its links (MAMS: W. Yang and others, ToN 2024, figure 3). A report may lower, never raise,
/// what is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MobilityReport {
    /// The path it concerns, by the id both ends share.
    pub path: crate::PathId,
    /// State and forecast.
    pub forecast: Forecast,
}

/// Knows what the local links do now and will do.
pub trait LinkObserver: Send {
    /// The state now; `None` when nothing is known.
    fn observe(&mut self, now: Time, link: LinkId) -> Option<LinkState>;

    /// The state expected at a later time.
    fn forecast(&mut self, now: Time, link: LinkId, at: Time) -> Option<Forecast>;
}
