//! All paths of a connection, and the path ids for which only connection ids exist yet.

use std::slice;
use std::time::Duration;

use hawser_policy::{PathId, PathView, Time};
use hawser_wire::{ConnectionId, StatelessResetToken, Writer};
use rustc_hash::FxHashMap;

use super::control::{Control, Signals};
use super::local_cids::{CIDS_PER_UNUSED_PATH, CIDS_PER_USED_PATH};
use super::memo::Memo;
use super::path::Path;
use super::path_ids::{IdState, PathIds};
use super::{CidChange, CidFrames, CidIssuer};
use crate::connection::frames::{PathControl, SentFrames};
use crate::connection::stats::{PathInfo, PathStats};
use crate::{FourTuple, TransportError};

/// Paths whose final statistics are kept.
const MAX_REMEMBERED: usize = 256;

/// active_connection_id_limit: connection ids of the peer that we keep per path.
pub(crate) const ACTIVE_CID_LIMIT: usize = 4;

/// Probe timeout without a path: that of RFC 9002 section 6.2.2 for a path without samples.
const NO_PATH_PROBE_TIMEOUT: Duration = Duration::from_millis(999);

/// The paths of a connection.
pub(crate) struct PathSet {
    /// Opened paths in order of id.
    open: Vec<Path>,
    /// Signalling of path ids that are not opened, in order; there are more of these than open paths.
    reserved: Memo<Vec<Control>, Signals>,
    pub(crate) ids: PathIds,
    by_cid: FxHashMap<ConnectionId, PathId>,
    /// The connection id that arrived last on each path: nearly always also the next one.
    recent: Vec<(ConnectionId, PathId)>,
    /// Those that are gone, the oldest first.
    past: Vec<(PathInfo, PathStats)>,
    /// Which frames carry path ids: only once multipath is negotiated.
    form: CidFrames,
    used_several: bool,
    peer_cid_limit: u64,
    /// Changes for the endpoint, in order.
    pub(crate) changes: Vec<CidChange>,
}

impl PathSet {
    /// A connection with its handshake path.
    pub(crate) fn new(path: Path, ids: PathIds) -> Self {
        let mut by_cid = FxHashMap::default();
        for cid in path.control.local_cids.iter() {
            by_cid.insert(cid, path.id);
        }
        PathSet {
            open: vec![path],
            reserved: Memo::new(Vec::new()),
            ids,
            by_cid,
            recent: Vec::new(),
            past: Vec::new(),
            form: CidFrames::Plain,
            used_several: false,
            peer_cid_limit: 2,
            changes: Vec::new(),
        }
    }

