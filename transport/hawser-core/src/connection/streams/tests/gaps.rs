//! Random transfers of frames that may be given up, over a network that loses, delays, reorders and duplicates: every byte
//! is delivered intact or reported as a gap, bytes that must arrive do, and nothing is left over.

mod op;

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;
use hawser_policy::{FrameInfo, PathId, Reliability, StreamId, Time};
use proptest::prelude::*;

use self::op::{Op, Place, op};
use super::super::{Chunk, ReadError, ReadOutcome, Streams};
use super::named::build_range;
use super::pair::{Packet, acked, build_copy, build_on, check, lost, pair, receive, small_config};
use super::transfer::{nth, pattern};
use crate::connection::frames::SentFrame;

/// A byte that was written, by the test's own account.
#[derive(Clone, Copy, Debug, Default)]
struct Byte {
    /// It need not arrive.
    expendable: bool,
    /// It need not be sent again.
    once: bool,
    /// It may not be sent any more.
    gone: bool,
    /// The only path that may send it.
    owner: Option<PathId>,
    /// The application's number for its frame.
    frame: Option<u64>,
    /// When its frame expires, if by itself.
    deadline: Option<Time>,
}

#[derive(Debug, Default)]
struct Half {
    bytes: Vec<Byte>,
    /// Of bytes outside of frames.
    expendable: bool,
    read: u64,
    missed: u64,
    finished: bool,
    reset: Option<u64>,
    stopped: bool,
    ended: bool,
}

impl Half {
    fn range(&self, place: Place) -> Range<u64> {
        let at = |part: u8| self.bytes.len() as u64 * u64::from(part) / 240;
        at(place.0.min(place.1))..at(place.0.max(place.1))
    }

    fn bytes_in(&mut self, range: &Range<u64>) -> impl Iterator<Item = &mut Byte> {
        let end = (range.end as usize).min(self.bytes.len());
        let start = (range.start as usize).min(end);
        self.bytes[start..end].iter_mut()
    }
}

struct World {
    ends: [Streams; 2],
    packets: [Vec<Packet>; 2],
    stray: [Vec<Packet>; 2],
    halves: BTreeMap<(usize, StreamId), Half>,
    next_frame: u64,
    now: Time,
    /// Whether both ends know STREAM_SKIP.
    skips: bool,
}

impl World {
    fn new(skips: bool) -> Self {
        let mut ends = pair(&small_config());
        ends.iter_mut().for_each(|streams| streams.set_skip_supported(skips));
        World {
            ends,
            packets: Default::default(),
            stray: Default::default(),
            halves: BTreeMap::new(),
            next_frame: 0,
            now: Time::ZERO + Duration::from_secs(1),
            skips,
        }
    }

    fn half(&self, pick: usize) -> Option<(usize, StreamId)> {
        let keys: Vec<_> = self.halves.keys().copied().collect();
        nth(&keys, pick).copied()
    }

    fn knows(&self, end: usize, id: StreamId) -> bool {
        let streams = &self.ends[end];
        streams.is_local(id) || streams.peer[usize::from(id.is_bidirectional())].is_open(id.index())
    }

    fn run(&mut self, op: &Op, end: usize) {
        match *op {
            Op::Open { bidirectional } => {
                if let Some(id) = self.ends[end].open(bidirectional) {
                    self.halves.insert((end, id), Half::default());
                    if bidirectional {
                        self.halves.insert((1 - end, id), Half::default());
                    }
                }
            }
            Op::Send { path, room, skip } => {
                let packet = build_on(&mut self.ends[end], PathId(path), room, skip);
                self.sent(end, packet.map(|(packet, _)| packet), Some(PathId(path)));
            }
            Op::Copy { pick } => {
                if let Some(original) = nth(&self.packets[end], pick).cloned() {
                    let copy = build_copy(&mut self.ends[end], 1_200, &original);
                    self.sent(end, copy, None);
                }
            }
            Op::Deliver { pick } => self.deliver(end, pick),
            Op::Ack { pick } => self.acknowledge(end, pick),
            Op::Lose { pick } => {
                if !self.packets[end].is_empty() {
                    let index = pick % self.packets[end].len();
                    let packet = self.packets[end].swap_remove(index);
                    lost(&mut self.ends[end], &packet);
                    self.stray[end].push(packet);
                }
            }
            Op::PathGone { path } => {
                self.ends[end].unassign_path(PathId(path));
                let own = self.halves.iter_mut().filter(|((sender, _), _)| *sender == end);
                own.flat_map(|(_, half)| &mut half.bytes)
                    .filter(|byte| byte.owner == Some(PathId(path)))
                    .for_each(|byte| byte.owner = None);
            }
            Op::Wait { millis } => {
                self.now += Duration::from_millis(millis);
                self.expire();
            }
            ref op => self.run_on_half(op),
        }
    }

