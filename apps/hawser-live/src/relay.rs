//! `hawser live relay`: from publishers to players.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hawser_media::broadcast::wire::Delivery;

use super::expiry::Moment;
use super::hook::{Door, Event, Hook, Pass};
use super::hub::{Hub, Next};
use super::keys::{Keys, Lock};
use super::players::{Access, Listed, serve_http};
use super::protocol::{
    self, Answer, CODE_BROKEN, CODE_DONE, CODE_EXPIRED, CODE_REFUSED, CODE_REPLACED, PATIENCE, Request,
};
use super::publish::SUCCESSOR;
use super::record::Recorder;
use super::srt;
use super::status::Status;
use super::transport::{ReceiveError, UnitReceiver, UnitSender};
use super::{ControlOptions, Relay};
use hawser::{Connection, Endpoint, Identity, LoggedAddress, Registry, ServerConfig};
use hawser_command::address::listen_tcp;
use hawser_command::environment::variable;
use hawser_command::exit::Failure;
use hawser_command::hangup::{Hangup, reload};
use hawser_command::interrupt::Interrupt;
use hawser_command::output::Output;
use hawser_command::paths::{Flow, PathTable};
use hawser_command::report::Channel;
use hawser_command::server::{identity, listen, suggested_host};
use hawser_command::sources::Sources;

/// Publishers and players at the same time.
const MAX_CONNECTIONS: usize = 1024;

/// One stream, under its keys.
struct Stream {
    publish: Lock,
    view: Lock,
    door: Door,
    hub: Arc<Hub>,
    status: Arc<Status>,
    /// The connection of its publisher.
    publisher: Mutex<Option<Connection>>,
}

/// What the tasks of a relay share.
struct Shared {
    endpoint: Endpoint,
    streams: Vec<Stream>,
    delivery: Delivery,
    /// After which a frame is late to the policies.
    deadline: Option<Duration>,
    output: Output,
}

/// Relays until Ctrl-C.
pub(super) async fn run(
    arguments: Relay,
    registry: &Arc<Registry>,
    output: Output,
    interrupt: Interrupt,
) -> Result<(), Failure> {
    let identity = identity_of(&arguments)?;
    let sources = Sources::new(MAX_CONNECTIONS);
    let config = configuration(&arguments, &sources, registry, &identity)?;
    let mut hangup = Hangup::listen()?;
    arguments.allowed_schedulers.check(registry)?;
    let builder = || {
        let builder = Endpoint::builder().server(config.clone()).policies(registry.clone());
        arguments.allowed_schedulers.apply(builder)
    };
    let endpoint = listen(builder, &identity, arguments.listen, super::DEFAULT_PORT, &[])?;
    let keys = keys(&arguments)?;
    let hook = arguments.hook.clone().map(|url| Hook::new(url, output)).transpose()?;
    let streams = keys.iter().zip(1..).map(|(keys, number)| {
        let hub = Hub::leaving_out(arguments.delivery.buffer(super::PLAY_BUFFER), arguments.delivery.lag);
        Stream {
            publish: keys.publish.lock(),
            view: keys.view.lock(),
            door: Door::new(hook.clone(), number),
            status: Status::new("relay", Flow::Received, hub.clone(), output),
            hub,
            publisher: Mutex::new(None),
        }
    });
    let shared = Arc::new(Shared {
        streams: streams.collect(),
        endpoint: endpoint.clone(),
        delivery: arguments.delivery.delivery(),
        deadline: arguments.delivery.deadline,
        output,
    });
    let options: ControlOptions = arguments.control.clone().into();
    let (control, mut interrupt) = options.start("live relay", &interrupt, output).await?;
    control.attach(&endpoint);
    shared.streams.iter().for_each(|stream| stream.status.show(&control));
    let ports = start_ports(&arguments, &keys, &shared).await?;
    let recording = start_recording(&arguments, &shared)?;
    announce(&arguments, &keys, &endpoint, &identity, ports, output)?;
    let telling: Vec<_> = shared
        .streams
        .iter()
        .map(|stream| tokio::spawn(stream.status.clone().tell(arguments.interval)))
        .collect();
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
        let shared = shared.clone();
        tokio::spawn(async move {
            if let Some(client) = waiting.connect(CODE_REFUSED).await {
                serve(&shared, client.connection.clone(), client.remote).await;
            }
        });
    }
    telling.iter().chain(&recording).for_each(tokio::task::JoinHandle::abort);
    shared.streams.iter().for_each(|stream| stream.status.report(None));
    endpoint.close(CODE_DONE, b"the relay stops");
    let _ = tokio::time::timeout(Duration::from_millis(500), endpoint.wait_idle()).await;
    Ok(())
}

