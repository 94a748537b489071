//! Writing acknowledgements straight from the receiver's records, as many ranges as fit.

use std::ops::RangeInclusive;

use super::EcnCounts;
use super::encode::ack_frame_type;
use crate::varint;
use crate::writer::{BufferTooShort, VarintSize, Writer};

/// The fixed part of an acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckHeader {
    /// The path whose packets are acknowledged; `None` writes an ACK without path id.
    pub path_id: Option<u32>,
    /// Microseconds since the largest packet arrived, divided by the local 2^ack_delay_exponent.
    pub delay: u64,
    /// Totals of ECN marks, where there are any.
    pub ecn: Option<EcnCounts>,
}

/// What an acknowledgement came to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckWritten {
    /// Ranges written, at least one.
    pub ranges: usize,
    /// The smallest packet number among them.
    pub smallest: u64,
    /// Receive timestamps written.
    pub timestamps: u64,
}

/// What the peer accepts of receive timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimestampLimits {
    /// Its receive_timestamps_exponent, 0 to 20.
    pub exponent: u8,
    /// Its max_receive_timestamps_per_ack.
    pub max_count: u64,
}

/// The most ranges in one frame: their count is written into two bytes reserved ahead of them.
const MAX_RANGES: usize = 16_383;

/// Writes an ACK or PATH_ACK frame.
///
/// `ranges` go from the largest packet number down and neither touch nor overlap; they are taken until the room, or
/// `max_ranges`, is used up, so the oldest are left out. Ranges out of order end the frame.
///
/// # Errors
/// [`BufferTooShort`] if there is no range or not even the first fits; the writer is then as before.
pub fn write_ack<I>(
    w: &mut Writer<'_>,
    header: &AckHeader,
    ranges: I,
    max_ranges: usize,
) -> Result<AckWritten, BufferTooShort>
where
    I: IntoIterator<Item = RangeInclusive<u64>>,
{
    let start = w.position();
    write_ranges(w, header, ranges.into_iter(), max_ranges, None)
        .map(|(written, _)| written)
        .inspect_err(|_| w.rewind(start))
}

/// Writes an ACK_RECEIVE_TIMESTAMPS or PATH_ACK_RECEIVE_TIMESTAMPS frame (draft-ietf-quic-receive-ts-02).
///
/// As [`write_ack`], then as many of `arrivals` as fit: packet numbers with their receive times in microseconds since
/// a moment fixed for the connection, latest arrival first. Those above the largest packet number of `ranges` are
/// left out; one that breaks the order of time ends the list.
///
/// # Errors
/// [`BufferTooShort`] if there is no range or not even the first fits; the writer is then as before.
pub fn write_ack_with_timestamps<I, T>(
    w: &mut Writer<'_>,
    header: &AckHeader,
    ranges: I,
    max_ranges: usize,
    limits: TimestampLimits,
    arrivals: T,
) -> Result<AckWritten, BufferTooShort>
where
    I: IntoIterator<Item = RangeInclusive<u64>>,
    T: IntoIterator<Item = (u64, u64)>,
{
    let start = w.position();
    let write = |w: &mut Writer<'_>| {
        let (mut written, largest) = write_ranges(w, header, ranges.into_iter(), max_ranges, Some(()))?;
        written.timestamps = write_timestamps(w, largest, limits, arrivals.into_iter())?;
        Ok(written)
    };
    write(w).inspect_err(|_| w.rewind(start))
}

fn ecn_len(ecn: &EcnCounts) -> usize {
    varint::len(ecn.ect0) + varint::len(ecn.ect1) + varint::len(ecn.ce)
}

