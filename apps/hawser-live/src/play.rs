//! `hawser live play`: from a relay to players on this machine.

use std::sync::Arc;
use std::time::Duration;

use super::formats::Format;
use super::hub::Hub;
use super::players::{Access, Listed, serve_http};
use super::protocol::{self, CODE_BROKEN, CODE_DONE, Request};
use super::reconnecting::Reconnecting;
use super::sink::write_file;
use super::status::Status;
use super::tls::Connector;
use super::transport::{ReceiveError, UnitReceiver};
use super::{ControlOptions, Play, rtmp, srt};
use hawser::{ReadError, Registry, Trust};
use hawser_command::address::listen_tcp;
use hawser_command::environment::variable;
use hawser_command::exit::{Exit, Failure};
use hawser_command::interrupt::Interrupt;
use hawser_command::options::ClientSetup;
use hawser_command::output::Output;
use hawser_command::paths::Flow;
use hawser_command::report::Channel;
use hawser_command::session::Session;

/// How long a player that plays one stream tries to reach the relay again.
const PATIENCE: Duration = Duration::from_secs(30);

/// What players call the stream.
const STREAM: &str = "live";

/// Plays until Ctrl-C, or with `--once` until the stream ends.
pub(super) async fn run(
    arguments: Play,
    registry: &Arc<Registry>,
    output: Output,
    interrupt: Interrupt,
) -> Result<(), Failure> {
    if output.json && arguments.output.as_ref().is_some_and(|path| path.as_os_str() == "-") {
        return Err(Failure::usage(
            "standard output takes the video or the JSON, not both: use --output FILE",
        ));
    }
    let key = super::given_key(arguments.key.as_ref())?;
    let options: ControlOptions = arguments.control.clone().into();
    let (control, mut interrupt) = options.start("live play", &interrupt, output).await?;
    let client = arguments.client.setup(registry, &super::PROFILE, output)?.shown_by(&control);
    let hub = Hub::new(arguments.buffer.unwrap_or(super::PLAY_BUFFER));
    let status = Status::new("play", Flow::Received, hub.clone(), output);
    status.show(&control);
    let http = start_http(&arguments, &hub, &status, output).await?;
    start_srt(&arguments, &hub, &status, output).await?;
    let pushing = start_pushing(&arguments, &hub, &status, output)?;
    let file = arguments.output.clone();
    let has_file = file.is_some();
    let mut writing = {
        let (hub, status, once) = (hub.clone(), status.clone(), arguments.once);
        let format = arguments.format;
        tokio::spawn(async move {
            match file {
                Some(path) => {
                    let format = format.or_else(|| format_of(&path)).unwrap_or(Format::Flv);
                    write_file(path, format, hub, status, once).await
                }
                None => std::future::pending().await,
            }
        })
    };
    let telling = tokio::spawn(status.clone().tell(arguments.interval));
    let downlink =
        Downlink { arguments: &arguments, key: &key, client: &client, hub: &hub, status: &status, output };
    let mut connecting = interrupt.clone();
    let result = tokio::select! {
        result = downlink.run(&mut connecting) => match result {
            // What came is still to be written.
            Ok(()) if has_file => joined(writing.await),
            result => result,
        },
        written = &mut writing => joined(written),
        () = interrupt.raised() => Err(super::stopped()),
    };
    telling.abort();
    http.into_iter().chain(pushing).for_each(|task| task.abort());
    status.report(Some(&client));
    result
}

/// The format that a file's name says.
fn format_of(path: &std::path::Path) -> Option<Format> {
    path.to_str().and_then(Format::of_name).map(|(_, format)| format)
}

fn joined(result: Result<Result<(), Failure>, tokio::task::JoinError>) -> Result<(), Failure> {
    result.unwrap_or_else(|error| Err(Failure::new(Exit::Failure, error.to_string())))
}

/// Sends the stream to servers, if asked to.
fn start_pushing(
    arguments: &Play,
    hub: &Arc<Hub>,
    status: &Arc<Status>,
    output: Output,
) -> Result<Vec<tokio::task::JoinHandle<()>>, Failure> {
    let mut tasks = Vec::new();
    if let Some(srt::Direction::Call(target)) = arguments.srt.clone() {
        let push = srt::Push { target, passphrase: srt::passphrase()?, latency: srt::LATENCY, output };
        tasks.push(tokio::spawn(push.run(hub.clone(), status.clone())));
    }
    if let Some(url) = &arguments.rtmp {
        let missing = || Failure::usage(format!("--rtmp -: the variable {} is missing", rtmp::URL));
        let url = if url == "-" { variable(rtmp::URL)?.ok_or_else(missing)? } else { url.clone() };
        let wrong = |error: String| Failure::usage(format!("--rtmp: {error}"));
        let service: rtmp::Service = url.trim().parse().map_err(wrong)?;
        let connector = service.has_tls().then(|| Connector::new(&trust_of(arguments)?)).transpose()?;
        let push = rtmp::Push { service, connector, output };
        tasks.push(tokio::spawn(push.run(hub.clone(), status.clone())));
    }
    Ok(tasks)
}

