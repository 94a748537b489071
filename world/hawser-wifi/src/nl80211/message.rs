//! Generic netlink messages: headers and attributes.

/// Length of `nlmsghdr` and of `genlmsghdr`.
const NETLINK_HEADER: usize = 16;
const GENERIC_HEADER: usize = 4;
const ATTRIBUTE_HEADER: usize = 4;
/// Everything begins at multiples of this.
const ALIGNMENT: usize = 4;

/// Types of netlink messages that are not those of a family.
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 0x1;
const NLM_F_ACK: u16 = 0x4;
const NLM_F_DUMP: u16 = 0x300;
/// Flags in the type of an attribute: nested, and in network byte order.
const TYPE_MASK: u16 = 0x3fff;

/// Whether one answer is wanted, or all that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    One,
    All,
}

/// A request of a family, with attributes.
pub(super) fn request(
    family: u16,
    sequence: u32,
    scope: Scope,
    command: u8,
    attributes: &[(u16, &[u8])],
) -> Vec<u8> {
    let mut message = vec![0; NETLINK_HEADER];
    // Version 1 of nl80211 and of the controller alike; both ignore it.
    message.extend([command, 1, 0, 0]);
    for (kind, value) in attributes {
        let length = (ATTRIBUTE_HEADER + value.len()) as u16;
        message.extend(length.to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend(*value);
        message.resize(message.len().next_multiple_of(ALIGNMENT), 0);
    }
    let flags = match scope {
        Scope::One => NLM_F_REQUEST | NLM_F_ACK,
        Scope::All => NLM_F_REQUEST | NLM_F_DUMP,
    };
    let length = message.len() as u32;
    message[..4].copy_from_slice(&length.to_ne_bytes());
    message[4..6].copy_from_slice(&family.to_ne_bytes());
    message[6..8].copy_from_slice(&flags.to_ne_bytes());
    message[8..12].copy_from_slice(&sequence.to_ne_bytes());
    message
}

/// A message of the kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reply<'a> {
    pub(super) sequence: u32,
    pub(super) body: Body<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Body<'a> {
    /// The request is answered.
    Done,
    /// It is refused, with this `errno`.
    Refused(i32),
    /// Of a family.
    Data { family: u16, command: u8, attributes: Attributes<'a> },
}

/// The messages of a datagram.
pub(super) fn replies(datagram: &[u8]) -> impl Iterator<Item = Reply<'_>> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        loop {
            let length = u32_at(rest, 0)? as usize;
            let message = rest.get(..length).filter(|_| length >= NETLINK_HEADER)?;
            rest = rest.get(length.next_multiple_of(ALIGNMENT)..).unwrap_or_default();
            if let Some(reply) = reply(message) {
                return Some(reply);
            }
        }
    })
}

fn reply(message: &[u8]) -> Option<Reply<'_>> {
    let (kind, sequence) = (u16_at(message, 4)?, u32_at(message, 8)?);
    let payload = message.get(NETLINK_HEADER..)?;
    let body = match kind {
        // An error of zero is the acknowledgement; else it is a negative number.
        NLMSG_ERROR => match u32_at(payload, 0)? as i32 {
            0 => Body::Done,
            error => Body::Refused(error.saturating_neg()),
        },
        NLMSG_DONE => Body::Done,
        family => Body::Data {
            family,
            command: *payload.first()?,
            attributes: Attributes(payload.get(GENERIC_HEADER..)?),
        },
    };
    Some(Reply { sequence, body })
}

/// Attributes, one after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Attributes<'a>(pub(super) &'a [u8]);

impl<'a> Attributes<'a> {
    /// Type and value of each, up to the first that is cut short.
    fn iter(self) -> impl Iterator<Item = (u16, &'a [u8])> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let (length, kind) = (usize::from(u16_at(rest, 0)?), u16_at(rest, 2)? & TYPE_MASK);
            let value = rest.get(ATTRIBUTE_HEADER..length)?;
            rest = rest.get(length.next_multiple_of(ALIGNMENT)..).unwrap_or_default();
            Some((kind, value))
        })
    }

    /// The first of this type.
    pub(super) fn find(self, kind: u16) -> Option<&'a [u8]> {
        self.iter().find(|(known, _)| *known == kind).map(|(_, value)| value)
    }

    pub(super) fn nested(self, kind: u16) -> Option<Attributes<'a>> {
        self.find(kind).map(Attributes)
    }

    pub(super) fn u8(self, kind: u16) -> Option<u8> {
        self.find(kind)?.first().copied()
    }

    pub(super) fn u16(self, kind: u16) -> Option<u16> {
        u16_at(self.find(kind)?, 0)
    }

    pub(super) fn u32(self, kind: u16) -> Option<u32> {
        u32_at(self.find(kind)?, 0)
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
