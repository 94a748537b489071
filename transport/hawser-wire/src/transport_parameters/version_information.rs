//! The version_information parameter (RFC 9368 section 3).

use super::encode::Nested;
use super::{Role, TransportParameterProblem};
use crate::reader::Reader;
use crate::writer::{BufferTooShort, Sink};

/// Most versions in a [`VersionInformation`]; there are not that many that anybody could mean.
pub const MAX_AVAILABLE_VERSIONS: usize = 64;

/// Which version an endpoint uses for the connection, and which others it could.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VersionInformation {
    /// The version that the sender has chosen.
    pub chosen: u32,
    /// From a client: those that its first flight is compatible with, most wanted first, the chosen one among them. From a
    /// server: those that it is fully deployed with, in no order. Reserved ones may be among them. At most
    /// [`MAX_AVAILABLE_VERSIONS`].
    pub available: Vec<u32>,
}

impl VersionInformation {
    /// RFC 9368 section 4: a malformed list, a zero, and a client's choice that is not in its list are parsing failures.
    pub(super) fn decode(r: &mut Reader<'_>, sender: Role) -> Result<Self, TransportParameterProblem> {
        let chosen = r.read_u32()?;
        let rest = r.read_rest();
        let (available, []) = rest.as_chunks() else {
            return Err(TransportParameterProblem::Malformed(4 + rest.len()));
        };
        if available.len() > MAX_AVAILABLE_VERSIONS {
            return Err(TransportParameterProblem::Malformed(4 + rest.len()));
        }
        let available: Vec<_> = available.iter().map(|bytes| u32::from_be_bytes(*bytes)).collect();
        if chosen == 0 || available.contains(&0) {
            return Err(TransportParameterProblem::VersionZero);
        }
        if sender == Role::Client && !available.contains(&chosen) {
            return Err(TransportParameterProblem::ChosenVersion(chosen));
        }
        Ok(Self { chosen, available })
    }
}

impl Nested for VersionInformation {
    fn encode_to(&self, sink: &mut impl Sink) -> Result<(), BufferTooShort> {
        sink.bytes(&self.chosen.to_be_bytes())?;
        self.available.iter().try_for_each(|version| sink.bytes(&version.to_be_bytes()))
    }
}
