use hawser_policy::{Assignment, PathId, QueueView};

use super::*;
use crate::testing::{path, view_at};

/// Sends on path 1, whatever that carries.
struct Stubborn;

impl Scheduler for Stubborn {
    fn name(&self) -> &'static str {
        "stubborn"
    }

    fn schedule(&mut self, _view: &SendView<'_>, _commands: &mut Commands) -> Decision {
        Decision::Send(Assignment::next(PathId(1)))
    }
}

/// Path 1 carries what `first` says at each second, path 2 ten megabytes per second if anything is sent there. Gives the path
/// of each tenth of a second, and how often the guard fired.
fn run(acts: bool, seconds: u64, first: impl Fn(u64) -> u64) -> (Vec<u32>, u64, usize) {
    let mut guard = Guard::new(Box::new(Stubborn), acts);
    let mut paths = [path(1, 40, 50_000), path(2, 20, 50_000)];
    let (mut chosen, mut told) = (Vec::new(), 0);
    for tenth in 0..10 * seconds {
        let now = Time::from_millis(100 * tenth);
        let queue = QueueView::default().with(|queue| {
            queue.unsent = 1 << 30;
            queue.connection_window_left = u64::MAX;
        });
        let mut commands = Vec::new();
        let decision = guard.schedule(&view_at(now, &paths, queue), &mut commands);
        told += commands.iter().filter(|command| matches!(command, Command::Tell(_))).count();
        let Decision::Send(sent) = decision else { panic!("both paths have room") };
        chosen.push(sent.path.0);
        match sent.path.0 {
            1 => paths[0].bytes_acked += first(tenth / 10) / 10,
            _ => paths[1].bytes_acked += 1_000_000,
        }
    }
    (chosen, guard.firings(), told)
}

const GOOD: u64 = 10_000_000;

#[test]
fn the_fallback_takes_over_when_progress_collapses_and_hands_back() {
    let (chosen, firings, told) = run(true, 20, |second| if second < 5 { GOOD } else { 100_000 });
    assert!(chosen[..50].iter().all(|path| *path == 1));
    // Two windows of 0.4 s, then two seconds; the second time twice as long.
    let out = chosen.iter().filter(|path| **path == 2).count();
    assert!((80..=150).contains(&out), "{out} of 200");
    assert!((2..=3).contains(&firings), "{firings}");
    assert!(chosen[50..62].contains(&2), "within 1.2 s");
    assert!(told as u64 >= 2 * firings - 1);
}

#[test]
fn steady_progress_and_small_swings_are_left_alone() {
    let (chosen, firings, told) = run(true, 20, |second| if second % 2 == 0 { GOOD } else { 6_000_000 });
    assert!(chosen.iter().all(|path| *path == 1) && firings == 0 && told == 0);
}

#[test]
fn one_that_only_counts_changes_nothing() {
    let (chosen, firings, told) = run(false, 20, |second| if second < 5 { GOOD } else { 100_000 });
    assert!(chosen.iter().all(|path| *path == 1) && firings >= 1 && told == 0);
}

/// Nothing is queued: the sender has little to send, and nobody failed.
#[test]
fn an_idle_sender_is_no_collapse() {
    let mut guard = Guard::new(Box::new(Stubborn), true);
    let paths = [path(1, 40, 50_000), path(2, 20, 50_000)];
    for tenth in 0..200 {
        let queue = QueueView::default().with(|queue| queue.unsent = if tenth % 3 == 0 { 0 } else { 1_000 });
        guard.schedule(&view_at(Time::from_millis(100 * tenth), &paths, queue), &mut Vec::new());
    }
    assert_eq!(guard.firings(), 0);
}
