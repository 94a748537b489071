//! Path managers, acknowledgement policies and protection policies, one file each.
//!
//! A path manager decides which paths a client's connection has, when links come and go. An acknowledgement policy
//! decides when what arrived is acknowledged, and on which path. A protection policy decides what is protected by erasure
//! codes. All see a connection through values of `hawser-policy` only, and know neither sockets nor packets.
//!
//! | kind | name | type | idea |
//! |---|---|---|---|
//! | path manager | `full-mesh` (default) | [`FullMesh`] | one path for every link, always |
//! | acknowledgement policy | `fastest-return` (default) | [`FastestReturn`] | on the quickest path that was just heard from |
//! | acknowledgement policy | `own-path` | [`OwnPath`] | on the path of the packets |
//! | protection policy | `off` (default) | - | nothing is protected |
//! | protection policy | `fixed` | [`FixedProtection`] | repair symbols at a fixed rate |
//! | protection policy | `adaptive` | [`AdaptiveProtection`] | as many as loss and deadlines ask for |
//!
//! [`CostCaps`] are budgets of links; under [`Capped`] any path manager lets a link rest whose budget is used up.
//!
//! [`MobilityReport`], [`HandOverNotice`] and [`MeteredNotice`] are what a host that moves tells its peer of them, in messages of policies.

mod cost_caps;
mod fastest_return;
mod full_mesh;
mod hand_over;
mod link_reporter;
mod metered;
mod mobility_report;
mod own_path;
mod protection;

use std::sync::Arc;

use hawser_policy::Registry;

pub use cost_caps::{CapReached, CapUse, Capped, CostCaps};
pub use fastest_return::{FastestReturn, FastestReturnParameters};
pub use full_mesh::{FullMesh, FullMeshParameters};
pub use hand_over::{HandOverNotice, HandOverReporter};
pub use link_reporter::LinkReporter;
pub use metered::{MeteredNotice, MeteredReporter};
pub use mobility_report::{MobilityEntry, MobilityReport};
pub use own_path::OwnPath;
pub use protection::{
    AdaptiveProtection, AdaptiveProtectionFactory, AdaptiveProtectionParameters, Advice, AdviceError,
    FixedProtection, FixedProtectionParameters, RepairPath,
};

/// Adds the policies of this crate under their names; [`FullMesh`], [`FastestReturn`] and no protection also as `default`.
pub fn register(registry: &mut Registry) {
    registry.add_path_manager_with(FullMesh::info(), |init, parameters| {
        Box::new(FullMesh::with_parameters(init, FullMeshParameters::read(parameters)))
    });
    registry.add_ack_policy_with(FastestReturn::info(), |parameters| {
        Box::new(FastestReturn::with_parameters(FastestReturnParameters::read(parameters)))
    });
    registry.add_ack_policy_with(OwnPath::info(), |parameters| {
        Box::new(OwnPath::new(parameters.integer("every")))
    });
    registry.add_protection_with(protection::off_info(), |_, _| None);
    registry.add_protections(protection::receive_info(), |_| Arc::new(protection::ReceiveOnly));
    registry.add_protection_with(FixedProtection::info(), |_, parameters| {
        Some(Box::new(FixedProtection::new(FixedProtectionParameters::read(parameters))))
    });
    registry.add_protections(AdaptiveProtection::info(), |parameters| {
        Arc::new(AdaptiveProtectionFactory(AdaptiveProtectionParameters::read(parameters)))
    });
}

#[cfg(test)]
mod tests;
