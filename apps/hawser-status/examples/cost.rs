//! What looking costs: a connection with eight paths at 10 Hz, and a scrape of a thousand connections.
//!
//!     cargo run --release -p hawser-status --example cost

use std::error::Error;
use std::time::{Duration, Instant};

use hawser_net::{
    ClientConfig, Connection, Endpoint, Identity, Links, PathSpec, ServerConfig, TransportConfig, Trust,
    default_transport,
};
use hawser_status::{Hub, metrics};

/// Looks that are timed.
const LOOKS: u32 = 500;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    eight_paths().await?;
    thousand_connections().await
}

fn transport() -> TransportConfig {
    TransportConfig { max_concurrent_paths: 8, ..default_transport() }
}

async fn server() -> Result<(Endpoint, hawser_net::Pin), Box<dyn Error>> {
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

async fn eight_paths() -> Result<(), Box<dyn Error>> {
    let (server, pin) = server().await?;
    let config = ClientConfig::builder()
        .trust(Trust::Pins(vec![pin]))
        .alpn(["cost"])
        .transport(transport())
        .build()?;
    let links: Result<Vec<PathSpec>, Box<dyn Error>> =
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
    let each = began.elapsed() / LOOKS;
    println!(
        "{} paths: {each:.1?} for a look and its JSON ({bytes} bytes), {:.3} % of a core at 10 Hz",
        connection.paths().len(),
        each.as_secs_f64() * 10.0 * 100.0
    );
    Ok(())
}

async fn thousand_connections() -> Result<(), Box<dyn Error>> {
    let (server, pin) = server().await?;
    let config = ClientConfig::builder().trust(Trust::Pins(vec![pin])).alpn(["cost"]).build()?;
    let links = Links::Only(vec![PathSpec::available("127.0.0.1".parse()?)]);
    let client = Endpoint::client(config, links)?;
    let mut connections: Vec<Connection> = Vec::new();
    for _ in 0..1_000 {
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
    println!("{} connections: {longest:.1?} for a scrape at the longest", connections.len());
    Ok(())
}
