//! What `hawser proxy`, `hawser forward` and `hawser tunnel` have in common: the gateway, the key, the connection.

use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::Args;
use hawser_gateway::client::{ClientConfig, Dialed, Dialer, GatewayClient, Hello, OpenError, Say};
use hawser_gateway::traffic::Traffic;
use hawser_gateway::users::Key;
use hawser_status::Hub;
use hawser_status::model::FlowClass;

use hawser::{Endpoint, Registry};
use hawser_command::address::Address;
use hawser_command::environment::variable;
use hawser_command::exit::{Exit, Failure};
use hawser_command::interrupt::Interrupt;
use hawser_command::options::{ClientOptions, ClientSetup, seconds};
use hawser_command::output::Output;
use hawser_command::profile::Profile;
use hawser_command::session::{KnownAddresses, Session};

/// UDP port of gateways.
pub(crate) const DEFAULT_PORT: u16 = 4435;
/// The variable with the key, where no file is named.
const KEY_VARIABLE: &str = "HAWSER_KEY";
/// How long the goodbye may take before the command ends anyway.
const GOODBYE: Duration = Duration::from_millis(500);
/// How long a gateway may take to answer a request for a tunnel: its own patience with the target is shorter.
const OPEN_TIMEOUT: Duration = Duration::from_secs(30);

/// Tunnels through a gateway, which opens no streams for requests.
pub(crate) const PROFILE: Profile<'static> = Profile {
    alpn: hawser::h3::ALPN,
    controller: Some(hawser_gateway::profile::CONTROLLER),
    tune: &|transport| hawser_gateway::profile::apply(transport, 0),
};

/// Which gateway, and how to reach it.
#[derive(Args, Clone, Debug)]
pub(crate) struct GatewayOptions {
    /// The gateway: HOST or HOST:PORT
    #[arg(value_name = "HOST[:PORT]", value_parser = Address::parser(DEFAULT_PORT), required = true)]
    gateway: Option<Address>,
    /// File with the key that `hawser gateway user add` printed. Default: the variable HAWSER_KEY
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Seconds that a new connection waits while the gateway is not connected
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    wait: Duration,
    /// How to reach the gateway
    #[command(flatten)]
    client: ClientOptions,
}

/// A client of a gateway, and the endpoint that it stands on now.
pub(crate) struct Gateway {
    pub(crate) client: GatewayClient,
    pub(crate) hello: Hello,
    pub(crate) address: Address,
    endpoint: Arc<Mutex<Option<Endpoint>>>,
    known: Arc<KnownAddresses>,
}

impl GatewayOptions {
    /// Whether a gateway is named.
    pub(crate) fn is_named(&self) -> bool {
        self.gateway.is_some()
    }

    /// Connects, and asks the gateway whether it knows the key. The hub shows the connection.
    ///
    /// # Errors
    /// Why not.
    pub(crate) async fn connect(
        self,
        registry: &Arc<Registry>,
        output: Output,
        interrupt: &Interrupt,
        hub: &Hub,
    ) -> Result<Gateway, Failure> {
        let Some(address) = self.gateway else { return Err(Failure::usage("which gateway? HOST[:PORT]")) };
        let key = read_key(self.key_file.as_deref())?;
        let setup = Arc::new(self.client.setup(registry, &PROFILE, output)?.shown_by(hub));
        let endpoint: Arc<Mutex<Option<Endpoint>>> = Arc::default();
        let known = Arc::new(KnownAddresses::default());
        let dial = {
            let place = Place { address: address.clone(), known: known.clone(), endpoint: endpoint.clone() };
            let interrupt = interrupt.clone();
            move || dial(setup.clone(), place.clone(), interrupt.clone(), output)
        };
        let config = ClientConfig {
            authority: address.to_string(),
            key,
            patience: self.wait,
            open_timeout: OPEN_TIMEOUT,
        };
        let first = dial().await?;
        let dialer: Dialer = Box::new(move || {
            let dialing = dial();
            Box::pin(async move {
                dialing.await.map_err(|failure| Box::new(failure) as Box<dyn Error + Send + Sync>)
            })
        });
        let (client, hello) =
            GatewayClient::start(config, first, dialer, say(output)).await.map_err(failure)?;
        show_traffic(hub, client.traffic());
        Ok(Gateway { client, hello, address, endpoint, known })
    }
}

impl Gateway {
    /// The addresses that it was reached at.
    pub(crate) fn addresses(&self) -> Vec<IpAddr> {
        self.known.addresses().iter().map(SocketAddr::ip).collect()
    }

    /// Says goodbye.
    pub(crate) async fn close(self) {
        let endpoint = self.endpoint.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.client.close();
        if let Some(endpoint) = endpoint {
            let _ = tokio::time::timeout(GOODBYE, endpoint.wait_idle()).await;
        }
    }
}

/// Shows in the status what tunnels carry, by class.
pub(crate) fn show_traffic(hub: &Hub, traffic: &Traffic) {
    let traffic = traffic.clone();
    hub.add(Arc::new(move |status| {
        status.classes.extend(traffic.seen().into_iter().map(|seen| FlowClass {
            name: seen.kind.name().to_owned(),
            flows: seen.flows,
            bytes_sent: seen.bytes_sent,
            bytes_received: seen.bytes_received,
            queued: seen.waiting,
            dropped: seen.dropped,
        }));
    }));
}

/// What is said while it runs goes where remarks go.
pub(crate) fn say(output: Output) -> Say {
    Arc::new(move |text: &str| output.remark(text))
}

/// Where the gateway is, and what was found there.
#[derive(Clone)]
struct Place {
    address: Address,
    known: Arc<KnownAddresses>,
    endpoint: Arc<Mutex<Option<Endpoint>>>,
}

async fn dial(
    setup: Arc<ClientSetup>,
    place: Place,
    mut interrupt: Interrupt,
    output: Output,
) -> Result<Dialed, Failure> {
    let Address { host, port, .. } = &place.address;
    let mut session = Session::connect_again(host, *port, &setup, &place.known, &mut interrupt).await?;
    session.watch_silence(&setup, output);
    session.request_scheduler(&setup, output);
    *place.endpoint.lock().unwrap_or_else(PoisonError::into_inner) = Some(session.endpoint.clone());
    Ok(Dialed { connection: session.connection.clone(), keep: Box::new(session) })
}

/// The key: of the file, or of the environment.
fn read_key(file: Option<&Path>) -> Result<Key, Failure> {
    let (text, place) = match file {
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|error| Failure::read(path, &error))?;
            (text, path.display().to_string())
        }
        None => match variable(KEY_VARIABLE)? {
            Some(text) => (text, KEY_VARIABLE.to_owned()),
            None => {
                return Err(Failure::usage(format!(
                    "no key: name a file with --key-file, or set {KEY_VARIABLE}. On the gateway, `hawser gateway user add NAME` makes one"
                )));
            }
        },
    };
    text.parse().map_err(|error| Failure::new(Exit::NotRead, format!("{place}: {error}")))
}

/// What it means for the command.
pub(crate) fn failure(error: OpenError) -> Failure {
    let exit = match &error {
        OpenError::UnknownKey => Exit::Forbidden,
        OpenError::GatewayDown(_) => Exit::ConnectionLost,
        OpenError::NoAnswer(_) => Exit::NoAnswer,
        OpenError::Refused(_) | OpenError::NoUdp | OpenError::NoAddress(_) | OpenError::Protocol(_) => {
            Exit::Failure
        }
    };
    Failure::new(exit, error.to_string())
}
