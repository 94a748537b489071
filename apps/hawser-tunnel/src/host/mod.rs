//! What a tunnel changes on a machine, and how it is undone.
//!
//! What the kernel forgets by itself when the process ends is left to it: devices with their addresses and routes, and nftables
//! (which belong to the socket that made them). The rest - policy routing rules, sysctls, `/etc/resolv.conf` - is written to a state
//! file *before* it is changed. Who ends undoes it; who finds such a file of a process that is gone undoes it first.

pub(crate) mod forwarding;
pub mod netlink;
pub mod nft;
pub mod resolv;
pub mod resolved;
pub mod split;
pub mod state;
pub mod sysctl;
