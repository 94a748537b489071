//! The forms of `jitter`.

use hawser_link::{Jitter, MILLISECOND, Nanos};

use super::Result;
use super::fields::{Fields, Value};
use super::random::{self, Steps};

/// Times the mean that the deviation of a gamma distribution may be. Its shape is the square of their quotient: at a
/// millionth already about one draw in a hundred thousand differs from zero, and carries the whole mean.
const MOST_SPREAD: u64 = 1000;

/// The models as the file names them.
#[derive(Clone, Copy)]
enum Model {
    Gamma,
    Gaussian,
    Exponential,
    Uniform,
    Walk,
    Steps(Steps),
}

const MODELS: [(&str, Model); 8] = [
    ("gamma", Model::Gamma),
    ("gaussian", Model::Gaussian),
    ("exponential", Model::Exponential),
    ("uniform", Model::Uniform),
    ("walk", Model::Walk),
    ("markov", Model::Steps(Steps::Markov)),
    ("redraw", Model::Steps(Steps::Redraw)),
    ("autoregressive", Model::Steps(Steps::Autoregressive)),
];

/// The jitter, and whether packets may overtake each other.
pub(super) fn jitter(value: &Value<'_>) -> Result<(Jitter, bool)> {
    if value.as_string() == Some("none") {
        // Takes away that of an included file.
        return Ok((Jitter::None, false));
    }
    let fields = value.fields()?;
    let model = fields.required("model", "\"gamma\"")?.choice(&MODELS)?;
    let jitter = modelled(value, &fields, model)?;
    let reordering = fields.read_or("reordering", false, |value| value.boolean())?;
    fields.finish()?;
    Ok((jitter, reordering))
}

/// The deviation of a gamma distribution of this mean.
fn gamma_deviation(value: &Value<'_>, mean: Nanos) -> Result<Nanos> {
    match value.positive_duration()? {
        deviation if deviation / MOST_SPREAD > mean => Err(value.error(format!(
            "expected at most {MOST_SPREAD} times `mean`; beyond that nearly every packet has no jitter at all"
        ))),
        deviation => Ok(deviation),
    }
}

fn modelled(value: &Value<'_>, fields: &Fields<'_>, model: Model) -> Result<Jitter> {
    let time = |name, example| fields.required(name, example).and_then(|value| value.positive_duration());
    Ok(match model {
        Model::Gamma => {
            let mean = time("mean", "\"4 ms\"")?;
            let deviation = fields.required("deviation", "\"3 ms\"")?;
            Jitter::Gamma { mean, deviation: gamma_deviation(&deviation, mean)? }
        }
        Model::Gaussian => Jitter::Gaussian {
            mean: fields.read_or("mean", 0, |value| value.duration())?,
            deviation: time("deviation", "\"3 ms\"")?,
        },
        Model::Exponential => Jitter::Exponential { mean: time("mean", "\"4 ms\"")? },
        Model::Uniform => Jitter::Uniform { maximum: time("maximum", "\"10 ms\"")? },
        Model::Walk => {
            let (maximum, step) = (time("maximum", "\"10 ms\"")?, time("step", "\"1 ms\"")?);
            let interval = fields.read_or("interval", 10 * MILLISECOND, |value| value.interval())?;
            if step > maximum {
                return Err(value.error("`step` must not exceed `maximum`"));
            }
            Jitter::RandomWalk { maximum, step, interval }
        }
        Model::Steps(steps) => {
            Jitter::Steps(random::steps(value, fields, steps, "\"5 ms\"", |value| value.duration())?)
        }
    })
}
