//! Sender and receiver with streams in memory between them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use bytes::Bytes;
use hawser_policy::{Feedback, FrameInfo, Reliability, SegmentKind, StreamId, Time};
use hawser_ride::{Gop, TILES};
use proptest::prelude::*;

use super::wire::{Index, NoIndex, UnitEntry};
use super::*;
use crate::{Measure, Piece, Transport};

/// Streams of one direction; what a test loses is a gap.
#[derive(Default)]
struct Memory {
    opened: u64,
    most: u64,
    streams: BTreeMap<u64, Vec<u8>>,
    infos: BTreeMap<u64, FrameInfo>,
    lost: BTreeSet<u64>,
    read: BTreeMap<u64, usize>,
    ended: BTreeSet<u64>,
}

impl Transport for Memory {
    fn open_stream(&mut self) -> Option<StreamId> {
        if self.opened >= self.most {
            return None;
        }
        self.opened += 1;
        Some(StreamId(4 * (self.opened - 1) + 3))
    }

    fn set_priority(&mut self, _: StreamId, _: i32) {}

    fn write_frame(&mut self, stream: StreamId, info: &FrameInfo, data: Bytes) -> usize {
        self.infos.insert(stream.0, info.clone());
        self.streams.entry(stream.0).or_default().extend(&data);
        data.len()
    }

    fn finish(&mut self, _: StreamId) {}

    fn read(&mut self, stream: StreamId) -> Piece {
        let at = self.read.entry(stream.0).or_default();
        let bytes = &self.streams[&stream.0];
        if *at == bytes.len() {
            // The end is told once; a stream may be said to be readable after it.
            return if self.ended.insert(stream.0) { Piece::End } else { Piece::Nothing };
        }
        let rest = bytes[*at..].to_vec();
        *at = bytes.len();
        if self.lost.contains(&stream.0) { Piece::Gap(rest.len() as u64) } else { Piece::Data(rest.into()) }
    }

    fn missing(&self, _: StreamId) -> Vec<Range<u64>> {
        Vec::new()
    }

    fn waiting(&self) -> u64 {
        0
    }

    fn pass_missing(&mut self, _: StreamId) -> u64 {
        0
    }

    fn feedback(&mut self, _: &Feedback) {}

    fn longest_round_trip(&self) -> Duration {
        Duration::from_millis(50)
    }
}

const FORMAT: Format = Format { frames: 100, playout: Duration::from_millis(200) };

fn sender(viewing: Viewing) -> Sender {
    let sizes = Sizes { mean: 3_750.0, sigma: 0.6, ratio: [8.0, 3.0, 1.0], saliency: false };
    Sender::new(FORMAT, Video::synthetic(1, 100, &sizes), Views::synthetic(2, 100, 50, viewing))
}

/// What the sender writes if the peer allows so many streams.
fn sent(viewing: Viewing, most: u64) -> Memory {
    let mut memory = Memory { most, ..Memory::default() };
    let mut sender = sender(viewing);
    sender.on_start(Time::ZERO, Time::ZERO, &mut memory);
    while let Some(at) = sender.next_timeout() {
        sender.on_timeout(at, &mut memory);
    }
    assert!(sender.is_done());
    memory
}

/// The indices of what was sent.
fn indices(memory: &Memory) -> Vec<Index> {
    let (mut rest, mut indices) = (&memory.streams[&3][..], Vec::new());
    while let Ok(Some((index, used))) = Index::decode(rest, &Gop::of_fifty()) {
        indices.push(index);
        rest = &rest[used..];
    }
    assert!(rest.is_empty());
    indices
}

/// Reads each unit so long after its release, the index last of all if it is `late`.
fn shown(memory: &mut Memory, delay: Duration, late: bool) -> Receiver {
    let mut receiver = Receiver::new(FORMAT);
    let mut streams: Vec<(u32, StreamId)> = Vec::new();
    for index in indices(memory) {
        streams.extend(index.units.iter().filter_map(|unit| Some((index.frame, unit.stream?))));
    }
    let end = Time::from_secs(4);
    if !late {
        receiver.on_readable(Time::ZERO, StreamId(3), memory);
    }
    for (frame, stream) in streams {
        receiver.on_readable(Time::ZERO + release(frame) + delay, stream, memory);
    }
    if late {
        receiver.on_readable(end, StreamId(3), memory);
    }
    receiver.on_timeout(receiver.next_timeout().unwrap(), memory);
    assert!(receiver.is_done());
    receiver
}

fn measure(measures: &[Measure], name: &str) -> f64 {
    measures.iter().find(|measure| measure.name == name).unwrap_or_else(|| panic!("no {name}")).value
}

