//! An endpoint as one of several that serve an address together.

use std::net::SocketAddr;
use std::sync::Arc;

use hawser_wire::StatelessResetToken;
use hawser_wire::packet::peek_destination_cid;

use super::Endpoint;
use super::group::{EndpointGroup, Membership};

impl Endpoint {
    /// Makes this endpoint the member `index` of a group, before it has connections. All members must have the same
    /// configuration: keys and lengths of connection ids in particular.
    ///
    /// Limits of the server configuration hold for the group as a whole, by the loads that were
    /// [published](Self::publish_load); several members that accept at the same moment may go beyond them by a few.
    /// That an address token counts once is remembered by each member for itself.
    pub fn join(&mut self, group: Arc<EndpointGroup>, index: usize) {
        debug_assert!(self.connections() == 0);
        let membership = Membership::new(group, index);
        self.routes.share_resets(membership.clone());
        self.cid_scheme.join(&self.config, membership, &mut self.random);
    }

    /// The member of the group that a datagram from `remote` is to be handed to; `None` to handle it here. A datagram that
    /// was handed over already (`handed_over`) moves on only if it resets a connection of yet another member.
    //= rfc9000-5.2.3-2: simple load balancing makes no oracle for stateless resets
    //= rfc9000-21.11-1: packets of a connection id reach the worker that has its connection
    #[inline]
    pub fn owner_elsewhere(&self, remote: SocketAddr, datagram: &[u8], handed_over: bool) -> Option<usize> {
        let membership = self.cid_scheme.membership()?;
        let destination = peek_destination_cid(datagram, self.cid_length).ok();
        if let Some(id) = destination.filter(|id| id.len() == self.cid_length) {
            if self.routes.by_local(id).is_some() {
                return None;
            }
            let named = if handed_over { None } else { self.cid_scheme.named_elsewhere(id) };
            if named.is_some() {
                return named;
            }
        }
        membership.reset_owner_elsewhere(remote, StatelessResetToken::at_end_of(datagram)?)
    }

    /// Tells the other members how much there is to do here; to be called now and then.
    pub fn publish_load(&self) {
        if let Some(membership) = self.cid_scheme.membership() {
            membership.publish(self.connections() + self.pending.len(), self.handshakes());
        }
    }

    /// Connections, those not yet accepted included, and handshakes of the whole group.
    pub(super) fn total_load(&self) -> (usize, usize) {
        let (connections, handshakes) = self.cid_scheme.membership().map_or((0, 0), Membership::elsewhere);
        (self.routes.len() + self.pending.len() + connections, self.handshakes() + handshakes)
    }
}
