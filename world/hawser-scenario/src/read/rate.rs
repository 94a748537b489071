//! The forms of `rate`.

use std::sync::Arc;

use hawser_link::{RateModel, TokenBucket, Trace};
use hawser_trace::chances;

use super::fields::{Fields, Value};
use super::random::{self, Steps};
use super::series::schedule_or;
use super::{Context, Result};

/// The models as the file names them.
#[derive(Clone, Copy)]
enum Model {
    Sinusoid,
    Steps(Steps),
    TokenBucket,
}

const MODELS: [(&str, Model); 5] = [
    ("sinusoid", Model::Sinusoid),
    ("markov", Model::Steps(Steps::Markov)),
    ("redraw", Model::Steps(Steps::Redraw)),
    ("autoregressive", Model::Steps(Steps::Autoregressive)),
    ("token-bucket", Model::TokenBucket),
];

pub(super) fn rate(value: &Value<'_>, context: &mut Context<'_, '_>) -> Result<RateModel> {
    if value.as_string() == Some("unlimited") {
        return Ok(RateModel::Unlimited);
    }
    if value.is_table() {
        let fields = value.fields()?;
        if let Some(model) = fields.optional("model") {
            let model = model.choice(&MODELS)?;
            let rate = modelled(value, &fields, model)?;
            fields.finish()?;
            return Ok(rate);
        }
        if let Some(file) = fields.optional("trace") {
            fields.finish()?;
            let name = file.file()?;
            let text = context.files.read(&name).map_err(|message| file.error(message))?;
            let chances = chances(&name, &text).map_err(|error| file.error(error.to_string()))?;
            let trace = Trace::new(chances).map_err(|error| file.error(error.to_string()))?;
            return Ok(RateModel::Trace(Arc::new(trace)));
        }
    }
    let series = schedule_or(value, |value| value.rate(), 1e6, context)?;
    if series.points().iter().all(|point| point.1 == 0) {
        return Err(value.error("the rate is never above zero"));
    }
    Ok(RateModel::Scheduled(series))
}

fn modelled(value: &Value<'_>, fields: &Fields<'_>, model: Model) -> Result<RateModel> {
    Ok(match model {
        Model::Sinusoid => {
            let mean = fields.required("mean", "\"20 Mbit/s\"")?.positive_rate()?;
            let amplitude = fields.required("amplitude", "\"10 Mbit/s\"")?.rate()?;
            let period = fields.required("period", "\"60 s\"")?.interval()?;
            // In turns: 0.25 begins at the highest rate.
            let phase = fields.read_or("phase", 0.0, |value| value.within(0.0..=1.0))?;
            RateModel::sinusoid(mean, amplitude, period, phase)
        }
        Model::Steps(steps) => {
            let steps = random::steps(value, fields, steps, "\"20 Mbit/s\"", |value| value.rate())?;
            if steps.peak() == 0 {
                return Err(value.error("the rate is never above zero"));
            }
            RateModel::Random(steps)
        }
        Model::TokenBucket => {
            let rate = fields.required("rate", "\"20 Mbit/s\"")?.positive_rate()?;
            let burst = fields.required("burst", "\"50 kB\"")?.size_within(1..=1 << 40)?;
            let peak_rate = fields.read("peak", |value| match value.rate()? {
                peak if peak < rate => Err(value.error("the peak rate must not be below `rate`")),
                peak => Ok(peak),
            })?;
            RateModel::TokenBucket(TokenBucket { rate, burst, peak_rate })
        }
    })
}
