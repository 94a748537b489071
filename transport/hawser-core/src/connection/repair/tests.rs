//! The parts without a connection: blocks, what is held back, and a receiver that anybody may send anything to.

use std::time::Duration;

use hawser_policy::{ErasureCode, PathId, Protection, StreamId, Time};
use hawser_wire::frame::{Frame, FrameIter, Repair as RepairFrame, RepairCode, SourceRange, SourceRangeList};
use proptest::prelude::*;

use super::block::{Block, Queued};
use super::receiver::{MAX_BLOCKS, MAX_WAITING};
use super::sender::DECLINED;
use super::sources::{MAX_SOURCES, Sources};
use super::*;
use crate::connection::frames::{SentFrames, SentStream};
use crate::connection::work::{MOST, PER_BYTE, Work};

/// A receiver and its account.
struct Paying {
    receiver: Receiver,
    work: Work,
}

impl Paying {
    fn new(buffer: usize) -> Self {
        Paying { receiver: Receiver::new(buffer), work: Work::new() }
    }

    fn on_data(&mut self, id: StreamId, offset: u64, data: &[u8]) -> bool {
        self.work.earn(data.len());
        self.receiver.on_data(&mut self.work, id, offset, data)
    }

    fn admit(&mut self, frame: &RepairFrame<'_>) -> bool {
        self.work.earn(frame.symbol.len() + frame.sources.encoded_len());
        self.receiver.admit(&mut self.work, frame)
    }

    fn on_repair(
        &mut self,
        frame: &RepairFrame<'_>,
        lacks: impl FnMut(&SourceRange) -> bool,
    ) -> Vec<Delivered> {
        self.receiver.on_repair(&mut self.work, frame, lacks)
    }

    fn retry(
        &mut self,
        id: StreamId,
        offset: u64,
        length: usize,
        lacks: impl FnMut(&SourceRange) -> bool,
    ) -> Vec<Delivered> {
        self.receiver.retry(&mut self.work, id, offset, length, lacks)
    }
}

impl std::ops::Deref for Paying {
    type Target = Receiver;

    fn deref(&self) -> &Receiver {
        &self.receiver
    }
}

impl std::ops::DerefMut for Paying {
    fn deref_mut(&mut self) -> &mut Receiver {
        &mut self.receiver
    }
}

const STREAM: StreamId = StreamId(2);
const LENGTH: u64 = 100;

fn plan(code: ErasureCode, source_symbols: u16, repair_symbols: u16) -> Protection {
    Protection::new(code, source_symbols, repair_symbols, Duration::from_millis(10))
}

fn subject() -> Subject {
    Subject { path: PathId::ZERO, stream: STREAM, frame: None }
}

fn source(at: u64) -> SourceRange {
    SourceRange { stream_id: STREAM.0, offset: at * LENGTH, length: LENGTH, fin: false }
}

fn content(at: u64) -> Vec<u8> {
    (0..LENGTH).map(|byte| (at * 31 + byte * 7) as u8).collect()
}

fn range(at: u64) -> SentStream {
    SentStream { id: STREAM, offset: at * LENGTH, length: LENGTH as u32, fin: false, copy: false, round: 0 }
}

/// The repair symbols of `count` source symbols.
fn encode(plan: &Protection, count: u64) -> Vec<Queued> {
    let mut block = Block::new(7, subject(), plan);
    let mut queued = Vec::new();
    for at in 0..count {
        assert_eq!(block.add(Time::ZERO, source(at), &content(at)), at);
        queued.extend(block.take_due());
        if block.is_full() {
            break;
        }
    }
    queued.extend(block.take_rest());
    queued
}

fn frame(queued: &Queued) -> RepairFrame<'_> {
    RepairFrame {
        block: queued.block,
        code: queued.code,
        first: queued.first,
        index: queued.index,
        sources: queued.sources.as_ranges(),
        symbol: &queued.symbol,
    }
}

