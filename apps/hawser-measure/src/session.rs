//! One session: flows of one configuration over one address, until that is gone.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use hawser_emu::Direction;
use hawser_lab::data::measure::{Ending, Flow, Measured, Record, Samples, Session};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use super::context::Context;
use super::follower::Follower;
use super::meter::{Meter, Received};
use super::protocol::{Answer, FlowRequest, Lines, Request, broken, line};
use super::radio::RadioLog;
use super::traffic;
use hawser::policy::LinkInfo;
use hawser::{ClientConfig, Connection, Endpoint, LinkSelector, Links, PathSpec};
use hawser_command::exit::{Exit, Failure};
use hawser_command::interrupt::Interrupt;
use hawser_command::paths::milliseconds;

/// How often the record is brought to the disk meanwhile.
const DRAFT_INTERVAL: Duration = Duration::from_secs(1);
/// How often it is asked whether all has arrived.
const DRAIN_POLL: Duration = Duration::from_millis(2);
/// How long the goodbye to a server that can be reached may take.
const GOODBYE: Duration = Duration::from_millis(200);

/// What a session is to be.
pub(super) struct Plan {
    pub(super) link: LinkInfo,
    pub(super) address: IpAddr,
    pub(super) association: u64,
    pub(super) attempt: u32,
    pub(super) present_at_start: bool,
    /// When its record begins.
    pub(super) began: Instant,
    /// How long it waits before it does anything.
    pub(super) pause: Duration,
}

/// A session that runs.
pub(super) struct Running<'a> {
    context: &'a Context,
    plan: &'a Plan,
    record: Session,
    flows: Vec<FlowState>,
    endpoint: Option<Endpoint>,
    radio: RadioLog,
}

/// One flow: what its task tells, and what is seen of it.
struct FlowState {
    began: Instant,
    connected: Arc<OnceLock<(Connected, Instant)>>,
    meter: Option<Meter>,
}

/// Of what a meter is made once there is a connection.
struct Connected {
    connection: Connection,
    preface: usize,
    received: Received,
}

impl<'a> Running<'a> {
    pub(super) fn new(context: &'a Context, plan: &'a Plan) -> Self {
        let id = context.keeper.next_id();
        let configuration = context.pool.draw(context.seed, id.number());
        let wall = SystemTime::now().checked_sub(plan.began.elapsed()).unwrap_or(SystemTime::UNIX_EPOCH);
        let record = Session {
            id,
            run: context.keeper.run(),
            interface: plan.link.name.clone(),
            address: plan.address.to_string(),
            association: plan.association,
            attempt: plan.attempt,
            present_at_start: plan.present_at_start,
            unix: wall.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64(),
            run_ms: milliseconds(plan.began.saturating_duration_since(context.began)),
            configuration,
            server: String::new(),
            first_packet_ms: None,
            last_packet_ms: None,
            address_down_ms: None,
            stopped_ms: 0.0,
            ok: false,
            end: Ending::Interrupted,
            error: None,
            flows: Vec::new(),
            radio: None,
            position: None,
            dropped: 0,
        };
        Running { context, plan, record, flows: Vec::new(), endpoint: None, radio: RadioLog::default() }
    }

    /// Measures, and keeps the record. Returns how it ended.
    pub(super) async fn run(mut self, follower: &mut Follower, interrupt: &mut Interrupt) -> (Ending, bool) {
        let track = self.context.gps.as_ref().map(|gps| gps.begin());
        let mut tasks = JoinSet::new();
        let end = self.measure(&mut tasks, follower, interrupt).await;
        tasks.abort_all();
        if end != Ending::AddressGone {
            self.drain().await;
        }
        self.record.stopped_ms = self.now();
        self.record.end = end;
        self.take_stock();
        if let Some(endpoint) = self.endpoint.take() {
            endpoint.close(0, b"");
            if end != Ending::AddressGone {
                let _ = tokio::time::timeout(GOODBYE, endpoint.wait_idle()).await;
            }
        }
        self.record.position = track.and_then(|track| self.context.gps.as_ref()?.end(track));
        let ok = self.record.ok;
        self.context.tell(&self.record);
        self.context.keeper.finish_draft(&self.slot(), Record::Session(self.record));
        (end, ok)
    }

