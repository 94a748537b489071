//! The mobility gauntlet: what happens to a bulk transfer when addresses change and paths misbehave, in virtual time.
//!
//! A [`Case`] moves one host about and measures what that cost: time beyond an undisturbed run, packets that queues dropped,
//! bytes sent again, bytes that left beyond the congestion window. "It ended" is not among the measures, because a sender
//! without congestion control ends too. Each [`Measure`] has its bound, close to the least possible, and says whether it
//! holds.
//!
//! ```
//! # use hawser_sim::gauntlet::{self, Setting};
//! # let mut registry = hawser_policy::Registry::new();
//! # hawser_sched::register(&mut registry);
//! # hawser_paths::register(&mut registry);
//! # hawser_cc::register(&mut registry);
//! let case = gauntlet::CASES.iter().find(|case| case.name == "download-port-rebinding").expect("it is listed");
//! for measure in case.run(&Setting { registry: &registry, scheduler: "default", controller: "cubic", seed: 1, priorities: true }) {
//!     println!("{measure}: {}", measure.holds());
//! }
//! ```

mod bed;
mod bulk;
mod lasting;
mod misbehaving;
mod moving;
mod round_trips;
mod urgent;

use std::fmt;

use hawser_policy::Registry;

/// What a case runs with.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// Where the policies come from.
    pub registry: &'a Registry,
    /// Name of the scheduler at both ends, or of a policy set. Cases that are about one policy's behaviour use that one.
    pub scheduler: &'a str,
    /// Name of the congestion controller at both ends; a policy set has its own.
    pub controller: &'a str,
    /// Decides everything random.
    pub seed: u64,
    /// Whether urgent data is marked as such. Without, cases about priorities show what they are worth.
    pub priorities: bool,
}

/// Something that happens to a connection, and what it may cost.
#[derive(Clone, Copy)]
pub struct Case {
    /// Short, unique.
    pub name: &'static str,
    /// What happens, in one line.
    pub about: &'static str,
    pub(crate) run: fn(&Setting<'_>) -> Vec<Measure>,
}

impl Case {
    /// Runs it.
    ///
    /// # Panics
    /// If the connection cannot be made at all, or a name is not registered.
    pub fn run(&self, setting: &Setting<'_>) -> Vec<Measure> {
        (self.run)(setting)
    }
}

/// A figure and its bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measure {
    /// What was measured.
    pub name: &'static str,
    /// How much it was.
    pub value: f64,
    /// Of what.
    pub unit: &'static str,
    /// What it must be.
    pub bound: Bound,
}

/// The bound of a measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// This or less.
    AtMost(f64),
    /// This or more.
    AtLeast(f64),
}

impl Measure {
    /// A measure that must not exceed `limit`.
    pub fn at_most(name: &'static str, value: f64, unit: &'static str, limit: f64) -> Self {
        Measure { name, value, unit, bound: Bound::AtMost(limit) }
    }

    /// A measure that must reach `least`.
    pub fn at_least(name: &'static str, value: f64, unit: &'static str, least: f64) -> Self {
        Measure { name, value, unit, bound: Bound::AtLeast(least) }
    }

    /// Whether it keeps its bound.
    pub fn holds(&self) -> bool {
        match self.bound {
            Bound::AtMost(limit) => self.value <= limit,
            Bound::AtLeast(least) => self.value >= least,
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Measure { name, value, unit, bound } = self;
        let (sign, bound) = match bound {
            Bound::AtMost(limit) => ("<=", limit),
            Bound::AtLeast(least) => (">=", least),
        };
        write!(f, "{name} {value:.1} {unit} ({sign} {bound:.1})")
    }
}

/// All cases.
pub const CASES: &[Case] = &[
    Case {
        name: "download-port-rebinding",
        about: "a NAT gives the client another port while it downloads",
        run: moving::download_port_rebinding,
    },
    Case {
        name: "upload-port-rebinding",
        about: "a NAT gives the client another port while it uploads",
        run: moving::upload_port_rebinding,
    },
    Case {
        name: "download-address-rebinding",
        about: "a NAT gives the client another address while it downloads",
        run: moving::download_address_rebinding,
    },
    Case {
        name: "upload-address-rebinding",
        about: "a NAT gives the client another address while it uploads",
        run: moving::upload_address_rebinding,
    },
    Case {
        name: "download-return",
        about: "another address, and back before the old one is forgotten, while the client downloads",
        run: moving::download_return,
    },
    Case {
        name: "download-migration",
        about: "the client migrates its path to an equal link while it downloads",
        run: moving::download_migration,
    },
    Case {
        name: "upload-migration",
        about: "the client migrates its path to an equal link while it uploads",
        run: moving::upload_migration,
    },
    Case {
        name: "upload-migration-to-another-port",
        about: "the client migrates its path to another port of its address while it uploads",
        run: moving::upload_migration_to_another_port,
    },
    Case {
        name: "upload-migration-to-a-dead-link",
        about: "the client migrates its path to a link on which nobody answers, and falls back",
        run: moving::upload_migration_to_a_dead_link,
    },
    Case {
        name: "rebinding-every-5-s",
        about: "a NAT gives the client another port every 5 s, for 60 MB",
        run: moving::rebinding_every_5_s,
    },
    Case {
        name: "trickling-path",
        about: "a second path of 100 kbit/s with two seconds of buffer next to one of 20 Mbit/s",
        run: misbehaving::trickling_path,
    },
    Case {
        name: "trickling-use",
        about: "a scheduler gives a path of 20 Mbit/s every fiftieth packet only",
        run: misbehaving::trickling_use,
    },
    Case {
        name: "marking-queue",
        about: "the queue of one of two paths marks beyond 10 ms instead of dropping",
        run: misbehaving::marking_queue,
    },
    Case {
        name: "abandon-while-copies-wait",
        about: "one of two paths is abandoned while copies are queued for it",
        run: misbehaving::abandon_while_copies_wait,
    },
    Case {
        name: "both-abandon-one-dead",
        about: "both ends abandon different ones of three paths at once, and one of these is dead",
        run: misbehaving::both_abandon_one_dead,
    },
    Case {
        name: "suspect-path-left-alone",
        about: "a silent path becomes the only one before its link carries again",
        run: lasting::suspect_left_alone,
    },
    Case {
        name: "key-updates-beside-an-idle-path",
        about: "keys are updated three times while a path is idle, which then has to carry everything",
        run: lasting::key_updates_beside_an_idle_path,
    },
    Case {
        name: "mixed-return-paths",
        about: "acknowledgements of both paths return now on one, now on the other, at 1 to 16 Mbit/s",
        run: round_trips::mixed_return_paths,
    },
    Case {
        name: "urgent-message-next-to-a-dead-path",
        about: "a link of 100 Mbit/s dies with bulk of low priority on it; messages go on over one of 5 Mbit/s",
        run: urgent::behind_the_bulk_of_a_dead_path,
    },
];