fn identity_of(arguments: &Relay) -> Result<Identity, Failure> {
    identity(arguments.cert.as_deref(), arguments.key_file.as_deref(), arguments.state.as_deref())
}

/// The configuration of the endpoint. Made again when the certificate changes.
fn configuration(
    arguments: &Relay,
    sources: &Sources,
    registry: &Registry,
    identity: &Identity,
) -> Result<ServerConfig, Failure> {
    let config = ServerConfig::builder(identity.clone());
    Ok(sources.server(arguments.transport.server(registry, config, &super::PROFILE)?).build()?)
}

/// The keys that are given, or random ones.
fn keys(arguments: &Relay) -> Result<Vec<Keys>, Failure> {
    let Some(path) = &arguments.keys_file else {
        if !arguments.keys.is_empty() {
            return Ok(arguments.keys.clone());
        }
        let wrong = |error| Failure::usage(format!("{}: {error}", super::KEY_VARIABLE));
        return Ok(match variable(super::KEY_VARIABLE)? {
            Some(text) => vec![Keys::parse(text.trim()).map_err(wrong)?],
            None => vec![Keys::random()],
        });
    };
    let text = std::fs::read_to_string(path).map_err(|error| Failure::read(path, &error))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let keys: Result<Vec<Keys>, String> = lines.map(Keys::parse).collect();
    let wrong = |error: String| Failure::usage(format!("{}: {error}", path.display()));
    match keys.map_err(wrong)? {
        keys if keys.is_empty() => Err(wrong("there is no key in it".to_owned())),
        keys => Ok(keys),
    }
}

/// Whether keys were given where others do not see them: in a file or in the environment.
fn are_hidden(arguments: &Relay) -> Result<bool, Failure> {
    let named = arguments.keys_file.is_some();
    Ok(named || arguments.keys.is_empty() && variable(super::KEY_VARIABLE)?.is_some())
}

/// Begins to record all streams, if asked to.
fn start_recording(arguments: &Relay, shared: &Shared) -> Result<Vec<tokio::task::JoinHandle<()>>, Failure> {
    let Some(folder) = &arguments.record else { return Ok(Vec::new()) };
    std::fs::create_dir_all(folder).map_err(|error| Failure::write(folder, &error))?;
    let recorders = shared.streams.iter().enumerate().map(|(at, stream)| {
        // Keys are secret, so that they name no files.
        let name = (at + 1).to_string();
        let recorder = Recorder { folder: folder.clone(), name, output: shared.output };
        tokio::spawn(recorder.run(stream.hub.clone()))
    });
    Ok(recorders.collect())
}

/// Where players come that are no `hawser live play`.
#[derive(Clone, Copy, Default)]
struct Ports {
    http: Option<SocketAddr>,
    srt: Option<SocketAddr>,
}

/// Begins to serve players over HTTP and SRT, if asked to.
async fn start_ports(arguments: &Relay, keys: &[Keys], shared: &Arc<Shared>) -> Result<Ports, Failure> {
    let listed = keys.iter().zip(&shared.streams).map(|(keys, stream)| {
        let listed = Listed::new(keys.view.text.clone(), stream.hub.clone(), stream.status.clone());
        listed.behind(stream.door.clone(), stream.view)
    });
    let (listed, mut ports): (Vec<_>, _) = (listed.collect(), Ports::default());
    if let Some(address) = arguments.http {
        let listener = listen_tcp(address).await?;
        ports.http = Some(listener.local_addr().unwrap_or(address));
        let access = Access { is_private: false, origin: arguments.allow_origin.clone() };
        tokio::spawn(serve_http(listener, listed.clone(), access));
    }
    if let Some(address) = arguments.srt {
        let players = srt::Players::new(listed, false, shared.output)?;
        ports.srt = Some(players.start(address).await?);
    }
    Ok(ports)
}

