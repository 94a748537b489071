//! The end of the program.
//!
//! Each client has a task of its own, which waits for that client and for nobody else: one that reads slowly sees fewer samples,
//! and one that reads nothing for a while is dropped.

use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::protocol::{
    Answer, Hello, Line, MAX_INTERVAL_MS, MAX_LINE, MIN_INTERVAL_MS, Order, Outcome, Request, VERSION,
};
use super::{ControlError, place};
use crate::hub::Hub;

/// Clients at the same time; further ones are sent away.
const MAX_CLIENTS: usize = 32;
/// How long a client may take none of what is said to it.
const PATIENCE: Duration = Duration::from_secs(5);
/// Events that a client sees first that does not say which it knows.
const RECENT_EVENTS: u64 = 20;

/// A control socket that is open; it goes when this is dropped.
#[derive(Debug)]
pub struct ControlSocket {
    path: PathBuf,
    task: JoinHandle<()>,
}

impl ControlSocket {
    /// Opens a socket at this path. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// [`ControlError`].
    pub fn open(hub: Hub, path: &Path) -> Result<Self, ControlError> {
        let failed = |source| ControlError::Bind { path: path.to_owned(), source };
        let listener = UnixListener::from_std(place::bind(path)?).map_err(failed)?;
        let task = tokio::spawn(accept(hub, listener));
        Ok(ControlSocket { path: path.to_owned(), task })
    }

    /// Opens one in the [runtime folder](super::runtime_folder), named after the program and its process.
    ///
    /// # Errors
    /// [`ControlError`].
    pub fn open_default(hub: Hub) -> Result<Self, ControlError> {
        let folder = place::runtime_folder();
        place::prepare(&folder).map_err(|source| ControlError::Bind { path: folder.clone(), source })?;
        let program = hub.program();
        let name = format!("{}-{}.sock", program.command.replace(' ', "-"), program.pid);
        Self::open(hub.clone(), &folder.join(name))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        self.task.abort();
        let _ = std::fs::remove_file(&self.path);
    }
}

async fn accept(hub: Hub, listener: UnixListener) {
    let places = Arc::new(Semaphore::new(MAX_CLIENTS));
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of file descriptors, most likely: others may give some back.
                tracing::debug!(%error, "a client of the control socket was not accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        // Whose stream is dropped sees its end at once.
        let Ok(permit) = places.clone().try_acquire_owned() else { continue };
        let hub = hub.clone();
        tokio::spawn(async move {
            if let Err(error) = serve(&hub, stream).await {
                tracing::debug!(%error, "a client of the control socket has gone");
            }
            drop(permit);
        });
    }
}

/// What one client is told.
struct Session<'a> {
    hub: &'a Hub,
    write: OwnedWriteHalf,
    watching: Option<Watching>,
}

/// A client that wants samples.
struct Watching {
    interval: Duration,
    next: Instant,
    /// The last event that it was told.
    event: u64,
}

async fn serve(hub: &Hub, stream: UnixStream) -> io::Result<()> {
    let (read, write) = stream.into_split();
    let mut session = Session { hub, write, watching: None };
    session.say(&Line::Hello(Hello { version: VERSION, program: hub.program().clone() })).await?;
    let mut lines = Lines { reader: BufReader::new(read), line: Vec::new() };
    loop {
        let due = session.watching.as_ref().map(|watching| watching.next);
        tokio::select! {
            line = lines.next() => match line? {
                Some(line) => session.on_line(&line).await?,
                None => return Ok(()),
            },
            () = tokio::time::sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                session.sample().await?;
            }
        }
    }
}

