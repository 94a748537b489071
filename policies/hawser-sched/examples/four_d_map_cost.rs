//! What 4D-MAP costs for each frame: the call that decides and allocates, all calls of a frame with its packets, and the
//! update of the learner.
//!
//! `cargo run --release -p hawser-sched --example four_d_map_cost`

use std::ops::{ControlFlow, Range};
use std::time::{Duration, Instant};

use hawser_policy::{
    Commands, Decision, Event, FeatureId, Message, MessageOrigin, PacketReport, PacketSent, PathId, PathView,
    QueueView, Reliability, Scheduler, Segment, SegmentKind, Selection, SendQueue, SendView, StreamId,
    StreamRange, Time,
};
use hawser_sched::{FourDMapChoice, FourDMapParameters, FourDMapScheduler, FrameFeedback};

const STREAM: StreamId = StreamId(0);
const FRAMES: u64 = 3_000;
const PACKET: u64 = 1_200;
const KEY_INTERVAL: u64 = 50;
const KEY_BYTES: u64 = 60_000;
const DELTA_BYTES: u64 = 10_000;
const HEADER: u64 = 16;

/// The frame that waits: its header and its body.
pub(crate) struct Waiting {
    frame: u64,
    header: Range<u64>,
    body: Range<u64>,
    sent_to: u64,
}

impl Waiting {
    /// The frame of this number, which begins at `offset` of the stream.
    pub(crate) fn new(frame: u64, offset: u64) -> Self {
        let size = if frame.is_multiple_of(KEY_INTERVAL) { KEY_BYTES } else { DELTA_BYTES };
        let header = offset..offset + HEADER;
        let body = header.end..header.end + size;
        Waiting { frame, sent_to: header.start, header, body }
    }

    /// Where the next one begins.
    pub(crate) fn end(&self) -> u64 {
        self.body.end
    }
}

impl SendQueue for Waiting {
    fn segments(&self, visit: &mut dyn FnMut(&Segment<'_>) -> ControlFlow<()>) {
        let body = if self.frame.is_multiple_of(KEY_INTERVAL) {
            (self.frame, SegmentKind::KeyFrame, Reliability::Reliable)
        } else {
            (self.frame, SegmentKind::DeltaFrame, Reliability::UntilDeadline)
        };
        let header = (1 << 63 | self.frame, SegmentKind::Signalling, Reliability::Reliable);
        for ((id, kind, reliability), extent) in [(header, &self.header), (body, &self.body)] {
            let range = extent.start.max(self.sent_to)..extent.end;
            let segment = Segment::plain(STREAM, range).with(|segment| {
                segment.id = Some(id);
                segment.kind = kind;
                segment.reliability = reliability;
                segment.extent = extent.clone();
            });
            if !segment.range.is_empty() && visit(&segment).is_break() {
                return;
            }
        }
    }
}

fn path(id: u32, rtt_ms: u64) -> PathView {
    PathView::new(PathId(id)).with(|path| {
        path.smoothed_rtt = Duration::from_millis(rtt_ms);
        path.has_rtt_sample = true;
        path.congestion_window = 200_000;
        path.bytes_in_flight = 20_000;
    })
}

/// Sends the frame packet by packet. Returns the time of the first call, and of all.
pub(crate) fn send_frame(
    scheduler: &mut FourDMapScheduler,
    now: Time,
    waiting: &mut Waiting,
    commands: &mut Commands,
) -> [Duration; 2] {
    let paths = [path(0, 50), path(1, 78)];
    let (mut first, mut all) = (None, Duration::ZERO);
    while waiting.sent_to < waiting.body.end {
        let queue = QueueView::default().with(|queue| queue.unsent = waiting.body.end - waiting.sent_to);
        let view = SendView::new(now, &paths, queue, waiting);
        let began = clock();
        let decision = scheduler.schedule(&view, commands);
        let took = began.elapsed();
        first.get_or_insert(took);
        all += took;
        commands.clear();
        let Decision::Send(assignment) = decision else { break };
        let Selection::Range { start, end, .. } = assignment.selection else { break };
        let range = start..end.min(start + PACKET);
        waiting.sent_to = range.end;
        let ranges = [StreamRange { stream: STREAM, range, copy: false }];
        let sent = PacketSent::default().with(|sent| {
            sent.now = now;
            sent.path = assignment.path;
            sent.packet_number = start;
            sent.bytes = PACKET;
            sent.bytes_in_flight = PACKET;
            sent.ranges = &ranges;
            sent.limited_by = Default::default();
        });
        let lost = PacketReport::default().with(|report| {
            report.now = now;
            report.path = assignment.path;
            report.packet_number = start;
            report.bytes = PACKET;
            report.sent_at = now;
            report.bytes_in_flight_at_send = PACKET;
            report.ranges = &[];
        });
        let began = clock();
        scheduler.on_event(&Event::Sent(&sent), commands);
        if start % 100 == 0 {
            scheduler.on_event(&Event::Lost(&lost), commands);
        }
        all += began.elapsed();
    }
    [first.unwrap_or_default(), all]
}

#[expect(clippy::disallowed_methods, reason = "the time that computing takes is what is measured")]
fn clock() -> Instant {
    Instant::now()
}

fn print(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |share: f64| times[(times.len() as f64 * share) as usize].as_secs_f64() * 1e6;
    println!("{what:40} median {:6.2} us, 99th percentile {:6.2} us", at(0.5), at(0.99));
}

fn main() {
    for mechanism in [FourDMapChoice::Learned, FourDMapChoice::Random] {
        let parameters = FourDMapParameters { mechanism, ..FourDMapParameters::default() };
        let mut scheduler = FourDMapScheduler::new(parameters, None, 1);
        let (mut first, mut all, mut learning) = (Vec::new(), Vec::new(), Vec::new());
        let (mut offset, mut commands) = (0, Commands::new());
        for frame in 0..FRAMES {
            let now = Time::from_millis(40 * frame);
            let mut waiting = Waiting::new(frame, offset);
            offset = waiting.end();
            let bytes = waiting.body.end - waiting.body.start;
            let [decision, whole] = send_frame(&mut scheduler, now, &mut waiting, &mut commands);
            first.push(decision);
            all.push(whole);
            let delay = Duration::from_millis(40 + frame % 7);
            let report = FrameFeedback { id: frame, delay, bytes, in_time: true };
            let payload = FrameFeedback::encode([report].into_iter());
            let message = Message::with_acks(FeatureId::FRAME_FEEDBACK, payload);
            let event = Event::Message { now, origin: MessageOrigin::Peer, message: &message };
            let began = clock();
            scheduler.on_event(&event, &mut commands);
            learning.push(began.elapsed());
        }
        println!("{mechanism:?}, {FRAMES} frames, two paths:");
        print("decision and allocation", first);
        print("all calls of a frame", all);
        print("feedback and update", learning);
    }
}
