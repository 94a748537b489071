//! One form of attack after the other, each on a server of its own, and what it came to.

use std::path::Path;
use std::time::{Duration, Instant};

use super::client::Client;
use super::form::{Form, H3, Siege};
use super::server::Server;
use super::{Error, PATIENCE};

/// Victims of each form, one after the other.
const VICTIMS: u32 = 5;

pub(crate) const HEADING: &str = "| attack | packets | KiB sent | µs of CPU per packet | KiB held | per byte | victim | |\n\
                                  |---|---|---|---|---|---|---|---|";

/// What an attack came to.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    /// Of the server's CPU, for each packet; without what victims cost anyway.
    pub(crate) micros: f64,
    /// More than before.
    pub(crate) held: u64,
    pub(crate) waited: Duration,
    /// What the form itself found wrong.
    pub(crate) wrong: Option<String>,
    /// What it found otherwise.
    pub(crate) found: Option<String>,
}

pub(crate) async fn run(form: &Form, command: &Path) -> Result<Outcome, Error> {
    let server = Server::start(command, form.arguments, form.descriptors)?;
    let mut siege = Siege::new(&server)?;
    (form.prepare)(&mut siege)?;
    // What the server needs once is there.
    ask(&server, form.alpn).await?;
    let of_victims = cost_of_victims(&server, form).await?;
    let before = server.usage()?;
    (form.attack)(&mut siege).await?;
    let mut waited = Duration::ZERO;
    let mut held = 0;
    for _ in 0..VICTIMS {
        let began = Instant::now();
        // One who is not served at all has waited for longer than he may.
        let asked = tokio::time::timeout(PATIENCE * 5, ask(&server, form.alpn)).await;
        waited = waited.max(match asked {
            Ok(Ok(())) => began.elapsed(),
            _ => PATIENCE * 5,
        });
        held = held.max(server.usage()?.memory.saturating_sub(before.memory));
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let after = server.usage()?;
    let (packets, bytes) = siege.sent();
    let wrong = (form.check)(&siege);
    Ok(Outcome {
        packets,
        bytes,
        micros: (after.cpu - before.cpu).saturating_sub(of_victims).as_secs_f64() * 1e6
            / packets.max(1) as f64,
        held,
        waited,
        wrong: siege.wrong.take().or(wrong),
        found: siege.found.take(),
    })
}

/// What the server spends on as many victims while nobody attacks it.
async fn cost_of_victims(server: &Server, form: &Form) -> Result<Duration, Error> {
    let before = server.usage()?;
    for _ in 0..VICTIMS {
        ask(server, form.alpn).await?;
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    Ok(server.usage()?.cpu - before.cpu)
}

/// What a victim wants: a small file, or of other servers a connection.
async fn ask(server: &Server, alpn: &'static [u8]) -> Result<(), Error> {
    let client = Client::connect(server, alpn).await?;
    if alpn == H3 && server.has_files() {
        return client.get_small().await;
    }
    // Who is turned away is told so right behind the handshake.
    let closed = tokio::time::timeout(Duration::from_millis(50), client.connection.closed()).await;
    closed.map_or(Ok(()), |reason| Err(reason.into()))
}

/// What an attack may cost.
pub(crate) struct Bounds {
    pub(crate) name: &'static str,
    pub(crate) micros: f64,
    pub(crate) mebibytes: u64,
}

impl From<&Form> for Bounds {
    fn from(form: &Form) -> Self {
        Bounds { name: form.name, micros: form.micros, mebibytes: form.mebibytes }
    }
}

/// The line of the table, and whether all of it is within the bounds.
pub(crate) fn judge(bounds: &Bounds, outcome: &Outcome) -> (String, bool) {
    let per_byte = outcome.held as f64 / outcome.bytes.max(1) as f64;
    let mut wrong: Vec<String> = outcome.wrong.iter().cloned().collect();
    if outcome.waited >= PATIENCE {
        wrong.push("a victim waited".to_owned());
    }
    if outcome.micros > bounds.micros {
        wrong.push(format!("more than {} µs", bounds.micros));
    }
    if per_byte > 100.0 && outcome.held > bounds.mebibytes << 20 {
        wrong.push(format!("more than {} MiB", bounds.mebibytes));
    }
    let mut verdict =
        if wrong.is_empty() { "holds".to_owned() } else { format!("WRONG: {}", wrong.join(", ")) };
    if let Some(found) = &outcome.found {
        verdict = format!("{verdict}; {found}");
    }
    // Of a server that does something else as well nobody knows what a packet costs.
    let micros = if bounds.micros.is_finite() { format!("{:.0}", outcome.micros) } else { "-".to_owned() };
    let line = format!(
        "| {} | {} | {} | {micros} | {} | {per_byte:.0} | {:.2} s | {verdict} |",
        bounds.name,
        outcome.packets,
        outcome.bytes >> 10,
        outcome.held >> 10,
        outcome.waited.as_secs_f64()
    );
    (line, wrong.is_empty())
}
