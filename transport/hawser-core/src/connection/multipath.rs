//! Paths come, move and go (draft-ietf-quic-multipath-21 section 3).

use std::time::Duration;

use hawser_policy::{
    Figures, LinkId, PathChange, PathEvent, PathId, PathState, PathStatus, PathView, Side, Time,
};
use hawser_wire::frame::{NewConnectionId, PathStatus as WireStatus, RetireConnectionId};

use super::Connection;
use super::acks::is_movable;
use super::arrival::{Arrival, SpaceId};
use super::frames::PathControl;
use super::paths::control::Control;
use super::paths::life_cycle::{LifeCycle, LifeEvent};
use super::paths::migration::{PacketFacts, TupleDecision, TupleEvent, Tuples, ValidationContext};
use super::paths::mtu::MtuDiscovery;
use super::paths::path::{Path, Suspect, SuspectPace};
use super::paths::path_ids::CannotOpen;
use super::paths::remote_cids::OfferedCid;
use super::paths::validation::ValidationFailure;
use super::recovery::{PathIdentity, PathRecovery};
use super::stats::{PathInfo, PathStats};
use crate::{Code, FourTuple, MAX_APPLICATION_CODE, TransportError};

/// How long another path is waited for when the peer abandoned the last one and no idle timeout was agreed on.
const NO_PATH_PATIENCE: Duration = Duration::from_secs(30);

/// Why a path could not be opened, abandoned or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// The peer does not speak multipath, or it was switched off.
    #[error("multipath was not negotiated with this peer")]
    NotNegotiated,
    /// Only clients open paths.
    #[error("only the client opens paths")]
    NotClient,
    /// The handshake is not confirmed: the core says by `Event::HandshakeConfirmed` when it is.
    #[error("the handshake is not confirmed yet: wait for Connection::confirmed")]
    TooEarly,
    /// One end allows no more paths now.
    #[error("no further path id is allowed (up to {0} now): wait for the MorePathsAllowed event")]
    NoPathId(u32),
    /// No connection ids were exchanged for the next path yet.
    #[error("no connection ids for path {0} yet: wait for the MorePathsAllowed event")]
    NoConnectionIds(PathId),
    /// There is no such path.
    #[error("there is no path {0}")]
    Unknown(PathId),
    /// The peer does not want to be reached from another address (RFC 9000 sections 9.5 and 18.2).
    #[error(
        "the peer forbids packets from further addresses (disable_active_migration, or it has no connection ids)"
    )]
    MigrationForbidden,
    /// It is the only path.
    #[error("path {0} is the only one: close the connection instead")]
    LastPath(PathId),
}

impl From<CannotOpen> for PathError {
    fn from(reason: CannotOpen) -> Self {
        match reason {
            CannotOpen::NotNegotiated => PathError::NotNegotiated,
            CannotOpen::NotClient => PathError::NotClient,
            CannotOpen::PeerLimit(limit) | CannotOpen::OwnLimit(limit) => PathError::NoPathId(limit),
            CannotOpen::NoConnectionIds(path) => PathError::NoConnectionIds(path),
        }
    }
}

impl Connection {
    /// Opens a path between these addresses. It carries data once it is validated
    /// ([`PathEvent::Established`]).
    ///
    /// # Errors
    /// [`PathError`] says what is missing; most reasons pass with time.
    //= rfc9000-9-1: nobody migrates before the handshake is confirmed
    pub fn open_path(
        &mut self,
        now: Time,
        tuple: FourTuple,
        status: PathStatus,
        link: Option<LinkId>,
    ) -> Result<PathId, PathError> {
        if !self.paths.is_multipath() {
            return Err(PathError::NotNegotiated);
        }
        if !self.handshake.confirmed {
            return Err(PathError::TooEarly);
        }
        self.check_migration(tuple)?;
        let paths = &mut self.paths;
        let openable: Vec<PathId> = paths.ids.issuable().filter(|id| paths.is_openable(*id)).collect();
        let id = paths.ids.next_to_open(|id| openable.contains(&id))?;
        let mut control = paths.take_reserved(id).ok_or(PathError::NoConnectionIds(id))?;
        if status != PathStatus::Available {
            control.status.set(status);
        }
        self.start_path(now, control, tuple, true, link);
        Ok(id)
    }