/// Says where the relay is and how to reach it.
fn announce(
    arguments: &Relay,
    keys: &[Keys],
    endpoint: &Endpoint,
    identity: &Identity,
    ports: Ports,
    output: Output,
) -> Result<(), Failure> {
    let pin = identity.pin()?;
    let port = endpoint.listening().first().map_or(0, SocketAddr::port);
    let host = suggested_host(endpoint.listening());
    let host = if arguments.cert.is_some() { "NAME".to_owned() } else { host.to_string() };
    if output.json {
        let keys: Vec<_> = keys
            .iter()
            .map(|keys| serde_json::json!({ "publish": keys.publish.text, "view": keys.view.text }))
            .collect();
        let [http, srt] = [ports.http, ports.srt].map(|port| port.map(|port| port.to_string()));
        Channel::Stdout.print(&serde_json::json!({
            "port": port, "pin": pin.to_string(), "keys": keys, "http": http, "srt": srt
        }));
    }
    output.remark(format_args!("hawser: relaying on UDP port {port}"));
    let trust = if arguments.cert.is_some() { String::new() } else { format!(" --pin '{pin}'") };
    let address = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
    // What is said here is kept in the log of a service: keys that were hidden stay so.
    let unsaid = [Keys::unsaid()];
    for keys in if are_hidden(arguments)? { &unsaid } else { keys } {
        output.remark(format_args!("  hawser live publish {address}{trust} --key {}", keys.publish.text));
        output.remark(format_args!("  hawser live play {address}{trust} --key {}", keys.view.text));
        if let Some(http) = ports.http {
            output.remark(format_args!(
                "  in a browser: http://{http}/{}   (.m3u8, .ts, .flv for others)",
                keys.view.text
            ));
        }
        if let Some(srt) = ports.srt {
            output.remark(format_args!("  over SRT: ffplay 'srt://{srt}?streamid={}'", keys.view.text));
        }
    }
    Ok(())
}

/// One connection, until it ends.
async fn serve(shared: &Shared, connection: Connection, remote: SocketAddr) {
    let hello = async {
        let (send, mut receive) = connection.accept_bi().await?;
        let request = protocol::read::<Request>(&mut receive).await?;
        Ok::<_, Failure>((send, request))
    };
    let (mut send, request) = match tokio::time::timeout(PATIENCE, hello).await {
        Ok(Ok(hello)) => hello,
        Ok(Err(failure)) => return connection.close(CODE_BROKEN, failure.message.as_bytes()),
        Err(_) => return connection.close(CODE_BROKEN, b"no request came"),
    };
    let (stream, lock, _pass) = match admitted(shared, &request, remote).await {
        Ok(admitted) => admitted,
        Err(refused) => {
            let _ = protocol::write(&mut send, &Answer { refused: Some(refused) }).await;
            // The answer arrives before the end.
            let _ = tokio::time::timeout(PATIENCE, connection.closed()).await;
            return connection.close(CODE_REFUSED, b"");
        }
    };
    if protocol::write(&mut send, &Answer::default()).await.is_err() {
        return;
    }
    let serving = async {
        match request {
            Request::Publish(_) => serve_publisher(shared, stream, &connection, LoggedAddress(remote)).await,
            Request::Play(_) => serve_viewer(shared, stream, &connection, LoggedAddress(remote)).await,
        }
    };
    tokio::select! {
        () = serving => {}
        () = lock.expired() => {
            shared.output.remark(format_args!("hawser: the key of {remote} has expired", remote = LoggedAddress(remote)));
            connection.close(CODE_EXPIRED, b"the key has expired");
            // What came until then is played.
            if matches!(request, Request::Publish(_)) {
                stream.hub.end();
            }
        }
    }
}

