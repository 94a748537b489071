//! Receive timestamps inside acknowledgements (draft-ietf-quic-receive-ts-02 section 4.1).

use super::FrameErrorKind;
use crate::reader::{Reader, UnexpectedEnd};

/// When packets arrived, as their receiver's clock saw it. Checked when decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveTimestamps<'a> {
    pub(super) largest_acknowledged: u64,
    pub(super) range_count: u64,
    pub(super) count: u64,
    pub(super) encoded: &'a [u8],
}

impl<'a> ReceiveTimestamps<'a> {
    /// How many timestamps there are. The peer must not send more than our max_receive_timestamps_per_ack.
    #[inline]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Packet numbers and their receive times, latest arrival first.
    ///
    /// Times are microseconds after a moment that the peer chose once for the connection. `exponent` is the
    /// receive_timestamps_exponent that *we* sent.
    pub fn iter(&self, exponent: u8) -> ReceiveTimestampIter<'a> {
        ReceiveTimestampIter {
            steps: Steps::new(Reader::new(self.encoded), self.largest_acknowledged, self.range_count),
            exponent: exponent.min(20),
        }
    }

    pub(super) fn decode(r: &mut Reader<'a>, largest_acknowledged: u64) -> Result<Self, FrameErrorKind> {
        let range_count = r.read_varint()?;
        let encoded = r.peek_rest();
        let mut rest = *r;
        let count = check(&mut rest, largest_acknowledged, range_count)?;
        let length = r.remaining() - rest.remaining();
        *r = rest;
        Ok(Self {
            largest_acknowledged,
            range_count,
            count,
            encoded: encoded.get(..length).unwrap_or_default(),
        })
    }
}

/// Walks over the encoded ranges and counts the timestamps. One comes with every packet, so this keeps nothing that only reading
/// them needs ([`Steps`]).
fn check(rest: &mut Reader<'_>, largest_acknowledged: u64, range_count: u64) -> Result<u64, StepError> {
    let (mut count, mut time) = (0, None);
    for _ in 0..range_count {
        let below_largest = rest.read_varint()?;
        let deltas = rest.read_varint()?;
        let first = largest_acknowledged.checked_sub(below_largest).ok_or(StepError::Underflow)?;
        for index in 0..deltas {
            let delta = rest.read_varint()?;
            // Packet numbers fall by one with each.
            let time_before = time.unwrap_or(u64::MAX);
            if index > first || delta > time_before {
                return Err(StepError::Underflow);
            }
            time = Some(if time.is_none() { delta } else { time_before - delta });
        }
        count += deltas;
    }
    Ok(count)
}

/// Iterator of [`ReceiveTimestamps::iter`].
#[derive(Clone, Debug)]
pub struct ReceiveTimestampIter<'a> {
    steps: Steps<'a>,
    exponent: u8,
}

impl Iterator for ReceiveTimestampIter<'_> {
    type Item = (u64, u64);

    #[inline]
    fn next(&mut self) -> Option<(u64, u64)> {
        let (packet_number, units) = self.steps.advance().ok()??;
        Some((packet_number, units.saturating_mul(1 << self.exponent)))
    }
}

/// Walks the encoded ranges one timestamp at a time.
#[derive(Clone, Debug)]
struct Steps<'a> {
    rest: Reader<'a>,
    largest_acknowledged: u64,
    ranges_left: u64,
    /// Deltas left in the current range.
    deltas_left: u64,
    /// Packet number of the next delta; `None` once it would be negative.
    packet_number: Option<u64>,
    /// Time of the previous delta; `None` before the first, which is absolute.
    time: Option<u64>,
}

enum StepError {
    End,
    Underflow,
}

impl From<UnexpectedEnd> for StepError {
    fn from(_: UnexpectedEnd) -> Self {
        Self::End
    }
}

impl From<StepError> for FrameErrorKind {
    fn from(error: StepError) -> Self {
        match error {
            StepError::End => Self::Truncated,
            StepError::Underflow => Self::TimestampUnderflow,
        }
    }
}

impl<'a> Steps<'a> {
    fn new(rest: Reader<'a>, largest_acknowledged: u64, ranges_left: u64) -> Self {
        Self { rest, largest_acknowledged, ranges_left, deltas_left: 0, packet_number: None, time: None }
    }

    /// The next packet number and time in units, `None` after the last.
    #[inline]
    fn advance(&mut self) -> Result<Option<(u64, u64)>, StepError> {
        while self.deltas_left == 0 {
            if self.ranges_left == 0 {
                return Ok(None);
            }
            self.ranges_left -= 1;
            let below_largest = self.rest.read_varint()?;
            self.deltas_left = self.rest.read_varint()?;
            self.packet_number =
                Some(self.largest_acknowledged.checked_sub(below_largest).ok_or(StepError::Underflow)?);
        }
        self.deltas_left -= 1;
        let delta = self.rest.read_varint()?;
        let packet_number = self.packet_number.ok_or(StepError::Underflow)?;
        self.packet_number = packet_number.checked_sub(1);
        let time = match self.time {
            None => delta,
            Some(previous) => previous.checked_sub(delta).ok_or(StepError::Underflow)?,
        };
        self.time = Some(time);
        Ok(Some((packet_number, time)))
    }
}
