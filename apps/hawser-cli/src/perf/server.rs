//! The end that waits.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::Server;
use super::protocol::{MAX_SECONDS, Outcome, PROFILE, Request, read, write};
use super::traffic::{self, Counters};
use hawser::{Connection, Endpoint, Identity, LoggedAddress, Registry, SendStream, ServerConfig};
use hawser_command::exit::Failure;
use hawser_command::hangup::{Hangup, reload};
use hawser_command::interrupt::Interrupt;
use hawser_command::output::Output;
use hawser_command::report::Channel;
use hawser_command::server::{identity, listen};
use hawser_command::sources::Sources;
use hawser_command::units;
use hawser_command::units::count;

/// Clients at the same time, whether or not they measure.
const MAX_CLIENTS: usize = 256;
/// There is no place for the client.
const CODE_REFUSED: u64 = 1;
/// Most streams that a client may ask for.
const MAX_STREAMS: u32 = 64;

/// Measures with every client that connects, until Ctrl-C.
pub(super) async fn run(
    arguments: Server,
    registry: &Arc<Registry>,
    output: Output,
    interrupt: Interrupt,
) -> Result<(), Failure> {
    let identity = identity_of(&arguments)?;
    let pin = identity.pin()?;
    let sources = Sources::new(MAX_CLIENTS);
    let config = configuration(&arguments, &sources, registry, &identity)?;
    let mut hangup = Hangup::listen()?;
    arguments.allowed_schedulers.check(registry)?;
    let builder = || {
        let builder = Endpoint::builder().server(config.clone()).policies(registry.clone());
        arguments.allowed_schedulers.apply(builder)
    };
    let endpoint = listen(builder, &identity, arguments.listen, super::DEFAULT_PORT.get(), &[])?;
    let (control, mut interrupt) = arguments.control.start("perf server", &interrupt, output).await?;
    control.attach(&endpoint);
    let port = endpoint.listening().first().map_or(0, SocketAddr::port);
    if output.json {
        Channel::Stdout.print(&serde_json::json!({ "port": port, "pin": pin.to_string() }));
    }
    output.remark(format_args!(
        "waiting on UDP port {port}\n  hawser perf client HOST -p {port} --pin '{pin}'"
    ));
    loop {
        let waiting = tokio::select! {
            waiting = sources.accept(&endpoint) => waiting,
            () = interrupt.raised() => break,
            () = hangup.raised() => {
                let config = identity_of(&arguments)
                    .and_then(|identity| configuration(&arguments, &sources, registry, &identity));
                reload(&endpoint, output, config);
                continue;
            }
        };
        let Some(waiting) = waiting else { break };
        let task = tokio::spawn(async move {
            if let Some(client) = waiting.connect(CODE_REFUSED).await {
                serve(&client.connection, client.remote, output).await;
            }
        });
        if arguments.one_off {
            tokio::select! {
                _ = task => {}
                () = interrupt.raised() => {}
            }
            break;
        }
    }
    report_workers(&endpoint, output);
    endpoint.close(0, b"the server stops");
    let _ = tokio::time::timeout(Duration::from_millis(500), endpoint.wait_idle()).await;
    Ok(())
}

fn identity_of(arguments: &Server) -> Result<Identity, Failure> {
    identity(arguments.cert.as_deref(), arguments.key.as_deref(), arguments.state.as_deref())
}

/// The configuration of the endpoint. Made again when the certificate changes; all else in it stays.
fn configuration(
    arguments: &Server,
    sources: &Sources,
    registry: &Registry,
    identity: &Identity,
) -> Result<ServerConfig, Failure> {
    let config = ServerConfig::builder(identity.clone()).workers(arguments.workers);
    Ok(sources.server(arguments.transport.server(registry, config, &PROFILE)?).build()?)
}

/// How the clients were divided, if there was a choice.
fn report_workers(endpoint: &Endpoint, output: Output) {
    let stats = endpoint.worker_stats();
    if stats.len() > 1 {
        for (index, worker) in stats.iter().enumerate() {
            output.remark(format_args!(
                "worker {index}: {}, {} handed to others",
                count(worker.accepted, "connection"),
                count(worker.handed_over, "datagram")
            ));
        }
    }
}

/// All measurements of one client.
async fn serve(connection: &Connection, remote: SocketAddr, output: Output) {
    loop {
        match measure(connection).await {
            Ok(Some((request, outcome))) => {
                let verb = if request.reverse { "sent to" } else { "received from" };
                let rate = outcome.bytes as f64 * 8.0 / outcome.seconds.max(1e-9);
                output.remark(format_args!(
                    "{} {verb} {remote} in {:.2} s, {}",
                    units::bytes(outcome.bytes),
                    outcome.seconds,
                    units::bit_rate(rate),
                    remote = LoggedAddress(remote),
                ));
            }
            Ok(None) => return,
            Err(failure) => {
                return output.remark(format_args!("{remote}: {failure}", remote = LoggedAddress(remote)));
            }
        }
    }
}

/// `None`: the client has gone.
async fn measure(connection: &Connection) -> Result<Option<(Request, Outcome)>, Failure> {
    let Ok((mut send, mut receive)) = connection.accept_bi().await else { return Ok(None) };
    let request: Request = read(&mut receive).await?;
    let possible =
        (1..=MAX_STREAMS).contains(&request.streams) && (0.0..=MAX_SECONDS).contains(&request.seconds);
    if !possible {
        let error = format!("at most {MAX_STREAMS} streams and {MAX_SECONDS} seconds are possible");
        answer(&mut send, &Outcome { error: Some(error.clone()), ..Outcome::default() }).await?;
        let _ = tokio::time::timeout(Duration::from_secs(1), connection.closed()).await;
        return Err(Failure::usage(error));
    }
    let counters = Counters::new(request.streams);
    let outcome = if request.reverse {
        traffic::send(connection, &request, &counters).await?
    } else {
        traffic::receive(connection, &request, &counters).await?
    };
    answer(&mut send, &outcome).await?;
    Ok(Some((request, outcome)))
}

/// Tells the client what it wants to know, and waits until it does: closing first would lose it.
async fn answer(send: &mut SendStream, outcome: &Outcome) -> Result<(), Failure> {
    write(send, outcome).await?;
    // A client closes as soon as it has this; the acknowledgement may not have come before.
    let _ = send.stopped().await;
    Ok(())
}