    /// Abandons a path. What it had in flight goes on the others.
    ///
    /// # Errors
    /// [`PathError::Unknown`], [`PathError::LastPath`].
    pub fn abandon_path(&mut self, now: Time, id: PathId, code: Code) -> Result<(), PathError> {
        if !self.paths.get(id).is_some_and(|path| path.life().can_send()) {
            return Err(PathError::Unknown(id));
        }
        // What a server has not validated it may have no connection id for, and the client may never get to hear there
        // that this path is gone.
        let carries = |path: &Path| match self.side {
            Side::Client => path.life().can_send(),
            Side::Server => matches!(path.state(), Some(PathState::Active | PathState::Suspect)),
        };
        if !self.paths.iter().any(|path| path.id != id && carries(path)) {
            return Err(PathError::LastPath(id));
        }
        self.abandon(now, id, LifeEvent::AbandonedLocally, Code(code.0.min(MAX_APPLICATION_CODE)));
        Ok(())
    }

    /// Says what a path is to be used for, and tells the peer.
    ///
    /// # Errors
    /// [`PathError::Unknown`], [`PathError::NotNegotiated`].
    pub fn set_path_status(&mut self, now: Time, id: PathId, status: PathStatus) -> Result<(), PathError> {
        if !self.paths.is_multipath() {
            return Err(PathError::NotNegotiated);
        }
        let path =
            self.paths.get_mut(id).filter(|path| path.life().can_send()).ok_or(PathError::Unknown(id))?;
        path.control.status.set(status);
        let effective = path.control.status.effective();
        self.policies.on_path_change(now, id, PathChange::Status(effective));
        Ok(())
    }

    /// Moves a path to another local address: the client's interface changed (RFC 9000 section 9).
    ///
    /// # Errors
    /// [`PathError::Unknown`]; [`PathError::TooEarly`] before the handshake is confirmed; [`PathError::NotClient`];
    /// [`PathError::MigrationForbidden`].
    //= rfc9000-9-1: nobody migrates before the handshake is confirmed
    pub fn migrate_path(&mut self, now: Time, id: PathId, tuple: FourTuple) -> Result<(), PathError> {
        if !self.handshake.confirmed {
            return Err(PathError::TooEarly);
        }
        // RFC 9000 section 9: a server does not migrate.
        if self.side.is_server() {
            return Err(PathError::NotClient);
        }
        self.check_migration(tuple)?;
        // RFC 9000 section 9.5: without connection ids the peer may know us by our address alone.
        if self.paths.remote_cid(id, None).is_some_and(|cid| cid.is_empty()) {
            return Err(PathError::MigrationForbidden);
        }
        let mut context = validation_context(now, &self.paths, id, &mut self.validation_pacer);
        let path =
            self.paths.get_mut(id).filter(|path| path.life().can_send()).ok_or(PathError::Unknown(id))?;
        let decision = path.tuples.migrate(tuple, &mut context);
        self.on_tuple_decision(now, id, decision);
        Ok(())
    }

    /// Asks at another address of the server, with a connection id of its own, whether path 0 could move there, and moves it if
    /// the answer comes (RFC 9000 section 9.6). Without a connection id to spare nothing happens.
    //= rfc9000-9.6.1-1: the client validates one of the preferred addresses
    pub(super) fn probe_address(&mut self, now: Time, remote: std::net::SocketAddr) {
        let mut context = validation_context(now, &self.paths, PathId::ZERO, &mut self.validation_pacer);
        let usable = |path: &&mut Path| path.life().can_send() && path.control.remote_cids.next().is_some();
        if let Some(path) = self.paths.get_mut(PathId::ZERO).filter(usable) {
            let tuple = FourTuple { remote, ..path.tuples.current() };
            path.tuples.probe(tuple, &mut context);
        }
    }

