//! Cuts of congestion windows by losses, and which of them came twice.

use std::collections::BTreeMap;

use hawser_cc::sscc::Choice;
use hawser_policy::{PathId, Side};
use hawser_sim::run::Probes;

/// The notes of the core on controllers that say so.
pub(super) const NOTES: [&str; 2] = ["controller.begin", "controller.loss"];

/// A path of a connection: the flow, the end, its id.
type Key<'a> = (&'a str, Side, PathId);

/// Cuts of the paths of all connections.
#[derive(Debug, Default)]
pub(super) struct Cuts<'a> {
    /// Of each path when it was cut last, in seconds, and by which of its controllers.
    last: BTreeMap<Key<'a>, (f64, u32)>,
    /// Windows that a loss made smaller.
    pub(super) cuts: u64,
    /// Of these, how many answered to a packet sent before the last cut of the path, which another controller had made.
    pub(super) second: u64,
}

impl<'a> Cuts<'a> {
    /// Those of the controllers that the set may run.
    pub(super) fn of(probes: &'a Probes) -> Cuts<'a> {
        let mut cuts = Cuts::default();
        // The controllers that a path has had, and whether the last one is of the set.
        let mut controllers: BTreeMap<Key<'a>, (u32, bool)> = BTreeMap::new();
        for (flow, note) in probes.notes() {
            let Some(path) = note.path else { continue };
            let key = (flow, note.side, path);
            let (number, is_of_set) = controllers.entry(key).or_default();
            if let Some(name) = note.word("name") {
                (*number, *is_of_set) = (*number + 1, Choice::named(name).is_some());
            }
            let [before, after, sent] =
                ["before_window_bytes", "window_bytes", "newest_sent_s"].map(|name| note.number(name));
            if let Some(sent) = sent.filter(|_| *is_of_set && after < before) {
                cuts.add(key, note.at.as_secs_f64(), sent, *number);
            }
        }
        cuts
    }

    /// A loss of packets, of which the newest was sent then.
    fn add(&mut self, key: Key<'a>, now: f64, sent: f64, controller: u32) {
        self.cuts += 1;
        let (at, by) = self.last.entry(key).or_insert((now, controller));
        if sent <= *at && *by != controller {
            self.second += 1;
        } else {
            (*at, *by) = (now, controller);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_another_controller_cuts_a_second_time() {
        let mut cuts = Cuts::default();
        let mut cut = |now: f64, sent: f64, by: u32| {
            cuts.add(("main", Side::Server, PathId::ZERO), now, sent, by);
            cuts.second
        };
        assert_eq!(cut(0.100, 0.050, 1), 0);
        assert_eq!(cut(0.120, 0.080, 1), 0, "its own rule, whatever that is");
        assert_eq!(cut(0.140, 0.090, 2), 1, "sent before the cut at 120 ms");
        assert_eq!(cut(0.200, 0.150, 2), 1, "sent after it");
    }
}
