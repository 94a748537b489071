//! A publisher and a viewer with nothing but memory between them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;
use hawser_policy::{Feedback, FrameInfo, SegmentKind, StreamId, Time};
use proptest::prelude::*;

use super::*;
use crate::video::{FrameKind, VideoFrame};
use crate::{Measure, Piece, Transport};

const STREAM: StreamId = StreamId(0);

/// A stream in memory that takes so much at a time; what lies in a gap never comes.
struct Memory {
    room: usize,
    written: Vec<u8>,
    /// What was said about bytes, by their offset.
    infos: BTreeMap<u64, FrameInfo>,
    finished: bool,
    /// What the reader gets, and how far he is.
    gaps: Vec<Range<u64>>,
    read: u64,
    most: u64,
    frames: Vec<(u64, u64)>,
    /// What may still come.
    holes: Vec<Range<u64>>,
}

impl Memory {
    fn new(room: usize) -> Self {
        Memory {
            room,
            written: Vec::new(),
            infos: BTreeMap::new(),
            finished: false,
            gaps: Vec::new(),
            read: 0,
            most: 1_000,
            frames: Vec::new(),
            holes: Vec::new(),
        }
    }
}

impl Transport for Memory {
    fn open_stream(&mut self) -> Option<StreamId> {
        Some(STREAM)
    }

    fn set_priority(&mut self, _: StreamId, _: i32) {}

    fn write_frame(&mut self, _: StreamId, info: &FrameInfo, data: Bytes) -> usize {
        let taken = data.len().min(self.room);
        self.infos.entry(self.written.len() as u64).or_insert_with(|| info.clone());
        self.written.extend(&data[..taken]);
        self.room -= taken;
        taken
    }

    fn finish(&mut self, _: StreamId) {
        self.finished = true;
    }

    fn read(&mut self, _: StreamId) -> Piece {
        let length = self.written.len() as u64;
        if let Some(gap) = self.gaps.iter().find(|gap| gap.contains(&self.read)) {
            let rest = gap.end - self.read;
            self.read = gap.end;
            return Piece::Gap(rest);
        }
        let next_gap = self.gaps.iter().map(|gap| gap.start).filter(|start| *start > self.read).min();
        let next_hole = self.holes.first().map(|hole| hole.start);
        let end = length.min(self.read + self.most).min(next_gap.unwrap_or(u64::MAX));
        let end = end.min(next_hole.unwrap_or(u64::MAX));
        if end == self.read {
            let is_over = self.finished && self.read == length;
            return if is_over { Piece::End } else { Piece::Nothing };
        }
        let bytes = Bytes::copy_from_slice(&self.written[self.read as usize..end as usize]);
        self.read = end;
        Piece::Data(bytes)
    }

    fn missing(&self, _: StreamId) -> Vec<Range<u64>> {
        self.holes.iter().filter(|hole| hole.end > self.read).cloned().collect()
    }

    fn waiting(&self) -> u64 {
        self.holes.first().map_or(0, |hole| self.written.len() as u64 - hole.end)
    }

    fn pass_missing(&mut self, _: StreamId) -> u64 {
        let hole = self.holes.remove(0);
        let passed = hole.end - self.read;
        self.read = hole.end;
        passed
    }

    fn feedback(&mut self, feedback: &Feedback) {
        if let Feedback::Frame { id, bytes, .. } = feedback {
            self.frames.push((*id, *bytes));
        }
    }

    fn longest_round_trip(&self) -> Duration {
        Duration::from_millis(100)
    }
}

fn clip(sizes: &[u32]) -> Vec<VideoFrame> {
    let frame = |(number, &size): (usize, &u32)| VideoFrame {
        number: number as u32,
        kind: if number % 5 == 0 { FrameKind::Key } else { FrameKind::Delta },
        at: Duration::from_millis(40) * number as u32,
        size,
    };
    sizes.iter().enumerate().map(frame).collect()
}

/// Runs the publisher to its end, with so much room each millisecond.
fn publish(publisher: &mut Publisher, memory: &mut Memory, room: usize) {
    publisher.on_start(Time::from_millis(70), Time::ZERO, memory);
    for millisecond in 71..100_000 {
        let now = Time::from_millis(millisecond);
        memory.room = room;
        if publisher.next_timeout().is_some_and(|at| at <= now) {
            publisher.on_timeout(now, memory);
        }
        publisher.on_writable(now, memory);
        if publisher.is_done() {
            return;
        }
    }
    panic!("it does not end");
}

fn measure(measures: &[Measure], name: &str) -> f64 {
    measures.iter().find(|measure| measure.name == name).unwrap_or_else(|| panic!("no {name}")).value
}

