//! The scenario file: which hosts, links and flows exist, and how they behave over time.
//!
//! One TOML file means the same to the simulator, which runs it in virtual time, and to the emulator, which puts any
//! program behind its links. A client and a server joined by two links, over which the client downloads 10 MB:
//!
//! ```toml
//! version = 1                 # of this format
//! seed = 1                    # for everything random
//! duration = "60 s"           # longest time a run may take
//!
//! [[link]]                    # what the first host sees as an interface
//! name = "wifi0"
//! rate = "40 Mbit/s"
//! delay = "15 ms"             # one way
//! outage = [{ from = "20 s", to = "30 s" }]
//! [link.up]                   # client to server: what differs there
//! rate = "10 Mbit/s"
//!
//! [[link]]
//! name = "lte0"
//! rate = "25 Mbit/s"
//! delay = { steps = [["0 s", "35 ms"], ["20 s", "60 ms"]] }
//! via = ["core"]
//!
//! [[segment]]                 # a link inside the network
//! name = "core"
//! rate = "30 Mbit/s"
//!
//! [[flow]]
//! name = "main"
//! kind = "bulk"
//! size = "10 MB"
//! ```
//!
//! `docs/scenarios.md` lists every section, field, form, unit and default.
//!
//! Reading has two steps. First the file, the files it includes and the overrides of the command line become one
//! tree of values, each of which remembers where it was written. Then the tree is read field by field into a
//! [`Scenario`], whose parts are plain data; its link models are those of `hawser-link`. Whatever is wrong gives one
//! message with file, line, field and what is allowed there.
//!
//! A [`Plan`] names many scenarios at once: a sweep over files, fields and seeds.

mod departures;
mod document;
mod error;
mod files;
mod flow;
mod layout;
mod load;
mod mix;
mod nearest;
mod plan;
mod read;
mod source;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

pub use departures::Departures;
pub use error::{LoadError, ScenarioError};
pub use files::{Files, Folder, files_matching};
pub use flow::{Flow, FlowKind, Pattern};
pub use hawser_link::Direction;
pub use layout::Layout;
pub use load::{load, load_with};
pub use mix::{MixPackets, MixWeb, TunnelMix};
pub use nearest::nearest;
pub use plan::{Cell, Plan, load_plan, load_plan_with};
pub use source::{SceneSource, SourceKind};

use hawser_link::{DirectionConfig, Nanos, Series, derive_seed, nanos};
use hawser_policy::{Composition, CostCap, Registry};
use hawser_radio::{ForecastQuality, Profile};

/// What to read.
pub struct ReadOptions<'a, 'f> {
    /// The text of the scenario.
    pub text: &'a str,
    /// Its name for messages.
    pub file: &'a str,
    /// Each a `KEY=VALUE`: the path of a field, such as `link.wifi0.down.rate`, and a TOML value, or else the text of
    /// a string. They replace what the file says; a field of a link as a whole also those of its directions.
    pub overrides: &'a [String],
    /// The files that the scenario names.
    pub files: &'a mut (dyn Files + 'f),
    /// The policies that exist; `None`: any name and parameter will do.
    pub registry: Option<&'a Registry>,
}

/// A scenario, read and checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Its name, or that of its file.
    pub name: String,
    /// What it is about; may be empty.
    pub description: String,
    /// Seed of everything random.
    pub seed: u64,
    /// Longest time a run may take.
    pub duration: Option<Duration>,
    /// Whether the kernel's MPTCP is set up over all links.
    pub mptcp: bool,
    /// Names of the hosts in the order of their first appearance.
    pub hosts: Vec<String>,
    /// What the scenes were made from, in the order of the file.
    pub scenes: Vec<SceneSource>,
    /// The links, in the order of the file; at least one. A link ends at a host, which sees it as an interface.
    pub links: Vec<ScenarioLink>,
    /// Links inside the network, which no host sees; routes lead over them.
    pub segments: Vec<Segment>,
    /// What is sent; empty: what [`Scenario::traffic`] says.
    pub flows: Vec<Flow>,
    /// How connections behave unless a flow says otherwise.
    pub transport: Transport,
    /// When a simulation is given up.
    pub limits: Limits,
}

