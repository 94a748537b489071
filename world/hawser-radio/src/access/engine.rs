use super::sites::{choose, note_change, stronger};
use super::{Access, Layout, Reach};
use crate::math::{from_db, log2, nanos, seconds};
use crate::mobility::{Trajectory, distance};
use crate::profile::{Event, ForecastSamples, Profile, Sample, Steps, gaps, layered};
use crate::propagation::{Fading, PathLoss, ShadowField};
use crate::random::Random;

/// What one cell radiates and gives.
#[derive(Clone, Copy)]
pub(crate) struct Cell {
    /// Power after all antenna gains, dBm.
    pub(crate) power_dbm: f64,
    /// Noise and interference in its band, dBm.
    pub(crate) noise_dbm: f64,
    /// bit/s per unit of log2(1 + snr).
    pub(crate) bits_per_log: f64,
}

/// Shortest fading block that is drawn as such. Shorter ones end within a packet or two, so that a loss probability
/// per packet says the same with a thousandth of the samples.
const SHORTEST_BLOCK: f64 = 1e-3;

/// Drives a host through a network and writes down what its link gives.
pub(crate) struct Engine<'a> {
    pub(crate) name: &'a str,
    pub(crate) layout: &'a Layout,
    pub(crate) path_loss: PathLoss,
    pub(crate) cell: &'a dyn Fn(u64) -> Cell,
    pub(crate) access: &'a Access,
    pub(crate) one_way_delay: f64,
}

/// Signal of the serving cell from a time on.
struct Signal {
    at: u64,
    snr: f64,
    speed: f64,
}

/// What is known once the host has gone its way, before the fading is drawn.
struct Journey {
    forecast: Vec<Sample>,
    signals: Vec<Signal>,
    events: Vec<Event>,
    gaps: Vec<(u64, u64)>,
}