    /// RFC 9000 section 18.2 and draft-ietf-quic-multipath-21 section 2.1: neither a path may move nor another one be
    /// opened to the address of the handshake if the peer says so.
    //= rfc9000-9-2: disable_active_migration: no other local address to the handshake's address
    //= rfc9000-9.5-3: no migration towards a peer without connection ids
    //= rfc9000-18.2-3: disable_active_migration is respected
    fn check_migration(&self, tuple: FourTuple) -> Result<(), PathError> {
        let forbidden = self.ends.peer.disable_active_migration && tuple.remote == self.ends.identity.remote;
        if forbidden { Err(PathError::MigrationForbidden) } else { Ok(()) }
    }

    /// The paths that exist.
    pub fn paths(&self) -> Vec<PathInfo> {
        self.paths.iter().filter_map(Path::info).collect()
    }

    /// The paths that ended, the oldest first, with the addresses that they had last; of very many the latest. What their
    /// state was is not remembered.
    pub fn past_paths(&self) -> Vec<PathInfo> {
        self.paths.past().collect()
    }

    /// The paths as policies see them, for the driver's path manager.
    pub fn path_views(&mut self, now: Time) -> &[PathView] {
        self.policies.path_views(now, &self.paths)
    }

    /// Says which local link a path leaves through: the handshake's path learns it after it was created, a migrated one again.
    pub fn set_path_link(&mut self, id: PathId, link: Option<LinkId>) {
        if let Some(path) = self.paths.get_mut(id) {
            path.link = link;
        }
    }

    /// Counters of a path, also of one that is gone.
    pub fn path_stats(&self, id: PathId) -> Option<PathStats> {
        self.paths.stats(id)
    }

    /// What the controller of a path says of itself; empty for a path that is gone.
    pub fn path_figures(&self, id: PathId) -> Figures {
        let mut figures = Figures::default();
        if let Some(path) = self.paths.get(id) {
            path.recovery.fill_figures(&mut figures);
        }
        figures
    }

    /// Makes a path of a path id.
    fn start_path(
        &mut self,
        now: Time,
        control: Control,
        tuple: FourTuple,
        address_known: bool,
        link: Option<LinkId>,
    ) {
        let id = control.id;
        let identity = PathIdentity { path: id, link, remote: tuple.remote, seed: self.next_random() };
        let max_ack_delay = self.ends.peer.max_ack_delay;
        let mut recovery = {
            PathRecovery::new(now, &identity, self.policies.controllers(), &self.transport, max_ack_delay)
        };
        recovery.on_handshake_confirmed();
        let mut context = validation_context(now, &self.paths, id, &mut self.validation_pacer);
        let tuples = Tuples::of_new_path(self.side, tuple, address_known, &mut context);
        let mut mtu = MtuDiscovery::new(self.transport.initial_mtu, self.transport.max_mtu);
        mtu.set_peer_limit(self.ends.peer.max_udp_payload_size);
        let mut path = Path::new(control, tuples, recovery, mtu);
        path.link = link;
        self.paths.insert(path);
        self.idle.no_path_deadline = None;
        self.move_path(now, id, LifeEvent::Opened);
        self.trace_path(now, id);
        self.issue_path_cids();
        self.sync_cids();
    }

    /// Prepares for a packet on a path: a server's path begins with the first one. Returns whether to process it.
    #[inline]
    pub(super) fn ensure_path(&mut self, now: Time, id: PathId, arrival: &Arrival) -> bool {
        if let Some(path) = self.paths.get(id) {
            return path.life().can_receive() && path.tuples.accepts(arrival.tuple);
        }
        self.open_path_of_peer(now, id, arrival)
    }