/// An access link: from a host (its interface) into the network, and over `via` to another host.
#[derive(Debug, Clone, PartialEq)]
pub struct ScenarioLink {
    /// Name, unique among links and segments, also of the interface.
    pub name: String,
    /// The hosts at its ends, as indices into [`Scenario::hosts`]; `up` leads from the first to the second. The first
    /// sees the link as an interface and opens connections, the second is reached over it.
    pub between: [usize; 2],
    /// What carries it.
    pub medium: Medium,
    /// Whether it carries data only when no other link does.
    pub backup: bool,
    /// Whether its user pays by volume.
    pub metered: bool,
    /// What it may carry in a period, both directions together; `None` if that does not matter.
    pub cap: Option<CostCap>,
    /// From the first host into the network.
    pub up: DirectionConfig,
    /// From the network to the first host.
    pub down: DirectionConfig,
    /// Segments between this link and the second host, in the order of `up`.
    pub via: Via,
    /// For how long the link carries nothing when a policy attaches it elsewhere, nanoseconds. With it policies are told where
    /// it could be attached, and a link of a scene may be attached to any site within reach; without it links of several routes
    /// change at once, and policies have to know where to.
    pub attach_outage: Option<Nanos>,
    /// Whether the interface loses its address in the outages of [`up`](ScenarioLink::up) and has one again after them, which its
    /// host is told at once; without it outages are silent.
    pub detaches: bool,
    /// When a NAT on the way forgets its mapping: from then on the second host sees another address. Sorted.
    pub nat_rebinding: Vec<Nanos>,
    /// What happens to the link and when, such as `handover start, cell 12`, for reports. In order of time.
    pub marks: Vec<(Nanos, String)>,
    /// What can be foreseen of it, or of the segment behind it that follows a scene; `None` without a scene.
    pub forecasts: Option<ForecastSource>,
    /// By how much later than they are the outages of [`up`](ScenarioLink::up) are foreseen, on a link without a scene; `None` if they
    /// are not.
    pub foreseen_outages: Option<Duration>,
}

/// What policies at its ends may know of a link: the parts of a `hawser_radio::ProfileObserver`.
#[derive(Debug, Clone, PartialEq)]
pub struct ForecastSource {
    /// Means over time and positions, without what nobody can foresee.
    pub profile: Arc<Profile>,
    /// How well that is known.
    pub quality: ForecastQuality,
}

/// The segments that a link leads over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Via {
    /// Each a list of indices into [`Scenario::segments`].
    pub alternatives: Vec<Vec<usize>>,
    /// Which of them is in use at which time.
    pub schedule: Series<usize>,
}

/// A link inside the network.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// Name, unique among links and segments.
    pub name: String,
    /// In the direction of `up` of the links that lead over it.
    pub up: DirectionConfig,
    /// The other direction.
    pub down: DirectionConfig,
}

/// What carries a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Medium {
    /// Cable or fibre.
    Wired,
    /// IEEE 802.11.
    Wifi,
    /// 4G or 5G.
    Cellular,
    /// A satellite terminal.
    Satellite,
    /// Not said.
    #[default]
    Unknown,
}

/// How connections behave.
#[derive(Debug, Clone, PartialEq)]
pub struct Transport {
    /// The policies; what is not said is left to the registry's defaults.
    pub policies: Composition,
    /// Real TLS with a seeded provider instead of the null session.
    pub tls: bool,
    /// Cap of the receive windows of a connection, bytes; `None`: the transport's own.
    pub receive_window: Option<u64>,
    /// Cap of what is buffered for sending, bytes; `None`: the transport's own.
    pub send_buffer: Option<u64>,
    /// Longest time an acknowledgement is held; `None`: the transport's own.
    pub max_ack_delay: Option<Nanos>,
    /// No probe timeout is shorter.
    pub least_timeout: Nanos,
    /// Losses and timers are judged as RFC 9002 says, and nothing else.
    pub rfc9002: bool,
    /// Round trips until the application may send: more than one are waited for on top of the handshake, as with TCP and TLS.
    pub setup_rounds: u32,
    /// How long a connection lives without hearing anything; `None`: the transport's own.
    pub idle_timeout: Option<Nanos>,
    /// Largest UDP payload; `None`: as path MTU discovery finds.
    pub max_datagram: Option<u16>,
    /// Whether packets are marked ECN-capable.
    pub ecn: bool,
}

/// When a simulation is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Events; the default is 10^9.
    pub events: u64,
}

