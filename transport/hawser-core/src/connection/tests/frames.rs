//! Frames with metadata over whole connections: commands of schedulers, deadlines, gaps at the other end.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hawser_cc::NewReno;
use hawser_policy::{
    Assignment, Command, Commands, ControllerInit, Decision, FrameInfo, PathId, Reliability, Scheduler,
    SchedulerInit, SendView, Side, StreamId,
};

use super::pair::{DELAY, Pair, Settings, client_address};
use crate::connection::streams::Chunk;
use crate::{Code, TransportConfig};

/// A turn of the loop on top of the delay.
const SLACK: Duration = Duration::from_millis(5);

/// Asks a function each time.
struct Asks<F>(F);

impl<F: FnMut(&SendView<'_>, &mut Commands) -> Decision + Send> Scheduler for Asks<F> {
    fn name(&self) -> &'static str {
        "asks"
    }

    fn schedule(&mut self, view: &SendView<'_>, commands: &mut Commands) -> Decision {
        (self.0)(view, commands)
    }
}

fn with_scheduler<F>(choose: F) -> Settings
where
    F: FnMut(&SendView<'_>, &mut Commands) -> Decision + Clone + Send + Sync + 'static,
{
    let client = TransportConfig::new(
        Arc::new(move |_: &SchedulerInit| Box::new(Asks(choose.clone())) as Box<_>),
        Arc::new(|init: &ControllerInit| Box::new(NewReno::new(init)) as Box<_>),
    );
    Settings { client, ..Settings::default() }
}

fn first_sendable(view: &SendView<'_>) -> Decision {
    match view.preferred().find(|path| path.sendable() > 0) {
        Some(path) => Decision::Send(Assignment::next(path.id)),
        None => Decision::Wait(None),
    }
}

/// Writes frames of a kilobyte; the first is reliable.
fn write_frames(pair: &mut Pair, count: u64, info: &FrameInfo) -> StreamId {
    let id = pair.client().open_stream(false).expect("allowed");
    for number in 0..count {
        let reliability = if number == 0 { Reliability::Reliable } else { info.reliability };
        let info = info.clone().with(|frame| {
            frame.id = number;
            frame.reliability = reliability;
        });
        assert_eq!(pair.client().write_frame(id, &info, Bytes::from(vec![number as u8; 1_000])), Ok(1_000));
    }
    id
}

/// What the server can read, with neighbours joined.
fn pieces(pair: &mut Pair, id: StreamId) -> Vec<(bool, Range<u64>)> {
    let mut list: Vec<(bool, Range<u64>)> = Vec::new();
    loop {
        let (is_data, range) = match pair.server().next_chunk(id, 1 << 20) {
            Ok(Chunk::Data { offset, bytes }) => (true, offset..offset + bytes.len() as u64),
            Ok(Chunk::Gap { offset, length }) => (false, offset..offset + length),
            _ => return list,
        };
        match list.last_mut().filter(|last| last.0 == is_data) {
            Some(last) => last.1.end = range.end,
            None => list.push((is_data, range)),
        }
    }
}

#[test]
fn a_scheduler_discards_frames_and_the_reader_goes_on_at_once() {
    // All but the first and every third, and nonsense in addition.
    let choose = |view: &SendView<'_>, commands: &mut Commands| {
        view.segments.segments(&mut |segment| {
            if segment.id.is_some_and(|id| id % 3 != 0) {
                commands.push(Command::Discard { stream: segment.stream, range: segment.range.clone() });
            }
            ControlFlow::Continue(())
        });
        let stream = StreamId(400);
        commands.push(Command::Discard { stream, range: 0..10 });
        commands.push(Command::DoNotRetransmit { stream: StreamId(2), range: u64::MAX - 1..u64::MAX });
        commands.push(Command::Assign { stream: StreamId(2), range: 0..10, path: PathId(77) });
        let (start, end) = (10, 0);
        commands.push(Command::Unassign { stream, range: start..end });
        first_sendable(view)
    };
    let mut pair = Pair::connected(with_scheduler(choose));
    assert!(pair.client().can_discard());
    let info = FrameInfo::default().with(|frame| frame.reliability = Reliability::UntilDeadline);
    let id = write_frames(&mut pair, 7, &info);
    pair.run(DELAY + SLACK);
    let expected = [
        (true, 0..1_000),
        (false, 1_000..3_000),
        (true, 3_000..4_000),
        (false, 4_000..6_000),
        (true, 6_000..7_000),
    ];
    assert_eq!(pieces(&mut pair, id), expected);
    let stats = pair.client().stats();
    assert_eq!((stats.stream_bytes_discarded, stats.stream_bytes_retransmitted), (4_000, 0));
    assert!(stats.policy_commands_ignored >= 4, "{}", stats.policy_commands_ignored);
    assert_eq!(pair.server().stats().stream_bytes_missed, 4_000);
}

