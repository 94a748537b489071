//! What the partitions of the last intervals say together.

use std::collections::VecDeque;

use hawser_policy::{GroupId, PathId};

use super::detector_settings::{MAX_PATHS, Vote};
use super::grouping::Partition;

/// Partitions that a decision is made of (D).
const DEPTH: usize = 10;
/// Of these, how many must agree.
const SLIDING_MAJORITY: usize = 6;
const TUMBLING_MAJORITY: usize = 5;
const MAX_PAIRS: usize = MAX_PATHS * (MAX_PATHS - 1) / 2;

/// The last partitions, and the groups that follow from them.
#[derive(Debug)]
pub(super) struct Ballot {
    vote: Vote,
    /// Decisions for which a pair stays together that is no longer found to be.
    keep: u32,
    /// Pairs that are together, the lower path first, and for how many decisions more if they are not found again.
    kept: Vec<(PathId, PathId, u32)>,
    partitions: VecDeque<Partition>,
    /// In order of path id.
    groups: Vec<(PathId, GroupId)>,
}

impl Ballot {
    /// Bytes of a full one, about.
    #[cfg(test)]
    pub(super) const MEMORY: usize =
        DEPTH * size_of::<Partition>() + MAX_PATHS * size_of::<(PathId, GroupId)>();

    pub(super) fn new(vote: Vote, keep: u32) -> Ballot {
        let (partitions, groups) = (VecDeque::with_capacity(DEPTH), Vec::with_capacity(MAX_PATHS));
        Ballot { vote, keep, kept: Vec::with_capacity(MAX_PAIRS), partitions, groups }
    }

    /// The group that a path is in.
    pub(super) fn group(&self, path: PathId) -> GroupId {
        let found = self.groups.binary_search_by_key(&path, |(of, _)| *of);
        found.map_or(GroupId(0), |at| self.groups[at].1)
    }

    /// Counts one more partition. `paths` are all, in order of id.
    pub(super) fn cast(&mut self, paths: impl Iterator<Item = PathId>, partition: &Partition) {
        if self.partitions.len() == DEPTH {
            self.partitions.pop_front();
        }
        self.partitions.push_back(*partition);
        // Before ten there is no decision.
        if self.partitions.len() < DEPTH {
            return;
        }
        let mut all = [PathId(0); MAX_PATHS];
        let mut len = 0;
        for (slot, path) in all.iter_mut().zip(paths) {
            *slot = path;
            len += 1;
        }
        self.decide(&all[..len]);
        if self.vote == Vote::Tumbling {
            self.partitions.clear();
        }
    }

    pub(super) fn remove(&mut self, path: PathId) {
        self.kept.retain(|(one, other, _)| *one != path && *other != path);
        let group = self.group(path);
        self.groups.retain(|(of, _)| *of != path);
        // One that is left alone shares with nobody.
        let mut others = self.groups.iter_mut().filter(|(_, of)| *of == group && group != GroupId(0));
        if let (Some(last), None) = (others.next(), others.next()) {
            last.1 = GroupId(0);
        }
    }

    /// Groups are the connected components of "often enough together". They are named after their first path, so that a name
    /// stays as long as the group does.
    fn decide(&mut self, paths: &[PathId]) {
        let mut first = [0usize; MAX_PATHS];
        for at in 0..paths.len() {
            first[at] = at;
            for other in 0..at {
                if self.stay_together(paths[other], paths[at]) {
                    let (low, high) = (first[at].min(first[other]), first[at].max(first[other]));
                    first[..=at].iter_mut().filter(|of| **of == high).for_each(|of| *of = low);
                }
            }
        }
        let first = &first[..paths.len()];
        self.groups.clear();
        self.groups.extend(paths.iter().zip(first).map(|(path, of)| {
            let alone = first.iter().filter(|other| *other == of).count() < 2;
            (*path, if alone { GroupId(0) } else { GroupId(paths[*of].0.saturating_add(1)) })
        }));
    }

    /// Whether a pair is found together, or was a while ago.
    fn stay_together(&mut self, lower: PathId, upper: PathId) -> bool {
        let found = self.are_together(lower, upper);
        let at = self.kept.iter().position(|(one, other, _)| (*one, *other) == (lower, upper));
        match at {
            Some(at) if found => self.kept[at].2 = self.keep,
            Some(at) if self.kept[at].2 > 0 => self.kept[at].2 -= 1,
            Some(at) => {
                self.kept.swap_remove(at);
                return false;
            }
            None if found && self.kept.len() < MAX_PAIRS => self.kept.push((lower, upper, self.keep)),
            None => return found,
        }
        true
    }