    //= multipath-7.1-1 (not done): state of a path is allocated once it is validated
    #[cold]
    fn open_path_of_peer(&mut self, now: Time, id: PathId, arrival: &Arrival) -> bool {
        // A client gets nothing on paths that it did not open.
        let opens = self.side.is_server()
            && self.paths.reserved(id).is_some_and(|control| !control.life.is_abandoned());
        if !opens {
            return false;
        }
        let known = self
            .paths
            .iter()
            .any(|path| path.tuples.is_validated() && path.tuples.current() == arrival.tuple);
        let Some(control) = self.paths.take_reserved(id) else { return false };
        self.start_path(now, control, arrival.tuple, known, None);
        if let Some(path) = self.paths.get_mut(id) {
            path.tuples.on_datagram(arrival.tuple, arrival.datagram_bytes);
        }
        true
    }

    /// A packet of a path was processed: the peer may have moved.
    #[inline]
    pub(super) fn on_path_packet(&mut self, arrival: &Arrival, id: PathId, number: u64, is_probing: bool) {
        let Some(path) = self.paths.get_mut(id) else { return };
        let is_largest = path.largest_non_probing.is_none_or(|largest| number > largest);
        if !is_probing && is_largest {
            path.largest_non_probing = Some(number);
        }
        if path.life() == LifeCycle::Abandoning {
            return self.on_packet_after_abandon(arrival.now, id);
        }
        if path.tuples.current() == arrival.tuple {
            return;
        }
        let facts = PacketFacts {
            is_probing,
            is_largest,
            datagram_size: arrival.datagram_bytes,
            handshake_confirmed: self.handshake.confirmed,
        };
        self.on_packet_from_elsewhere(arrival, id, facts);
    }

    #[cold]
    fn on_packet_after_abandon(&mut self, now: Time, id: PathId) {
        let probe_timeout = self.largest_probe_timeout();
        let Some(control) = self.paths.control_mut(id) else { return };
        if control.on_packet_after_abandon(now, probe_timeout) {
            self.ask_other_paths(id);
        }
    }

    #[cold]
    fn on_packet_from_elsewhere(&mut self, arrival: &Arrival, id: PathId, facts: PacketFacts) {
        let now = arrival.now;
        let mut context = validation_context(now, &self.paths, id, &mut self.validation_pacer);
        let Some(path) = self.paths.get_mut(id) else { return };
        let decision = path.tuples.on_packet(arrival.tuple, facts, &mut context);
        self.on_tuple_decision(now, id, decision);
    }

    /// The addresses of a path changed, perhaps.
    //= rfc9000-9.5-1: each local address has its own connection id
    fn on_tuple_decision(&mut self, now: Time, id: PathId, decision: TupleDecision) {
        let changes = &mut self.ends.cids.changes;
        let Some(path) = self.paths.get_mut(id) else { return };
        let cids = &mut path.control.remote_cids;
        let changed = match decision {
            TupleDecision::Keep | TupleDecision::Discard => return,
            TupleDecision::Moved { drops_previous } => {
                let released = if drops_previous { cids.release_previous(changes) } else { Ok(()) };
                // Without a spare connection id the present one goes on: better linkable than silent.
                released.and_then(|()| cids.switch(changes)).map(|switched| {
                    if !switched {
                        cids.request_more();
                    }
                })
            }
            TupleDecision::Returned => cids.revert(changes),
        };
        path.follow_tuple(now);
        if decision == TupleDecision::Returned {
            path.mtu.start();
        }
        self.policies.wake();
        if let Err(error) = changed {
            self.fail(now, error);
        }
        self.trace_path(now, id);
        self.sync_cids();
    }

    /// PATH_RESPONSE.
    pub(super) fn on_path_response(&mut self, arrival: &Arrival, id: PathId, data: [u8; 8]) {
        if let Some(event) =
            self.paths.get_mut(id).and_then(|path| path.tuples.on_response(arrival.now, data))
        {
            self.on_tuple_event(arrival.now, id, event);
        }
    }

