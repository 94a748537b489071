//! What goes into a 1-RTT packet, decided before it is written.

use hawser_policy::{PathMask, Selection, Tag};

use super::recovery::PacketKind;
use crate::{Ecn, FourTuple};

/// What a 1-RTT packet may contain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contents {
    /// Acknowledgements.
    pub(super) acks: bool,
    /// Control frames that any path may carry.
    pub(super) control: bool,
    /// Stream data and datagrams.
    pub(super) data: Option<Selection>,
    /// Add a PING if nothing else is ack-eliciting.
    pub(super) ping: bool,
    /// Control frames may go beyond the congestion window (RFC 9002 section 7.5).
    pub(super) is_probe: bool,
    /// A probe of a silent path: it asks for an answer at once.
    pub(super) is_urgent: bool,
    /// PATH_CHALLENGE and PATH_RESPONSE of this 4-tuple.
    pub(super) validation: Option<FourTuple>,
    /// Whether the datagram will have at least 1200 bytes.
    pub(super) full_size: bool,
    /// Fill up to the size of the buffer.
    pub(super) pad: bool,
    pub(super) kind: PacketKind,
    pub(super) tag: Tag,
    pub(super) copies: PathMask,
    /// The mark that the datagram leaves with.
    pub(super) ecn: Option<Ecn>,
}

impl Contents {
    pub(super) const CONTROL: Contents = Contents {
        acks: true,
        control: true,
        data: None,
        ping: false,
        is_probe: false,
        is_urgent: false,
        validation: None,
        full_size: false,
        pad: false,
        kind: PacketKind::Normal,
        tag: Tag(0),
        copies: PathMask::NONE,
        ecn: None,
    };
}
