//! What all sessions of a run share.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hawser_lab::data::measure::{Configuration, Pool, Record, Session};
use hawser_status::Hub;

use super::gps::Gps;
use super::keeper::Keeper;
use super::protocol::PROFILE;
use super::radio::RadioSource;
use hawser::{ClientConfig, Composition, PolicySpec, Registry, Trust};
use hawser_command::exit::{Exit, Failure};
use hawser_command::output::Output;
use hawser_command::report::{Channel, to_json};
use hawser_command::session::resolve;
use hawser_command::units;

/// How long a flow is silent before it asks whether the server is there.
const KEEP_ALIVE: Duration = Duration::from_secs(1);

/// The server's name, and what it stands for.
pub(super) struct ServerName {
    pub(super) host: String,
    pub(super) port: u16,
    /// Name look-ups may take this long.
    pub(super) patience: Duration,
    pub(super) addresses: Mutex<Vec<SocketAddr>>,
}

impl ServerName {
    /// Its addresses as far as they are known.
    pub(super) fn known(&self) -> Vec<IpAddr> {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner).iter().map(SocketAddr::ip).collect()
    }

    pub(super) async fn resolve(&self) -> Result<(), Failure> {
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
    pub(super) trust: Trust,
    pub(super) connect_timeout: Duration,
    pub(super) timeout: Duration,
    pub(super) output: Output,
    pub(super) hub: Hub,
}

impl Context {
    /// How the flows of a session connect: one path each, with the controller that was drawn.
    pub(super) fn config_of(&self, configuration: &Configuration) -> Result<ClientConfig, Failure> {
        let spec: PolicySpec =
            configuration.controller.parse().map_err(|error| Failure::usage(format!("{error}")))?;
        let wanted = Composition::default().with(|composition| composition.congestion = Some(spec));
        let policies = self.registry.set(&wanted).map_err(|error| Failure::usage(error.to_string()))?;
        let transport = hawser::default_transport().with(|transport| {
            transport.policies = policies;
            transport.max_path_id = None;
            transport.max_idle_timeout = Some(self.timeout);
            transport.keep_alive_interval = Some(KEEP_ALIVE.min(self.timeout / 3));
        });
        let builder =
            ClientConfig::builder().trust(self.trust.clone()).alpn([PROFILE.alpn]).transport(transport);
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

    /// Follows the receiver of positions until it is dropped, and keeps tracks.
    pub(super) async fn locate(&self) {
        let Some(gps) = &self.gps else { return };
        gps.follow(|| self.put_track()).await;
    }

    pub(super) fn put_track(&self) {
        if let Some(track) =
            self.gps.as_ref().and_then(|gps| gps.take_track(self.keeper.run(), || self.keeper.next_id()))
        {
            self.keeper.put(Record::Track(track));
        }
    }
}