impl Scenario {
    /// Reads a scenario. `file` is its name for messages; `read_file` returns the text of a file named in the
    /// scenario, or a sentence that says why it cannot.
    ///
    /// # Errors
    /// Fails on the first mistake, naming line, field and what is allowed there.
    pub fn parse(
        text: &str,
        file: &str,
        mut read_file: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<Self, ScenarioError> {
        Scenario::read(ReadOptions { text, file, overrides: &[], files: &mut read_file, registry: None })
    }

    /// Reads a scenario with overrides.
    ///
    /// # Errors
    /// Fails on the first mistake, naming file, line, field and what is allowed there.
    pub fn read(options: ReadOptions<'_, '_>) -> Result<Self, ScenarioError> {
        read::scenario(options)
    }

    /// What is sent: the flows of the file, or the download that takes their place when there are none.
    pub fn traffic(&self) -> Cow<'_, [Flow]> {
        if !self.flows.is_empty() {
            return Cow::Borrowed(&self.flows);
        }
        let between = self.links.first().map_or([0, 1], |link| link.between);
        let links = self.links.iter().enumerate().filter(|(_, link)| link.between == between);
        Cow::Owned(vec![Flow {
            name: "main".to_owned(),
            client: between[0],
            links: links.map(|(index, _)| index).collect(),
            start: 0,
            stop: None,
            count: 1,
            policies: Composition::default(),
            kind: FlowKind::Bulk { direction: Direction::Down, size: None },
            awaited: false,
            pattern: None,
        }])
    }

    /// The policies of a flow's connections: its own over those of the scenario.
    pub fn policies_of(&self, flow: &Flow) -> Composition {
        flow.policies.over(&self.transport.policies)
    }

    /// Capacity of all links together in one direction from the start until `until`, bit/s, outages counted as zero and
    /// random rates with the steps that they take with this seed; `None` if a link is unlimited.
    pub fn mean_rate(&self, direction: Direction, until: Duration) -> Option<u64> {
        let until = nanos(until);
        let realised = |link: &ScenarioLink| {
            link.direction(direction).realised(self.seed_of(&link.name, direction), until)
        };
        self.links.iter().map(|link| realised(link).mean_rate(until)).sum()
    }

    /// Seed of one direction of the link or segment of this name.
    pub fn seed_of(&self, name: &str, direction: Direction) -> u64 {
        derive_seed(self.seed, &format!("{name}/{}", direction.name()))
    }

    /// The index of a host.
    pub fn host(&self, name: &str) -> Option<usize> {
        self.hosts.iter().position(|host| host == name)
    }
}

impl Default for Transport {
    fn default() -> Self {
        Transport {
            policies: Composition::default(),
            tls: false,
            receive_window: None,
            send_buffer: None,
            max_ack_delay: None,
            least_timeout: 0,
            rfc9002: false,
            setup_rounds: 1,
            idle_timeout: None,
            max_datagram: None,
            ecn: true,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits { events: 1_000_000_000 }
    }
}

impl Via {
    /// Straight to the other host.
    pub fn nothing() -> Self {
        Via { alternatives: vec![Vec::new()], schedule: Series::constant(0) }
    }
}

impl Segment {
    /// The parameters of one direction.
    pub fn direction(&self, direction: Direction) -> &DirectionConfig {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }
}

impl ScenarioLink {
    /// The parameters of one direction.
    pub fn direction(&self, direction: Direction) -> &DirectionConfig {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }

    /// The parameters of one direction once the link follows another profile than that of its scene: it was attached elsewhere.
    pub fn following(&self, direction: Direction, profile: &Profile) -> DirectionConfig {
        let config = self.direction(direction);
        let samples = |profile: &'_ Profile| match direction {
            Direction::Up => profile.up.clone(),
            Direction::Down => profile.down.clone(),
        };
        // What the file adds to the delay of the scene.
        let given = self.forecasts.as_ref().and_then(|source| samples(&source.profile).first().copied());
        let more = config.delay.base.value_at(0).saturating_sub(given.map_or(0, |sample| sample.delay));
        let channel = read::channel(&samples(profile), more);
        DirectionConfig {
            rate: channel.rate,
            delay: hawser_link::DelayModel { base: channel.delay, ..config.delay.clone() },
            loss: channel.loss,
            outages: channel.outages,
            ..config.clone()
        }
    }
}

#[cfg(test)]
mod tests;
