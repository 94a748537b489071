//! The guard by itself, for fuzzing (feature `fuzzing`).

use bytes::Bytes;

use crate::guard::{Frames, Rules};

/// Whose bytes a stream carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A client's request.
    Request,
    /// A server's response.
    Response,
    /// Either one's control stream, behind its type.
    Control,
}

/// One stream of the peer, cut into frames that `h3` may see.
#[derive(Debug)]
pub struct Guard(Frames);

impl Guard {
    /// For a stream from its beginning on.
    pub fn new(kind: Kind) -> Self {
        Guard(Frames::new(match kind {
            Kind::Request => Rules::Request,
            Kind::Response => Rules::Response,
            Kind::Control => Rules::Control,
        }))
    }

    /// Takes what came, when [`next`](Self::next) has nothing left.
    pub fn push(&mut self, input: Bytes) {
        self.0.push(input);
    }

    /// The next bytes for `h3`; `None` when more must come first.
    ///
    /// # Errors
    /// The code of RFC 9114 section 8.1 with which the connection is to be closed.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Bytes>, u64> {
        self.0.next().map_err(|violation| violation.code.value())
    }

    /// The stream has ended.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn end(&mut self) -> Result<(), u64> {
        self.0.end().map_err(|violation| violation.code.value())
    }
}
