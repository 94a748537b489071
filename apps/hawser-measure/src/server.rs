//! The end that stays.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use hawser_emu::Direction;
use hawser_lab::data::measure::{
    Configuration, Folder, MAX_RECORD, Put, Record, RecordId, RunId, Samples, ServerFlow, Store,
};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use super::keeper::open_store;
use super::meter::{Meter, Received};
use super::protocol::{Answer, FlowRequest, Lines, PROFILE, Receipt, Request, line, write};
use super::{MAX_FLOWS, Server, controllers, traffic};
use hawser::{
    Connection, Endpoint, Identity, LoggedAddress, PathId, PolicySpec, Registry, SendStream, ServerConfig,
};
use hawser_command::exit::Failure;
use hawser_command::hangup::{Hangup, reload};
use hawser_command::interrupt::Interrupt;
use hawser_command::output::Output;
use hawser_command::paths::milliseconds;
use hawser_command::report::Channel;
use hawser_command::server::{identity, listen};
use hawser_command::sources::Sources;
use hawser_command::units;

/// Connections at the same time: a client has one for each flow.
const MAX_CLIENTS: usize = 1024;
/// There is no place for the client.
const CODE_REFUSED: u64 = 1;
/// How long clients may take to leave, and their records to reach the disk, when the server stops.
const GOODBYE: Duration = Duration::from_secs(2);
/// How often a server without room looks whether others have made some.
const LOOK_INTERVAL: Duration = Duration::from_secs(60);
/// How long a client that is refused may take to hear why.
const REFUSAL: Duration = Duration::from_secs(1);

/// What all clients share.
struct Context {
    run: RunId,
    next: AtomicU64,
    store: Mutex<Store<Folder>>,
    controllers: Vec<String>,
    output: Output,
}

/// Measures with every client that connects, until Ctrl-C.
pub(super) async fn run(
    arguments: Server,
    registry: &Arc<Registry>,
    output: Output,
    interrupt: Interrupt,
) -> Result<(), Failure> {
    let controllers = controllers(&arguments.controller, registry)?;
    let identity = identity_of(&arguments)?;
    let pin = identity.pin()?;
    let sources = Sources::new(MAX_CLIENTS);
    let config = configuration(&arguments, &sources, &identity)?;
    let mut hangup = Hangup::listen()?;
    let run = RunId(rand::random());
    let store = open_store(&arguments.out, arguments.max_disk, run, output)?;
    let builder = || Endpoint::builder().server(config.clone()).policies(registry.clone());
    let endpoint = listen(builder, &identity, arguments.listen, crate::DEFAULT_PORT.get(), &[])?;
    let (control, mut interrupt) = arguments.control.start("measure server", &interrupt, output).await?;
    control.attach(&endpoint);
    let port = endpoint.listening().first().map_or(0, SocketAddr::port);
    if output.json {
        Channel::Stdout.print(&serde_json::json!({ "port": port, "pin": pin.to_string() }));
    }
    output.remark(format_args!(
        "waiting on UDP port {port}, records go to {}\n  hawser measure client HOST -p {port} --pin '{pin}' --interface IFACE",
        arguments.out.display()
    ));
    let next = AtomicU64::new(store.next_number());
    let context = Arc::new(Context { run, next, store: Mutex::new(store), controllers, output });
    let mut clients = JoinSet::new();
    let mut looks = tokio::time::interval(LOOK_INTERVAL);
    looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let waiting = tokio::select! {
            _ = looks.tick() => {
                context.look_for_room();
                continue;
            }
            waiting = sources.accept(&endpoint) => waiting,
            Some(_) = clients.join_next() => continue,
            () = interrupt.raised() => break,
            () = hangup.raised() => {
                let config = identity_of(&arguments)
                    .and_then(|identity| configuration(&arguments, &sources, &identity));
                reload(&endpoint, output, config);
                continue;
            }
        };
        let Some(waiting) = waiting else { break };
        let context = context.clone();
        clients.spawn(async move {
            if let Some(client) = waiting.connect(CODE_REFUSED).await {
                serve(&client.connection, client.remote, &context).await;
            }
        });
    }
    endpoint.close(0, b"the server stops");
    let _ = tokio::time::timeout(GOODBYE, async {
        while clients.join_next().await.is_some() {}
        endpoint.wait_idle().await;
    })
    .await;
    let dropped = context.store.lock().unwrap_or_else(PoisonError::into_inner).dropped();
    if dropped > 0 {
        output.remark(format_args!("{dropped} records found no room in {}", arguments.out.display()));
    }
    Ok(())
}

fn identity_of(arguments: &Server) -> Result<Identity, Failure> {
    identity(arguments.cert.as_deref(), arguments.key.as_deref(), arguments.state.as_deref())
}

/// The configuration of the endpoint. Made again when the certificate changes; all else in it stays.
fn configuration(
    arguments: &Server,
    sources: &Sources,
    identity: &Identity,
) -> Result<ServerConfig, Failure> {
    let transport =
        hawser::default_transport().with(|transport| transport.max_idle_timeout = Some(arguments.timeout));
    let config = ServerConfig::builder(identity.clone()).workers(arguments.workers);
    Ok(sources.server(config.alpn([PROFILE.alpn]).transport(transport)).build()?)
}

/// All that one client wants.
async fn serve(connection: &Connection, remote: SocketAddr, context: &Arc<Context>) {
    while let Ok((send, receive)) = connection.accept_bi().await {
        let mut lines = Lines::new(receive);
        let result = match lines.message().await {
            Ok(Some(Request::Flow(request))) => flow(connection, send, lines, request, context).await,
            Ok(Some(Request::Upload)) => take_records(send, lines, context).await,
            Ok(None) => Ok(()),
            Err(failure) => Err(failure),
        };
        if let Err(failure) = result {
            tracing::info!(remote = %LoggedAddress(remote), %failure, "a client has ended");
            return;
        }
    }
}

