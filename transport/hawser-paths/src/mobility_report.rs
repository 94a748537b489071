//! What a host that moves tells the peer of its links: the payload of [`FeatureId::MOBILITY_REPORT`].

use std::time::Duration;

use hawser_policy::{FeatureId, LinkUpdate, Message, PathId, Rate, Time};

/// What a path carries towards the sender of the report now and in steps from now on (MMQUIC's BDP1, BDP2, BDP3). It is
/// the word of a peer: it may lower what is sent, never raise it.
///
/// ```text
/// MOBILITY_REPORT Payload {
///   Age (32),                              microseconds since the report was made
///   Step (16),                             milliseconds from entry to entry
///   Flags (8),                             0x01: the losses follow
///   Count (8),                             of entries, 1 to 16
///   Bandwidth-Delay Product (32) ...,      bytes
///   [Loss (32) ...],                       packets of a million
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MobilityReport {
    /// How old it was when it left, to the microsecond; at most 2^32 of them.
    pub age: Duration,
    /// From entry to entry, to the millisecond; 1 ms to 65.5 s.
    pub step: Duration,
    /// The present, and what follows; 1 to [`MAX_ENTRIES`](Self::MAX_ENTRIES).
    pub entries: Vec<MobilityEntry>,
}

/// One moment of a [`MobilityReport`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MobilityEntry {
    /// Bytes, at most [`MobilityReport::MAX_PRODUCT`].
    pub bandwidth_delay_product: u32,
    /// Packet errors of a million packets; told only if it is known of all entries.
    pub loss_ppm: Option<u32>,
}

const HEADER: usize = 8;
const WITH_LOSS: u8 = 1;

impl MobilityReport {
    /// Entries of a report.
    pub const MAX_ENTRIES: usize = 16;
    /// The largest bandwidth-delay product, in bytes; more counts as this much.
    pub const MAX_PRODUCT: u32 = 1 << 30;

    /// What news of a link says to the peer, whose packets take `rtt` there and back: the capacity downwards now, and as far
    /// as forecasts follow in even steps. `None` where the capacity is not known.
    pub fn of(update: &LinkUpdate<'_>, rtt: Duration) -> Option<Self> {
        let entry = |capacity: Option<Rate>, loss: Option<f64>| {
            Some(MobilityEntry {
                bandwidth_delay_product: clamp(capacity?.bytes_in(rtt)),
                loss_ppm: loss.map(|loss| (loss.clamp(0.0, 1.0) * 1e6) as u32),
            })
        };
        let now = update.state.downlink;
        let mut entries = vec![entry(now.capacity, now.loss)?];
        let until = |at: Time| at.since(update.now);
        let step = update.forecasts.first().map_or(Duration::from_millis(500), |first| until(first.at));
        for (forecast, number) in update.forecasts.iter().zip(1..Self::MAX_ENTRIES as u32) {
            let downlink = forecast.state.downlink;
            match entry(downlink.capacity, downlink.loss) {
                Some(entry) if until(forecast.at) == step * number => entries.push(entry),
                _ => break,
            }
        }
        Some(MobilityReport { age: Duration::ZERO, step, entries })
    }

    /// What is expected at a time after the report arrived, which took `one_way_delay`; `None` if that is beyond what it
    /// covers.
    pub fn entry_after(&self, one_way_delay: Duration, ahead: Duration) -> Option<MobilityEntry> {
        let since = self.age + one_way_delay + ahead;
        let index = since.as_nanos() / self.step.as_nanos().max(1);
        self.entries.get(usize::try_from(index).ok()?).copied()
    }

    /// The message about a path that both ends know. It rides with acknowledgements: a late report is worth nothing.
    pub fn message(&self, path: PathId) -> Message {
        Message::with_acks(FeatureId::MOBILITY_REPORT, self.encode()).about(path)
    }

    /// The report in a message of the peer; `None` if it is something else, or malformed.
    pub fn read(message: &Message) -> Option<Self> {
        if message.feature != FeatureId::MOBILITY_REPORT {
            return None;
        }
        Self::decode(&message.payload)
    }

    /// The payload. Of more entries than there may be the first count.
    pub fn encode(&self) -> Vec<u8> {
        let entries = self.entries.get(..Self::MAX_ENTRIES).unwrap_or(&self.entries);
        let losses: Option<Vec<u32>> = entries.iter().map(|entry| entry.loss_ppm).collect();
        let age = u32::try_from(self.age.as_micros()).unwrap_or(u32::MAX);
        let step = u16::try_from(self.step.as_millis()).unwrap_or(u16::MAX).max(1);
        let mut payload = Vec::with_capacity(HEADER + 8 * entries.len());
        payload.extend(age.to_be_bytes());
        payload.extend(step.to_be_bytes());
        payload.push(if losses.is_some() { WITH_LOSS } else { 0 });
        payload.push(entries.len() as u8);
        for entry in entries {
            payload.extend(entry.bandwidth_delay_product.min(Self::MAX_PRODUCT).to_be_bytes());
        }
        payload.extend(losses.unwrap_or_default().into_iter().flat_map(u32::to_be_bytes));
        payload
    }

    /// Reads a payload; `None` if it is malformed.
    pub fn decode(payload: &[u8]) -> Option<Self> {
        let (&[a, b, c, d, e, f, flags, count], rest) = payload.split_first_chunk::<HEADER>()?;
        let count = usize::from(count);
        let step = u16::from_be_bytes([e, f]);
        let has_losses = flags == WITH_LOSS;
        let length = 4 * count * if has_losses { 2 } else { 1 };
        let is_sound = flags <= WITH_LOSS && (1..=Self::MAX_ENTRIES).contains(&count) && step > 0;
        if !is_sound || rest.len() != length {
            return None;
        }
        let (products, losses) = rest.split_at_checked(4 * count)?;
        let mut losses =
            losses.as_chunks::<4>().0.iter().map(|bytes| u32::from_be_bytes(*bytes).min(1_000_000));
        let entry = |bytes: &[u8; 4]| MobilityEntry {
            bandwidth_delay_product: u32::from_be_bytes(*bytes).min(Self::MAX_PRODUCT),
            loss_ppm: losses.next(),
        };
        Some(MobilityReport {
            age: Duration::from_micros(u32::from_be_bytes([a, b, c, d]).into()),
            step: Duration::from_millis(step.into()),
            entries: products.as_chunks::<4>().0.iter().map(entry).collect(),
        })
    }
}

fn clamp(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX).min(MobilityReport::MAX_PRODUCT)
}

#[cfg(test)]
mod tests;
