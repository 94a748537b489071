//! The end that decides what is measured.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hawser::Printable;
use tokio::time::MissedTickBehavior;

use super::Client;
use super::protocol::{MAX_SECONDS, Outcome, PROFILE, Request, read, write};
use super::report::{End, Interval, Report, Start, Sum};
use super::traffic::{self, Counters};
use hawser::Registry;
use hawser_command::exit::{Exit, Failure};
use hawser_command::interrupt::Interrupt;
use hawser_command::output::Output;
use hawser_command::paths::{Flow, PathTable};
use hawser_command::report::{Channel, FailureDetails, remark};
use hawser_command::session::Session;

/// Measures once.
pub(super) async fn run(
    arguments: Client,
    registry: &Arc<Registry>,
    output: Output,
    mut interrupt: Interrupt,
) -> Result<(), Failure> {
    let request = Request {
        reverse: arguments.reverse,
        datagram: arguments.datagram,
        streams: arguments.parallel,
        seconds: if arguments.time.is_zero() { MAX_SECONDS } else { arguments.time.as_secs_f64() },
        bytes: arguments.bytes,
        bitrate: arguments.bitrate,
    };
    let (host, port) = (arguments.host.as_str(), arguments.port.get());
    let client = arguments.client.setup(registry, &PROFILE, output)?;
    let mut session = Session::connect(host, port, &client, &mut interrupt).await?;
    if request.reverse {
        session.request_scheduler(&client, output);
    }
    let start = Start {
        version: env!("CARGO_PKG_VERSION"),
        remote: session.connection.remote_address().to_string(),
        multipath: session.connection.is_multipath(),
        connect_seconds: session.connected_after.as_secs_f64(),
        test: request.clone(),
        server_scheduler: session.server_scheduler().await,
    };
    let (counters, began) = (Counters::new(request.streams), Instant::now());
    let flow = if request.reverse { Flow::Received } else { Flow::Sent };
    let watcher = Watcher {
        table: session.path_table(),
        counters: counters.clone(),
        flow,
        interval: arguments.interval,
        print: !output.json && !output.quiet,
    };
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let watching = tokio::spawn(watcher.watch(stopped));
    let result = tokio::select! {
        result = measure(&session, &request, &counters) => result,
        () = interrupt.raised() => Err(Failure::new(Exit::Signal, "stopped")),
    };
    let result = result.map_err(|failure| client.explain(failure, &session.connection));
    let _ = stop.send(());
    let (mut table, intervals) =
        watching.await.map_err(|error| Failure::new(Exit::Failure, error.to_string()))?;
    table.sample();
    let paths = table.report(flow);
    let connection = session.status();
    session.close(0).await;
    let (ours, theirs, failure) = match result {
        Ok((ours, theirs)) => (ours, Some(theirs), None),
        // Nothing was measured.
        Err(failure) if failure.exit != Exit::Signal && intervals.is_empty() => return Err(failure),
        Err(failure) => {
            let (bytes, seconds) = (counters.total(), began.elapsed().as_secs_f64());
            (Outcome { bytes, seconds, ..Outcome::default() }, None, Some(failure))
        }
    };
    let (sent, received) =
        if request.reverse { (theirs.as_ref(), Some(&ours)) } else { (Some(&ours), theirs.as_ref()) };
    let report = Report {
        start,
        intervals,
        end: End { connection, ..End::new(sent, received, paths) },
        interrupted: failure.as_ref().is_some_and(|failure| failure.exit == Exit::Signal),
        error: failure.as_ref().map(FailureDetails::of),
    };
    tell(&report, failure, output)
}

/// Prints what was measured. A failure is a part of it for programs.
fn tell(report: &Report, failure: Option<Failure>, output: Output) -> Result<(), Failure> {
    if !output.json {
        report.end.print();
        return failure.map_or(Ok(()), Err);
    }
    Channel::Stdout.print(report);
    let Some(failure) = failure else { return Ok(()) };
    remark(format_args!("hawser: {failure}"));
    Err(Failure { is_told: true, ..failure })
}

/// Returns what this end and the server did or saw.
async fn measure(
    session: &Session,
    request: &Request,
    counters: &Arc<Counters>,
) -> Result<(Outcome, Outcome), Failure> {
    let connection = &session.connection;
    let (mut send, mut receive) = connection.open_bi().await?;
    write(&mut send, request).await?;
    let ours = async {
        if request.reverse {
            traffic::receive(connection, request, counters).await
        } else {
            traffic::send(connection, request, counters).await
        }
    };
    // A server that will not measure says so before anything else.
    let theirs = async {
        let theirs: Outcome = read(&mut receive).await?;
        match theirs.error {
            Some(error) => {
                Err(Failure::new(Exit::Failure, format!("the server says: {}", Printable::new(&error))))
            }
            None => Ok(theirs),
        }
    };
    tokio::try_join!(ours, theirs)
}

/// Reports while the measurement runs.
struct Watcher {
    table: PathTable,
    counters: Arc<Counters>,
    flow: Flow,
    interval: Duration,
    print: bool,
}

impl Watcher {
    async fn watch(mut self, mut stopped: tokio::sync::oneshot::Receiver<()>) -> (PathTable, Vec<Interval>) {
        let started = Instant::now();
        let mut intervals = Vec::new();
        let mut before = (0.0, self.counters.read());
        let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + self.interval, self.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                _ = &mut stopped => return (self.table, intervals),
            }
            let now = (started.elapsed().as_secs_f64(), self.counters.read());
            self.table.sample();
            let moved = |index: usize| now.1[index].saturating_sub(before.1[index]);
            let streams: Vec<Sum> =
                (0..now.1.len()).map(|index| Sum::new(before.0, now.0, moved(index))).collect();
            let total = streams.iter().map(|sum| sum.bytes).sum();
            let interval = Interval {
                streams,
                sum: Sum::new(before.0, now.0, total),
                paths: self.table.report(self.flow),
            };
            if self.print {
                interval.print();
            }
            intervals.push(interval);
            before = now;
        }
    }
}
