//! From a datagram to the one it is for, or to an answer.

use hawser_policy::{Side, Time};
use hawser_wire::packet::{
    InvariantHeader, MIN_INITIAL_DATAGRAM_LEN, PacketType, PartialHeader, ProtectedHeader,
    peek_destination_cid,
};
use hawser_wire::{ConnectionId, StatelessResetToken, Version};

use super::incoming;
use super::routes::InitialRoute;
use super::stateless::{self, InitialCids};
use super::tokens::Verdict;
use super::{Datagram, Endpoint, Incoming, MIN_CID_LENGTH, Routed, StatelessDatagram};
use crate::crypto::Keys;
use crate::{Code, TransportError, Versions};

const LONG_FORM: u8 = 0x80;
const FIXED_BIT: u8 = 0x40;

/// UDP ports of services that answer everybody (RFC 9308 section 8.1): DNS, NTP, SNMP, CLDAP, SSDP, memcached. No client has
/// them, and a server's answer to a forged packet would make it and the service answer each other. Port 0 is no port.
const REFLECTORS: [u16; 7] = [0, 53, 123, 161, 389, 1900, 11211];

impl Endpoint {
    /// Takes a received datagram and says for whom it is; `None` if it is for nobody. What the endpoint answers itself is
    /// added to `responses`.
    //= rfc9000-10.3-8: any packet that ends in a reset token is a stateless reset
    //= rfc9000-10.3.1-1: reset tokens are compared when a datagram fits no connection or does not open
    //= rfc9000-11-3: an endpoint with the connection's state sends no stateless reset
    pub fn handle_datagram(
        &mut self,
        now: Time,
        datagram: Datagram,
        responses: &mut Vec<StatelessDatagram>,
    ) -> Option<Routed> {
        let first = *datagram.payload.first()?;
        let destination = peek_destination_cid(&datagram.payload, self.cid_length).ok();
        if let Some(handle) = destination.and_then(|id| self.routes.by_local(id)) {
            return Some(Routed::Connection(handle, datagram));
        }
        if let Some(handle) = StatelessResetToken::at_end_of(&datagram.payload)
            .and_then(|token| self.routes.by_reset(datagram.tuple.remote, token))
        {
            return Some(Routed::Connection(handle, datagram));
        }
        if REFLECTORS.contains(&datagram.tuple.remote.port()) {
            return None;
        }
        if first & LONG_FORM != 0 {
            return self.handle_long(now, datagram, responses);
        }
        // RFC 9287 section 3: without the fixed bit it may be of another protocol, which is not to be answered.
        // Ids that are too long for this type exist in other versions only.
        if first & FIXED_BIT != 0
            && let Some(id) = destination.and_then(ConnectionId::new)
        {
            responses.extend(self.stateless_reset(now, &datagram, &id));
        }
        None
    }

    /// RFC 9000 section 10.3.
    #[cold]
    fn stateless_reset(
        &mut self,
        now: Time,
        datagram: &Datagram,
        id: &ConnectionId,
    ) -> Option<StatelessDatagram> {
        if !self.reset_limit.admit(now, datagram.tuple.remote.ip()) {
            return None;
        }
        let token = self.reset_key.token(id.as_bytes());
        let bytes = stateless::stateless_reset(datagram.payload.len(), &token, &mut self.random)?;
        Some(StatelessDatagram::new(datagram.tuple, bytes))
    }

