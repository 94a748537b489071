//! The signalling state of one path id. It begins with the first connection ids, before the path is opened, and ends
//! with the abandonment.

use std::time::Duration;

use hawser_policy::{Earliest, PathId, Time};
use hawser_wire::Writer;

use super::abandon::Abandonment;
use super::life_cycle::LifeCycle;
use super::local_cids::LocalCids;
use super::remote_cids::RemoteCids;
use super::status::StatusExchange;
use super::{CidChange, CidFrames};
use crate::Code;
use crate::connection::frames::{PathControl, SentFrames};

/// What is signalled about a path id.
#[derive(Debug)]
pub(crate) struct Control {
    pub(crate) id: PathId,
    pub(crate) life: LifeCycle,
    pub(crate) local_cids: LocalCids,
    pub(crate) remote_cids: RemoteCids,
    pub(crate) status: StatusExchange,
    pub(crate) abandonment: Option<Abandonment>,
}

/// What the signalling state of path ids asks for, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signals {
    /// Whether a frame is to be sent.
    pub(crate) pending: bool,
    /// When the first abandonment is over.
    pub(crate) expiry: Earliest,
}

impl Signals {
    /// Those of one or several path ids.
    pub(crate) fn of(controls: &[Control], form: CidFrames) -> Self {
        Signals {
            pending: controls.iter().any(|control| control.pending(form)),
            expiry: controls.iter().fold(Earliest::NONE, |first, control| first.or(control.expiry())),
        }
    }
}

impl Control {
    /// A path id of which nothing was said. `cid_limit` is the active_connection_id_limit that we announce.
    pub(crate) fn new(id: PathId, cid_limit: usize) -> Self {
        Control {
            id,
            life: LifeCycle::Unused,
            local_cids: LocalCids::new(id),
            remote_cids: RemoteCids::new(id, cid_limit),
            status: StatusExchange::new(id),
            abandonment: None,
        }
    }

    /// The path id is given up: nothing more is issued, asked for or wished.
    pub(crate) fn stop(&mut self, abandonment: Abandonment, changes: &mut Vec<CidChange>) {
        self.abandonment.get_or_insert(abandonment);
        self.local_cids.stop();
        self.remote_cids.abandon(changes);
        self.status.stop();
    }

    /// The peer gives the path id up.
    //= multipath-3.4-4: PATH_ABANDON is answered by one
    pub(crate) fn on_peer_abandon(
        &mut self,
        now: Time,
        probe_timeout: Duration,
        changes: &mut Vec<CidChange>,
    ) {
        match &mut self.abandonment {
            Some(abandonment) => abandonment.on_peer(now, probe_timeout),
            None => self.stop(Abandonment::by_peer(self.id, now, probe_timeout), changes),
        }
    }

    /// We give the path id up.
    pub(crate) fn abandon(&mut self, code: Code, changes: &mut Vec<CidChange>) {
        if self.abandonment.is_none() {
            self.stop(Abandonment::by_us(self.id, code), changes);
        }
    }

    /// The peer sent a packet on the path after it was given up. Returns whether it is to hear of that once more.
    pub(crate) fn on_packet_after_abandon(&mut self, now: Time, probe_timeout: Duration) -> bool {
        self.abandonment.as_mut().is_some_and(|abandonment| {
            abandonment.on_packet(now, probe_timeout);
            abandonment.pending()
        })
    }

    /// When the abandonment is over and the path id may be forgotten.
    pub(crate) fn expiry(&self) -> Option<Time> {
        self.abandonment.as_ref().and_then(Abandonment::timeout)
    }

    /// Whether a frame is to be sent.
    fn pending(&self, form: CidFrames) -> bool {
        self.local_cids.pending()
            || self.remote_cids.pending(form)
            || self.status.pending()
            || self.abandonment.as_ref().is_some_and(Abandonment::pending)
    }

    /// Writes as many of the pending frames as fit.
    pub(crate) fn write(&mut self, form: CidFrames, w: &mut Writer<'_>, frames: &mut SentFrames) {
        if let Some(abandonment) = &mut self.abandonment {
            abandonment.write(w, frames);
        }
        self.local_cids.write(form, w, frames);
        self.remote_cids.write(form, w, frames);
        self.status.write(w, frames);
    }

    /// A frame about this path id arrived.
    pub(crate) fn on_acked(&mut self, now: Time, probe_timeout: Duration, frame: PathControl) {
        match frame {
            PathControl::NewConnectionId { sequence, .. } => self.local_cids.on_acked(sequence),
            PathControl::RetireConnectionId { sequence, .. } => self.remote_cids.on_retire_acked(sequence),
            PathControl::Status { sequence, .. } => self.status.on_acked(sequence),
            PathControl::PathCidsBlocked(_) => self.remote_cids.on_blocked_acked(),
            PathControl::Abandon(_) => {
                if let Some(abandonment) = &mut self.abandonment {
                    abandonment.on_acked(now, probe_timeout);
                }
            }
            PathControl::MaxPathId | PathControl::PathsBlocked => {}
        }
    }

    /// A frame about this path id is lost.
    pub(crate) fn on_lost(&mut self, frame: PathControl) {
        match frame {
            PathControl::NewConnectionId { sequence, .. } => self.local_cids.on_lost(sequence),
            PathControl::RetireConnectionId { sequence, .. } => self.remote_cids.on_retire_lost(sequence),
            PathControl::Status { sequence, .. } => self.status.on_lost(sequence),
            PathControl::PathCidsBlocked(_) => self.remote_cids.on_blocked_lost(),
            PathControl::Abandon(_) => {
                if let Some(abandonment) = &mut self.abandonment {
                    abandonment.on_lost();
                }
            }
            PathControl::MaxPathId | PathControl::PathsBlocked => {}
        }
    }
}
