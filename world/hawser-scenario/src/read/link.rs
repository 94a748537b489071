//! Links, segments and the hosts between them.

use std::sync::Arc;

use hawser_link::Nanos;
use hawser_policy::{CostCap, InvalidCostCap};
use hawser_radio::{ForecastQuality, Profile};

use super::channel;
use super::direction::directions;
use super::fields::{Fields, Value};
use super::{Context, HOSTS, Result, route};
use crate::{ForecastSource, Medium, ScenarioLink, Segment, Via};

/// More links than any experiment needs; in the emulator each takes a subnet and a routing table.
const MOST_LINKS: usize = 4096;
/// More segments than any experiment needs.
const MOST_SEGMENTS: usize = 20_000;
/// Characters of the name of a host or segment.
const LONGEST_NAME: usize = 32;

/// The segments, in the order of the file.
pub(super) fn segments(fields: &Fields<'_>, context: &mut Context<'_, '_>) -> Result<Vec<Segment>> {
    let Some(value) = fields.optional("segment") else { return Ok(Vec::new()) };
    let items = value.array()?;
    if items.len() > MOST_SEGMENTS {
        return Err(value.error(format!("expected at most {MOST_SEGMENTS} segments, found {}", items.len())));
    }
    let mut segments: Vec<Segment> = Vec::with_capacity(items.len());
    for item in items {
        let mut fields = item.fields()?;
        let name_field = fields.required("name", "\"bottleneck\"")?;
        let name = plain_name(&name_field, "a segment")?;
        if context.segments.contains_key(name) {
            return Err(name_field.error(format!("two segments are named {name:?}; names must differ")));
        }
        fields.rename(format!("segment.{name}"));
        let profile = fields.read("channel", |value| channel::profile(value, context))?;
        let (up, down) = directions(&fields, profile.as_deref(), context)?;
        fields.finish()?;
        context.segments.insert(name.to_owned(), segments.len());
        context.segment_profiles.push(profile);
        segments.push(Segment { name: name.to_owned(), up, down });
    }
    Ok(segments)
}

/// The hosts in the order of their appearance, and the links.
pub(super) fn links(
    fields: &Fields<'_>,
    context: &mut Context<'_, '_>,
) -> Result<(Vec<String>, Vec<ScenarioLink>)> {
    let Some(value) = fields.optional("link") else {
        return Err(fields.error("no link; add at least one [[link]] with `name`, `rate` and `delay`"));
    };
    let items = value.array()?;
    if items.is_empty() || items.len() > MOST_LINKS {
        return Err(value.error(format!("expected 1 to {MOST_LINKS} links, found {}", items.len())));
    }
    let (mut hosts, mut links) = (Vec::new(), Vec::new());
    for item in items {
        let link = link(&item, context, &mut hosts, &links)?;
        links.push(link);
    }
    Ok((hosts, links))
}