    fn run_on_half(&mut self, op: &Op) {
        let (&Op::Write { pick, .. }
        | &Op::Frame { pick, .. }
        | &Op::Declare { pick, .. }
        | &Op::Discard { pick, .. }
        | &Op::DoNotRetransmit { pick, .. }
        | &Op::Cancel { pick, .. }
        | &Op::Prolong { pick, .. }
        | &Op::Assign { pick, .. }
        | &Op::Unassign { pick, .. }
        | &Op::Finish { pick }
        | &Op::Reset { pick, .. }
        | &Op::Stop { pick }
        | &Op::Read { pick, .. }
        | &Op::SendRange { pick, .. }) = op
        else {
            unreachable!("not about a half: {op:?}")
        };
        let Some((sender, id)) = self.half(pick) else { return };
        let knows = self.knows(sender, id);
        let half = self.halves.get_mut(&(sender, id)).expect("known");
        let streams = &mut self.ends[sender];
        match *op {
            Op::Write { length, .. } if knows => self.write(sender, id, length, None),
            Op::Frame { length, reliability, lifetime, .. } if knows => {
                self.next_frame += 1;
                let deadline = lifetime.map(|millis| self.now + Duration::from_millis(millis));
                let id_in_app = self.next_frame;
                let info = FrameInfo::default().with(|frame| {
                    frame.id = id_in_app;
                    frame.deadline = deadline;
                    frame.reliability = reliability;
                });
                self.write(sender, id, length, Some(&info));
            }
            Op::Declare { reliability, .. } if knows => {
                let declared = streams.set_reliability(id, reliability);
                if declared.is_ok() {
                    half.expendable = reliability != Reliability::Reliable;
                    let free = half.bytes.iter_mut().filter(|byte| byte.frame.is_none());
                    // Those given up before stay so.
                    free.for_each(|byte| byte.expendable = half.expendable || byte.gone || byte.once);
                }
            }
            Op::Discard { place, .. } => {
                let range = half.range(place);
                streams.discard(id, range.clone());
                if self.skips {
                    // What is to be sent once may go missing, but may be given up only as long as its stream says so.
                    let declared = half.expendable;
                    let may_go = |byte: &&mut Byte| byte.expendable && (byte.frame.is_some() || declared);
                    half.bytes_in(&range).filter(may_go).for_each(|byte| byte.gone = true);
                }
            }
            Op::DoNotRetransmit { place, .. } => {
                let range = half.range(place);
                streams.do_not_retransmit(id, range.clone());
                let declared = half.expendable;
                let may_go = |byte: &&mut Byte| byte.expendable && (byte.frame.is_some() || declared);
                half.bytes_in(&range).filter(may_go).for_each(|byte| byte.once = true);
            }
            Op::Cancel { frame, .. } => {
                let cancelled = streams.cancel_frame(id, frame);
                if cancelled.is_ok() {
                    assert!(self.skips);
                    let own = half.bytes.iter_mut().filter(|byte| byte.frame == Some(frame));
                    own.for_each(|byte| (byte.gone, byte.expendable) = (true, true));
                }
            }
            Op::Prolong { frame, lifetime, .. } => {
                let deadline = lifetime.map(|millis| self.now + Duration::from_millis(millis));
                if streams.set_frame_deadline(id, frame, deadline).is_ok() {
                    let own = half.bytes.iter_mut().filter(|byte| byte.frame == Some(frame));
                    own.filter(|byte| byte.deadline.is_some()).for_each(|byte| byte.deadline = deadline);
                }
            }
            Op::Assign { place, path, .. } => {
                let range = half.range(place);
                let applied = streams.assign(id, range.clone(), PathId(path));
                if applied {
                    half.bytes_in(&range).for_each(|byte| byte.owner = Some(PathId(path)));
                }
            }
            Op::Unassign { place, .. } => {
                let range = half.range(place);
                streams.unassign(id, range.clone());
                half.bytes_in(&range).for_each(|byte| byte.owner = None);
            }
            Op::Finish { .. } => self.finish(sender, id),
            Op::Reset { reliable, .. } if knows => {
                let size = reliable.map(|place| half.range(place).end);
                let done = match size {
                    None => streams.reset(id, 66).is_ok(),
                    Some(size) => streams.reset_at(id, 66, size).is_ok(),
                };
                if done {
                    half.reset = Some(size.unwrap_or(0));
                }
            }
            Op::Stop { .. } => half.stopped |= self.ends[1 - sender].stop(id, 77).is_ok(),
            Op::Read { max, how, .. } => self.read(sender, id, max, how),
            Op::SendRange { place, path, .. } => {
                let range = half.range(place);
                let packet = build_range(streams, PathId(path), 1_200, id, range.start, range.end).0;
                let packet = (!packet.frames.is_empty()).then_some(packet);
                self.sent(sender, packet, Some(PathId(path)));
            }
            _ => {}
        }
    }