    /// Whether both ends speak multipath.
    #[inline]
    pub(crate) fn is_multipath(&self) -> bool {
        self.ids.is_negotiated()
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    #[inline]
    pub(crate) fn at(&self, position: usize) -> Option<&Path> {
        self.open.get(position)
    }

    #[inline]
    pub(crate) fn at_mut(&mut self, position: usize) -> Option<&mut Path> {
        self.open.get_mut(position)
    }

    /// Where a path stands in the order of ids.
    #[inline]
    pub(crate) fn position(&self, id: PathId) -> Option<usize> {
        self.open.iter().position(|path| path.id == id)
    }

    #[inline]
    pub(crate) fn get(&self, id: PathId) -> Option<&Path> {
        self.open.iter().find(|path| path.id == id)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: PathId) -> Option<&mut Path> {
        self.open.iter_mut().find(|path| path.id == id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Path> {
        self.open.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Path> {
        self.open.iter_mut()
    }

    /// Whether there ever was a path besides the first.
    pub(crate) fn has_used_several(&self) -> bool {
        self.used_several
    }

    /// The path to which datagrams with this connection id belong.
    #[inline]
    pub(crate) fn path_of_cid(&self, cid: &ConnectionId) -> Option<PathId> {
        match self.recent.iter().find(|(recent, _)| recent == cid) {
            Some(&(_, id)) => Some(id),
            None => self.by_cid.get(cid).copied(),
        }
    }

    /// Remembers the connection id of a packet that proved authentic.
    #[inline]
    pub(crate) fn note_cid(&mut self, cid: ConnectionId, id: PathId) {
        match self.recent.iter_mut().find(|(_, path)| *path == id) {
            Some((recent, _)) => *recent = cid,
            None => self.recent.push((cid, id)),
        }
    }

    /// The signalling state of a path id, opened or not.
    pub(crate) fn control_mut(&mut self, id: PathId) -> Option<&mut Control> {
        if let Some(path) = self.open.iter_mut().find(|path| path.id == id) {
            return Some(&mut *path.control);
        }
        self.reserved.iter_mut().find(|control| control.id == id)
    }

    pub(crate) fn reserved(&self, id: PathId) -> Option<&Control> {
        self.reserved.iter().find(|control| control.id == id)
    }

    /// Whether both ends have connection ids for a path id that is not opened.
    pub(crate) fn is_openable(&self, id: PathId) -> bool {
        self.reserved(id).is_some_and(|control| {
            control.remote_cids.can_open()
                && control.local_cids.any_acknowledged()
                && !control.life.is_abandoned()
        })
    }

    /// Takes the signalling state of a path that is about to be opened.
    pub(crate) fn take_reserved(&mut self, id: PathId) -> Option<Control> {
        let at = self.reserved.iter().position(|control| control.id == id)?;
        let mut control = self.reserved.remove(at);
        control.remote_cids.open(&mut self.changes);
        Some(control)
    }

    /// Adds an opened path.
    pub(crate) fn insert(&mut self, path: Path) {
        self.used_several = true;
        self.ids.on_opened(path.id);
        let at = self.open.partition_point(|other| other.id < path.id);
        self.open.insert(at, path);
    }

    /// Multipath is negotiated.
    //= multipath-3.2-1: PATH_NEW_CONNECTION_ID and PATH_RETIRE_CONNECTION_ID are used for path 0, too
    //= rfc9000-19.21-1: frames of extensions only for peers that understand them
    pub(crate) fn negotiate(&mut self, peer_max_path_id: u32) {
        self.ids.negotiate(peer_max_path_id);
        self.form = CidFrames::WithPath;
        self.reserved.forget();
        self.open.iter_mut().for_each(|path| path.control.forget());
    }

    /// The peer's active_connection_id_limit.
    pub(crate) fn set_peer_cid_limit(&mut self, limit: u64) {
        self.peer_cid_limit = limit;
        for control in self.controls_mut() {
            control.local_cids.set_peer_limit(limit);
        }
    }

    /// Issues connection ids for every path id that both ends allow, so that paths can be opened at any time.
    //= multipath-3.2.1-1: connection ids are issued for all path ids that both ends allow
    pub(crate) fn issue_cids(&mut self, issuer: &mut dyn CidIssuer) {
        if self.ids.is_negotiated() {
            let missing: Vec<PathId> = self
                .ids
                .issuable()
                .filter(|id| self.get(*id).is_none() && self.reserved(*id).is_none())
                .collect();
            for id in missing {
                self.reserve(id);
            }
        }
        for path in &mut self.open {
            path.control.local_cids.fill(CIDS_PER_USED_PATH, issuer, &mut self.changes);
        }
        for control in self.reserved.iter_mut() {
            control.local_cids.fill(CIDS_PER_UNUSED_PATH, issuer, &mut self.changes);
        }
        self.index_changes();
    }

    fn reserve(&mut self, id: PathId) {
        let mut control = Control::new(id, ACTIVE_CID_LIMIT);
        control.local_cids.set_peer_limit(self.peer_cid_limit);
        let at = self.reserved.partition_point(|other| other.id < id);
        self.reserved.insert(at, control);
    }

    /// Whether an acknowledgement of packets of a path concerns one that is in use. For a path that is gone it is
    /// ignored.
    ///
    /// # Errors
    /// PROTOCOL_VIOLATION if nothing was ever sent on it.
    pub(crate) fn accepts_ack(&self, id: PathId) -> Result<bool, TransportError> {
        if self.get(id).is_some() {
            return Ok(true);
        }
        if self.ids.check(id)? == IdState::Alive {
            return Err(TransportError::protocol_violation(
                "acknowledgement for a path that carried no packet",
            ));
        }
        Ok(false)
    }

    /// The signalling state of a path id that the peer mentions; `None` if it is gone.
    ///
    /// # Errors
    /// PROTOCOL_VIOLATION if we never allowed it.
    //= multipath-4-4: frames about paths that are gone are ignored
    pub(crate) fn mentioned(&mut self, id: PathId) -> Result<Option<&mut Control>, TransportError> {
        if id != PathId::ZERO || self.ids.is_negotiated() {
            if self.ids.check(id)? == IdState::Dead {
                return Ok(None);
            }
            if self.get(id).is_none() && self.reserved(id).is_none() {
                self.reserve(id);
            }
        }
        Ok(self.control_mut(id))
    }

    /// Keeps the index of connection ids in step with the changes reported to the endpoint.
    //= rfc9000-5.1.1-2: issued connection ids are recognised until they are retired
    pub(crate) fn index_changes(&mut self) {
        for change in &self.changes {
            match change {
                CidChange::Added(cid, id) => {
                    self.by_cid.insert(*cid, *id);
                }
                CidChange::Removed(cid) => {
                    self.by_cid.remove(cid);
                    self.recent.clear();
                }
                CidChange::ResetTokenAdded(..) | CidChange::ResetTokenRemoved(_) => {}
            }
        }
    }

    /// Whether a packet that no key opens ends in a stateless reset token of the peer. Every token is compared, in
    /// constant time each, so that the time tells nothing (RFC 9000 section 10.3.1).
    //= rfc9000-10.3.1-3: the comparison of reset tokens takes the same time for all tokens
    pub(crate) fn is_stateless_reset(&self, packet: &[u8]) -> bool {
        let Some(token) = StatelessResetToken::at_end_of(packet) else { return false };
        self.open.iter().fold(false, |found, path| found | path.control.remote_cids.is_reset_token(&token))
    }

    /// Whether frames about paths or connection ids wait.
    pub(crate) fn has_pending_control(&self) -> bool {
        if self.ids.pending() || self.reserved_signals().pending {
            return true;
        }
        // Written out: the compiler makes four times as much of `any`.
        for path in &self.open {
            if self.signals(path).pending {
                return true;
            }
        }
        false
    }

    /// What the signalling of an open path asks for.
    #[inline]
    fn signals(&self, path: &Path) -> Signals {
        path.control.result(|control| Signals::of(slice::from_ref(control), self.form))
    }

    /// What the signalling of reserved path ids asks for.
    #[inline]
    fn reserved_signals(&self) -> Signals {
        self.reserved.result(|controls| Signals::of(controls, self.form))
    }

    fn controls(&self) -> impl Iterator<Item = &Control> {
        self.open.iter().map(|path| &*path.control).chain(self.reserved.iter())
    }

    fn controls_mut(&mut self) -> impl Iterator<Item = &mut Control> {
        self.open.iter_mut().map(|path| &mut *path.control).chain(self.reserved.iter_mut())
    }

    /// Writes as many of them as fit.
    pub(crate) fn write_control(&mut self, w: &mut Writer<'_>, frames: &mut SentFrames) {
        self.ids.write(w, frames);
        let form = self.form;
        for control in self.controls_mut() {
            control.write(form, w, frames);
        }
    }

    /// Writes PATH_ABANDON of each path whose abandonment the peer has not acknowledged. Returns whether there was any.
    pub(crate) fn write_abandonments(&mut self, w: &mut Writer<'_>, frames: &mut SentFrames) -> bool {
        let before = frames.len();
        // Nearly always no such path exists, and looking for it must not spoil what is known of the others.
        let is_open = |path: &Path| path.control.abandonment.is_some();
        for path in self.open.iter_mut().filter(|path| is_open(path)) {
            if let Some(abandonment) = &mut path.control.abandonment {
                abandonment.write_again(w, frames);
            }
        }
        if self.reserved.iter().any(|control| control.abandonment.is_some()) {
            for abandonment in self.reserved.iter_mut().filter_map(|control| control.abandonment.as_mut()) {
                abandonment.write_again(w, frames);
            }
        }
        frames.len() > before
    }

    /// A frame about paths arrived.
    pub(crate) fn on_control_acked(&mut self, now: Time, probe_timeout: Duration, frame: PathControl) {
        match (frame.path(), frame) {
            (Some(id), _) => {
                if let Some(control) = self.control_mut(id) {
                    control.on_acked(now, probe_timeout, frame);
                }
            }
            (None, PathControl::PathsBlocked) => self.ids.on_blocked_acked(),
            (None, _) => {}
        }
    }

    /// A frame about paths is lost.
    pub(crate) fn on_control_lost(&mut self, frame: PathControl) {
        match (frame.path(), frame) {
            (Some(id), _) => {
                if let Some(control) = self.control_mut(id) {
                    control.on_lost(frame);
                }
            }
            (None, PathControl::PathsBlocked) => self.ids.on_blocked_lost(),
            (None, _) => self.ids.on_max_path_id_lost(),
        }
    }

    /// The next 4-tuple on which a challenge or an answer is to be sent.
    pub(crate) fn validation_due(&self, now: Time, least: u64) -> Option<(PathId, FourTuple)> {
        self.open.iter().find_map(|path| Some((path.id, path.validation_due(now, least)?)))
    }

    /// The connection id for packets on a path to these addresses.
    //= multipath-3.1-2: packets of a path have connection ids of that path
    //= rfc9000-9.5-2: each destination address has its own connection id
    pub(crate) fn remote_cid(&self, id: PathId, tuple: Option<&FourTuple>) -> Option<ConnectionId> {
        let path = self.get(id)?;
        let cids = &path.control.remote_cids;
        match tuple.copied() {
            Some(tuple) if path.tuples.previous() == Some(tuple) => cids.previous().or(cids.current()),
            Some(tuple) if path.tuples.candidate() == Some(tuple) => cids.next(),
            _ => cids.current(),
        }
    }

    /// The largest smoothed round-trip time of the paths in use: the pace at which windows must grow.
    pub(crate) fn largest_rtt(&self) -> Option<Duration> {
        self.open.iter().map(|path| path.recovery.rtt.smoothed()).max()
    }

    /// The largest probe timeout of all paths, without back-off.
    //= multipath-2.6-2: closing and draining use the largest PTO of all paths
    pub(crate) fn largest_probe_timeout(&self) -> Duration {
        // There is always a path: the last one is never removed before the connection ends.
        self.open.iter().map(|path| path.recovery.probe_timeout()).max().unwrap_or(NO_PATH_PROBE_TIMEOUT)
    }

    /// Refreshes the views of the paths that policies see.
    pub(crate) fn fill_views(&self, now: Time, views: &mut Vec<PathView>) {
        let mut filled = 0;
        for path in &self.open {
            let Some(state) = path.state() else { continue };
            // In place: they are large, and refreshed for every second packet.
            if filled == views.len() {
                views.push(PathView::new(path.id));
            }
            if let Some(view) = views.get_mut(filled) {
                path.fill_view(now, state, view);
            }
            filled += 1;
        }
        views.truncate(filled);
    }

    /// Forgets a path id whose abandonment is over. Returns whether the peer may open another one instead.
    pub(crate) fn remove(&mut self, id: PathId) -> bool {
        if let Some(at) = self.open.iter().position(|path| path.id == id) {
            let mut path = self.open.remove(at);
            path.control.local_cids.remove_all(&mut self.changes);
            if self.past.len() == MAX_REMEMBERED {
                self.past.remove(0);
            }
            self.past.push((path.last_info(), path.stats()));
        } else if let Some(at) = self.reserved.iter().position(|control| control.id == id) {
            let mut control = self.reserved.remove(at);
            control.local_cids.remove_all(&mut self.changes);
        }
        self.index_changes();
        self.ids.on_closed(id)
    }

    /// Path ids whose abandonment is over at `now`.
    pub(crate) fn expired(&self, now: Time) -> Option<PathId> {
        self.controls().find(|control| control.expiry().is_some_and(|at| at <= now)).map(|control| control.id)
    }

    /// When the next abandonment is over.
    #[inline]
    pub(crate) fn next_expiry(&self) -> Option<Time> {
        let mut first = self.reserved_signals().expiry;
        for path in &self.open {
            first = first.min(self.signals(path).expiry);
        }
        first.time()
    }

    /// The paths that ended, the oldest first, also those whose end the peer has not confirmed.
    pub(crate) fn past(&self) -> impl Iterator<Item = PathInfo> + '_ {
        let ending = self.open.iter().filter(|path| path.state().is_none()).map(Path::last_info);
        self.past.iter().map(|(info, _)| info.clone()).chain(ending)
    }

    /// Statistics of a path, also of one that is gone.
    pub(crate) fn stats(&self, id: PathId) -> Option<PathStats> {
        let past = || self.past.iter().rev().find(|(past, _)| past.id == id).map(|(_, stats)| *stats);
        self.get(id).map(Path::stats).or_else(past)
    }
}
