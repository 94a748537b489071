//! Random transfers over a network that loses, delays, reorders and duplicates: every byte arrives once, in order.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use hawser_policy::{StreamId, Time};
use proptest::prelude::*;

use super::super::{ReadError, ReadOutcome, Streams, WriteError};
use super::pair::{Packet, acked, build, build_copy, check, lost, pair, receive, small_config};

#[derive(Clone, Debug)]
enum Op {
    Open {
        bidirectional: bool,
    },
    Write {
        pick: usize,
        length: usize,
        shared: bool,
    },
    Finish {
        pick: usize,
    },
    Reset {
        pick: usize,
        reliable: Option<u64>,
    },
    Stop {
        pick: usize,
    },
    Priority {
        pick: usize,
        priority: i32,
    },
    Read {
        pick: usize,
        max: usize,
        chunk: bool,
    },
    Send {
        room: usize,
        skip: u64,
    },
    Copy {
        pick: usize,
        room: usize,
    },
    /// The packet reaches the other end (perhaps again).
    Deliver {
        pick: usize,
    },
    /// The sender learns that a delivered packet arrived.
    Ack {
        pick: usize,
    },
    /// The sender takes the packet for lost, rightly or not; it may still arrive, and be acknowledged late.
    Lose {
        pick: usize,
    },
    Tune {
        millis: u64,
    },
    Buffer {
        limit: u64,
    },
}

fn op(with_resets: bool) -> impl Strategy<Value = Op> {
    let pick = 0..64usize;
    let room = prop_oneof![30..200usize, 1_150..1_300usize];
    let skip = prop_oneof![3 => Just(0u64), 1 => 0..4_000u64];
    prop_oneof![
        2 => any::<bool>().prop_map(|bidirectional| Op::Open { bidirectional }),
        6 => (pick.clone(), 0..3_000usize, any::<bool>())
            .prop_map(|(pick, length, shared)| Op::Write { pick, length, shared }),
        1 => pick.clone().prop_map(|pick| Op::Finish { pick }),
        1 => (pick.clone(), prop::option::of(0..3_000u64)).prop_map(move |(pick, reliable)| {
            if with_resets { Op::Reset { pick, reliable } } else { Op::Finish { pick } }
        }),
        1 => pick.clone().prop_map(move |pick| if with_resets { Op::Stop { pick } } else { Op::Deliver { pick } }),
        1 => (pick.clone(), -1..2i32).prop_map(|(pick, priority)| Op::Priority { pick, priority }),
        6 => (pick.clone(), 0..4_000usize, any::<bool>())
            .prop_map(|(pick, max, chunk)| Op::Read { pick, max, chunk }),
        10 => (room.clone(), skip).prop_map(|(room, skip)| Op::Send { room, skip }),
        2 => (pick.clone(), room).prop_map(|(pick, room)| Op::Copy { pick, room }),
        8 => pick.clone().prop_map(|pick| Op::Deliver { pick }),
        6 => pick.clone().prop_map(|pick| Op::Ack { pick }),
        3 => pick.prop_map(|pick| Op::Lose { pick }),
        1 => (0..100u64).prop_map(|millis| Op::Tune { millis }),
        1 => (500..8_000u64).prop_map(|limit| Op::Buffer { limit }),
    ]
}

