//! Links, what is transferred over them, and every combination.

use std::time::Duration;

use hawser_scenario::{Flow, FlowKind};
use hawser_sched::{Mode, Modes};

use super::Settings;

/// Links of the matrix: a scenario file and fields set in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Links {
    /// What they are called.
    pub name: &'static str,
    /// Their scenario file.
    pub file: &'static str,
    /// Fields set in it.
    pub set: &'static [&'static str],
}

const fn own(name: &'static str, file: &'static str) -> Links {
    Links { name, file, set: &[] }
}

/// All of them.
pub const LINKS: [Links; 11] = [
    own("wifi-lte", "wifi-lte.toml"),
    own("three-links", "three-links.toml"),
    own("two-equal", "two-equal.toml"),
    Links {
        name: "150/50",
        file: "unequal.toml",
        // Buffers of a bandwidth-delay product each.
        set: &[
            "link.fast0.rate=150 Mbit/s",
            "link.fast0.delay=50 ms",
            "link.fast0.queue=1875 kB",
            "link.slow0.rate=50 Mbit/s",
            "link.slow0.delay=10 ms",
            "link.slow0.queue=125 kB",
        ],
    },
    own("starlink-leocc", "starlink-leocc.toml"),
    own("drive-pam", "drive-pam.toml"),
    own("train-tunnel", "train-tunnel.toml"),
    own("bufferbloat-link", "bufferbloat-link.toml"),
    own("dead-first-link", "dead-first-link.toml"),
    own("asymmetric-uplink", "asymmetric-uplink.toml"),
    own("link-dies", "link-dies.toml"),
];

/// What is transferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// A file of 5 MB.
    Small,
    /// A file of 50 MB.
    Large,
    /// A page of 30 objects of 30 kB, all asked for at once.
    Page,
    /// Requests of 200 bytes for answers of 10 kB, 100 ms after the answer before.
    Requests,
    /// 30 frames of 12.5 kB per second, each on a stream: 3 Mbit/s.
    Frames,
    /// Datagrams at 2 Mbit/s.
    Datagrams,
}

/// By what a workload is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judged {
    /// Mean goodput; more is better.
    Goodput,
    /// Time until everything is there; less is better.
    Completion,
    /// 99th percentile of the delay; less is better.
    Delay,
}

impl Workload {
    /// All of them.
    pub const ALL: [Workload; 6] = [
        Workload::Small,
        Workload::Large,
        Workload::Page,
        Workload::Requests,
        Workload::Frames,
        Workload::Datagrams,
    ];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Workload::Small => "5 MB",
            Workload::Large => "50 MB",
            Workload::Page => "page",
            Workload::Requests => "requests",
            Workload::Frames => "frames",
            Workload::Datagrams => "datagrams",
        }
    }

    pub(super) fn named(name: &str) -> Option<Workload> {
        Workload::ALL.into_iter().find(|workload| workload.name() == name)
    }

    /// By what it is judged.
    pub fn judged(self) -> Judged {
        match self {
            Workload::Small | Workload::Large => Judged::Goodput,
            Workload::Page => Judged::Completion,
            Workload::Requests | Workload::Frames | Workload::Datagrams => Judged::Delay,
        }
    }

    /// The mode of the scheduler `modes` that is meant for it.
    pub fn mode(self) -> Mode {
        match self.judged() {
            Judged::Goodput | Judged::Completion => Mode::Aggregate,
            Judged::Delay => Mode::LowLatency,
        }
    }

    /// Longest simulated time.
    pub(super) fn longest(self) -> Duration {
        Duration::from_secs(match self {
            Workload::Small | Workload::Page => 30,
            Workload::Large => 60,
            Workload::Requests | Workload::Frames | Workload::Datagrams => 20,
        })
    }

    /// The flow that takes the place of another, in its direction where it has one.
    pub(super) fn flow(self, other: &Flow) -> Flow {
        let direction = other.kind.direction();
        let requests = FlowKind::Requests {
            request: 200,
            response: 10_000,
            think: Duration::from_millis(100),
            number: None,
            parallel: 1,
            every: None,
        };
        let page = FlowKind::Requests {
            request: 400,
            response: 30_000,
            think: Duration::ZERO,
            number: Some(30),
            parallel: 30,
            every: None,
        };
        let frames = FlowKind::Requests {
            request: 200,
            response: 12_500,
            think: Duration::ZERO,
            number: None,
            parallel: 1_000,
            every: Some(Duration::from_nanos(33_333_333)),
        };
        let kind = match self {
            Workload::Small => FlowKind::Bulk { direction, size: Some(5_000_000) },
            Workload::Large => FlowKind::Bulk { direction, size: Some(50_000_000) },
            Workload::Page => page,
            Workload::Requests => requests,
            Workload::Frames => frames,
            Workload::Datagrams => FlowKind::Datagrams { direction, size: 1_100, rate: 2_000_000 },
        };
        let awaited = matches!(self, Workload::Small | Workload::Large | Workload::Page);
        Flow { kind, stop: None, count: 1, pattern: None, awaited, ..other.clone() }
    }
}

/// One simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The scheduler, with its parameters.
    pub scheduler: String,
    /// The controller of every path.
    pub controller: String,
    /// The links.
    pub links: Links,
    /// What is transferred.
    pub workload: Workload,
    /// Of everything random.
    pub seed: u64,
}

impl Cell {
    /// The scheduler as it runs: `modes` without more is in the mode that the workload is for.
    pub fn policy(&self) -> String {
        match self.scheduler == Modes::NAME {
            true => format!("{},mode={}", Modes::NAME, self.workload.mode().name()),
            false => self.scheduler.clone(),
        }
    }
}

/// Every cell of some settings, those of one workload on the same links side by side: what is compared is there early.
pub(super) fn cells(settings: &Settings) -> Vec<Cell> {
    let mut cells = Vec::new();
    for seed in 1..=settings.seeds {
        for links in chosen_links(settings) {
            for workload in chosen_workloads(settings) {
                for controller in &settings.controllers {
                    cells.extend(settings.schedulers.iter().map(|scheduler| Cell {
                        scheduler: scheduler.clone(),
                        controller: controller.clone(),
                        links,
                        workload,
                        seed,
                    }));
                }
            }
        }
    }
    cells
}

pub(super) fn chosen_links(settings: &Settings) -> impl Iterator<Item = Links> {
    let is_wanted =
        |links: &Links| settings.links.is_empty() || settings.links.iter().any(|it| it == links.name);
    LINKS.into_iter().filter(is_wanted)
}

pub(super) fn chosen_workloads(settings: &Settings) -> impl Iterator<Item = Workload> {
    let wanted = &settings.workloads;
    Workload::ALL.into_iter().filter(|it| wanted.is_empty() || wanted.iter().any(|name| name == it.name()))
}