    fn are_together(&self, one: PathId, other: PathId) -> bool {
        let count =
            |agrees: &dyn Fn(&Partition) -> bool| self.partitions.iter().filter(|of| agrees(of)).count();
        let together = count(&|partition| {
            let group = partition.of(one);
            group.is_some() && group == partition.of(other)
        });
        match self.vote {
            Vote::Sliding => together >= SLIDING_MAJORITY,
            Vote::Tumbling => {
                let free = |path| count(&|partition| partition.of(path).is_none()) >= TUMBLING_MAJORITY;
                together >= TUMBLING_MAJORITY && !free(one) && !free(other)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::detector_settings::DetectorSettings;
    use super::super::grouping::{Measure, partition};
    use super::*;

    /// A partition in which these paths are congested and alike; path 9 is congested and unlike.
    fn together(paths: &[u32]) -> Partition {
        let alike = |path: &u32| Measure { path: PathId(*path), deviation: 1_000.0, ..Measure::default() };
        let mut measures: Vec<Measure> = paths.iter().map(alike).collect();
        measures.push(Measure { path: PathId(9), deviation: 10.0, ..Measure::default() });
        partition(&DetectorSettings::THESIS, &mut measures)
    }

    fn cast(ballot: &mut Ballot, partitions: &[(usize, &[u32])]) {
        for (times, paths) in partitions {
            for _ in 0..*times {
                ballot.cast([0, 1, 2, 9].map(PathId).into_iter(), &together(paths));
            }
        }
    }

    fn groups(ballot: &Ballot) -> [u32; 4] {
        [0, 1, 2, 9].map(|path| ballot.group(PathId(path)).0)
    }

    #[test]
    fn six_of_ten_join_and_five_part() {
        let mut ballot = Ballot::new(Vote::Sliding, 0);
        cast(&mut ballot, &[(9, &[0, 1])]);
        assert_eq!(groups(&ballot), [0; 4], "nine partitions decide nothing");
        cast(&mut ballot, &[(1, &[])]);
        assert_eq!(groups(&ballot), [1, 1, 0, 0]);
        // Nine of them leave one by one: 8, 7, 6, and with the fourth 5.
        cast(&mut ballot, &[(3, &[])]);
        assert_eq!(groups(&ballot), [1, 1, 0, 0]);
        cast(&mut ballot, &[(1, &[])]);
        assert_eq!(groups(&ballot), [0; 4]);
        cast(&mut ballot, &[(10, &[]), (5, &[0, 1])]);
        assert_eq!(groups(&ballot), [0; 4]);
        cast(&mut ballot, &[(1, &[0, 1])]);
        assert_eq!(groups(&ballot), [1, 1, 0, 0]);
    }

    #[test]
    fn groups_are_connected_components() {
        let mut ballot = Ballot::new(Vote::Sliding, 0);
        // Paths 0 and 2 are together in two votes only, but each is with path 1 in six.
        cast(&mut ballot, &[(4, &[0, 1]), (2, &[0, 1, 2]), (4, &[1, 2])]);
        assert_eq!(groups(&ballot), [1, 1, 1, 0]);
    }

    #[test]
    fn a_tumbling_vote_decides_every_ten_with_five() {
        let mut ballot = Ballot::new(Vote::Tumbling, 0);
        cast(&mut ballot, &[(6, &[1, 2]), (4, &[])]);
        assert_eq!(groups(&ballot), [0, 2, 2, 0]);
        cast(&mut ballot, &[(9, &[])]);
        assert_eq!(groups(&ballot), [0, 2, 2, 0], "nothing new within ten");
        cast(&mut ballot, &[(1, &[])]);
        assert_eq!(groups(&ballot), [0; 4]);
        // Five votes for it, and five for "uncongested", which wins.
        cast(&mut ballot, &[(5, &[1, 2]), (5, &[])]);
        assert_eq!(groups(&ballot), [0; 4]);
    }

    #[test]
    fn a_pair_is_kept_for_a_while() {
        let mut ballot = Ballot::new(Vote::Sliding, 3);
        cast(&mut ballot, &[(10, &[0, 1]), (4, &[])]);
        // The fifth is one too few, and three more are kept.
        cast(&mut ballot, &[(3, &[])]);
        assert_eq!(groups(&ballot), [1, 1, 0, 0]);
        cast(&mut ballot, &[(1, &[])]);
        assert_eq!(groups(&ballot), [0; 4]);
    }

    #[test]
    fn a_path_that_is_left_behind_is_alone() {
        let mut ballot = Ballot::new(Vote::Sliding, 0);
        cast(&mut ballot, &[(10, &[0, 1])]);
        ballot.remove(PathId(0));
        assert_eq!(ballot.group(PathId(1)), GroupId(0));
    }
}