#[test]
fn what_is_sent_is_what_is_played() {
    let mut memory = Memory::new(0);
    let sizes = [60_000, 10_000, 0, 12_000, 9_000, 70_000, 100];
    publish(&mut Publisher::new(clip(&sizes)), &mut memory, 3_000);
    let mut viewer = Viewer::new(25, Duration::from_millis(200));
    viewer.on_readable(Time::from_millis(500), STREAM, &mut memory);
    let measures = viewer.measures(Time::from_millis(500));
    for (name, expected) in
        [("frames", 7.0), ("frames_complete", 7.0), ("corrupt", 0.0), ("bytes_lacking", 0.0)]
    {
        assert_eq!(measure(&measures, name), expected, "{name}");
    }
    assert!(viewer.is_done());
    let reported: Vec<(u64, u64)> = (0..).zip(sizes.map(u64::from)).collect();
    assert_eq!(memory.frames, reported);
    // Asked for at 0, connected at 70, written then, read at 500.
    assert_eq!(measure(&measures, "startup"), 0.5);
}

#[test]
fn policies_are_told_what_is_header_and_what_is_body() {
    let mut memory = Memory::new(0);
    publish(&mut Publisher::new(clip(&[5_000, 2_000])), &mut memory, 100_000);
    let infos: Vec<_> = memory.infos.values().map(|info| (info.id, info.kind, info.reliability)).collect();
    use hawser_policy::Reliability::{Reliable, UntilDeadline};
    assert_eq!(
        infos,
        [
            (u64::MAX, SegmentKind::Signalling, Reliable),
            (HEADER_ID, SegmentKind::Signalling, Reliable),
            (0, SegmentKind::KeyFrame, Reliable),
            (HEADER_ID | 1, SegmentKind::Signalling, Reliable),
            (1, SegmentKind::DeltaFrame, UntilDeadline),
        ]
    );
}

#[test]
fn a_stream_that_lacks_a_header_ends_the_show() {
    let mut memory = Memory::new(0);
    publish(&mut Publisher::new(clip(&[5_000, 2_000])), &mut memory, 100_000);
    memory.gaps.push(13 + 17 + 4_990..13 + 17 + 5_010);
    let mut viewer = Viewer::new(25, Duration::from_millis(200));
    viewer.on_readable(Time::from_millis(500), STREAM, &mut memory);
    assert!(viewer.is_done() && measure(&viewer.measures(Time::ZERO), "corrupt") == 1.0);
}

/// The second of three frames lacks bytes: a viewer that passes what is late waits for half of a round trip and shows the rest; others
/// wait.
#[test]
fn what_is_late_is_passed_where_that_was_asked_for() {
    let mut memory = Memory::new(0);
    publish(&mut Publisher::new(clip(&[5_000, 2_000, 1_000])), &mut memory, 100_000);
    let start = 13 + 17 + 5_000 + 17;
    memory.holes.push(start + 100..start + 400);
    let viewer = || Viewer::new(25, Duration::from_millis(200));
    let (mut waiting, mut passing) = (viewer(), viewer().passing_what_is_late());
    waiting.on_readable(Time::from_millis(500), STREAM, &mut memory);
    // Only what waits is measured.
    assert_eq!((waiting.next_timeout(), waiting.is_done()), (Some(Time::from_millis(600)), false));

    memory.read = 0;
    memory.frames.clear();
    passing.on_readable(Time::from_millis(500), STREAM, &mut memory);
    run_to(&mut passing, &mut memory, 549);
    assert_eq!(memory.frames, [(0, 5_000)]);
    run_to(&mut passing, &mut memory, 550);
    assert!(passing.is_done());
    assert_eq!(memory.frames, [(0, 5_000), (1, 1_700), (2, 1_000)]);
}

/// What the viewer does by itself until then.
fn run_to(viewer: &mut Viewer, memory: &mut Memory, millisecond: u64) {
    let until = Time::from_millis(millisecond);
    while let Some(now) = viewer.next_timeout().filter(|at| *at <= until) {
        viewer.on_timeout(now, memory);
    }
}

/// 4D-MAP, section 5.4: a hole's time runs from when something behind it is there, however far the reader is.
#[test]
fn holes_that_were_seen_together_are_passed_together() {
    let mut memory = Memory::new(0);
    publish(&mut Publisher::new(clip(&[5_000, 2_000, 1_000])), &mut memory, 100_000);
    let start = 13 + 17 + 5_000 + 17;
    memory.holes.extend([start + 100..start + 400, start + 900..start + 1_000]);
    let mut viewer = Viewer::new(25, Duration::from_millis(200)).passing_what_is_late();
    viewer.on_readable(Time::from_millis(500), STREAM, &mut memory);
    run_to(&mut viewer, &mut memory, 550);
    assert!(viewer.is_done());
    assert_eq!(memory.frames, [(0, 5_000), (1, 1_600), (2, 1_000)]);
}

