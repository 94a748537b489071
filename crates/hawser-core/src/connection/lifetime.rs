//! The handshake's milestones, key updates, and the end.

use std::cmp::Reverse;
use std::time::Duration;

use bytes::Bytes;
use hawser_policy::{PathEvent, PathId, PathState, Side, Time};
use hawser_wire::frame::{ConnectionClose, Frame, TimestampLimits};
use hawser_wire::packet::{LongHeader, LongPacketType, ShortHeader, TruncatedPacketNumber};
use hawser_wire::{ConnectionId, Writer};
use rand::RngCore;

use super::Connection;
use super::arrival::SpaceId;
use super::close::{CloseReason, MAX_REASON_LENGTH, local_error};
use super::events::Event;
use super::handshake::{LongLevel, Progress};
use super::packet_room::reserve;
use super::parameters::{self, PeerParameters};
use super::paths::life_cycle::{LifeCycle, LifeEvent};
use super::paths::path::Path;
use super::recovery::PacketKind;
use super::trace::tracer::TracedPacket;
use crate::crypto::{Keys, Level};
use crate::endpoint::{EndpointEvent, Transmit};
use crate::{Code, ConnectionError, TransportError};

impl Connection {
    /// A CRYPTO frame.
    pub(super) fn on_crypto(
        &mut self,
        now: Time,
        space: SpaceId,
        offset: u64,
        data: &[u8],
    ) -> Result<(), TransportError> {
        let progress = self.handshake.on_crypto(space.level(), offset, data)?;
        self.handshake.last_activity = now;
        self.on_progress(now, progress)
    }

    /// TLS moved on.
    pub(super) fn on_progress(&mut self, now: Time, progress: Progress) -> Result<(), TransportError> {
        self.trace_progress(now, progress);
        if progress.data_ready {
            self.events.push(Event::HandshakeDataReady);
        }
        if progress.one_rtt_ready {
            self.adopt_peer_parameters()?;
        }
        if progress.completed {
            self.early.on_keys();
            self.on_completed(now);
            if self.side.is_server() {
                self.server_frames.handshake_done_pending = true;
                self.on_confirmed(now);
                self.endpoint_events.push_back(EndpointEvent::HandshakeDone);
            }
        } else if self.handshake.handshake.is_some() {
            self.early.on_keys();
        }
        Ok(())
    }

    /// The peer's transport parameters are known and authenticated with the handshake that goes on.
    fn adopt_peer_parameters(&mut self) -> Result<(), TransportError> {
        let raw = self.handshake.session.peer_transport_parameters().ok_or_else(|| {
            TransportError::new(Code::TRANSPORT_PARAMETER_ERROR, "the peer sent no transport parameters")
        })?;
        let expected = parameters::ExpectedCids {
            side: self.side,
            source: self.peer_source(),
            original_destination: self.identity.original_destination,
            retry_source: self.identity.retry_source,
        };
        let peer = parameters::validate(raw, &expected)?;
        self.idle.timeout = parameters::idle_timeout(self.transport.max_idle_timeout, peer.max_idle_timeout);
        self.streams.set_peer_limits(&peer);
        self.datagrams.set_peer_max_frame_size(peer.max_datagram_frame_size);
        self.paths.set_peer_cid_limit(peer.active_connection_id_limit);
        if let Some(path) = self.paths.get_mut(PathId::ZERO) {
            path.mtu.set_peer_limit(peer.max_udp_payload_size);
            path.recovery.set_max_ack_delay(Duration::from_millis(u64::from(peer.max_ack_delay)));
            if let Some(token) = peer.stateless_reset_token {
                path.control.remote_cids.set_handshake_token(token, &mut self.cids.changes);
            }
        }
        self.messages.negotiate(&parameters::local_features(&self.transport), peer.features.as_ref());
        let peer_min = peer.min_ack_delay.map(Duration::from_micros);
        self.ack_frequencies.negotiate(peer_min, Duration::from_millis(peer.max_ack_delay.into()));
        if let Some(frequency) = self.transport.ack_frequency {
            // Not for a peer that takes no requests.
            let _ = self.ack_frequencies.request(frequency);
        }
        if let Some(max_count) = peer.max_receive_timestamps_per_ack {
            let limits = TimestampLimits { exponent: peer.receive_timestamps_exponent, max_count };
            let random = self.next_random();
            self.receive_times.on_peer_asks(limits, random);
        }
        self.trace_peer_parameters(&peer);
        self.peer = PeerParameters::from(&peer);
        if let (Some(theirs), Some(_)) = (peer.initial_max_path_id, self.transport.max_path_id) {
            self.paths.negotiate(theirs);
        }
        self.sync_cids();
        Ok(())
    }

