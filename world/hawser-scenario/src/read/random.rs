//! Values that change at random: the models that rates and jitter share.

use hawser_link::{Level, MarkovLevels, Nanos, RandomSteps};

use super::Result;
use super::fields::{Fields, Value};

/// The models as the file names them.
#[derive(Clone, Copy)]
pub(super) enum Steps {
    Markov,
    Redraw,
    Autoregressive,
}

/// A model whose values `read` reads; `example` shows one.
pub(super) fn steps(
    value: &Value<'_>,
    fields: &Fields<'_>,
    model: Steps,
    example: &str,
    read: fn(&Value<'_>) -> Result<u64>,
) -> Result<RandomSteps> {
    let interval = || fields.required("every", "\"1 s\"").and_then(|value| value.interval());
    Ok(match model {
        Steps::Markov => RandomSteps::Markov(markov(value, fields, read)?),
        Steps::Redraw => {
            let (base, spread) = match (fields.optional("range"), fields.optional("mean")) {
                (Some(range), None) => base_and_spread(&range, read)?,
                (None, Some(mean)) => (read(&mean)?, fields.required("spread", "0.3")?.within(0.0..=1.0)?),
                _ => {
                    let words = "expected either `range = [low, high]`, or `mean` and `spread`";
                    return Err(fields.missing(&["range", "mean"], words));
                }
            };
            RandomSteps::Redraw { base, spread, interval: interval()? }
        }
        Steps::Autoregressive => RandomSteps::Autoregressive {
            mean: read(&fields.required("mean", example)?)?,
            deviation: read(&fields.required("deviation", example)?)?,
            correlation: fields.required("correlation", "0.9")?.within(0.0..=0.999_999)?,
            interval: interval()?,
        },
    })
}

/// `[low, high]` as its middle, and half of its width as a share of that.
fn base_and_spread(range: &Value<'_>, read: fn(&Value<'_>) -> Result<u64>) -> Result<(u64, f64)> {
    match range.list(read)?[..] {
        [low, high] if low <= high && high > 0 => {
            Ok((low.midpoint(high), (high - low) as f64 / (low + high) as f64))
        }
        _ => Err(range.error("expected [low, high] with `low` not above `high`")),
    }
}

/// `levels = [["20 Mbit/s", "10 s"], ["2 Mbit/s", "1 s"]]`, or levels without times and one `stay` for all.
fn markov(
    value: &Value<'_>,
    fields: &Fields<'_>,
    read: fn(&Value<'_>) -> Result<u64>,
) -> Result<MarkovLevels> {
    let stay = fields.read("stay", |value| value.interval())?;
    let levels = fields.required("levels", "[[\"20 Mbit/s\", \"10 s\"], [\"2 Mbit/s\", \"1 s\"]]")?;
    let level = |item: &Value<'_>| -> Result<Level> {
        let (value, mean_stay): (u64, Nanos) = match (item.is_array(), stay) {
            (false, Some(stay)) => (read(item)?, stay),
            (true, None) => match &item.array()?[..] {
                [value, stay] => (read(value)?, stay.interval()?),
                other => {
                    return Err(
                        item.error(format!("expected [value, mean stay], found {} items", other.len()))
                    );
                }
            },
            _ => {
                return Err(item.error("expected [value, mean stay], or plain values and one `stay` for all"));
            }
        };
        Ok(Level { value, mean_stay })
    };
    let levels = levels.list(level)?;
    let moves = fields.read("moves", |value| value.list(|row| row.list(|share| share.probability())))?;
    MarkovLevels::new(levels, moves).map_err(|error| value.error(error.to_string()))
}
