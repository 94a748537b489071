//! What a program knows of itself: its endpoints, the last look at them, and what happened.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hawser_net::{Endpoint, LinkUse, WeakEndpoint};
use tokio::time::MissedTickBehavior;

use crate::events::{Log, compare};
use crate::history::{History, Moment};
use crate::model::{Event, Program, Status, VERSION};
use crate::sampler::{Sampler, Watched};

/// How often it is looked while nobody watches, so that events and rates are known to those who come; with a history that is kept,
/// and without.
const BACKGROUND: Duration = Duration::from_secs(1);
const UNWATCHED: Duration = Duration::from_secs(2);
/// With more connections than this nobody looks unasked, and those who watch see a look a second.
const MANY_CONNECTIONS: u64 = 64;
/// How far apart looks are with many connections.
const MANY_INTERVAL: Duration = Duration::from_millis(900);
/// Endpoints of one program. Clients that reconnect have a new one each time; those that ended are forgotten.
const MAX_ENDPOINTS: usize = 256;
/// How far apart the two looks are that give the first rates.
const FIRST_RATES: Duration = Duration::from_millis(250);

/// Adds to a status what only the program knows, such as users.
pub type Addition = Arc<dyn Fn(&mut Status) + Send + Sync>;

/// Ends the program as its first Ctrl-C does.
pub type Drain = Box<dyn Fn() + Send + Sync>;

/// The status of this program, for all who want to see it. Cheap to clone.
///
/// It looks at endpoints when it is asked to; several who watch share looks. Nothing is counted per packet for it.
#[derive(Clone)]
pub struct Hub(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    program: Program,
    started: Instant,
    drain: Drain,
    endpoints: Mutex<Endpoints>,
    additions: Mutex<Vec<Addition>>,
    looks: Mutex<Looks>,
}

#[derive(Default)]
struct Endpoints {
    attached: Vec<(u32, WeakEndpoint)>,
    /// How many there ever were.
    count: u32,
    /// What links are used for, by order: endpoints that come later follow.
    uses: Vec<(String, LinkUse)>,
}

#[derive(Default)]
struct Looks {
    sampler: Sampler,
    last: Option<(Instant, Arc<Status>)>,
    log: Log,
    /// Whether an order was followed since the last look, which does not show what it changed.
    outdated: bool,
    draining: bool,
    /// Whether looks go on with many connections, and an hour of them is kept.
    history: Option<History>,
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub").field("program", &self.0.program).finish_non_exhaustive()
    }
}

impl Hub {
    /// The status of this process, which runs this subcommand of Hawser. `drain` is called when somebody orders the program to
    /// stop. Must be called inside a tokio runtime.
    pub fn new(command: &str, drain: Drain) -> Self {
        let program = Program {
            command: command.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
        };
        let hub = Hub(Arc::new(Inner {
            program,
            started: Instant::now(),
            drain,
            endpoints: Mutex::default(),
            additions: Mutex::default(),
            looks: Mutex::default(),
        }));
        tokio::spawn(look_now_and_then(Arc::downgrade(&hub.0)));
        hub
    }

    /// The program that this is.
    pub fn program(&self) -> &Program {
        &self.0.program
    }

    /// Shows the connections of this endpoint, too, as long as it has other handles.
    pub fn attach(&self, endpoint: &Endpoint) {
        let mut endpoints = lock(&self.0.endpoints);
        endpoints.attached.retain(|(_, weak)| weak.upgrade().is_some_and(|known| !known.is_same(endpoint)));
        if endpoints.attached.len() == MAX_ENDPOINTS {
            endpoints.attached.remove(0);
        }
        endpoints.count = endpoints.count.wrapping_add(1);
        let number = endpoints.count;
        endpoints.attached.push((number, endpoint.downgrade()));
        drop(endpoints);
        lock(&self.0.looks).outdated = true;
    }

    /// What links are used for by order, for [`EndpointBuilder::link_uses`](hawser_net::EndpointBuilder::link_uses) of endpoints that
    /// are made later.
    pub fn link_uses(&self) -> Vec<(String, LinkUse)> {
        lock(&self.0.endpoints).uses.clone()
    }

    /// Adds to each status what only the program knows.
    pub fn add(&self, addition: Addition) {
        lock(&self.0.additions).push(addition);
        lock(&self.0.looks).outdated = true;
    }

