//! How the handshake goes on: its messages, the peer's parameters, and what each milestone allows.

use std::time::Duration;

use hawser_policy::{PathEvent, PathId, Side, Time};
use hawser_wire::codepoints::private::feature;
use hawser_wire::frame::TimestampLimits;
use hawser_wire::{ConnectionId, TransportParameters, Version};

use super::Connection;
use super::arrival::SpaceId;
use super::events::Event;
use super::handshake::{LongLevel, Progress};
use super::parameters::{self, PeerParameters};
use super::paths::life_cycle::LifeEvent;
use super::paths::remote_cids::OfferedCid;
use crate::crypto::Keys;
use crate::endpoint::EndpointEvent;
use crate::endpoint::cid::{MIN_CID_LENGTH, random_cid};
use crate::{Code, TransportError};

impl Connection {
    /// A CRYPTO frame.
    pub(super) fn on_crypto(
        &mut self,
        now: Time,
        space: SpaceId,
        offset: u64,
        data: &[u8],
    ) -> Result<(), TransportError> {
        if self.side.is_client() {
            // RFC 9369 section 4.1: the version in which the server sends CRYPTO frames is the one.
            self.handshake.version.settle();
        }
        let progress = self.handshake.on_crypto(space.level(), offset, data)?;
        self.handshake.last_activity = now;
        self.on_progress(now, progress)
    }

    /// TLS moved on.
    //= rfc9000-7.4.1-9: 0-RTT packets keep to the remembered values
    //= rfc9000-19.20-1: HANDSHAKE_DONE is sent when the handshake is complete, not before
    //= rfc9001-4.1.2-1: the server sends HANDSHAKE_DONE when the handshake is complete
    pub(super) fn on_progress(&mut self, now: Time, progress: Progress) -> Result<(), TransportError> {
        self.trace_progress(now, progress);
        if progress.data_ready {
            self.outbox.events.push(Event::HandshakeDataReady);
        }
        if progress.one_rtt_ready {
            if self.side.is_client() {
                self.settle_zero_rtt(now);
            }
            self.adopt_peer_parameters()?;
            if self.side.is_server() {
                self.accept_zero_rtt(now);
            }
        }
        if progress.completed {
            self.idle.on_handshake_complete();
            self.arrival.early.on_keys();
            self.on_completed(now);
            if self.side.is_server() {
                self.server_frames.on_handshake_complete();
                self.on_confirmed(now);
                self.outbox.endpoint_events.push_back(EndpointEvent::HandshakeDone);
            }
        } else if self.handshake.handshake.is_some() {
            self.arrival.early.on_keys();
        }
        Ok(())
    }