impl Engine<'_> {
    pub(crate) fn drive(&self, trajectory: &Trajectory, duration_ns: u64, seed: u64) -> Profile {
        let journey = self.journey(trajectory, duration_ns, seed);
        let carries = gaps(&journey.gaps);
        let mean = layered(&journey.forecast, &[], &carries);
        let lossless: Vec<Sample> =
            journey.forecast.iter().map(|sample| Sample { loss: 0.0, ..*sample }).collect();
        let direction = |name: &str| {
            let mut random = Random::new(seed, &format!("{} fading {name}", self.name));
            layered(&lossless, &self.losses(&journey.signals, duration_ns, &mut random), &carries)
        };
        Profile {
            name: self.name.to_owned(),
            up: direction("up"),
            down: direction("down"),
            events: journey.events,
            forecast: ForecastSamples { up: mean.clone(), down: mean },
            positions: trajectory.positions(duration_ns),
            sites: None,
        }
    }

    /// What every site within reach would give along the way: for models without fading, in which it is no matter of
    /// chance.
    pub(crate) fn survey(&self, trajectory: &Trajectory, duration_ns: u64, seed: u64) -> Vec<Vec<Reach>> {
        let shadow_seed = crate::random::component_seed(seed, self.name);
        let mut shadows = ShadowField::new(self.access.shadowing, shadow_seed);
        let step = nanos(self.access.update_interval);
        let reach = |(site, rss_dbm): (u64, f64)| {
            let cell = (self.cell)(site);
            let snr = from_db(rss_dbm - cell.noise_dbm);
            let rate = (cell.bits_per_log * log2(1.0 + snr)).max(1.0) as u64;
            let loss = self.access.loss.mean(snr, &self.access.fading);
            Reach { site, rss_dbm, snr_db: rss_dbm - cell.noise_dbm, rate, loss }
        };
        let look =
            |at: u64| self.heard(trajectory, seconds(at), &mut shadows).into_iter().map(reach).collect();
        (0..duration_ns.div_ceil(step)).map(|index| index * step).map(look).collect()
    }

    /// The sites near the host, and their mean signals in dBm.
    fn heard(&self, trajectory: &Trajectory, time: f64, shadows: &mut ShadowField) -> Vec<(u64, f64)> {
        let place = trajectory.at(time);
        let travelled = trajectory.travelled(time);
        let near = self.layout.near(place).into_iter();
        near.map(|(id, site)| {
            let far = distance(site, place).max(self.access.minimum_distance);
            let shadow = shadows.towards(id, travelled);
            (id, (self.cell)(id).power_dbm - self.path_loss.db(far) + shadow)
        })
        .collect()
    }

    /// Moves the host and lets it choose cells.
    fn journey(&self, trajectory: &Trajectory, duration_ns: u64, seed: u64) -> Journey {
        let rule = &self.access.hand_over;
        let step = nanos(self.access.update_interval);
        let shadow_seed = crate::random::component_seed(seed, self.name);
        let mut shadows = ShadowField::new(self.access.shadowing, shadow_seed);
        let mut forecast = Steps::new();
        let mut journey =
            Journey { forecast: Vec::new(), signals: Vec::new(), events: Vec::new(), gaps: Vec::new() };
        let mut serving: Option<u64> = None;
        let mut busy_until = 0;
        let mut at = 0;
        while at < duration_ns {
            let time = seconds(at);
            let heard = self.heard(trajectory, time, &mut shadows);
            let best = heard.iter().copied().fold(None, stronger);
            if at >= busy_until {
                let before = serving;
                serving = choose(serving, &heard, best, rule);
                let change = note_change(before, serving, at, rule, &mut journey.events, &mut journey.gaps);
                busy_until = change.unwrap_or(busy_until);
            }
            let level = serving.and_then(|id| heard.iter().find(|known| known.0 == id)).copied();
            self.write(at, level, trajectory.speed(time), &mut forecast, &mut journey.signals);
            at += step;
        }
        journey.forecast = forecast.finish();
        journey
    }

    fn write(
        &self,
        at: u64,
        level: Option<(u64, f64)>,
        speed: f64,
        forecast: &mut Steps,
        signals: &mut Vec<Signal>,
    ) {
        let delay = nanos(self.one_way_delay);
        let Some((id, rss)) = level else {
            forecast.push(Sample { at, rate: 0, delay, loss: 1.0, up: false });
            signals.push(Signal { at, snr: 0.0, speed });
            return;
        };
        let cell = (self.cell)(id);
        let snr = from_db(rss - cell.noise_dbm);
        let rate = (cell.bits_per_log * log2(1.0 + snr)).max(1.0) as u64;
        let loss = self.access.loss.mean(snr, &self.access.fading);
        forecast.push(Sample { at, rate, delay, loss, up: true });
        signals.push(Signal { at, snr, speed });
    }

    /// Draws the fading block by block; the loss of a packet then follows from the SNR of its block.
    fn losses(&self, signals: &[Signal], duration_ns: u64, random: &mut Random) -> Vec<(u64, f64)> {
        let (fading, loss) = (&self.access.fading, &self.access.loss);
        let mut losses: Vec<(u64, f64)> = Vec::new();
        let mut note = |at: u64, value: f64| {
            if losses.last().is_none_or(|last| last.1 != value) {
                losses.push((at, value));
            }
        };
        let (mut block_end, mut gain) = (0.0, 1.0);
        for (index, signal) in signals.iter().enumerate() {
            let until = seconds(signals.get(index + 1).map_or(duration_ns, |next| next.at));
            let speed = signal.speed.max(self.access.environment_speed);
            let block = Fading::coherence_time(self.access.wavelength, speed);
            if *fading == Fading::None || block < SHORTEST_BLOCK {
                note(signal.at, loss.mean(signal.snr, fading));
                continue;
            }
            let mut time = seconds(signal.at);
            while time < until {
                if block_end <= time {
                    gain = fading.draw(random);
                    block_end = time + block;
                }
                note(nanos(time), loss.at(signal.snr * gain));
                time = block_end.min(until);
            }
        }
        losses
    }
}
