//! The end that moves.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use hawser_lab::data::measure::{Configuration, Pool, Record, RecordId, Run, RunId, Session};

use super::association::{Follower, follow};
use super::gps::Gps;
use super::keeper::{Keeper, open_store};
use super::protocol::ALPN;
use super::radio::RadioSource;
use super::{Client, controllers};
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::options::Output;
use crate::paths::milliseconds;
use crate::report::{Channel, to_json};
use crate::session::resolve;
use crate::units;
use hawser::{ClientConfig, Composition, PolicySpec, Registry, TransportConfig, Trust};

/// How often the record of the run is brought to the disk.
const RUN_DRAFT_INTERVAL: Duration = Duration::from_secs(10);
/// Slot of the run's record.
const RUN_SLOT: &str = "run";
/// How long a flow is silent before it asks whether the server is there.
const KEEP_ALIVE: Duration = Duration::from_secs(1);

/// The server's name, and what it stands for.
pub(super) struct ServerName {
    pub(super) host: String,
    port: u16,
    /// Name look-ups may take this long.
    patience: Duration,
    addresses: Mutex<Vec<SocketAddr>>,
}

impl ServerName {
    /// Its addresses as far as they are known.
    pub(super) fn known(&self) -> Vec<IpAddr> {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner).iter().map(SocketAddr::ip).collect()
    }

    async fn resolve(&self) -> Result<(), Failure> {
        let found = tokio::time::timeout(self.patience, resolve(&self.host, self.port)).await;
        let late = |_| {
            Failure::new(Exit::NotResolved, format!("cannot find the address of `{}` in time", self.host))
        };
        *self.addresses.lock().unwrap_or_else(PoisonError::into_inner) = found.map_err(late)??;
        Ok(())
    }

    /// The server's address for packets from this local address.
    pub(super) async fn remote_for(&self, own: IpAddr) -> Result<SocketAddr, Failure> {
        if self.known().is_empty() {
            self.resolve().await?;
        }
        let addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        addresses.iter().find(|address| address.is_ipv4() == own.is_ipv4()).copied().ok_or_else(|| {
            Failure::new(Exit::NotConnected, format!("`{}` has no address that {own} can reach", self.host))
        })
    }
}

/// What all sessions share.
pub(super) struct Context {
    pub(super) began: Instant,
    pub(super) server: ServerName,
    pub(super) pool: Pool,
    pub(super) seed: u64,
    /// Longest session.
    pub(super) session: Option<Duration>,
    pub(super) keeper: Keeper,
    pub(super) registry: Arc<Registry>,
    pub(super) radio: Option<RadioSource>,
    pub(super) gps: Option<Gps>,
    trust: Trust,
    connect_timeout: Duration,
    timeout: Duration,
    output: Output,
}

impl Context {
    /// How the flows of a session connect: one path each, with the controller that was drawn.
    pub(super) fn config_of(&self, configuration: &Configuration) -> Result<ClientConfig, Failure> {
        let spec: PolicySpec =
            configuration.controller.parse().map_err(|error| Failure::usage(format!("{error}")))?;
        let wanted = Composition { congestion: Some(spec), ..Composition::default() };
        let policies = self.registry.set(&wanted).map_err(|error| Failure::usage(error.to_string()))?;
        let transport = TransportConfig {
            policies,
            max_path_id: None,
            max_idle_timeout: Some(self.timeout),
            keep_alive_interval: Some(KEEP_ALIVE.min(self.timeout / 3)),
            ..hawser::default_transport()
        };
        let builder = ClientConfig::builder().trust(self.trust.clone()).alpn([ALPN]).transport(transport);
        Ok(builder.handshake_timeout(self.connect_timeout).build()?)
    }

    /// Says what came of a session.
    pub(super) fn tell(&self, session: &Session) {
        if self.output.json {
            // Without the samples, which the record has.
            let mut short = session.clone();
            short.flows.iter_mut().for_each(|flow| flow.measured.samples = Default::default());
            return Channel::Stdout.print(&Record::Session(short));
        }
        let bytes: u64 = session
            .flows
            .iter()
            .filter_map(|flow| flow.measured.received_bytes.or(flow.measured.acked_bytes))
            .sum();
        let seconds = session.stopped_ms / 1e3;
        let Configuration { controller, direction, flows } = &session.configuration;
        let reason = session.error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
        self.output.remark(format_args!(
            "{} {}: {} {direction}, {flows} x {controller}, {seconds:.1} s, {}{reason}",
            session.interface,
            session.address,
            units::bytes(bytes),
            to_json(&session.end).trim_matches('"').replace('_', " "),
            direction = to_json(direction).trim_matches('"'),
        ));
    }
}

