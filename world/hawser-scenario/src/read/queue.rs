//! The forms of `queue`.

use hawser_link::{
    CoDel, DirectionConfig, Discipline, FqCoDel, MILLISECOND, Nanos, QueueConfig, QueueLimit, RateModel, Red,
    SECOND, StepMarking, StepThreshold,
};

use super::Result;
use super::fields::{Fields, Value};
use super::units;

/// Time at the highest rate that the queue holds unless the file says otherwise.
const DEFAULT_QUEUE_TIME: Nanos = 100 * MILLISECOND;

/// Bytes of the longest queue: a terabyte. More than that is a slip of the pen.
const LONGEST_QUEUE: u64 = 1_000_000_000_000;
/// Packets of the longest queue.
const MOST_PACKETS: u64 = 1_000_000_000;

/// The disciplines as the file names them.
#[derive(Clone, Copy)]
enum Name {
    DropTail,
    CoDel,
    FqCoDel,
    Red,
    StepMarking,
}

const DISCIPLINES: [(&str, Name); 5] = [
    ("drop-tail", Name::DropTail),
    ("codel", Name::CoDel),
    ("fq-codel", Name::FqCoDel),
    ("red", Name::Red),
    ("step-marking", Name::StepMarking),
];

/// What a length in time means: the link before which the queue stands.
#[derive(Clone, Copy)]
struct Line<'r> {
    rate: &'r RateModel,
    mtu: u32,
}

pub(super) fn queue(value: Option<Value<'_>>, rate: &RateModel, mtu: u32) -> Result<QueueConfig> {
    let line = Line { rate, mtu };
    let default = QueueConfig::bytes(line.bytes_in(DEFAULT_QUEUE_TIME));
    let Some(value) = value else { return Ok(default) };
    if !value.is_table() {
        return Ok(QueueConfig { limit: limit(&value, line)?, ..default });
    }
    let fields = value.fields()?;
    let follow_rate = fields.read_or("follow_rate", false, |value| value.boolean())?;
    let limit = fields.read_or("limit", default.limit, |value| {
        let time = value.as_string().and_then(|text| units::parse_duration(text).ok());
        match (follow_rate, time) {
            (true, Some(time)) if time > 0 => Ok(QueueLimit::Time(time)),
            (true, _) => Err(value.error("only a limit in time such as \"50 ms\" can follow the rate")),
            (false, _) => limit(value, line),
        }
    })?;
    let name = fields.read_or("discipline", Name::DropTail, |value| value.choice(&DISCIPLINES))?;
    let discipline = match name {
        Name::DropTail => Discipline::DropTail,
        Name::CoDel => Discipline::CoDel(codel(&fields)?),
        Name::FqCoDel => {
            let default = FqCoDel::default();
            Discipline::FqCoDel(FqCoDel {
                flows: fields.read_or("flows", default.flows.into(), |value| value.integer(1..=65_536))?
                    as u32,
                quantum: fields
                    .read_or("quantum", default.quantum.into(), |value| value.size_within(1..=1 << 20))?
                    as u32,
                codel: codel(&fields)?,
            })
        }
        Name::Red => Discipline::Red(red(&value, &fields, line)?),
        Name::StepMarking => Discipline::StepMarking(StepMarking {
            threshold: threshold(&fields.required("threshold", "\"1 ms\"")?)?,
        }),
    };
    fields.finish()?;
    Ok(QueueConfig { limit, discipline })
}

impl Line<'_> {
    /// Bytes that pass in a time at the highest rate, at least two packets.
    fn bytes_in(self, time: Nanos) -> u64 {
        match self.rate.peak() {
            Some(rate) => {
                let bytes = u128::from(rate) * u128::from(time) / u128::from(8 * SECOND);
                u64::try_from(bytes).unwrap_or(u64::MAX).max(2 * u64::from(self.mtu))
            }
            None => DirectionConfig::DEFAULT_QUEUE_BYTES,
        }
    }
}

