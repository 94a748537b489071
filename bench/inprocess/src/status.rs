//! What it costs to look at a program: a connection with eight paths, and a scrape of a thousand connections. On real sockets of
//! loopback, since an endpoint is looked at.

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bench_harness::Error;
use hawser_net::{
    ClientConfig, Connection, Endpoint, Identity, Links, PathSpec, ServerConfig, TransportConfig, Trust,
    default_transport,
};
use hawser_status::control::ControlSocket;
use hawser_status::{Hub, metrics};
use serde::Serialize;

/// Looks that are timed, and those that a profiler counts.
const LOOKS: u32 = 500;
const COUNTED_LOOKS: u32 = 100;
/// The function that a profiler counts.
const COUNTED: &str = "*one_look*";
/// How long packets are counted.
const BUSY: Duration = Duration::from_secs(3);
/// Connections of the scrape.
const CONNECTIONS: usize = 1_000;
/// Looks in a second while nobody looks, and packets in a second of a link of 100 Mbit/s.
const UNWATCHED_HZ: f64 = 0.5;
const PACKETS_PER_SECOND: f64 = 100e6 / 8.0 / 1_400.0;
/// What may be.
const MOST_PERCENT: f64 = 0.5;
const MOST_PER_PACKET: f64 = 20.0;
const MOST_SCRAPE_MS: f64 = 50.0;

/// Costs of looking.
#[derive(Debug, Serialize)]
pub(crate) struct Status {
    looks: Looks,
    unwatched: Option<Unwatched>,
    scrape: Scrape,
}

/// Looks at one connection.
#[derive(Debug, Serialize)]
struct Looks {
    paths: usize,
    look_us: f64,
    json_bytes: usize,
    percent_of_a_core_at_10_hz: f64,
    /// Every two seconds, which is all that happens while nobody looks: nothing is counted per packet.
    percent_of_a_core_unwatched: f64,
}

/// What that is per packet.
#[derive(Debug, Serialize)]
struct Unwatched {
    instructions_per_look_1_path: f64,
    instructions_per_look_8_paths: f64,
    /// Of one stream over loopback, with the control socket open and nobody attached.
    packets_per_second: f64,
    instructions_per_packet: f64,
    /// With eight paths that carry 100 Mbit/s together.
    instructions_per_packet_at_100_mbps: f64,
}

/// A scrape of the metrics, of five.
#[derive(Debug, Serialize)]
struct Scrape {
    connections: usize,
    /// The shortest, by the clock: others use the machine as well.
    scrape_ms: f64,
    /// The longest, on the processor.
    scrape_cpu_ms: Option<f64>,
}

/// Measures all.
pub(crate) fn report() -> Result<Status, Error> {
    let unwatched = unwatched()?;
    let (looks, scrape) = runtime()?
        .block_on(async { Ok::<_, Error>((eight_paths().await?, thousand_connections().await?)) })?;
    eprintln!(
        "looks: {} paths {:.1} us each, at 10 Hz {:.3} % of a core (at most {MOST_PERCENT})",
        looks.paths, looks.look_us, looks.percent_of_a_core_at_10_hz
    );
    if let Some(unwatched) = &unwatched {
        eprintln!(
            "nobody looks: a look every two seconds, {:.0} instructions with one path, {:.0} with eight; per packet {:.2} at {:.0} packets/s \
             over loopback, {:.1} with eight paths at 100 Mbit/s (at most {MOST_PER_PACKET})",
            unwatched.instructions_per_look_1_path,
            unwatched.instructions_per_look_8_paths,
            unwatched.instructions_per_packet,
            unwatched.packets_per_second,
            unwatched.instructions_per_packet_at_100_mbps
        );
    }
    eprintln!(
        "scrape of {} connections: {:.1} ms, {:.1} ms of them on the processor (at most {MOST_SCRAPE_MS})",
        scrape.connections,
        scrape.scrape_ms,
        scrape.scrape_cpu_ms.unwrap_or(f64::NAN)
    );
    Ok(Status { looks, unwatched, scrape })
}

fn runtime() -> Result<tokio::runtime::Runtime, Error> {
    Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?)
}

/// Instructions of looks, divided by the packets that pass between two of them; `None` without a profiler.
fn unwatched() -> Result<Option<Unwatched>, Error> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("instructions of looks: not counted, valgrind is not installed");
        return Ok(None);
    }
    let (one, eight) = (instructions_per_look(1)?, instructions_per_look(8)?);
    let packets_per_second = runtime()?.block_on(busy())?;
    Ok(Some(Unwatched {
        instructions_per_look_1_path: one,
        instructions_per_look_8_paths: eight,
        packets_per_second,
        instructions_per_packet: one * UNWATCHED_HZ / packets_per_second,
        instructions_per_packet_at_100_mbps: eight * UNWATCHED_HZ / PACKETS_PER_SECOND,
    }))
}

