//! A recording laid over the links that a model generates: what was measured takes the place of what was generated,
//! all else stays.

use hawser_link::{MILLISECOND, Nanos};
use hawser_radio::{Event, EventKind, ForecastSamples, Profile, Sample, foreseeable, sample_at};
use hawser_trace::{Direction, DirectionTrace, LinkTrace, Piece, Trace};

use super::window::{steps_from, times_from};

/// Delivery chances become a rate over this time: short against what a queue or a controller notices.
const CHANCE_INTERVAL: Nanos = 10 * MILLISECOND;

/// More samples than that in a recording with all its repetitions are refused: they would fill the memory.
const MOST_STEPS: u64 = 10_000_000;

/// What is played of a recording.
#[derive(Clone, Copy)]
struct Span {
    /// Where it begins.
    from: Nanos,
    /// The length of the recording, after which it starts again.
    period: Nanos,
    /// That of the scenario.
    duration: Nanos,
}

/// The measured part of a direction, as step functions that begin at 0; what was not measured is absent.
#[derive(Default)]
struct Layer {
    rate: Option<Vec<(Nanos, f64)>>,
    delay: Option<Vec<(Nanos, f64)>>,
    loss: Option<Vec<(Nanos, f64)>>,
    /// Times `[from, to)` without service, in order.
    outages: Option<Vec<(Nanos, Nanos)>>,
}

/// The links of a scene with a recording over them, which starts again when it is over.
///
/// # Errors
/// A sentence that says why it does not fit the scene.
pub(super) fn links(
    profiles: &[Profile],
    trace: &Trace,
    from: Nanos,
    duration: Nanos,
) -> Result<Vec<Profile>, String> {
    let span = Span { from, period: trace.duration, duration };
    if let ([profile], [link]) = (profiles, &trace.links[..]) {
        return Ok(vec![laid_over(profile, link, span)?]);
    }
    let names = |names: &mut dyn Iterator<Item = &str>| names.collect::<Vec<_>>().join(", ");
    let recorded = names(&mut trace.links.iter().map(|link| link.name.as_str()));
    let expected = names(&mut profiles.iter().map(|profile| profile.name.as_str()));
    let find = |profile: &Profile| trace.links.iter().find(|link| link.name == profile.name);
    let pairs: Vec<_> = profiles.iter().filter_map(|profile| Some((profile, find(profile)?))).collect();
    if pairs.len() != profiles.len() || pairs.len() != trace.links.len() {
        return Err(format!("it is about the links {recorded}; those of the scene are {expected}"));
    }
    pairs.into_iter().map(|(profile, link)| laid_over(profile, link, span)).collect()
}

/// What a recording leaves to the model, in words.
pub(super) fn not_recorded(trace: &Trace) -> Vec<String> {
    let known = |direction: &DirectionTrace| {
        [direction.rate.is_some(), direction.delay.is_some(), direction.loss.is_some()]
    };
    let mut missing = Vec::new();
    for (index, name) in ["rate", "delay", "loss"].into_iter().enumerate() {
        let unknown = |direction| trace.links.iter().any(|link| !known(link.direction(direction))[index]);
        match Direction::BOTH.map(unknown) {
            [true, true] => missing.push(name.to_owned()),
            [true, false] => missing.push(format!("{name} up")),
            [false, true] => missing.push(format!("{name} down")),
            [false, false] => {}
        }
    }
    missing
}

fn laid_over(profile: &Profile, link: &LinkTrace, span: Span) -> Result<Profile, String> {
    let Span { from, period, duration } = span;
    // A recording of the rate has what interrupts it, and that concerns both directions: an empty list of
    // outages says that there was none.
    let has_seen = |direction: &DirectionTrace| direction.rate.is_some() || !direction.outages.is_empty();
    let interruptions_known = has_seen(&link.up) || has_seen(&link.down);
    let layer = |direction| {
        Layer::once(link.direction(direction), interruptions_known, period)
            .seen_from(from, period)
            .repeated(period, duration)
    };
    let (up, down) = (layer(Direction::Up)?, layer(Direction::Down)?);
    let forecast = ForecastSamples {
        up: up.foreseeable().over(&profile.forecast.up),
        down: down.foreseeable().over(&profile.forecast.down),
    };
    let (up, down) = (up.over(&profile.up), down.over(&profile.down));
    if !interruptions_known {
        return Ok(Profile { up, down, forecast, ..profile.clone() });
    }
    // The model's cells and ways are not those of the recording.
    let events = hand_overs(link, span);
    Ok(Profile { name: profile.name.clone(), up, down, events, forecast, positions: Vec::new(), sites: None })
}

impl Layer {
    /// What was measured, once.
    fn once(recorded: &DirectionTrace, interruptions_known: bool, period: Nanos) -> Self {
        let steps =
            |pieces: Vec<Piece>| pieces.iter().map(|piece| (piece.from, piece.value)).collect::<Vec<_>>();
        let outages = recorded.outages.iter().map(|&(from, to)| (from, to.min(period)));
        Layer {
            rate: recorded.rates(period, CHANCE_INTERVAL).map(steps),
            delay: recorded.delays(period).map(steps),
            loss: recorded.losses(period).map(steps),
            outages: interruptions_known.then(|| outages.collect()),
        }
    }

