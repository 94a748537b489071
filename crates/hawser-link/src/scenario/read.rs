//! From TOML to a checked [`Scenario`].

use std::sync::Arc;
use std::time::Duration;

use toml::de::DeTable;

use super::error::{ScenarioError, Source};
use super::fields::{Fields, Value};
use super::{Host, Scenario, ScenarioLink};
use crate::config::DirectionConfig;
use crate::delay::{DelayModel, Jitter};
use crate::loss::LossModel;
use crate::outage::{OutagePolicy, Outages};
use crate::rate::RateModel;
use crate::series::Series;
use crate::time::{MILLISECOND, NEVER, Nanos, SECOND, seconds};
use crate::trace::Trace;
use crate::units;

type Result<T> = std::result::Result<T, ScenarioError>;
type ReadFile<'r> = dyn FnMut(&str) -> std::result::Result<String, String> + 'r;

/// Steps that replace a straight line.
const INTERPOLATION_STEP: Nanos = 20 * MILLISECOND;
/// Time at the highest rate that the queue holds unless the file says otherwise.
const DEFAULT_QUEUE_TIME: Nanos = 100 * MILLISECOND;
/// More links than any experiment needs; each takes a subnet and a routing table.
const MOST_LINKS: usize = 64;

pub(super) fn scenario(text: &str, file: &str, read_file: &mut ReadFile<'_>) -> Result<Scenario> {
    let source = Source { file, text };
    let document = DeTable::parse(text).map_err(|error| {
        source.error(&error.span().unwrap_or_default(), "", format!("not valid TOML: {}", error.message()))
    })?;
    let fields = Fields::new(source, String::new(), 0..0, document.get_ref());
    let version = fields.required("version", "1")?;
    version.integer(1..=1)?;
    let scenario = Scenario {
        name: match fields.optional("name") {
            Some(value) => value.string()?.to_owned(),
            None => stem(file).to_owned(),
        },
        description: fields.optional("description").map_or(Ok(""), |value| value.string())?.to_owned(),
        seed: fields.optional("seed").map_or(Ok(1), |value| value.integer(0..=i64::MAX as u64))?,
        duration: match fields.optional("duration") {
            Some(value) => Some(Duration::from_nanos(value.positive_duration()?)),
            None => None,
        },
        mptcp: fields.optional("mptcp").map_or(Ok(false), |value| value.boolean())?,
        links: links(&fields, read_file)?,
    };
    fields.finish()?;
    Ok(scenario)
}

/// `drive` from `scenarios/drive.toml`.
fn stem(file: &str) -> &str {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    name.strip_suffix(".toml").unwrap_or(name)
}

fn links(fields: &Fields<'_>, read_file: &mut ReadFile<'_>) -> Result<Vec<ScenarioLink>> {
    let Some(value) = fields.optional("link") else {
        return Err(fields.error("no link; add at least one [[link]] with `name`, `rate` and `delay`"));
    };
    if !value.is_array() {
        return Err(value.error("links are written as [[link]], with two brackets"));
    }
    let items = value.array()?;
    if items.is_empty() || items.len() > MOST_LINKS {
        return Err(value.error(format!("expected 1 to {MOST_LINKS} links, found {}", items.len())));
    }
    let mut links: Vec<ScenarioLink> = Vec::new();
    for item in items {
        let link = link(&item, read_file, &links)?;
        links.push(link);
    }
    Ok(links)
}

fn link(item: &Value<'_>, read_file: &mut ReadFile<'_>, others: &[ScenarioLink]) -> Result<ScenarioLink> {
    let mut fields = item.fields()?;
    let name_field = fields.required("name", "\"wifi0\"")?;
    let name = link_name(&name_field)?;
    if others.iter().any(|link| link.name == name) {
        return Err(name_field.error(format!("two links are named {name:?}; names must differ")));
    }
    fields.rename(format!("link.{name}"));
    let between = match fields.optional("between") {
        None => [Host::Client, Host::Server],
        Some(value) => between(&value)?,
    };
    let mtu = match fields.optional("mtu") {
        None => DirectionConfig::DEFAULT_MTU,
        Some(value) => value.integer(576..=9000)? as u32,
    };
    let mut direction = |name| -> Result<DirectionConfig> {
        let special = fields.optional(name).map(|value| value.fields()).transpose()?;
        let config = Overridden { base: &fields, special: special.as_ref() }.direction(mtu, read_file)?;
        special.map_or(Ok(()), Fields::finish)?;
        Ok(config)
    };
    let (up, down) = (direction("up")?, direction("down")?);
    fields.finish()?;
    Ok(ScenarioLink { name: name.to_owned(), between, up, down })
}

/// A link's name is the name of its interface: IFNAMSIZ leaves 15 characters.
fn link_name<'a>(field: &Value<'a>) -> Result<&'a str> {
    let name = field.string()?;
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    let letter = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if !plain || !letter || name.len() > 15 || name == "lo" {
        return Err(field.error(format!(
            "{name:?} cannot name an interface; expected a letter and up to 14 letters, digits, - or _, and not \"lo\""
        )));
    }
    Ok(name)
}