    /// The connection id that the peer chose for itself in the handshake.
    pub(super) fn peer_source(&self) -> Option<ConnectionId> {
        if self.side.is_client() {
            self.identity.server_source
        } else {
            self.paths.remote_cid(PathId::ZERO, None)
        }
    }

    /// HANDSHAKE_DONE.
    pub(super) fn on_handshake_done(&mut self, now: Time) -> Result<(), TransportError> {
        if self.side.is_server() {
            return Err(TransportError::protocol_violation("a client sent HANDSHAKE_DONE"));
        }
        if !self.handshake.confirmed {
            self.on_confirmed(now);
        }
        Ok(())
    }

    /// RFC 9001 section 4.1.1: the handshake is complete. The peer has shown that it is at this address, so the path
    /// carries data; connection ids for further paths go with the first of it, so that a round trip later, when the
    /// handshake is confirmed, paths can be opened.
    fn on_completed(&mut self, now: Time) {
        self.move_path(now, PathId::ZERO, LifeEvent::Validated);
        self.issue_path_cids();
        self.events.push(Event::Connected);
    }

    /// RFC 9001 section 4.1.2.
    fn on_confirmed(&mut self, now: Time) {
        self.handshake.confirmed = true;
        self.trace_state_change(now, "handshake_confirmed");
        self.discard_initial();
        self.discard_handshake();
        if let Some(path) = self.paths.get_mut(PathId::ZERO) {
            path.recovery.on_handshake_confirmed();
            path.tuples.on_handshake_validated();
            path.mtu.start();
        }
        self.events.push(Event::HandshakeConfirmed);
        if self.paths.is_multipath() {
            self.events.path(PathEvent::MultipathReady);
        }
    }

    /// Initial keys go (RFC 9001 section 4.9.1).
    pub(super) fn discard_initial(&mut self) {
        if let Some(mut level) = self.handshake.initial.take() {
            self.trace_keys_discarded("initial");
            self.discard_level(&mut level);
        }
    }

    fn discard_handshake(&mut self) {
        if let Some(mut level) = self.handshake.handshake.take() {
            self.trace_keys_discarded("handshake");
            self.discard_level(&mut level);
        }
    }

    fn discard_level(&mut self, level: &mut LongLevel) {
        if let Some(path) = self.paths.get_mut(PathId::ZERO) {
            path.recovery.discard_space(&mut level.space);
        }
    }

    /// The client adopts the connection id that the server chose (RFC 9000 section 7.2).
    pub(super) fn adopt_server_cid(&mut self, source: ConnectionId) {
        if self.identity.on_server_source(source) {
            self.set_handshake_remote_cid(source);
        }
    }

    pub(super) fn set_handshake_remote_cid(&mut self, cid: ConnectionId) {
        if let Some(path) = self.paths.get_mut(PathId::ZERO) {
            path.control.remote_cids.set_handshake_cid(cid);
        }
    }

    /// After a Retry everything sent so far counts for nothing but its packet numbers (RFC 9000 section 17.2.5.3).
    pub(super) fn restart_initial(&mut self, keys: Keys) {
        let Some(level) = self.handshake.initial.as_mut() else { return };
        level.keys = keys;
        level.send.resend_all();
        let mut lost = Vec::new();
        if let Some(path) = self.paths.get_mut(PathId::ZERO) {
            path.recovery.drain(&mut level.space, &mut lost);
        }
    }