/// `"300 kB"`, `"50 packets"`, or a time at the highest rate.
fn limit(value: &Value<'_>, line: Line<'_>) -> Result<QueueLimit> {
    match value.as_string().and_then(units::parse_packets) {
        Some(0) => Err(value.error("a queue of 0 packets holds no packet")),
        Some(packets) if packets > MOST_PACKETS => {
            Err(value.error(format!("expected at most {MOST_PACKETS} packets, found {packets}")))
        }
        Some(packets) => Ok(QueueLimit::Packets(packets)),
        None => {
            let bytes = length(value, line)?;
            let mtu = line.mtu;
            if bytes < u64::from(mtu) {
                return Err(
                    value.error(format!("a queue of {bytes} bytes holds no packet; the MTU is {mtu} bytes"))
                );
            }
            Ok(QueueLimit::Bytes(bytes))
        }
    }
}

/// Bytes, or a time at the highest rate.
fn length(value: &Value<'_>, line: Line<'_>) -> Result<u64> {
    match value.as_string().and_then(|text| units::parse_duration(text).ok()) {
        Some(0) => Err(value.error("a queue of no time holds no packet")),
        Some(time) => match line.bytes_in(time) {
            bytes if bytes <= LONGEST_QUEUE => Ok(bytes),
            bytes => Err(value.error(format!(
                "expected at most {LONGEST_QUEUE} bytes, found {bytes}, which the highest rate sends in that time"
            ))),
        },
        None => bytes(value, "\"50 packets\", or a duration such as \"100 ms\" at the highest rate"),
    }
}

/// Bytes; `others` are the forms that the field has besides.
fn bytes(value: &Value<'_>, others: &str) -> Result<u64> {
    // A plain number says what somebody means, a text may be computed.
    let least = u64::from(value.as_string().is_none());
    value.size_within(least..=LONGEST_QUEUE).map_err(|mut error| {
        // What was found stands at the end.
        let end = error.message.find(", found ").unwrap_or(error.message.len());
        error.message.insert_str(end, &format!(", {others}"));
        error
    })
}

fn codel(fields: &Fields<'_>) -> Result<CoDel> {
    let default = CoDel::default();
    Ok(CoDel {
        target: fields.read_or("target", default.target, |value| value.positive_duration())?,
        interval: fields.read_or("interval", default.interval, |value| value.positive_duration())?,
        ecn: fields.read_or("ecn", default.ecn, |value| value.boolean())?,
    })
}

fn red(value: &Value<'_>, fields: &Fields<'_>, line: Line<'_>) -> Result<Red> {
    let minimum = length(&fields.required("minimum", "\"30 kB\"")?, line)?;
    let maximum = length(&fields.required("maximum", "\"90 kB\"")?, line)?;
    if maximum <= minimum {
        return Err(value.error("`maximum` must be above `minimum`"));
    }
    let default = Red::new(minimum, maximum);
    Ok(Red {
        probability: fields.read_or("probability", default.probability, |value| value.probability())?,
        weight: fields.read_or("weight", default.weight, |value| value.probability())?,
        gentle: fields.read_or("gentle", default.gentle, |value| value.boolean())?,
        ecn: fields.read_or("ecn", default.ecn, |value| value.boolean())?,
        ..default
    })
}

/// Bytes, packets, or the time that a packet has waited.
fn threshold(value: &Value<'_>) -> Result<StepThreshold> {
    if let Some(packets) = value.as_string().and_then(units::parse_packets) {
        return Ok(StepThreshold::Packets(packets));
    }
    match value.as_string().and_then(|text| units::parse_duration(text).ok()) {
        Some(time) => Ok(StepThreshold::Sojourn(time)),
        None => bytes(value, "\"20 packets\", or a waiting time such as \"1 ms\"").map(StepThreshold::Bytes),
    }
}
