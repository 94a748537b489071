//! Round-trip times: what they are without a queue, and by how much they vary. Seconds.

use std::time::Duration;

use hawser_learn::Ewma;
use hawser_policy::Time;

use super::settings::Settings;

/// Parts of the window over which the least round-trip time is taken.
const PARTS: usize = 8;
/// Samples over which the deviation is taken.
const SAMPLES: usize = 32;
/// Gain of the delay that geometry does not tell.
const REST_GAIN: f64 = 1.0 / 8.0;

/// The least sample of the last while, to an eighth of it.
#[derive(Clone, Copy, Debug)]
struct Floor {
    part: Duration,
    /// Which part of time each minimum is of.
    minima: [(u64, f64); PARTS],
}

impl Floor {
    fn new(window: Duration) -> Floor {
        let part = (window / PARTS as u32).max(Duration::from_nanos(1));
        Floor { part, minima: [(0, f64::INFINITY); PARTS] }
    }

    fn update(&mut self, now: Time, sample: f64) -> f64 {
        let number = now.as_nanos() / self.part.as_nanos().max(1) as u64;
        let slot = &mut self.minima[(number % PARTS as u64) as usize];
        if slot.0 != number {
            *slot = (number, f64::INFINITY);
        }
        slot.1 = slot.1.min(sample);
        let recent = self.minima.iter().filter(|(of, _)| number.abs_diff(*of) < PARTS as u64);
        recent.map(|(_, least)| *least).fold(f64::INFINITY, f64::min)
    }
}

/// The round-trip time without a queue, and the deviation of samples from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delay {
    floor: Floor,
    floor_window: Duration,
    /// The least rise that counts.
    margin: f64,
    /// What geometry tells: propagation up and down the link; none: nothing.
    link: Option<f64>,
    /// The rest of the way; none before the first sample.
    rest: Option<Ewma>,
    first: f64,
    latest: Option<f64>,
    /// Samples less the estimate.
    deviations: [f64; SAMPLES],
    samples: usize,
}

impl Delay {
    pub(super) fn new(settings: &Settings) -> Delay {
        Delay {
            floor: Floor::new(settings.floor_window),
            floor_window: settings.floor_window,
            margin: settings.delay_margin.as_secs_f64(),
            link: None,
            rest: None,
            first: settings.first_rtt.as_secs_f64(),
            latest: None,
            deviations: [0.0; SAMPLES],
            samples: 0,
        }
    }

    /// The link's own part of the round trip changed, or became known: until then it was a part of the rest.
    pub(super) fn set_link(&mut self, seconds: Option<f64>) {
        if self.link.is_some() != seconds.is_some()
            && let Some(known) = self.rest.and_then(|rest| rest.value())
        {
            let mut rest = Ewma::new(REST_GAIN);
            rest.update((known + self.link() - seconds.unwrap_or(0.0)).max(0.0));
            self.rest = Some(rest);
        }
        self.link = seconds;
    }

    fn link(&self) -> f64 {
        self.link.unwrap_or(0.0)
    }

    /// A sample of the present network.
    pub(super) fn on_sample(&mut self, now: Time, rtt: f64) {
        // From raw samples the queue would get into the estimate, and no standing queue would ever show.
        let rest = (self.floor.update(now, rtt) - self.link()).max(0.0);
        self.rest.get_or_insert_with(|| Ewma::new(REST_GAIN)).update(rest);
        self.latest = Some(rtt);
        self.deviations[self.samples % SAMPLES] = rtt - self.without_queue();
        self.samples += 1;
    }

    /// D of W. Yang 2024, eq. (3.11): the round trip without a queue.
    pub(super) fn without_queue(&self) -> f64 {
        match self.rest.and_then(|rest| rest.value()) {
            Some(rest) => self.link() + rest,
            None => self.first.max(self.link()),
        }
    }

    /// The round trip without a queue, if the link's part were this.
    pub(super) fn without_queue_over(&self, link: f64) -> f64 {
        (self.without_queue() - self.link() + link).max(link)
    }

    /// Con_II of Algorithm 5: the last sample is above the estimate by more than samples deviate from it.
    pub(super) fn has_risen(&self) -> bool {
        self.latest.is_some_and(|latest| latest > self.without_queue() + self.deviation().max(self.margin))
    }

    fn deviation(&self) -> f64 {
        let known = &self.deviations[..self.samples.min(SAMPLES)];
        let count = known.len().max(1) as f64;
        let mean = known.iter().sum::<f64>() / count;
        (known.iter().map(|it| (it - mean) * (it - mean)).sum::<f64>() / count).sqrt()
    }

    /// Another network: its least round-trip time is to be seen. Until then the rest of the way is taken to be what it was.
    pub(super) fn on_hand_over(&mut self) {
        self.floor = Floor::new(self.floor_window);
        (self.latest, self.samples) = (None, 0);
    }

    /// Samples come back another way: nothing known of the rest holds.
    pub(super) fn forget(&mut self) {
        self.on_hand_over();
        self.rest = None;
    }
}