/// What a receiver brings back that gets these source symbols and then all repair symbols.
fn decode(queued: &[Queued], arrived: &[u64], count: u64) -> Vec<u64> {
    let mut receiver = Paying::new(1 << 20);
    let mut missing: Vec<u64> = (0..count).filter(|at| !arrived.contains(at)).collect();
    for at in arrived {
        receiver.on_data(STREAM, at * LENGTH, &content(*at));
    }
    let mut recovered = Vec::new();
    for queued in queued {
        let lacks = |source: &SourceRange| missing.contains(&(source.offset / LENGTH));
        for Delivered { source, bytes } in receiver.on_repair(&frame(queued), lacks) {
            let at = source.offset / LENGTH;
            assert_eq!(bytes, content(at));
            missing.retain(|other| *other != at);
            recovered.push(at);
        }
    }
    recovered.sort_unstable();
    recovered
}

#[test]
fn a_block_gives_out_its_repair_symbols_at_its_end_and_in_proportion() {
    for (code, count, symbols) in [
        (ErasureCode::ReedSolomon, 20, 4),
        (ErasureCode::ReedSolomon, 6, 2),
        (ErasureCode::ReedSolomon, 1, 1),
        (ErasureCode::Xor, 20, 1),
        (ErasureCode::RandomLinear, 20, 4),
        (ErasureCode::RandomLinear, 60, 12),
        (ErasureCode::RandomLinear, 21, 5),
    ] {
        let queued = encode(&plan(code, 20, 4), count);
        assert_eq!(queued.len(), symbols, "{code:?} {count}");
        assert!(queued.iter().all(|queued| queued.symbol.len() == LENGTH as usize));
    }
    // Windows of 20 that begin five source symbols apart.
    let sliding = encode(&plan(ErasureCode::RandomLinear, 20, 4), 40);
    let windows: Vec<_> =
        sliding.iter().map(|queued| (queued.first, queued.sources.as_ranges().len())).collect();
    assert_eq!(windows[..4], [(0, 5), (0, 10), (0, 15), (0, 20)]);
    assert_eq!(windows[4..], [(5, 20), (10, 20), (15, 20), (20, 20)]);
}

#[test]
fn what_was_lost_comes_back() {
    let block = encode(&plan(ErasureCode::ReedSolomon, 20, 4), 20);
    let without = |missing: &[u64]| (0..20).filter(|at| !missing.contains(at)).collect::<Vec<_>>();
    assert_eq!(decode(&block, &without(&[0, 7, 8, 19]), 20), [0, 7, 8, 19]);
    assert_eq!(decode(&block[2..], &without(&[3, 5]), 20), [3, 5]);
    assert!(decode(&block, &without(&[1, 2, 3, 4, 5]), 20).is_empty(), "one too many");
    assert!(decode(&block, &without(&[]), 20).is_empty(), "nothing is missing");
    // A window that slides: what the first four repair symbols tell, and then the next four.
    let sliding = encode(&plan(ErasureCode::RandomLinear, 20, 4), 40);
    let arrived: Vec<u64> = (0..40).filter(|at| ![2, 3, 9, 16, 25, 26, 31].contains(at)).collect();
    assert_eq!(decode(&sliding, &arrived, 40), [2, 3, 9, 16, 25, 26, 31]);
}

/// Data that is late, not lost, completes a block that waits.
#[test]
fn late_data_helps() {
    let block = encode(&plan(ErasureCode::ReedSolomon, 20, 4), 20);
    let mut receiver = Paying::new(1 << 20);
    for at in 2..20 {
        receiver.on_data(STREAM, at * LENGTH, &content(at));
    }
    let lacks = |source: &SourceRange| source.offset < 2 * LENGTH;
    assert!(receiver.on_repair(&frame(&block[3]), lacks).is_empty());
    assert!(!receiver.on_data(STREAM, 40 * LENGTH, &content(40)), "of no concern");
    assert!(receiver.on_data(STREAM, LENGTH, &content(1)));
    let delivered = receiver.retry(STREAM, LENGTH, LENGTH as usize, |source| source.offset == 0);
    assert_eq!(delivered, [Delivered { source: source(0), bytes: content(0) }]);
    assert!(receiver.has_recovered());
    receiver.shrink();
    assert!(receiver.memory() < 1_000);
}