/// A B frame needs the P frame behind it, which is released three frames later at most: 100 ms. So all is in time that comes within
/// 99 ms, and no B frame is that has the P frame three frames behind it if it takes 110 ms. What comes after 240 ms is late as a
/// B frame, and helps as an I or P frame.
#[test]
fn what_comes_in_time_is_shown() {
    for viewing in [Viewing::Head, Viewing::Fixed] {
        for late_index in [false, true] {
            let zero = |delay| {
                let mut memory = sent(viewing, u64::MAX);
                let receiver = shown(&mut memory, Duration::from_millis(delay), late_index);
                let measures = receiver.measures(Time::ZERO);
                assert_eq!((measure(&measures, "corrupt"), measure(&measures, "arrived_share")), (0.0, 1.0));
                ["i_zero_share", "p_zero_share", "b_zero_share"].map(|name| measure(&measures, name))
            };
            assert_eq!(zero(99), [1.0; 3]);
            let [i, p, b] = zero(110);
            assert!(i == 1.0 && p == 1.0 && (0.5..0.8).contains(&b), "{b}");
            assert_eq!(zero(240), [0.0; 3]);
        }
    }
}

/// Without the I frame of its tile nothing of a tile is decoded, however much of it arrives.
#[test]
fn what_lacks_a_reference_is_of_no_use() {
    let mut memory = sent(Viewing::Fixed, u64::MAX);
    let first: Vec<u64> = indices(&memory)[0]
        .units
        .iter()
        .filter(|unit| unit.tile < 10)
        .map(|unit| unit.stream.unwrap().0)
        .collect();
    memory.lost.extend(first);
    let measures = shown(&mut memory, Duration::from_millis(20), false).measures(Time::ZERO);
    // Ten of forty tiles of one of two groups.
    assert!((measure(&measures, "useful_share") - 0.875).abs() < 1e-9);
    assert!((measure(&measures, "arrived_share") - (1.0 - 10.0 / 4_000.0)).abs() < 1e-9);
}

/// Deadlines are those of the last display that a unit helps; the index has none, and goes first.
#[test]
fn policies_are_told_of_deadlines_and_kinds() {
    let memory = sent(Viewing::Fixed, u64::MAX);
    assert_eq!(memory.infos[&3].kind, SegmentKind::Signalling);
    let index = &indices(&memory)[0];
    let info = &memory.infos[&index.units[0].stream.unwrap().0];
    let expected =
        (SegmentKind::KeyFrame, Reliability::UntilDeadline, Some(FORMAT.display_ends(Time::ZERO, 49)));
    assert_eq!((info.kind, info.reliability, info.deadline), expected);
    let b = &indices(&memory)[1].units[3];
    let info = &memory.infos[&b.stream.unwrap().0];
    assert_eq!((info.layer, info.deadline), (3, Some(FORMAT.display_ends(Time::ZERO, 1))));
}

/// Nothing is sent twice, references before what needs them, and what a head did not see comes along.
#[test]
fn units_take_along_what_they_need() {
    let memory = sent(Viewing::Switching, u64::MAX);
    let gop = Gop::of_fifty();
    let mut sent = vec![0u64; 2 * TILES];
    let mut along = 0;
    for index in indices(&memory) {
        for unit in &index.units {
            let known = &mut sent[index.frame as usize / 50 * TILES + usize::from(unit.tile)];
            assert_eq!(*known & unit.members, 0, "sent twice");
            *known |= unit.members;
            along += u64::from(unit.members.count_ones()) - 1;
            let sizes: u64 = unit.sizes.iter().map(|size| u64::from(*size)).sum();
            assert_eq!(sizes, memory.streams[&unit.stream.unwrap().0].len() as u64);
            // Only a later reference that is viewed itself may still come.
            let needed = gop.closure(index.frame as usize % 50);
            assert!((needed & !*known).count_ones() <= 1);
        }
    }
    assert!(along > 0);
}

/// Streams that are said to be readable after their end leave nothing behind, however many there are.
#[test]
fn spurious_wake_ups_do_not_stop_the_receiver() {
    let mut memory = sent(Viewing::Fixed, u64::MAX);
    let mut receiver = Receiver::new(FORMAT);
    receiver.on_readable(Time::ZERO, StreamId(3), &mut memory);
    let streams: Vec<u64> = memory.streams.keys().copied().filter(|stream| *stream != 3).collect();
    let (last, others) = streams.split_last().unwrap();
    for stream in others {
        for _ in 0..4 {
            receiver.on_readable(Time::from_millis(1), StreamId(*stream), &mut memory);
        }
    }
    receiver.on_readable(Time::from_millis(1), StreamId(*last), &mut memory);
    assert_eq!(measure(&receiver.measures(Time::ZERO), "arrived_share"), 1.0);
}

