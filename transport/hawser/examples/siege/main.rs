//! Attacks a build of the command from outside, each with a victim that asks for a small file meanwhile (`make soak`).
//!
//! ```text
//! cargo run --release -p hawser --example siege -- target/release/hawser [FORM...]
//! cargo run --release -p hawser --example siege -- target/release/hawser --load
//! ```
//!
//! Each form starts a server of its own on loopback, and ends it. Printed are what the attackers sent, the CPU time of the
//! server for each of their packets, the memory that it holds more for each of their bytes, and the longest that a victim
//! waited. Ends with 1 if a victim waited for a second, or a figure is above its bound; what is allowed beyond 100 µs and 100
//! bytes has its reason next to the form. docs/security.md has the table.

mod client;
mod drain;
mod forms;
mod gateway;
mod load;
mod others;
mod server;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use client::Client;
use forms::{FORMS, Form, Siege};
use gateway::GATEWAY;
use others::OTHERS;
use server::Server;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// How long a victim may wait.
const PATIENCE: Duration = Duration::from_secs(1);
/// Victims of each form, one after the other.
const VICTIMS: u32 = 5;

/// What an attack came to.
struct Outcome {
    packets: u64,
    bytes: u64,
    /// Of the server's CPU, for each packet.
    micros: f64,
    /// More than before.
    held: u64,
    waited: Duration,
    /// What the form itself found wrong.
    wrong: Option<String>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(command) = arguments.next().map(PathBuf::from) else {
        eprintln!("usage: siege HAWSER [--load] [FORM...]");
        return ExitCode::from(2);
    };
    let names: Vec<String> = arguments.collect();
    if names.iter().any(|name| name == "--load") {
        return match load::run(&command).await {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        };
    }
    println!("| attack | packets | KiB sent | µs of CPU per packet | KiB held | per byte | victim | |");
    println!("|---|---|---|---|---|---|---|---|");
    let mut all_hold = true;
    let forms = FORMS.iter().chain(OTHERS).chain(GATEWAY);
    for form in forms.filter(|form| names.is_empty() || names.iter().any(|name| name == form.name)) {
        let line = match run(form, &command).await {
            Ok(outcome) => {
                let (line, holds) = judge(form, &outcome);
                all_hold &= holds;
                line
            }
            Err(error) => {
                all_hold = false;
                format!("| {} | it could not be run: {error} |", form.name)
            }
        };
        println!("{line}");
    }
    if all_hold { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn run(form: &Form, command: &std::path::Path) -> Result<Outcome, Error> {
    let server = Server::start(command, form.arguments)?;
    let mut siege = Siege::new(&server)?;
    (form.prepare)(&mut siege)?;
    // What the server needs once is there.
    ask(&server, form.alpn).await?;
    tokio::time::sleep(Duration::from_millis(200)).await;
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
    Ok(Outcome {
        packets,
        bytes,
        micros: (after.cpu - before.cpu).as_secs_f64() * 1e6 / packets.max(1) as f64,
        held,
        waited,
        wrong: (form.check)(&siege),
    })
}

/// What a victim wants: a small file, or of other servers a connection.
async fn ask(server: &Server, alpn: &'static [u8]) -> Result<(), Error> {
    let client = Client::connect(server, alpn).await?;
    if alpn == hawser_h3::ALPN && server.has_files() {
        return client.get_small().await;
    }
    // Who is turned away is told so right behind the handshake.
    let closed = tokio::time::timeout(Duration::from_millis(50), client.connection.closed()).await;
    closed.map_or(Ok(()), |reason| Err(reason.into()))
}

/// The line of the table, and whether all of it is within the bounds.
fn judge(form: &Form, outcome: &Outcome) -> (String, bool) {
    let per_byte = outcome.held as f64 / outcome.bytes.max(1) as f64;
    let mut wrong: Vec<String> = outcome.wrong.iter().cloned().collect();
    if outcome.waited >= PATIENCE {
        wrong.push("a victim waited".to_owned());
    }
    if outcome.micros > form.micros {
        wrong.push(format!("more than {} µs", form.micros));
    }
    if per_byte > 100.0 && outcome.held > form.mebibytes << 20 {
        wrong.push(format!("more than {} MiB", form.mebibytes));
    }
    let verdict = if wrong.is_empty() { "holds".to_owned() } else { format!("WRONG: {}", wrong.join(", ")) };
    let line = format!(
        "| {} | {} | {} | {:.0} | {} | {per_byte:.0} | {:.2} s | {verdict} |",
        form.name,
        outcome.packets,
        outcome.bytes >> 10,
        outcome.micros,
        outcome.held >> 10,
        outcome.waited.as_secs_f64()
    );
    (line, wrong.is_empty())
}
