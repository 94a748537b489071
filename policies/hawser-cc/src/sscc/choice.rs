//! The controllers that are chosen among.

use std::fmt;

/// How many there are.
pub const CANDIDATES: usize = 6;

/// A single-path controller that may be chosen (table 5.3 of the thesis).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Candidate {
    /// Model-based: speed and little delay, random losses do no harm.
    Bbr,
    /// Loss-based: long fast links with few losses.
    Cubic,
    /// Delay-based: little delay.
    Vegas,
    /// Loss-based with a guard of delay: cellular links.
    C2tcp,
    /// Loss-based with an estimate of bandwidth: wireless links.
    Westwood,
    /// Loss and delay: speed with little delay.
    Illinois,
}

impl Candidate {
    /// All, in the order of numbers.
    pub const ALL: [Candidate; CANDIDATES] = [
        Candidate::Bbr,
        Candidate::Cubic,
        Candidate::Vegas,
        Candidate::C2tcp,
        Candidate::Westwood,
        Candidate::Illinois,
    ];

    /// The name in the registry.
    pub const fn name(self) -> &'static str {
        match self {
            Candidate::Bbr => "bbr",
            Candidate::Cubic => "cubic",
            Candidate::Vegas => "vegas",
            Candidate::C2tcp => "c2tcp",
            Candidate::Westwood => "westwood",
            Candidate::Illinois => "illinois",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Candidate> {
        Candidate::ALL.into_iter().find(|candidate| candidate.name() == name)
    }
}

/// What runs on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// OLIA over the paths that share this one's bottleneck.
    Coupled,
    /// A controller of its own.
    Single(Candidate),
}

impl Choice {
    /// The name of its controller in the registry.
    pub const fn name(self) -> &'static str {
        match self {
            Choice::Coupled => "olia",
            Choice::Single(candidate) => candidate.name(),
        }
    }

    /// The one whose controller has this name.
    pub fn named(name: &str) -> Option<Choice> {
        if name == Choice::Coupled.name() {
            return Some(Choice::Coupled);
        }
        Candidate::named(name).map(Choice::Single)
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
