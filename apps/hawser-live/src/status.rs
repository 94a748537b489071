//! What happens, every second in words and at the end as JSON.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hawser_status::model::LiveStream;
use serde::Serialize;

use super::hub::Hub;
use hawser_command::caps::CapReport;
use hawser_command::options::ClientSetup;
use hawser_command::output::Output;
use hawser_command::paths::{Flow, PathReport, PathTable, by_interface};
use hawser_command::report::Channel;
use hawser_command::transfer::path_line;
use hawser_command::units;

/// Frames with missing bytes that are named in the report; of further ones only the number is known.
const MAX_NAMED: usize = 10_000;
/// Paths of connections that ended: of each the last counters are kept.
const MAX_OLD_PATHS: usize = 256;
/// A queue is told of from so much on.
const QUEUE_TOLD: Duration = Duration::from_millis(200);
/// An encoder without key frames is told of after this.
const KEY_FRAME_PATIENCE: Duration = Duration::from_secs(10);

/// What a publisher, a relay or a player has seen of one stream.
#[derive(Debug)]
pub(super) struct Status {
    role: &'static str,
    hub: Arc<Hub>,
    output: Output,
    started: Instant,
    flow: Flow,
    seen: Mutex<Seen>,
    pub(super) skipped: AtomicU64,
    pub(super) skips: AtomicU64,
    /// Bytes that the transport gave up on connections that ended.
    discarded_before: AtomicU64,
    pub(super) connections: AtomicU64,
}

#[derive(Debug, Default)]
struct Seen {
    paths: Option<PathTable>,
    old_paths: Vec<PathReport>,
    delays: Delays,
    /// Of what players have taken: what it waited for them is counted as well.
    played: Delays,
    padded: VecDeque<PaddedFrame>,
    /// Frames and bytes at the last line, and whether the lack of key frames was told.
    told: (u64, u64),
    told_keyless: bool,
    told_audio_only: bool,
}

/// Of frames, and of audio where there is no video, from the encoder to here.
#[derive(Debug, Default)]
struct Delays {
    count: u64,
    total: Duration,
    longest: Duration,
    /// Since the last line.
    recent: (u64, Duration),
    /// When the first frame came, and its timestamp.
    first: Option<(Instant, u32)>,
    /// How long a player without a buffer stood still: a frame that comes later than all before it, measured from the first
    /// one, shifts everything behind it.
    stalled: Duration,
}

impl Delays {
    fn note_delay(&mut self, delay: Duration) {
        self.count += 1;
        self.total += delay;
        self.longest = self.longest.max(delay);
        self.recent = (self.recent.0 + 1, self.recent.1 + delay);
    }

    /// The mean of what came since this was last asked for, in milliseconds.
    fn take_recent(&mut self) -> Option<f64> {
        let (count, total) = std::mem::take(&mut self.recent);
        (count > 0).then(|| total.as_secs_f64() * 1e3 / count as f64)
    }

    fn mean_ms(&self) -> Option<f64> {
        (self.count > 0).then(|| self.total.as_secs_f64() * 1e3 / self.count as f64)
    }

    fn longest_ms(&self) -> Option<f64> {
        (self.count > 0).then_some(self.longest.as_secs_f64() * 1e3)
    }

    fn note(&mut self, timestamp_ms: u32, delay: Duration) {
        self.note_delay(delay);
        let (began, origin) = *self.first.get_or_insert_with(|| (Instant::now(), timestamp_ms));
        let due = Duration::from_millis(timestamp_ms.wrapping_sub(origin).into());
        self.stalled = self.stalled.max(began.elapsed().saturating_sub(due));
    }
}

/// A frame some of whose bytes did not come.
#[derive(Clone, Debug, Serialize)]
struct PaddedFrame {
    /// Milliseconds, as in what is handed to players.
    timestamp_ms: u32,
    lacking_bytes: u32,
    bytes: usize,
}

/// The result with `--json`.
#[derive(Debug, Serialize)]
struct Report {
    role: &'static str,
    seconds: f64,
    /// Tags that came: frames, audio, headers.
    tags: u64,
    bytes: u64,
    frames: u64,
    key_frames: u64,
    /// Frames some of whose bytes did not come, zeros in their place.
    padded_frames: u64,
    padded_bytes: u64,
    /// Tags that are missing: skipped by an earlier hop, or lost with a connection.
    missing_tags: u64,
    repeated_tags: u64,
    /// Tags that were skipped here since a receiver was too slow.
    skipped_tags: u64,
    skips: u64,
    /// Stream bytes that the transport discarded.
    discarded_bytes: u64,
    encoder_restarts: u64,
    timestamps_stepped_back: u64,
    timestamps_jumped: u64,
    connections: u64,
    delay_ms: Option<f64>,
    longest_delay_ms: Option<f64>,
    /// The same until players had taken what came.
    player_delay_ms: Option<f64>,
    longest_player_delay_ms: Option<f64>,
    /// How long a player that began with the first frame and has no buffer stood still.
    stalled_ms: Option<f64>,
    padded: Vec<PaddedFrame>,
    paths: Vec<PathReport>,
    /// With `--cap`: what is left of each budget.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    caps: Vec<CapReport>,
}