/// Whom a service over TLS is to be.
fn trust_of(arguments: &Play) -> Result<Trust, Failure> {
    Ok(match &arguments.rtmp_ca {
        Some(path) => Trust::authorities_from_file(path)?,
        None if arguments.rtmp_pin.is_empty() => Trust::System,
        None => Trust::Pins(arguments.rtmp_pin.clone()),
    })
}

/// Serves players over HTTP, if asked to or if there is nothing else to do.
async fn start_http(
    arguments: &Play,
    hub: &Arc<Hub>,
    status: &Arc<Status>,
    output: Output,
) -> Result<Option<tokio::task::JoinHandle<()>>, Failure> {
    let has_other = arguments.output.is_some() || arguments.srt.is_some() || arguments.rtmp.is_some();
    let address = match arguments.http {
        Some(address) => address,
        None if has_other => return Ok(None),
        None => super::DEFAULT_HTTP,
    };
    let listener = listen_tcp(address).await?;
    let address = listener.local_addr().unwrap_or(address);
    if output.json {
        Channel::Stdout.print(&serde_json::json!({ "http": address.to_string(), "port": address.port() }));
    }
    output.remark(format_args!("hawser: in a browser: http://{address}/   elsewhere: ffplay -fflags nobuffer http://{address}/live.flv"));
    let listed = Listed::new(STREAM.to_owned(), hub.clone(), status.clone());
    let access = Access { is_private: true, origin: arguments.allow_origin.clone() };
    Ok(Some(tokio::spawn(serve_http(listener, vec![listed], access))))
}

/// Serves players that call over SRT, if asked to.
async fn start_srt(
    arguments: &Play,
    hub: &Arc<Hub>,
    status: &Arc<Status>,
    output: Output,
) -> Result<(), Failure> {
    let Some(srt::Direction::Listen(address)) = arguments.srt else { return Ok(()) };
    let listed = Listed::new(STREAM.to_owned(), hub.clone(), status.clone());
    let address = srt::Players::new(vec![listed], true, output)?.start(address).await?;
    if output.json {
        Channel::Stdout.print(&serde_json::json!({ "srt": address.to_string(), "port": address.port() }));
    }
    output.remark(format_args!("hawser: over SRT: ffplay 'srt://{address}'"));
    Ok(())
}

/// From the relay to the hub, over one connection after the other.
struct Downlink<'a> {
    arguments: &'a Play,
    key: &'a str,
    client: &'a ClientSetup,
    hub: &'a Arc<Hub>,
    status: &'a Arc<Status>,
    output: Output,
}

impl Downlink<'_> {
    /// Until the stream ends and that is to be the end.
    async fn run(&self, interrupt: &mut Interrupt) -> Result<(), Failure> {
        let mut reconnecting = Reconnecting::new(self.output);
        loop {
            let failure = match self.attempt(&mut reconnecting, interrupt).await {
                Ok(()) => return Ok(()),
                Err(failure) => failure,
            };
            reconnecting.pause(failure, self.arguments.once.then_some(PATIENCE)).await?;
        }
    }

    async fn attempt(
        &self,
        reconnecting: &mut Reconnecting,
        interrupt: &mut Interrupt,
    ) -> Result<(), Failure> {
        let (host, port) = (&self.arguments.relay.host, self.arguments.relay.port);
        let mut session = Session::connect(host, port, self.client, interrupt).await?;
        session.request_scheduler(self.client, self.output);
        if let Err(failure) = protocol::ask(&session.connection, &Request::Play(self.key.to_owned())).await {
            let failure = self.client.explain(failure, &session.connection);
            session.close(CODE_DONE).await;
            return Err(failure);
        }
        reconnecting.connected(&self.arguments.relay);
        self.status.begin_connection(session.path_table());
        let received = self.receive(&session).await;
        self.status.end_connection();
        let code = if received.as_ref().is_err_and(|failure| failure.exit == Exit::Failure) {
            CODE_BROKEN
        } else {
            CODE_DONE
        };
        let received = received.map_err(|failure| self.client.explain(failure, &session.connection));
        session.close(code).await;
        received
    }

    async fn receive(&self, session: &Session) -> Result<(), Failure> {
        let receiver = UnitReceiver {
            connection: session.connection.clone(),
            hub: self.hub.clone(),
            status: self.status.clone(),
            deadline: None,
            stops_at_end: self.arguments.once,
            stall: self.client.stall,
        };
        let stream = session.connection.accept_uni().await.map_err(|error| protocol::ended(&error))?;
        match receiver.run(stream).await {
            Ok(true) if self.arguments.once => Ok(()),
            Ok(_) => Err(Failure::new(Exit::ConnectionLost, "the relay ended the stream")),
            Err(ReceiveError::Read(ReadError::ConnectionLost(error))) => Err(protocol::ended(&error)),
            Err(ReceiveError::Read(error)) => Err(Failure::new(Exit::ConnectionLost, error.to_string())),
            Err(ReceiveError::Stalled(stall)) => {
                let text = format!(
                    "the relay answers, but nothing came for {} s (--stall-timeout)",
                    stall.as_secs_f64()
                );
                Err(Failure::new(Exit::NoAnswer, text))
            }
            Err(ReceiveError::Wire(error)) => {
                Err(Failure::new(Exit::Failure, format!("the relay sends what makes no sense: {error}")))
            }
        }
    }
}