/// A byte of a stream; the two directions differ.
pub(super) fn pattern(sender: usize, id: StreamId, offset: u64) -> u8 {
    let mixed = (id.0 * 2 + sender as u64).wrapping_mul(0x1_0001).wrapping_add(offset);
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

/// What a half should hold, by the test's own account.
#[derive(Debug, Default)]
struct Half {
    written: u64,
    read: u64,
    finished: bool,
    /// Given up by the sender, with what it still promised.
    reset: Option<u64>,
    stopped: bool,
    /// The reader saw the end or the reset.
    ended: bool,
}

struct World {
    ends: [Streams; 2],
    /// Packets sent by each end and not settled.
    packets: [Vec<Packet>; 2],
    /// Packets taken for lost.
    stray: [Vec<Packet>; 2],
    /// Halves by sender and stream.
    halves: BTreeMap<(usize, StreamId), Half>,
    ids: Vec<StreamId>,
    now: Time,
}

impl World {
    fn new() -> Self {
        World {
            ends: pair(&small_config()),
            packets: Default::default(),
            stray: Default::default(),
            halves: BTreeMap::new(),
            ids: Vec::new(),
            now: Time::ZERO,
        }
    }

    fn add(&mut self, end: usize, id: StreamId) {
        self.ids.push(id);
        self.halves.insert((end, id), Half::default());
        if id.is_bidirectional() {
            self.halves.insert((1 - end, id), Half::default());
        }
    }

    /// A half that `end` sends on, if there is one.
    fn half(&self, pick: usize) -> Option<(usize, StreamId)> {
        let keys: Vec<_> = self.halves.keys().copied().collect();
        (!keys.is_empty()).then(|| keys[pick % keys.len()])
    }

    /// Whether the sender can know of the stream.
    fn knows(&self, end: usize, id: StreamId) -> bool {
        let streams = &self.ends[end];
        streams.is_local(id) || streams.peer[usize::from(id.is_bidirectional())].is_open(id.index())
    }

    fn run(&mut self, op: &Op, end: usize) {
        match *op {
            Op::Open { bidirectional } => {
                if let Some(id) = self.ends[end].open(bidirectional) {
                    self.add(end, id);
                }
            }
            Op::Write { pick, length, shared } => {
                if let Some((sender, id)) = self.half(pick) {
                    self.write(sender, id, length, shared);
                }
            }
            Op::Finish { pick } => {
                if let Some((sender, id)) = self.half(pick) {
                    self.finish(sender, id);
                }
            }
            Op::Reset { pick, reliable } => {
                if let Some((sender, id)) = self.half(pick) {
                    self.reset(sender, id, reliable);
                }
            }
            Op::Stop { pick } => {
                if let Some((sender, id)) = self.half(pick)
                    && self.ends[1 - sender].stop(id, 77).is_ok()
                {
                    let half = self.halves.get_mut(&(sender, id)).expect("known");
                    half.stopped = true;
                }
            }
            Op::Priority { pick, priority } => {
                if let Some((sender, id)) = self.half(pick) {
                    let _ = self.ends[sender].set_priority(id, priority);
                }
            }
            Op::Read { pick, max, chunk } => {
                if let Some((sender, id)) = self.half(pick) {
                    self.read(sender, id, max, chunk);
                }
            }
            Op::Send { room, skip } => {
                self.packets[end].extend(build(&mut self.ends[end], room, skip));
            }
            Op::Copy { pick, room } => {
                if let Some(original) = nth(&self.packets[end], pick).cloned() {
                    self.packets[end].extend(build_copy(&mut self.ends[end], room, &original));
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
            Op::Tune { millis } => {
                self.now += Duration::from_millis(millis);
                self.ends[end].update_windows(self.now, || (Duration::from_millis(30), u64::MAX));
            }
            Op::Buffer { limit } => self.ends[end].set_send_buffer_limit(limit, u64::MAX),
        }
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

    fn write(&mut self, sender: usize, id: StreamId, length: usize, shared: bool) {
        if !self.knows(sender, id) {
            return;
        }
        let half = self.halves.get_mut(&(sender, id)).expect("known");
        let data: Vec<u8> =
            (half.written..half.written + length as u64).map(|offset| pattern(sender, id, offset)).collect();
        let streams = &mut self.ends[sender];
        let result =
            if shared { streams.write_bytes(id, Bytes::from(data)) } else { streams.write(id, &data) };
        match result {
            Ok(count) => {
                assert!(!half.finished && half.reset.is_none());
                half.written += count as u64;
            }
            Err(WriteError::Blocked) => assert!(!half.finished && half.reset.is_none()),
            Err(WriteError::Stopped(code)) => assert!(half.stopped && code == 77),
            Err(WriteError::ClosedStream) => {
                assert!(half.finished || half.reset.is_some() || half.stopped);
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

    fn reset(&mut self, sender: usize, id: StreamId, reliable: Option<u64>) {
        if !self.knows(sender, id) {
            return;
        }
        let half = self.halves.get_mut(&(sender, id)).expect("known");
        let streams = &mut self.ends[sender];
        let ok = match reliable {
            None => streams.reset(id, 66).is_ok(),
            Some(size) => streams.reset_at(id, 66, size).is_ok(),
        };
        if ok {
            half.reset = Some(reliable.unwrap_or(0));
        }
    }

    fn read(&mut self, sender: usize, id: StreamId, max: usize, chunk: bool) {
        let known = self.knows(1 - sender, id);
        let half = self.halves.get_mut(&(sender, id)).expect("known");
        let streams = &mut self.ends[1 - sender];
        let data = if chunk {
            match streams.read_chunk(id, max) {
                Ok(Some(chunk)) => Ok(Some(chunk.to_vec())),
                Ok(None) => Ok(None),
                Err(error) => Err(error),
            }
        } else {
            let mut out = vec![0; max];
            match streams.read(id, &mut out) {
                Ok(ReadOutcome::Data(count)) => Ok(Some(out[..count].to_vec())),
                Ok(ReadOutcome::Finished) => Ok(None),
                Err(error) => Err(error),
            }
        };
        match data {
            Ok(Some(bytes)) => {
                assert!(!half.ended && !half.stopped);
                for byte in bytes {
                    assert_eq!(byte, pattern(sender, id, half.read), "{id} from {sender} at {}", half.read);
                    half.read += 1;
                }
                assert!(half.read <= half.written);
            }
            Ok(None) => {
                assert!(half.finished && half.read == half.written, "ended at {}: {half:?}", half.read);
                assert!(!std::mem::replace(&mut half.ended, true));
            }
            Err(ReadError::Reset(code)) => {
                assert!(code == 66 && half.reset.is_some_and(|promised| half.read >= promised), "{half:?}");
                assert!(!std::mem::replace(&mut half.ended, true));
            }
            Err(ReadError::Gap { .. }) => panic!("nothing was given up"),
            Err(ReadError::Blocked) => assert!(!half.ended && !half.stopped),
            Err(ReadError::ClosedStream) => {
                assert!(half.ended || half.stopped || !known);
            }
        }
    }

    /// Ends every stream, and lets the network work until nothing is left to do.
    fn settle(&mut self) {
        for end in 0..2 {
            self.ends[end].set_send_buffer_limit(20_000, u64::MAX);
            // What the network still holds is lost.
            for packet in std::mem::take(&mut self.packets[end]) {
                lost(&mut self.ends[end], &packet);
            }
        }
        for round in 0.. {
            assert!(round < 500, "no end in sight: {:?}", self.halves);
            for (sender, id) in self.halves.keys().copied().collect::<Vec<_>>() {
                self.finish(sender, id);
                // The peer's wish to stop must be noticed before the half is freed.
                self.ends[sender].stopped(id);
                self.read(sender, id, 5_000, false);
            }
            let mut quiet = true;
            for end in 0..2 {
                self.ends[end].update_windows(self.now, || (Duration::from_millis(30), u64::MAX));
                while let Some(mut packet) = build(&mut self.ends[end], 1_200, 0) {
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
            assert_eq!(streams.table.len(), 0, "streams left at {end}: {:?}", self.halves);
            assert_eq!(streams.totals, Default::default());
            assert_eq!(streams.shared.budget, Default::default());
            assert!(!streams.has_pending_control());
            assert_eq!(streams.queue().total(), 0);
            // Both ends agree on what was sent, and all of it was given back.
            let sent = streams.credit.limit() - streams.credit.left();
            assert_eq!(sent, self.ends[1 - end].shared.window.received());
            assert!(self.ends[1 - end].shared.window.is_settled());
        }
        for (key, half) in &self.halves {
            assert!(half.stopped || half.reset.is_some() || half.read == half.written, "{key:?}: {half:?}");
        }
    }
}

pub(super) fn nth<T>(list: &[T], pick: usize) -> Option<&T> {
    if list.is_empty() { None } else { list.get(pick % list.len()) }
}

fn transfer(ops: &[(Op, bool)]) {
    let mut world = World::new();
    for (op, server) in ops {
        world.run(op, usize::from(*server));
        for streams in &world.ends {
            check(streams);
        }
    }
    world.settle();
    world.check_empty();
}

proptest! {
    //= rfc9000-2.2-1, rfc9000-2.2-2, rfc9000-2.2-3, rfc9000-4.1-1, rfc9000-4.5-2, rfc9000-19.10-3
    #[test]
    fn every_byte_arrives_once_and_in_order(ops in prop::collection::vec((op(false), any::<bool>()), 1..250)) {
        transfer(&ops);
    }

    //= rfc9000-3.3-1, rfc9000-3.3-2, rfc9000-4.4-1, rfc9000-4.5-1
    #[test]
    fn resets_and_stops_leave_nothing_behind(ops in prop::collection::vec((op(true), any::<bool>()), 1..250)) {
        transfer(&ops);
    }
}
