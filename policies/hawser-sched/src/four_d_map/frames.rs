//! Video frames that were written of late: what was decided for each, what became of it, and the rewards that follow.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

use hawser_policy::{Segment, SegmentKind, StreamId, Time};

use super::features::{Context, FourDMapFrameState};
use super::feedback::FrameFeedback;
use super::mechanisms::FourDMapMechanism;
use super::parameters::FourDMapParameters;
use super::reward::FourDMapOutcome;

/// Frames that are remembered: four seconds of 60 frames per second, more than any feedback takes.
const MEMORY: usize = 256;

/// A video frame, known by its body.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) stream: StreamId,
    pub(super) id: u64,
    pub(super) is_key: bool,
    /// Where it lies in the stream, as far as it was written.
    pub(super) extent: Range<u64>,
    pub(super) written_at: Time,
    pub(super) mechanism: FourDMapMechanism,
    /// One above the last byte that was discarded, or is not to be retransmitted.
    pub(super) covered_to: u64,
    /// The state in which was decided; `None` if nothing was.
    context: Option<Context>,
    outcome: Option<FourDMapOutcome>,
}

impl Frame {
    fn size(&self) -> u64 {
        self.extent.end - self.extent.start
    }
}

/// Whether a segment is of a video frame's body, and then whether of a key frame. All else (headers, audio, streams without
/// frames) is of high priority and nothing is decided about it.
pub(super) fn body_of(segment: &Segment<'_>) -> Option<(u64, bool)> {
    match segment.kind {
        SegmentKind::KeyFrame => Some((segment.id?, true)),
        SegmentKind::DeltaFrame => Some((segment.id?, false)),
        _ => None,
    }
}

/// A decision whose reward is complete.
#[derive(Clone, Debug)]
pub(super) struct Rewarded {
    pub(super) id: u64,
    pub(super) is_key: bool,
    pub(super) mechanism: FourDMapMechanism,
    pub(super) context: Context,
    /// R' of 4D-MAP, section 3.3, in bytes per millisecond.
    pub(super) reward: f64,
}

/// Frames in the order in which they were written.
#[derive(Debug)]
pub(super) struct Frames {
    list: VecDeque<Frame>,
    /// The first one whose reward is not complete.
    open: usize,
    /// How long the last frame took that the receiver told of.
    latest_delay: Duration,
}

impl Default for Frames {
    fn default() -> Self {
        Frames { list: VecDeque::with_capacity(MEMORY), open: 0, latest_delay: Duration::ZERO }
    }
}

impl Frames {
    /// The frame of a segment's body, with what was written of it meanwhile. Those that still wait are the newest.
    pub(super) fn find(&mut self, stream: StreamId, id: u64, extent: &Range<u64>) -> Option<&mut Frame> {
        let frame = self.list.iter_mut().rev().find(|frame| frame.id == id && frame.stream == stream)?;
        frame.extent.end = frame.extent.end.max(extent.end);
        Some(frame)
    }

    /// A frame is seen for the first time.
    pub(super) fn add(&mut self, now: Time, segment: &Segment<'_>, id: u64, is_key: bool) {
        if self.list.len() == MEMORY {
            self.list.pop_front();
            self.open = self.open.saturating_sub(1);
        }
        self.list.push_back(Frame {
            stream: segment.stream,
            id,
            is_key,
            extent: segment.extent.clone(),
            written_at: now,
            mechanism: FourDMapMechanism::Normal,
            covered_to: segment.extent.start,
            context: None,
            outcome: None,
        });
    }

    /// What was decided for the newest frame.
    pub(super) fn decide(&mut self, mechanism: FourDMapMechanism, context: Context) {
        if let Some(frame) = self.list.back_mut() {
            frame.mechanism = mechanism;
            frame.context = Some(context);
        }
    }

    /// Whether the newest frame is the first one.
    pub(super) fn is_only_one(&self) -> bool {
        self.list.len() == 1
    }

    /// The newest frame is duplicated, whatever the learner would do: it learns nothing of that.
    pub(super) fn copy_newest(&mut self) {
        if let Some(frame) = self.list.back_mut() {
            frame.mechanism = FourDMapMechanism::Duplicate;
        }
    }

