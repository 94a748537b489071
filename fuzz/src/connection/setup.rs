//! How the ends are configured: small windows, so that limits are met, and any policies.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use hawser_core::{QlogFactory, TransportConfig, Version, VersionPreference};
use hawser_policy::{Composition, FeatureId, FeatureSet, PolicyKind, Registry};
use hawser_sim::adversary::{Forgery, Tap};
use hawser_wire::TransportParameters;
use hawser_wire::transport_parameters::AddressDiscovery;

use super::script::Script;
use super::tokens;
use super::world::{Setup, VersionSetup};

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let mut registry = Registry::new();
    hawser_cc::register(&mut registry);
    hawser_paths::register(&mut registry);
    hawser_sched::register(&mut registry);
    hawser_sched::register_sets(&mut registry);
    hawser_cc::register_sets(&mut registry);
    registry
});

/// All policies by name.
pub fn registry() -> &'static Registry {
    &REGISTRY
}

/// Features whose messages some policy set takes for itself: whichever an end has, or gets while it runs, they are no sure
/// sign of what its application is told.
static TAKEN: LazyLock<FeatureSet> = LazyLock::new(|| {
    registry().names(PolicyKind::Set).fold(FeatureSet::NONE, |taken, name| {
        let wanted = Composition::default()
            .with(|composition| composition.policy = Some(name.parse().expect("a name")));
        taken.union(&registry().set(&wanted).expect("a name that it has").features())
    })
});

/// Whether messages of this feature may be for a policy set.
pub fn may_be_taken(feature: FeatureId) -> bool {
    TAKEN.contains(feature)
}

/// The `n`-th of these names.
pub fn nth_name<'a>(mut names: impl Iterator<Item = &'a str> + Clone, n: usize) -> &'a str {
    let count = names.clone().count().max(1);
    names.nth(n % count).unwrap_or_default()
}

/// Reads how the connection is set up; `None` if the script is too short for it.
pub fn read(script: &mut Script<'_>) -> Option<Setup> {
    let flags = script.byte()?;
    let mut transports = [transport(script)?, transport(script)?];
    let client = if flags & 1 == 1 { Some(forgery(script)?) } else { None };
    let server = if flags & 2 == 2 { Some(forgery(script)?) } else { None };
    let forged = [client.is_some(), server.is_some()];
    // What came later has a flag of its own, so that kept scripts mean what they meant.
    let mut token = None;
    if flags & 8 == 8 {
        let how = script.byte()?;
        for (transport, shift) in transports.iter_mut().zip([0, 3]) {
            policies(script, transport, how >> shift & 7)?;
        }
        token = tokens::read(script, how >> 6)?;
    }
    let versions = if flags & 16 == 16 { versions(script.byte()?) } else { VersionSetup::default() };
    let taps = [Tap::new(client), Tap::new(server)];
    Some(Setup { transports, taps, forged, retry: flags & 4 == 4, token, versions })
}

/// A client that speaks both versions and begins with either, and a server that has one of them: it is followed, by a Version
/// Negotiation packet or within the handshake.
fn versions(how: u8) -> VersionSetup {
    let list = |text: &str| text.parse().expect("versions");
    let server = ["1,2", "2,1", "1", "2"][usize::from(how >> 2 & 3)];
    VersionSetup {
        client: list(if how & 1 == 0 { "1,2" } else { "2,1" }),
        first: if how & 2 == 0 { Version::V1 } else { Version::V2 },
        server: list(server),
        preference: if how & 16 == 0 { VersionPreference::Server } else { VersionPreference::Client },
    }
}

/// Other policies than [`transport`] can name: a whole set, or parts of any kind.
fn policies(script: &mut Script<'_>, transport: &mut TransportConfig, which: u8) -> Option<()> {
    let nth = |kind, n: usize| {
        let names = registry().names(kind).collect::<Vec<_>>();
        nth_name(names.into_iter(), n).parse().expect("a name")
    };
    let mut wanted = Composition::default();
    let kinds: &[PolicyKind] = match which {
        0 => return Some(()),
        1 => &[PolicyKind::Set],
        2 => &[PolicyKind::Protection],
        _ => &[PolicyKind::Scheduler, PolicyKind::Congestion, PolicyKind::Acks, PolicyKind::Protection],
    };
    for kind in kinds {
        wanted.set(*kind, nth(*kind, usize::from(script.byte()?)));
    }
    transport.policies = registry().set(&wanted).expect("names that it has");
    transport.repair_buffer = Some(64_000).filter(|_| which != 7);
    Some(())
}

