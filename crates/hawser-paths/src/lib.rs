//! Path managers and acknowledgement policies, one file each.
//!
//! A path manager decides which paths a client's connection has, when links come and go. An acknowledgement policy
//! decides when what arrived is acknowledged, and on which path. Both see a connection through values of
//! `hawser-policy` only, and know neither sockets nor packets.
//!
//! | kind | name | type | idea |
//! |---|---|---|---|
//! | path manager | `full-mesh` (default) | [`FullMesh`] | one path for every link, always |
//! | acknowledgement policy | `fastest-return` (default) | [`FastestReturn`] | on the quickest path that was just heard from |
//! | acknowledgement policy | `own-path` | [`OwnPath`] | on the path of the packets |

mod fastest_return;
mod full_mesh;
mod own_path;

use hawser_policy::Registry;

pub use fastest_return::{FastestReturn, FastestReturnParameters};
pub use full_mesh::{FullMesh, FullMeshParameters};
pub use own_path::OwnPath;

/// Adds the path managers and acknowledgement policies of this crate under their names, and [`FullMesh`] and
/// [`FastestReturn`] also as `default`.
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
}

#[cfg(test)]
mod tests;