#[test]
fn a_frame_expires_though_nothing_is_sent_and_the_reader_hears_of_it() {
    let choose = |view: &SendView<'_>, _: &mut Commands| {
        let wait = view.queue.unsent >= 1_000;
        if wait { Decision::Wait(None) } else { first_sendable(view) }
    };
    let mut pair = Pair::connected(with_scheduler(choose));
    pair.run(Duration::from_secs(5));
    let lifetime = Duration::from_millis(30);
    let id = pair.client().open_stream(false).expect("allowed");
    let deadline = Some(pair.now + lifetime);
    let info = FrameInfo::default().with(|frame| {
        frame.deadline = deadline;
        frame.reliability = Reliability::UntilDeadline;
    });
    pair.client().write_frame(id, &info, Bytes::from(vec![1; 4_000])).expect("room");
    pair.run(lifetime - Duration::from_millis(1));
    assert_eq!(pieces(&mut pair, id), []);
    pair.run(DELAY + SLACK);
    assert_eq!(pieces(&mut pair, id), [(false, 0..4_000)]);
}

//= multipath-3.4.3-2
#[test]
fn what_a_path_was_given_goes_elsewhere_when_the_path_goes() {
    let given = PathId(1);
    // The second half of the stream is given to path 1, and everything is sent on path 0.
    let choose = move |view: &SendView<'_>, commands: &mut Commands| {
        view.segments.segments(&mut |segment| {
            if segment.range.contains(&3_000) && segment.assigned.is_none() && view.path(given).is_some() {
                commands.push(Command::Assign { stream: segment.stream, range: 2_000..4_000, path: given });
            }
            ControlFlow::Continue(())
        });
        match view.path(PathId::ZERO).filter(|path| path.sendable() > 0) {
            Some(path) => Decision::Send(Assignment::next(path.id)),
            None => Decision::Wait(None),
        }
    };
    for is_abandoned in [true, false] {
        let mut pair = Pair::connected(with_scheduler(choose));
        assert_eq!(pair.open(1), given);
        let id = write_frames(&mut pair, 4, &FrameInfo::default());
        pair.run(Duration::from_secs(2));
        assert_eq!(pieces(&mut pair, id), [(true, 0..2_000)], "the rest waits for its path");
        if is_abandoned {
            let now = pair.now;
            pair.client().abandon_path(now, given, Code::NO_ERROR).expect("there is another");
            pair.run(DELAY + SLACK);
        } else {
            // It falls silent with a PING under way.
            pair.dead.push(client_address(1));
            pair.client().paths.get_mut(given).expect("it exists").probes = 1;
            pair.run(Duration::from_secs(3));
        }
        assert_eq!(pieces(&mut pair, id), [(true, 2_000..4_000)], "abandoned: {is_abandoned}");
    }
}

#[test]
fn lost_frames_that_need_not_arrive_are_not_retransmitted() {
    let choose = |view: &SendView<'_>, _: &mut Commands| first_sendable(view);
    let mut pair = Pair::connected(with_scheduler(choose));
    // Every third datagram of the client, by its content.
    pair.lose = |sent| {
        sent.by == Side::Client
            && sent.payload.iter().fold(0, |sum: u8, byte| sum.wrapping_add(*byte)) % 3 == 0
    };
    let info = FrameInfo::default().with(|frame| frame.reliability = Reliability::Unreliable);
    let id = write_frames(&mut pair, 10, &info);
    pair.client().finish(id).expect("open");
    pair.run(Duration::from_secs(5));
    let read = pieces(&mut pair, id);
    assert_eq!(read.last().map(|piece| piece.1.end), Some(10_000), "{read:?}");
    assert!(read.windows(2).all(|pair| pair[0].1.end == pair[1].1.start));
    assert!(read[0].0 && read[0].1.end >= 1_000, "the first frame is reliable: {read:?}");
    let gaps: u64 = read.iter().filter(|piece| !piece.0).map(|piece| piece.1.end - piece.1.start).sum();
    let stats = pair.client().stats();
    assert!(gaps > 0 && gaps <= stats.stream_bytes_discarded, "{gaps} of {}", stats.stream_bytes_discarded);
    assert!(stats.stream_bytes_retransmitted <= 1_000, "{}", stats.stream_bytes_retransmitted);
    assert!(!pair.client().is_sending(id), "the sender knows that all was said");
}
