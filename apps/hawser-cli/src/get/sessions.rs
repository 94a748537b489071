//! Connections that are kept, one for each server, and used by several files at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::Mutex;

use super::Common;
use super::attempt::H3_REQUEST_CANCELLED;
use super::batches::{Authority, authority};
use hawser_command::exit::Failure;
use hawser_command::interrupt::Interrupt;
use hawser_command::paths::{Flow, PathCounters, PathReport, counters};
use hawser_command::session::{Session, connect_to};
use hawser_command::transfer::{Meter, Progress};
use hawser_command::url::Url;

/// RFC 9114 section 8.1.
const H3_NO_ERROR: u64 = 0x100;

/// The connections of a command. The task that connects holds the lock: tasks that wait for the same server share the result.
//= rfc9114-3.3-4: a client opens no second connection to an address
//= rfc9114-3.3-5: a client opens no second connection of the same configuration
#[derive(Default)]
pub(super) struct Sessions(Mutex<State>);

#[derive(Default)]
struct State {
    /// Those that new attempts may use.
    open: BTreeMap<Authority, Open>,
    /// Servers that were connected to: 0-RTT is for the first time only.
    met: BTreeSet<Authority>,
}

struct Open {
    session: Arc<Session>,
    /// Draws how far the files are that are got at the same time.
    meter: Option<Meter>,
}

/// A connection for one attempt.
pub(super) struct Leased {
    pub(super) session: Arc<Session>,
    /// When the clock of the result starts: with connecting, where there was no connection.
    pub(super) started: Instant,
    /// What its paths did before.
    pub(super) before: PathCounters,
}

impl Sessions {
    /// The connection to the server of `url`; connects if none works. `of_all`: how far the files are that are
    /// got at the same time, if there are several.
    ///
    /// # Errors
    /// Why there is no connection.
    pub(super) async fn take(
        &self,
        url: &Url,
        common: &Common,
        of_all: Option<&Progress>,
        interrupt: &mut Interrupt,
    ) -> Result<Leased, Failure> {
        let authority = authority(url);
        let mut state = self.0.lock().await;
        if let Some(open) = state.open.get_mut(&authority)
            && open.session.connection.close_reason().is_none()
        {
            open.show(of_all, common);
            let before = counters(&open.session.connection);
            return Ok(Leased { session: open.session.clone(), started: Instant::now(), before });
        }
        close(state.open.remove(&authority)).await;
        let client = &common.client;
        let is_first = state.met.insert(authority.clone());
        let mut session = if is_first && client.early_data && client.scheduler.is_none() {
            Session::connect_early(&url.host, url.port, client, interrupt).await?
        } else {
            connect_to(url, client, interrupt).await?
        };
        session.watch_silence(client, common.output);
        session.request_scheduler(client, common.output);
        let session = Arc::new(session);
        let mut open = Open { session: session.clone(), meter: None };
        open.show(of_all, common);
        state.open.insert(authority, open);
        Ok(Leased { started: session.started, session, before: PathCounters::new() })
    }

    /// An attempt has ended. If the connection is not usable any more, those who have it may go on with it, but nobody else
    /// gets it; the last one says goodbye.
    pub(super) async fn give_back(&self, url: &Url, session: Arc<Session>, is_usable: bool) {
        if !is_usable {
            let mut state = self.0.lock().await;
            let authority = authority(url);
            // There may be a newer one already.
            if state.open.get(&authority).is_some_and(|open| Arc::ptr_eq(&open.session, &session)) {
                stop(state.open.remove(&authority).and_then(|open| open.meter)).await;
            }
        }
        if let Some(last) = Arc::into_inner(session) {
            last.close(H3_REQUEST_CANCELLED).await;
        }
    }

    /// The files that were got at the same time are all there: their progress is not shown any more. What the paths of the
    /// connection did meanwhile; nothing if it was lost.
    pub(super) async fn end_progress(&self, authority: &Authority) -> Vec<PathReport> {
        let mut state = self.0.lock().await;
        let meter = state.open.get_mut(authority).and_then(|open| open.meter.take());
        stop(meter).await
    }

    /// Says goodbye to a server that is not needed any more.
    pub(super) async fn close(&self, authority: &Authority) {
        let open = self.0.lock().await.open.remove(authority);
        close(open).await;
    }

    /// Says goodbye to all servers.
    pub(super) async fn close_all(&self) {
        let open = std::mem::take(&mut self.0.lock().await.open);
        for open in open.into_values() {
            close(Some(open)).await;
        }
    }
}

impl Open {
    /// Begins to show how far files are, if there are several and it is not shown yet.
    fn show(&mut self, of_all: Option<&Progress>, common: &Common) {
        if self.meter.is_none()
            && let Some(progress) = of_all
        {
            let table = self.session.path_table_since(counters(&self.session.connection));
            let meter = Meter::start(table, Flow::Received, progress.clone(), common.output.hides_progress());
            self.meter = Some(meter);
        }
    }
}

async fn stop(meter: Option<Meter>) -> Vec<PathReport> {
    match meter {
        Some(meter) => meter.stop().await,
        None => Vec::new(),
    }
}

/// Says goodbye, unless somebody still uses it, who does so later.
async fn close(open: Option<Open>) {
    let Some(Open { session, meter }) = open else { return };
    stop(meter).await;
    if let Some(session) = Arc::into_inner(session) {
        session.close(H3_NO_ERROR).await;
    }
}