    /// What became of a validation.
    //= rfc9000-9.6.1-2: a client moves to the preferred address that it has validated
    //= rfc9000-9.6.3-2: a moved client takes the preferred address if both are valid
    pub(super) fn on_tuple_event(&mut self, now: Time, id: PathId, event: TupleEvent) {
        let confirmed = self.handshake.confirmed;
        let Some(path) = self.paths.get_mut(id) else { return };
        path.follow_tuple(now);
        match event {
            TupleEvent::Validated { releases_previous } => {
                if confirmed {
                    path.mtu.start();
                }
                let cids = &mut path.control.remote_cids;
                let released = if releases_previous {
                    cids.release_previous(&mut self.ends.cids.changes)
                } else {
                    Ok(())
                };
                self.move_path(now, id, LifeEvent::Validated);
                self.after_cid_change(now, released);
            }
            TupleEvent::FellBack => {
                let reverted = path.control.remote_cids.revert(&mut self.ends.cids.changes);
                path.mtu.start();
                self.trace_path(now, id);
                self.after_cid_change(now, reverted);
            }
            TupleEvent::CandidateAnswered(tuple) => {
                // Section 9.6.3: from wherever we are by now.
                let tuple = FourTuple { remote: tuple.remote, ..path.tuples.current() };
                if let Err(error) = self.migrate_path(now, id, tuple) {
                    debug_assert!(false, "a path that is probed may move: {error}");
                }
            }
            TupleEvent::CandidateFailed => {
                let discarded = path.control.remote_cids.discard_next(&mut self.ends.cids.changes);
                self.after_cid_change(now, discarded);
            }
            TupleEvent::PreviousReleased => {
                let released = path.control.remote_cids.release_previous(&mut self.ends.cids.changes);
                self.after_cid_change(now, released);
            }
            TupleEvent::Failed { failure, began } if failure.is_doubtful(began, path.heard_at) => {
                self.validate_again(now, id);
            }
            TupleEvent::Failed { failure, .. } => self.on_validation_failed(now, id, failure),
        }
    }

    /// No 4-tuple of the path could be validated. draft-ietf-quic-multipath-21 section 3.1: PATH_ABANDON is sent on another
    /// one. Where none answers it would not arrive, and this path is as good as any: who stands in a dead zone tries them
    /// all until the idle timeout ends the connection.
    //= multipath-3.1-7: a path that fails validation is not used
    //= multipath-3.1-8: a path that fails validation is abandoned
    //= rfc9000-14-1: a path must carry 1200 bytes
    //= rfc9000-14.2-4: a path that cannot carry 1200 bytes is not used
    fn on_validation_failed(&mut self, now: Time, id: PathId, failure: ValidationFailure) {
        let others = self.paths.iter().filter(|path| path.id != id && path.life().can_send()).count();
        let is_unreachable = failure == ValidationFailure::Unreachable;
        if self.has_answering_alternative(id, now) || (!is_unreachable && others > 0) {
            self.abandon(now, id, LifeEvent::ValidationFailed, Code::PATH_UNSTABLE_OR_POOR);
        } else if self.paths.is_multipath() && is_unreachable {
            self.validate_again(now, id);
        } else if id != PathId::ZERO || self.handshake.confirmed {
            let reason = "the only path could not be validated";
            self.fail(now, TransportError::new(Code::NO_VIABLE_PATH, reason));
        }
    }

    /// The challenges or their answers are lost, but something that the peer sent since the first of them arrived. It may
    /// have validated the path long ago and send its data here, if rarely. To abandon the path would help nobody, and the
    /// peer might not even hear of it: who stands in half a dead zone would lose the connection when the other path is
    /// abandoned at the other end.
    fn validate_again(&mut self, now: Time, id: PathId) {
        let mut context = validation_context(now, &self.paths, id, &mut self.validation_pacer);
        if let Some(path) = self.paths.get_mut(id) {
            path.tuples.validate_again(&mut context);
        }
    }

