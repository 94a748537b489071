//! What path managers and link changes ask of the worker.

use std::net::SocketAddr;
use std::sync::Arc;

use hawser_core::{Code, FourTuple};
use hawser_policy::{AttachRequest, AttachResult, PathAction, PathId, PathStatus, Time};

use super::{Worker, WorkerState, concrete};
use crate::connection::{ConnectionState, OpenPathError, PathRequest};
use crate::link_control::AttachAnswer;
use crate::links::Candidate;
use crate::socket::{Binding, Sharing};

impl Worker {
    /// Carries out what a connection's path manager decided.
    pub(super) fn carry_out(
        self: &Arc<Self>,
        state: &mut WorkerState,
        connection: &mut ConnectionState,
        now: Time,
    ) {
        while let Some(request) = connection.next_path_request() {
            let result = self.open_requested(state, connection, now, &request);
            // The program may have given up waiting.
            let _ = request.answer.send(result);
        }
        while let Some(action) = connection.next_path_action() {
            match action {
                PathAction::Open { .. } => self.open(state, connection, now, &action),
                PathAction::Abandon(id) => {
                    if let Err(error) = connection.core.abandon_path(now, id, Code::APPLICATION_ABANDON_PATH)
                    {
                        tracing::debug!(%error, "a path was not abandoned");
                    }
                }
                PathAction::SetStatus(id, status) => {
                    if let Err(error) = connection.core.set_path_status(now, id, status) {
                        tracing::debug!(%error, "the status of a path was not changed");
                    }
                }
                PathAction::Attach(request) => self.request_attachment(state, request),
                PathAction::Close => connection.core.close_without_path(now),
            }
        }
    }

    /// Opens a path. Failure is not reported to the manager, which looks at the paths that exist: most reasons pass with
    /// time, and it tries again.
    fn open(
        self: &Arc<Self>,
        state: &mut WorkerState,
        connection: &mut ConnectionState,
        now: Time,
        action: &PathAction,
    ) {
        let PathAction::Open { local, remote, link, status } = action else { return };
        let binding = match link {
            Some(link) => state.links.binding(*link, local.ip(), *remote),
            None => Some(of_no_link(*local)),
        };
        let Some(binding) = binding else { return };
        if let Err(error) = self.open_over(state, connection, now, binding, *remote, *status) {
            tracing::debug!(%error, %local, "a path was not opened yet");
        }
    }

    /// Opens a path that the program asked for.
    fn open_requested(
        self: &Arc<Self>,
        state: &mut WorkerState,
        connection: &mut ConnectionState,
        now: Time,
        request: &PathRequest,
    ) -> Result<PathId, OpenPathError> {
        let (local, remote) = (request.local, request.remote);
        let link = state.links.present().find(|link| link.addresses.contains(&local.ip()));
        match (&self.cost_caps, link) {
            (Some(caps), Some(link)) if caps.is_used_up(link, now) => {
                return Err(OpenPathError::BudgetUsedUp(link.name.clone()));
            }
            (Some(_), None) if !remote.ip().is_loopback() => {
                return Err(OpenPathError::UnknownLink(local.ip()));
            }
            _ => {}
        }
        let binding = link.and_then(|link| state.links.binding(link.id, local.ip(), remote));
        let binding = Binding { address: local, ..binding.unwrap_or_else(|| of_no_link(local)) };
        self.open_over(state, connection, now, binding, remote, request.status)
    }

    fn open_over(
        self: &Arc<Self>,
        state: &mut WorkerState,
        connection: &mut ConnectionState,
        now: Time,
        binding: Binding,
        remote: SocketAddr,
        status: PathStatus,
    ) -> Result<PathId, OpenPathError> {
        let (local, link) = (binding.address, binding.link);
        let bound = concrete(binding, remote).and_then(|binding| self.bind(state, binding));
        let local = bound.map_err(|source| OpenPathError::Socket { local, source })?;
        let tuple = FourTuple { local, remote };
        let id = connection.core.open_path(now, tuple, status, link)?;
        tracing::debug!(path = %id, ?tuple, "opening a path");
        connection.tell_of_link(link, &state.link_states, now);
        Ok(id)
    }

    /// The ways to reach `remote` over links that may be used now; the names of those whose budgets are used up. A way of which
    /// nobody knows the link is none for an endpoint that counts, unless it does not leave the machine.
    pub(crate) fn usable_candidates(
        &self,
        state: &WorkerState,
        remote: SocketAddr,
        now: Time,
    ) -> (Vec<Candidate>, Vec<String>) {
        let candidates = state.links.candidates(remote);
        let Some(caps) = &self.cost_caps else { return (candidates, Vec::new()) };
        let (mut usable, mut used_up) = (Vec::new(), Vec::new());
        for candidate in candidates {
            let link = state.links.present().find(|link| Some(link.id) == candidate.binding.link);
            match link {
                Some(link) if caps.is_used_up(link, now) => used_up.push(link.name.clone()),
                Some(_) => usable.push(candidate),
                None if remote.ip().is_loopback() => usable.push(candidate),
                None => {}
            }
        }
        (usable, used_up)
    }

    /// Hands on a wish to attach a link elsewhere; the answer comes with a later pass.
    fn request_attachment(&self, state: &mut WorkerState, request: AttachRequest) {
        let answer = AttachAnswer::new(request, self.mailbox.clone());
        match (&self.controller.0, state.links.known().find(|link| link.id == request.link)) {
            (Some(controller), Some(link)) => controller.attach(link, request.to, answer),
            // The link is gone.
            (Some(_), None) => answer.finish(AttachResult::Failed),
            (None, _) => {
                if state.attachments_unsupported == 0 {
                    tracing::warn!(
                        "a policy wants a link attached elsewhere, and the endpoint has no link controller"
                    );
                }
                state.attachments_unsupported += 1;
                answer.finish(AttachResult::Unsupported);
            }
        }
    }

    /// A client without multipath whose socket is gone moves its only path to another link (RFC 9000 section 9).
    pub(super) fn migrate_if_stranded(
        self: &Arc<Self>,
        state: &mut WorkerState,
        connection: &mut ConnectionState,
        now: Time,
    ) {
        if connection.core.side().is_server() || connection.core.is_multipath() {
            return;
        }
        let Some(path) = connection.core.paths().into_iter().find(|path| path.id == PathId::ZERO) else {
            return;
        };
        if state.sockets.carries(&path.tuple) {
            return;
        }
        let remote = path.tuple.remote;
        for candidate in self.usable_candidates(state, remote, now).0 {
            let Ok(binding) = concrete(candidate.binding, remote) else { continue };
            let Ok(local) = self.bind(state, binding) else { continue };
            let tuple = FourTuple { local, remote };
            match connection.core.migrate_path(now, path.id, tuple) {
                Ok(()) => {
                    let link = state.sockets.link_of(&tuple);
                    connection.core.set_path_link(path.id, link);
                    connection.tell_of_link(link, &state.link_states, now);
                    return;
                }
                Err(error) => tracing::debug!(%error, "the path was not moved"),
            }
        }
    }
}

/// A socket of which nobody knows the link.
fn of_no_link(address: SocketAddr) -> Binding {
    Binding { address, device: None, link: None, report_errors: true, sharing: Sharing::Alone }
}