    /// Keeps an hour of history from now on.
    pub fn keep_history(&self) {
        lock(&self.0.looks).history.get_or_insert_default();
    }

    /// The history that is kept; empty without any.
    pub fn history(&self) -> Vec<Moment> {
        lock(&self.0.looks).history.as_ref().map(History::all).unwrap_or_default()
    }

    /// The status, from a look that is at most so old; with many connections, at most about a second.
    pub fn look(&self, max_age: Duration) -> Arc<Status> {
        let mut looks = lock(&self.0.looks);
        let now = Instant::now();
        if let Some((at, last)) = &looks.last
            && !looks.outdated
        {
            let is_many = last.totals.connections > MANY_CONNECTIONS;
            let max_age = if is_many { max_age.max(MANY_INTERVAL) } else { max_age };
            if now.duration_since(*at) < max_age {
                return last.clone();
            }
        }
        looks.outdated = false;
        let seen = looks.sampler.look(&self.watched(), now);
        let mut status = Status {
            version: VERSION,
            at_unix_ms: unix_ms(),
            uptime_ms: u64::try_from(self.0.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            program: self.0.program.clone(),
            draining: looks.draining,
            totals: seen.totals,
            links: seen.links,
            connections: seen.connections,
            connections_left_out: seen.left_out,
            ..Status::default()
        };
        let additions = lock(&self.0.additions).clone();
        additions.iter().for_each(|add| add(&mut status));
        let status = Arc::new(status);
        if let Some((_, before)) = &looks.last {
            let news = compare(before, &status);
            looks.log.add(status.at_unix_ms, news);
        }
        if let Some(history) = &mut looks.history {
            history.add(&status);
        }
        looks.last = Some((now, status.clone()));
        status
    }

    /// The status with rates that are of the last moments, also where nobody has looked for a while.
    pub async fn settled(&self) -> Arc<Status> {
        let is_recent = |(at, _): &(Instant, Arc<Status>)| at.elapsed() < UNWATCHED * 5 / 4;
        if !lock(&self.0.looks).last.as_ref().is_some_and(is_recent) {
            self.look(Duration::ZERO);
            tokio::time::sleep(FIRST_RATES).await;
        }
        self.look(FIRST_RATES / 2)
    }

    /// The number of the newest event; 0 before the first.
    pub fn last_event(&self) -> u64 {
        lock(&self.0.looks).log.last()
    }

    /// The events after the one with this number, as far as they are kept.
    pub fn events_after(&self, seq: u64) -> Vec<Event> {
        lock(&self.0.looks).log.after(seq)
    }

    /// Ends the program as its first Ctrl-C does.
    pub fn drain(&self) {
        {
            let mut looks = lock(&self.0.looks);
            (looks.draining, looks.outdated) = (true, true);
        }
        (self.0.drain)();
    }

    /// Has the next look show what an order has changed, however young the last one is.
    pub(crate) fn outdate(&self) {
        lock(&self.0.looks).outdated = true;
    }

    /// Remembers what a link is used for.
    pub(crate) fn remember_use(&self, name: &str, wanted: LinkUse) {
        let mut endpoints = lock(&self.0.endpoints);
        endpoints.uses.retain(|(known, _)| known != name);
        endpoints.uses.push((name.to_owned(), wanted));
    }

    /// The endpoints that there are.
    pub(crate) fn watched(&self) -> Vec<Watched> {
        let mut endpoints = lock(&self.0.endpoints);
        endpoints.attached.retain(|(_, weak)| weak.upgrade().is_some());
        let upgrade = |(number, weak): &(u32, WeakEndpoint)| {
            Some(Watched { number: *number, endpoint: weak.upgrade()? })
        };
        endpoints.attached.iter().filter_map(upgrade).collect()
    }
}

/// Looks now and then, as long as the hub lives.
async fn look_now_and_then(hub: Weak<Inner>) {
    let mut ticks = tokio::time::interval(BACKGROUND);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        ticks.tick().await;
        let Some(inner) = hub.upgrade() else { return };
        let hub = Hub(inner);
        let open: usize = hub.watched().iter().map(|watched| watched.endpoint.open_connections()).sum();
        let keeps = lock(&hub.0.looks).history.is_some();
        if keeps || open as u64 <= MANY_CONNECTIONS {
            hub.look(if keeps { BACKGROUND / 2 } else { UNWATCHED - BACKGROUND / 2 });
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Milliseconds since 1970.
fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
