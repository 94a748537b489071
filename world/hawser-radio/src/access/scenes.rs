use super::{Access, Layout};
use crate::error::Check;
use crate::math::seconds;
use crate::mobility::{CityDrive, RandomWalk, RecordedTrack, StraightRoad, TrackFormat, Trajectory};
use crate::random::{Draws as _, Random};
use crate::{Profile, RadioError, Scene};

/// A drive on a straight road with sparse sites (MAMS, ToN 2024, section V: highway). One link per network.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct Highway {
    /// m/s. Default 20; the paper also has 40.
    pub speed: f64,
    /// Metres between the sites of one network. Default 4000.
    pub spacing: f64,
    /// Where the host starts, metres from a site of offset 0; `None` draws it. Default `None`.
    pub start: Option<f64>,
    /// The networks. Default: WiFi 10 Mbit/s and LTE 5 Mbit/s, their sites half a spacing apart.
    pub links: Vec<Access>,
}

impl Default for Highway {
    fn default() -> Self {
        Highway {
            speed: 20.0,
            spacing: 4000.0,
            start: None,
            links: vec![Access::wifi(10e6), Access::lte(5e6)],
        }
    }
}

impl Scene for Highway {
    fn links(&self) -> usize {
        self.links.len()
    }

    fn profiles(&self, duration_ns: u64, seed: u64) -> Result<Vec<Profile>, RadioError> {
        let check = Check("highway");
        check.duration(duration_ns)?;
        check.not_negative("speed", self.speed)?;
        check.positive("spacing", self.spacing)?;
        // Beyond these the host is at another site in every tick, and the samples mean nothing.
        check.that(self.speed <= 1e6, "speed", self.speed, "at most 1000000 m/s")?;
        check.that(self.spacing >= 1.0, "spacing", self.spacing, "at least 1 m")?;
        some_links(check, &self.links)?;
        let start = self.start.unwrap_or_else(|| Random::new(seed, "start").between(0.0, self.spacing));
        check.finite("start", start)?;
        let trajectory = StraightRoad { speed: self.speed, start }.trajectory(seconds(duration_ns));
        let layout =
            |link: &Access| Layout::Line { spacing: self.spacing, offset: link.offset * self.spacing };
        all(check, &self.links, layout, &trajectory, duration_ns, seed)
    }
}

/// A drive through a city of hexagonal cells (MAMS, ToN 2024, section V: urban). One link per network.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct Urban {
    /// The drive. Default 30 km/h on average.
    pub drive: CityDrive,
    /// Metres between the centres of neighbouring cells. Default 200.
    pub distance: f64,
    /// The networks. Default: WiFi 200 Mbit/s and LTE 50 Mbit/s; each network's grid is moved against the first one's
    /// by its `offset`, as a share of the distance.
    pub links: Vec<Access>,
}

impl Default for Urban {
    fn default() -> Self {
        Urban {
            drive: CityDrive::default(),
            distance: 200.0,
            links: vec![Access::wifi(200e6), Access::lte(50e6)],
        }
    }
}

impl Scene for Urban {
    fn links(&self) -> usize {
        self.links.len()
    }

    fn profiles(&self, duration_ns: u64, seed: u64) -> Result<Vec<Profile>, RadioError> {
        let check = Check("urban");
        check.duration(duration_ns)?;
        check.positive("distance", self.distance)?;
        some_links(check, &self.links)?;
        let trajectory = self.drive.trajectory(seconds(duration_ns), seed)?;
        let layout = Layout::Hexagons { distance: self.distance };
        let mut profiles = Vec::with_capacity(self.links.len());
        for (index, link) in self.links.iter().enumerate() {
            // Moving the host moves the grid the other way.
            let moved = trajectory.shifted([-link.offset * self.distance, 0.0]);
            let mut profile = link.drive(check, &layout, &moved, duration_ns, link_seed(seed, index))?;
            profile.positions = trajectory.positions(duration_ns);
            profiles.push(profile);
        }
        Ok(profiles)
    }
}

