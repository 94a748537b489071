//! Scenario strings of quic-network-simulator: a name and options, about one link.

use std::collections::BTreeMap;

use hawser_link::{MICROSECOND, MILLISECOND, Nanos, SECOND, Series};

use crate::lines::{Line, Source};
use crate::{DirectionTrace, LinkTrace, PACKET_BYTES, RateTrace, Trace, TraceError};

/// The scenarios; the last column says what of them has no counterpart in a trace.
const SCENARIOS: [(&str, &str); 8] = [
    ("simple-p2p", ""),
    ("drop-rate", ""),
    ("blackhole", ""),
    ("corrupt-rate", "corrupted packets are lost packets here"),
    ("droplist", "packets are not dropped by their number: drops_to_client and drops_to_server are left out"),
    ("rebind", "addresses are not rebound: first-rebind, rebind-freq and rebind-addr are left out"),
    ("nat", "addresses are not translated"),
    ("tcp-cross-traffic", "there is no TCP flow next to it: add one to the scenario"),
];

/// Options that are known; those of the last line say nothing about a trace.
const OPTIONS: [&str; 15] = [
    "delay",
    "bandwidth",
    "queue",
    "on",
    "off",
    "repeat",
    "rate_to_client",
    "rate_to_server",
    "burst_to_client",
    "burst_to_server",
    "drops_to_client",
    "drops_to_server",
    "first-rebind",
    "rebind-freq",
    "rebind-addr",
];

/// How long a link that never changes is shown.
const CONSTANT: Nanos = 60 * SECOND;
/// More repetitions of a blackhole than anybody waits for.
const MOST_REPEATS: u32 = 100_000;

/// Whether a text begins with the name of a scenario.
pub(super) fn is_scenario(text: &str) -> bool {
    let name = text.split_whitespace().next().unwrap_or_default();
    SCENARIOS.iter().any(|scenario| scenario.0 == name)
}

/// Reads the first line.
pub(super) fn parse(source: Source<'_>, name: &str) -> Result<Trace, TraceError> {
    let mut lines = source.lines();
    let Some(line) = lines.next() else { return Err(source.empty()) };
    if let Some(second) = lines.next() {
        return Err(second.error("expected a single line"));
    }
    let mut words = line.text.split_whitespace();
    let scenario = words.next().unwrap_or_default();
    let Some((_, remark)) = SCENARIOS.iter().find(|known| known.0 == scenario) else {
        let names: Vec<&str> = SCENARIOS.iter().map(|scenario| scenario.0).collect();
        return Err(line.error(format!("unknown scenario {scenario:?}; known: {}", names.join(", "))));
    };
    let options = Options::read(line, words)?;
    let rate = options.required("bandwidth", "10Mbps", bandwidth)?;
    let delay = options.required("delay", "15ms", duration)?;
    let packets =
        options.optional("queue", "25", |text| text.parse::<u32>().ok().filter(|count| *count > 0))?;
    let (outages, length) = blackhole(scenario, &options)?;
    let mut notes: Vec<String> = Vec::new();
    if !remark.is_empty() {
        notes.push(format!("{scenario}: {remark}"));
    }
    if options.values.keys().any(|key| key.starts_with("burst_to_")) {
        notes.push("burst_to_client and burst_to_server are left out: bursts are not limited".to_owned());
    }
    let direction = |loss: Option<f64>| DirectionTrace {
        rate: Some(RateTrace::Steps(Series::constant(rate))),
        delay: Some(Series::constant(delay)),
        loss: loss.filter(|loss| *loss > 0.0).map(Series::constant),
        outages: outages.clone(),
        queue: packets.map(|packets| u64::from(packets) * PACKET_BYTES),
        ..DirectionTrace::default()
    };
    let mut link = LinkTrace::new(name);
    link.up = direction(options.optional("rate_to_server", "10", percent)?);
    link.down = direction(options.optional("rate_to_client", "10", percent)?);
    Ok(Trace { name: name.to_owned(), links: vec![link], duration: length, notes })
}

