//! Ranges that are in flight on several paths: who answers for them.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use hawser_cc::NewReno;
use hawser_policy::{
    Assignment, Command, Commands, ControllerInit, Decision, PathId, Scheduler, SchedulerInit, Selection,
    SendView, Side, StreamId, Time,
};
use hawser_sched::Redundant;

use super::pair::{Pair, Sent, Settings, client_address};
use super::scheduling::Fixed;
use crate::TransportConfig;
use crate::connection::stats::ConnectionStats;

/// When the data leaves of which something is lost.
const BURST: Time = Time::from_millis(2_000);

/// Bytes of it.
const LENGTH: usize = 9_000;

fn settings<S: Scheduler + 'static>(make: impl Fn() -> S + Send + Sync + 'static) -> Settings {
    let client = TransportConfig::new(
        Arc::new(move |_: &SchedulerInit| Box::new(make()) as Box<_>),
        Arc::new(|init: &ControllerInit| Box::new(NewReno::new(init)) as Box<_>),
    );
    Settings { client, ..Settings::default() }
}

/// The burst, on path 0.
fn originals(sent: &Sent) -> bool {
    let burst = BURST..BURST + Duration::from_millis(20);
    sent.by.is_client() && sent.tuple.local == client_address(0) && burst.contains(&sent.at)
}

/// What path 1 carries of it.
fn copies(sent: &Sent) -> bool {
    let burst = BURST..BURST + Duration::from_millis(40);
    sent.by.is_client() && sent.tuple.local == client_address(1) && burst.contains(&sent.at)
}

fn both(sent: &Sent) -> bool {
    originals(sent) || copies(sent)
}

/// Two paths with samples, nothing in flight, at [`BURST`].
fn two_paths<S: Scheduler + 'static>(make: impl Fn() -> S + Send + Sync + 'static) -> Pair {
    let mut pair = Pair::connected(settings(make));
    pair.open(1);
    for _ in 0..3 {
        pair.write(Side::Client, 2_000);
        pair.run(Duration::from_millis(100));
    }
    pair.run(BURST.since(pair.now));
    pair
}

/// Sends the burst, and a little later more on both paths, so that acknowledgements show what was lost. Returns what
/// the counters rose by at both ends, once all was read.
fn send_burst(mut pair: Pair) -> (ConnectionStats, ConnectionStats) {
    let before = (pair.client().stats(), pair.server().stats());
    let first = pair.write(Side::Client, LENGTH);
    pair.run(Duration::from_millis(22));
    let second = pair.write(Side::Client, LENGTH);
    pair.run(Duration::from_secs(3));
    while pair.server().accept_stream(false).is_some() {}
    for id in [first, second] {
        assert_eq!(read(&mut pair, id), LENGTH, "{id}");
    }
    let (client, server) = (pair.client().stats(), pair.server().stats());
    (difference(&client, &before.0), difference(&server, &before.1))
}

fn read(pair: &mut Pair, id: StreamId) -> usize {
    let chunks = std::iter::from_fn(|| pair.server().read_chunk(id, 1 << 20).ok().flatten());
    chunks.map(|chunk| chunk.len()).sum()
}

fn difference(after: &ConnectionStats, before: &ConnectionStats) -> ConnectionStats {
    ConnectionStats {
        stream_bytes_sent: after.stream_bytes_sent - before.stream_bytes_sent,
        stream_bytes_retransmitted: after.stream_bytes_retransmitted - before.stream_bytes_retransmitted,
        stream_bytes_copied: after.stream_bytes_copied - before.stream_bytes_copied,
        stream_bytes_copied_needlessly: after.stream_bytes_copied_needlessly
            - before.stream_bytes_copied_needlessly,
        stream_bytes_received: after.stream_bytes_received - before.stream_bytes_received,
        stream_bytes_duplicate: after.stream_bytes_duplicate - before.stream_bytes_duplicate,
        ..*after
    }
}

/// Sends on path 0, and orders copies of the burst a while after it.
struct Later {
    after: Duration,
    commands: VecDeque<Command>,
}

impl Later {
    fn settings(after: u64, command: Command) -> impl Fn() -> Later + Send + Sync {
        Later::all(after, [command])
    }

    /// One after the other, at intervals of `after`.
    fn all<const N: usize>(after: u64, commands: [Command; N]) -> impl Fn() -> Later + Send + Sync {
        move || Later { after: Duration::from_millis(after), commands: commands.clone().into() }
    }
}

impl Scheduler for Later {
    fn name(&self) -> &'static str {
        "later"
    }

    fn schedule(&mut self, view: &SendView<'_>, _: &mut Commands) -> Decision {
        if let Some(path) = view.paths.iter().find(|path| path.copies_queued > 0 && path.sendable() > 0) {
            return Decision::Send(
                Assignment::next(path.id).with(|assignment| assignment.selection = Selection::Copies),
            );
        }
        match view.path(PathId::ZERO).filter(|path| path.sendable() > 0 && view.queue.total() > 0) {
            Some(path) => Decision::Send(Assignment::next(path.id)),
            None => Decision::Wait(None),
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.commands.front().map(|_| BURST + self.after)
    }

    fn on_timeout(&mut self, view: &SendView<'_>, commands: &mut Commands) {
        if view.now >= BURST + self.after {
            commands.extend(self.commands.pop_front());
            self.after += self.after;
        }
    }
}

