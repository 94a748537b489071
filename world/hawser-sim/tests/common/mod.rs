//! What the scenario files share: a client with several links that downloads from a server.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hawser_core::{Connection, FourTuple, TransportConfig};
use hawser_link::DirectionConfig;
use hawser_policy::{PathId, PathStatus, Registry, Time};
use hawser_scenario::{ReadOptions, Scenario};
use hawser_sim::testing::{SERVER, client, client_address, client_config, server, transport};
use hawser_sim::{Download, Host, LinkHandle, Network, Serve};

pub(crate) type Net = Network<Host<Download>, Host<Serve>>;

pub(crate) fn registry() -> Registry {
    let mut registry = Registry::new();
    hawser_sched::register(&mut registry);
    hawser_cc::register(&mut registry);
    hawser_paths::register(&mut registry);
    hawser_cc::register_sets(&mut registry);
    registry
}

pub(crate) fn config(scheduler: &str, controller: &str) -> TransportConfig {
    transport(&registry(), scheduler, controller)
}

/// A client that connects over its first link and asks for `length` bytes.
pub(crate) fn download(seed: u64, transport: TransportConfig, length: u64) -> Net {
    let transport = Arc::new(transport);
    let mut host = client(Download::default(), seed);
    host.connect(Time::ZERO, client_config(transport.clone()), client_address(0), SERVER, "server.test")
        .expect("the address is valid");
    Network::new(host, server(transport, Serve::new(length), seed), seed)
}

/// The same link in both directions for each of the client's addresses in turn.
pub(crate) fn links(network: &mut Net, directions: &[DirectionConfig]) -> Vec<LinkHandle> {
    let add =
        |(n, link): (usize, &DirectionConfig)| network.add_link(client_address(n as u8).ip(), link, link);
    directions.iter().enumerate().map(add).collect()
}

/// Opens a path over the client's `n`-th link as soon as the connection allows it.
pub(crate) fn open(network: &mut Net, n: u8, status: PathStatus) -> PathId {
    let tuple = FourTuple { local: client_address(n), remote: SERVER };
    let mut opened = None;
    network.run_until(network.now() + Duration::from_secs(5), |network| {
        let now = network.now();
        opened = network.client.first_connection().and_then(|c| c.open_path(now, tuple, status, None).ok());
        opened.is_some()
    });
    opened.expect("the path can be opened within five seconds")
}

/// Runs until everything was downloaded, and checks it.
pub(crate) fn finish(network: &mut Net, seconds: u64) -> Time {
    let deadline = network.now() + Duration::from_secs(seconds);
    let done = network.run_until(deadline, |n| n.client.application.finished_at.is_some());
    if !done {
        let now = network.now();
        for (name, c) in
            [("server", network.server.first_connection()), ("client", network.client.first_connection())]
        {
            let Some(c) = c else { continue };
            println!("{name} at {now}: timeout {:?} paths {:?}", c.poll_timeout(), c.paths());
            for path in c.paths() {
                println!("  {:?}: {:?}", path.id, c.path_stats(path.id));
            }
            println!("  {:?}", c.stats());
        }
    }
    let download = &network.client.application;
    assert!(
        done,
        "not finished: {} bytes; client {:?}, server {:?}; events {:?}",
        download.received, download.closed, network.server.application.closed, download.events
    );
    assert_eq!(download.corrupt_at, None, "a wrong byte");
    assert_eq!(download.received, network.server.application.length);
    download.finished_at.expect("just checked")
}

pub(crate) fn client_side(network: &mut Net) -> &mut Connection {
    network.client.first_connection().expect("the connection lives")
}

pub(crate) fn server_side(network: &mut Net) -> &mut Connection {
    network.server.first_connection().expect("the connection lives")
}

/// A scenario of the project's folder, with fields set otherwise.
pub(crate) fn load(file: &str, set: &[&str]) -> Scenario {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let text = std::fs::read_to_string(folder.join(file)).expect("the scenario is there");
    let overrides: Vec<String> = set.iter().map(|text| (*text).to_owned()).collect();
    let mut files =
        |name: &str| std::fs::read_to_string(folder.join(name)).map_err(|error| error.to_string());
    let options = ReadOptions { text: &text, file, overrides: &overrides, files: &mut files, registry: None };
    Scenario::read(options).unwrap_or_else(|error| panic!("{error}"))
}