    /// What was written arrives as long as the link is there: it counts at both ends, or at neither.
    async fn drain(&mut self) {
        let is_under_way = |flow: &FlowState| flow.meter.as_ref().is_some_and(Meter::is_under_way);
        let until = Instant::now() + GOODBYE;
        while Instant::now() < until && self.flows.iter().any(is_under_way) {
            tokio::time::sleep(DRAIN_POLL).await;
        }
    }

    fn slot(&self) -> String {
        // Names of interfaces have no slash, and no dot at their beginning makes a name special here.
        format!("session-{}", self.plan.link.name)
    }

    fn now(&self) -> f64 {
        self.since(Instant::now())
    }

    fn since(&self, moment: Instant) -> f64 {
        milliseconds(moment.saturating_duration_since(self.plan.began))
    }

    async fn measure(
        &mut self,
        tasks: &mut JoinSet<Result<(), Failure>>,
        follower: &mut Follower,
        interrupt: &mut Interrupt,
    ) -> Ending {
        let over = tokio::time::sleep(self.context.session.unwrap_or(Duration::MAX));
        tokio::pin!(over);
        let mut ticks = tokio::time::interval(Duration::from_millis(u64::from(Samples::TICK_MS)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        // At once: however short it is, a session that is killed has left a record.
        let mut drafted = None::<Instant>;
        let mut begins = true;
        loop {
            tokio::select! {
                biased;
                gone = follower.until_gone(self.plan.address) => {
                    self.record.address_down_ms = Some(self.since(gone));
                    return Ending::AddressGone;
                }
                () = interrupt.raised() => return Ending::Stopped,
                () = tokio::time::sleep_until((self.plan.began + self.plan.pause).into()), if begins => {
                    begins = false;
                    if let Err(failure) = self.begin(tasks).await {
                        return self.failed(failure);
                    }
                }
                ended = tasks.join_next(), if !begins => match ended {
                    Some(Ok(Err(failure))) => {
                        let end = self.failed(failure);
                        if end == Ending::Refused {
                            return end;
                        }
                    }
                    // A server that ends a flow of its own accord.
                    Some(_) => {}
                    None => return if self.record.error.is_some() { Ending::ServerLost } else { Ending::TimeOver },
                },
                () = &mut over => return Ending::TimeOver,
                _ = ticks.tick() => {
                    self.tick();
                    if drafted.is_none_or(|last| last.elapsed() >= DRAFT_INTERVAL) {
                        drafted = Some(Instant::now());
                        self.record.stopped_ms = self.now();
                        self.take_stock();
                        self.context.keeper.draft(&self.slot(), || Record::Session(self.record.clone()));
                    }
                }
            }
        }
    }

    /// Keeps the first failure.
    fn failed(&mut self, failure: Failure) -> Ending {
        let end = if failure.exit == Exit::Forbidden { Ending::Refused } else { Ending::ServerLost };
        tracing::info!(interface = self.plan.link.name, %failure, "a flow has ended");
        self.record.error.get_or_insert(failure.message);
        end
    }

    /// Starts the flows.
    async fn begin(&mut self, tasks: &mut JoinSet<Result<(), Failure>>) -> Result<(), Failure> {
        let server = &self.context.server;
        let remote = server.remote_for(self.plan.address).await?;
        self.record.server = remote.to_string();
        let link = PathSpec::available(LinkSelector::Address(self.plan.address));
        let endpoint =
            Endpoint::builder().links(Links::Only(vec![link])).policies(self.context.registry.clone());
        let config = self.context.config_of(&self.record.configuration)?;
        let endpoint = endpoint.client(config.clone()).bind()?;
        self.context.hub.attach(&endpoint);
        self.endpoint = Some(endpoint.clone());
        for index in 0..self.record.configuration.flows {
            let connected = Arc::new(OnceLock::new());
            self.flows.push(FlowState { began: Instant::now(), connected: connected.clone(), meter: None });
            let request = FlowRequest {
                session: self.record.id.clone(),
                index,
                configuration: self.record.configuration.clone(),
            };
            let (endpoint, config, name) = (endpoint.clone(), config.clone(), server.host.clone());
            tasks
                .spawn(async move { run_flow(&endpoint, &config, remote, &name, request, &connected).await });
        }
        Ok(())
    }

    fn tick(&mut self) {
        for flow in &mut self.flows {
            flow.tick(self.record.configuration.direction);
        }
        if let Some(state) = self.context.radio.as_ref().and_then(|radio| radio.observe(&self.plan.link)) {
            self.radio.add(&state);
        }
    }

    /// Writes into the record what is known now.
    fn take_stock(&mut self) {
        let stats = self.endpoint.as_ref().map(Endpoint::worker_stats).unwrap_or_default();
        if let Some(worker) = stats.first() {
            self.record.first_packet_ms = worker.first_sent.map(|moment| self.since(moment));
            self.record.last_packet_ms = worker.last_sent.map(|moment| self.since(moment));
        }
        let flows = self.flows.iter_mut().zip(0..).map(|(flow, index)| {
            flow.tick_first(self.record.configuration.direction);
            let connected = flow.connected.get().map(|(_, moment)| *moment);
            Flow {
                index,
                began_ms: milliseconds(flow.began.saturating_duration_since(self.plan.began)),
                connected_ms: connected
                    .map(|moment| milliseconds(moment.saturating_duration_since(self.plan.began))),
                measured: flow.meter.as_ref().map_or_else(Measured::default, Meter::measured),
            }
        });
        self.record.flows = flows.collect();
        self.record.ok = self.record.flows.iter().any(|flow| flow.connected_ms.is_some());
        self.record.radio = self.radio.radio();
        self.record.dropped = self.context.keeper.dropped();
    }
}

impl FlowState {
    fn tick(&mut self, direction: Direction) {
        self.tick_first(direction);
        if let Some(meter) = &mut self.meter {
            meter.tick();
        }
    }

    /// A flow that has connected has a meter from now on.
    fn tick_first(&mut self, direction: Direction) {
        if self.meter.is_none() {
            self.meter = self.connected.get().map(|(of, _)| match direction {
                Direction::Up => Meter::of_sender(of.connection.clone(), of.preface),
                Direction::Down => Meter::of_receiver(of.connection.clone(), of.received.clone()),
            });
        }
    }
}

async fn run_flow(
    endpoint: &Endpoint,
    config: &ClientConfig,
    remote: SocketAddr,
    name: &str,
    request: FlowRequest,
    connected: &OnceLock<(Connected, Instant)>,
) -> Result<(), Failure> {
    let connection = endpoint.connect_with(config, &[remote], name).await?;
    let direction = request.configuration.direction;
    let preface = line(&Request::Flow(request));
    let received: Received = Arc::new(AtomicU64::new(0));
    let of = Connected { connection: connection.clone(), preface: preface.len(), received: received.clone() };
    let _ = connected.set((of, Instant::now()));
    let (mut send, receive) = connection.open_bi().await.map_err(|error| broken(&error))?;
    send.write_all(preface.as_bytes()).await.map_err(|error| broken(&error))?;
    let mut lines = Lines::new(receive);
    let agreed = async {
        match lines.message().await? {
            Some(Answer::Ready) => Ok(()),
            Some(Answer::Refused(reason)) => {
                let reason = hawser::Printable::new(&reason).to_string();
                Err(Failure::new(Exit::Forbidden, format!("the server refuses: {reason}")))
            }
            None => Err(Failure::new(Exit::ConnectionLost, "the server ended the flow")),
        }
    };
    match direction {
        // Data follows the request at once; a server that refuses says why before the connection ends.
        Direction::Up => {
            let filled = async {
                let error = traffic::fill(&mut send).await;
                tokio::time::sleep(GOODBYE).await;
                error
            };
            tokio::try_join!(agreed, filled).map(|_| ())
        }
        Direction::Down => {
            agreed.await?;
            let (first, mut receive) = lines.into_rest();
            received.fetch_add(first.len() as u64, std::sync::atomic::Ordering::Relaxed);
            traffic::drain(&mut receive, &received).await
        }
    }
}