/// Frames of which not even the index came count as frames whose units never came.
#[test]
fn what_was_never_heard_of_is_counted() {
    let mut memory = sent(Viewing::Fixed, u64::MAX);
    let half: usize = indices(&memory)[..50].iter().map(|index| index.encode().len()).sum();
    memory.streams.get_mut(&3).unwrap().truncate(half);
    let receiver = shown(&mut memory, Duration::from_millis(20), false);
    let of = |now, name| measure(&receiver.measures(now), name);
    let (early, end) = (Time::from_millis(1_500), Time::from_secs(60));
    assert_eq!(
        (of(early, "units"), of(early, "useful_share"), of(early, "frames_unheard")),
        (2_000.0, 1.0, 0.0)
    );
    assert_eq!((of(end, "units"), of(end, "useful_share"), of(end, "frames_unheard")), (4_000.0, 0.5, 50.0));
    assert!(of(end, "reward_frames") < of(early, "reward_frames"));
    // If nothing came at all, all of it is missing.
    let mut nothing = Receiver::new(FORMAT);
    nothing.on_start(Time::ZERO, Time::ZERO, &mut memory);
    let measures = nothing.measures(end);
    assert_eq!((measure(&measures, "units"), measure(&measures, "arrived_share")), (4_000.0, 0.0));
}

/// What the peer allows no stream for is in the index all the same, and missing.
#[test]
fn without_streams_units_are_refused() {
    let mut memory = sent(Viewing::Fixed, 101);
    let measures = shown(&mut memory, Duration::from_millis(10), false).measures(Time::ZERO);
    assert_eq!(measure(&measures, "units"), 4_000.0);
    assert!((measure(&measures, "arrived_share") - 100.0 / 4_000.0).abs() < 1e-9);
}

fn entries() -> impl Strategy<Value = UnitEntry> {
    (prop::option::of(0..1u64 << 62), 0..200u16, 0..50u8, 0..1u64 << 50).prop_map(
        |(stream, tile, until, members)| {
            let members = members | 1 << 7;
            let sizes = (0..members.count_ones()).map(|at| 1_000 + at).collect();
            UnitEntry { stream: stream.map(StreamId), tile, until, members, sizes }
        },
    )
}

proptest! {
    /// All frames have the same place in their group here, 7, which is then among the members.
    #[test]
    fn indices_survive_the_wire(group in 0..1_000u32, nanos: u64, units in prop::collection::vec(entries(), 0..20)) {
        let index = Index { frame: 50 * group + 7, released_at: Time::from_nanos(nanos), units };
        let bytes = index.encode();
        let gop = Gop::of_fifty();
        prop_assert_eq!(Index::decode(&bytes, &gop), Ok(Some((index, bytes.len()))));
        for length in 0..bytes.len() {
            prop_assert_eq!(Index::decode(&bytes[..length], &gop), Ok(None));
        }
    }

    /// Whatever a peer writes on whichever stream, the receiver goes on, and keeps little.
    #[test]
    fn a_hostile_sender_does_no_harm(written in prop::collection::vec((0..6u64, prop::collection::vec(any::<u8>(), 0..80)), 0..20),
                                     sound: bool) {
        let mut memory = Memory::default();
        let mut receiver = Receiver::new(FORMAT);
        for (number, mut bytes) in written {
            let stream = 4 * number + 3;
            if sound && number == 0 && bytes.len() > 34 {
                // An index whose first unit may be sound.
                bytes[0] = 0x54;
                bytes[1..4].fill(0);
                (bytes[4], bytes[13], bytes[14]) = (bytes[4] % 100, 0, 1);
                bytes[15..22].fill(0);
                (bytes[22], bytes[23], bytes[24]) = (4 * (bytes[22] % 6) + 3, 0, bytes[24] % 200);
                bytes[25] %= 50;
            }
            memory.streams.insert(stream, bytes);
            memory.read.remove(&stream);
            receiver.on_readable(Time::from_millis(number), StreamId(stream), &mut memory);
        }
        prop_assert!(!receiver.measures(Time::ZERO).is_empty());
    }
}

#[test]
fn what_is_no_index_is_refused() {
    let gop = Gop::of_fifty();
    let entry = UnitEntry { stream: None, tile: 3, until: 9, members: 1, sizes: vec![5] };
    let index = Index { frame: 0, released_at: Time::ZERO, units: vec![entry] };
    let changed = |at: usize, byte: u8| {
        let mut bytes = index.encode();
        bytes[at] = byte;
        Index::decode(&bytes, &gop)
    };
    assert_eq!(changed(0, 0), Err(NoIndex), "magic");
    assert_eq!(changed(13, 1), Err(NoIndex), "256 units");
    assert_eq!(changed(23, 1), Err(NoIndex), "tile 259");
    assert_eq!(changed(25, 50), Err(NoIndex), "until a frame that is none");
    assert_eq!(changed(33, 2), Err(NoIndex), "without the frame itself");
    assert_eq!(changed(34, 255), Err(NoIndex), "4 GiB");
}
