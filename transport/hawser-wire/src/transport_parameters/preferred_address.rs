//! The preferred_address parameter (RFC 9000 section 18.2).

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};

use super::TransportParameterProblem;
use super::encode::Nested;
use crate::cid::{ConnectionId, StatelessResetToken};
use crate::reader::Reader;
use crate::writer::{BufferTooShort, Sink};

/// Where a server would rather be reached after the handshake, and with which connection ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreferredAddress {
    /// By IPv4, if at all; sent as all zeros otherwise.
    pub ipv4: Option<SocketAddrV4>,
    /// By IPv6, if at all; sent as all zeros otherwise.
    pub ipv6: Option<SocketAddrV6>,
    /// The connection ID with sequence number 1, 1 to 20 bytes.
    pub connection_id: ConnectionId,
    /// Its stateless reset token.
    pub stateless_reset_token: StatelessResetToken,
}

impl PreferredAddress {
    //= rfc9000-18.2-5: a preferred address has a connection id
    //= rfc9000-18.2-6: a preferred address with an empty connection id: TRANSPORT_PARAMETER_ERROR
    pub(super) fn decode(r: &mut Reader<'_>) -> Result<Self, TransportParameterProblem> {
        let ipv4 = SocketAddrV4::new(Ipv4Addr::from(r.read_array::<4>()?), r.read_u16()?);
        let ipv6 = SocketAddrV6::new(Ipv6Addr::from(r.read_array::<16>()?), r.read_u16()?, 0, 0);
        let cid = r.read_u8_prefixed()?;
        let connection_id = ConnectionId::new(cid)
            .filter(|id| !id.is_empty())
            .ok_or(TransportParameterProblem::ConnectionIdLength(cid.len()))?;
        Ok(Self {
            ipv4: (!ipv4.ip().is_unspecified() || ipv4.port() != 0).then_some(ipv4),
            ipv6: (!ipv6.ip().is_unspecified() || ipv6.port() != 0).then_some(ipv6),
            connection_id,
            stateless_reset_token: StatelessResetToken(r.read_array()?),
        })
    }
}

impl Nested for PreferredAddress {
    fn encode_to(&self, sink: &mut impl Sink) -> Result<(), BufferTooShort> {
        let ipv4 = self.ipv4.unwrap_or(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0));
        let ipv6 = self.ipv6.unwrap_or(SocketAddrV6::new(Ipv6Addr::UNSPECIFIED, 0, 0, 0));
        sink.bytes(&ipv4.ip().octets())?;
        sink.bytes(&ipv4.port().to_be_bytes())?;
        sink.bytes(&ipv6.ip().octets())?;
        sink.bytes(&ipv6.port().to_be_bytes())?;
        sink.byte(self.connection_id.len() as u8)?;
        sink.bytes(self.connection_id.as_bytes())?;
        sink.bytes(&self.stateless_reset_token.0)
    }
}