fn between(value: &Value<'_>) -> Result<[Host; 2]> {
    let hosts = [("client", Host::Client), ("server", Host::Server)];
    let ends = value.array()?.iter().map(|end| end.choice(&hosts)).collect::<Result<Vec<_>>>()?;
    match ends[..] {
        [Host::Client, Host::Server] => Ok([Host::Client, Host::Server]),
        _ => Err(value.error("expected [\"client\", \"server\"], the only pair of hosts in version 1")),
    }
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

    fn direction(&self, mtu: u32, read_file: &mut ReadFile<'_>) -> Result<DirectionConfig> {
        let rate = match self.optional("rate") {
            Some(value) => rate(&value, read_file)?,
            None => rate(&self.base.required("rate", "\"40 Mbit/s\"")?, read_file)?,
        };
        let base = match self.optional("delay") {
            Some(value) => schedule_or(&value, |value| value.duration(), MILLISECOND as f64, read_file)?,
            None => Series::constant(0),
        };
        let jitter = self.optional("jitter").map_or(Ok(Jitter::None), |value| jitter(&value))?;
        let queue_bytes = queue(self.optional("queue"), &rate, mtu)?;
        Ok(DirectionConfig {
            queue_bytes,
            rate,
            delay: DelayModel { base, jitter },
            loss: self.optional("loss").map_or(Ok(LossModel::None), |value| loss(&value))?,
            mtu,
            outages: self.optional("outage").map_or(Ok(Outages::none()), |value| outages(&value))?,
            outage_policy: match self.optional("on_outage") {
                Some(value) => value.choice(&[("drop", OutagePolicy::Drop), ("hold", OutagePolicy::Hold)])?,
                None => OutagePolicy::Drop,
            },
        })
    }
}

fn rate(value: &Value<'_>, read_file: &mut ReadFile<'_>) -> Result<RateModel> {
    if value.as_string() == Some("unlimited") {
        return Ok(RateModel::Unlimited);
    }
    if value.is_table() {
        let fields = value.fields()?;
        if let Some(file) = fields.optional("trace") {
            fields.finish()?;
            let text = read_file(file.string()?).map_err(|message| file.error(message))?;
            let trace = Trace::parse(&text).map_err(|error| file.error(error.to_string()))?;
            return Ok(RateModel::Trace(Arc::new(trace)));
        }
    }
    let series = schedule_or(value, |value| value.rate(), 1e6, read_file)?;
    if series.points().iter().all(|point| point.1 == 0) {
        return Err(value.error("the rate is never above zero"));
    }
    Ok(RateModel::Scheduled(series))
}

/// A constant, a schedule in the file, or a series in a file of its own, whose values count in `unit`.
fn schedule_or(
    value: &Value<'_>,
    read: fn(&Value<'_>) -> Result<u64>,
    unit: f64,
    read_file: &mut ReadFile<'_>,
) -> Result<Series<u64>> {
    if !value.is_table() {
        return read(value).map(Series::constant);
    }
    let fields = value.fields()?;
    let period = fields.optional("repeat").map(|value| value.positive_duration()).transpose()?;
    let linear = fields
        .optional("interpolate")
        .map_or(Ok(false), |value| value.choice(&[("step", false), ("linear", true)]))?;
    let interval = fields.optional("interval").map(|value| value.positive_duration()).transpose()?;
    let (place, points) = match (fields.optional("steps"), fields.optional("series")) {
        (Some(steps), None) if interval.is_none() => {
            let points = steps.array()?.iter().map(|pair| step(pair, read)).collect::<Result<Vec<_>>>()?;
            (steps, points)
        }
        (None, Some(file)) => {
            let text = read_file(file.string()?).map_err(|message| file.error(message))?;
            let points = parse_series(&text, interval, unit).map_err(|message| file.error(message))?;
            (file, points)
        }
        _ => return Err(value.error("expected either `steps = [[time, value], ...]` or `series = \"file\"`")),
    };
    fields.finish()?;
    let series = Series::new(points, period).map_err(|error| place.error(error.to_string()))?;
    Ok(if linear { series.interpolated(INTERPOLATION_STEP) } else { series })
}

/// `["20 s", "40 Mbit/s"]`.
fn step(pair: &Value<'_>, read: fn(&Value<'_>) -> Result<u64>) -> Result<(Nanos, u64)> {
    match &pair.array()?[..] {
        [time, value] => Ok((time.duration()?, read(value)?)),
        other => Err(pair.error(format!("expected a pair [time, value], found {} items", other.len()))),
    }
}

