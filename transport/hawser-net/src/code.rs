//! Error codes of applications.

use hawser_core::MAX_APPLICATION_CODE;

use crate::AbortError;

/// Returns the code if it can be sent.
pub(crate) fn checked(code: u64) -> Result<u64, AbortError> {
    if code <= MAX_APPLICATION_CODE { Ok(code) } else { Err(AbortError::CodeTooLarge(code)) }
}

/// Returns the code if it can be sent, else the largest: for what has to happen in any case.
pub(crate) fn at_most(code: u64) -> u64 {
    if code > MAX_APPLICATION_CODE {
        tracing::warn!(code, "codes are below 2^62: the peer is sent 2^62 - 1");
    }
    code.min(MAX_APPLICATION_CODE)
}