    /// The same from another moment on.
    fn seen_from(self, from: Nanos, period: Nanos) -> Self {
        if from == 0 {
            return self;
        }
        let steps = |steps: Option<Vec<_>>| steps.map(|steps| steps_from(&steps, from, period));
        Layer {
            rate: steps(self.rate),
            delay: steps(self.delay),
            loss: steps(self.loss),
            outages: self.outages.map(|outages| times_from(&outages, from, period)),
        }
    }

    /// The same again and again until `duration`.
    fn repeated(&self, period: Nanos, duration: Nanos) -> Result<Self, String> {
        let parts = [&self.rate, &self.delay, &self.loss].into_iter().flatten().map(Vec::len);
        let longest = parts.chain(self.outages.iter().map(Vec::len)).max().unwrap_or(0) as u64;
        let steps = duration.div_ceil(period.max(1)).saturating_mul(longest);
        if steps > MOST_STEPS {
            return Err(format!(
                "repeated until the scenario ends it has {steps} steps; at most {MOST_STEPS} can be played"
            ));
        }
        let again = |steps: &Vec<(Nanos, f64)>| {
            repeated(steps, period, duration, |&(from, value), base| (base + from, value))
        };
        let outages = |outages: &Vec<(Nanos, Nanos)>| {
            repeated(outages, period, duration, |&(from, to), base| (base + from, base + to))
        };
        Ok(Layer {
            rate: self.rate.as_ref().map(again),
            delay: self.delay.as_ref().map(again),
            loss: self.loss.as_ref().map(again),
            outages: self.outages.as_ref().map(outages),
        })
    }

    /// What policies may know of it beforehand: averages, and nothing of interruptions.
    fn foreseeable(&self) -> Self {
        let average = |steps: &Vec<(Nanos, f64)>| foreseeable(steps.iter().copied());
        Layer {
            rate: self.rate.as_ref().map(average),
            delay: self.delay.as_ref().map(average),
            loss: self.loss.as_ref().map(average),
            outages: self.outages.as_ref().map(|_| Vec::new()),
        }
    }

    /// The samples with what was measured in the place of their own values.
    fn over(&self, samples: &[Sample]) -> Vec<Sample> {
        let mut times: Vec<Nanos> = samples.iter().map(|sample| sample.at).collect();
        for steps in [&self.rate, &self.delay, &self.loss].into_iter().flatten() {
            times.extend(steps.iter().map(|step| step.0));
        }
        times.extend(self.outages.iter().flatten().flat_map(|&(from, to)| [from, to]));
        times.sort_unstable();
        times.dedup();
        let mut laid: Vec<Sample> = Vec::with_capacity(times.len());
        for at in times {
            let Some(&below) = sample_at(samples, at) else { continue };
            let mut sample = Sample { at, ..below };
            if let Some(rate) = value_at(&self.rate, at) {
                sample.rate = rate.round() as u64;
            }
            if let Some(delay) = value_at(&self.delay, at) {
                sample.delay = delay.round() as u64;
            }
            sample.loss = value_at(&self.loss, at).unwrap_or(sample.loss);
            if let Some(outages) = &self.outages {
                sample.up = !is_within(outages, at);
            }
            // Only changes have a sample.
            if laid.last().is_none_or(|last| Sample { at, ..*last } != sample) {
                laid.push(sample);
            }
        }
        laid
    }
}

/// Items of one repetition, moved to every repetition that begins before `duration`; in order of time, if the items
/// are.
fn repeated<T, R>(items: &[T], period: Nanos, duration: Nanos, moved: impl Fn(&T, Nanos) -> R) -> Vec<R> {
    let bases = (0..duration).step_by(usize::try_from(period.max(1)).unwrap_or(usize::MAX));
    bases.flat_map(|base| items.iter().map(|item| moved(item, base)).collect::<Vec<_>>()).collect()
}

fn value_at(steps: &Option<Vec<(Nanos, f64)>>, at: Nanos) -> Option<f64> {
    let steps = steps.as_ref()?;
    let next = steps.partition_point(|step| step.0 <= at);
    steps.get(next.checked_sub(1)?).map(|step| step.1)
}

fn is_within(outages: &[(Nanos, Nanos)], at: Nanos) -> bool {
    let next = outages.partition_point(|outage| outage.0 <= at);
    next.checked_sub(1).is_some_and(|last| at < outages[last].1)
}

/// The recorded handovers as events, the first cell being 0.
fn hand_overs(link: &LinkTrace, span: Span) -> Vec<Event> {
    let Span { from, period, duration } = span;
    let one: Vec<(Nanos, Nanos)> =
        link.hand_overs().map(|event| (event.from, event.to.min(period))).collect();
    let one = if from == 0 { one } else { times_from(&one, from, period) };
    let all = repeated(&one, period, duration, |&(from, to), base| (base + from, base + to));
    let mut events = vec![Event { at: 0, kind: EventKind::Attach, cell: Some(0) }];
    for (index, (from, to)) in all.into_iter().take_while(|gap| gap.0 < duration).enumerate() {
        let cell = Some(index as u64 + 1);
        events.push(Event { at: from, kind: EventKind::HandOverStart, cell });
        events.push(Event { at: to, kind: EventKind::HandOverEnd, cell });
    }
    events
}
