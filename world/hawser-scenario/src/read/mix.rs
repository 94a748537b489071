//! `kind = "tunnel-mix"`: what a tunnel carries at once.

use std::time::Duration;

use super::Result;
use super::fields::{Fields, Value};
use crate::{Direction, MixPackets, MixWeb, TunnelMix};

/// The page of `hawser lab matrix schedulers`, and a reader who looks at it for a second.
const WEB: MixWeb = MixWeb { objects: 30, size: 30_000, think: Duration::from_secs(1) };
/// A voice codec of 64 kbit/s in packets of 20 ms (G.711 with its usual packet time).
const CALL: MixPackets = MixPackets { size: 160, every: Duration::from_millis(20) };
/// A game that moves 30 times per second.
const GAME: MixPackets = MixPackets { size: 100, every: Duration::from_nanos(33_333_333) };
/// Bytes of a packet of `udp` unless the file says otherwise.
const UDP_BYTES: u64 = 1_100;
/// Number and time of a packet at least; at most what fits the smallest packet that QUIC allows, behind the headers of IP, UDP and tunnel.
const PACKET_BYTES: std::ops::RangeInclusive<u64> = 16..=1_132;
/// Objects of a page: requests at the same time.
const MOST_OBJECTS: u64 = 1_000;

pub(super) fn mix(fields: &Fields<'_>) -> Result<TunnelMix> {
    let directions = Direction::BOTH.map(|direction| (direction.name(), direction));
    let mix = TunnelMix {
        bulk: part(fields, "bulk", Some(Direction::Down), |part| {
            part.read_or("direction", Direction::Down, |value| value.choice(&directions))
        })?,
        web: part(fields, "web", Some(WEB), web)?,
        call: part(fields, "call", Some(CALL), |part| packets(part, CALL))?,
        game: part(fields, "game", Some(GAME), |part| packets(part, GAME))?,
        udp: part(fields, "udp", None, udp)?,
        copies: fields.read_or("copies", true, |value| value.boolean())?,
    };
    let is_empty =
        mix.bulk.is_none() && mix.web.is_none() && [mix.call, mix.game, mix.udp] == [None, None, None];
    if is_empty {
        return Err(fields.error("expected at least one of `bulk`, `web`, `call`, `game` and `udp`"));
    }
    Ok(mix)
}

/// A part of the mix: a table, `false` if it is left out, or as it is by default.
fn part<T>(
    fields: &Fields<'_>,
    name: &'static str,
    default: Option<T>,
    read: impl FnOnce(&Fields<'_>) -> Result<T>,
) -> Result<Option<T>> {
    match fields.optional(name) {
        None => Ok(default),
        Some(value) if value.is_table() => {
            let part = value.fields()?;
            let read = read(&part)?;
            part.finish()?;
            Ok(Some(read))
        }
        Some(value) => match value.boolean() {
            Ok(false) => Ok(None),
            Ok(true) if default.is_some() => Ok(default),
            _ => Err(value.expected("a table, or false to leave it out")),
        },
    }
}

fn web(fields: &Fields<'_>) -> Result<MixWeb> {
    Ok(MixWeb {
        objects: fields.read_or("objects", WEB.objects.into(), |value| value.integer(1..=MOST_OBJECTS))?
            as u32,
        size: fields.read_or("size", WEB.size, |value| value.size_within(1..=1 << 40))?,
        think: fields.read_or("think", WEB.think, time)?,
    })
}

fn packets(fields: &Fields<'_>, default: MixPackets) -> Result<MixPackets> {
    Ok(MixPackets {
        size: fields.read_or("size", default.size, packet)?,
        every: fields.read_or("every", default.every, |value| value.interval().map(Duration::from_nanos))?,
    })
}

/// A rate of payload, since that is what a transfer is known by.
fn udp(fields: &Fields<'_>) -> Result<MixPackets> {
    let size = fields.read_or("size", UDP_BYTES as u32, packet)?;
    let value = fields.required("rate", "\"20 Mbit/s\"")?;
    let rate = value.positive_rate()?;
    let nanos = u64::from(size) * 8 * 1_000_000_000 / rate;
    match nanos {
        0..1_000 => Err(value.error("expected at most a packet per microsecond")),
        nanos => Ok(MixPackets { size, every: Duration::from_nanos(nanos) }),
    }
}

fn packet(value: &Value<'_>) -> Result<u32> {
    Ok(value.size_within(PACKET_BYTES)? as u32)
}

fn time(value: &Value<'_>) -> Result<Duration> {
    value.duration().map(Duration::from_nanos)
}
