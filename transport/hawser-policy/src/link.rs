use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use crate::{LinkId, PathStatus, Rate, Time};

/// What carries a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
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
#[non_exhaustive]
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
    /// Returns an available link that is not metered, of an unknown medium.
    pub fn new(id: LinkId, name: impl Into<String>, addresses: Vec<IpAddr>) -> Self {
        let (kind, preference) = (LinkKind::Unknown, PathStatus::Available);
        LinkInfo { id, name: name.into(), addresses, kind, preference, metered: false }
    }

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

/// What one direction of a link gives.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
#[non_exhaustive]
pub struct LinkDirection {
    /// Rate.
    pub capacity: Option<Rate>,
    /// Packet error probability, 0 to 1.
    pub loss: Option<f64>,
    /// Propagation delay, without the queue of the link itself.
    pub delay: Option<Duration>,
}

/// How well the radio hears what serves it.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
#[non_exhaustive]
pub struct Signal {
    /// Received power in dBm (RSSI, RSRP).
    pub strength_dbm: Option<f64>,
    /// Signal-to-noise ratio in dB (SNR, SINR).
    pub snr_db: Option<f64>,
}

/// What serves a link, or could.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum AttachmentPoint {
    /// A cell, by its global identity (3GPP TS 23.003), or any other number.
    Cell(u64),
    /// A WiFi access point, by its BSSID.
    AccessPoint([u8; 6]),
    /// A satellite, by its catalogue number.
    Satellite(u64),
}

impl fmt::Display for AttachmentPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttachmentPoint::Cell(number) => write!(f, "cell {number}"),
            AttachmentPoint::AccessPoint([a, b, c, d, e, g]) => {
                write!(f, "access point {a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
            }
            AttachmentPoint::Satellite(number) => write!(f, "satellite {number}"),
        }
    }
}

/// An attachment point within reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkCandidate {
    /// Which.
    pub point: AttachmentPoint,
    /// How well it is heard.
    pub signal: Signal,
}

/// The next change of the attachment point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HandOver {
    /// When it begins.
    pub at: Time,
    /// What serves from then on, if that is known.
    pub to: Option<AttachmentPoint>,
    /// How long nothing is carried, if that is known.
    pub interruption: Option<Duration>,
}

impl HandOver {
    /// Returns a handover at a time, to an unknown point and of unknown length.
    pub fn new(at: Time) -> Self {
        HandOver { at, to: None, interruption: None }
    }
}

/// The most candidates of a [`LinkState`]. A source that knows more names those with the best signal.
pub const MAX_LINK_CANDIDATES: usize = 16;

/// How far ahead the forecasts of a [`LinkUpdate`] look where its source names no times of its own (Yang, MMQUIC: the
/// present, half a second and a second ahead).
pub const FORECAST_HORIZONS: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(1)];

/// State of a link at one moment, measured or predicted. What is not known is `None`, or empty.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LinkState {
    /// Whether it carries anything.
    pub is_up: bool,
    /// Towards the network: what this host sends.
    pub uplink: LinkDirection,
    /// From the network: what this host receives.
    pub downlink: LinkDirection,
    /// Of what serves it.
    pub signal: Signal,
    /// What serves it.
    pub attached_to: Option<AttachmentPoint>,
    /// On which radio channel, by the number that its technology gives it (IEEE 802.11: 1 to 233).
    pub channel: Option<u32>,
    /// When something else will.
    pub hand_over: Option<HandOver>,
    /// What else could, at most [`MAX_LINK_CANDIDATES`]; a path manager may ask for one of them
    /// ([`PathAction::Attach`](crate::PathAction::Attach)).
    pub candidates: Vec<LinkCandidate>,
    /// Position (metres east and north of an origin, altitude), when known.
    pub position: Option<[f64; 3]>,
}

impl Default for LinkState {
    /// A link that is up, and of which nothing else is known.
    fn default() -> Self {
        LinkState {
            is_up: true,
            uplink: LinkDirection::default(),
            downlink: LinkDirection::default(),
            signal: Signal::default(),
            attached_to: None,
            channel: None,
            hand_over: None,
            candidates: Vec::new(),
            position: None,
        }
    }
}

/// A predicted state.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Forecast {
    /// When it will hold.
    pub at: Time,
    /// What is expected.
    pub state: LinkState,
    /// Standard deviation of the capacity forecasts in bit/s, if known.
    pub capacity_deviation: Option<f64>,
}

impl Forecast {
    /// Returns a state expected at a time, with an unknown deviation.
    pub fn new(at: Time, state: LinkState) -> Self {
        Forecast { at, state, capacity_deviation: None }
    }
}

/// News of a local link, pushed to every policy that decides on it: the driver asks its [`LinkObserver`] and hands
/// the answer to the core, so that a policy needs no shared observer and a run stays reproducible.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LinkUpdate<'a> {
    /// When.
    pub now: Time,
    /// The link; [`PathView::link`](crate::PathView::link) tells which paths use it.
    pub link: LinkId,
    /// Its state now. [`LinkState::default`] when what was known is too old to hold.
    pub state: &'a LinkState,
    /// Its expected states in order of time; may be empty.
    pub forecasts: &'a [Forecast],
    /// Whether the user pays by volume. Unlike a state it holds until it is said otherwise.
    pub metered: bool,
}

impl<'a> LinkUpdate<'a> {
    /// Returns the state of a link that is not metered, without forecasts.
    pub fn new(now: Time, link: LinkId, state: &'a LinkState) -> Self {
        LinkUpdate { now, link, state, forecasts: &[], metered: false }
    }
}

/// Asks that a link be attached elsewhere, such as WiFi to another access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AttachRequest {
    /// The link.
    pub link: LinkId,
    /// One of its [`LinkState::candidates`], or any other point that the asker knows of.
    pub to: AttachmentPoint,
}

/// What became of an [`AttachRequest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AttachResult {
    /// The link is attached there.
    Attached,
    /// It is not; the link may be where it was, or down.
    Failed,
    /// Nobody at this end can steer this link.
    Unsupported,
}

/// A request to attach a link elsewhere, and what became of it. All connections over the link are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct AttachReport {
    /// What was asked for.
    pub request: AttachRequest,
    /// What became of it.
    pub result: AttachResult,
}

impl AttachReport {
    /// Returns the result of a request.
    pub fn new(request: AttachRequest, result: AttachResult) -> Self {
        AttachReport { request, result }
    }
}

/// Knows what the local links do now and will do.
pub trait LinkObserver: Send {
    /// The links that exist from now on, for a source that knows them by name. Called before the first question and
    /// whenever they change.
    fn on_links(&mut self, _links: &[LinkInfo]) {}

    /// The state now; `None` when nothing is known.
    fn observe(&mut self, now: Time, link: LinkId) -> Option<LinkState>;

    /// The state expected at a later time.
    fn forecast(&mut self, now: Time, link: LinkId, at: Time) -> Option<Forecast>;

    /// The forecasts that go with an update, in order of time: by default those for [`FORECAST_HORIZONS`].
    fn forecasts(&mut self, now: Time, link: LinkId) -> Vec<Forecast> {
        FORECAST_HORIZONS.iter().filter_map(|ahead| self.forecast(now, link, now + *ahead)).collect()
    }
}