    /// The state of the video with the newest frame; `frame_rate` of the encoder, if it is known.
    pub(super) fn state(&self, now: Time, frame_rate: Option<f64>) -> FourDMapFrameState {
        let Some(newest) = self.list.back() else { return FourDMapFrameState::default() };
        let frame_rate = frame_rate.unwrap_or_else(|| self.measured_rate(now));
        let last = (frame_rate.round() as usize).max(1);
        let recent: u64 = self.list.iter().rev().take(last).map(Frame::size).sum();
        let all: u64 = self.list.iter().map(Frame::size).sum();
        FourDMapFrameState {
            frame_rate,
            recent_bits: 8.0 * recent as f64,
            size: newest.size(),
            mean_size: all as f64 / self.list.len() as f64,
            is_key: newest.is_key,
        }
    }

    /// Frames of the last second; in the first second, those between two moments by the time between them.
    fn measured_rate(&self, now: Time) -> f64 {
        let second = Duration::from_secs(1);
        let age = |frame: &Frame| now.since(frame.written_at);
        let recent = self.list.iter().rev().take_while(|frame| age(frame) < second).count();
        match self.list.front().map(age) {
            Some(oldest) if oldest < second && !oldest.is_zero() => {
                (recent.saturating_sub(1) as f64 / oldest.as_secs_f64()).clamp(1.0, 240.0)
            }
            _ => recent.max(1) as f64,
        }
    }

    /// Word from the receiver. The first one counts: what is said of a frame that is rewarded already comes too late.
    pub(super) fn on_feedback(&mut self, feedback: &FrameFeedback) {
        let unknown =
            |frame: &&mut Frame| frame.id == feedback.id && frame.outcome.is_none() && frame.size() > 0;
        if let Some(frame) = self.list.iter_mut().rev().find(unknown) {
            let (size, delay) = (frame.size(), feedback.delay);
            frame.outcome = Some(FourDMapOutcome { size, received: feedback.bytes, delay });
            self.latest_delay = delay;
        }
    }

    /// How long the last frame took that the receiver told of; zero before the first.
    pub(super) fn latest_delay(&self) -> Duration {
        self.latest_delay
    }

