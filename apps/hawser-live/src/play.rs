//! `hawser live play`: from a relay to players on this machine.

use std::sync::Arc;

use super::downlink::Downlink;
use super::formats::Format;
use super::hub::Hub;
use super::players::{Access, Listed, serve_http};
use super::sink::write_file;
use super::status::Status;
use super::tls::Connector;
use super::{ControlOptions, Play, rtmp, srt};
use hawser::{Registry, Trust};
use hawser_command::address::listen_tcp;
use hawser_command::environment::variable;
use hawser_command::exit::{Exit, Failure};
use hawser_command::interrupt::Interrupt;
use hawser_command::output::Output;
use hawser_command::paths::Flow;
use hawser_command::report::Channel;

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
    let key = super::given_key(arguments.key.as_ref(), "--key", super::KEY_VARIABLE)?;
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
    let (relay, once, shown) = (arguments.relay.clone(), arguments.once, Some(status.clone()));
    let downlink = Downlink { relay, key, client: &client, hub: &hub, status: &status, shown, once, output };
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