/// The stream of the burst: three were sent before.
const STREAM: StreamId = StreamId(2 + 4 * 3);

fn copy() -> Command {
    Command::Copy { stream: STREAM, range: 0..LENGTH as u64, to: PathId(1) }
}

fn reinjection() -> Command {
    Command::Reinject { from: PathId::ZERO, to: PathId(1), max_bytes: LENGTH as u64 }
}

/// The loss is noticed 42 ms after the burst, when the copies have been under way for 12 ms.
#[test]
fn what_a_copy_brings_is_not_retransmitted() {
    for command in [copy(), reinjection()] {
        let mut pair = two_paths(Later::settings(30, command.clone()));
        pair.lose = originals;
        let (client, _) = send_burst(pair);
        assert_eq!(client.stream_bytes_sent, 2 * LENGTH as u64);
        assert_eq!(
            (client.stream_bytes_copied, client.stream_bytes_retransmitted),
            (LENGTH as u64, 0),
            "{command:?}"
        );
    }
}

/// Both paths have the burst: neither gets it a second time, whichever of them is given up.
#[test]
fn a_path_is_not_given_what_it_carries_already() {
    let back = Command::Reinject { from: PathId(1), to: PathId::ZERO, max_bytes: LENGTH as u64 };
    for second in [back, reinjection()] {
        let pair = two_paths(Later::all(8, [copy(), second.clone()]));
        let (client, _) = send_burst(pair);
        assert_eq!(client.stream_bytes_copied, LENGTH as u64, "{second:?}");
    }
}

#[test]
fn the_loss_of_a_copy_alone_changes_nothing() {
    for command in [copy(), reinjection()] {
        let mut pair = two_paths(Later::settings(5, command.clone()));
        pair.lose = copies;
        let (client, _) = send_burst(pair);
        assert_eq!(
            (client.stream_bytes_copied, client.stream_bytes_retransmitted),
            (LENGTH as u64, 0),
            "{command:?}"
        );
    }
}

#[test]
fn what_every_copy_was_lost_of_is_retransmitted_once() {
    for (after, command) in [(5, copy()), (30, copy()), (5, reinjection()), (30, reinjection())] {
        let mut pair = two_paths(Later::settings(after, command.clone()));
        pair.lose = both;
        let (client, _) = send_burst(pair);
        let figures = (client.stream_bytes_copied, client.stream_bytes_retransmitted);
        assert_eq!(figures, (LENGTH as u64, LENGTH as u64), "after {after} ms: {command:?}");
    }
}

#[test]
fn redundant_retransmits_what_both_paths_lost() {
    let mut pair = two_paths(Redundant::default);
    pair.lose = both;
    let (client, _) = send_burst(pair);
    assert_eq!(client.stream_bytes_retransmitted, LENGTH as u64);
}

/// Copies are needless where the original arrived, and nowhere else; both ends see it.
#[test]
fn needless_copies_are_counted_at_both_ends() {
    type Loses = fn(&Sent) -> bool;
    let cases: [(Loses, u64, u64); 4] = [(|_| false, 1, 1), (originals, 0, 0), (copies, 1, 0), (both, 0, 0)];
    for command in [copy(), reinjection()] {
        for (case, (lose, needless, duplicate)) in cases.into_iter().enumerate() {
            let mut pair = two_paths(Later::settings(5, command.clone()));
            pair.lose = lose;
            let (client, server) = send_burst(pair);
            let length = LENGTH as u64;
            assert_eq!(client.stream_bytes_copied, length);
            assert_eq!(client.stream_bytes_copied_needlessly, needless * length, "{case}: {command:?}");
            assert_eq!(server.stream_bytes_received, 2 * length, "{case}: {command:?}");
            assert_eq!(server.stream_bytes_duplicate, duplicate * length, "{case}: {command:?}");
        }
    }
}

/// What was written, for who looks later.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn qlog_tells_of_copies() {
    let (page, mut pair) = (Page::default(), two_paths(Later::settings(5, copy())));
    pair.client().set_qlog(Box::new(page.clone()), "copies");
    pair.write(Side::Client, LENGTH);
    pair.run(Duration::from_millis(100));
    let now = pair.now;
    pair.client().close(now, 0, Bytes::new());
    let text = String::from_utf8(page.0.lock().unwrap().clone()).unwrap();
    let records: Vec<_> = text.lines().filter(|line| line.contains("hawser:stream_bytes_updated")).collect();
    assert!((1..=2).contains(&records.len()), "{records:?}");
    assert!(text.contains("\"copied\":9000") && text.contains("\"copied_needlessly\":9000"), "{records:?}");
}

/// Orders copies of the burst from path 0 for path 1 in pieces, and waits in the same breath.
struct Piecemeal {
    newest: bool,
    pieces: Arc<Mutex<Vec<u64>>>,
}