    /// A long header with an id that we did not issue: to a client it means nothing; to a server it is the beginning of a
    /// handshake (RFC 9000 section 5.2.2).
    //= rfc9000-5.2.2-5: Handshake packets without a connection are ignored
    //= rfc9000-5.2.2-6: packets of no connection that none of the rules covers are dropped
    //= rfc9000-6.1-1: Version Negotiation is never answered with the same
    //= rfc9000-17.2.1-6: Version Negotiation answers connection ids of any length
    //= rfc9000-17.2.1-7: one Version Negotiation for a datagram
    //= rfc9000-17.2.5.1-4: one Retry for a datagram
    #[cold]
    fn handle_long(
        &mut self,
        now: Time,
        datagram: Datagram,
        responses: &mut Vec<StatelessDatagram>,
    ) -> Option<Routed> {
        let versions = &self.server.as_ref()?.config.versions;
        let source = datagram.tuple.remote.ip();
        match PartialHeader::decode(&datagram.payload, self.cid_length).ok()? {
            PartialHeader::UnknownVersion(header) => {
                let response = Self::negotiate_version(&datagram, &header, versions, &mut self.random);
                responses.extend(response.filter(|_| self.answer_limit.admit(now, source)));
                None
            }
            PartialHeader::Protected(header) if !header.version.is_some_and(|v| versions.contains(v)) => {
                let header = InvariantHeader {
                    version: header.version.map_or(0, Version::number),
                    destination_cid: header.destination_cid.as_bytes(),
                    source_cid: header.source_cid.as_bytes(),
                };
                let response = Self::negotiate_version(&datagram, &header, versions, &mut self.random);
                responses.extend(response.filter(|_| self.answer_limit.admit(now, source)));
                None
            }
            PartialHeader::Protected(header) => match self.routes.by_initial(&header.destination_cid) {
                Some(InitialRoute::Connection(handle)) => Some(Routed::Connection(handle, datagram)),
                Some(InitialRoute::Pending(id)) => {
                    self.pending.buffer(id, &datagram);
                    None
                }
                None if header.packet_type == PacketType::Initial => {
                    match self.handle_initial(now, datagram, &header) {
                        Ok(incoming) => Some(Routed::Incoming(incoming)),
                        Err(Rejection::Drop) => None,
                        Err(Rejection::Answer(answer)) => {
                            responses.extend(self.answer_limit.admit(now, source).then_some(answer));
                            None
                        }
                    }
                }
                None => None,
            },
            PartialHeader::Retry(_) | PartialHeader::VersionNegotiation(_) => None,
        }
    }

    //= rfc9000-5.2.2-1: Version Negotiation answers an unknown version in a datagram of 1200 bytes
    //= rfc9000-5.2.2-2: an unknown version in a datagram below 1200 bytes is dropped
    //= rfc9000-5.2.2-3: Version Negotiation answers datagrams that are long enough
    fn negotiate_version(
        datagram: &Datagram,
        header: &InvariantHeader<'_>,
        ours: &Versions,
        random: &mut impl rand::RngCore,
    ) -> Option<StatelessDatagram> {
        // RFC 9000 section 5.2.2: smaller ones could begin no connection here.
        if datagram.payload.len() < MIN_INITIAL_DATAGRAM_LEN {
            return None;
        }
        let bytes = stateless::version_negotiation(header, ours, random).ok()?;
        Some(StatelessDatagram::new(datagram.tuple, bytes))
    }

