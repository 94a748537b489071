//! The end that moves.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use hawser_lab::data::measure::{Configuration, Pool, Record, RecordId, Run, RunId};

use super::association::follow;
use super::context::{Context, ServerName};
use super::follower::Follower;
use super::gps::Gps;
use super::keeper::{Keeper, open_store};
use super::radio::RadioSource;
use super::{Client, controllers};
use hawser::Registry;
use hawser_command::exit::{Exit, Failure};
use hawser_command::interrupt::Interrupt;
use hawser_command::output::Output;
use hawser_command::paths::milliseconds;

/// How often the record of the run is brought to the disk.
const RUN_DRAFT_INTERVAL: Duration = Duration::from_secs(10);
/// Slot of the run's record.
const RUN_SLOT: &str = "run";

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
    let (control, interrupt) = arguments.control.start("measure client", &interrupt, output).await?;
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
        hub: control.hub().clone(),
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