#[test]
fn repair_symbols_that_contradict_each_other_are_dropped() {
    let block = encode(&plan(ErasureCode::ReedSolomon, 20, 4), 20);
    let mut receiver = Paying::new(1 << 20);
    assert!(receiver.on_repair(&frame(&block[0]), |_| true).is_empty());
    let mut other = SourceRangeList::default();
    (0..20).for_each(|at| assert!(other.push(SourceRange { offset: at * LENGTH + 1, ..source(0) })));
    let other = other.encode();
    let contradiction = RepairFrame { sources: other.as_ranges(), ..frame(&block[1]) };
    assert!(receiver.on_repair(&contradiction, |_| true).is_empty());
    let other_code = RepairFrame { code: RepairCode::RandomLinear, ..frame(&block[2]) };
    assert!(receiver.on_repair(&other_code, |_| true).is_empty());
    assert_eq!(receiver.counts().dropped, 2);
    // A symbol that is not what it says: longer than its sources, with something behind them.
    let mut receiver = Paying::new(1 << 20);
    for at in 1..20 {
        receiver.on_data(STREAM, at * LENGTH, &content(at));
    }
    let long = [&block[0].symbol[..], &[1]].concat();
    let lie = RepairFrame { symbol: &long, ..frame(&block[0]) };
    assert!(receiver.on_repair(&lie, |source| source.offset == 0).is_empty());
    assert!(!receiver.has_recovered());
}

fn sources(code: ErasureCode, count: u64) -> Sources {
    let mut sources = Sources::default();
    let block = Block::new(7, subject(), &plan(code, 20, 4));
    sources.begin(Time::ZERO, 7, &block);
    (0..count).for_each(|at| sources.add(Time::ZERO, 7, at, range(at)));
    sources
}

fn released(sources: &mut Sources) -> Vec<u64> {
    let mut all: Vec<u64> =
        std::iter::from_fn(|| sources.take_released()).map(|range| range.offset / LENGTH).collect();
    all.sort_unstable();
    all
}

const PATIENCE: Duration = Duration::from_millis(50);

#[test]
fn what_may_come_back_is_held_until_word_of_it_should_have_come() {
    let mut sources = sources(ErasureCode::ReedSolomon, 20);
    let at = Time::from_millis;
    sources.complete(at(5), 7, 4);
    sources.on_repair_sent(at(6), 7, 0, PATIENCE);
    assert!(!sources.on_lost(at(30), &range(50), PATIENCE, true), "not protected");
    for lost in [3, 4] {
        assert!(sources.on_lost(at(30), &range(lost), PATIENCE, true));
    }
    assert_eq!(sources.deadline(), Some(at(56)));
    let mut told = Vec::new();
    sources.on_recovered(at(40), 7, [4, 4, 9, 99].into_iter(), |range| told.push(range.offset / LENGTH));
    assert_eq!(told, [4, 9], "each once, and also what was not known to be lost");
    sources.on_recovered(at(40), 8, [4].into_iter(), |_| panic!("there is no such block"));
    sources.on_timeout(at(55));
    assert!(released(&mut sources).is_empty());
    sources.on_timeout(at(56));
    assert_eq!(released(&mut sources), [3]);
    assert_eq!(sources.deadline(), None);
    assert!(!sources.on_lost(at(70), &range(5), PATIENCE, true), "too late for word to come");
    (0..20).for_each(|at| sources.on_acked(Time::ZERO, &range(at)));
    let report = sources.take_report().unwrap();
    let figures = (report.source_symbols, report.repair_symbols, report.lost, report.recovered);
    assert_eq!(figures, (20, 1, 2, 2));
    assert!(sources.take_report().is_none());
}

/// A copy may be cut where its packet ends: that its first bytes arrived says nothing of the others.
#[test]
fn a_shorter_transmission_that_arrives_does_not_settle_what_is_held() {
    let mut sources = sources(ErasureCode::ReedSolomon, 20);
    let at = Time::from_millis;
    sources.complete(at(5), 7, 4);
    sources.on_repair_sent(at(6), 7, 0, PATIENCE);
    assert!(sources.on_lost(at(30), &range(3), PATIENCE, true));
    sources.on_acked(at(40), &SentStream { length: 1, copy: true, ..range(3) });
    sources.on_timeout(at(56));
    assert_eq!(released(&mut sources), [3]);
}

