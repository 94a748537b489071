//! Connection ids as the endpoint knows them: who makes the local ones, and what changed.

use std::net::SocketAddr;

use hawser_policy::PathId;
use hawser_wire::StatelessResetToken;

use super::paths::CidChange;
use crate::endpoint::cid::CidIssuer;
use crate::endpoint::types::EndpointEvent;

/// The connection's part of the endpoint's routing.
pub(crate) struct CidBook {
    /// Makes connection ids that the endpoint can route.
    pub(crate) issuer: CidIssuer,
    /// Changes that the endpoint does not know yet.
    pub(crate) changes: Vec<CidChange>,
    /// Stateless reset tokens that the endpoint watches for, and where they would come from.
    reset_tokens: Vec<(StatelessResetToken, SocketAddr)>,
}

impl CidBook {
    pub(crate) fn new(issuer: CidIssuer) -> Self {
        CidBook { issuer, changes: Vec::new(), reset_tokens: Vec::new() }
    }

    /// What the endpoint is told of a change; `remote` tells where a path leads now.
    pub(crate) fn event(
        &mut self,
        change: CidChange,
        remote: impl Fn(PathId) -> Option<SocketAddr>,
    ) -> Option<EndpointEvent> {
        match change {
            CidChange::Added(cid, _) => Some(EndpointEvent::CidAdded(cid)),
            CidChange::Removed(cid) => Some(EndpointEvent::CidRemoved(cid)),
            CidChange::ResetTokenAdded(token, id) => {
                // A reset with this token would come from where the path leads now, even if it leads elsewhere later.
                let remote = remote(id)?;
                self.reset_tokens.push((token, remote));
                Some(EndpointEvent::ResetTokenAdded { remote, token })
            }
            CidChange::ResetTokenRemoved(token) => {
                let at = self.reset_tokens.iter().position(|(known, _)| *known == token)?;
                let (token, remote) = self.reset_tokens.swap_remove(at);
                Some(EndpointEvent::ResetTokenRemoved { remote, token })
            }
        }
    }
}
