//! Which path carried a tile: what a sender knows from acknowledgements.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use hawser::policy::{
    Agent, Commands, Event, FeatureSet, Interests, PolicySet, PolicySetFactory, SendView, SetInit, StreamId,
    Time,
};

/// Bytes of each stream that is watched, by the path whose packets with them were acknowledged.
#[derive(Clone, Debug, Default)]
pub(super) struct Carriers(Arc<Mutex<HashMap<StreamId, BTreeMap<u32, u64>>>>);

impl Carriers {
    /// Watches a stream for as long as the value lives.
    pub(super) fn watch(&self, stream: StreamId) -> Watched {
        self.lock().insert(stream, BTreeMap::new());
        Watched { carriers: self.clone(), stream }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<StreamId, BTreeMap<u32, u64>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, event: &Event<'_>) {
        let Event::Acked(report) = event else { return };
        let mut streams = self.lock();
        for range in report.ranges {
            if let Some(paths) = streams.get_mut(&range.stream) {
                *paths.entry(report.path.0).or_default() += range.range.end - range.range.start;
            }
        }
    }
}

/// A stream that is watched.
#[derive(Debug)]
pub(super) struct Watched {
    carriers: Carriers,
    stream: StreamId,
}

impl Watched {
    /// Ids of paths, and the bytes that each carried so far.
    pub(super) fn paths(&self) -> Vec<(u32, u64)> {
        let streams = self.carriers.lock();
        streams.get(&self.stream).into_iter().flatten().map(|(path, bytes)| (*path, *bytes)).collect()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.carriers.lock().remove(&self.stream);
    }
}

/// A policy set whose packets are looked at: it decides as before.
pub(super) struct WatchedSet {
    pub(super) inner: Arc<dyn PolicySetFactory>,
    pub(super) carriers: Carriers,
}

impl PolicySetFactory for WatchedSet {
    fn build(&self, init: &SetInit) -> PolicySet {
        let mut set = self.inner.build(init);
        let inner = set.agent.take();
        set.agent = Some(Box::new(Watch { inner, carriers: self.carriers.clone() }));
        set
    }

    fn features(&self) -> FeatureSet {
        self.inner.features()
    }

    fn wants_receive_timestamps(&self) -> bool {
        self.inner.wants_receive_timestamps()
    }

    fn repairs(&self) -> bool {
        self.inner.repairs()
    }
}

/// The agent that watches, around that of the set, if it has one.
struct Watch {
    inner: Option<Box<dyn Agent>>,
    carriers: Carriers,
}

impl Agent for Watch {
    fn interests(&self) -> Interests {
        let inner = self.inner.as_ref().map_or(Interests::NONE, |agent| agent.interests());
        inner | Interests::ACKED
    }

    fn on_event(&mut self, event: &Event<'_>, commands: &mut Commands) {
        self.carriers.note(event);
        if let Some(inner) = self.inner.as_mut().filter(|agent| agent.interests().contains(event.interest()))
        {
            inner.on_event(event, commands);
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.inner.as_ref()?.next_timeout()
    }

    fn on_timeout(&mut self, view: &SendView<'_>, commands: &mut Commands) {
        if let Some(inner) = &mut self.inner {
            inner.on_timeout(view, commands);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser::policy::{PacketReport, StreamRange};

    #[test]
    fn bytes_are_credited_to_the_path_of_their_packet() {
        let carriers = Carriers::default();
        let mut watch = Watch { inner: None, carriers: carriers.clone() };
        let (stream, other) = (StreamId(3), StreamId(7));
        let watched = carriers.watch(stream);
        let mut acked = |path, stream, range: std::ops::Range<u64>| {
            let ranges = [StreamRange { stream, range, copy: false }];
            let report = PacketReport::default().with(|report| {
                report.now = Time::ZERO;
                report.path = hawser::PathId(path);
                report.packet_number = 0;
                report.bytes = 1200;
                report.sent_at = Time::ZERO;
                report.bytes_in_flight_at_send = 1200;
                report.ranges = &ranges;
            });
            watch.on_event(&Event::Acked(&report), &mut Vec::new());
        };
        acked(0, stream, 0..1000);
        acked(1, stream, 1000..1300);
        acked(0, stream, 1300..1400);
        acked(0, other, 0..1000);
        assert_eq!(watched.paths(), [(0, 1100), (1, 300)]);
        // Neither one that was never watched nor one that no longer is leaves anything behind.
        drop(watched);
        acked(0, stream, 0..1000);
        assert!(carriers.lock().is_empty());
    }
}
