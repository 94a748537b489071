//! What can be wrong with transport parameters.

use crate::codepoints::transport_parameter;
use crate::reader::UnexpectedEnd;

/// Invalid parameters, with the one at fault. Always a TRANSPORT_PARAMETER_ERROR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("transport parameter {} (0x{id:x}): {problem}", self.name())]
pub struct TransportParameterError {
    /// The identifier of the parameter at fault.
    pub id: u64,
    /// What is wrong with it.
    pub problem: TransportParameterProblem,
}

impl TransportParameterError {
    /// The registered name of the parameter at fault.
    pub fn name(&self) -> &'static str {
        transport_parameter::name(self.id)
    }

    /// The transport error code to close the connection with.
    pub const fn transport_error_code(&self) -> u64 {
        crate::codepoints::error::TRANSPORT_PARAMETER_ERROR
    }
}

/// What is wrong with a transport parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportParameterProblem {
    /// The parameters end inside it.
    #[error("ends before its value does")]
    Truncated,
    /// RFC 9000 section 7.4.
    #[error("sent more than once")]
    Duplicate,
    /// The value has bytes left over, or too few.
    #[error("value of {0} bytes does not have the expected form")]
    Malformed(usize),
    /// The integer is out of its range.
    #[error("value {value} is below {min} or above {max}")]
    OutOfRange {
        /// The integer sent.
        value: u64,
        /// The least permitted.
        min: u64,
        /// The largest permitted.
        max: u64,
    },
    /// RFC 9000 section 18.2: only servers send it.
    #[error("sent by a client, but only servers may")]
    ServerOnly,
    /// RFC 9368 section 4.
    #[error("version 0, which is none")]
    VersionZero,
    /// RFC 9368 section 4: a client has to offer the version that it uses.
    #[error("chosen version {0:#010x} is not among those available")]
    ChosenVersion(u32),
    /// RFC 9000 section 17.2 and, in a preferred address, 18.2.
    #[error("connection ID of {0} bytes")]
    ConnectionIdLength(usize),
}

impl From<UnexpectedEnd> for TransportParameterProblem {
    fn from(_: UnexpectedEnd) -> Self {
        Self::Truncated
    }
}