impl Scheduler for Piecemeal {
    fn name(&self) -> &'static str {
        "piecemeal"
    }

    fn schedule(&mut self, view: &SendView<'_>, commands: &mut Commands) -> Decision {
        let [first, second] = view.paths else { return Decision::Send(Assignment::next(PathId::ZERO)) };
        if second.copies_queued > 0 {
            self.pieces.lock().unwrap().push(second.copies_queued);
            return Decision::Send(
                Assignment::next(second.id).with(|assignment| assignment.selection = Selection::Copies),
            );
        }
        if view.queue.total() > 0 {
            return Decision::Send(Assignment::next(PathId::ZERO));
        }
        if view.now >= BURST
            && first.bytes_in_flight > LENGTH as u64 / 2
            && self.pieces.lock().unwrap().len() < 9
        {
            let (from, to, max_bytes) = (first.id, second.id, 2_000);
            commands.push(match self.newest {
                true => Command::ReinjectNewest { from, to, max_bytes },
                false => Command::Reinject { from, to, max_bytes },
            });
        }
        Decision::Wait(None)
    }

    fn interests(&self) -> hawser_policy::Interests {
        hawser_policy::Interests::IDLE
    }
}

/// What was taken over is not copied again: each order is for other bytes. They leave at once, although the scheduler says
/// "wait" with the order.
#[test]
fn a_flight_is_copied_in_pieces() {
    for newest in [false, true] {
        let pieces = Arc::new(Mutex::new(Vec::new()));
        let for_scheduler = pieces.clone();
        let mut pair = two_paths(move || Piecemeal { newest, pieces: for_scheduler.clone() });
        let before = pair.client().stats();
        pair.write(Side::Client, LENGTH);
        // The pacers need some milliseconds, acknowledgements longer.
        pair.run(Duration::from_millis(9));
        let copied = pair.client().stats().stream_bytes_copied - before.stream_bytes_copied;
        let pieces = pieces.lock().unwrap();
        assert!(pieces.len() >= 2, "{newest}: {pieces:?}");
        assert!((5_000..=LENGTH as u64).contains(&copied), "{newest}: {copied} in {pieces:?}");
    }
}

/// Sends on path 0, and has path 1 take over from it one datagram after the other.
struct Follower {
    newest: bool,
    window: u64,
}

impl Scheduler for Follower {
    fn name(&self) -> &'static str {
        "follower"
    }

    fn schedule(&mut self, view: &SendView<'_>, commands: &mut Commands) -> Decision {
        let [first, second] = view.paths else { return Decision::Send(Assignment::next(PathId::ZERO)) };
        if second.copies_queued > 0 && second.sendable() > 0 {
            return Decision::Send(
                Assignment::next(second.id).with(|assignment| assignment.selection = Selection::Copies),
            );
        }
        if view.queue.total() > 0 && first.sendable() > 0 {
            return Decision::Send(Assignment::next(first.id));
        }
        if view.now >= BURST && first.bytes_in_flight >= self.window / 2 && second.sendable() > 0 {
            let (from, to, max_bytes) = (first.id, second.id, u64::from(second.max_datagram_size));
            commands.push(match self.newest {
                true => Command::ReinjectNewest { from, to, max_bytes },
                false => Command::Reinject { from, to, max_bytes },
            });
        }
        Decision::Wait(Some(view.now + Duration::from_micros(50)))
    }

    fn interests(&self) -> hawser_policy::Interests {
        hawser_policy::Interests::IDLE
    }
}

/// However much is in flight, a packet of it is looked at once or twice until it is acknowledged: an order begins where the one
/// before ended.
#[test]
fn orders_do_not_go_through_the_whole_flight_each_time() {
    for newest in [false, true] {
        let looked_at = [100_000_u64, 400_000, 1_600_000].map(|window| {
            let client = TransportConfig::new(
                Arc::new(move |_: &SchedulerInit| Box::new(Follower { newest, window }) as Box<_>),
                Arc::new(move |_: &ControllerInit| Box::new(Fixed(window)) as Box<_>),
            );
            let mut settings = Settings { client, ..Settings::default() };
            settings.client.max_send_buffer = 1 << 26;
            settings.server.initial_stream_window = 1 << 26;
            settings.server.initial_connection_window = 1 << 26;
            let mut pair = Pair::connected(settings);
            pair.open(1);
            pair.run(BURST.since(pair.now));
            pair.write(Side::Client, 4 * window as usize);
            pair.run(Duration::from_secs(1));
            let copied = pair.client().stats().stream_bytes_copied;
            assert!(copied > window / 2, "{newest}, window {window}: {copied} bytes were copied");
            let packets = pair.datagrams(Side::Client, BURST).count() as u64;
            pair.client().policies.packets_looked_at() as f64 / packets as f64
        });
        println!("newest {newest}: packets looked at for each that left {looked_at:.2?}");
        assert!(looked_at.iter().all(|&ratio| ratio <= 2.0), "{newest}: {looked_at:.2?}");
    }
}
