//! `[transport]` and `[limits]`.

use hawser_policy::Registry;

use super::Result;
use super::fields::{Fields, Value};
use super::policies::policies;
use crate::{Limits, Transport};

/// Transport parameter max_ack_delay is below 2^14 ms (RFC 9000 section 18.2).
const LONGEST_ACK_DELAY_MS: u64 = (1 << 14) - 1;
/// Ten times what TCP waits for at first (RFC 6298).
const LONGEST_LEAST_TIMEOUT: hawser_link::Nanos = 10 * hawser_link::SECOND;
/// Below, connections end before their handshake does.
const SHORTEST_IDLE_TIMEOUT: hawser_link::Nanos = hawser_link::SECOND;

pub(super) fn transport(fields: &Fields<'_>, registry: Option<&Registry>) -> Result<Transport> {
    let default = Transport::default();
    let Some(value) = fields.optional("transport") else { return Ok(default) };
    let fields = value.fields()?;
    let window = |value: &Value<'_>| value.size_within(1200..=1 << 40);
    let transport = Transport {
        policies: policies(&fields, &default.policies, registry)?,
        tls: fields
            .read_or("crypto", default.tls, |value| value.choice(&[("null", false), ("tls", true)]))?,
        receive_window: fields.read("receive_window", window)?,
        send_buffer: fields.read("send_buffer", window)?,
        max_ack_delay: fields.read("max_ack_delay", |value| match value.duration()? {
            delay if delay < (LONGEST_ACK_DELAY_MS + 1) * hawser_link::MILLISECOND => Ok(delay),
            _ => Err(value.error(format!("expected at most \"{LONGEST_ACK_DELAY_MS} ms\""))),
        })?,
        least_timeout: fields.read_or("least_timeout", default.least_timeout, |value| {
            match value.duration()? {
                timeout if timeout <= LONGEST_LEAST_TIMEOUT => Ok(timeout),
                _ => Err(value.error("expected at most \"10 s\"")),
            }
        })?,
        rfc9002: fields.read_or("recovery", default.rfc9002, |value| {
            value.choice(&[("adaptive", false), ("rfc9002", true)])
        })?,
        setup_rounds: fields
            .read_or("setup_rounds", default.setup_rounds, |value| Ok(value.integer(1..=10)? as u32))?,
        idle_timeout: fields.read("idle_timeout", |value| match value.duration()? {
            timeout if timeout >= SHORTEST_IDLE_TIMEOUT => Ok(timeout),
            _ => Err(value.error("expected at least \"1 s\"")),
        })?,
        max_datagram: fields.read("max_datagram", |value| Ok(value.size_within(1200..=65527)? as u16))?,
        ecn: fields.read_or("ecn", default.ecn, |value| value.boolean())?,
    };
    fields.finish()?;
    Ok(transport)
}

pub(super) fn limits(fields: &Fields<'_>) -> Result<Limits> {
    let default = Limits::default();
    let Some(value) = fields.optional("limits") else { return Ok(default) };
    let fields = value.fields()?;
    let events = fields.read_or("events", default.events, |value| value.integer(1..=i64::MAX as u64))?;
    fields.finish()?;
    Ok(Limits { events })
}
