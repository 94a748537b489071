//! What it costs to look at a program: a connection with eight paths, and a scrape of a thousand connections. On real sockets of
//! loopback, since an endpoint is looked at.

use std::time::{Duration, Instant};

use bench_harness::Error;
use hawser_net::{
    ClientConfig, Connection, Endpoint, Identity, Links, PathSpec, ServerConfig, TransportConfig, Trust,
    default_transport,
};
use hawser_status::{Hub, metrics};
use serde::Serialize;

/// Looks that are timed.
const LOOKS: u32 = 500;
/// Connections of the scrape.
const CONNECTIONS: usize = 1_000;

/// Costs of looking.
#[derive(Debug, Serialize)]
pub(crate) struct Status {
    looks: Looks,
    scrape: Scrape,
}

/// Looks at one connection.
#[derive(Debug, Serialize)]
struct Looks {
    paths: usize,
    look_us: f64,
    json_bytes: usize,
    percent_of_a_core_at_10_hz: f64,
    /// Once a second, which is all that happens while nobody looks: nothing is counted per packet.
    percent_of_a_core_unwatched: f64,
}

/// A scrape of the metrics; the longest of five.
#[derive(Debug, Serialize)]
struct Scrape {
    connections: usize,
    scrape_ms: f64,
}

/// Measures both.
pub(crate) fn report() -> Result<Status, Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async { Ok(Status { looks: eight_paths().await?, scrape: thousand_connections().await? }) })
}

fn transport() -> TransportConfig {
    TransportConfig { max_concurrent_paths: 8, ..default_transport() }
}

async fn server() -> Result<(Endpoint, hawser_net::Pin), Error> {
    let identity = Identity::self_signed(&["localhost"])?;
    let pin = identity.pin()?;
    let config = ServerConfig::builder(identity).alpn(["cost"]).transport(transport()).build()?;
    let server = Endpoint::server(config, "127.0.0.1:0".parse()?)?;
    let accepting = server.clone();
    tokio::spawn(async move {
        while let Some(incoming) = accepting.accept().await {
            tokio::spawn(async move {
                if let Ok(connection) = incoming.await {
                    connection.closed().await;
                }
            });
        }
    });
    Ok((server, pin))
}

async fn eight_paths() -> Result<Looks, Error> {
    let (server, pin) = server().await?;
    let config = ClientConfig::builder()
        .trust(Trust::Pins(vec![pin]))
        .alpn(["cost"])
        .transport(transport())
        .build()?;
    let links: Result<Vec<PathSpec>, Error> =
        (1..=8).map(|last| Ok(PathSpec::available(format!("127.0.0.{last}").parse()?))).collect();
    let client = Endpoint::client(config, Links::Only(links?))?;
    let connection = client.connect(server.listening()[0], "localhost").await?;
    let began = Instant::now();
    while connection.paths().len() < 8 && began.elapsed() < Duration::from_secs(10) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let hub = Hub::new("cost", Box::new(|| {}));
    hub.attach(&client);
    let began = Instant::now();
    let mut bytes = 0;
    for _ in 0..LOOKS {
        bytes = serde_json::to_vec(&*hub.look(Duration::ZERO))?.len();
    }
    let each = began.elapsed().as_secs_f64() / f64::from(LOOKS);
    Ok(Looks {
        paths: connection.paths().len(),
        look_us: each * 1e6,
        json_bytes: bytes,
        percent_of_a_core_at_10_hz: each * 10.0 * 100.0,
        percent_of_a_core_unwatched: each * 100.0,
    })
}

async fn thousand_connections() -> Result<Scrape, Error> {
    let (server, pin) = server().await?;
    let config = ClientConfig::builder().trust(Trust::Pins(vec![pin])).alpn(["cost"]).build()?;
    let links = Links::Only(vec![PathSpec::available("127.0.0.1".parse()?)]);
    let client = Endpoint::client(config, links)?;
    let mut connections: Vec<Connection> = Vec::new();
    for _ in 0..CONNECTIONS {
        connections.push(client.connect(server.listening()[0], "localhost").await?);
    }
    let hub = Hub::new("cost", Box::new(|| {}));
    hub.attach(&server);
    hub.look(Duration::ZERO);
    let mut longest = Duration::ZERO;
    for _ in 0..5 {
        // Looks of so many connections are shared for a while.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let began = Instant::now();
        let text = metrics::text(hub.look(Duration::ZERO))?;
        longest = longest.max(began.elapsed());
        assert!(text.contains("hawser_connections"));
    }
    Ok(Scrape { connections: connections.len(), scrape_ms: longest.as_secs_f64() * 1e3 })
}
