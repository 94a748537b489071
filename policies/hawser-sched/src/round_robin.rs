use hawser_policy::{Assignment, Commands, Decision, ParameterInfo, PathId, PolicyInfo, Scheduler, SendView};

/// Datagrams per turn: one send call's worth of segments on small links, without long bursts.
const DEFAULT_QUANTUM: u64 = 8;

/// RoundRobin: the paths that can send take turns, in order of id.
///
/// A turn is a quantum of datagrams. Blind to delay and rate; useful as a baseline and to exercise every path.
#[derive(Clone, Copy, Debug)]
pub struct RoundRobin {
    quantum: u64,
    last: Option<PathId>,
}

impl RoundRobin {
    /// Its name in the registry.
    pub const NAME: &'static str = "roundrobin";

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        PolicyInfo::new(Self::NAME, "in turns").source("Paasch and others, CSWS 2014").parameter(
            ParameterInfo::integer("quantum", 1..=1_000, DEFAULT_QUANTUM)
                .unit("datagrams")
                .meaning("length of a turn"),
        )
    }

    /// Turns of `quantum` datagrams, at least one.
    pub fn with_quantum(quantum: u64) -> Self {
        RoundRobin { quantum: quantum.max(1), last: None }
    }
}

impl Default for RoundRobin {
    fn default() -> Self {
        Self::with_quantum(DEFAULT_QUANTUM)
    }
}

impl Scheduler for RoundRobin {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn schedule(&mut self, view: &SendView<'_>, _commands: &mut Commands) -> Decision {
        // The next id after the last one, else the lowest: `false` sorts before `true`.
        let next = view
            .preferred()
            .filter(|path| path.sendable() > 0)
            .min_by_key(|path| (self.last.is_some_and(|last| path.id <= last), path.id));
        let Some(path) = next else { return Decision::Wait(None) };
        self.last = Some(path.id);
        let max_bytes = self.quantum.saturating_mul(u64::from(path.max_datagram_size));
        Decision::Send(Assignment::next(path.id).with(|assignment| assignment.max_bytes = max_bytes))
    }
}