    fn write(&mut self, sender: usize, id: StreamId, length: usize, info: Option<&FrameInfo>) {
        let half = self.halves.get_mut(&(sender, id)).expect("known");
        let start = half.bytes.len() as u64;
        let data: Bytes = (start..start + length as u64).map(|offset| pattern(sender, id, offset)).collect();
        let result = match info {
            None => self.ends[sender].write_bytes(id, data),
            Some(info) => self.ends[sender].write_frame(id, info, data),
        };
        let Ok(count) = result else {
            assert_ne!(result, Ok(0));
            return;
        };
        assert!(!half.finished && half.reset.is_none());
        let expires = info.filter(|info| info.reliability == Reliability::UntilDeadline);
        let byte = Byte {
            expendable: info.map_or(half.expendable, |info| info.reliability != Reliability::Reliable),
            frame: info.map(|info| info.id),
            deadline: expires.and_then(|info| info.deadline),
            ..Byte::default()
        };
        half.bytes.resize(half.bytes.len() + count, byte);
    }

    fn expire(&mut self) {
        self.ends.iter_mut().for_each(|streams| streams.expire(self.now));
        if !self.skips {
            return;
        }
        let now = self.now;
        let bytes = self.halves.values_mut().flat_map(|half| &mut half.bytes);
        bytes
            .filter(|byte| byte.deadline.is_some_and(|deadline| deadline <= now))
            .for_each(|byte| byte.gone = true);
    }

    /// A packet was built: nothing is in it that may not be.
    fn sent(&mut self, end: usize, packet: Option<Packet>, path: Option<PathId>) {
        let Some(packet) = packet else { return };
        for frame in &packet.frames {
            match frame {
                SentFrame::Stream(range) => {
                    let half = self.halves.get_mut(&(end, range.id)).expect("known");
                    for byte in half.bytes_in(&(range.offset..range.end())) {
                        assert!(!byte.gone, "given up, and sent: {range:?}");
                        let allowed = range.copy || byte.owner.is_none() || byte.owner == path;
                        assert!(allowed, "{range:?} on {path:?}, given to {:?}", byte.owner);
                    }
                }
                SentFrame::StreamSkip(skip) => {
                    let half = self.halves.get_mut(&(end, skip.id)).expect("known");
                    assert!(self.skips && half.bytes_in(&skip.range).all(|byte| byte.expendable), "{skip:?}");
                }
                _ => {}
            }
        }
        self.packets[end].push(packet);
    }

    fn deliver(&mut self, end: usize, pick: usize) {
        let all = self.packets[end].len() + self.stray[end].len();
        if all == 0 {
            return;
        }
        let index = pick % all;
        let packet = match index.checked_sub(self.packets[end].len()) {
            None => &mut self.packets[end][index],
            Some(index) => &mut self.stray[end][index],
        };
        packet.delivered = true;
        receive(&mut self.ends[1 - end], &packet.payload).expect("the peer keeps to the rules");
    }

    fn acknowledge(&mut self, end: usize, pick: usize) {
        for list in [&mut self.packets[end], &mut self.stray[end]] {
            let delivered: Vec<usize> = (0..list.len()).filter(|&index| list[index].delivered).collect();
            if let Some(&index) = nth(&delivered, pick) {
                let packet = list.swap_remove(index);
                acked(&mut self.ends[end], &packet);
            }
        }
    }

    fn finish(&mut self, sender: usize, id: StreamId) {
        if self.knows(sender, id) && self.ends[sender].finish(id).is_ok() {
            let half = self.halves.get_mut(&(sender, id)).expect("known");
            assert!(!half.finished && half.reset.is_none(), "a stream ends once");
            half.finished = true;
        }
    }

