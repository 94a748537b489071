//! What happens inside, for experiments and for training.

use hawser_policy::{GroupId, PathId, Side, Time};

use super::{Choice, DataUnit};

/// Is told what happens in connections of the set. It is called while the connection runs: keep it short.
pub trait Observer: Send + Sync {
    /// A Data Unit ended.
    fn on_unit(&self, _side: Side, _unit: &DataUnit) {}

    /// What came of a choice: a record to train with. Never of coupled paths.
    fn on_experience(&self, _side: Side, _experience: &Experience) {}

    /// A path was put into another bottleneck group.
    fn on_group(&self, _side: Side, _now: Time, _path: PathId, _group: GroupId) {}

    /// A path got a controller; `from` is its predecessor.
    fn on_controller(&self, _side: Side, _now: Time, _path: PathId, _from: Option<Choice>, _to: Choice) {}
}

/// A choice and its reward.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Experience {
    /// What was seen when it was made.
    pub unit: DataUnit,
    /// What was chosen.
    pub chosen: Choice,
    /// The unit that followed.
    pub outcome: DataUnit,
    /// The reward of that unit.
    pub reward: f64,
}
