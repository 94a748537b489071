//! What the receiver of data tells its sender about protection: the payload of `PROTECTION_ADVICE` messages.

use hawser_policy::{FeatureId, Message, PathId};

/// Loss on a path as its receiver counts it. Four bytes: parts per million, most significant first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advice {
    /// Packets lost, in parts per million.
    pub loss_ppm: u32,
}

/// Bytes that are no advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdviceError;

impl Advice {
    const ALL: u32 = 1_000_000;

    /// Of a share of lost packets.
    pub fn of_loss(share: f64) -> Self {
        Advice { loss_ppm: ((share * f64::from(Self::ALL)) as u32).min(Self::ALL) }
    }

    /// Reads a payload.
    ///
    /// # Errors
    /// If it has another length, or says that more was lost than sent.
    pub fn read(payload: &[u8]) -> Result<Self, AdviceError> {
        let loss_ppm = u32::from_be_bytes(payload.try_into().map_err(|_| AdviceError)?);
        if loss_ppm <= Self::ALL { Ok(Advice { loss_ppm }) } else { Err(AdviceError) }
    }

    /// The message about a path.
    pub fn to_message(self, path: PathId) -> Message {
        let payload = self.loss_ppm.to_be_bytes().to_vec();
        Message::latest(FeatureId::PROTECTION_ADVICE, payload).about(path)
    }
}
