//! The key of stateless resets of a server that keeps its identity.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;

use hawser::Identity;

/// The key for the server that listens on this address.
///
/// It outlives the process, so that clients of a server that was restarted learn at once that their connections are
/// gone. Two servers that run at the same time must not share it: a client of one could learn from the other how to
/// reset connections of the first (RFC 9000 section 21.11). The address tells servers of one machine apart, machine and
/// network namespace those of copied state folders and of containers.
pub(super) fn reset_key(identity: &Identity, address: SocketAddr) -> [u8; 32] {
    let machine = fs::read("/etc/machine-id").unwrap_or_default();
    let host = nix::unistd::gethostname().unwrap_or_default();
    let namespace = fs::metadata("/proc/self/ns/net").map_or(0, |metadata| metadata.ino());
    let mut scope = Vec::new();
    for part in [address.to_string().as_bytes(), &machine, host.as_encoded_bytes(), &namespace.to_be_bytes()]
    {
        scope.extend_from_slice(&(part.len() as u64).to_be_bytes());
        scope.extend_from_slice(part);
    }
    identity.reset_key(&scope)
}
