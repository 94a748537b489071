//! Whether batches of datagrams arrive where single ones do.
//!
//! Segmentation of a batch is left to the kernel or the network card (UDP GSO). Some of them lose or mangle what they cut
//! without a word: sending succeeds, and no batch arrives. On such a path each datagram is sent alone.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

use hawser_policy::Time;

/// Batches that must be lost, while none arrives, before they are taken for the cause,
const LOST_BATCHES: u32 = 3;
/// and single datagrams that must arrive meanwhile: a path that carries nothing at all says nothing of batches.
const ARRIVED_ALONE: u32 = 2;
/// Batches that are watched at a time. Further ones are not: those that are tell enough.
const WATCHED: usize = 32;
/// How long batches are not used then. Each further time it is twice as long: the cause may be another one, or may pass.
const FIRST_PAUSE: Duration = Duration::from_secs(60);
const LAST_PAUSE: Duration = Duration::from_secs(3_600);

/// What is known of batches on one path.
#[derive(Debug, Default)]
pub(crate) struct Batches {
    /// A batch has arrived, or some of it; nothing is watched until there is another reason to.
    works: bool,
    /// Packet numbers of batches that left and of which nothing is known yet, and whether something of each was lost.
    watched: VecDeque<(Range<u64>, bool)>,
    lost: u32,
    arrived_alone: u32,
    /// Until when each datagram is sent alone.
    alone_until: Option<Time>,
    pause: Duration,
}

impl Batches {
    /// Whether several datagrams may leave at once now. `has_timed_out`: whether nothing has arrived for a probe timeout.
    pub(crate) fn allowed(&mut self, now: Time, has_timed_out: bool) -> bool {
        if has_timed_out && self.works {
            self.watch_again();
        }
        match self.alone_until {
            Some(until) if now < until => false,
            Some(_) => {
                self.alone_until = None;
                self.watch_again();
                true
            }
            None => true,
        }
    }

    /// A batch of packets with these numbers left.
    pub(crate) fn on_sent(&mut self, numbers: Range<u64>) {
        if !self.works && self.watched.len() < WATCHED {
            self.watched.push_back((numbers, false));
        }
    }

    /// A packet arrived.
    pub(crate) fn on_acked(&mut self, number: u64) {
        if self.works {
            return;
        }
        if self.watched.iter().any(|(numbers, _)| numbers.contains(&number)) {
            (self.works, self.pause) = (true, Duration::ZERO);
            self.watched.clear();
        } else if self.watched.front().is_some_and(|(numbers, _)| number >= numbers.end) {
            self.arrived_alone = self.arrived_alone.saturating_add(1);
        }
    }

    /// A packet was lost. Returns whether batches are the cause, as far as can be told: each is sent alone from now on.
    pub(crate) fn on_lost(&mut self, now: Time, number: u64) -> bool {
        if self.works || self.alone_until.is_some() {
            return false;
        }
        let batch = self.watched.iter_mut().find(|(numbers, _)| numbers.contains(&number));
        if let Some((_, is_lost)) = batch.filter(|(_, is_lost)| !*is_lost) {
            *is_lost = true;
            self.lost += 1;
        }
        if self.lost < LOST_BATCHES || self.arrived_alone < ARRIVED_ALONE {
            return false;
        }
        self.pause = (self.pause * 2).clamp(FIRST_PAUSE, LAST_PAUSE);
        self.alone_until = Some(now + self.pause);
        self.watched.clear();
        true
    }

    /// The path leads elsewhere now.
    pub(crate) fn restart(&mut self) {
        *self = Batches::default();
    }

    fn watch_again(&mut self) {
        (self.works, self.lost, self.arrived_alone) = (false, 0, 0);
        self.watched.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_secs(5);

    /// Batches of ten packets, each followed by one alone.
    fn send(batches: &mut Batches, count: u64) {
        (0..count).for_each(|at| batches.on_sent(11 * at..11 * at + 10));
    }

    #[test]
    fn batches_that_are_lost_while_single_datagrams_arrive_are_given_up_for_a_while() {
        let mut batches = Batches::default();
        let mut now = NOW;
        for pause in [60, 120, 240] {
            assert!(batches.allowed(now, false));
            send(&mut batches, 3);
            (0..3).for_each(|at| batches.on_acked(11 * at + 10));
            let lost: Vec<bool> =
                (0..33).filter(|at| at % 11 < 10).map(|at| batches.on_lost(now, at)).collect();
            assert_eq!(lost.iter().filter(|is_cause| **is_cause).count(), 1);
            assert!(!batches.allowed(now + Duration::from_secs(pause - 1), false));
            now += Duration::from_secs(pause);
        }
        assert!(batches.allowed(now, false));
    }

    #[test]
    fn a_path_that_loses_everything_or_only_some_keeps_its_batches() {
        let mut batches = Batches::default();
        send(&mut batches, 20);
        assert!((0..220).all(|at| !batches.on_lost(NOW, at)), "nothing arrived alone");
        let mut batches = Batches::default();
        send(&mut batches, 20);
        batches.on_acked(3);
        assert!((20..220).all(|at| !batches.on_lost(NOW, at)), "one of a batch arrived");
        // A silence is a reason to look again: the first kernel was replaced by another one, perhaps.
        assert!(batches.allowed(NOW, true));
        send(&mut batches, 3);
        [10, 21, 32].iter().for_each(|at| batches.on_acked(*at));
        assert!((0..33).any(|at| batches.on_lost(NOW, at)));
    }

    #[test]
    fn what_is_watched_is_bounded() {
        let mut batches = Batches::default();
        send(&mut batches, 10_000);
        assert_eq!(batches.watched.len(), WATCHED);
    }
}