/// The stream that a client may publish or play. The error is what the client is told.
async fn admitted<'a>(
    shared: &'a Shared,
    request: &Request,
    remote: SocketAddr,
) -> Result<(&'a Stream, Lock, Pass), String> {
    let (verb, event, key) = match request {
        Request::Publish(key) => ("publish", Event::Publish, key),
        Request::Play(key) => ("play", Event::Play, key),
    };
    let who = LoggedAddress(remote);
    let lock_of = |stream: &Stream| if event == Event::Publish { stream.publish } else { stream.view };
    let Some(stream) = shared.streams.iter().find(|stream| lock_of(stream).fits(key)) else {
        shared.output.remark(format_args!("hawser: {who} wanted to {verb} with a wrong key"));
        return Err(format!("no stream has this key to {verb}"));
    };
    let lock = lock_of(stream);
    if lock.has_expired(Moment::now()) {
        shared.output.remark(format_args!("hawser: {who} wanted to {verb} with a key that has expired"));
        return Err("the key has expired".to_owned());
    }
    match stream.door.admit(event, remote, "quic").await {
        Ok(pass) => Ok((stream, lock, pass)),
        Err(why) => {
            shared.output.remark(format_args!("hawser: {who} may not {verb}: {why}"));
            Err(format!("the operator's hook does not let you {verb}"))
        }
    }
}

async fn serve_publisher(shared: &Shared, stream: &Stream, connection: &Connection, who: LoggedAddress) {
    let before = {
        let mut publisher = stream.publisher.lock().unwrap_or_else(PoisonError::into_inner);
        publisher.replace(connection.clone())
    };
    if let Some(before) = before.filter(|before| before.close_reason().is_none()) {
        shared.output.remark(format_args!("hawser: the publisher at {who} takes over"));
        before.close(CODE_REPLACED, b"another publisher took over");
    } else {
        shared.output.remark(format_args!("hawser: {who} publishes"));
    }
    stream.hub.begin_publisher();
    let counters = hawser_command::paths::PathCounters::new();
    stream.status.begin_connection(PathTable::new(shared.endpoint.clone(), connection.clone(), counters));
    let receiver = UnitReceiver {
        connection: connection.clone(),
        hub: stream.hub.clone(),
        status: stream.status.clone(),
        deadline: shared.deadline,
        stops_at_end: false,
        // A publisher with the key may take over at any time.
        stall: None,
    };
    let ended = match connection.accept_uni().await {
        Ok(incoming) => receiver.run(incoming).await,
        Err(error) => Err(ReceiveError::Read(hawser::ReadError::ConnectionLost(error))),
    };
    let is_over = matches!(ended, Ok(true));
    match ended {
        Ok(true) => {
            shared.output.remark(format_args!("hawser: the publisher at {who} is done"));
            // The publisher closes when it knows that all has arrived.
            let _ = tokio::time::timeout(PATIENCE, connection.closed()).await;
        }
        Ok(false) => shared.output.remark(format_args!("hawser: the publisher at {who} ended its stream")),
        Err(ReceiveError::Wire(error)) => {
            shared.output.remark(format_args!("hawser: the publisher at {who} makes no sense: {error}"));
            connection.close(CODE_BROKEN, error.to_string().as_bytes());
        }
        Err(error @ (ReceiveError::Read(_) | ReceiveError::Stalled(_))) => {
            shared.output.remark(format_args!("hawser: the publisher at {who} has gone: {error}"));
        }
    }
    connection.close(CODE_DONE, b"");
    if !is_over {
        stream.hub.end_unless_another_follows(SUCCESSOR).await;
    }
}

async fn serve_viewer(shared: &Shared, stream: &Stream, connection: &Connection, who: LoggedAddress) {
    shared.output.remark(format_args!("hawser: {who} plays"));
    let player = format!("the player at {who}");
    let sending = async {
        let mut sender = UnitSender::open(connection, shared.delivery).await?;
        let mut subscription = stream.hub.subscribe();
        loop {
            match subscription.next().await {
                Next::Unit(unit) => {
                    if let Some(skipped) = subscription.newly_skipped() {
                        stream.status.note_skipped(&player, skipped);
                    }
                    sender.send(&unit).await?;
                }
                Next::End => sender.end().await?,
            }
        }
    };
    let sent: Result<(), hawser::WriteError> = tokio::select! {
        sent = sending => sent,
        _ = connection.closed() => Ok(()),
    };
    if let Err(error) = sent {
        tracing::info!(remote = %who, %error, "a player has gone");
    }
    connection.close(CODE_DONE, b"");
    shared.output.remark(format_args!("hawser: {who} plays no longer"));
}