    /// The peer's transport parameters are known and authenticated with the handshake that goes on.
    //= rfc9000-7.4.1-3: new values of the server replace remembered ones
    //= rfc9001-8.2-1: quic_transport_parameters is sent, and its absence is missing_extension
    fn adopt_peer_parameters(&mut self) -> Result<(), TransportError> {
        let session = self.handshake.session();
        let raw = session.and_then(|session| session.peer_transport_parameters()).ok_or_else(|| {
            TransportError::new(Code::MISSING_EXTENSION, "the peer sent no transport parameters")
        })?;
        let expected = parameters::ExpectedCids {
            side: self.side,
            source: self.peer_source(),
            original_destination: self.ends.identity.original_destination,
            retry_source: self.ends.identity.retry_source,
        };
        let peer = parameters::validate(raw, &expected)?;
        let (version, said) = (&self.handshake.version, peer.version_information.as_ref());
        if self.side.is_client() { version.check_server(said) } else { version.check_client(said) }?;
        self.zero_rtt.check_promise(&peer)?;
        self.idle.timeout = parameters::idle_timeout(self.transport.idle_timeout(), peer.max_idle_timeout);
        self.streams.set_peer_limits(&peer);
        let erasure_codes = peer.features.as_ref().is_some_and(|set| set.contains(feature::ERASURE_CODES));
        self.extensions.repair.set_peer_support(erasure_codes);
        self.sync_protection(self.arrival.last_now);
        self.extensions.datagrams.set_peer_max_frame_size(peer.max_datagram_frame_size);
        self.paths.set_peer_cid_limit(peer.active_connection_id_limit);
        if let Some(path) = self.paths.get_mut(PathId::ZERO) {
            path.mtu.set_peer_limit(peer.max_udp_payload_size);
            path.recovery.set_max_ack_delay(Duration::from_millis(u64::from(peer.max_ack_delay)));
            if let Some(token) = peer.stateless_reset_token {
                path.control.remote_cids.set_handshake_token(token, &mut self.ends.cids.changes);
            }
        }
        self.adopt_preferred_address(&peer)?;
        self.extensions
            .messages
            .negotiate(&parameters::local_features(&self.transport), peer.features.as_ref());
        if peer.features.is_none() {
            self.policies.on_foreign_peer();
        }
        let peer_min = peer.min_ack_delay.map(Duration::from_micros);
        self.extensions.ack_frequencies.negotiate(peer_min, Duration::from_millis(peer.max_ack_delay.into()));
        if let Some(frequency) = self.transport.ack_frequency {
            // Not for a peer that takes no requests.
            let _ = self.extensions.ack_frequencies.request(frequency);
        }
        if let Some(max_count) = peer.max_receive_timestamps_per_ack {
            let limits = TimestampLimits { exponent: peer.receive_timestamps_exponent, max_count };
            let random = self.next_random();
            self.extensions.receive_times.on_peer_asks(limits, random);
        }
        self.trace_peer_parameters(&peer);
        self.ends.peer = PeerParameters::from(&peer);
        if let (Some(theirs), Some(_)) = (peer.initial_max_path_id, self.transport.max_path_id) {
            self.paths.negotiate(theirs);
        }
        self.sync_cids();
        Ok(())
    }

    /// RFC 9000 section 5.1.1: the connection id that comes with a preferred address has sequence number 1, whether or not
    /// the client goes there. Nobody goes before the handshake is confirmed (section 9.6.1).
    //= rfc9000-9.6.2-5: a preferred address is for its connection only
    fn adopt_preferred_address(&mut self, peer: &TransportParameters) -> Result<(), TransportError> {
        let Some(preferred) = &peer.preferred_address else { return Ok(()) };
        let offer = OfferedCid {
            sequence: 1,
            retire_prior_to: 0,
            id: preferred.connection_id,
            reset_token: preferred.stateless_reset_token,
        };
        if let Some(path) = self.paths.get_mut(PathId::ZERO) {
            path.control.remote_cids.on_offer(offer, &mut self.ends.cids.changes)?;
        }
        if self.ends.identity.follow_preferred {
            self.ends.identity.preferred = parameters::preferred_remote(preferred, self.ends.identity.remote);
        }
        Ok(())
    }

    /// RFC 9000 section 9.6.1: path 0 moves to the server's preferred address if that answers. It is no address of the
    /// handshake, so that disable_active_migration does not forbid it.
    fn go_to_preferred_address(&mut self, now: Time) {
        if let Some(remote) = self.ends.identity.preferred.take() {
            self.probe_address(now, remote);
        }
    }

    /// The connection id that the peer chose for itself in the handshake.
    pub(super) fn peer_source(&self) -> Option<ConnectionId> {
        if self.side.is_client() {
            self.ends.identity.server_source
        } else {
            self.paths.remote_cid(PathId::ZERO, None)
        }
    }

    /// HANDSHAKE_DONE.
    //= rfc9000-19.20-2: HANDSHAKE_DONE from a client: PROTOCOL_VIOLATION
    pub(super) fn on_handshake_done(&mut self, now: Time) -> Result<(), TransportError> {
        if self.side.is_server() {
            return Err(TransportError::protocol_violation("a client sent HANDSHAKE_DONE"));
        }
        if !self.handshake.confirmed {
            self.on_confirmed(now);
        }
        Ok(())
    }

