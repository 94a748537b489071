//! An hour of what each link, or each peer of a server, did: a point a second.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::model::{Path, Status};

/// Points that are kept.
const POINTS: usize = 3_600;
/// The least distance of points in milliseconds.
const SPACING_MS: u64 = 950;
/// Series of a point: of more paths the busiest.
pub(crate) const MAX_SERIES: usize = 16;

/// One point in time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// When, in milliseconds since 1970.
    pub at_unix_ms: u64,
    /// By link, or by address of the peer.
    pub series: BTreeMap<String, Point>,
}

/// What one link did at a point in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Sent now, bit/s.
    pub sent_bps: f64,
    /// Received now, bit/s.
    pub received_bps: f64,
    /// Smoothed round-trip time of its busiest path.
    pub rtt_ms: f64,
    /// Lost share of the busiest path.
    pub loss: f64,
    /// Whether a path over it is silent.
    pub suspect: bool,
}

/// The last points.
#[derive(Debug, Default)]
pub(crate) struct History(VecDeque<Moment>);

impl History {
    /// Adds a point, if the last one is old enough.
    pub(crate) fn add(&mut self, status: &Status) {
        if self.0.back().is_some_and(|last| status.at_unix_ms < last.at_unix_ms + SPACING_MS) {
            return;
        }
        if self.0.len() == POINTS {
            self.0.pop_front();
        }
        self.0.push_back(Moment { at_unix_ms: status.at_unix_ms, series: series(status) });
    }

    /// All points, the oldest first.
    pub(crate) fn all(&self) -> Vec<Moment> {
        self.0.iter().cloned().collect()
    }
}

/// What each link did, over all connections.
pub fn series(status: &Status) -> BTreeMap<String, Point> {
    let paths = status.connections.iter().flat_map(|connection| &connection.paths);
    let mut busiest: BTreeMap<&str, (&Path, Point)> = BTreeMap::new();
    for path in paths {
        let rate = |path: &Path| path.rate_sent_bps + path.rate_received_bps;
        let known = busiest.get(path.name.as_str()).copied();
        let (best, point) = known.unwrap_or((path, Point::default()));
        let best = if rate(path) > rate(best) { path } else { best };
        let point = Point {
            sent_bps: point.sent_bps + path.rate_sent_bps,
            received_bps: point.received_bps + path.rate_received_bps,
            rtt_ms: best.smoothed_rtt_ms,
            loss: best.loss,
            suspect: point.suspect || path.is_silent(),
        };
        busiest.insert(&path.name, (best, point));
    }
    let mut all: Vec<(&str, Point)> = busiest.into_iter().map(|(name, (_, point))| (name, point)).collect();
    let rate = |point: &Point| point.sent_bps + point.received_bps;
    all.sort_by(|(_, a), (_, b)| rate(b).total_cmp(&rate(a)));
    all.truncate(MAX_SERIES);
    all.into_iter().map(|(name, point)| (name.to_owned(), point)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Connection;

    fn status(at_unix_ms: u64, paths: usize) -> Status {
        let path = |id: usize| Path {
            name: format!("link{}", id % 200),
            rate_sent_bps: id as f64,
            ..Path::default()
        };
        let connection = Connection { paths: (0..paths).map(path).collect(), ..Connection::default() };
        Status { at_unix_ms, connections: vec![connection], ..Status::default() }
    }

    #[test]
    fn an_hour_is_kept_and_no_more() {
        let mut history = History::default();
        for second in 0..5_000_u64 {
            history.add(&status(second * 1_000, 3));
            history.add(&status(second * 1_000 + 100, 3));
        }
        let all = history.all();
        assert_eq!(all.len(), POINTS);
        assert_eq!(all.first().map(|point| point.at_unix_ms), Some(1_400_000));
    }

    #[test]
    fn the_busiest_links_are_kept_and_paths_of_one_link_are_added() {
        let series = series(&status(0, 400));
        assert_eq!(series.len(), MAX_SERIES);
        assert_eq!(series["link199"].sent_bps, 199.0 + 399.0);
    }
}
