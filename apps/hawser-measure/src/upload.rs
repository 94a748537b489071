//! `hawser measure upload`.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hawser_lab::data::measure::{Folder, RecordId, Store};
use serde::Serialize;

use super::Upload;
use super::keeper::{open_store, tell_set_aside};
use super::protocol::{Lines, PROFILE, Receipt, Request, broken, write};
use hawser::{Connection, Printable, Registry};
use hawser_command::exit::{Exit, Failure};
use hawser_command::interrupt::Interrupt;
use hawser_command::output::Output;
use hawser_command::report::{Channel, print};
use hawser_command::session::Session;
use hawser_command::stall::in_time;

/// Records of a stream: their receipts fit into what may be unread of it.
const BATCH: usize = 64;

/// What is said of a server that does not confirm.
const UNCONFIRMED: &str = "the server answers, but confirmed no record";

/// What was handed over.
#[derive(Serialize)]
struct Uploaded {
    uploaded: u64,
    left: u64,
}

/// Hands over all records; each is removed when the server has it.
pub(super) async fn run(
    arguments: &Upload,
    registry: &Arc<Registry>,
    output: Output,
    mut interrupt: Interrupt,
) -> Result<(), Failure> {
    let folder = &arguments.folder;
    let failed = |error: io::Error| Failure::read(folder, &error);
    std::fs::read_dir(folder).map_err(failed)?;
    let mut store = match Folder::take(folder) {
        // Nobody writes to it: what a run that was killed has left is finished first.
        Ok(taken) => {
            drop(taken);
            open_store(folder, u64::MAX, hawser_lab::data::measure::RunId(rand::random()), output)?
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Store::visit(Folder::visit(folder)),
        Err(error) => return Err(Failure::write(folder, &error)),
    };
    let mut waiting = store.waiting().map_err(failed)?;
    let mut uploaded = 0;
    let client = arguments.client.setup(registry, &PROFILE, output)?;
    let session = Session::connect(&arguments.host, arguments.port.get(), &client, &mut interrupt).await?;
    let result = tokio::select! {
        result = hand_over(&session.connection, &mut store, &waiting, &mut uploaded, client.stall) => result,
        () = interrupt.raised() => Err(Failure::new(Exit::Signal, "stopped; what the server has is removed here")),
    };
    let result = result.map_err(|failure| client.explain(failure, &session.connection));
    session.close(0).await;
    tell_set_aside(&mut store, folder);
    waiting = store.waiting().map_err(failed)?;
    let report = Uploaded { uploaded, left: waiting.len() as u64 };
    if output.json {
        Channel::Stdout.print(&report);
    } else if !output.quiet {
        print(format_args!("{} records uploaded, {} are left", report.uploaded, report.left));
    }
    result
}

async fn hand_over(
    connection: &Connection,
    store: &mut Store<Folder>,
    ids: &[RecordId],
    uploaded: &mut u64,
    stall: Option<Duration>,
) -> Result<(), Failure> {
    for batch in ids.chunks(BATCH) {
        let (mut send, receive) = connection.open_bi().await.map_err(|error| broken(&error))?;
        write(&mut send, &Request::Upload).await?;
        let mut offered = BTreeMap::new();
        for id in batch {
            let line = store.read(id).map_err(|error| Failure::new(Exit::NotRead, error.to_string()))?;
            // Gone, or put aside.
            let Some(line) = line else { continue };
            let taken =
                in_time(stall, "the server answers, but took no record", send.write_all(&line)).await?;
            taken.map_err(|error| broken(&error))?;
            offered.insert(id.clone(), line.len());
        }
        let _ = send.finish();
        let mut receipts = Lines::new(receive);
        while let Some(receipt) = in_time(stall, UNCONFIRMED, receipts.message()).await?? {
            match receipt {
                Receipt::Stored(id) => {
                    // Only what was offered: a server must not make us remove anything else.
                    let Some(length) = offered.remove(&id) else { continue };
                    let removed = store.remove(&id, length);
                    removed.map_err(|error| Failure::new(Exit::NotWritten, error.to_string()))?;
                    *uploaded += 1;
                }
                Receipt::Refused(reason) => {
                    let reason = Printable::new(&reason).to_string();
                    return Err(Failure::new(
                        Exit::ServerDiskFull,
                        format!("the server refuses a record: {reason}"),
                    ));
                }
            }
        }
        if !offered.is_empty() {
            let text = "the server did not say what became of a record; the same command goes on";
            return Err(Failure::new(Exit::ConnectionLost, text));
        }
    }
    Ok(())
}
