//! What comes from the peer, checked before `h3` sees it.
//!
//! The `h3` crate (0.0.8) gathers every frame but DATA in memory until it is complete, whatever its length, drops the
//! end of a stream within a DATA frame, never forgets a stream that ends before its header, and accepts pseudo-header
//! fields that RFC 9114 section 4.3 forbids. It can not be
//! bounded from outside, so this layer stands between the transport and it: [`Frames`] splits each stream into frames,
//! holds one frame of bounded length at most, passes the bytes of DATA on as they come, and hides frames of unknown
//! types. What it lets through is a sequence of whole frames in which `h3` finds nothing to object to or, where the
//! message is malformed, something small that it answers with H3_MESSAGE_ERROR.

mod fields;
mod frames;
mod settings;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod work;

use std::fmt;

use h3::error::Code;

pub(crate) use fields::{FieldLines, RequestField};
pub(crate) use frames::{Frames, Rules, varint};
pub(crate) use settings::Settings;

/// Most bytes of a field section, as RFC 9114 section 4.2.2 counts them; also most bytes of a HEADERS frame.
//= rfc9114-10.5-2: costly features are limited
pub const MAX_FIELD_SECTION_SIZE: u64 = 64 << 10;
/// Most field lines of a section: section 4.2.2 counts each with 32 bytes at least.
const MAX_FIELD_LINES: u64 = MAX_FIELD_SECTION_SIZE / 32;
/// Most bytes of a SETTINGS frame: two hundred settings of the largest form.
const MAX_SETTINGS_LENGTH: u64 = 4 << 10;

/// Most requests of a connection that end before their header: `h3` keeps the id of each until the connection ends.
//= rfc9114-10.5-2: costly features are limited
pub(crate) const MAX_HEADERLESS_REQUESTS: usize = 1_000;

/// What the peer did that RFC 9114 answers with the end of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) code: Code,
    pub(crate) reason: &'static str,
}

impl Violation {
    pub(crate) const fn new(code: Code, reason: &'static str) -> Self {
        Violation { code, reason }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "closed by us: {} ({})", self.reason, self.code)
    }
}

impl std::error::Error for Violation {}
