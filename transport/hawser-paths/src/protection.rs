//! Protection policies: whether and how strongly data is protected by erasure codes.

mod adaptive;
mod advice;
mod fixed;
#[cfg(test)]
mod tests;

use hawser_policy::{
    ErasureCode, ParameterInfo, Parameters, PathId, PolicyInfo, ProtectionFactory, ProtectionInit,
    ProtectionPolicy, ProtectionView,
};

pub use adaptive::{AdaptiveProtection, AdaptiveProtectionFactory, AdaptiveProtectionParameters};
pub use advice::{Advice, AdviceError};
pub use fixed::{FixedProtection, FixedProtectionParameters};

/// What a registry tells of the policy that protects nothing.
pub(crate) fn off_info() -> PolicyInfo {
    PolicyInfo::new("off", "nothing is protected; what is lost is sent again").alias("default")
}

/// What a registry tells of the policy that takes repair symbols and sends none.
pub(crate) fn receive_info() -> PolicyInfo {
    PolicyInfo::new("receive", "repair symbols of the peer are taken; nothing of one's own is protected")
}

/// Takes repair symbols and sends none.
pub(crate) struct ReceiveOnly;

impl ProtectionFactory for ReceiveOnly {
    fn build(&self, _: &ProtectionInit) -> Option<Box<dyn ProtectionPolicy>> {
        None
    }

    fn repairs(&self) -> bool {
        true
    }
}

/// Which path carries repair symbols.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RepairPath {
    /// That of the data.
    #[default]
    Own,
    /// The quickest of the others, if there is one: against the loss of a whole path.
    Other,
    /// The one that a scheduler chooses, if it places repair symbols; else that of the data.
    Scheduled,
}

impl RepairPath {
    fn parameter() -> ParameterInfo {
        ParameterInfo::choice("path", ["own", "other", "scheduled"]).meaning(
            "path of the repair symbols: that of the data, the quickest other one, the scheduler's choice",
        )
    }

    fn read(parameters: &Parameters) -> Self {
        match parameters.choice("path") {
            "other" => RepairPath::Other,
            "scheduled" => RepairPath::Scheduled,
            _ => RepairPath::Own,
        }
    }

    /// The answer to the core.
    fn choose(self, view: &ProtectionView<'_>) -> Option<PathId> {
        let active = |path: &&hawser_policy::PathView| {
            path.id != view.path && path.state == hawser_policy::PathState::Active
        };
        match self {
            RepairPath::Own => Some(view.path),
            RepairPath::Other => {
                let other =
                    view.paths.iter().filter(active).min_by_key(|path| {
                        (path.status == hawser_policy::PathStatus::Backup, path.smoothed_rtt)
                    });
                Some(other.map_or(view.path, |path| path.id))
            }
            RepairPath::Scheduled => None,
        }
    }
}

fn code_parameter() -> ParameterInfo {
    ParameterInfo::choice("code", ["reed-solomon", "random-linear", "xor"])
        .meaning("blocks of which as many losses are made good as there are repair symbols; a sliding window; one loss per block")
}

fn read_code(parameters: &Parameters) -> ErasureCode {
    match parameters.choice("code") {
        "random-linear" => ErasureCode::RandomLinear,
        "xor" => ErasureCode::Xor,
        _ => ErasureCode::ReedSolomon,
    }
}