fn instructions_per_look(paths: u8) -> Result<f64, Error> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--collect-atstart=no"])
        .arg(format!("--toggle-collect={COUNTED}"))
        .arg(std::env::current_exe()?)
        .args(["looks", "--paths", &paths.to_string()])
        .output()?;
    let log = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("valgrind failed ({}): {log}", output.status).into());
    }
    let collected =
        log.lines().find_map(|line| line.split_once("Collected :")).ok_or("valgrind counted nothing")?;
    Ok(collected.1.trim().parse::<f64>()? / f64::from(COUNTED_LOOKS))
}

/// Looks for a profiler. Returns how many paths there were.
pub(crate) fn looks(paths: u8) -> Result<usize, Error> {
    runtime()?.block_on(async {
        let (_server, client, connection) = connected(paths).await?;
        let hub = Hub::new("cost", Box::new(|| {}));
        hub.attach(&client);
        for _ in 0..COUNTED_LOOKS {
            std::hint::black_box(one_look(&hub));
        }
        let count = connection.paths().len();
        if count == usize::from(paths) { Ok(count) } else { Err(format!("{count} of {paths} paths").into()) }
    })
}

/// Never inlined: a profiler knows it by its name.
#[inline(never)]
fn one_look(hub: &Hub) -> Arc<hawser_status::model::Status> {
    hub.look(Duration::ZERO)
}

/// Packets in a second of a stream over loopback, with the control socket open and nobody attached.
async fn busy() -> Result<f64, Error> {
    let (server, client, connection) = connected(1).await?;
    let hub = Hub::new("cost", Box::new(|| {}));
    hub.attach(&client);
    hub.attach(&server);
    let name = format!("hawser-cost-{}.sock", std::process::id());
    let _socket = ControlSocket::open(hub.clone(), &std::env::temp_dir().join(name))?;
    let mut stream = connection.open_uni().await?;
    let began = Instant::now();
    let before = connection.stats().datagrams_sent;
    while began.elapsed() < BUSY {
        stream.write_all(&[7; 65_536]).await?;
    }
    Ok((connection.stats().datagrams_sent - before) as f64 / began.elapsed().as_secs_f64())
}

fn transport() -> TransportConfig {
    default_transport().with(|transport| transport.max_concurrent_paths = 8)
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
                    while let Ok(mut stream) = connection.accept_uni().await {
                        while let Ok(Some(_)) = stream.read_chunk(1 << 20).await {}
                    }
                }
            });
        }
    });
    Ok((server, pin))
}

/// A client with so many paths to a server; the handshake is over.
async fn connected(paths: u8) -> Result<(Endpoint, Endpoint, Connection), Error> {
    let (server, pin) = server().await?;
    let config = ClientConfig::builder()
        .trust(Trust::Pins(vec![pin]))
        .alpn(["cost"])
        .transport(transport())
        .build()?;
    let links: Result<Vec<PathSpec>, Error> =
        (1..=paths).map(|last| Ok(PathSpec::available(format!("127.0.0.{last}").parse()?))).collect();
    let client = Endpoint::client(config, Links::Only(links?))?;
    let connection = client.connect(server.listening()[0], "localhost").await?;
    let began = Instant::now();
    while connection.paths().len() < usize::from(paths) && began.elapsed() < Duration::from_secs(20) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok((server, client, connection))
}

async fn eight_paths() -> Result<Looks, Error> {
    let (_server, client, connection) = connected(8).await?;
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
        percent_of_a_core_unwatched: each * UNWATCHED_HZ * 100.0,
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
    let (mut shortest, mut busiest) = (Duration::MAX, None::<Duration>);
    for _ in 0..5 {
        // Looks of so many connections are shared for a while.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let (began, cpu) = (Instant::now(), on_processor());
        let text = metrics::text(hub.look(Duration::ZERO))?;
        shortest = shortest.min(began.elapsed());
        busiest = busiest.max(on_processor().zip(cpu).map(|(after, before)| after.saturating_sub(before)));
        assert!(text.contains("hawser_connections"));
    }
    Ok(Scrape {
        connections: connections.len(),
        scrape_ms: shortest.as_secs_f64() * 1e3,
        scrape_cpu_ms: busiest.map(|time| time.as_secs_f64() * 1e3),
    })
}

/// How long this thread has been on a processor, if the kernel tells.
fn on_processor() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}
