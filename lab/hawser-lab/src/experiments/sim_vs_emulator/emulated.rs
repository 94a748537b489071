//! The run in real time: endpoints with sockets in the emulator's two namespaces.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use hawser_emu::{Emulation, Host, PacketRecord, PacketRecorder, RouteName, SERVER_ADDRESS};
use hawser_net::{ClientConfig, Endpoint, Identity, Pin, ServerConfig, Trust};
use hawser_policy::Registry;
use hawser_scenario::{Direction, Flow, FlowKind, Scenario};
use hawser_sim::run::{RunError, transport_config};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::client::{self, SERVER_NAME, Session, links_of};
use super::error::CompareError;
use super::meter::Meter;
use super::observation::{Observation, Traffic, direction_index};
use super::server;

const PROTOCOL: &str = "hawser-lab";
/// The server's port for the first session; each has one of its own.
const FIRST_PORT: u16 = 4433;
/// For scenarios without a duration that never end by themselves.
const LONGEST: Duration = Duration::from_secs(3600);

/// A connection of a flow.
struct Plan {
    flow: Flow,
    port: u16,
    meter: Arc<Meter>,
}

impl Plan {
    /// Whether its data goes to the server.
    fn is_upload(&self) -> bool {
        matches!(
            self.flow.kind,
            FlowKind::Bulk { direction: Direction::Up, .. }
                | FlowKind::Datagrams { direction: Direction::Up, .. }
        )
    }
}

/// Keeps the delays of packets.
struct Collector(Vec<Traffic>);

impl PacketRecorder for Collector {
    fn packets(&mut self, records: &[PacketRecord]) {
        for record in records {
            let RouteName::Link(link) = record.route else { continue };
            let Some(traffic) = self.0.get_mut(direction_index(link, record.direction)) else { continue };
            traffic.add(record.sent, record.at, record.length, record.dropped.is_some());
            if record.dropped.is_none() {
                traffic.late.push(record.late);
            }
        }
    }
}

/// Runs the scenario on emulated links.
pub(super) fn observe(scenario: &Scenario, registry: &Registry) -> Result<Observation, CompareError> {
    let emulation = Emulation::start(scenario)?;
    let identity = Identity::self_signed(&[SERVER_NAME])?;
    let pin = identity.pin()?;
    // The schedules of the links begin anew when the servers stand.
    let (ready, is_ready) = channel();
    let (stop, is_over) = oneshot::channel::<()>();
    thread::scope(|scope| {
        let (emulation, identity) = (&emulation, &identity);
        let servers = scope.spawn(move || {
            emulation
                .run_on(Host::Server, || run_servers(scenario, registry, identity, &ready, is_over))
                .map_err(CompareError::io("entering the server's namespace"))?
        });
        let observed = match is_ready.recv() {
            Ok(plans) => run_clients(emulation, scenario, registry, pin, plans),
            // They failed, and say why.
            Err(_) => Err(CompareError::NoConnection),
        };
        drop(stop);
        let served = servers.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        served.and(observed)
    })
}

/// All connections of the scenario.
fn plans(scenario: &Scenario) -> Vec<Plan> {
    let traffic = scenario.traffic();
    let flows = traffic.iter().filter(|flow| !matches!(flow.kind, FlowKind::Udp { .. }));
    let copies = flows.flat_map(|flow| (0..flow.count).map(move |_| flow.clone()));
    copies.zip(FIRST_PORT..).map(|(flow, port)| Plan { flow, port, meter: Arc::default() }).collect()
}

/// Runs a server for each connection until `is_over`; hands over the plans when all listen.
fn run_servers(
    scenario: &Scenario,
    registry: &Registry,
    identity: &Identity,
    ready: &Sender<Vec<Plan>>,
    is_over: oneshot::Receiver<()>,
) -> Result<(), CompareError> {
    runtime()?.block_on(async {
        let plans = plans(scenario);
        for plan in &plans {
            let transport = transport_config(scenario, registry, &plan.flow)?;
            let config =
                ServerConfig::builder(identity.clone()).alpn([PROTOCOL]).transport(transport).build()?;
            let endpoint = Endpoint::server(config, (SERVER_ADDRESS, plan.port).into())?;
            let uploads = plan.is_upload().then(|| plan.meter.clone());
            tokio::spawn(server::serve(endpoint, uploads));
        }
        let _ = ready.send(plans);
        let _ = is_over.await;
        Ok(())
    })
}

/// Starts the schedules and all clients; waits for the end.
fn run_clients(
    emulation: &Emulation,
    scenario: &Scenario,
    registry: &Registry,
    pin: Pin,
    plans: Vec<Plan>,
) -> Result<Observation, CompareError> {
    let mut sessions = Vec::new();
    for plan in &plans {
        let transport = transport_config(scenario, registry, &plan.flow)?;
        let config = ClientConfig::builder()
            .trust(Trust::Pins(vec![pin]))
            .alpn([PROTOCOL])
            .transport(transport)
            .path_manager(registry.paths_of(&scenario.policies_of(&plan.flow)).map_err(RunError::from)?)
            .build()?;
        sessions.push(Session {
            flow: plan.flow.clone(),
            config,
            links: links_of(scenario, &plan.flow),
            server: (SERVER_ADDRESS, plan.port).into(),
            meter: plan.meter.clone(),
        });
    }
    let recording = emulation.record(Collector(Traffic::all(scenario)))?;
    let elapsed = emulation.elapsed();
    let began = Instant::now().checked_sub(elapsed).unwrap_or_else(Instant::now);
    let work = || runtime().and_then(|runtime| runtime.block_on(play(scenario, sessions, began)));
    emulation.run_on(Host::Client, work).map_err(CompareError::io("entering the client's namespace"))??;
    let seconds = began.elapsed().as_secs_f64();
    let goodput_bps = plans.iter().map(|plan| goodput(plan, began, seconds)).sum();
    let stats = emulation.stats();
    let (Collector(directions), _) = recording.finish();
    Ok(Observation { seconds, goodput_bps, directions, lateness: stats.lateness })
}

/// Runs all sessions until those that are waited for are done, or the time is over.
async fn play(scenario: &Scenario, sessions: Vec<Session>, began: Instant) -> Result<(), CompareError> {
    let began = tokio::time::Instant::from_std(began);
    let until = began + scenario.duration.unwrap_or(LONGEST);
    let mut awaited = JoinSet::new();
    let mut others = JoinSet::new();
    for session in sessions {
        let tasks = if session.flow.awaited { &mut awaited } else { &mut others };
        tasks.spawn(client::run(session, began, until));
    }
    let tasks = if awaited.is_empty() { &mut others } else { &mut awaited };
    while let Some(ended) = tasks.join_next().await {
        ended.map_err(|error| CompareError::io("running a client")(error.into()))??;
    }
    Ok(())
}

/// Bit/s from the beginning of the flow to its end, or to that of the run.
fn goodput(plan: &Plan, began: Instant, seconds: f64) -> f64 {
    let start = plan.flow.start as f64 / 1e9;
    let end = match plan.meter.finished() {
        Some(finished) => finished.duration_since(began).as_secs_f64(),
        None => plan.flow.stop.map_or(seconds, |stop| seconds.min(stop as f64 / 1e9)),
    };
    plan.meter.bytes() as f64 * 8.0 / (end - start).max(1e-9)
}

fn runtime() -> Result<Runtime, CompareError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(CompareError::io("starting a runtime"))
}
