//! Links, buffers, losses, and who shares the bottleneck.

use std::time::Duration;

use super::Settings;

/// Buffers of the bottleneck, in bandwidth-delay products.
pub const BUFFERS: [f64; 3] = [0.1, 1.0, 8.0];
/// Random loss on the access links, beside that of the link itself.
pub const LOSSES: [f64; 3] = [0.0, 0.001, 0.01];
/// Controllers that couple the paths of a connection.
pub const COUPLED: [&str; 8] = ["balia", "coupled-bbr", "dwc", "lia", "maco", "mpcc", "olia", "wvegas"];
/// When the second flow comes, where it comes later.
pub(super) const SECOND_FLOW: Duration = Duration::from_secs(5);

/// A bottleneck of the matrix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// What it is called.
    pub name: &'static str,
    /// Its scenario file.
    pub file: &'static str,
    /// Fields set in it.
    pub set: &'static [&'static str],
    /// Round-trip time without a queue, about; with the mean rate it makes the bandwidth-delay product.
    pub rtt: Duration,
    /// Simulated seconds of a flow alone.
    pub seconds_alone: u64,
}

/// All bottlenecks.
pub const LINKS: [Link; 5] = [
    Link {
        name: "20/20",
        file: "matrix-wired.toml",
        set: &["segment.bottleneck.rate=20 Mbit/s", "link.*.delay=10 ms"],
        rtt: Duration::from_millis(20),
        seconds_alone: 20,
    },
    Link {
        name: "100/50",
        file: "matrix-wired.toml",
        set: &["segment.bottleneck.rate=100 Mbit/s", "link.*.delay=25 ms"],
        rtt: Duration::from_millis(50),
        seconds_alone: 20,
    },
    Link {
        name: "300/100",
        file: "matrix-wired.toml",
        set: &["segment.bottleneck.rate=300 Mbit/s", "link.*.delay=50 ms"],
        rtt: Duration::from_millis(100),
        seconds_alone: 20,
    },
    Link {
        name: "leo",
        file: "matrix-leo.toml",
        set: &[],
        rtt: Duration::from_millis(40),
        seconds_alone: 45,
    },
    Link {
        name: "drive",
        file: "matrix-drive.toml",
        set: &[],
        rtt: Duration::from_millis(50),
        seconds_alone: 45,
    },
];
/// The link on which coupled controllers have two paths through one bottleneck.
pub(super) const SHARED_LINK: &str = "100/50";

/// Who else sends through the bottleneck.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Against {
    /// Nobody.
    Nothing,
    /// A second flow of the same controller, five seconds later.
    Itself,
    /// A flow of CUBIC, from the beginning.
    Cubic,
    /// Two paths of the controller; beside them a flow of NewReno.
    PathsNewReno,
    /// Two paths of the controller; beside them a flow of CUBIC.
    PathsCubic,
}

impl Against {
    /// All of them.
    pub const ALL: [Against; 5] =
        [Against::Nothing, Against::Itself, Against::Cubic, Against::PathsNewReno, Against::PathsCubic];

    /// What it is called in tables.
    pub fn name(self) -> &'static str {
        match self {
            Against::Nothing => "alone",
            Against::Itself => "itself",
            Against::Cubic => "cubic",
            Against::PathsNewReno => "two-paths-newreno",
            Against::PathsCubic => "two-paths-cubic",
        }
    }

    pub(super) fn named(name: &str) -> Option<Against> {
        Against::ALL.into_iter().find(|against| against.name() == name)
    }

    /// Whether the controller has two paths through the bottleneck.
    pub(super) fn has_two_paths(self) -> bool {
        matches!(self, Against::PathsNewReno | Against::PathsCubic)
    }
}

/// One simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The controller, with its parameters.
    pub controller: String,
    /// The bottleneck.
    pub link: Link,
    /// Its buffer, in bandwidth-delay products.
    pub buffer: f64,
    /// Random loss.
    pub loss: f64,
    /// Who else sends.
    pub against: Against,
    /// Of everything random.
    pub seed: u64,
}

impl Cell {
    /// Simulated seconds.
    pub(super) fn seconds(&self, longest: Option<u64>) -> u64 {
        let own = match self.against {
            Against::Nothing => self.link.seconds_alone,
            Against::Cubic => 30,
            Against::Itself | Against::PathsNewReno | Against::PathsCubic => 40,
        };
        longest.map_or(own, |longest| own.min(longest))
    }

    /// Whether the matrix has it: only coupled controllers have two paths, and only on one link; CUBIC beside CUBIC is CUBIC
    /// beside itself.
    fn is_wanted(&self) -> bool {
        let name = self.controller.split(',').next().unwrap_or_default().trim();
        match self.against {
            Against::Nothing | Against::Itself => true,
            Against::Cubic => self.controller.trim() != "cubic",
            Against::PathsNewReno | Against::PathsCubic => {
                COUPLED.contains(&name) && self.link.name == SHARED_LINK
            }
        }
    }
}

/// Every cell of some settings, those of one link, buffer and loss side by side: what is compared is there early.
pub(super) fn cells(settings: &Settings) -> Vec<Cell> {
    let wanted = |link: &Link| settings.links.is_empty() || settings.links.iter().any(|it| it == link.name);
    let mut cells = Vec::new();
    for seed in 1..=settings.seeds {
        for link in LINKS.into_iter().filter(wanted) {
            for (buffer, loss) in BUFFERS.into_iter().flat_map(|buffer| LOSSES.map(|loss| (buffer, loss))) {
                for controller in &settings.controllers {
                    let of =
                        |against| Cell { controller: controller.clone(), link, buffer, loss, against, seed };
                    cells.extend(Against::ALL.map(of).into_iter().filter(Cell::is_wanted));
                }
            }
        }
    }
    cells
}