#[test]
fn more_losses_than_repair_symbols_are_not_waited_for() {
    let mut sources = sources(ErasureCode::ReedSolomon, 20);
    let now = Time::from_millis(5);
    sources.complete(now, 7, 2);
    assert!(
        sources.on_lost(now, &range(1), PATIENCE, true) && sources.on_lost(now, &range(2), PATIENCE, true)
    );
    assert!(released(&mut sources).is_empty());
    assert!(sources.on_lost(now, &range(3), PATIENCE, true));
    assert_eq!(released(&mut sources), [1, 2, 3]);
    assert!(sources.on_lost(now, &range(4), PATIENCE, true));
    sources.on_repair_lost(now, 7);
    assert!(released(&mut sources).is_empty());
    sources.on_repair_lost(now, 7);
    assert_eq!(released(&mut sources), [4]);
    assert!(
        sources.wants_repair(7, 0, 20) && !sources.wants_repair(7, 1, 4) && !sources.wants_repair(9, 0, 20)
    );
}

#[test]
fn the_oldest_blocks_give_way() {
    let mut sources = Sources::default();
    for number in 0..1_000 {
        let block = Block::new(number, subject(), &plan(ErasureCode::ReedSolomon, 64, 4));
        sources.begin(Time::ZERO, number, &block);
        (0..64).for_each(|at| sources.add(Time::ZERO, number, at, range(number * 64 + at)));
        sources.complete(Time::ZERO, number, 4);
        let lost = sources.on_lost(Time::from_millis(1), &range(number * 64), PATIENCE, true);
        assert!(lost);
        assert!(sources.memory() < 200 * MAX_SOURCES as u64, "{}", sources.memory());
    }
    let released = released(&mut sources);
    assert!(released.len() > 800 && released[0] == 0, "what is forgotten is retransmitted");
}

/// Of a large flight nothing is left when it has arrived and the connection falls silent: neither of blocks that ended nor of
/// a window that slides, which ends with no block. Ranges that arrived in other pieces than they left in are known to have arrived
/// when nothing is in flight.
#[test]
fn what_is_kept_of_a_large_flight_goes_with_it() {
    const COUNT: u64 = 4_000;
    let codes = [ErasureCode::ReedSolomon, ErasureCode::RandomLinear];
    for (code, in_pieces) in codes.into_iter().flat_map(|code| [(code, false), (code, true)]) {
        let mut repair = Repair::new(Some(1 << 20));
        repair.set_peer_support(true);
        assert!(repair.set_protected(true).is_none());
        let sender = repair.sender.as_mut().unwrap();
        for at in 0..COUNT {
            if sender.must_ask(&subject()) {
                sender.on_answer(Time::ZERO, subject(), Some(&plan(code, 20, 4)), None);
            }
            sender.protect(Time::ZERO, &subject(), &range(at), 1_200, |out| {
                *out = content(at);
                true
            });
        }
        assert!(sender.has_queued());
        let length = if in_pieces { range(0).length / 2 } else { range(0).length };
        (0..COUNT).for_each(|at| sender.on_acked(Time::ZERO, &SentStream { length, ..range(at) }));
        assert!(repair.memory() > 100_000, "{code:?}: {}", repair.memory());
        repair.shrink(Time::from_secs(1), in_pieces);
        assert!(repair.memory() < 1_000, "{code:?}: {}", repair.memory());
        // What follows is protected as before.
        let sender = repair.sender.as_mut().unwrap();
        assert!(!sender.has_queued() && sender.must_ask(&subject()));
    }
}

