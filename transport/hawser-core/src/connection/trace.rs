//! What a connection tells those who study it: a qlog trace.
//!
//! A trace is a JSON text sequence (RFC 7464) as draft-ietf-quic-qlog-main-schema-14 describes it, with the events of
//! draft-ietf-quic-qlog-quic-events-13. Those drafts do not know of multipath, so `path_id` is added to the headers of
//! 1-RTT packets and to the events about recovery, `hawser:path_state_updated` tells of the life of paths, and
//! `hawser:stream_bytes_updated` of stream data that was sent or arrived more than once. For tools that only know the drafts each path is a tuple of its own as well: path 0 the unnamed one, path n "n".
//!
//! The hooks below are called all over the connection. Without a trace each costs one branch: they take references,
//! and nothing is formatted or looked up before it is known that someone listens.
//!
//! | file | subject |
//! |---|---|
//! | `packet` | what the hooks hand over of a packet |
//! | `tracer` | what is written |
//! | `absent` | in its place where the feature `qlog` is off |

pub(super) mod packet;
#[cfg_attr(not(feature = "qlog"), path = "trace/absent.rs")]
pub(super) mod tracer;

use hawser_policy::{PathId, Time};
use hawser_wire::TransportParameters;

use super::Connection;
use super::arrival::SpaceId;
use super::close::CloseReason;
use super::handshake::Progress;
use super::paths::life_cycle::{LifeEvent, Move};
use super::recovery::SentPacket;
use crate::ConnectionError;
use crate::crypto::Level;

use self::packet::TracedPacket;

impl Connection {
    /// A packet was opened.
    #[inline]
    pub(super) fn trace_received<'a>(&mut self, now: Time, packet: impl FnOnce() -> TracedPacket<'a>) {
        if let Some(tracer) = &mut self.observed.tracer {
            let packet = packet();
            let exponent =
                if packet.space.level() == Level::OneRtt { self.ends.peer.ack_delay_exponent } else { 3 };
            tracer.packet_received(now, &packet, exponent);
        }
    }

    /// A packet came to nothing.
    #[inline]
    pub(super) fn trace_dropped(
        &mut self,
        now: Time,
        packet: (Option<SpaceId>, Option<u64>),
        length: usize,
        trigger: &str,
    ) {
        if let Some(tracer) = &mut self.observed.tracer {
            tracer.packet_dropped(now, packet, length, trigger);
        }
    }

    /// Packets were acknowledged or lost.
    #[inline]
    pub(super) fn trace_settled(
        &mut self,
        now: Time,
        space: SpaceId,
        acked: &[SentPacket],
        lost: &[SentPacket],
    ) {
        if self.observed.tracer.is_some() {
            self.write_settled(now, space, acked, lost);
        }
    }

    #[inline(never)]
    fn write_settled(&mut self, now: Time, space: SpaceId, acked: &[SentPacket], lost: &[SentPacket]) {
        let Some(tracer) = &mut self.observed.tracer else { return };
        tracer.packets_acked(now, space, acked);
        let path = self.paths.get(space.path());
        for packet in lost {
            // On a path that was given up nothing tells of loss.
            let detected = path.filter(|path| path.life().can_send());
            let trigger = detected.map(|path| path.recovery.loss_trigger(packet, now));
            tracer.packet_lost(now, space, packet, trigger);
        }
        if let Some(path) = path {
            tracer.path_settled(now, path, acked, lost);
        }
    }

    /// A path may look different now: addresses, datagram size, window, bytes in flight.
    #[inline]
    pub(super) fn trace_path(&mut self, now: Time, id: PathId) {
        if let Some(tracer) = &mut self.observed.tracer
            && let Some(path) = self.paths.get(id)
        {
            tracer.path_changed(now, path);
        }
    }

    /// All paths may look different now.
    #[inline]
    pub(super) fn trace_paths(&mut self, now: Time) {
        if let Some(tracer) = &mut self.observed.tracer {
            self.paths.iter().for_each(|path| tracer.path_changed(now, path));
            self.trace_stream_bytes(now, false);
        }
    }

    fn trace_stream_bytes(&mut self, now: Time, is_end: bool) {
        let stats = self.stats();
        if let Some(tracer) = &mut self.observed.tracer {
            tracer.stream_bytes(now, &stats, is_end);
        }
    }

    /// A path's life went on.
    #[inline]
    pub(super) fn trace_move(&mut self, now: Time, id: PathId, moved: Move, event: LifeEvent) {
        if let Some(tracer) = &mut self.observed.tracer {
            tracer.path_moved(now, id, moved, event);
        }
    }

    /// The peer's transport parameters arrived.
    pub(super) fn trace_peer_parameters(&mut self, parameters: &TransportParameters) {
        if let Some(tracer) = &mut self.observed.tracer {
            tracer.parameters(self.arrival.last_now, "remote", parameters);
        }
    }

    /// The version of the connection is another one now.
    pub(super) fn trace_version(&mut self, now: Time) {
        if let Some(tracer) = &mut self.observed.tracer {
            tracer.version(now, self.handshake.version.ours(), self.handshake.version.current());
        }
    }

    /// TLS moved on.
    pub(super) fn trace_progress(&mut self, now: Time, progress: Progress) {
        let Some(tracer) = &mut self.observed.tracer else { return };
        if progress.decided && self.handshake.version.current() != self.handshake.version.original() {
            tracer.version(now, self.handshake.version.ours(), self.handshake.version.current());
        }
        if self.handshake.handshake.is_some() && tracer.state_is("attempted") {
            tracer.keys(now, "handshake", None, "tls");
            tracer.state(now, "handshake_started");
        }
        if progress.one_rtt_ready {
            tracer.keys(now, "1rtt", Some(0), "tls");
        }
        if progress.completed {
            if let Some(protocol) =
                self.handshake.session().and_then(|session| session.application_protocol())
            {
                tracer.application_protocol(now, &protocol);
            }
            tracer.state(now, "handshake_complete");
        }
    }

    /// The handshake is confirmed, or the connection is in one of the states of its end.
    pub(super) fn trace_state_change(&mut self, now: Time, state: &'static str) {
        if let Some(tracer) = &mut self.observed.tracer {
            tracer.state(now, state);
        }
    }

    /// The keys of a level were discarded.
    pub(super) fn trace_keys_discarded(&mut self, level: &str) {
        if let Some(tracer) = &mut self.observed.tracer {
            tracer.keys_discarded(self.arrival.last_now, level);
        }
    }

    /// The next key phase began.
    pub(super) fn trace_key_update(&mut self, now: Time, trigger: &str) {
        if let Some(tracer) = &mut self.observed.tracer {
            tracer.keys(now, "1rtt", Some(self.observed.stats.key_updates), trigger);
        }
    }

    /// We closed.
    pub(super) fn trace_closed_locally(&mut self, now: Time, reason: &CloseReason) {
        self.trace_stream_bytes(now, true);
        if let Some(tracer) = &mut self.observed.tracer {
            tracer.closed_locally(now, reason);
            tracer.state(now, "closing");
            tracer.flush();
        }
    }

    /// The connection ended for a reason that is not local; `state` is where that leaves it.
    pub(super) fn trace_closed(&mut self, now: Time, error: &ConnectionError, state: &'static str) {
        self.trace_stream_bytes(now, true);
        if let Some(tracer) = &mut self.observed.tracer {
            tracer.closed(now, error);
            tracer.state(now, state);
            tracer.flush();
        }
    }
}