    fn read(&mut self, sender: usize, id: StreamId, max: usize, how: u8) {
        let half = self.halves.get_mut(&(sender, id)).expect("known");
        let streams = &mut self.ends[1 - sender];
        let missing = streams.missing(id);
        assert!(missing.iter().all(|range| range.start >= half.read && !range.is_empty()), "{missing:?}");
        if how < 16
            && streams.pass_missing(id).is_ok_and(|gap| gap == missing.first().cloned() && gap.is_some())
        {
            let gap = missing[0].clone();
            assert_eq!(gap.start, half.read);
            half.read = gap.end;
            half.missed += gap.end - gap.start;
            return;
        }
        let chunk =
            if how < 64 { ordinary_read(streams, id, half.read, max) } else { streams.next_chunk(id, max) };
        match chunk {
            Ok(Chunk::Data { offset, bytes }) => {
                assert!(!half.ended && !half.stopped && offset == half.read);
                for byte in bytes {
                    assert_eq!(byte, pattern(sender, id, half.read), "{id} from {sender} at {}", half.read);
                    half.read += 1;
                }
                assert!(half.read <= half.bytes.len() as u64);
            }
            Ok(Chunk::Gap { offset, length }) => {
                assert!(self.skips && length > 0 && offset == half.read && !half.ended && !half.stopped);
                half.read += length;
                half.missed += length;
                assert!(
                    half.bytes_in(&(offset..offset + length)).all(|byte| byte.expendable),
                    "needed: {id}"
                );
            }
            Ok(Chunk::End) => {
                assert!(half.finished && half.read == half.bytes.len() as u64, "ended at {}", half.read);
                assert!(!std::mem::replace(&mut half.ended, true));
            }
            Err(ReadError::Reset(code)) => {
                assert!(code == 66 && half.reset.is_some_and(|promised| half.read >= promised));
                assert!(!std::mem::replace(&mut half.ended, true));
            }
            Err(ReadError::Gap { offset, length }) => {
                assert!(how < 64 && offset == half.read && length > 0);
            }
            Err(ReadError::Blocked) => assert!(!half.ended && !half.stopped),
            Err(ReadError::ClosedStream) => {}
        }
    }

    /// Ends every stream, and lets the network work until nothing is left to do.
    fn settle(&mut self) {
        for end in 0..2 {
            self.ends[end].set_send_buffer_limit(20_000, u64::MAX);
            (0..3).for_each(|path| self.run(&Op::PathGone { path }, end));
            for packet in std::mem::take(&mut self.packets[end]) {
                lost(&mut self.ends[end], &packet);
            }
        }
        for round in 0.. {
            assert!(round < 500, "no end in sight");
            for (sender, id) in self.halves.keys().copied().collect::<Vec<_>>() {
                self.finish(sender, id);
                self.ends[sender].stopped(id);
                self.read(sender, id, 5_000, 255);
            }
            let mut quiet = true;
            for end in 0..2 {
                self.ends[end].update_windows(self.now, || (Duration::from_millis(30), u64::MAX));
                while let Some((mut packet, _)) = build_on(&mut self.ends[end], PathId::ZERO, 1_200, 0) {
                    packet.delivered = true;
                    receive(&mut self.ends[1 - end], &packet.payload).expect("accepted");
                    acked(&mut self.ends[end], &packet);
                    quiet = false;
                }
                check(&self.ends[end]);
            }
            if quiet && self.halves.values().all(|half| half.ended || half.stopped) {
                break;
            }
        }
    }

    /// Nothing is left of any stream.
    fn check_empty(&self) {
        for (end, streams) in self.ends.iter().enumerate() {
            assert_eq!(streams.table.len(), 0, "streams left at {end}");
            assert_eq!(streams.totals, Default::default());
            assert_eq!(streams.shared.budget, Default::default());
            assert!(!streams.has_pending_control());
            assert_eq!(streams.queue().total(), 0);
            let sent = streams.credit.limit() - streams.credit.left();
            assert_eq!(sent, self.ends[1 - end].shared.window.received());
            assert!(self.ends[1 - end].shared.window.is_settled());
            let missed: u64 =
                self.halves.iter().filter(|((from, _), _)| *from != end).map(|(_, half)| half.missed).sum();
            assert_eq!(streams.skip_totals().bytes_missed, missed);
        }
    }
}

/// A reader that knows nothing of gaps: it gets what lies before one.
fn ordinary_read(streams: &mut Streams, id: StreamId, offset: u64, max: usize) -> Result<Chunk, ReadError> {
    let mut out = vec![0; max];
    streams.read(id, &mut out).map(|outcome| match outcome {
        ReadOutcome::Data(count) => Chunk::Data { offset, bytes: Bytes::copy_from_slice(&out[..count]) },
        ReadOutcome::Finished => Chunk::End,
    })
}

fn transfer(ops: &[(Op, bool)], skips: bool) {
    let mut world = World::new(skips);
    for (op, server) in ops {
        world.run(op, usize::from(*server));
        world.ends.iter().for_each(check);
    }
    world.settle();
    world.check_empty();
}

proptest! {
    #[test]
    fn bytes_arrive_or_are_gaps(ops in prop::collection::vec((op(), any::<bool>()), 1..250)) {
        transfer(&ops, true);
    }

    #[test]
    fn nothing_is_given_up_to_a_peer_that_would_wait(ops in prop::collection::vec((op(), any::<bool>()), 1..150)) {
        transfer(&ops, false);
    }
}