fn link(
    item: &Value<'_>,
    context: &mut Context<'_, '_>,
    hosts: &mut Vec<String>,
    others: &[ScenarioLink],
) -> Result<ScenarioLink> {
    let mut fields = item.fields()?;
    let name_field = fields.required("name", "\"wifi0\"")?;
    let name = link_name(&name_field)?;
    if others.iter().any(|link| link.name == name) {
        return Err(name_field.error(format!("two links are named {name:?}; names must differ")));
    }
    if context.segments.contains_key(name) {
        return Err(name_field.error(format!("a segment is named {name:?} too; names must differ")));
    }
    fields.rename(format!("link.{name}"));
    let between = match fields.optional("between") {
        None => HOSTS.map(|name| host(hosts, name)),
        Some(value) => between(&value, hosts)?,
    };
    let media = [
        ("wired", Medium::Wired),
        ("wifi", Medium::Wifi),
        ("cellular", Medium::Cellular),
        ("satellite", Medium::Satellite),
        ("unknown", Medium::Unknown),
    ];
    let medium = fields.read_or("medium", Medium::default(), |value| value.choice(&media))?;
    let backup = fields.read_or("backup", false, |value| value.boolean())?;
    let metered = fields.read_or("metered", false, |value| value.boolean())?;
    let cap = fields.read("cap", |value| value.text_quantity("a cap such as \"1GB/24h\"", cost_cap))?;
    let via = route::via(fields.optional("via"), context)?;
    let attach_outage = fields.read("attach_outage", |value| value.duration())?;
    let detaches = fields.read_or("detaches", false, |value| value.boolean())?;
    let mut nat_rebinding = fields.read_or("nat_rebinding", Vec::new(), moments)?;
    let own = fields.read("channel", |value| channel::profile(value, context))?;
    let (up, down) = directions(&fields, own.as_deref(), context)?;
    if let Some(profile) = &own {
        nat_rebinding.extend(channel::address_changes(profile));
        nat_rebinding.sort_unstable();
        nat_rebinding.dedup();
    }
    let profile = own.or_else(|| channel_of_route(&via, context));
    let mut foreseen_outages = None;
    let quality = fields.read("forecast", |value| {
        let quality = channel::forecast(value, name, context)?;
        if profile.is_none() {
            foreseen_outages = channel::foreseen_outages(value, quality, &up.outages)?;
        }
        Ok(quality)
    })?;
    fields.finish()?;
    Ok(ScenarioLink {
        name: name.to_owned(),
        between,
        medium,
        backup,
        metered,
        cap,
        up,
        down,
        via,
        attach_outage,
        detaches,
        nat_rebinding,
        marks: profile.as_deref().map(channel::marks).unwrap_or_default(),
        forecasts: profile
            .map(|profile| ForecastSource { profile, quality: quality.unwrap_or(ForecastQuality::Absent) }),
        foreseen_outages,
    })
}

fn cost_cap(text: &str) -> std::result::Result<CostCap, String> {
    text.parse().map_err(|error: InvalidCostCap| error.to_string())
}

/// The channel of a segment that the link leads over at first.
fn channel_of_route(via: &Via, context: &Context<'_, '_>) -> Option<Arc<Profile>> {
    let route = via.alternatives.get(via.schedule.value_at(0))?;
    route.iter().find_map(|&segment| context.segment_profiles.get(segment)?.clone())
}

/// A link's name is the name of its interface: IFNAMSIZ leaves 15 characters.
fn link_name<'a>(field: &Value<'a>) -> Result<&'a str> {
    let name = field.string()?;
    let letter = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if !is_plain(name) || !letter || name.len() > 15 || name == "lo" {
        return Err(field.error(format!(
            "{name:?} cannot name an interface; expected a letter and up to 14 letters, digits, - or _, and not \"lo\""
        )));
    }
    Ok(name)
}

/// A name of anything else.
pub(super) fn plain_name<'a>(field: &Value<'a>, what: &str) -> Result<&'a str> {
    let name = field.string()?;
    if !is_plain(name) || name.is_empty() || name.len() > LONGEST_NAME {
        return Err(field.error(format!(
            "{name:?} cannot name {what}; expected 1 to {LONGEST_NAME} letters, digits, - or _"
        )));
    }
    Ok(name)
}

fn is_plain(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// `["car", "server"]`: the first has the interface.
fn between(value: &Value<'_>, hosts: &mut Vec<String>) -> Result<[usize; 2]> {
    let ends = value.array()?;
    let [first, second] = &ends[..] else {
        let message = format!("expected two hosts such as [\"client\", \"server\"], found {}", ends.len());
        return Err(value.error(message));
    };
    let names = [plain_name(first, "a host")?, plain_name(second, "a host")?];
    if names[0] == names[1] {
        return Err(
            second.error(format!("the link leads from {:?} to itself; expected another host", names[0]))
        );
    }
    Ok(names.map(|name| host(hosts, name)))
}

fn host(hosts: &mut Vec<String>, name: &str) -> usize {
    hosts.iter().position(|host| host == name).unwrap_or_else(|| {
        hosts.push(name.to_owned());
        hosts.len() - 1
    })
}

/// Times, one after the other.
fn moments(value: &Value<'_>) -> Result<Vec<Nanos>> {
    let times = value.list(|time| time.duration())?;
    if let Some(index) = times.windows(2).position(|pair| pair[0] >= pair[1]) {
        return Err(
            value.error(format!("times must increase: item {} is not later than the one before", index + 2))
        );
    }
    Ok(times)
}