    fn after_cid_change(&mut self, now: Time, changed: Result<(), TransportError>) {
        self.sync_cids();
        if let Err(error) = changed {
            self.fail(now, error);
        }
    }

    /// Takes a path from one state of its life to the next and tells who should know.
    pub(super) fn move_path(&mut self, now: Time, id: PathId, event: LifeEvent) {
        let Some(control) = self.paths.control_mut(id) else { return };
        // An illegal move is a mistake in this crate; the table is tested for every pair that can occur.
        let Ok(moved) = control.life.apply(event) else {
            debug_assert!(false, "{:?} on {id:?} in {:?}", event, control.life);
            return;
        };
        self.trace_move(now, id, moved, event);
        let Some(report) = moved.report(id) else { return };
        let change = match report {
            PathEvent::Established(_) => Some(PathChange::Established),
            PathEvent::Suspect(_) => Some(PathChange::Suspect),
            PathEvent::Recovered(_) => Some(PathChange::Recovered),
            PathEvent::Closed(_) => Some(PathChange::Abandoned),
            _ => None,
        };
        if matches!(change, Some(PathChange::Suspect | PathChange::Abandoned)) {
            self.streams.unassign_path(id);
        }
        if let Some(change) = change {
            self.policies.on_path_change(now, id, change);
        }
        self.policies.on_paths_changed();
        if let Some(path) = self.paths.get_mut(id)
            && moved.to == LifeCycle::Active
        {
            path.suspect = None;
        }
        self.outbox.events.path(report);
    }

    /// Abandons a path, for whatever reason: its data goes elsewhere, and the peer is notified.
    //= multipath-3.4-1: a path is abandoned with PATH_ABANDON
    pub(super) fn abandon(&mut self, now: Time, id: PathId, event: LifeEvent, code: Code) {
        let probe_timeout = self.largest_probe_timeout();
        let Some(control) = self.paths.control_mut(id) else { return };
        match event {
            LifeEvent::AbandonedByPeer => {
                control.on_peer_abandon(now, probe_timeout, &mut self.ends.cids.changes)
            }
            _ => control.abandon(code, &mut self.ends.cids.changes),
        }
        self.move_path(now, id, event);
        self.extensions.datagrams.on_path_gone(id);
        self.leave_to_others(id);
        self.sync_cids();
        if event != LifeEvent::AbandonedByPeer {
            self.ask_other_paths(id);
        }
    }

    /// Any path may be the one on which the peer hears: each carries PATH_ABANDON, in a probe, and again in every later probe until
    /// one is acknowledged.
    fn ask_other_paths(&mut self, abandoned: PathId) {
        let others = self.paths.iter_mut().filter(|path| path.id != abandoned && path.can_transmit());
        others.for_each(|path| path.probes = path.probes.max(1));
    }

    /// What is in flight on an abandoned path is queued for others. The peer acknowledges what arrives of it after all, and what was so
    /// acknowledged is not sent again: a full window of a quick path can be a minute's worth of the slow one that is left.
    fn leave_to_others(&mut self, id: PathId) {
        if let Some(path) = self.paths.get_mut(id) {
            path.responses.stop();
            path.tuples.stop();
            path.copies.clear();
            path.probes = 0;
            path.recovery.retire();
        }
        self.resend_elsewhere(id);
    }

    /// Queues what is outstanding on a path, and was not queued before, for other paths.
    fn resend_elsewhere(&mut self, id: PathId) {
        let Some(path) = self.paths.get_mut(id) else { return };
        let mut frames = Vec::new();
        path.recovery.resend_elsewhere(&mut path.space, |packet| {
            frames.extend(packet.frames.iter().filter(|frame| is_movable(frame)).cloned());
        });
        for frame in &frames {
            self.on_frame_lost(SpaceId::Path(id), frame);
        }
    }

