//! Files over HTTP/0.9, for interoperability tests: all files of a host at the same time, on one connection.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::batches::{Destination, Target};
use super::collisions;
use super::partial::Partial;
use super::{Get, destination};
use crate::hq;
use hawser::Registry;
use hawser::{Connection, ReadError};
use hawser_command::exit::{Exit, Failure};
use hawser_command::interrupt::Interrupt;
use hawser_command::output::Output;
use hawser_command::session::Session;
use hawser_command::units;
use hawser_command::url::Url;

/// Files that are open at the same time; the requests of more wait.
const MAX_OPEN: usize = 64;
/// Bytes read at a time.
const CHUNK: usize = 1 << 16;

/// Gets all files, host by host. The first failure ends it.
pub(super) async fn run(
    arguments: &Get,
    registry: &Arc<Registry>,
    output: Output,
    interrupt: &mut Interrupt,
) -> Result<(), Failure> {
    let client = arguments.client.setup(registry, &hq::PROFILE, output)?;
    let urls = arguments.urls.iter().map(|text| text.parse()).collect::<Result<Vec<Url>, _>>()?;
    let targets =
        urls.iter().map(|url| Ok(Target { url: url.clone(), destination: destination(arguments, url)? }));
    collisions::refuse(&targets.collect::<Result<Vec<_>, Failure>>()?)?;
    let mut rest = &urls[..];
    while let Some(first) = rest.first() {
        let count = rest.iter().take_while(|url| (&url.host, url.port) == (&first.host, first.port)).count();
        let (batch, following) = rest.split_at(count);
        rest = following;
        let (host, port) = (&first.host, first.port);
        let session = match client.early_data {
            true => Session::connect_early(host, port, &client, interrupt).await?,
            false => Session::connect(host, port, &client, interrupt).await?,
        };
        // Requests of 0-RTT that the server did not take are sent again by the transport, after the handshake.
        let result = fetch_all(arguments, batch, &session, output, interrupt).await;
        if client.early_data {
            output.remark(format_args!("0-RTT of {host}: {}", session.early_data()));
        }
        let result = result.map_err(|failure| client.explain(failure, &session.connection));
        session.close(0).await;
        result?;
    }
    Ok(())
}

async fn fetch_all(
    arguments: &Get,
    urls: &[Url],
    session: &Session,
    output: Output,
    interrupt: &mut Interrupt,
) -> Result<(), Failure> {
    let open = Arc::new(Semaphore::new(MAX_OPEN));
    let mut files = JoinSet::new();
    for url in urls {
        let destination = destination(arguments, url)?;
        let (connection, open, url) = (session.connection.clone(), open.clone(), url.clone());
        files.spawn(async move {
            let Ok(_permit) = open.acquire().await else { return Ok(()) };
            fetch(&connection, &url, &destination, output).await.map_err(|failure| failure.about(&url))
        });
    }
    loop {
        tokio::select! {
            done = files.join_next() => match done {
                None => return Ok(()),
                Some(Ok(result)) => result?,
                Some(Err(error)) => return Err(Failure::new(Exit::Failure, error.to_string())),
            },
            () = interrupt.raised() => return Err(Failure::new(Exit::Signal, "stopped")),
        }
    }
}

async fn fetch(
    connection: &Connection,
    url: &Url,
    destination: &Destination,
    output: Output,
) -> Result<(), Failure> {
    let (mut send, mut receive) = connection.open_bi().await?;
    let lost = |error: &dyn std::fmt::Display| Failure::new(Exit::ConnectionLost, format!("{url}: {error}"));
    send.write_all(hq::request(&url.path).as_bytes()).await.map_err(|error| lost(&error))?;
    send.finish().map_err(|error| lost(&error))?;
    // After the request: with 0-RTT it leaves at once, and a slow disk does not hold it until the handshake is over.
    let mut partial = match destination {
        Destination::Stdout => None,
        Destination::File(path) => Some(Partial::open(path, false)?),
    };
    if let Some(partial) = &mut partial {
        partial.truncate(0)?;
    }
    let mut file = partial.as_ref().map(Partial::writer).transpose()?;
    let mut length = 0;
    loop {
        let chunk = match receive.read_chunk(CHUNK).await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => break,
            Err(ReadError::Reset(_)) => {
                let text =
                    format!("{url}: the server does not serve it, and HTTP/0.9 has no words to say why");
                return Err(Failure::new(Exit::NotFound, text));
            }
            Err(error) => return Err(lost(&error)),
        };
        let written = match &mut file {
            Some(file) => file.write_all(&chunk),
            None => io::stdout().write_all(&chunk),
        };
        let path = partial.as_ref().map_or(Path::new("standard output"), Partial::path);
        written.map_err(|error| Failure::write(path, &error))?;
        length += chunk.len() as u64;
    }
    if let Some(partial) = &mut partial {
        partial.complete(false)?;
    }
    output.remark(format_args!("{url}: {}", units::bytes(length)));
    Ok(())
}