impl Status {
    pub(super) fn new(role: &'static str, flow: Flow, hub: Arc<Hub>, output: Output) -> Arc<Self> {
        Arc::new(Status {
            role,
            hub,
            output,
            started: Instant::now(),
            flow,
            seen: Mutex::default(),
            skipped: AtomicU64::new(0),
            skips: AtomicU64::new(0),
            discarded_before: AtomicU64::new(0),
            connections: AtomicU64::new(0),
        })
    }

    /// Shows the stream in the status of the program, too.
    pub(super) fn show(self: &Arc<Self>, program: &hawser_status::Hub) {
        let weak = Arc::downgrade(self);
        program.add(Arc::new(move |status| {
            if let Some(own) = weak.upgrade() {
                status.streams.push(own.live_stream());
            }
        }));
    }

    fn live_stream(&self) -> LiveStream {
        let (counts, _) = self.hub.counts();
        let seen = self.seen();
        let delays = &seen.delays;
        LiveStream {
            role: self.role.to_owned(),
            frames: counts.frames,
            bytes: counts.bytes,
            padded_frames: counts.padded_frames,
            missing: counts.missing,
            skipped: self.skipped.load(Ordering::Relaxed),
            players: self.hub.subscribers() as u64,
            delay_ms: (delays.count > 0).then(|| delays.total.as_secs_f64() * 1e3 / delays.count as f64),
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A frame came that was on its way for so long.
    pub(super) fn note_frame(&self, timestamp_ms: u32, delay: Duration, padded: u32, size: usize) {
        let mut seen = self.seen();
        seen.delays.note(timestamp_ms, delay);
        if padded > 0 {
            tracing::info!(
                "frame at {timestamp_ms} ms: {padded} of {size} bytes did not come, zeros in their place"
            );
            if seen.padded.len() < MAX_NAMED {
                seen.padded.push_back(PaddedFrame { timestamp_ms, lacking_bytes: padded, bytes: size });
            }
        }
    }

    /// A player has taken something that was on its way for so long, from the encoder on.
    pub(super) fn note_played(&self, delay: Duration) {
        self.seen().played.note_delay(delay);
    }

    /// A receiver is too slow.
    pub(super) fn note_skipped(&self, who: &str, tags: u64) {
        self.skipped.fetch_add(tags, Ordering::Relaxed);
        self.skips.fetch_add(1, Ordering::Relaxed);
        self.output.remark(format_args!(
            "hawser: {who} is too slow: {tags} tags are skipped, it goes on at a key frame"
        ));
    }

    /// A connection begins.
    pub(super) fn begin_connection(&self, table: PathTable) {
        self.connections.fetch_add(1, Ordering::Relaxed);
        self.end_connection();
        self.seen().paths = Some(table);
    }

    /// It ended: what its paths did is kept.
    pub(super) fn end_connection(&self) {
        let mut seen = self.seen();
        let Some(mut table) = seen.paths.take() else { return };
        table.sample();
        self.discarded_before.fetch_add(table.connection_stats().stream_bytes_discarded, Ordering::Relaxed);
        let room = MAX_OLD_PATHS.saturating_sub(seen.old_paths.len());
        let closed = table.report(self.flow).into_iter().take(room);
        seen.old_paths.extend(closed.map(|path| PathReport { state: "closed", rate_bps: 0.0, ..path }));
    }

    fn discarded(&self, seen: &Seen) -> u64 {
        let now = seen.paths.as_ref().map_or(0, |table| table.connection_stats().stream_bytes_discarded);
        self.discarded_before.load(Ordering::Relaxed) + now
    }

    /// Tells every `interval` what happens; runs until it is dropped.
    pub(super) async fn tell(self: Arc<Self>, interval: Duration) {
        let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + interval, interval);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        loop {
            ticks.tick().await;
            self.tell_of_missing_key_frames();
            let line = self.line(interval);
            if !self.output.hides_progress() {
                self.output.remark(line);
            }
        }
    }

    fn tell_of_missing_key_frames(&self) {
        let is_late = self.hub.without_key_frame().is_some_and(|time| time >= KEY_FRAME_PATIENCE);
        let mut seen = self.seen();
        if is_late && !seen.told_keyless {
            self.output.remark(format_args!(
                "hawser: no key frame for {} s: players that come now cannot begin, and one that lost something cannot go \
                 on; set a key frame interval at the encoder (ffmpeg: -g 50, OBS: 2 s)",
                KEY_FRAME_PATIENCE.as_secs()
            ));
        }
        seen.told_keyless = is_late;
        let is_audio_only = self.hub.is_audio_only();
        if is_audio_only && !seen.told_audio_only {
            self.output.remark("hawser: the encoder sends audio and no video: players hear it");
        }
        seen.told_audio_only = is_audio_only;
    }

    /// A line about the stream, and one for each path.
    fn line(&self, interval: Duration) -> String {
        let (counts, _) = self.hub.counts();
        let mut seen = self.seen();
        let (frames, bytes) = (counts.frames - seen.told.0, counts.bytes - seen.told.1);
        seen.told = (counts.frames, counts.bytes);
        let seconds = interval.as_secs_f64();
        let mut text = format!(
            "{:>7}  {:>13}  {:>5.1} frames/s  {} frames",
            units::clock(self.started.elapsed()),
            units::bit_rate(bytes as f64 * 8.0 / seconds),
            frames as f64 / seconds,
            counts.frames,
        );
        if let Some(delay) = seen.delays.take_recent() {
            let _ = write!(text, "  delay {delay:.0} ms");
        }
        if let Some(delay) = seen.played.take_recent() {
            let _ = write!(text, "  {delay:.0} ms at players");
        }
        let (waits, bytes) = self.hub.longest_queue();
        if waits >= QUEUE_TOLD {
            let _ = write!(text, "  {:.1} s ({}) wait", waits.as_secs_f64(), units::bytes(bytes as u64));
        }
        let skipped = self.skipped.load(Ordering::Relaxed);
        let troubles =
            [(counts.padded_frames, "padded"), (counts.missing, "missing tags"), (skipped, "skipped tags")];
        for (count, name) in troubles.into_iter().filter(|(count, _)| *count > 0) {
            let _ = write!(text, "  {count} {name}");
        }
        let discarded = self.discarded(&seen);
        if discarded > 0 {
            let _ = write!(text, "  {} given up", units::bytes(discarded));
        }
        if self.role == "relay" || self.role == "play" {
            let _ = write!(text, "  {} players", self.hub.subscribers());
        }
        if let Some(table) = &mut seen.paths {
            table.sample();
            let paths = table.report(self.flow);
            for path in by_interface(&paths).iter().filter(|path| path.state != "closed") {
                let _ = write!(text, "\n         {}", path_line(path, self.flow).trim_start());
            }
        }
        text
    }

    /// The result, with what is left of the budgets of links.
    pub(super) fn report(&self, client: Option<&ClientSetup>) {
        self.end_connection();
        let (counts, times) = self.hub.counts();
        let seen = self.seen();
        let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
        let delays = &seen.delays;
        let report = Report {
            role: self.role,
            seconds: self.started.elapsed().as_secs_f64(),
            tags: counts.tags,
            bytes: counts.bytes,
            frames: counts.frames,
            key_frames: counts.key_frames,
            padded_frames: counts.padded_frames,
            padded_bytes: counts.padded_bytes,
            missing_tags: counts.missing,
            repeated_tags: counts.repeated,
            skipped_tags: self.skipped.load(Ordering::Relaxed),
            skips: self.skips.load(Ordering::Relaxed),
            discarded_bytes: self.discarded(&seen),
            encoder_restarts: counts.restarts,
            timestamps_stepped_back: times.stepped_back,
            timestamps_jumped: times.jumped,
            connections: self.connections.load(Ordering::Relaxed),
            delay_ms: delays.mean_ms(),
            longest_delay_ms: delays.longest_ms(),
            player_delay_ms: seen.played.mean_ms(),
            longest_player_delay_ms: seen.played.longest_ms(),
            stalled_ms: (delays.count > 0).then(|| milliseconds(delays.stalled)),
            padded: seen.padded.iter().cloned().collect(),
            paths: seen.old_paths.clone(),
            caps: client.map(ClientSetup::cap_reports).unwrap_or_default(),
        };
        if self.output.json {
            Channel::Stdout.print(&report);
        } else {
            self.output.remark(words(&report));
            client.iter().flat_map(|client| client.cap_lines()).for_each(|line| self.output.remark(line));
        }
    }
}

fn words(report: &Report) -> String {
    let mut text = format!(
        "hawser: {} frames ({} key frames), {} in {:.1} s",
        report.frames,
        report.key_frames,
        units::bytes(report.bytes),
        report.seconds
    );
    let lost = [
        (report.padded_frames, "frames with missing bytes"),
        (report.missing_tags, "tags missing"),
        (report.skipped_tags, "tags skipped"),
        (report.encoder_restarts, "restarts of the encoder"),
        (report.timestamps_stepped_back + report.timestamps_jumped, "timestamps put right"),
    ];
    let lost: Vec<String> =
        lost.iter().filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} {name}")).collect();
    let lost = if lost.is_empty() { "nothing lost".to_owned() } else { lost.join(", ") };
    let _ = write!(text, "; {lost}");
    text
}