/// A window that slides has no end: after as many source symbols as it has the policy is asked again, and the rate changes
/// without a gap. What every repair symbol brings back shows that none names what it does not combine.
#[test]
fn a_sliding_window_goes_on_at_the_rate_of_the_next_answer() {
    let mut repair = Repair::new(Some(1 << 20));
    repair.set_peer_support(true);
    assert!(repair.set_protected(true).is_none());
    let sender = repair.sender.as_mut().unwrap();
    let plans =
        [(20, 1), (20, 4), (10, 1)].map(|(sources, rate)| plan(ErasureCode::RandomLinear, sources, rate));
    let (mut answers, mut asked, mut due) = (plans.iter(), Vec::new(), Vec::new());
    for at in 0..50 {
        if sender.must_ask(&subject()) {
            asked.push(at);
            sender.on_answer(Time::ZERO, subject(), answers.next(), None);
        }
        let before = sender.queued().count();
        sender.protect(Time::ZERO, &subject(), &range(at), 1_200, |out| {
            *out = content(at);
            true
        });
        due.extend((before < sender.queued().count()).then_some(at + 1));
    }
    // Twenty at one for twenty, twenty at one for five, then one for ten; at last nothing.
    assert_eq!(asked, [0, 20, 40]);
    assert_eq!(due, [20, 25, 30, 35, 40, 50]);
    let queued: Vec<Queued> = sender.queued().cloned().collect();
    assert!(queued.windows(2).all(|pair| pair[0].block == pair[1].block && pair[0].index != pair[1].index));
    let arrived: Vec<u64> = (0..50).filter(|at| ![3, 22, 29, 33, 38, 45].contains(at)).collect();
    assert_eq!(decode(&queued, &arrived, 50), [3, 22, 29, 33, 38, 45]);
    assert!(sender.must_ask(&subject()));
    sender.on_answer(Time::ZERO, subject(), None, None);
    assert!(!sender.must_ask(&subject()), "not before sixteen packets");
}

/// Of a window that slides what was lost is held for the last repair symbol that combines it, and no longer: those that follow begin
/// behind it. With more losses than repair symbols once it has come to its end, nothing is held.
#[test]
fn a_window_that_has_passed_holds_nothing_back() {
    let at = Time::from_millis;
    let mut sources = sources(ErasureCode::RandomLinear, 40);
    sources.on_repair_sent(at(6), 7, 0, PATIENCE);
    sources.on_repair_sent(at(10), 7, 20, PATIENCE);
    assert!(sources.on_lost(at(30), &range(3), PATIENCE, false));
    assert_eq!(sources.deadline(), Some(at(56)), "the first repair symbol combines it");
    assert!(sources.on_lost(at(30), &range(23), PATIENCE, true));
    assert_eq!(sources.deadline(), Some(at(56)), "another one follows, and this waits for that");
    assert!(!sources.on_lost(at(70), &range(4), PATIENCE, false), "word of it should have come");
    sources.on_repair_sent(at(40), 7, 20, PATIENCE);
    sources.on_timeout(at(56));
    assert_eq!(released(&mut sources), [3]);
    sources.on_timeout(at(90));
    assert_eq!(released(&mut sources), [23], "from the last one on as long as an answer takes");
    // Four repair symbols were given out in all, and one of them got lost.
    sources.on_repair_lost(at(90), 7);
    sources.complete(at(90), 7, 4);
    assert!(sources.on_lost(at(91), &range(30), PATIENCE, true));
    assert!(released(&mut sources).is_empty());
    assert!(sources.on_lost(at(91), &range(31), PATIENCE, true));
    assert_eq!(released(&mut sources), [30, 31]);
}

/// Frames that refer to few streams, blocks and numbers, so that they meet.
fn any_repair() -> impl Strategy<Value = Vec<u8>> {
    let run = (0..4_u64, 0..3_000_u64, 1..200_u64, 1..20_u64, any::<bool>());
    let runs = proptest::collection::vec(run, 1..4);
    let code =
        prop_oneof![Just(RepairCode::Xor), Just(RepairCode::ReedSolomon), Just(RepairCode::RandomLinear)];
    (0..6_u64, code, 0..40_u64, 0..40_u32, runs, proptest::collection::vec(any::<u8>(), 200..400)).prop_map(
        |(block, code, first, index, runs, symbol)| {
            let mut list = SourceRangeList::default();
            for (stream, start, length, count, fin) in runs {
                for at in 0..count {
                    let fin = fin && at + 1 == count;
                    list.push(SourceRange {
                        stream_id: stream * 4 + 2,
                        offset: start + at * length,
                        length,
                        fin,
                    });
                }
            }
            let sources = list.encode();
            let frame = Frame::Repair(RepairFrame {
                block,
                code,
                first,
                index,
                sources: sources.as_ranges(),
                symbol: &symbol,
            });
            let mut bytes = vec![0; frame.encoded_len()];
            frame.encode(&mut hawser_wire::Writer::new(&mut bytes)).unwrap();
            bytes
        },
    )
}

