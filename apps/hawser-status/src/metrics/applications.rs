//! Metrics of what only some programs have: users, classes of traffic, live streams.

use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::registry::Unit;

use super::{Family, Labels, counter, gauge};
use crate::model::{FlowClass, LiveStream, Status, User};

pub(super) fn encode(encoder: &mut DescriptorEncoder<'_>, status: &Status) -> fmt::Result {
    users(encoder, status)?;
    classes(encoder, status)?;
    streams(encoder, status)
}

fn users(encoder: &mut DescriptorEncoder<'_>, status: &Status) -> fmt::Result {
    let label = |user: &User| -> Labels { vec![("user", user.name.clone())] };
    let counts = |value: fn(&User) -> u64| {
        status.users.iter().map(|user| (label(user), value(user))).collect::<Vec<_>>()
    };
    let gauges = |value: fn(&User) -> usize| {
        status.users.iter().map(|user| (label(user), value(user) as f64)).collect::<Vec<_>>()
    };
    let silent = |user: &User| user.links.iter().filter(|link| link.silent).count();
    for (name, help, series) in [
        ("user_tunnels", "Tunnels that a user has open", gauges(|user| user.tunnels as usize)),
        ("user_links", "Links over which a user comes", gauges(|user| user.links.len())),
        (
            "user_silent_links",
            "Of these, those over which nothing comes although something should",
            gauges(silent),
        ),
    ] {
        gauge(encoder, Family { name, help, unit: None, series })?;
    }
    for (name, help, series) in [
        ("user_sent", "Sent to a user through tunnels", counts(|user| user.bytes_sent)),
        ("user_received", "Received from a user through tunnels", counts(|user| user.bytes_received)),
    ] {
        counter(encoder, Family { name, help, unit: Some(Unit::Bytes), series })?;
    }
    Ok(())
}

fn classes(encoder: &mut DescriptorEncoder<'_>, status: &Status) -> fmt::Result {
    let label = |class: &FlowClass| -> Labels { vec![("class", class.name.clone())] };
    let counts = |value: fn(&FlowClass) -> u64| {
        status.classes.iter().map(|class| (label(class), value(class))).collect::<Vec<_>>()
    };
    let gauges = |value: fn(&FlowClass) -> u64| {
        status.classes.iter().map(|class| (label(class), value(class) as f64)).collect::<Vec<_>>()
    };
    let bytes = || Some(Unit::Bytes);
    for (name, help, unit, series) in [
        ("class_sent", "Sent of a class", bytes(), counts(|class| class.bytes_sent)),
        ("class_received", "Received of a class", bytes(), counts(|class| class.bytes_received)),
        ("class_dropped", "Packets of a class that were dropped", None, counts(|class| class.dropped)),
    ] {
        counter(encoder, Family { name, help, unit, series })?;
    }
    for (name, help, series) in [
        ("class_flows", "Flows of a class that are open", gauges(|class| class.flows)),
        ("class_queued", "Packets of a class that wait for those before them", gauges(|class| class.queued)),
    ] {
        gauge(encoder, Family { name, help, unit: None, series })?;
    }
    Ok(())
}

fn streams(encoder: &mut DescriptorEncoder<'_>, status: &Status) -> fmt::Result {
    let numbered = || status.streams.iter().enumerate();
    let label = |number: usize| -> Labels { vec![("stream", number.to_string())] };
    let counts = |value: fn(&LiveStream) -> u64| {
        numbered().map(|(number, stream)| (label(number), value(stream))).collect::<Vec<_>>()
    };
    for (name, help, series) in [
        ("live_frames", "Frames of a live stream", counts(|stream| stream.frames)),
        (
            "live_padded_frames",
            "Frames some of whose bytes did not come",
            counts(|stream| stream.padded_frames),
        ),
    ] {
        counter(encoder, Family { name, help, unit: None, series })?;
    }
    let delay = |(number, stream): (usize, &LiveStream)| Some((label(number), stream.delay_ms? / 1e3));
    let series = numbered().filter_map(delay).collect();
    let help = "Mean delay from the encoder to here";
    gauge(encoder, Family { name: "live_delay", help, unit: Some(Unit::Seconds), series })
}
