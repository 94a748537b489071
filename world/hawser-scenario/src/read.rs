//! From a document to a checked [`Scenario`].

mod channel;
mod direction;
pub(crate) mod fields;
mod flow;
mod jitter;
mod link;
mod loss;
mod mix;
mod policies;
mod queue;
mod random;
mod rate;
mod recordings;
mod route;
mod scene;
mod series;
mod transport;
pub(crate) mod units;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hawser_link::Nanos;
use hawser_policy::Registry;
use hawser_radio::Profile;

use crate::document;
use crate::error::ScenarioError;
use crate::files::Files;
use crate::{ReadOptions, Scenario};
use fields::Fields;

pub(crate) use channel::direction as channel;

type Result<T> = std::result::Result<T, ScenarioError>;

/// The hosts of a link that names none.
const HOSTS: [&str; 2] = ["client", "server"];

/// What the parts of the reader share.
pub(super) struct Context<'r, 'f> {
    /// The files that the scenario names.
    files: &'r mut (dyn Files + 'f),
    /// The policies that exist, if that is known.
    registry: Option<&'r Registry>,
    /// Longest time a run may take.
    duration: Option<Nanos>,
    /// Whether the command line says so: then what the file plans for later does not take place.
    shortened: bool,
    /// The seed of everything random.
    seed: u64,
    /// What each scene gives.
    scenes: scene::Scenes,
    /// Index of each segment.
    segments: BTreeMap<String, usize>,
    /// What each segment follows, by its index.
    segment_profiles: Vec<Option<Arc<Profile>>>,
    /// Nodes on a side of each grid.
    grids: BTreeMap<String, u64>,
}

pub(crate) fn scenario(options: ReadOptions<'_, '_>) -> Result<Scenario> {
    let ReadOptions { text, file, overrides, files, registry } = options;
    let document = document::assemble(text, file, overrides, files)?;
    let empty = document::Table::default();
    let fields = Fields::new(&document.origin, String::new(), document.table().unwrap_or(&empty));
    fields.required("version", "1")?.integer(1..=1)?;
    let name = fields.read_or("name", stem(file), |value| value.string())?.to_owned();
    let description = fields.read_or("description", "", |value| value.string())?.to_owned();
    let seed = fields.read_or("seed", 1, |value| value.integer(0..=i64::MAX as u64))?;
    let duration = fields.read("duration", |value| value.positive_duration())?;
    let shortened = fields.optional("duration").is_some_and(|value| value.is_override());
    // What files include is part of the document by now: it is allowed, and gone.
    let _ = fields.optional("include");
    let mptcp = fields.read_or("mptcp", false, |value| value.boolean())?;
    let mut context = Context {
        files,
        registry,
        duration,
        shortened,
        seed,
        scenes: BTreeMap::new(),
        segments: BTreeMap::new(),
        segment_profiles: Vec::new(),
        grids: BTreeMap::new(),
    };
    let scenes = scene::scenes(&fields, &mut context)?;
    route::grids(&fields, &mut context)?;
    let segments = link::segments(&fields, &mut context)?;
    let (hosts, links) = link::links(&fields, &mut context)?;
    let (transport, limits) = (transport::transport(&fields, registry)?, transport::limits(&fields)?);
    let network = flow::Network { hosts: &hosts, links: &links, segments: &segments, transport: &transport };
    let flows = flow::flows(&fields, &network, &context)?;
    fields.finish()?;
    let duration = duration.map(Duration::from_nanos);
    Ok(Scenario {
        name,
        description,
        seed,
        duration,
        mptcp,
        hosts,
        scenes,
        links,
        segments,
        flows,
        transport,
        limits,
    })
}

/// Whether the policies that a scenario names exist; nothing else of it is read. `options` have a registry.
pub(crate) fn check_policies(options: ReadOptions<'_, '_>) -> Result<()> {
    let ReadOptions { text, file, overrides, files, registry } = options;
    // What else is wrong is told when the scenario is read.
    let Ok(document) = document::assemble(text, file, overrides, files) else { return Ok(()) };
    registry.map_or(Ok(()), |registry| policies::check_document(&document, registry))
}

/// `drive` from `scenarios/drive.toml`.
pub(crate) fn stem(file: &str) -> &str {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    name.strip_suffix(".toml").unwrap_or(name)
}
