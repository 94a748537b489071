//! The forms of `loss`, and of `duplicate`, `reorder` and `corrupt`.

use hawser_link::{LossModel, Series};

use super::fields::{Fields, Value};
use super::series::{points_of_file, step};
use super::{Context, Result};

/// The models as the file names them.
#[derive(Clone, Copy)]
enum Model {
    GilbertElliott,
    Bursts,
}

const MODELS: [(&str, Model); 2] = [("gilbert-elliott", Model::GilbertElliott), ("bursts", Model::Bursts)];

pub(super) fn loss(value: &Value<'_>, context: &mut Context<'_, '_>) -> Result<LossModel> {
    if !value.is_table() {
        return Ok(match value.probability()? {
            0.0 => LossModel::None,
            probability => LossModel::Bernoulli { probability },
        });
    }
    let fields = value.fields()?;
    let model = match fields.optional("model") {
        Some(model) => match model.choice(&MODELS)? {
            Model::GilbertElliott => gilbert_elliott(&fields)?,
            Model::Bursts => LossModel::Events {
                mean_interval: fields.required("every", "\"10 s\"")?.interval()?,
                packets: fields.required("packets", "5")?.integer(1..=1_000_000)? as u32,
            },
        },
        None => over_time(&fields, context)?,
    };
    fields.finish()?;
    Ok(model)
}

fn gilbert_elliott(fields: &Fields<'_>) -> Result<LossModel> {
    match (fields.optional("loss"), fields.optional("mean_burst")) {
        (Some(loss), Some(burst)) => runs(&loss, &burst),
        (None, None) => {
            let probability = |name| fields.required(name, "0.01").and_then(|value| value.probability());
            Ok(LossModel::GilbertElliott {
                good_to_bad: probability("good_to_bad")?,
                bad_to_good: probability("bad_to_good")?,
                loss_good: probability("loss_good")?,
                loss_bad: probability("loss_bad")?,
            })
        }
        _ => Err(fields.missing(&["loss", "mean_burst"], "`loss` and `mean_burst` go together")),
    }
}

/// Runs of losses. The good state is left with a probability of `loss / (1 - loss) / mean_burst`, which is 1 at most:
/// between two runs lies one packet or more.
fn runs(loss: &Value<'_>, burst: &Value<'_>) -> Result<LossModel> {
    let (share, mean) = (loss.probability()?, burst.at_least_one()?);
    if share >= 1.0 {
        return Err(loss.error("a loss of 100 % has no runs; write `loss = 1` for the link"));
    }
    let least = share / (1.0 - share);
    // A millionth forgives that 0.6 has no exact binary value.
    if mean < least * (1.0 - 1e-6) {
        let shown = (least * 1e3 - 1e-3).ceil() / 1e3;
        return Err(burst.error(format!(
            "expected at least {shown}, found {mean}: at a loss of {share} a run is `loss / (1 - loss)` packets or more"
        )));
    }
    Ok(LossModel::bursts(share, mean))
}

/// Probabilities that change at known times.
fn over_time(fields: &Fields<'_>, context: &mut Context<'_, '_>) -> Result<LossModel> {
    let period = fields.read("repeat", |value| value.interval())?;
    let interval = fields.read("interval", |value| value.interval())?;
    let (place, points) = match (fields.optional("steps"), fields.optional("series")) {
        (Some(steps), None) if interval.is_none() => {
            let points = steps.list(|pair| step(pair, |value| value.probability()))?;
            (steps, points)
        }
        (None, Some(file)) => {
            let points = points_of_file(&file, interval, 1.0, context)?;
            if let Some(point) = points.iter().find(|point| point.1 > 1.0) {
                return Err(file.error(format!("the series has a probability of {}, above 1", point.1)));
            }
            (file, points)
        }
        _ => {
            let words = "expected a `model`, `steps = [[time, probability], ...]` or `series = \"file\"`";
            return Err(fields.missing(&["model", "steps", "series"], words));
        }
    };
    let series = Series::new(points, period).map_err(|error| place.error(error.to_string()))?;
    Ok(LossModel::Series(series))
}
