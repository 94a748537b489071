//! What the receiver saw.

use std::time::Duration;

use crate::Measure;

/// Delays of packets of the base layer, to the millisecond.
const BUCKETS: usize = 1_001;

/// Counts over all frames that were due.
#[derive(Clone, Debug)]
pub(super) struct Log {
    pub(super) frames: u64,
    /// Frames whose base layer was not complete in time.
    pub(super) interrupted: u64,
    pub(super) quality: u64,
    pub(super) representations: u64,
    /// Frames of which nothing came, not even what they consist of.
    pub(super) unheard: u64,
    /// Frames whose number of packets of the base layer is known, and these packets.
    pub(super) base_frames: u64,
    pub(super) base: u64,
    pub(super) base_in_time: u64,
    pub(super) enhancement: u64,
    pub(super) enhancement_in_time: u64,
    pub(super) bytes_in_time: u64,
    pub(super) corrupt: u64,
    /// Packets of the base layer by their delay from release; the last one: longer.
    delays: Vec<u64>,
}

impl Log {
    pub(super) fn new() -> Self {
        Log {
            frames: 0,
            interrupted: 0,
            quality: 0,
            representations: 0,
            unheard: 0,
            base_frames: 0,
            base: 0,
            base_in_time: 0,
            enhancement: 0,
            enhancement_in_time: 0,
            bytes_in_time: 0,
            corrupt: 0,
            delays: vec![0; BUCKETS],
        }
    }

    pub(super) fn on_base_packet(&mut self, delay: Duration) {
        let bucket = usize::try_from(delay.as_millis()).unwrap_or(BUCKETS).min(BUCKETS - 1);
        self.delays[bucket] += 1;
    }

    pub(super) fn measures(&self, period: Duration) -> Vec<Measure> {
        let share = |part: u64, all: u64| part as f64 / all.max(1) as f64;
        // Frames that nothing is known of had as many packets as others.
        let of_all = |packets: u64, known: u64| {
            (packets as f64 * self.frames.max(known) as f64 / known.max(1) as f64).round() as u64
        };
        let base = of_all(self.base, self.base_frames);
        let enhancement = of_all(self.enhancement, self.frames - self.unheard);
        let seconds = period.as_secs_f64() * self.frames.max(1) as f64;
        // Packets that never came count as later than anything.
        let within = |milliseconds: usize| share(self.delays[..milliseconds].iter().sum(), base);
        vec![
            Measure::new("interruption_share", share(self.interrupted, self.frames), ""),
            Measure::new("mean_quality", share(self.quality, self.frames), ""),
            Measure::new("mean_representation", share(self.representations, self.frames), ""),
            Measure::new("base_in_time_share", share(self.base_in_time, base), ""),
            Measure::new("enhancement_in_time_share", share(self.enhancement_in_time, enhancement), ""),
            Measure::new("decoded_bps", self.bytes_in_time as f64 * 8.0 / seconds, "bit/s"),
            Measure::new("base_within_50ms_share", within(50), ""),
            Measure::new("base_within_100ms_share", within(100), ""),
            Measure::new("base_within_200ms_share", within(200), ""),
            Measure::new("base_within_400ms_share", within(400), ""),
            Measure::new("base_packets", self.base as f64, "packets"),
            Measure::new("frames", self.frames as f64, "frames"),
            Measure::new("frames_unheard", self.unheard as f64, "frames"),
            Measure::new("corrupt", self.corrupt as f64, ""),
        ]
    }
}
