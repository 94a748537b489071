//! `channel = { scene = "road", link = "lte" }`: a link that does what a scene says.

use std::sync::Arc;

use hawser_link::{LossModel, NEVER, Nanos, Outages, RateModel, Series, derive_seed};
use hawser_radio::{EventKind, ForecastQuality, Profile, Sample};

use super::fields::Value;
use super::{Context, Result};

/// What a scene gives for one direction.
pub(crate) struct Channel {
    pub(crate) rate: RateModel,
    pub(crate) delay: Series<Nanos>,
    pub(crate) loss: LossModel,
    pub(crate) outages: Outages,
}

/// The profile that a link follows.
pub(super) fn profile(value: &Value<'_>, context: &Context<'_, '_>) -> Result<Arc<Profile>> {
    if let Some(scene) = value.as_string() {
        return only_link(value, scene, context);
    }
    let fields = value.fields()?;
    let scene = fields.required("scene", "\"road\"")?;
    let link = fields.optional("link");
    fields.finish()?;
    let Some(link) = link else { return only_link(&scene, scene.string()?, context) };
    let profiles = profiles(&scene, scene.string()?, context)?;
    let name = link.string()?;
    profiles
        .iter()
        .find(|profile| profile.name == name)
        .cloned()
        .ok_or_else(|| link.error(format!("the scene has no link {name:?}; it has: {}", names(profiles))))
}

fn only_link(place: &Value<'_>, scene: &str, context: &Context<'_, '_>) -> Result<Arc<Profile>> {
    match profiles(place, scene, context)? {
        [profile] => Ok(profile.clone()),
        profiles => Err(place.error(format!(
            "the scene has {} links; say which: {{ scene = {scene:?}, link = .. }} with one of: {}",
            profiles.len(),
            names(profiles)
        ))),
    }
}

fn profiles<'c>(place: &Value<'_>, scene: &str, context: &'c Context<'_, '_>) -> Result<&'c [Arc<Profile>]> {
    context.scenes.get(scene).map(Vec::as_slice).ok_or_else(|| {
        let names: Vec<_> = context.scenes.keys().map(String::as_str).collect();
        place.error(match names[..] {
            [] => format!("there is no scene {scene:?}; add [scene.{scene}] with a `model`"),
            _ => format!("there is no scene {scene:?}; there are: {}", names.join(", ")),
        })
    })
}

fn names(profiles: &[Arc<Profile>]) -> String {
    let names: Vec<_> = profiles.iter().map(|profile| profile.name.as_str()).collect();
    names.join(", ")
}

/// One direction of a profile as parameters of a link. `more_delay` comes on top.
pub(crate) fn direction(samples: &[Sample], more_delay: Nanos) -> Channel {
    let rate = series(samples, |sample| sample.rate);
    let loss = series(samples, |sample| sample.loss);
    Channel {
        rate: RateModel::Scheduled(rate.unwrap_or_else(|| Series::constant(0))),
        delay: series(samples, |sample| sample.delay.saturating_add(more_delay))
            .unwrap_or_else(|| Series::constant(more_delay)),
        loss: match loss {
            Some(loss) if loss.points().iter().any(|point| point.1 > 0.0) => LossModel::Series(loss),
            _ => LossModel::None,
        },
        outages: outages(samples),
    }
}

/// One quantity of the samples, with its changes only.
fn series<T: Copy + PartialEq>(samples: &[Sample], quantity: impl Fn(&Sample) -> T) -> Option<Series<T>> {
    let mut points: Vec<(Nanos, T)> = Vec::new();
    for sample in samples {
        let value = quantity(sample);
        if points.last().is_none_or(|last| last.1 != value) {
            points.push((sample.at, value));
        }
    }
    Series::new(points, None).ok()
}

fn outages(samples: &[Sample]) -> Outages {
    let mut outages = Outages::none();
    let mut down_since = None;
    for sample in samples {
        match (sample.up, down_since) {
            (false, None) => down_since = Some(sample.at),
            (true, Some(from)) => {
                outages = outages.with_window(from, sample.at);
                down_since = None;
            }
            _ => {}
        }
    }
    match down_since {
        Some(from) => outages.with_window(from, NEVER),
        None => outages,
    }
}

/// What happened to a link, in words.
pub(super) fn marks(profile: &Profile) -> Vec<(Nanos, String)> {
    let mark = |event: &hawser_radio::Event| {
        let kind = match event.kind {
            EventKind::Attach => "attach",
            EventKind::Detach => "detach",
            EventKind::HandOverStart => "handover start",
            EventKind::HandOverEnd => "handover end",
            EventKind::Reconfiguration => "reconfiguration",
            EventKind::AddressChange => "address change",
        };
        let text = event.cell.map_or(kind.to_owned(), |cell| format!("{kind}, cell {cell}"));
        (event.at, text)
    };
    profile.events.iter().map(mark).collect()
}

/// When the other end sees another address.
pub(super) fn address_changes(profile: &Profile) -> impl Iterator<Item = Nanos> + '_ {
    profile.events.iter().filter(|event| event.kind == EventKind::AddressChange).map(|event| event.at)
}

/// `"absent"`, `"perfect"`, `{ delayed = "500 ms" }` or `{ noise = 0.2 }`.
pub(super) fn forecast(value: &Value<'_>, link: &str, context: &Context<'_, '_>) -> Result<ForecastQuality> {
    if !value.is_table() {
        return value.choice(&[("absent", ForecastQuality::Absent), ("perfect", ForecastQuality::Perfect)]);
    }
    let fields = value.fields()?;
    let delayed = fields.read("delayed", |value| value.duration())?;
    let noise = fields.read("noise", |value| value.within(0.0..=10.0))?;
    fields.finish()?;
    match (delayed, noise) {
        (Some(by), None) => Ok(ForecastQuality::Delayed(std::time::Duration::from_nanos(by))),
        (None, Some(deviation)) => {
            let seed = derive_seed(context.seed, &format!("forecast/{link}"));
            Ok(ForecastQuality::Noisy { deviation, seed })
        }
        _ => {
            Err(value.error("expected \"absent\", \"perfect\", { delayed = \"500 ms\" } or { noise = 0.2 }"))
        }
    }
}

/// By how much later than they are the outages of a link without a channel are foreseen.
pub(super) fn foreseen_outages(
    value: &Value<'_>,
    quality: ForecastQuality,
    outages: &Outages,
) -> Result<Option<std::time::Duration>> {
    match quality {
        ForecastQuality::Absent => Ok(None),
        _ if outages.is_empty() => Err(value.error(
            "only a link with a `channel`, its own or that of a segment, or with an `outage` can be foreseen",
        )),
        ForecastQuality::Perfect => Ok(Some(std::time::Duration::ZERO)),
        ForecastQuality::Delayed(by) => Ok(Some(by)),
        ForecastQuality::Noisy { .. } => Err(value.error(
            "capacities are foreseen of a link with a `channel` only; its outages are not off by a share",
        )),
    }
}
