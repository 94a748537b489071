//! Delays of packets: one way, and until their data was delivered.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::SimReportError;
use super::rows::{each, number, text};
use crate::data::table::Cell;

/// Delays of the packets of a direction of a link.
#[derive(Debug, Serialize)]
pub struct DelayRow {
    /// The link.
    pub link: String,
    /// `up` or `down`.
    pub direction: String,
    /// Packets that arrived.
    pub arrived: u64,
    /// Packets that were dropped on the way.
    pub dropped: u64,
    /// From sending to arrival, of those that arrived.
    #[serde(flatten)]
    pub one_way: Delays,
    /// Packets whose data was delivered: those that were the first to carry some that was read in order, whether or not
    /// they arrived themselves.
    pub delivered: u64,
    /// From sending to the delivery in order of that data; none where there was none.
    pub to_delivery: Option<Delays>,
}

/// How long something took.
#[derive(Debug, Serialize)]
pub struct Delays {
    /// Median, milliseconds.
    pub p50_ms: f64,
    /// 95th percentile.
    pub p95_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// Largest.
    pub max_ms: f64,
    /// Delay and share of packets.
    #[serde(skip)]
    pub(super) cumulative: Vec<(f64, f64)>,
}

/// Reads a table of packets; memory grows with the links, not with the packets.
pub(super) fn read(path: &Path) -> Result<Vec<DelayRow>, SimReportError> {
    let mut links: BTreeMap<(String, String), Packets> = BTreeMap::new();
    let columns = ["sent_ns", "at_ns", "delivered_ns", "link", "direction", "dropped_at"];
    each(path, columns, |[sent, at, delivered, link, direction, dropped]| {
        let key = (text(link).to_owned(), text(direction).to_owned());
        let packets = links.entry(key).or_default();
        let sent = number(sent).unwrap_or(0.0);
        match dropped {
            Cell::Null => packets.one_way.add(number(at).unwrap_or(0.0) - sent),
            _ => packets.dropped += 1,
        }
        if let Some(delivered) = number(delivered) {
            packets.to_delivery.add(delivered - sent);
        }
    })?;
    Ok(links.into_iter().map(|((link, direction), packets)| packets.row(link, direction)).collect())
}

/// What is known of the packets of a direction of a link.
#[derive(Debug, Default)]
struct Packets {
    one_way: Histogram,
    to_delivery: Histogram,
    dropped: u64,
}

impl Packets {
    fn row(&self, link: String, direction: String) -> DelayRow {
        let delivered = self.to_delivery.count;
        DelayRow {
            link,
            direction,
            arrived: self.one_way.count,
            dropped: self.dropped,
            one_way: self.one_way.delays(),
            delivered,
            to_delivery: (delivered > 0).then(|| self.to_delivery.delays()),
        }
    }
}

/// Delays in bins of about 1 %.
#[derive(Debug, Default)]
struct Histogram {
    bins: BTreeMap<i32, u64>,
    count: u64,
}

/// Bins in which a delay doubles.
const BINS_PER_OCTAVE: f64 = 64.0;

impl Histogram {
    fn add(&mut self, nanos: f64) {
        let bin = (nanos.max(1.0).log2() * BINS_PER_OCTAVE).floor() as i32;
        *self.bins.entry(bin).or_default() += 1;
        self.count += 1;
    }

    fn delays(&self) -> Delays {
        let middle = |bin: i32| ((f64::from(bin) + 0.5) / BINS_PER_OCTAVE).exp2() / 1e6;
        let mut seen = 0;
        // From zero, or else delays that hardly differ would have no line.
        let least = self.bins.keys().next();
        let mut cumulative: Vec<(f64, f64)> = least.map(|bin| (middle(*bin), 0.0)).into_iter().collect();
        for (bin, count) in &self.bins {
            seen += count;
            cumulative.push((middle(*bin), seen as f64 / self.count as f64));
        }
        let quantile = |share: f64| {
            cumulative.iter().find(|(_, below)| *below >= share - 1e-12).map_or(0.0, |(delay, _)| *delay)
        };
        Delays {
            p50_ms: quantile(0.5),
            p95_ms: quantile(0.95),
            p99_ms: quantile(0.99),
            max_ms: quantile(1.0),
            cumulative,
        }
    }
}
