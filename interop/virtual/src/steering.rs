//! What the multipath cases ask of an end besides opening and abandoning paths, in the words of each stack.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use hawser_core::FourTuple;
use hawser_policy::{PathId, PathStatus, Time};
use hawser_sim::Host;

use crate::noq::Noq;
use crate::{Foreign, Multipath, Ours};

/// The server's address over IPv6.
pub const SERVER_V6: SocketAddr =
    SocketAddr::new(IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 99, 0, 0, 0, 1)), 443);

/// The client's address over IPv6.
pub const CLIENT_V6: SocketAddr =
    SocketAddr::new(IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2)), 40_006);

/// An end of a multipath case.
pub trait Steering: Multipath {
    /// Opens a path between these addresses; `None` while that is not possible yet.
    fn open_between(&mut self, now: Time, tuple: FourTuple) -> Option<u32>;

    /// Declares a path a backup; `false` while it is not known yet.
    fn declare_backup(&mut self, now: Time, id: u32) -> bool;

    /// Updates the keys (RFC 9001 section 6).
    fn update_keys(&mut self, now: Time);

    /// Key updates that took place, if the stack counts them.
    fn key_updates(&mut self) -> Option<u64>;
}

impl Steering for Host<Ours> {
    fn open_between(&mut self, now: Time, tuple: FourTuple) -> Option<u32> {
        let id = self.first_connection()?.open_path(now, tuple, PathStatus::Available, None).ok()?;
        Some(id.0)
    }

    fn declare_backup(&mut self, now: Time, id: u32) -> bool {
        let connection = self.first_connection();
        connection.is_some_and(|c| c.set_path_status(now, PathId(id), PathStatus::Backup).is_ok())
    }

    fn update_keys(&mut self, now: Time) {
        if let Some(connection) = self.first_connection() {
            connection.initiate_key_update(now);
        }
    }

    fn key_updates(&mut self) -> Option<u64> {
        Some(self.first_connection()?.stats().key_updates)
    }
}

impl Steering for Foreign<Noq> {
    fn open_between(&mut self, now: Time, tuple: FourTuple) -> Option<u32> {
        let now = self.instant(now);
        let tuple = noq_proto::FourTuple::new(tuple.remote, Some(tuple.local.ip()));
        let connection = self.stack.connection.as_mut()?;
        let id = connection.open_path(tuple, noq_proto::PathStatus::Available, now).ok()?;
        id.to_string().parse().ok()
    }

    fn declare_backup(&mut self, _: Time, id: u32) -> bool {
        let (id, status) = (noq_proto::PathId::from(id), noq_proto::PathStatus::Backup);
        self.stack.connection.as_mut().is_some_and(|c| c.set_path_status(id, status).is_ok())
    }

    fn update_keys(&mut self, _: Time) {
        if let Some(connection) = &mut self.stack.connection {
            connection.force_key_update();
        }
    }

    fn key_updates(&mut self) -> Option<u64> {
        None
    }
}