/// How a host of [`Roaming`] moves.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Motion {
    /// Not at all.
    Still {
        /// Where it is, metres.
        at: [f64; 2],
    },
    /// Straight along the first axis.
    Straight {
        /// m/s.
        speed: f64,
        /// Metres.
        start: f64,
    },
    /// Through a city.
    City(CityDrive),
    /// In random directions.
    Walk(RandomWalk),
    /// As recorded.
    Track {
        /// CSV text, see [`RecordedTrack`].
        csv: String,
        /// What its columns are.
        format: TrackFormat,
    },
}

/// Any motion among any sites: a host at rest, a pedestrian, a recorded drive. One link per network.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct Roaming {
    /// How the host moves. Default: a pedestrian within 200 m by 200 m.
    pub motion: Motion,
    /// Where the sites of all networks are. Default: squares of 100 m.
    pub layout: Layout,
    /// The networks. Default: WiFi 50 Mbit/s and LTE 20 Mbit/s with shadowing of 6 dB and 10 m.
    pub links: Vec<Access>,
}

impl Default for Roaming {
    fn default() -> Self {
        let shadowing = crate::propagation::Shadowing { deviation_db: 6.0, decorrelation: 10.0 };
        let outdoors = |access: Access| Access {
            exponent: 3.5,
            shadowing,
            minimum_distance: 3.0,
            hand_over: super::HandOver { hysteresis_db: 3.0, detach_dbm: -105.0, ..access.hand_over },
            ..access
        };
        Roaming {
            motion: Motion::Walk(RandomWalk::default()),
            layout: Layout::Squares { distance: 100.0 },
            links: vec![
                Access { one_way_delay: 0.010, ..outdoors(Access::wifi(50e6)) },
                outdoors(Access::lte(20e6)),
            ],
        }
    }
}

impl Scene for Roaming {
    fn links(&self) -> usize {
        self.links.len()
    }

    fn profiles(&self, duration_ns: u64, seed: u64) -> Result<Vec<Profile>, RadioError> {
        let check = Check("roaming");
        check.duration(duration_ns)?;
        some_links(check, &self.links)?;
        let duration = seconds(duration_ns);
        let trajectory = match &self.motion {
            Motion::Still { at } => {
                check.that(
                    at.iter().all(|x| x.is_finite()),
                    "motion.still.at",
                    format!("{at:?}"),
                    "metres",
                )?;
                Trajectory::still(*at)
            }
            Motion::Straight { speed, start } => {
                check.not_negative("motion.straight.speed", *speed)?;
                check.finite("motion.straight.start", *start)?;
                StraightRoad { speed: *speed, start: *start }.trajectory(duration)
            }
            Motion::City(drive) => drive.trajectory(duration, seed)?,
            Motion::Walk(walk) => walk.trajectory(duration, seed)?,
            Motion::Track { csv, format } => RecordedTrack::parse(csv, *format)?.trajectory(),
        };
        all(check, &self.links, |_| self.layout.clone(), &trajectory, duration_ns, seed)
    }
}

fn all(
    check: Check,
    links: &[Access],
    layout: impl Fn(&Access) -> Layout,
    trajectory: &Trajectory,
    duration_ns: u64,
    seed: u64,
) -> Result<Vec<Profile>, RadioError> {
    links
        .iter()
        .enumerate()
        .map(|(index, link)| {
            link.drive(check, &layout(link), trajectory, duration_ns, link_seed(seed, index))
        })
        .collect()
}

fn some_links(check: Check, links: &[Access]) -> Result<(), RadioError> {
    check.that(!links.is_empty(), "links", "an empty list", "at least one network")
}

/// Two links of one kind and name must not share their draws.
pub(super) fn link_seed(seed: u64, index: usize) -> u64 {
    crate::random::component_seed(seed, &format!("link {index}"))
}
