use hawser_policy::{Assignment, Commands, Decision, PolicyInfo, Scheduler, SendView};

use crate::choose::{explore, fastest_sendable};

/// MinRTT: the path with the lowest smoothed round-trip time that can send; never waits.
///
/// The default of most multipath stacks. It keeps every path busy, but puts the last bytes of a transfer on a slow
/// path when the fast one is momentarily full. Paths without a round-trip sample go first, two datagrams deep.
#[derive(Clone, Copy, Debug, Default)]
pub struct MinRtt;

impl MinRtt {
    /// Its name in the registry.
    pub const NAME: &'static str = "minrtt";

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        PolicyInfo::new(Self::NAME, "lowest round-trip time that can send; never waits")
            .source("Paasch and others, CSWS 2014")
    }
}

impl Scheduler for MinRtt {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn schedule(&mut self, view: &SendView<'_>, _commands: &mut Commands) -> Decision {
        if let Some(decision) = explore(view) {
            return decision;
        }
        match fastest_sendable(view) {
            Some(path) => Decision::Send(Assignment::next(path.id)),
            None => Decision::Wait(None),
        }
    }
}
