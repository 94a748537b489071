use hawser_policy::{
    Assignment, Command, Decision, Event, Message, MessageOrigin, QueueView, Scheduler, SendView,
};

use super::*;
use crate::EarliestArrival;
use crate::testing::{path, view_at};

const NOTICE: HandOverNotice =
    HandOverNotice { starts_in: Duration::from_millis(500), interruption: Some(Duration::from_millis(200)) };

/// A scheduler with a near path and a far one, asked every millisecond with more to send than they take.
struct Bed {
    scheduler: EarliestArrival,
    paths: [PathView; 2],
    commands: Vec<Command>,
}

impl Bed {
    fn new() -> Self {
        let mut paths = [path(1, 40, 50_000), path(2, 60, 50_000)];
        paths.iter_mut().for_each(|path| path.bytes_in_flight = 0);
        Bed { scheduler: EarliestArrival::default(), paths, commands: Vec::new() }
    }

    /// The peer's word of the near path, which comes at a time in ms.
    fn hear(&mut self, ms: u64, notice: HandOverNotice) {
        let message: Message = notice.message(PathId(1));
        let now = Time::from_millis(ms);
        let event = Event::Message { now, origin: MessageOrigin::Peer, message: &message };
        self.scheduler.on_event(&event, &mut Vec::new());
    }

    /// The path that is chosen at a time in ms.
    fn ask(&mut self, ms: u64) -> Option<u32> {
        let queue = QueueView::default().with(|queue| {
            queue.unsent = 500_000;
            queue.connection_window_left = u64::MAX;
        });
        let view: SendView<'_> = view_at(Time::from_millis(ms), &self.paths, queue);
        match self.scheduler.schedule(&view, &mut self.commands) {
            Decision::Send(Assignment { path, .. }) => Some(path.0),
            Decision::Wait(_) => None,
        }
    }

    /// When the near path is left out, in ms.
    fn left_out(&mut self, range: std::ops::Range<u64>) -> Vec<u64> {
        range.filter(|ms| self.ask(*ms) != Some(1)).collect()
    }
}

#[test]
fn nothing_leaves_that_would_meet_a_break_of_the_peer() {
    let mut bed = Bed::new();
    bed.hear(20, NOTICE);
    // Its acknowledgement took 20 ms, so that the link goes at 500 ms, and what leaves at 480 ms is there by then; what leaves at
    // 680 ms finds it back.
    assert_eq!(bed.left_out(20..1_000), (480..680).collect::<Vec<_>>());
    let pings = bed.commands.iter().filter(|command| **command == Command::Ping { path: PathId(1) });
    assert_eq!(pings.count(), 1, "asked whether it is really away");
}

#[test]
fn a_link_of_this_end_is_left_out_as_long_as_it_is_away() {
    let mut bed = Bed::new();
    bed.paths[0].link = Some(LinkId(4));
    let at = Time::from_millis(500);
    let next = HandOver::new(at).with(|hand_over| hand_over.interruption = Some(Duration::from_millis(200)));
    let state = hawser_policy::LinkState::default().with(|state| state.hand_over = Some(next));
    let update = LinkUpdate::new(Time::ZERO, LinkId(4), &state);
    bed.scheduler.on_event(&Event::Link(&update), &mut Vec::new());
    assert_eq!(bed.left_out(1..1_000), (500..700).collect::<Vec<_>>());
}

#[test]
fn what_is_in_flight_when_all_should_be_acknowledged_is_copied() {
    let mut bed = Bed::new();
    bed.hear(20, NOTICE);
    bed.left_out(20..490);
    bed.paths[0].bytes_in_flight = 20_000;
    bed.paths[0].oldest_in_flight = Some(Time::from_millis(479));
    bed.commands.clear();
    bed.left_out(490..519);
    let copied = |commands: &[Command]| {
        let of =
            |command: &Command| matches!(command, Command::Reinject { from: PathId(1), to: PathId(2), .. });
        commands.iter().any(of)
    };
    assert!(!copied(&bed.commands), "its acknowledgements are on the way");
    bed.left_out(519..530);
    assert!(copied(&bed.commands), "{:?}", bed.commands);
}

#[test]
fn an_answer_in_the_break_ends_it_and_needless_waiting_has_a_budget() {
    let mut bed = Bed::new();
    let mut waited = Vec::new();
    for round in 0..20 {
        let start = 1_000 * round;
        bed.hear(start + 20, NOTICE);
        let mut out = 0;
        for ms in start + 20..start + 1_000 {
            // It is asked at 500 ms, when it should be gone, and answers.
            bed.paths[0].heard_at = (ms >= start + 540).then(|| Time::from_millis(start + 540));
            out += u64::from(bed.ask(ms) != Some(1));
        }
        waited.push(out);
    }
    assert_eq!(waited[..2], [60, 60], "ended by its answer");
    let total: u64 = waited.iter().sum();
    assert!(total <= 500 + 20 * 10 + 60, "{waited:?}");
}

#[test]
fn a_break_of_which_the_length_is_not_known_ends_with_the_first_answer_or_after_a_while() {
    let mut bed = Bed::new();
    bed.hear(20, HandOverNotice { interruption: None, ..NOTICE });
    assert_eq!(bed.left_out(20..1_000), (480..580).collect::<Vec<_>>());
}

#[test]
fn when_every_path_has_a_break_none_is_left_out() {
    let mut bed = Bed::new();
    for id in [1, 2] {
        let message = NOTICE.message(PathId(id));
        let event =
            Event::Message { now: Time::from_millis(20), origin: MessageOrigin::Peer, message: &message };
        bed.scheduler.on_event(&event, &mut Vec::new());
    }
    assert!((20..1_000).all(|ms| bed.ask(ms).is_some()));
}

#[test]
fn notices_of_a_peer_are_bounded() {
    let mut breaks = Breaks::default();
    for n in 0..10_000 {
        breaks.on_notice(Time::ZERO, PathId(n), NOTICE);
    }
    let paths: Vec<PathView> = (0..40).map(|id| path(id, 20, 0)).collect();
    let mut watch = Watch::default();
    breaks.apply(&view_at(Time::ZERO, &paths, QueueView::default()), &mut watch, &mut Vec::new());
    assert!(breaks.list.len() <= MAX_BREAKS && breaks.heard.is_empty());
}