    /// Starts a key update (RFC 9001 section 6). Happens by itself before the keys wear out.
    ///
    /// Returns whether it was possible now: every path must have acknowledged a packet of the present phase
    /// (draft-ietf-quic-multipath-21 section 4), and three probe timeouts must be over since.
    pub fn initiate_key_update(&mut self, now: Time) -> bool {
        let Some(keys) = self.handshake.one_rtt.as_ref().filter(|_| self.handshake.confirmed) else {
            return false;
        };
        // A silent path may block for as long as it takes to abandon it; that it is left out when the keys run out is
        // better than to end the connection. Should it return, its packets are of the present phase like all others.
        let is_urgent = keys.needs_update();
        let counts = |path: &&Path| match path.state() {
            Some(PathState::Active) => true,
            Some(PathState::Suspect) => !is_urgent,
            _ => false,
        };
        let all_acknowledged = self.paths.iter().filter(counts).all(|path| path.key_phase.is_acknowledged());
        let updated = all_acknowledged && keys.may_update(now) && self.roll_keys(now).is_ok();
        if updated {
            self.trace_key_update(now, "local_update");
        }
        updated
    }

    /// Moves to the next key phase.
    pub(super) fn roll_keys(&mut self, _now: Time) -> Result<(), TransportError> {
        self.handshake.update_keys()?;
        self.stats.key_updates += 1;
        self.paths.iter_mut().for_each(Path::on_key_update);
        Ok(())
    }

    /// A packet of the present key phase was acknowledged for the first time on a path.
    #[cold]
    pub(super) fn on_key_phase_acked(&mut self, now: Time) {
        let three_pto = self.three_pto();
        if let Some(keys) = &mut self.handshake.one_rtt {
            keys.on_acknowledged(now, three_pto);
        }
    }

    /// Keeps the keys within their limits (RFC 9001 section 6.6).
    pub(super) fn check_key_limits(&mut self, now: Time) {
        let Some(keys) = &self.handshake.one_rtt else { return };
        if !keys.wants_update() {
            return;
        }
        if !self.initiate_key_update(now)
            && self.handshake.one_rtt.as_ref().is_some_and(|keys| keys.is_exhausted())
        {
            self.fail(
                now,
                TransportError::new(
                    Code::AEAD_LIMIT_REACHED,
                    "the keys are used up and could not be changed",
                ),
            );
        }
    }

    /// Closes the connection. What was written and not yet sent is dropped; wait for the streams to be acknowledged
    /// first if it matters.
    pub fn close(&mut self, now: Time, code: u64, reason: Bytes) {
        self.end(now, CloseReason::Application { code, reason });
    }

    /// Closes because of an error.
    pub(super) fn fail(&mut self, now: Time, error: TransportError) {
        self.end(now, CloseReason::Transport(error));
    }

    fn end(&mut self, now: Time, reason: CloseReason) {
        if !self.closing.is_open() {
            return;
        }
        let three_pto = self.three_pto();
        self.trace_closed_locally(now, &reason);
        self.events.close(local_error(&reason));
        self.closing.close(now, three_pto, reason);
    }

    #[cold]
    pub(super) fn on_stateless_reset(&mut self, now: Time) {
        if self.closing.is_open() {
            self.trace_closed(now, &ConnectionError::Reset, "draining");
            self.events.close(ConnectionError::Reset);
        }
        let three_pto = self.three_pto();
        self.closing.drain(now, three_pto, false);
    }

    /// A packet arrived after we closed: answer, now and then, or stop if the peer closes too (RFC 9000 section 10.2).
    #[cold]
    pub(super) fn on_packet_while_closing(&mut self, now: Time, payload: &[u8]) {
        let closes = hawser_wire::frame::FrameIter::new(payload)
            .any(|frame| matches!(frame, Ok(Frame::ConnectionClose(_))));
        if closes {
            let three_pto = self.three_pto();
            self.closing.drain(now, three_pto, false);
        } else {
            self.closing.on_packet();
        }
    }