/// Measures until the user stops it, or the time is over.
pub(super) async fn run(
    arguments: Client,
    registry: &Arc<Registry>,
    output: Output,
    interrupt: Interrupt,
) -> Result<(), Failure> {
    let pool = arguments.pool(registry)?;
    let run = RunId(rand::random());
    let seed = arguments.seed.unwrap_or_else(rand::random);
    let trust = arguments.trust.trust()?;
    let store = open_store(&arguments.out, arguments.max_disk, run, output)?;
    let failed = |error| Failure::new(Exit::Failure, format!("cannot start a thread: {error}"));
    let keeper = Keeper::start(store, run, arguments.out.clone()).map_err(failed)?;
    let began = Instant::now();
    let context = Arc::new(Context {
        began,
        server: ServerName {
            host: arguments.host.clone(),
            port: arguments.port.get(),
            patience: arguments.connect_timeout,
            addresses: Mutex::new(Vec::new()),
        },
        pool,
        seed,
        session: arguments.session,
        keeper,
        registry: registry.clone(),
        radio: arguments.link_state.as_deref().map(RadioSource::new),
        gps: arguments.gpsd.clone().map(|place| Gps::new(place, began)),
        trust,
        connect_timeout: arguments.connect_timeout,
        timeout: arguments.timeout,
        output,
    });
    // A configuration that cannot be is known before anything is measured.
    for controller in &context.pool.controllers {
        let controller = controller.clone();
        context.config_of(&Configuration { controller, ..context.pool.draw(seed, 0) })?;
    }
    if let Err(failure) = context.server.resolve().await {
        output.remark(format_args!("{failure}; it is looked up again with the first address"));
    }
    let result = watch(&context, &arguments, interrupt).await;
    // Only this is left of it.
    if let Some(context) = Arc::into_inner(context) {
        let _ = tokio::task::spawn_blocking(move || context.keeper.finish()).await;
    }
    result
}

/// Follows all interfaces, and keeps the record of the run.
async fn watch(context: &Arc<Context>, arguments: &Client, mut interrupt: Interrupt) -> Result<(), Failure> {
    let (stop, stopped) = interrupt.child();
    let mut tasks = tokio::task::JoinSet::new();
    for (name, number) in arguments.interface.iter().zip(0..) {
        let follower = Follower::listen(name, number).await?;
        let (context, stopped) = (context.clone(), stopped.clone());
        tasks.spawn(async move { follow(&context, follower, stopped).await });
    }
    let locating = context.gps.is_some().then(|| {
        let context = context.clone();
        tokio::spawn(async move { context.locate().await })
    });
    let record = RunRecord::new(context, arguments);
    let mut drafts = tokio::time::interval(RUN_DRAFT_INTERVAL);
    let over = tokio::time::sleep(arguments.time.unwrap_or(Duration::MAX));
    tokio::pin!(over);
    let result = loop {
        tokio::select! {
            ended = tasks.join_next() => match ended {
                Some(Ok(Ok(()))) => {}
                Some(Ok(Err(failure))) => break Err(failure),
                Some(Err(error)) => break Err(Failure::new(Exit::Failure, error.to_string())),
                None => break Ok(()),
            },
            _ = drafts.tick() => context.keeper.draft(RUN_SLOT, || record.now(false)),
            () = &mut over => break Ok(()),
            () = interrupt.raised() => break Ok(()),
        }
    };
    stop();
    while tasks.join_next().await.is_some() {}
    if let Some(locating) = locating {
        locating.abort();
        let _ = locating.await;
        context.put_track();
    }
    context.keeper.finish_draft(RUN_SLOT, record.now(true));
    result
}

impl Context {
    /// Follows the receiver of positions until it is dropped, and keeps tracks.
    async fn locate(&self) {
        let Some(gps) = &self.gps else { return };
        gps.follow(|| self.put_track()).await;
    }

    fn put_track(&self) {
        if let Some(track) =
            self.gps.as_ref().and_then(|gps| gps.take_track(self.keeper.run(), || self.keeper.next_id()))
        {
            self.keeper.put(Record::Track(track));
        }
    }
}

/// The record of a run.
struct RunRecord {
    began: Instant,
    run: Run,
}

impl RunRecord {
    fn new(context: &Context, arguments: &Client) -> Self {
        let wall = SystemTime::now().checked_sub(context.began.elapsed()).unwrap_or(SystemTime::UNIX_EPOCH);
        let id: RecordId = context.keeper.next_id();
        let run = Run {
            id,
            run: context.keeper.run(),
            unix: wall.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64(),
            length_ms: 0.0,
            ended: false,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pool: context.pool.clone(),
            seed: context.seed,
            interfaces: arguments.interface.clone(),
        };
        RunRecord { began: context.began, run }
    }

    fn now(&self, ended: bool) -> Record {
        Record::Run(Run { length_ms: milliseconds(self.began.elapsed()), ended, ..self.run.clone() })
    }
}

impl Client {
    /// What is drawn from, all of which exists.
    fn pool(&self, registry: &Registry) -> Result<Pool, Failure> {
        let controllers = controllers(&self.controller, registry)?;
        let directions = self.direction.iter().map(|direction| (*direction).into()).collect();
        Ok(Pool { controllers, directions, flows: self.flows.clone() })
    }
}