    /// Nothing in flight on an abandoned path will be acknowledged any more; no congestion signal.
    //= multipath-3.4.3-2: what is in flight on it counts as lost
    fn release_in_flight(&mut self, now: Time, id: PathId) {
        let mut lost = std::mem::take(&mut self.scratch.lost);
        let mut acked = Vec::new();
        if let Some(path) = self.paths.get_mut(id) {
            path.recovery.drain(&mut path.space, &mut lost);
        }
        self.settle(now, SpaceId::Path(id), &mut acked, &mut lost);
        self.scratch.lost = lost;
    }

    /// Acknowledgements on a path have been outstanding for too long while others work: its data goes on them at once, and it
    /// is probed until it answers.
    pub(super) fn suspect(&mut self, now: Time, id: PathId) {
        let pace = if self.awaits_data() { SuspectPace::WITH_DATA } else { SuspectPace::WITHOUT_DATA };
        let Some(path) = self.paths.get_mut(id) else { return };
        path.suspect = Some(Suspect::new(now, &pace, path.recovery.rtt.smoothed()));
        path.traffic.times_suspect += 1;
        path.copies.clear();
        self.resend_elsewhere(id);
        self.move_path(now, id, LifeEvent::FellSilent);
    }

    /// PATH_ABANDON.
    //= multipath-3.4-8 (not done): when the peer abandons the only path the connection is closed
    pub(super) fn on_path_abandon(
        &mut self,
        now: Time,
        id: PathId,
        _code: u64,
    ) -> Result<(), TransportError> {
        if self.paths.mentioned(id)?.is_none() {
            return Ok(());
        }
        self.abandon(now, id, LifeEvent::AbandonedByPeer, Code::NO_ERROR);
        if !self.paths.iter().any(|path| path.life().can_send()) {
            // draft-ietf-quic-multipath-21 section 3.4: a path that the peer had opened before may be known to us only
            // after this frame. And who drives through a dead zone opens one at its end: as with silence, it is the idle
            // timeout that says how long to wait for that.
            let patience = self.idle.timeout.unwrap_or(NO_PATH_PATIENCE).max(self.three_pto());
            self.idle.no_path_deadline.get_or_insert(now + patience);
        }
        Ok(())
    }

    /// PATH_STATUS_AVAILABLE or PATH_STATUS_BACKUP.
    pub(super) fn on_path_status(
        &mut self,
        now: Time,
        id: PathId,
        sequence: u64,
        status: WireStatus,
    ) -> Result<(), TransportError> {
        let status = match status {
            WireStatus::Available => PathStatus::Available,
            WireStatus::Backup => PathStatus::Backup,
        };
        let Some(control) = self.paths.mentioned(id)?.filter(|control| !control.life.is_abandoned()) else {
            return Ok(());
        };
        if control.status.on_frame(sequence, status) {
            let effective = control.status.effective();
            self.policies.on_path_change(now, id, PathChange::Status(effective));
        }
        Ok(())
    }

    /// NEW_CONNECTION_ID or PATH_NEW_CONNECTION_ID.
    pub(super) fn on_new_connection_id(
        &mut self,
        now: Time,
        new: &NewConnectionId,
    ) -> Result<(), TransportError> {
        let id = new.path_id.map_or(PathId::ZERO, PathId);
        let offer = OfferedCid {
            sequence: new.sequence_number,
            retire_prior_to: new.retire_prior_to,
            id: new.connection_id,
            reset_token: new.reset_token,
        };
        let was_openable = self.paths.is_openable(id);
        let Some(control) = self.paths.mentioned(id)? else { return Ok(()) };
        control.remote_cids.on_offer(offer, &mut self.ends.cids.changes)?;
        self.sync_cids();
        self.announce_openable(now, id, was_openable);
        Ok(())
    }