    /// The next decision whose reward is complete: the frame's own outcome and those of the frames that follow it are known,
    /// or overdue.
    pub(super) fn next_rewarded(&mut self, now: Time, parameters: &FourDMapParameters) -> Option<Rewarded> {
        let timeout = parameters.feedback_timeout;
        loop {
            let window = self.open..self.open.checked_add(parameters.horizon.max(1))?;
            if window.end > self.list.len() {
                return None;
            }
            let mut reward = 0.0;
            for frame in self.list.range_mut(window) {
                if frame.outcome.is_none() && now.since(frame.written_at) >= timeout {
                    let size = frame.size();
                    frame.outcome = Some(FourDMapOutcome { size, received: size, delay: timeout });
                }
                let weight = if frame.is_key { 1.0 } else { parameters.delta_weight };
                reward += frame.outcome?.reward(weight, parameters.deadline);
            }
            let frame = &self.list[self.open];
            self.open += 1;
            if let Some(context) = frame.context {
                let Frame { id, is_key, mechanism, .. } = *frame;
                return Some(Rewarded { id, is_key, mechanism, context, reward });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::features::MAX_FEATURES;
    use super::*;

    /// Writes a frame every 40 ms behind those before it.
    fn write(frames: &mut Frames, id: u64, size: u64, is_key: bool) {
        let start = frames.list.back().map_or(0, |frame| frame.extent.end);
        let extent = start..start + size;
        let segment = Segment::plain(StreamId(0), extent).with(|segment| segment.id = Some(id));
        frames.add(Time::from_millis(40 * id), &segment, id, is_key);
        frames.decide(FourDMapMechanism::Normal, [id as f64; MAX_FEATURES]);
    }

    fn report(frames: &mut Frames, id: u64, ms: u64, bytes: u64) {
        let delay = Duration::from_millis(ms);
        frames.on_feedback(&FrameFeedback { id, delay, bytes, in_time: true });
    }

    fn rewards(frames: &mut Frames, now_ms: u64) -> Vec<(u64, f64)> {
        let parameters = FourDMapParameters::default();
        std::iter::from_fn(|| frames.next_rewarded(Time::from_millis(now_ms), &parameters))
            .map(|rewarded| (rewarded.id, rewarded.reward))
            .collect()
    }

    /// The vector of section 3.3: a key frame and three delta frames.
    #[test]
    fn four_frames_make_a_reward() {
        let mut frames = Frames::default();
        for (id, size, ms) in [(0, 60_000, 80), (1, 10_000, 40), (2, 10_000, 40), (3, 10_000, 40)] {
            assert_eq!(rewards(&mut frames, 200), []);
            write(&mut frames, id, size, id == 0);
            report(&mut frames, id, ms, size);
        }
        let [(0, reward)] = rewards(&mut frames, 200)[..] else { panic!("one reward of frame 0") };
        assert!((reward - 1275.0).abs() < 1e-6, "{reward}");
        // A discarded frame that follows.
        write(&mut frames, 4, 10_000, false);
        report(&mut frames, 4, 35, 50);
        let [(1, reward)] = rewards(&mut frames, 250)[..] else { panic!("one reward of frame 1") };
        assert!((reward - (3.0 * 175.0 + 7_000.0 / 234.0)).abs() < 1e-6, "{reward}");
    }

    #[test]
    fn a_frame_of_which_nothing_is_heard_counts_as_a_second() {
        let mut frames = Frames::default();
        (0..4).for_each(|id| write(&mut frames, id, 10_000, false));
        [0, 1, 3].into_iter().for_each(|id| report(&mut frames, id, 40, 10_000));
        assert_eq!(rewards(&mut frames, 1_079), []);
        let [(0, reward)] = rewards(&mut frames, 1_080)[..] else { panic!("one reward of frame 0") };
        assert!((reward - (3.0 * 175.0 + 7.0)).abs() < 1e-6, "{reward}");
        // Late word changes nothing.
        report(&mut frames, 2, 40, 10_000);
        write(&mut frames, 4, 10_000, false);
        report(&mut frames, 4, 40, 10_000);
        let [(1, reward)] = rewards(&mut frames, 1_100)[..] else { panic!("one reward of frame 1") };
        assert!((reward - (3.0 * 175.0 + 7.0)).abs() < 1e-6, "{reward}");
    }

    #[test]
    fn frames_that_are_forgotten_are_not_rewarded_twice() {
        let mut frames = Frames::default();
        let mut seen = Vec::new();
        for id in 0..1_000 {
            write(&mut frames, id, 10_000, false);
            if id % 100 < 60 {
                report(&mut frames, id, 40, 10_000);
            }
            seen.extend(rewards(&mut frames, 40 * id).into_iter().map(|(id, _)| id));
        }
        assert!(seen.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{seen:?}");
        assert!(seen.len() > 950 && frames.list.len() == MEMORY);
    }

    #[test]
    fn the_bit_rate_is_that_of_the_frames_of_a_second() {
        let mut frames = Frames::default();
        (0..100)
            .for_each(|id| write(&mut frames, id, if id % 50 == 0 { 60_000 } else { 10_000 }, id % 50 == 0));
        let now = Time::from_millis(40 * 99);
        let state = frames.state(now, None);
        // Frames 75 to 99; the second key frame is number 50.
        assert_eq!((state.frame_rate, state.recent_bits), (25.0, 8.0 * 250_000.0));
        assert_eq!(frames.state(now, Some(50.0)).recent_bits, 8.0 * (60_000.0 + 490_000.0));
        assert_eq!((state.size, state.mean_size, state.is_key), (10_000, 11_000.0, false));
        let mut young = Frames::default();
        (0..6).for_each(|id| write(&mut young, id, 10_000, false));
        assert_eq!(young.state(Time::from_millis(200), None).frame_rate, 25.0);
    }
}
