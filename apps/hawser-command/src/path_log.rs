//! What happens to the paths of a connection, in the log (`-v`).

mod silences;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

use self::silences::Silences;
use hawser::{AttachReport, AttachResult, Connection, Endpoint, PathEvent, PathEventError, PathId};

/// Notes every change until the connection ends. The task is over when all was noted.
pub fn start(
    endpoint: Endpoint,
    connection: Connection,
    connected_after: Duration,
) -> Option<JoinHandle<()>> {
    if !tracing::enabled!(tracing::Level::INFO) {
        return None;
    }
    let mut events = connection.path_events();
    let mut log = PathLog { endpoint, connection, names: BTreeMap::new(), silences: Silences::default() };
    let (remote, multipath) = (log.connection.remote_address(), log.connection.is_multipath());
    let path = log.name(PathId::ZERO);
    tracing::info!("connected to {remote} after {connected_after:.1?} over {path}, multipath: {multipath}");
    Some(tokio::spawn(async move {
        loop {
            let event = match log.silences.next() {
                Some(at) => tokio::select! {
                    event = events.recv() => event,
                    () = tokio::time::sleep_until(at.into()) => {
                        log.tell_silences();
                        continue;
                    }
                },
                None => events.recv().await,
            };
            match event {
                Ok(event) => log.note(&event),
                Err(PathEventError::Missed(missed)) => tracing::info!("{missed} events of paths were missed"),
                Err(_) => return,
            }
        }
    }))
}

struct PathLog {
    endpoint: Endpoint,
    connection: Connection,
    /// Of a closed path nothing else is known any more.
    names: BTreeMap<PathId, String>,
    silences: Silences,
}

impl PathLog {
    fn note(&mut self, event: &PathEvent) {
        match event {
            // Said with the connection.
            PathEvent::Established(PathId::ZERO) => {}
            PathEvent::Established(id) => tracing::info!("{} is open", self.name(*id)),
            PathEvent::Suspect(id) => self.silences.begin(*id, Instant::now()),
            PathEvent::Recovered(id) if self.silences.end(*id) => {
                tracing::info!("{} answers again", self.name(*id));
            }
            PathEvent::Recovered(_) => {}
            PathEvent::Closed(id) => {
                self.silences.end(*id);
                tracing::info!("{} is closed", self.name(*id));
            }
            PathEvent::LinkUp(link) => tracing::info!("link {} is up", link.name),
            PathEvent::LinkDown(id) => tracing::debug!(link = id.0, "a link is down"),
            PathEvent::Attach(report) => {
                tracing::info!(link = report.request.link.0, "{}", attachment(report))
            }
            _ => tracing::debug!(?event),
        }
    }

    fn tell_silences(&mut self) {
        for id in self.silences.due(Instant::now()) {
            tracing::info!("{} is silent: others carry its data", self.name(id));
        }
    }

    /// `path 1 (wlan0, 192.0.2.7:4711)`.
    fn name(&mut self, id: PathId) -> String {
        if let Some(path) = self.connection.paths().into_iter().find(|path| path.id == id) {
            let link = self.endpoint.links().into_iter().find(|link| Some(link.id) == path.link);
            let link = link.map(|link| format!("{}, ", link.name)).unwrap_or_default();
            self.names.insert(id, format!("path {} ({link}{})", id.0, path.tuple.local));
        }
        self.names.get(&id).cloned().unwrap_or_else(|| format!("path {}", id.0))
    }
}

fn attachment(report: &AttachReport) -> String {
    let to = report.request.to;
    match report.result {
        AttachResult::Attached => format!("a link is attached to {to}"),
        AttachResult::Unsupported => format!("nobody can attach a link to {to}"),
        _ => format!("a link could not be attached to {to}"),
    }
}