fn transport(script: &mut Script<'_>) -> Option<TransportConfig> {
    let policies = usize::from(script.byte()?);
    let schedulers = registry().names(PolicyKind::Scheduler).collect::<Vec<_>>();
    let controllers = registry().names(PolicyKind::Congestion).collect::<Vec<_>>();
    let scheduler = nth_name(schedulers.iter().copied(), policies % 16);
    let controller = nth_name(controllers.iter().copied(), policies / 16 % 8);
    let wanted = Composition::default().with(|composition| {
        composition.scheduler = Some(scheduler.parse().expect("a name"));
        composition.congestion = Some(controller.parse().expect("a name"));
    });
    let mut config = TransportConfig::with_policies(registry().set(&wanted).expect("names that it has"));

    let sizes = script.byte()?;
    config.initial_stream_window = [1_000, 16_000, 64_000, 256_000][usize::from(sizes & 3)];
    config.max_stream_window = config.initial_stream_window * 2;
    config.initial_connection_window = config.initial_stream_window * 3 / 2;
    config.max_connection_window = 512_000;
    config.max_send_buffer = 256_000;
    config.datagram_receive_buffer = Some(32_000).filter(|_| sizes & 0x0c != 0x0c);
    config.datagram_send_buffer = 32_000;
    config.max_mtu = if sizes & 0x10 == 0 { 1452 } else { 1200 };
    config.max_bidirectional_streams = if sizes & 0x20 == 0 { 100 } else { 2 };
    config.max_unidirectional_streams = if sizes & 0x20 == 0 { 100 } else { 1 };
    if sizes & 0x40 != 0 {
        config.features = (0..8).map(FeatureId).collect();
        config.receive_timestamps = Some(16);
    }

    let paths = script.byte()?;
    config.max_path_id = [Some(7), Some(2), Some(0), None][usize::from(paths & 3)];
    config.max_concurrent_paths = [8, 2, 3, 1][usize::from(paths >> 2 & 3)];
    config.ecn = paths & 0x10 == 0;
    config.grease = paths & 0x20 == 0;
    config.keep_alive_interval = (paths & 0x40 != 0).then_some(Duration::from_secs(3));
    config.suspect_path_timeout = Duration::from_secs(if paths & 0x80 == 0 { 30 } else { 2 });
    config.qlog = qlog(policies > 127);
    Some(config)
}

/// Traces into a folder, for those who look into a finding; else `wanted` ones go nowhere.
fn qlog(wanted: bool) -> Option<QlogFactory> {
    let folder = std::env::var_os("HAWSER_FUZZ_QLOG").map(PathBuf::from);
    if folder.is_none() && !wanted {
        return None;
    }
    Some(Arc::new(move |connection| {
        let Some(folder) = &folder else { return Some(Box::new(io::sink())) };
        let file = File::create(folder.join(format!("{:?}.sqlog", connection.side))).ok()?;
        Some(Box::new(file))
    }))
}

/// Lies in transport parameters: one field takes any value.
fn forgery(script: &mut Script<'_>) -> Option<Forgery> {
    let (field, value) = (script.byte()?, script.number()?);
    Some(Box::new(move |parameters| forge(parameters, field, value)))
}

fn forge(parameters: &mut TransportParameters, field: u8, value: u64) {
    match field % 20 {
        0 => parameters.max_idle_timeout = value,
        1 => parameters.max_udp_payload_size = value.max(1200),
        2 => parameters.initial_max_data = value,
        3 => parameters.initial_max_stream_data_bidi_local = value,
        4 => parameters.initial_max_stream_data_bidi_remote = value,
        5 => parameters.initial_max_stream_data_uni = value,
        6 => parameters.initial_max_streams_bidi = value.min(1 << 60),
        7 => parameters.initial_max_streams_uni = value.min(1 << 60),
        8 => parameters.ack_delay_exponent = (value % 21) as u8,
        9 => parameters.max_ack_delay = (value % (1 << 14)) as u16,
        10 => parameters.disable_active_migration = true,
        11 => parameters.active_connection_id_limit = value.max(2),
        12 => parameters.max_datagram_frame_size = value,
        13 => parameters.grease_quic_bit = value % 2 == 1,
        14 => parameters.initial_max_path_id = u32::try_from(value).ok(),
        15 => parameters.min_ack_delay = Some(value),
        16 => parameters.max_receive_timestamps_per_ack = Some(value),
        17 => parameters.reset_stream_at = value % 2 == 1,
        18 => {
            parameters.address_discovery =
                [None, Some(AddressDiscovery::ProvideAndReceive)][(value % 2) as usize]
        }
        _ => parameters.initial_source_connection_id = None,
    }
}