/// What a policy says of one stream on one path says nothing of packets on another path, and little of the next stream: only a
/// path of which nothing is protected for a while has packets that are too large for repair symbols.
#[test]
fn packets_stay_small_enough_on_paths_that_may_be_protected() {
    let mut sender = Sender::default();
    let plan = plan(ErasureCode::ReedSolomon, 20, 4);
    let answer = |sender: &mut Sender, path, stream, is_on: bool| {
        let subject = Subject { path: PathId(path), stream: StreamId(stream), frame: None };
        sender.on_answer(Time::ZERO, subject, is_on.then_some(&plan), None);
    };
    assert!(sender.limits_packets(PathId(0)), "nobody was asked yet");
    for stream in 0..u64::from(DECLINED) {
        assert!(sender.limits_packets(PathId(1)), "{stream}");
        answer(&mut sender, 0, stream, true);
        answer(&mut sender, 1, stream, false);
    }
    assert!(sender.limits_packets(PathId(0)) && !sender.limits_packets(PathId(1)));
    answer(&mut sender, 1, 99, true);
    assert!(sender.limits_packets(PathId(1)));
}

/// Two paths take turns with the packets of a stream: a block still has more than a handful of source symbols, or rounding up
/// its repair symbols would cost far more than what was asked for.
#[test]
fn a_block_of_a_stream_that_two_paths_share_is_no_fragment() {
    let mut block = Block::new(7, subject(), &plan(ErasureCode::ReedSolomon, 60, 18));
    let range = |at: u64| SourceRange {
        stream_id: 16_003,
        offset: (1 << 20) + at * 1_300,
        length: 1_300,
        fin: false,
    };
    // Every other one.
    let count = (0..60).take_while(|at| {
        let range = range(2 * at);
        let has_room = block.has_room(&range);
        if has_room {
            block.add(Time::ZERO, range, &[1; 1_300]);
        }
        has_room
    });
    assert_eq!(count.count(), 11);
    assert_eq!(block.take_rest().len(), 4);
}

/// A stream of which two paths carry data: its end on one of them is its end.
#[test]
fn the_end_of_a_stream_ends_its_blocks_on_all_paths() {
    let mut sender = Sender::default();
    let plan = plan(ErasureCode::ReedSolomon, 20, 4);
    for path in 0..2 {
        let subject = Subject { path: PathId(path), ..subject() };
        sender.on_answer(Time::ZERO, subject, Some(&plan), None);
        for at in 0..3 {
            let range = range(u64::from(path) * 3 + at);
            sender.protect(Time::ZERO, &subject, &range, 1_000, |out| {
                out.resize(LENGTH as usize, 1);
                true
            });
        }
    }
    assert!(!sender.has_queued());
    sender.end_stream(Time::ZERO, StreamId(6));
    assert!(!sender.has_queued(), "another stream");
    sender.end_stream(Time::ZERO, STREAM);
    assert_eq!(sender.unplaced(), 2 * LENGTH, "one symbol for three of twenty, on either path");
}

