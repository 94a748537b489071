//! Sender and receiver with streams in memory between them.

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;
use hawser_policy::{Feedback, FrameInfo, LayerPackets, Reliability, StreamId, Time};
use proptest::prelude::*;

use super::wire::{HEADER_LENGTH, Header};
use super::*;
use crate::{Measure, Piece, Transport};

/// Streams of one direction, all of whose bytes come at once, but for those in gaps.
#[derive(Default)]
struct Memory {
    opened: u64,
    streams: BTreeMap<u64, Vec<u8>>,
    infos: Vec<(u64, FrameInfo, usize)>,
    priorities: BTreeMap<u64, i32>,
    finished: Vec<u64>,
    gaps: BTreeMap<u64, Range<usize>>,
    read: BTreeMap<u64, usize>,
    told: Vec<(u64, LayerPackets, LayerPackets)>,
}

impl Transport for Memory {
    fn open_stream(&mut self) -> Option<StreamId> {
        self.opened += 1;
        Some(StreamId(self.opened))
    }

    fn set_priority(&mut self, stream: StreamId, priority: i32) {
        self.priorities.insert(stream.0, priority);
    }

    fn write_frame(&mut self, stream: StreamId, info: &FrameInfo, data: Bytes) -> usize {
        self.infos.push((stream.0, info.clone(), data.len()));
        self.streams.entry(stream.0).or_default().extend(&data);
        data.len()
    }

    fn finish(&mut self, stream: StreamId) {
        self.finished.push(stream.0);
    }