/// Everything but the timestamps; `timestamps` only tells whether they follow. Also returns the largest number.
fn write_ranges(
    w: &mut Writer<'_>,
    header: &AckHeader,
    mut ranges: impl Iterator<Item = RangeInclusive<u64>>,
    max_ranges: usize,
    timestamps: Option<()>,
) -> Result<(AckWritten, u64), BufferTooShort> {
    let first = ranges.next().ok_or(BufferTooShort)?;
    let (largest, mut smallest) = (*first.end(), *first.start());
    w.write_varint(ack_frame_type(header.path_id.is_some(), header.ecn.is_some(), timestamps.is_some()))?;
    if let Some(path_id) = header.path_id {
        w.write_varint(u64::from(path_id))?;
    }
    w.write_varint(largest)?;
    w.write_varint(header.delay)?;
    let max_additional = max_ranges.clamp(1, MAX_RANGES) - 1;
    let count = w.reserve_varint(VarintSize::of(max_additional as u64))?;
    w.write_varint(largest.checked_sub(smallest).ok_or(BufferTooShort)?)?;
    // What follows the ranges has to fit as well: ECN counts, and the count of timestamp ranges.
    let tail = header.ecn.as_ref().map_or(0, ecn_len) + usize::from(timestamps.is_some());
    let mut room = w.remaining().checked_sub(tail).ok_or(BufferTooShort)?;

    let mut additional = 0;
    for range in ranges.take(max_additional) {
        // Two below the previous range at least: touching ranges would have been one.
        let Some(gap) = smallest.checked_sub(2).and_then(|highest| highest.checked_sub(*range.end())) else {
            break;
        };
        let Some(length) = range.end().checked_sub(*range.start()) else { break };
        let size = varint::len(gap) + varint::len(length);
        if size > room {
            break;
        }
        w.write_varint(gap)?;
        w.write_varint(length)?;
        room -= size;
        smallest = *range.start();
        additional += 1;
    }
    w.patch_varint(count, additional as u64)?;
    if let Some(ecn) = &header.ecn {
        w.write_varint(ecn.ect0)?;
        w.write_varint(ecn.ect1)?;
        w.write_varint(ecn.ce)?;
    }
    Ok((AckWritten { ranges: additional + 1, smallest, timestamps: 0 }, largest))
}

/// Ranges in a frame and deltas in a range are counted in one byte each; longer runs are split.
const COUNT_IN_ONE_BYTE: u64 = 63;

/// Writes the Receive Timestamps field and returns how many it holds.
fn write_timestamps(
    w: &mut Writer<'_>,
    largest: u64,
    limits: TimestampLimits,
    arrivals: impl Iterator<Item = (u64, u64)>,
) -> Result<u64, BufferTooShort> {
    let range_count = w.reserve_varint(VarintSize::One)?;
    let (mut ranges, mut total) = (0, 0);
    let mut open: Option<OpenRange> = None;
    let mut previous_time: Option<u64> = None;
    for (packet_number, time) in arrivals {
        if total == limits.max_count {
            break;
        }
        let Some(below_largest) = largest.checked_sub(packet_number) else { continue };
        // Absolute times are cut to units, then subtracted: cutting the differences would let errors add up.
        let time = time >> limits.exponent.min(20);
        let Some(delta) = previous_time.map_or(Some(time), |previous| previous.checked_sub(time)) else {
            break;
        };
        let continues = open.as_ref().is_some_and(|range| range.takes(packet_number));
        let header = if continues { 0 } else { varint::len(below_largest) + 1 };
        if header + varint::len(delta) > w.remaining() || (!continues && ranges == COUNT_IN_ONE_BYTE) {
            break;
        }
        if !continues {
            if let Some(range) = open.take() {
                w.patch_varint(range.count_at, range.count)?;
            }
            w.write_varint(below_largest)?;
            let count_at = w.reserve_varint(VarintSize::One)?;
            open = Some(OpenRange { count_at, count: 0, last: packet_number });
            ranges += 1;
        }
        w.write_varint(delta)?;
        if let Some(range) = &mut open {
            range.count += 1;
            range.last = packet_number;
        }
        previous_time = Some(time);
        total += 1;
    }
    if let Some(range) = open {
        w.patch_varint(range.count_at, range.count)?;
    }
    w.patch_varint(range_count, ranges)?;
    Ok(total)
}

/// A timestamp range whose count is not written yet.
struct OpenRange {
    count_at: crate::writer::VarintPlaceholder,
    count: u64,
    last: u64,
}

impl OpenRange {
    fn takes(&self, packet_number: u64) -> bool {
        self.last.checked_sub(1) == Some(packet_number) && self.count < COUNT_IN_ONE_BYTE
    }
}
