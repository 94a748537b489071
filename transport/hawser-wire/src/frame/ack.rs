//! ACK frames and the ranges they carry (RFC 9000 section 19.3).

use std::ops::RangeInclusive;

use super::{FrameErrorKind, ReceiveTimestamps};
use crate::reader::Reader;

/// An acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack<'a> {
    /// The path whose packets are acknowledged; `None` in an ACK without path id, which means path 0 once multipath
    /// is in use (draft-ietf-quic-multipath-21 section 2.3).
    pub path_id: Option<u32>,
    /// The ACK Delay field as sent: microseconds divided by 2^ack_delay_exponent of the sender.
    pub delay: u64,
    /// What is acknowledged.
    pub ranges: AckRanges<'a>,
    /// Totals of ECN marks in this packet number space.
    pub ecn: Option<EcnCounts>,
    /// When packets arrived (draft-ietf-quic-receive-ts-02).
    pub receive_timestamps: Option<ReceiveTimestamps<'a>>,
}

/// Totals of packets received with each ECN codepoint (RFC 9000 section 19.3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnCounts {
    /// Packets marked ECT(0).
    pub ect0: u64,
    /// Packets marked ECT(1).
    pub ect1: u64,
    /// Packets marked congestion experienced.
    pub ce: u64,
}

/// Acknowledged packet numbers: one or more disjoint ranges, checked when decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckRanges<'a> {
    pub(super) largest: u64,
    pub(super) first_range: u64,
    pub(super) additional: &'a [u8],
    pub(super) additional_count: u64,
}

impl<'a> AckRanges<'a> {
    /// One range; `None` if it is empty.
    pub fn single(range: RangeInclusive<u64>) -> Option<Self> {
        let first_range = range.end().checked_sub(*range.start())?;
        Some(Self { largest: *range.end(), first_range, additional: &[], additional_count: 0 })
    }

    /// The largest packet number acknowledged.
    #[inline]
    pub const fn largest(&self) -> u64 {
        self.largest
    }

    /// How many ranges there are, at least one.
    #[inline]
    pub const fn count(&self) -> u64 {
        self.additional_count + 1
    }

    /// The ranges, from the largest packet number down. They neither touch nor overlap.
    #[inline]
    pub fn iter(&self) -> AckRangeIter<'a> {
        AckRangeIter {
            next: Some((self.largest.saturating_sub(self.first_range), self.largest)),
            rest: Reader::new(self.additional),
        }
    }

    /// Reads and checks everything from First ACK Range on.
    //= rfc9000-19.3-1: both types of ACK are read, and ECN counts used
    //= rfc9000-19.3.1-1: a range below zero: FRAME_ENCODING_ERROR
    pub(super) fn decode(
        r: &mut Reader<'a>,
        largest: u64,
        additional_count: u64,
    ) -> Result<Self, FrameErrorKind> {
        let first_range = r.read_varint()?;
        let mut smallest = largest.checked_sub(first_range).ok_or(FrameErrorKind::AckRangeUnderflow)?;
        let encoded = r.peek_rest();
        let start = r.position();
        // A range takes two bytes or more: a false count ends at the end of the payload.
        for _ in 0..additional_count {
            let (gap, length) = (r.read_varint()?, r.read_varint()?);
            smallest = smallest
                .checked_sub(gap + 2)
                .and_then(|range_largest| range_largest.checked_sub(length))
                .ok_or(FrameErrorKind::AckRangeUnderflow)?;
        }
        let additional = encoded.get(..r.position() - start).unwrap_or_default();
        Ok(Self { largest, first_range, additional, additional_count })
    }
}

impl<'a> IntoIterator for &AckRanges<'a> {
    type Item = RangeInclusive<u64>;
    type IntoIter = AckRangeIter<'a>;

    fn into_iter(self) -> AckRangeIter<'a> {
        self.iter()
    }
}

/// Iterator of [`AckRanges::iter`].
#[derive(Clone, Debug)]
pub struct AckRangeIter<'a> {
    /// The smallest and the largest number of the range to come.
    next: Option<(u64, u64)>,
    rest: Reader<'a>,
}

impl AckRangeIter<'_> {
    fn following(&mut self, smallest: u64) -> Option<(u64, u64)> {
        let (gap, length) = (self.rest.read_varint().ok()?, self.rest.read_varint().ok()?);
        let largest = smallest.checked_sub(gap + 2)?;
        Some((largest.checked_sub(length)?, largest))
    }
}

impl Iterator for AckRangeIter<'_> {
    type Item = RangeInclusive<u64>;

    #[inline]
    fn next(&mut self) -> Option<RangeInclusive<u64>> {
        let (smallest, largest) = self.next?;
        self.next = self.following(smallest);
        Some(smallest..=largest)
    }
}
