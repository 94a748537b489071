use super::association::{Association, Outcome};
use super::city::CityStatistics;
use crate::math::{exp, nanos};
use crate::profile::{Event, EventKind, ForecastSamples, Profile, Sample, Steps};
use crate::random::{Draws as _, Gaussian, Random};

/// Spread of the logarithm of the delay by retries.
const BAD_DELAY_SIGMA: f64 = 0.8;
/// Mean delay in the good state, seconds.
const GOOD_DELAY: f64 = 0.003;
/// Time constant of the rate, seconds.
const RATE_TIME: f64 = 2.0;

/// Good in the middle of the coverage, poor at its ends: 1 down to 0 for a position of 0 to 1.
fn fringe(position: f64) -> f64 {
    (position / 0.12).min((1.0 - position) / 0.12).clamp(0.0, 1.0)
}

/// Writes the link that a list of associations gives: down without an address, black while the address carries nothing.
pub(super) fn render(
    associations: &[Association],
    city: &CityStatistics,
    step: f64,
    duration_ns: u64,
    seed: u64,
) -> Profile {
    let mut writer = Writer {
        city,
        up: Steps::new(),
        down: Steps::new(),
        mean_up: Steps::new(),
        mean_down: Steps::new(),
        random: Random::new(seed, "wifi link"),
        step,
        duration_ns,
    };
    let mut events = Vec::new();
    let mut address = None;
    writer.off(0);
    for (index, association) in associations.iter().enumerate() {
        let Some(from) = association.address_from() else { continue };
        let (from, until) = (nanos(from), nanos(association.end));
        if from >= duration_ns || until <= from {
            continue;
        }
        let cell = Some(index as u64);
        if address.is_some_and(|last| last != association.address) {
            events.push(Event { at: from, kind: EventKind::AddressChange, cell });
        }
        address = Some(association.address);
        events.push(Event { at: from, kind: EventKind::Attach, cell });
        writer.association(association, from, until.min(duration_ns));
        if until < duration_ns {
            writer.off(until);
            events.push(Event { at: until, kind: EventKind::Detach, cell });
        }
    }
    Profile {
        name: "wifi".to_owned(),
        up: writer.up.finish(),
        down: writer.down.finish(),
        events,
        forecast: ForecastSamples { up: writer.mean_up.finish(), down: writer.mean_down.finish() },
        positions: Vec::new(),
        sites: None,
    }
}

struct Writer<'a> {
    city: &'a CityStatistics,
    up: Steps,
    down: Steps,
    mean_up: Steps,
    mean_down: Steps,
    random: Random,
    step: f64,
    duration_ns: u64,
}

impl Writer<'_> {
    fn off(&mut self, at: u64) {
        if at >= self.duration_ns {
            return;
        }
        let delay = nanos(0.5 * self.city.rtt);
        let dark = Sample { at, rate: 0, delay, loss: 0.0, up: false };
        for steps in [&mut self.up, &mut self.down, &mut self.mean_up, &mut self.mean_down] {
            steps.push(dark);
        }
    }

    fn association(&mut self, association: &Association, from: u64, until: u64) {
        let quality = self.city.quality;
        let black = association.outcome == Outcome::NoTransport;
        let good_state = quality.bad_time * (1.0 - quality.bad_share) / quality.bad_share.max(1e-9);
        let mut level = Gaussian::new(RATE_TIME, &mut self.random);
        let mut bad = self.random.chance(quality.bad_share);
        let mut at = from;
        while at < until {
            let position = (crate::math::seconds(at) - association.start) / association.duration();
            let shape = fringe(position);
            let sigma = quality.rate_sigma;
            let wobble = exp(sigma * level.advance(self.step, &mut self.random) - 0.5 * sigma * sigma);
            let edge_loss = quality.edge_loss * (1.0 - shape);
            let state_loss = if bad { quality.bad_loss } else { quality.good_loss };
            let loss = if black { 1.0 } else { (state_loss + edge_loss).min(1.0) };
            let factor = quality.over_goodput * shape.max(0.05);
            let state_rate = if bad { quality.bad_rate } else { 1.0 };
            let base = 0.5 * self.city.rtt;
            let mean_loss =
                (1.0 - quality.bad_share) * quality.good_loss + quality.bad_share * quality.bad_loss;
            let mean_delay = (1.0 - quality.bad_share) * GOOD_DELAY + quality.bad_share * quality.bad_delay;
            let mean_rate = 1.0 - quality.bad_share * (1.0 - quality.bad_rate);
            for (goodput, real, mean) in [
                (association.goodput_up, &mut self.up, &mut self.mean_up),
                (association.goodput_down, &mut self.down, &mut self.mean_down),
            ] {
                let extra = if bad {
                    let median = quality.bad_delay * exp(-0.5 * BAD_DELAY_SIGMA * BAD_DELAY_SIGMA);
                    self.random.lognormal(median, BAD_DELAY_SIGMA)
                } else {
                    self.random.exponential(GOOD_DELAY)
                };
                let rate = (goodput * factor * state_rate * wobble).max(1e3) as u64;
                real.push(Sample { at, rate, delay: nanos(base + extra), loss, up: true });
                mean.push(Sample {
                    at,
                    rate: (goodput * factor * mean_rate) as u64,
                    delay: nanos(base + mean_delay),
                    loss: if black { 1.0 } else { (mean_loss + edge_loss).min(1.0) },
                    up: !black,
                });
            }
            // A state ends within the step with the probability that its exponential law gives.
            let stay = if bad { quality.bad_time } else { good_state };
            if self.random.chance(1.0 - exp(-self.step / stay)) {
                bad = !bad;
            }
            at += nanos(self.step);
        }
    }
}
