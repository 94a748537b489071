//! Instructions per packet, counted by valgrind: the same on any machine of a kind, whatever else it runs.

use std::process::Command;

use bench_harness::Error;
use clap::ValueEnum;
use serde::Serialize;

use crate::sessions::SessionKind;

/// Lengths of two transfers; the difference has no start in it.
const SHORT: u64 = 4_000_000;
const LONG: u64 = 20_000_000;

/// Functions of an end, as patterns of the profiler. Counting starts and stops at each entry and exit; inside, the
/// copying onto the wire, which is not the stack's, stops it.
const SENDER: [&str; 3] = ["*server_turn*", "*server_receives*", "*world::put*"];
const RECEIVER: [&str; 3] = ["*client_turn*", "*client_receives*", "*world::put*"];

/// Instructions per packet that carries data; the work for acknowledgements is part of it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Instructions {
    session: SessionKind,
    per_packet_sent: f64,
    per_packet_received: f64,
    /// What policies that ask for every event of every packet add.
    events_per_packet_sent: f64,
    events_per_packet_received: f64,
}

/// Counts with and without cryptography.
pub(crate) fn report() -> Result<Vec<Instructions>, Error> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("instructions per packet: not counted, valgrind is not installed");
        return Ok(Vec::new());
    }
    [SessionKind::Null, SessionKind::Tls].into_iter().map(of_session).collect()
}

fn of_session(session: SessionKind) -> Result<Instructions, Error> {
    let per_packet = |functions, watched| {
        let (short, long) =
            (count(session, functions, SHORT, watched)?, count(session, functions, LONG, watched)?);
        Ok::<f64, Error>(
            (long.instructions - short.instructions) as f64 / (long.packets - short.packets) as f64,
        )
    };
    let (sent, received) = (per_packet(SENDER, false)?, per_packet(RECEIVER, false)?);
    let instructions = Instructions {
        session,
        per_packet_sent: sent,
        per_packet_received: received,
        events_per_packet_sent: per_packet(SENDER, true)? - sent,
        events_per_packet_received: per_packet(RECEIVER, true)? - received,
    };
    eprintln!(
        "instructions per packet, {session:?} session: sent {sent:.0}, received {received:.0}; \
         for policies that ask for every event (at most 150): +{:.0}, +{:.0}",
        instructions.events_per_packet_sent, instructions.events_per_packet_received
    );
    Ok(instructions)
}

struct Count {
    instructions: u64,
    packets: u64,
}

fn count(session: SessionKind, functions: [&str; 3], bytes: u64, watched: bool) -> Result<Count, Error> {
    let name = session.to_possible_value().ok_or("a session without a name")?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--collect-atstart=no"])
        .args(functions.map(|function| format!("--toggle-collect={function}")))
        .arg(std::env::current_exe()?)
        .args(["transfer", "--bytes", &bytes.to_string(), "--session", name.get_name()])
        .args(watched.then_some("--watched"))
        .output()?;
    let log = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("valgrind failed ({}): {log}", output.status).into());
    }
    // "==123== Collected : 456"
    let collected =
        log.lines().find_map(|line| line.split_once("Collected :")).ok_or("valgrind counted nothing")?;
    let report: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let packets = report["sender"]["datagrams_sent"].as_u64().ok_or("the transfer reports no packets")?;
    Ok(Count { instructions: collected.1.trim().parse()?, packets })
}