#[test]
fn a_hole_with_a_header_in_it_is_waited_for() {
    let mut memory = Memory::new(0);
    publish(&mut Publisher::new(clip(&[5_000, 2_000, 1_000])), &mut memory, 100_000);
    let end = 13 + 17 + 5_000 + 17 + 2_000;
    memory.holes.push(end - 300..end + 100);
    let mut viewer = Viewer::new(25, Duration::from_millis(200)).passing_what_is_late();
    viewer.on_readable(Time::from_millis(500), STREAM, &mut memory);
    run_to(&mut viewer, &mut memory, 1_999);
    assert_eq!(memory.frames, [(0, 5_000)]);
    // The header is sent again, the body is not.
    memory.holes[0] = end - 300..end;
    run_to(&mut viewer, &mut memory, 2_100);
    assert_eq!(memory.frames, [(0, 5_000), (1, 1_700), (2, 1_000)]);
    assert_eq!(measure(&viewer.measures(Time::from_millis(2_000)), "corrupt"), 0.0);
}

#[test]
fn frames_that_never_came_are_counted() {
    let mut memory = Memory::new(0);
    let mut publisher = Publisher::new(clip(&[500; 20]));
    publish(&mut publisher, &mut memory, 100_000);
    // Half of the stream is never read: it may be that the connection stands.
    let half = memory.written.len() / 2;
    memory.written.truncate(half);
    memory.finished = false;
    let mut viewer = Viewer::new(25, Duration::from_millis(200));
    viewer.on_readable(Time::from_millis(70), STREAM, &mut memory);
    let unheard = |at| measure(&viewer.measures(Time::from_millis(at)), "frames_unheard");
    let read = measure(&viewer.measures(Time::ZERO), "frames");
    assert_eq!((unheard(100), unheard(70 + 200 + 40 * 20)), (0.0, 20.0 - read));
}

#[test]
fn a_stall_that_has_not_ended_counts() {
    let mut memory = Memory::new(0);
    publish(&mut Publisher::new(clip(&[5_000, 2_000, 1_000])), &mut memory, 100_000);
    memory.holes.push(13 + 17 + 5_000 + 17 + 100..13 + 17 + 5_000 + 17 + 400);
    let mut viewer = Viewer::new(25, Duration::from_millis(200));
    viewer.on_readable(Time::from_millis(500), STREAM, &mut memory);
    let stalled = |ms| measure(&viewer.measures(Time::from_millis(ms)), "rebuffering");
    assert_eq!([540, 1_540].map(stalled), [0.0, 1.0]);
    let quality = |ms| measure(&viewer.measures(Time::from_millis(ms)), "assim_modelled");
    assert!(quality(540) > 0.97 && quality(1_540) < 0.05);
}

/// 4D-MAP, appendix A.
#[test]
fn clips_have_their_frame_rates() {
    let rate = |text: &str| {
        let spec: hawser_policy::PolicySpec = text.parse().expect("it is one");
        let parameters = hawser_policy::Parameters::read(&parameters(), &spec).expect("they exist");
        video(&parameters).frame_rate
    };
    let texts = ["live", "live,video=sintel", "live,video=hy", "live,video=custom", "live,video=hy,fps=50"];
    assert_eq!(texts.map(rate), [30, 24, 60, 25, 50]);
}

proptest! {
    /// Whatever bytes a body lacks, the frames behind it are found, and each byte is counted once.
    #[test]
    fn gaps_in_bodies_cost_the_bytes_that_they_are(
        gaps in prop::collection::vec((0..20usize, 0.0..1.0f64, 0.0..1.0f64), 0..12),
        most in 1..5_000u64,
        room in 100..9_000usize,
    ) {
        let sizes: Vec<u32> = (0..20).map(|n| 500 + n * 331).collect();
        let mut memory = Memory::new(0);
        publish(&mut Publisher::new(clip(&sizes)), &mut memory, room);
        memory.most = most;
        let starts: Vec<u64> = sizes
            .iter()
            .scan(13u64, |at, size| {
                let start = *at + 17;
                *at = start + u64::from(*size);
                Some(start)
            })
            .collect();
        let mut lost = vec![false; memory.written.len()];
        for (frame, from, to) in gaps {
            let size = f64::from(sizes[frame]);
            let [from, to] = [from.min(to), from.max(to)].map(|share| starts[frame] + (share * size) as u64);
            lost[from as usize..to as usize].fill(true);
        }
        let mut at = 0;
        while let Some(start) = lost[at..].iter().position(|lost| *lost).map(|start| start + at) {
            let length = lost[start..].iter().take_while(|lost| **lost).count();
            memory.gaps.push(start as u64..(start + length) as u64);
            at = start + length;
        }
        let mut viewer = Viewer::new(25, Duration::from_millis(200));
        viewer.on_readable(Time::from_secs(9), STREAM, &mut memory);
        let measures = viewer.measures(Time::from_secs(9));
        prop_assert_eq!(measure(&measures, "frames"), 20.0);
        prop_assert_eq!(measure(&measures, "corrupt"), 0.0);
        prop_assert_eq!(measure(&measures, "bytes_lacking"), lost.iter().filter(|lost| **lost).count() as f64);
        for (number, bytes) in memory.frames {
            let number = number as usize;
            let start = starts[number] as usize;
            let came = lost[start..start + sizes[number] as usize].iter().filter(|lost| !**lost).count();
            prop_assert_eq!(bytes, came as u64, "frame {}", number);
        }
    }
}