    /// The peer has read this local packet. RFC 9001 section 4.1.2: if it is a 1-RTT packet a client knows as much as from
    /// HANDSHAKE_DONE, since no server reads one before it has the Finished message.
    pub(super) fn on_packet_read(&mut self, now: Time, space: SpaceId, number: u64) {
        let may_confirm = self.side.is_client() && !self.handshake.confirmed && self.handshake.is_complete();
        if may_confirm && space == SpaceId::Path(PathId::ZERO) && self.zero_rtt.is_past(number) {
            self.on_confirmed(now);
        }
    }

    /// RFC 9001 section 4.1.1: the handshake is complete. The peer has shown that it is at this address, so the path
    /// carries data; connection ids for further paths go with the first of it, so that a round trip later, when the
    /// handshake is confirmed, paths can be opened.
    fn on_completed(&mut self, now: Time) {
        self.ends.identity.client = None;
        self.move_path(now, PathId::ZERO, LifeEvent::Validated);
        self.issue_path_cids();
        self.outbox.events.push(Event::Connected);
    }

    /// RFC 9001 section 4.1.2.
    //= rfc9001-4.9.2-1: Handshake keys go when the handshake is confirmed
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
        self.outbox.events.push(Event::HandshakeConfirmed);
        self.go_to_preferred_address(now);
        if self.paths.is_multipath() {
            self.outbox.events.path(PathEvent::MultipathReady);
        }
    }

    /// Initial keys go (RFC 9001 section 4.9.1).
    //= rfc9001-4.9.1-2: no Initial packets after the Initial keys were discarded
    pub(super) fn discard_initial(&mut self) {
        if let Some(mut level) = self.handshake.take_initial() {
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
    //= rfc9000-7.2-2: a client keeps its first destination connection id until the server answers
    pub(super) fn adopt_server_cid(&mut self, source: ConnectionId) {
        if self.ends.identity.on_server_source(source) {
            self.set_handshake_remote_cid(source);
        }
    }

    pub(super) fn set_handshake_remote_cid(&mut self, cid: ConnectionId) {
        if let Some(path) = self.paths.get_mut(PathId::ZERO) {
            path.control.remote_cids.set_handshake_cid(cid);
        }
    }

    /// The client starts again in a version that a Version Negotiation packet lists. That is another connection, as far as
    /// the rules of connections go (RFC 9368 section 2.4): nothing of the first attempt counts, its connection id and its
    /// packet numbers least of all.
    #[cold]
    pub(super) fn begin_anew(&mut self, version: Version) -> Result<(), TransportError> {
        let Some(start) = self.ends.identity.client.take() else { return Ok(()) };
        let destination = random_cid(MIN_CID_LENGTH, &mut self.rng);
        let session = start.session(version, self.handshake.version.ours())?;
        let keys = start.crypto.initial_keys(version, &destination, Side::Client);
        self.ends.identity.client = Some(start);
        self.ends.identity.original_destination = destination;
        // RFC 9369 section 5: it came from a connection in another version.
        self.ends.identity.token = Vec::new();
        self.discard_initial();
        self.give_up_zero_rtt(self.arrival.last_now);
        self.set_handshake_remote_cid(destination);
        self.handshake.begin_anew(session, keys)
    }

    /// After a Retry everything sent so far counts for nothing but its packet numbers (RFC 9000 section 17.2.5.3).
    //= rfc9000-12.3-2: packet numbers are never used twice, not after a Retry either
    //= rfc9000-17.2.3-1: 0-RTT data is sent again after a Retry
    //= rfc9000-17.2.5.3-1: after a Retry the client sends the same handshake message
    //= rfc9000-17.2.5.3-2: after a Retry the client goes on with its packet numbers
    pub(super) fn restart_initial(&mut self, keys: Keys) {
        let Some(level) = self.handshake.initial.as_mut() else { return };
        level.keys = keys;
        level.send.resend_all();
        let mut lost = Vec::new();
        if let Some(path) = self.paths.get_mut(PathId::ZERO) {
            path.recovery.drain(&mut level.space, &mut lost);
        }
        self.restart_zero_rtt(self.arrival.last_now);
    }
}