/// Lines of `seconds value`, or of `value` one `interval` apart; blanks or a comma between, `#` comments.
fn parse_series(
    text: &str,
    interval: Option<Nanos>,
    unit: f64,
) -> std::result::Result<Vec<(Nanos, u64)>, String> {
    let mut points = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let columns: Vec<_> = line.split([' ', '\t', ',']).filter(|column| !column.is_empty()).collect();
        let number = |text: &str| {
            text.trim().parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0).ok_or_else(
                || {
                    format!(
                        "line {} of the series: expected a number of 0 or more, found {text:?}",
                        index + 1
                    )
                },
            )
        };
        match (&columns[..], interval) {
            ([], _) => {}
            ([value], Some(interval)) => {
                points.push((points.len() as u64 * interval, (number(value)? * unit).round() as u64));
            }
            ([time, value], None) => {
                points.push((seconds(number(time)?), (number(value)? * unit).round() as u64))
            }
            ([_], None) => {
                return Err(format!("line {} of the series has one column; give its `interval`", index + 1));
            }
            (found, _) => {
                let wanted =
                    if interval.is_some() { "1 column, because `interval` is given" } else { "2 columns" };
                return Err(format!(
                    "line {} of the series: expected {wanted}, found {}",
                    index + 1,
                    found.len()
                ));
            }
        }
    }
    Ok(points)
}

fn jitter(value: &Value<'_>) -> Result<Jitter> {
    #[derive(Clone, Copy)]
    enum Model {
        Gamma,
        Walk,
    }
    let fields = value.fields()?;
    let model =
        fields.required("model", "\"gamma\"")?.choice(&[("gamma", Model::Gamma), ("walk", Model::Walk)])?;
    let jitter = match model {
        Model::Gamma => Jitter::Gamma {
            mean: fields.required("mean", "\"4 ms\"")?.positive_duration()?,
            deviation: fields.required("deviation", "\"3 ms\"")?.positive_duration()?,
        },
        Model::Walk => Jitter::RandomWalk {
            maximum: fields.required("maximum", "\"10 ms\"")?.positive_duration()?,
            step: fields.required("step", "\"1 ms\"")?.positive_duration()?,
            interval: match fields.optional("interval") {
                Some(value) => value.positive_duration()?,
                None => 10 * MILLISECOND,
            },
        },
    };
    fields.finish()?;
    if let Jitter::RandomWalk { maximum, step, .. } = jitter
        && step > maximum
    {
        return Err(value.error("`step` must not exceed `maximum`"));
    }
    Ok(jitter)
}

fn loss(value: &Value<'_>) -> Result<LossModel> {
    if !value.is_table() {
        return Ok(match value.probability()? {
            0.0 => LossModel::None,
            probability => LossModel::Bernoulli { probability },
        });
    }
    let fields = value.fields()?;
    fields.required("model", "\"gilbert-elliott\"")?.choice(&[("gilbert-elliott", ())])?;
    let model = match (fields.optional("loss"), fields.optional("mean_burst")) {
        (Some(loss), Some(burst)) => LossModel::bursts(loss.probability()?, burst.at_least_one()?),
        (None, None) => {
            let probability = |name| fields.required(name, "0.01").and_then(|value| value.probability());
            LossModel::GilbertElliott {
                good_to_bad: probability("good_to_bad")?,
                bad_to_good: probability("bad_to_good")?,
                loss_good: probability("loss_good")?,
                loss_bad: probability("loss_bad")?,
            }
        }
        _ => return Err(value.error("`loss` and `mean_burst` go together")),
    };
    fields.finish()?;
    Ok(model)
}

/// Bytes of the queue: given, or a time at the highest rate; at least two packets.
fn queue(value: Option<Value<'_>>, rate: &RateModel, mtu: u32) -> Result<u64> {
    let bytes_in = |time: Nanos| match rate.peak() {
        Some(rate) => {
            ((u128::from(rate) * u128::from(time) / u128::from(8 * SECOND)) as u64).max(2 * u64::from(mtu))
        }
        None => DirectionConfig::DEFAULT_QUEUE_BYTES,
    };
    let Some(value) = value else { return Ok(bytes_in(DEFAULT_QUEUE_TIME)) };
    let bytes = match value.as_string().and_then(|text| units::parse_duration(text).ok()) {
        Some(time) => bytes_in(time),
        None => value.size().map_err(|mut error| {
            error.message.push_str(", or a duration such as \"100 ms\" at the highest rate");
            error
        })?,
    };
    if bytes < u64::from(mtu) {
        return Err(value.error(format!("a queue of {bytes} bytes holds no packet; the MTU is {mtu} bytes")));
    }
    Ok(bytes)
}

fn outages(value: &Value<'_>) -> Result<Outages> {
    let mut outages = Outages::none();
    if value.is_array() {
        for item in value.array()? {
            let fields = item.fields()?;
            let from = fields.required("from", "\"20 s\"")?.duration()?;
            let to = fields.optional("to").map_or(Ok(NEVER), |value| value.duration())?;
            fields.finish()?;
            if to <= from {
                return Err(item.error("an outage must end after it begins"));
            }
            outages = outages.with_window(from, to);
        }
        return Ok(outages);
    }
    let fields = value.fields()?;
    let every = fields.required("every", "\"15 s\"")?.positive_duration()?;
    let duration = fields.required("duration", "\"300 ms\"")?.positive_duration()?;
    let offset = fields.optional("offset").map_or(Ok(0), |value| value.duration())?;
    fields.finish()?;
    if duration >= every {
        return Err(value.error("`duration` must be shorter than `every`"));
    }
    Ok(outages.with_period(every, duration, offset))
}
