//! Which control frames a stream has to send.

/// A set of control frames of one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Due(u8);

impl Due {
    pub(super) const RESET: Due = Due(1);
    pub(super) const STOP: Due = Due(1 << 1);
    pub(super) const MAX_DATA: Due = Due(1 << 2);
    pub(super) const BLOCKED: Due = Due(1 << 3);
    /// A STREAM frame with nothing but the end. It is no data, so no scheduler is asked about it.
    pub(super) const FIN: Due = Due(1 << 4);
    /// STREAM_SKIP frames.
    pub(super) const SKIP: Due = Due(1 << 5);

    pub(super) const EACH: [Due; 6] =
        [Due::RESET, Due::STOP, Due::MAX_DATA, Due::BLOCKED, Due::FIN, Due::SKIP];

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn has(self, frame: Due) -> bool {
        self.0 & frame.0 != 0
    }

    pub(super) fn with(self, frame: Due) -> Due {
        Due(self.0 | frame.0)
    }

    pub(super) fn without(self, frame: Due) -> Due {
        Due(self.0 & !frame.0)
    }
}