    /// CONNECTION_CLOSE in a packet of each level that the peer may be able to read (RFC 9000 section 10.2.3).
    #[cold]
    pub(super) fn build_close(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<(PathId, Transmit)> {
        let reason = self.closing.take_owed()?;
        // Where the peer was heard last it is most likely to hear.
        let usable = self.paths.iter().filter(|path| path.can_transmit());
        let path =
            usable.max_by_key(|path| (path.life() == LifeCycle::Active, path.heard_at, Reverse(path.id)))?;
        let id = path.id;
        let tuple = path.tuples.current();
        let limit = usize::from(path.mtu.current()).min(path.amplification_room());
        reserve(buffer, limit);
        let mut total = 0;
        for level in [Level::Initial, Level::Handshake, Level::OneRtt] {
            let last = level == Level::OneRtt;
            let wanted = !last || self.handshake.is_complete() || self.side == Side::Server;
            if wanted
                && let Some(length) = self.build_close_at(now, id, level, &reason, &mut buffer[total..limit])
            {
                total += length;
            }
        }
        (total > 0).then_some((id, Transmit { tuple, ecn: None, size: total, segment_size: None }))
    }

    fn build_close_at(
        &mut self,
        now: Time,
        id: PathId,
        level: Level,
        reason: &CloseReason,
        out: &mut [u8],
    ) -> Option<usize> {
        let destination_cid =
            self.paths.remote_cid(if level == Level::OneRtt { id } else { PathId::ZERO }, None)?;
        let room = out.len().checked_sub(16)?;
        let random = self.next_random();
        let mut w = Writer::new(&mut out[..room]);
        let (number, header) = if level == Level::OneRtt {
            let key_phase = self.handshake.one_rtt.as_ref()?.phase();
            let space = &mut self.paths.get_mut(id)?.space;
            let number = space.next_packet_number(random);
            space.on_unrecorded_sent();
            let truncated = TruncatedPacketNumber::new(number, space.largest_acked());
            (number, ShortHeader { destination_cid, spin: false, key_phase }.encode(&mut w, truncated).ok()?)
        } else {
            let source_cid = self.identity.local_cid;
            let token = self.identity.token.clone();
            let long = self.handshake.long_level(level)?;
            let number = long.space.next_packet_number(random);
            long.space.on_unrecorded_sent();
            let packet_type = match level {
                Level::Initial => LongPacketType::Initial { token: &token },
                _ => LongPacketType::Handshake,
            };
            let truncated = TruncatedPacketNumber::new(number, long.space.largest_acked());
            (number, LongHeader { packet_type, destination_cid, source_cid }.encode(&mut w, truncated).ok()?)
        };
        encode_close(reason, level, &mut w)?;
        let padding = if level == Level::Initial && self.side.is_client() {
            w.remaining()
        } else {
            header.padding_for_sample(w.position() - header.payload_offset, 16)
        };
        w.write_zeros(padding).ok()?;
        header.finish(&mut w, 16).ok()?;
        let length = w.position() + 16;
        let packet = &mut out[..length];
        if let Some(tracer) = &mut self.tracer {
            let (space, cids) = match level {
                Level::Initial => (SpaceId::Initial, Some((destination_cid, self.identity.local_cid))),
                Level::Handshake => (SpaceId::Handshake, Some((destination_cid, self.identity.local_cid))),
                Level::OneRtt => (SpaceId::Path(id), None),
            };
            let payload = &packet[header.payload_offset..length - 16];
            let traced = TracedPacket { space, number, cids, length, payload };
            tracer.packet_sent(now, &traced, PacketKind::Normal);
        }
        if level == Level::OneRtt {
            let keys = self.handshake.one_rtt.as_mut()?;
            keys.local().seal(id.0, number, packet, header.payload_offset);
            keys.header_local.protect(header.packet_number_offset, packet);
        } else {
            let long = self.handshake.long_level(level)?;
            long.packet_local().seal(0, number, packet, header.payload_offset);
            long.header_local().protect(header.packet_number_offset, packet);
        }
        Some(length)
    }

    /// A random number.
    pub(super) fn next_random(&mut self) -> u64 {
        self.rng.next_u64()
    }
}

fn encode_close(reason: &CloseReason, level: Level, w: &mut Writer<'_>) -> Option<()> {
    let cut = |bytes: &[u8]| bytes.len().min(MAX_REASON_LENGTH).min(w.remaining().saturating_sub(32));
    let close = match reason {
        CloseReason::Transport(error) => {
            let reason = error.reason.as_bytes();
            ConnectionClose::Transport {
                error_code: error.code.0,
                frame_type: error.frame.unwrap_or(0),
                reason: &reason[..cut(reason)],
            }
        }
        CloseReason::Application { code, reason } if level == Level::OneRtt => {
            ConnectionClose::Application { error_code: *code, reason: &reason[..cut(reason)] }
        }
        // RFC 9000 section 10.2.3: the application's words must not be readable by others.
        CloseReason::Application { .. } => {
            ConnectionClose::Transport { error_code: Code::APPLICATION_ERROR.0, frame_type: 0, reason: b"" }
        }
    };
    Frame::ConnectionClose(close).encode(w).ok()
}