/// Across paths the packets of both are of one block, about which is asked once: its repair symbols make good what either loses.
#[test]
fn a_block_across_paths_takes_the_data_of_all() {
    let mut sender = Sender::default();
    let plan = plan(ErasureCode::ReedSolomon, 6, 2).with(|protection| protection.across_paths = true);
    let subjects = [0, 1].map(|path| Subject { path: PathId(path), ..subject() });
    // Nothing of path 1 was protected for a while.
    (0..u64::from(DECLINED)).for_each(|stream| {
        let other = Subject { stream: StreamId(100 + 4 * stream), ..subjects[1] };
        sender.on_answer(Time::ZERO, other, None, None);
    });
    assert!(sender.must_ask(&subjects[0]));
    sender.on_answer(Time::ZERO, subjects[0], Some(&plan), None);
    assert!(!sender.must_ask(&subjects[1]) && sender.limits_packets(PathId(1)));
    for at in 0..6 {
        assert!(!sender.has_queued(), "{at}");
        sender.protect(Time::ZERO, &subjects[at as usize % 2], &range(at), 1_000, |out| {
            *out = content(at);
            true
        });
    }
    assert_eq!(sender.unplaced(), 2 * LENGTH);
    let mut buffer = [0; 1_000];
    let mut frames = SentFrames::default();
    let mut w = hawser_wire::Writer::new(&mut buffer);
    for _ in 0..2 {
        assert!(sender.write_repair(Time::ZERO, PathId(1), |_| true, PATIENCE, &mut w, &mut frames));
    }
    let written = w.position();
    // One packet of each path is lost.
    let mut receiver = Paying::new(1 << 20);
    (1..5).for_each(|at| {
        receiver.on_data(STREAM, at * LENGTH, &content(at));
    });
    let mut recovered = Vec::new();
    for frame in FrameIter::new(&buffer[..written]) {
        let Ok(Frame::Repair(repair)) = frame else { panic!("{frame:?}") };
        let lacks = |source: &SourceRange| source.offset == 0 || source.offset == 5 * LENGTH;
        let delivered = receiver.on_repair(&repair, lacks);
        recovered.extend(delivered.into_iter().map(|it| (it.source.offset / LENGTH, it.bytes)));
    }
    recovered.sort();
    assert_eq!(recovered, [(0, content(0)), (5, content(5))]);
    // The next frame of the application ends it, on whatever path.
    sender.on_answer(Time::ZERO, subjects[0], Some(&plan), None);
    sender.protect(Time::ZERO, &subjects[0], &range(6), 1_000, |out| {
        *out = content(6);
        true
    });
    let next = Subject { frame: Some(2), ..subjects[1] };
    sender.on_answer(Time::ZERO, next, Some(&plan), None);
    assert_eq!(sender.unplaced(), LENGTH);
}

/// A frame with a deadline has no time to find out that its repair symbols failed: what was lost is retransmitted at once, and
/// what the peer brings back meanwhile counts all the same.
#[test]
fn data_with_a_deadline_is_not_held_back() {
    for (expires, is_held) in [(None, true), (Some(Time::from_millis(150)), false)] {
        let mut sources = Sources::default();
        let mut block = Block::new(7, subject(), &plan(ErasureCode::ReedSolomon, 20, 4));
        block.expires = expires;
        sources.begin(Time::ZERO, 7, &block);
        (0..4).for_each(|at| sources.add(Time::ZERO, 7, at, range(at)));
        sources.complete(Time::ZERO, 7, 1);
        assert_eq!(sources.on_lost(Time::from_millis(50), &range(1), PATIENCE, true), is_held);
        assert!(sources.wants_repair(7, 0, 4));
        let mut recovered = Vec::new();
        sources.on_recovered(Time::from_millis(60), 7, [1].into_iter(), |range| recovered.push(range.offset));
        assert_eq!(recovered, [LENGTH]);
        // What nothing is heard of is forgotten in time, and retransmitted once.
        assert_eq!(sources.on_lost(Time::from_millis(70), &range(2), PATIENCE, true), is_held);
        (0..4).for_each(|at| {
            if at != 2 {
                sources.on_acked(Time::from_millis(80), &range(at))
            }
        });
        sources.on_timeout(Time::from_secs(1));
        assert_eq!(released(&mut sources), if is_held { vec![2] } else { vec![] });
        assert!(!sources.wants_repair(7, 0, 4));
    }
}

/// Repair symbols of data that nobody waits for any more do not take the window of what comes next.
#[test]
fn repair_symbols_expire_with_their_data() {
    let expires = Time::from_millis(150);
    for (now, is_sent) in [(Time::from_millis(149), true), (expires, false)] {
        let mut sender = Sender::default();
        let plan = plan(ErasureCode::ReedSolomon, 20, 4);
        sender.on_answer(Time::ZERO, subject(), Some(&plan), Some(expires));
        sender.protect(Time::ZERO, &subject(), &range(0), 1_000, |out| {
            out.resize(LENGTH as usize, 1);
            true
        });
        sender.end_stream(Time::ZERO, STREAM);
        assert!(sender.has_queued());
        let path = sender.next_path(now, false, |_| true, |_| true, || None);
        assert_eq!((path.is_some(), sender.has_queued()), (is_sent, is_sent));
    }
}