impl Session<'_> {
    async fn say(&mut self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        tokio::time::timeout(PATIENCE, self.write.write_all(&text)).await?
    }

    /// One that says something else than requests is told so, and sent away.
    async fn on_line(&mut self, line: &[u8]) -> io::Result<()> {
        match serde_json::from_slice::<Request>(line) {
            Ok(Request { id, order }) => {
                let drains = matches!(order, Order::Drain);
                let outcome = self.follow(order).await;
                let said = self.say(&Line::Answer(Answer { id, outcome })).await;
                // The process may end at once, and with it what was not written.
                if drains {
                    self.hub.drain();
                }
                said
            }
            Err(error) => {
                let outcome = Outcome::Error(format!("this is no request: {error}; see docs/control.md"));
                self.say(&Line::Answer(Answer { id: serde_json::Value::Null, outcome })).await?;
                Err(io::Error::new(io::ErrorKind::InvalidData, "it sent something that is no request"))
            }
        }
    }

    async fn follow(&mut self, order: Order) -> Outcome {
        let hub = self.hub;
        let done = match order {
            Order::Status => return Outcome::Status(Box::new((*hub.settled().await).clone())),
            Order::Watch { interval_ms, after_event } => {
                let interval = Duration::from_millis(interval_ms.clamp(MIN_INTERVAL_MS, MAX_INTERVAL_MS));
                let event = after_event.unwrap_or_else(|| hub.last_event().saturating_sub(RECENT_EVENTS));
                self.watching = Some(Watching { interval, next: Instant::now(), event });
                Ok(format!("a sample each {} ms", interval.as_millis()))
            }
            Order::Link { name, usage } => hub.set_link(&name, usage),
            Order::Scheduler { spec, connection } => hub.set_scheduler(&spec, connection.as_deref()),
            Order::Share { name, percent, connection } => {
                hub.set_share(&name, percent, connection.as_deref())
            }
            Order::Controller { spec, name, connection } => {
                hub.set_controller(&spec, name.as_deref(), connection.as_deref())
            }
            Order::Mode { mode, class, connection } => hub.set_mode(&mode, class, connection.as_deref()),
            Order::Qlog { connection, file, max_bytes } => {
                return start_qlog(hub, &connection, &file, max_bytes);
            }
            Order::Drain => Ok("the program stops".to_owned()),
        };
        // Also where it was not followed to its end.
        hub.outdate();
        done.map_or_else(|error| Outcome::Error(error.to_string()), Outcome::Done)
    }

    /// Says what is, and what happened.
    async fn sample(&mut self) -> io::Result<()> {
        let Some(Watching { interval, event, .. }) = &self.watching else { return Ok(()) };
        let (interval, event) = (*interval, *event);
        let status = self.hub.look(interval / 2);
        for event in self.hub.events_after(event) {
            let seq = event.seq;
            self.say(&Line::Event(event)).await?;
            if let Some(watching) = &mut self.watching {
                watching.event = seq;
            }
        }
        self.say(&Line::Sample(Box::new((*status).clone()))).await?;
        if let Some(watching) = &mut self.watching {
            // What was missed while the client did not read is not made up for.
            watching.next = (watching.next + interval).max(Instant::now());
        }
        Ok(())
    }
}

/// Lines of a client, bounded. Safe to drop between two lines and in the middle of one: what came stays.
struct Lines {
    reader: BufReader<OwnedReadHalf>,
    line: Vec<u8>,
}

impl Lines {
    /// The next line that is not empty; `None` at the end.
    async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let room = (MAX_LINE + 1).saturating_sub(self.line.len());
            let mut limited = (&mut self.reader).take(room as u64);
            let count = limited.read_until(b'\n', &mut self.line).await?;
            if self.line.last() == Some(&b'\n') {
                self.line.pop();
                let line = std::mem::take(&mut self.line);
                if !line.iter().all(u8::is_ascii_whitespace) {
                    return Ok(Some(line));
                }
            } else if self.line.len() > MAX_LINE {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is too long"));
            } else if count == 0 {
                return Ok(None);
            }
        }
    }
}

/// Writes a trace of a connection to a new file.
fn start_qlog(hub: &Hub, connection: &str, file: &str, max_bytes: u64) -> Outcome {
    let begin = || {
        let observers = hub.observers(Some(connection)).map_err(|error| error.to_string())?;
        let observer = observers.first().ok_or_else(|| format!("there is no connection `{connection}`"))?;
        let created = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
        let created = created.map_err(|error| format!("cannot make {file}: {error}"))?;
        let limited = Limited { writer: io::BufWriter::new(created), left: max_bytes };
        observer.set_qlog(Box::new(limited), &format!("connection {connection}"));
        Ok::<String, String>(format!("{file} has what connection {connection} does from now on"))
    };
    begin().map_or_else(Outcome::Error, Outcome::Done)
}

/// A file that takes so many bytes: whole records, and then no more.
struct Limited<W> {
    writer: W,
    left: u64,
}

impl<W: Write> Write for Limited<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.left = self.left.checked_sub(bytes.len() as u64).ok_or_else(|| {
            io::Error::new(io::ErrorKind::FileTooLarge, "the trace has reached its largest size")
        })?;
        self.writer.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