async fn refuse(connection: &Connection, mut send: SendStream, reason: String) -> Result<(), Failure> {
    write(&mut send, &Answer::Refused(reason.clone())).await?;
    let _ = send.finish();
    let _ = tokio::time::timeout(REFUSAL, send.stopped()).await;
    connection.close(0, b"refused");
    Err(Failure::usage(reason))
}

/// Whether there may be such a flow.
pub(super) fn is_possible(request: &FlowRequest) -> bool {
    let flows = request.configuration.flows;
    flows <= MAX_FLOWS && request.index < flows
}

/// One flow, until its connection ends.
async fn flow(
    connection: &Connection,
    mut send: SendStream,
    lines: Lines,
    request: FlowRequest,
    context: &Arc<Context>,
) -> Result<(), Failure> {
    let Configuration { controller, direction, .. } = &request.configuration;
    if !is_possible(&request) {
        return refuse(connection, send, format!("at most {MAX_FLOWS} flows are possible, numbered from 0"))
            .await;
    }
    if *direction == Direction::Down {
        let allowed = context.controllers.iter().find(|allowed| *allowed == controller);
        let spec = allowed.and_then(|allowed| allowed.parse::<PolicySpec>().ok());
        let set = spec.map(|spec| connection.set_controller(PathId::ZERO, spec));
        if !matches!(set, Some(Ok(()))) {
            let permitted = context.controllers.join("; ");
            let reason =
                format!("the controller `{controller}` is not permitted here; these are: {permitted}");
            return refuse(connection, send, reason).await;
        }
    }
    let answer = line(&Answer::Ready);
    send.write_all(answer.as_bytes()).await.map_err(|error| super::protocol::broken(&error))?;
    let began = Instant::now();
    let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let (first, mut receive) = lines.into_rest();
    let received = Received::new(AtomicU64::new(first.len() as u64));
    let mut meter = match direction {
        Direction::Up => Meter::of_receiver(connection.clone(), received.clone()),
        Direction::Down => Meter::of_sender(connection.clone(), answer.len()),
    };
    let traffic = async {
        match direction {
            Direction::Up => traffic::drain(&mut receive, &received).await,
            Direction::Down => traffic::fill(&mut send).await,
        }
    };
    let last = watch(&mut meter, traffic).await;
    let flow = ServerFlow {
        id: RecordId::new(context.next.fetch_add(1, Ordering::Relaxed), context.run),
        session: request.session,
        index: request.index,
        configuration: request.configuration.clone(),
        unix,
        length_ms: milliseconds(last.saturating_duration_since(began)),
        client: connection.remote_address().to_string(),
        measured: meter.measured(),
    };
    let payload = flow.measured.received_bytes.or(flow.measured.acked_bytes).unwrap_or(0);
    context.output.remark(format_args!(
        "{}: {} {} in {:.1} s",
        flow.client,
        if *direction == Direction::Up { "received" } else { "sent" },
        units::bytes(payload),
        flow.length_ms / 1e3
    ));
    let put = context.put(Record::ServerFlow(flow)).await;
    if let Put::NoRoom | Put::Failed(_) = put {
        tracing::warn!(?put, "what was seen of a flow is dropped");
    }
    Ok(())
}

/// Meters while data flows. Returns when payload moved last.
async fn watch(meter: &mut Meter, traffic: impl Future<Output = Result<(), Failure>>) -> Instant {
    let mut ticks = tokio::time::interval(Duration::from_millis(u64::from(Samples::TICK_MS)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut last = Instant::now();
    tokio::pin!(traffic);
    loop {
        tokio::select! {
            _ = &mut traffic => return last,
            _ = ticks.tick() => if meter.tick() {
                last = Instant::now();
            }
        }
    }
}

/// Takes in records, one after the other, and says of each what became of it.
async fn take_records(mut send: SendStream, mut lines: Lines, context: &Arc<Context>) -> Result<(), Failure> {
    while let Some(line) = lines.next(MAX_RECORD).await? {
        let receipt = match Record::read(&line) {
            Ok(record) => {
                let id = record.id().clone();
                match context.put(record).await {
                    Put::Stored | Put::Known | Put::OnlyDraft(_) => Receipt::Stored(id),
                    Put::NoRoom => Receipt::Refused("there is no room left for records".to_owned()),
                    Put::Failed(error) => {
                        Receipt::Refused(format!("a record could not be stored: {}", error.kind()))
                    }
                }
            }
            Err(error) => Receipt::Refused(format!("a record cannot be read: {error}")),
        };
        write(&mut send, &receipt).await?;
    }
    let _ = send.finish();
    Ok(())
}

impl Context {
    /// Where there is no room left: others may have taken records away.
    fn look_for_room(self: &Arc<Self>) {
        let context = self.clone();
        tokio::task::spawn_blocking(move || {
            let mut store = context.store.lock().unwrap_or_else(PoisonError::into_inner);
            if store.is_full() {
                store.recount();
            }
        });
    }

    /// Stores a record. When this returns, it is on the disk or will never be.
    async fn put(self: &Arc<Self>, record: Record) -> Put {
        let context = self.clone();
        let put = tokio::task::spawn_blocking(move || {
            context.store.lock().unwrap_or_else(PoisonError::into_inner).put(&record)
        });
        put.await.unwrap_or_else(|error| Put::Failed(std::io::Error::other(error.to_string())))
    }
}