/// Frames of 16 bytes that name 64 bytes of a stream of which every other byte is there: each block keeps 32 of them, and
/// each new one used to have all of them looked at again.
#[test]
fn smallest_repair_frames_cost_no_more_than_their_bytes_pay_for() {
    let mut receiver = Paying::new(1 << 20);
    for at in 0..24 {
        receiver.on_data(STREAM, 2 * at + 1, b"z");
    }
    let mut list = SourceRangeList::default();
    (0..64).for_each(|at| assert!(list.push(SourceRange { offset: at, length: 1, ..source(0) })));
    let list = list.encode();
    let (mut asked, mut bytes) = (0_u64, 0_u64);
    for at in 0..20_000 {
        let sources = list.as_ranges();
        let code = RepairCode::ReedSolomon;
        let frame = RepairFrame { block: 1, code, first: 0, index: at % 190, sources, symbol: b"x" };
        bytes += (frame.symbol.len() + sources.encoded_len()) as u64;
        if receiver.admit(&frame) {
            let lacks = |_: &SourceRange| {
                asked += 1;
                true
            };
            assert!(receiver.on_repair(&frame, lacks).is_empty());
        }
    }
    let counts = receiver.counts();
    assert!(receiver.work.spent() <= MOST + bytes * PER_BYTE, "{counts:?} for {bytes} bytes");
    assert!(asked <= bytes, "streams were asked {asked} times for {bytes} bytes");
    assert!(counts.dropped > 15_000, "{counts:?}");
    // An honest block that follows is served as soon as its own bytes have paid.
    let block = encode(&plan(ErasureCode::ReedSolomon, 20, 4), 20);
    for at in 1..20 {
        receiver.on_data(STREAM, 1_000_000 + at * LENGTH, &content(at));
    }
    assert!(receiver.admit(&frame(&block[0])));
}

/// Stream frames of one byte while 32 blocks wait: they cost what they pay for, too.
#[test]
fn stream_frames_of_a_byte_do_not_walk_all_that_waits_for_nothing() {
    let mut receiver = Paying::new(1 << 20);
    let block = encode(&plan(ErasureCode::ReedSolomon, 64, 20), 64);
    for at in 0..MAX_BLOCKS as u64 {
        for queued in &block {
            let frame = RepairFrame { block: at, ..frame(queued) };
            if receiver.admit(&frame) {
                receiver.on_repair(&frame, |_| true);
            }
        }
    }
    let before = receiver.work.spent();
    for at in 0..10_000 {
        receiver.on_data(StreamId(6), 2 * at, b"z");
    }
    let spent = receiver.work.spent() - before;
    assert!(spent <= MOST + 10_000 * PER_BYTE, "{spent} units for 10,000 bytes");
}

proptest! {
    /// Whatever comes: no panic, memory and work within their bounds, and what is delivered is what a frame named.
    #[test]
    fn anything_may_come(
        steps in proptest::collection::vec(
            prop_oneof![
                3 => any_repair().prop_map(Ok),
                2 => (0..4_u64, 0..3_000_u64, 1..400_usize).prop_map(Err),
            ],
            1..120,
        ),
    ) {
        const BUFFER: usize = 20_000;
        let mut receiver = Paying::new(BUFFER);
        let mut paid = 0_u64;
        for step in steps {
            let delivered = match step {
                Ok(bytes) => {
                    let Some(Ok(Frame::Repair(frame))) = FrameIter::new(&bytes).next() else { unreachable!() };
                    paid += bytes.len() as u64 * PER_BYTE;
                    match receiver.admit(&frame) {
                        true => receiver.on_repair(&frame, |source| source.offset % 3 != 0),
                        false => Vec::new(),
                    }
                }
                Err((stream, offset, length)) => {
                    let id = StreamId(stream * 4 + 2);
                    paid += length as u64 * PER_BYTE;
                    match receiver.on_data(id, offset, &vec![3; length]) {
                        true => receiver.retry(id, offset, length, |source| source.offset % 3 != 0),
                        false => Vec::new(),
                    }
                }
            };
            for Delivered { source, bytes } in delivered {
                prop_assert_eq!(bytes.len() as u64, source.length);
            }
            prop_assert!(receiver.memory() <= (BUFFER + MAX_WAITING + MAX_BLOCKS * 4_096) as u64);
            prop_assert!(receiver.work.spent() <= MOST / 8 + paid);
        }
    }
}