    /// Tells the path manager when a path id becomes usable.
    fn announce_openable(&mut self, _now: Time, id: PathId, was_openable: bool) {
        if self.side.is_client() && self.handshake.confirmed && !was_openable && self.paths.is_openable(id) {
            self.outbox.events.path(PathEvent::MorePathsAllowed);
        }
    }

    /// RETIRE_CONNECTION_ID or PATH_RETIRE_CONNECTION_ID, in a packet sent to `arrived_on`.
    //= multipath-3.2.2-2: retired connection ids of an open path are replaced
    //= rfc9000-5.1.1-6: a retired connection id is replaced
    pub(super) fn on_retire_connection_id(
        &mut self,
        retire: &RetireConnectionId,
    ) -> Result<(), TransportError> {
        let id = retire.path_id.map_or(PathId::ZERO, PathId);
        let arrived_on = self.arrival.arrived_on;
        let Some(control) = self.paths.mentioned(id)? else { return Ok(()) };
        control.local_cids.on_retire(retire.sequence_number, &arrived_on, &mut self.ends.cids.changes)?;
        self.issue_path_cids();
        self.sync_cids();
        Ok(())
    }

    /// PATH_CIDS_BLOCKED.
    pub(super) fn on_path_cids_blocked(
        &mut self,
        id: PathId,
        next_sequence: u64,
    ) -> Result<(), TransportError> {
        let Some(control) = self.paths.mentioned(id)?.filter(|control| !control.life.is_abandoned()) else {
            return Ok(());
        };
        control.local_cids.on_peer_blocked(next_sequence)?;
        self.issue_path_cids();
        Ok(())
    }

    /// A frame about paths arrived at the peer.
    #[inline(never)]
    pub(super) fn on_path_control_acked(&mut self, now: Time, frame: PathControl) {
        let openable =
            |paths: &super::paths::set::PathSet| frame.path().is_some_and(|id| paths.is_openable(id));
        let before = openable(&self.paths);
        let probe_timeout = self.largest_probe_timeout();
        self.paths.on_control_acked(now, probe_timeout, frame);
        if let Some(id) = frame.path() {
            self.announce_openable(now, id, before);
        }
    }

    /// Issues connection ids for all paths that may come.
    pub(super) fn issue_path_cids(&mut self) {
        self.paths.issue_cids(&mut self.ends.cids.issuer);
        self.sync_cids();
    }

    /// The period of an abandoned path is over.
    pub(super) fn forget_path(&mut self, now: Time, id: PathId) {
        self.release_in_flight(now, id);
        self.move_path(now, id, LifeEvent::PeriodOver);
        self.paths.remove(id);
        self.extensions.messages.on_path_gone(id);
        self.extensions.ack_frequencies.on_path_gone(id);
        self.issue_path_cids();
    }

    /// Passes changes of connection ids on to the endpoint.
    pub(super) fn sync_cids(&mut self) {
        self.paths.changes.append(&mut self.ends.cids.changes);
        self.paths.index_changes();
        for change in std::mem::take(&mut self.paths.changes) {
            let paths = &self.paths;
            let remote = |id| paths.get(id).map(|path| path.tuples.current().remote);
            self.outbox.endpoint_events.extend(self.ends.cids.event(change, remote));
        }
    }
}

/// When and how long to validate an address of a path.
//= rfc9000-8.2.4-2: a validation lasts three of the larger of the present PTO and a new path's
//= rfc9000-9.4-3: the timer of a validation is no shorter than RFC 9002 says
fn validation_context<'a>(
    now: Time,
    paths: &super::paths::set::PathSet,
    id: PathId,
    pacer: &'a mut super::paths::validation::ValidationPacer,
) -> ValidationContext<'a> {
    let initial_pto = pacer.initial_pto();
    let present = paths.get(id).map_or(initial_pto, |path| path.recovery.probe_timeout());
    ValidationContext { now, probe_timeout: present.max(initial_pto), pacer }
}
