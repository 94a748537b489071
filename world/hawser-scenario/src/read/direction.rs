//! One direction of a link or segment.

use hawser_link::{
    DelayModel, DirectionConfig, Impairments, Jitter, LossModel, MILLISECOND, NEVER, Nanos, OutagePolicy,
    Outages, Series,
};
use hawser_radio::{Profile, Sample};

use super::channel::{self, Channel};
use super::fields::{Fields, Value};
use super::jitter::jitter;
use super::loss::loss;
use super::queue::queue;
use super::rate::rate;
use super::series::schedule_or;
use super::{Context, Result};

/// Both directions of a link: `up` and `down` of its table over the rest of it. With a `profile` that says how fast
/// and how far it is, when it is down and what it loses.
pub(super) fn directions(
    fields: &Fields<'_>,
    profile: Option<&Profile>,
    context: &mut Context<'_, '_>,
) -> Result<(DirectionConfig, DirectionConfig)> {
    let mtu =
        fields.read_or("mtu", u64::from(DirectionConfig::DEFAULT_MTU), |value| value.integer(576..=9000))?;
    let mut direction = |name, samples: Option<&[Sample]>| -> Result<DirectionConfig> {
        let special = fields.read(name, |value| value.fields())?;
        let parameters = Overridden { base: fields, special: special.as_ref() };
        let channel = match samples {
            Some(samples) => parameters.given(samples)?,
            None => parameters.written(context)?,
        };
        let config = parameters.around(channel, mtu as u32)?;
        special.map_or(Ok(()), Fields::finish)?;
        Ok(config)
    };
    let up = direction("up", profile.map(|profile| profile.up.as_slice()))?;
    Ok((up, direction("down", profile.map(|profile| profile.down.as_slice()))?))
}

/// The fields of a link, each replaced by that of its `up` or `down` table if present there.
struct Overridden<'f, 'a> {
    base: &'f Fields<'a>,
    special: Option<&'f Fields<'a>>,
}

impl<'a> Overridden<'_, 'a> {
    fn optional(&self, name: &'static str) -> Option<Value<'a>> {
        // Both are asked, so that both know the field as allowed.
        let base = self.base.optional(name);
        self.special.and_then(|special| special.optional(name)).or(base)
    }

    fn read_or<T>(
        &self,
        name: &'static str,
        default: T,
        read: impl FnOnce(&Value<'a>) -> Result<T>,
    ) -> Result<T> {
        self.optional(name).map_or(Ok(default), |value| read(&value))
    }

    /// Rate, delay, loss and outages as the file says.
    fn written(&self, context: &mut Context<'_, '_>) -> Result<Channel> {
        let rate = match self.optional("rate") {
            Some(value) => rate(&value, context)?,
            None => rate(&self.base.required("rate", "\"40 Mbit/s\"")?, context)?,
        };
        let delay = self.read_or("delay", Series::constant(0), |value| {
            schedule_or(value, |value| value.duration(), MILLISECOND as f64, context)
        })?;
        let loss = self.read_or("loss", LossModel::None, |value| loss(value, context))?;
        let outages = self.read_or("outage", Outages::none(), outages)?;
        Ok(Channel { rate, delay, loss, outages })
    }

    /// Rate, delay, loss and outages as a scene says; `delay` comes on top.
    fn given(&self, samples: &[Sample]) -> Result<Channel> {
        for name in ["rate", "loss", "outage"] {
            if let Some(value) = self.optional(name) {
                return Err(
                    value.error(format!("the `channel` says so already; remove `{name}` or `channel`"))
                );
            }
        }
        Ok(channel::direction(samples, self.read_or("delay", 0, |value| value.duration())?))
    }

    /// The rest of a direction.
    fn around(&self, channel: Channel, mtu: u32) -> Result<DirectionConfig> {
        let Channel { rate, delay, loss, outages } = channel;
        let (jitter, reordering) = self.read_or("jitter", (Jitter::None, false), jitter)?;
        let policies = [("drop", OutagePolicy::Drop), ("hold", OutagePolicy::Hold)];
        Ok(DirectionConfig {
            queue: queue(self.optional("queue"), &rate, mtu)?,
            rate,
            delay: DelayModel { base: delay, jitter, reordering },
            loss,
            impairments: self.impairments()?,
            mtu,
            outages,
            outage_policy: self.read_or("on_outage", OutagePolicy::Drop, |value| value.choice(&policies))?,
        })
    }

    fn impairments(&self) -> Result<Impairments> {
        let (reordering, reordering_delay) = self.read_or("reorder", (0.0, 0), reorder)?;
        Ok(Impairments {
            duplication: self.read_or("duplicate", 0.0, |value| value.probability())?,
            corruption: self.read_or("corrupt", 0.0, |value| value.probability())?,
            reordering,
            reordering_delay,
        })
    }
}

/// `{ probability = "1 %", delay = "10 ms" }`: packets held back, which others overtake.
fn reorder(value: &Value<'_>) -> Result<(f64, Nanos)> {
    let fields = value.fields()?;
    let probability = fields.required("probability", "\"1 %\"")?.probability()?;
    let delay = fields.required("delay", "\"10 ms\"")?.positive_duration()?;
    fields.finish()?;
    Ok((probability, delay))
}

fn outages(value: &Value<'_>) -> Result<Outages> {
    let mut outages = Outages::none();
    if value.is_array() {
        for item in value.array()? {
            let fields = item.fields()?;
            let from = fields.required("from", "\"20 s\"")?.duration()?;
            let to = fields.read_or("to", NEVER, |value| value.duration())?;
            fields.finish()?;
            if to <= from {
                return Err(item.error("an outage must end after it begins"));
            }
            outages = outages.with_window(from, to);
        }
        return Ok(outages);
    }
    let fields = value.fields()?;
    let every = fields.required("every", "\"15 s\"")?.interval()?;
    let duration = fields.required("duration", "\"300 ms\"")?.positive_duration()?;
    let offset = fields.read_or("offset", 0, |value| value.duration())?;
    fields.finish()?;
    if duration >= every {
        return Err(value.error("`duration` must be shorter than `every`"));
    }
    Ok(outages.with_period(every, duration, offset))
}
