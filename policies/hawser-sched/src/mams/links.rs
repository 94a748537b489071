//! What is known of the ends of the paths: of local links from their observer, of the peer's from its reports.

use std::time::Duration;

use hawser_paths::MobilityReport;
use hawser_policy::{AttachmentPoint, LinkId, LinkState, LinkUpdate, PathId, PathView, Rate, Time};

use super::forecast::{MamsForecast, MamsPoint};
use crate::placement::datagram;

/// Links, and paths with reports, that are remembered.
const MAX_LINKS: usize = 64;

/// Samples of a link: its state now, and forecasts.
const MAX_SAMPLES: usize = 4;

/// A change of a capacity by more than this share, or of a loss rate by more than this, is a reason to plan again.
const CAPACITY_CHANGE: f64 = 0.25;
const LOSS_CHANGE: f64 = 0.05;

/// What a link carries towards the network at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sample {
    at: Time,
    /// None: not known.
    capacity: Option<Rate>,
    loss: Option<f64>,
}

impl Sample {
    fn of(at: Time, state: &LinkState) -> Self {
        let capacity = if state.is_up { state.uplink.capacity } else { Some(Rate::ZERO) };
        Sample { at, capacity, loss: state.uplink.loss.filter(|loss| loss.is_finite()) }
    }

    fn differs_from(&self, other: &Sample) -> bool {
        let bits = |sample: &Sample| sample.capacity.map(|rate| rate.bits_per_second() as f64);
        differ(bits(self), bits(other), |one, other| (one - other).abs() > CAPACITY_CHANGE * other)
            || differ(self.loss, other.loss, |one, other| (one - other).abs() > LOSS_CHANGE)
    }
}

fn differ(one: Option<f64>, other: Option<f64>, differ: impl Fn(f64, f64) -> bool) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => differ(one, other),
        (one, other) => one.is_some() != other.is_some(),
    }
}

/// One of our links.
#[derive(Clone, Debug)]
struct Local {
    link: LinkId,
    samples: [Option<Sample>; MAX_SAMPLES],
    /// The state that the last plan was made with.
    planned: Option<Sample>,
    attached_to: Option<AttachmentPoint>,
}

/// The peer's end of a path.
#[derive(Clone, Debug)]
struct Reported {
    path: PathId,
    /// When its first entry held.
    made_at: Time,
    report: MobilityReport,
    planned: Option<f64>,
}

/// Everything that is known.
#[derive(Clone, Debug, Default)]
pub(super) struct Links {
    local: Vec<Local>,
    reported: Vec<Reported>,
    /// Reports that could not be read, or came for no path.
    pub(super) reports_ignored: u64,
}

impl Links {
    /// News of a local link. Whether it is a reason to plan again.
    pub(super) fn on_update(&mut self, update: &LinkUpdate<'_>) -> bool {
        let known = self.local.iter().position(|local| local.link == update.link);
        let Some(at) = known.or_else(|| self.add(update.link)) else { return false };
        let local = &mut self.local[at];
        let now = Sample::of(update.now, update.state);
        let forecasts = update.forecasts.iter().map(|forecast| Sample::of(forecast.at, &forecast.state));
        let mut all = std::iter::once(now).chain(forecasts);
        local.samples = std::array::from_fn(|_| all.next());
        let moved = local.attached_to != update.state.attached_to;
        local.attached_to = update.state.attached_to;
        moved || local.planned.is_none_or(|planned| now.differs_from(&planned))
    }

    fn add(&mut self, link: LinkId) -> Option<usize> {
        if self.local.len() >= MAX_LINKS {
            return None;
        }
        self.local.push(Local { link, samples: [None; MAX_SAMPLES], planned: None, attached_to: None });
        Some(self.local.len() - 1)
    }

    /// A report of the peer about a path, which took `one_way`. Whether it is a reason to plan again.
    pub(super) fn on_report(
        &mut self,
        now: Time,
        path: PathId,
        report: MobilityReport,
        one_way: Duration,
    ) -> bool {
        let made_at = now - report.age - one_way;
        let product = report.entries.first().map(|entry| f64::from(entry.bandwidth_delay_product));
        let Some(known) = self.reported.iter_mut().find(|known| known.path == path) else {
            let is_remembered = self.reported.len() < MAX_LINKS;
            if is_remembered {
                self.reported.push(Reported { path, made_at, report, planned: None });
            }
            return is_remembered;
        };
        (known.made_at, known.report) = (made_at, report);
        differ(product, known.planned, |one, other| (one - other).abs() > CAPACITY_CHANGE * other)
    }

    /// A path is gone.
    pub(super) fn forget(&mut self, path: PathId) {
        self.reported.retain(|known| known.path != path);
    }

    /// A plan is made with what is known now.
    pub(super) fn on_planned(&mut self) {
        for local in &mut self.local {
            local.planned = local.samples[0];
        }
        for known in &mut self.reported {
            let first = known.report.entries.first();
            known.planned = first.map(|entry| f64::from(entry.bandwidth_delay_product));
        }
    }

    /// What our end of a path is expected to carry: BDP_up. Also whether its loss is known.
    pub(super) fn up(&self, now: Time, path: &PathView) -> (MamsForecast, bool) {
        let local = self.local.iter().find(|local| Some(local.link) == path.link);
        let samples = local.map(|local| &local.samples[..]).unwrap_or_default();
        let knows_loss = samples.iter().flatten().any(|sample| sample.loss.is_some());
        let per_packet = 8.0 * datagram(path) as f64;
        let rtt = path.smoothed_rtt.as_secs_f64();
        let points = samples.iter().flatten().map(|sample| MamsPoint {
            at: seconds(now, sample.at),
            packets: sample
                .capacity
                .map_or(f64::INFINITY, |rate| rate.bits_per_second() as f64 * rtt / per_packet),
            loss: sample.loss.unwrap_or(0.0),
        });
        (points.collect(), knows_loss)
    }

    /// Time that a packet takes on our link; none: not known.
    pub(super) fn packet_time(&self, path: &PathView) -> Option<f64> {
        let local = self.local.iter().find(|local| Some(local.link) == path.link)?;
        let rate = local.samples[0]?.capacity?;
        (rate > Rate::ZERO).then(|| 8.0 * datagram(path) as f64 / rate.bits_per_second() as f64)
    }

    /// What the peer's end of a path is expected to carry: BDP_down, as long as its report covers it. Also whether its loss is
    /// known.
    pub(super) fn down(&self, now: Time, path: &PathView) -> (MamsForecast, bool) {
        let valid = |known: &&Reported| {
            let covered = known.report.step.saturating_mul(known.report.entries.len() as u32);
            known.path == path.id && now <= known.made_at + covered
        };
        let Some(known) = self.reported.iter().find(valid) else { return (MamsForecast::UNKNOWN, false) };
        let size = datagram(path) as f64;
        let entries = known.report.entries.iter().zip(0u32..);
        let points = entries.map(|(entry, number)| MamsPoint {
            at: seconds(now, known.made_at + known.report.step.saturating_mul(number)),
            // A host that says nothing arrives has no link; else it is believed in as little as one packet.
            packets: f64::from(entry.bandwidth_delay_product) / size,
            loss: f64::from(entry.loss_ppm.unwrap_or(0)) / 1e6,
        });
        let knows_loss = known.report.entries.iter().any(|entry| entry.loss_ppm.is_some());
        (points.collect(), knows_loss)
    }
}

/// Seconds from `now` to `then`, below zero if it has passed.
fn seconds(now: Time, then: Time) -> f64 {
    then.since(now).as_secs_f64() - now.since(then).as_secs_f64()
}
