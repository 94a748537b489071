use bytes::BytesMut;
use hawser_core::{Ecn, FourTuple};
use hawser_policy::Time;

/// A UDP datagram on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Addresses as the sender sees them: `local` is the source.
    pub tuple: FourTuple,
    /// The ECN field.
    pub ecn: Option<Ecn>,
    /// The UDP payload.
    pub payload: BytesMut,
}

impl Packet {
    /// Bytes on the link: the payload with UDP and IP headers.
    pub fn ip_length(&self) -> u32 {
        let headers = if self.tuple.remote.is_ipv4() { 28 } else { 48 };
        u32::try_from(self.payload.len()).unwrap_or(u32::MAX).saturating_add(headers)
    }
}

/// Something that sends and receives datagrams and owns no clock.
pub trait Node {
    /// A datagram arrived. `packet.tuple.remote` is this node's address.
    fn handle_packet(&mut self, now: Time, packet: Packet);

    /// The next datagram to send; called until it returns `None`.
    fn poll_transmit(&mut self, now: Time) -> Option<Packet>;

    /// When [`handle_timeout`](Node::handle_timeout) should be called.
    fn poll_timeout(&mut self) -> Option<Time>;

    /// The time asked for has come.
    fn handle_timeout(&mut self, now: Time);
}
