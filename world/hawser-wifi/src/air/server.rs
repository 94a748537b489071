//! The DHCP server behind an access point.

use std::net::Ipv4Addr;

use super::point::AccessPoint;
use crate::dhcp::{Kind, Message};

/// An hour: no encounter is longer.
const LEASE: u32 = 3600;

/// What it answers to a message (RFC 2131 section 4.3), if anything.
pub(super) fn answer(point: &AccessPoint, bytes: &[u8]) -> Option<Vec<u8>> {
    let question = Message::decode(bytes).filter(|_| point.gives_addresses)?;
    let [a, b, ..] = point.address.octets();
    let router = Ipv4Addr::new(a, b, 0, 1);
    let wanted = question.requested.or(question.current);
    let kind = match question.kind {
        Kind::Discover => Kind::Offer,
        Kind::Request if question.server.is_some_and(|server| server != router) => return None,
        Kind::Request if wanted == Some(point.address) => Kind::Ack,
        Kind::Request => Kind::Nak,
        Kind::Offer | Kind::Ack | Kind::Nak => return None,
    };
    let message = Message { server: Some(router), ..Message::new(kind, question.xid, question.mac) };
    if kind == Kind::Nak {
        return Some(message.encode());
    }
    let answer = Message {
        given: Some(point.address),
        mask: Some(Ipv4Addr::new(255, 255, 0, 0)),
        routers: vec![router],
        name_servers: vec![router],
        lease: Some(LEASE),
        ..message
    };
    Some(answer.encode())
}