    fn read(&mut self, stream: StreamId) -> Piece {
        let at = self.read.entry(stream.0).or_default();
        let Some(bytes) = self.streams.get(&stream.0) else { return Piece::Nothing };
        let gap = self.gaps.get(&stream.0).cloned().unwrap_or(bytes.len()..bytes.len());
        if *at == gap.start && !gap.is_empty() {
            *at = gap.end;
            return Piece::Gap(gap.len() as u64);
        }
        let end = if *at < gap.start { gap.start } else { bytes.len() };
        if *at == end {
            return if self.finished.contains(&stream.0) { Piece::End } else { Piece::Nothing };
        }
        let piece = Bytes::copy_from_slice(&bytes[*at..end]);
        *at = end;
        Piece::Data(piece)
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

    fn feedback(&mut self, feedback: &Feedback) {
        if let Feedback::LayeredFrame { number, base, enhancement } = feedback {
            self.told.push((*number, *base, *enhancement));
        }
    }

    fn longest_round_trip(&self) -> Duration {
        Duration::from_millis(50)
    }
}

const FORMAT: Format =
    Format { frames: 4, period: Duration::from_millis(150), packet: 1_200, representation: 6 };

/// What the sender writes of this many frames.
fn sent(format: Format) -> Memory {
    let mut memory = Memory::default();
    let mut sender = Sender::new(format, Film::synthetic(10, 3));
    sender.on_start(Time::ZERO, Time::ZERO, &mut memory);
    while let Some(at) = sender.next_timeout() {
        sender.on_timeout(at, &mut memory);
    }
    memory
}

fn measure(measures: &[Measure], name: &str) -> f64 {
    measures.iter().find(|measure| measure.name == name).unwrap_or_else(|| panic!("no {name}")).value
}

/// Reads each frame's streams this long after its release, and shows all frames.
fn shown(memory: &mut Memory, format: Format, delay: Duration) -> Receiver {
    let mut receiver = Receiver::new(format);
    let streams: Vec<u64> = memory.streams.keys().copied().collect();
    for stream in streams {
        let header = Header::decode(memory.streams[&stream][..HEADER_LENGTH].try_into().unwrap()).unwrap();
        let now = header.written_at + delay;
        while let Some(at) = receiver.next_timeout().filter(|at| *at <= now) {
            receiver.on_timeout(at, memory);
        }
        receiver.on_readable(now, StreamId(stream), memory);
        // A transport may say so once more.
        let is_over = memory.streams.remove(&stream).is_some();
        assert!(is_over);
        receiver.on_readable(now, StreamId(stream), memory);
    }
    while let Some(at) = receiver.next_timeout() {
        receiver.on_timeout(at, memory);
    }
    receiver
}

#[test]
fn frames_are_shown_in_full_when_all_is_in_time_and_not_at_all_when_all_is_late() {
    let mut memory = sent(FORMAT);
    let receiver = shown(&mut memory, FORMAT, Duration::from_millis(149));
    assert!(receiver.reading.is_empty(), "all streams are at their end");
    let measures = receiver.measures(Time::ZERO);
    assert_eq!((measure(&measures, "mean_quality"), measure(&measures, "interruption_share")), (6.0, 0.0));
    assert_eq!((measure(&measures, "base_in_time_share"), measure(&measures, "corrupt")), (1.0, 0.0));
    assert!(receiver.is_done() && memory.told.len() == 4);
    assert!(memory.told.iter().all(|(_, base, more)| base.all == base.in_time && more.all == more.in_time));

    let mut memory = sent(FORMAT);
    let measures = shown(&mut memory, FORMAT, Duration::from_millis(151)).measures(Time::ZERO);
    assert_eq!((measure(&measures, "mean_quality"), measure(&measures, "interruption_share")), (0.0, 1.0));
    assert_eq!(measure(&measures, "base_in_time_share"), 0.0);
    assert_eq!(measure(&measures, "base_within_200ms_share"), 1.0, "late, but not lost");
}

/// The streams of half of the frames never come: their packets are missing in the shares all the same.
#[test]
fn packets_of_frames_that_never_came_are_counted() {
    let format = Format { frames: 40, ..FORMAT };
    let mut memory = sent(format);
    // Three streams a frame, of which the first 20 come.
    memory.streams.retain(|stream, _| *stream <= 60);
    let measures = shown(&mut memory, format, Duration::from_millis(20)).measures(Time::ZERO);
    assert_eq!((measure(&measures, "frames_unheard"), measure(&measures, "frames")), (20.0, 40.0));
    for share in ["base_in_time_share", "enhancement_in_time_share", "base_within_100ms_share"] {
        assert!((measure(&measures, share) - 0.5).abs() < 0.01, "{share}: {}", measure(&measures, share));
    }
}

#[test]
fn policies_are_told_of_layers_and_deadlines() {
    let memory = sent(Format { frames: 1, ..FORMAT });
    let layers: Vec<_> = memory.infos.iter().map(|(_, info, _)| (info.layer, info.reliability)).collect();
    use Reliability::{Reliable, UntilDeadline};
    // All headers, then all bodies.
    let expected =
        [Reliable, UntilDeadline].into_iter().flat_map(|kind| (0..3).map(move |layer| (layer, kind)));
    assert_eq!(layers, expected.collect::<Vec<_>>());
    assert!(memory.infos[..3].iter().all(|(_, info, _)| info.deadline.is_none()));
    assert!(memory.infos[3..].iter().all(|(_, info, _)| info.deadline == Some(Time::from_millis(150))));
    assert_eq!(memory.priorities.values().copied().collect::<Vec<_>>(), [0, -1, -2]);
    assert_eq!(memory.finished, [1, 2, 3]);
}

#[test]
fn layers_are_differences_of_representations_and_average_to_their_rates() {
    let film = Film::synthetic(4_000, 1);
    let period = Duration::from_millis(150);
    let mean = |r: u8| {
        let bytes =
            (0..100_000).map(|frame| film.layers(frame, period, r).map(u64::from).iter().sum::<u64>());
        bytes.sum::<u64>() as f64 * 8.0 / 15_000.0
    };
    for r in [1, 5, 8] {
        assert!((mean(r) / RATES[usize::from(r) - 1] - 1.0).abs() < 0.05, "{r}: {}", mean(r));
    }
    assert_eq!(film.layers(7, period, 1)[1..], [0, 0]);
    let [base, middle, top] = film.layers(7, period, 6).map(f64::from);
    let all = base + middle + top;
    // About 25, 27 and 48 % for the sixth, by the ladder.
    assert!((base / all - RATES[3] / RATES[5]).abs() < 0.01 && (middle / all - 0.273).abs() < 0.01);
}

/// Sizes vary by 55 % and remember: 0.7 from segment to segment.
#[test]
fn segments_vary_as_those_of_the_film() {
    let film = Film::synthetic(50_000, 9);
    let period = SEGMENT;
    let sizes: Vec<f64> = (0..50_000).map(|at| f64::from(film.layers(at, period, 1)[0])).collect();
    let mean = sizes.iter().sum::<f64>() / sizes.len() as f64;
    let covariance = |lag: usize| {
        let pairs = sizes.iter().zip(&sizes[lag..]);
        pairs.map(|(one, other)| (one - mean) * (other - mean)).sum::<f64>() / (sizes.len() - lag) as f64
    };
    let variation = covariance(0).sqrt() / mean;
    assert!((variation - 0.55).abs() < 0.04, "{variation}");
    assert!((covariance(1) / covariance(0) - 0.7).abs() < 0.04, "{}", covariance(1) / covariance(0));
}

/// What arrives at leisure raises the representation step by step; what is late lowers it.
#[test]
fn the_representation_follows_what_arrives() {
    let format = Format { frames: 400, representation: 0, ..FORMAT };
    for (delay, expected) in [(Duration::from_millis(10), 8), (Duration::from_millis(400), 1)] {
        let mut memory = sent(format);
        let receiver = shown(&mut memory, format, delay);
        assert_eq!(receiver.wanted, expected, "after {delay:?}");
    }
}

proptest! {
    #[test]
    fn headers_survive_the_wire(number: u32, layer in 0..3u8, representation in 1..=8u8, nanos: u64,
                                sizes in prop::array::uniform3(0..=wire::MAX_LAYER)) {
        let written_at = Time::from_nanos(nanos);
        let header = Header { number, layer, representation, sizes, written_at };
        prop_assert_eq!(Header::decode(&header.encode()), Some(header));
    }

    #[test]
    fn what_is_no_header_is_refused_or_encodes_to_itself(bytes: [u8; HEADER_LENGTH]) {
        if let Some(header) = Header::decode(&bytes) {
            prop_assert_eq!(header.encode(), bytes);
        }
    }

    /// A gap costs the packets that it touches, and no others.
    #[test]
    fn a_gap_costs_the_packets_that_it_touches(from in 0.0..1.0f64, length in 1..9_000usize) {
        let format = Format { frames: 1, ..FORMAT };
        let mut memory = sent(format);
        let (stream, bytes) = memory.streams.iter().next_back().map(|(id, bytes)| (*id, bytes.len())).unwrap();
        let body = bytes - HEADER_LENGTH;
        let start = (from * (body - 1) as f64) as usize;
        let end = (start + length).min(body);
        memory.gaps.insert(stream, HEADER_LENGTH + start..HEADER_LENGTH + end);
        shown(&mut memory, format, Duration::from_millis(50));
        let (_, base, more) = memory.told[0];
        let touched = (end - 1) / 1_200 - start / 1_200 + 1;
        prop_assert_eq!(base.all, base.in_time);
        prop_assert_eq!(more.all - more.in_time, touched as u32);
    }

    /// Whatever a peer writes, the receiver goes on.
    #[test]
    fn a_hostile_sender_does_no_harm(written in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..20),
                                     sound: bool) {
        let mut memory = Memory::default();
        for (stream, mut bytes) in (1..).zip(written) {
            if sound && bytes.len() >= HEADER_LENGTH {
                (bytes[0], bytes[5], bytes[6]) = (0x4c, bytes[5] % 3, bytes[6] % 8 + 1);
                [7, 11, 15].iter().for_each(|at| bytes[*at] = 0);
            }
            memory.streams.insert(stream, bytes);
        }
        let mut receiver = Receiver::new(FORMAT);
        for stream in memory.streams.keys().copied().collect::<Vec<_>>() {
            receiver.on_readable(Time::from_millis(1), StreamId(stream), &mut memory);
        }
        for _ in 0..8 {
            receiver.on_timeout(Time::from_nanos(u64::MAX / 2), &mut memory);
        }
        prop_assert!(receiver.frames.len() <= 64);
    }
}