/// The times without service, and how long it takes until they are over.
fn blackhole(scenario: &str, options: &Options<'_>) -> Result<(Vec<(Nanos, Nanos)>, Nanos), TraceError> {
    if scenario != "blackhole" {
        return Ok((Vec::new(), CONSTANT));
    }
    let on = options.required("on", "10s", duration)?;
    let off = options.required("off", "3s", duration)?;
    let repeats = options.optional("repeat", "2", |text| text.parse().ok())?.unwrap_or(1u32);
    if repeats > MOST_REPEATS || on + off == 0 {
        return Err(options
            .line
            .error(format!("repeat, on and off: expected up to {MOST_REPEATS} times of more than 0 s")));
    }
    let period = on + off;
    let outage = |index: u32| (u64::from(index) * period + on, u64::from(index + 1) * period);
    let outages = crate::model::merged((0..repeats).map(outage).collect());
    Ok((outages, u64::from(repeats) * period + on.max(SECOND)))
}

/// `--name=value`, with the line they stand in.
struct Options<'a> {
    line: Line<'a>,
    values: BTreeMap<&'a str, &'a str>,
}

impl<'a> Options<'a> {
    fn read(line: Line<'a>, words: impl Iterator<Item = &'a str>) -> Result<Self, TraceError> {
        let mut values = BTreeMap::new();
        let mut words = words.peekable();
        while let Some(word) = words.next() {
            let Some(option) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else {
                return Err(line.error(format!("{word:?} is no option; expected --name=value")));
            };
            let (key, value) = match option.split_once('=') {
                Some(pair) => pair,
                // A flag, or a value after a blank.
                None => (option, words.next_if(|next| !next.starts_with('-')).unwrap_or_default()),
            };
            if !OPTIONS.contains(&key) {
                return Err(line.error(format!("unknown option --{key}; known: {}", OPTIONS.join(", "))));
            }
            values.insert(key, value);
        }
        Ok(Self { line, values })
    }

    fn optional<T>(
        &self,
        name: &str,
        example: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, TraceError> {
        let Some(text) = self.values.get(name) else { return Ok(None) };
        let wrong = || self.line.error(format!("--{name} is {text:?}; expected for example {example}"));
        read(text).map(Some).ok_or_else(wrong)
    }

    fn required<T>(
        &self,
        name: &str,
        example: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<T, TraceError> {
        let missing = || self.line.error(format!("--{name} is missing; write --{name}={example}"));
        self.optional(name, example, read)?.ok_or_else(missing)
    }
}

fn bandwidth(text: &str) -> Option<u64> {
    const UNITS: [(&str, f64); 8] = [
        ("Gbps", 1e9),
        ("Mbps", 1e6),
        ("kbps", 1e3),
        ("Kbps", 1e3),
        ("Gb/s", 1e9),
        ("Mb/s", 1e6),
        ("kb/s", 1e3),
        ("bps", 1.0),
    ];
    let bits = scaled(text, &UNITS)?;
    (1.0..=1e15).contains(&bits).then_some(bits.round() as u64)
}

fn duration(text: &str) -> Option<Nanos> {
    const UNITS: [(&str, f64); 5] = [
        ("ms", MILLISECOND as f64),
        ("us", MICROSECOND as f64),
        ("ns", 1.0),
        ("min", 60.0 * SECOND as f64),
        ("s", SECOND as f64),
    ];
    // A day, so that a hundred thousand of them still fit.
    scaled(text, &UNITS).filter(|nanos| *nanos <= 86_400e9).map(|nanos| nanos.round() as Nanos)
}

fn percent(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|value| (0.0..=100.0).contains(value)).map(|value| value / 100.0)
}

fn scaled(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let (number, factor) =
        units.iter().find_map(|(unit, factor)| text.strip_suffix(unit).map(|number| (number, factor)))?;
    let value: f64 = number.trim().parse().ok()?;
    (value.is_finite() && value >= 0.0).then_some(value * factor)
}