    /// The first packet of a client that we know nothing of.
    //= rfc9000-7.2-1: the first destination connection id has 8 bytes at least
    //= rfc9000-8.1.2-2: a Retry token that does not hold: INVALID_TOKEN
    //= rfc9000-8.1.3-12: a valid token lets the handshake go on
    //= rfc9000-14.1-3: a server drops Initial packets in datagrams below 1200 bytes
    //= rfc9000-17.2-1: long headers without the fixed bit are dropped
    fn handle_initial(
        &mut self,
        now: Time,
        datagram: Datagram,
        header: &ProtectedHeader,
    ) -> Result<Incoming, Rejection> {
        while let Some((id, expired)) = self.pending.remove_expired(now) {
            self.routes.remove_pending(&expired.destination, id);
        }
        let server = self.server.as_ref().ok_or(Rejection::Drop)?;
        // RFC 9000 section 14.1 and section 7.2.
        if datagram.payload.len() < MIN_INITIAL_DATAGRAM_LEN
            || header.destination_cid.len() < MIN_CID_LENGTH
            || header.sample().is_none()
            || !(header.fixed_bit || server.config.transport.grease)
        {
            return Err(Rejection::Drop);
        }
        let cids = InitialCids {
            version: header.version.unwrap_or_default(),
            destination: header.destination_cid,
            source: header.source_cid,
        };
        let verdict = match header.token(&datagram.payload) {
            [] => Verdict::Unproven,
            token => {
                server.gate.judge(now, cids.version, token, datagram.tuple.remote, &header.destination_cid)
            }
        };
        let has_share = self.take_handshake(now, datagram.tuple.remote.ip(), verdict);
        let server = self.server.as_ref().ok_or(Rejection::Drop)?;
        let (connections, handshakes) = self.total_load();
        let is_busy = handshakes >= server.config.retry_above_handshakes || !has_share;
        let full = self.reject_new
            || self.is_withdrawn
            || connections >= server.config.max_connections
            || !self.pending.has_room(datagram.payload.len());
        // A Retry costs less than a look into the packet, which is the point of it.
        if verdict == Verdict::Unproven && !full && is_busy {
            return Err(self.answer_with_retry(now, &datagram, &cids));
        }
        let keys = server.config.crypto.initial_keys(cids.version, &header.destination_cid, Side::Server);
        if !keys.opens(header, &datagram.payload, &mut self.scratch) {
            return Err(Rejection::Drop);
        }
        let error = match verdict {
            Verdict::InvalidRetry(reason) => Some(TransportError::new(Code::INVALID_TOKEN, reason)),
            _ if full => {
                Some(TransportError::new(Code::CONNECTION_REFUSED, "server takes no new connections"))
            }
            _ if !has_share => {
                Some(TransportError::new(Code::CONNECTION_REFUSED, "too many connections from this address"))
            }
            _ => None,
        };
        if let Some(error) = error {
            let bytes = stateless::initial_close(&cids, &keys, &error).map_err(|_| Rejection::Drop)?;
            return Err(Rejection::Answer(StatelessDatagram::new(datagram.tuple, bytes)));
        }
        Ok(self.new_incoming(now, &datagram, cids, keys, verdict))
    }

    /// Whether this source may begin another handshake, which it then has.
    //= rfc9000-21.6-1: slow peers are bounded
    fn take_handshake(&mut self, now: Time, source: std::net::IpAddr, verdict: Verdict) -> bool {
        let limit = self.server.as_mut().and_then(|server| server.handshake_limit.as_mut());
        limit.is_none_or(|limit| limit.admit(now, source, verdict != Verdict::Unproven))
    }

    //= rfc9001-4.7-1: addresses are validated by Retry, not by HelloRetryRequest
    fn answer_with_retry(&mut self, now: Time, datagram: &Datagram, cids: &InitialCids) -> Rejection {
        match self.retry_packet(now, datagram.tuple.remote, cids) {
            Some(bytes) => Rejection::Answer(StatelessDatagram::new(datagram.tuple, bytes)),
            None => Rejection::Drop,
        }
    }

    /// A Retry for the client at `remote`, whose Initial had these ids.
    //= rfc9000-17.2.5.1-1: the source connection id of a Retry is a new one
    pub(super) fn retry_packet(
        &mut self,
        now: Time,
        remote: std::net::SocketAddr,
        cids: &InitialCids,
    ) -> Option<Vec<u8>> {
        let server = self.server.as_ref().filter(|_| !self.is_withdrawn)?;
        let source = self.cid_scheme.for_retry(&mut self.random);
        let token =
            server.gate.retry_token(now, cids.version, remote, cids.destination, source, &mut self.random);
        stateless::retry(cids, &source, &token, &*server.config.crypto, &mut self.random).ok()
    }

    fn new_incoming(
        &mut self,
        now: Time,
        datagram: &Datagram,
        cids: InitialCids,
        keys: Keys,
        verdict: Verdict,
    ) -> Incoming {
        let (original_destination, retry_source) = match verdict {
            Verdict::Retry { original_destination } => (original_destination, Some(cids.destination)),
            _ => (cids.destination, None),
        };
        if let (Verdict::Address(token), Some(server)) = (verdict, &mut self.server) {
            server.gate.consume(token);
        }
        let id = self.pending.insert(now, cids.destination, datagram.tuple.remote, datagram.payload.len());
        self.routes.add_pending(cids.destination, id);
        Incoming {
            id,
            cids,
            original_destination,
            retry_source,
            address_validated: matches!(verdict, Verdict::Address(_) | Verdict::Retry { .. }),
            keys,
            datagram: incoming::own(datagram),
        }
    }
}

/// Why an Initial packet begins no connection.
enum Rejection {
    Drop,
    Answer(StatelessDatagram),
}
