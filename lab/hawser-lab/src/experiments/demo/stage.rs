//! Where the scenario is played: in network namespaces, or on loopback.

use std::ffi::OsStr;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::Command;
use std::sync::mpsc;
use std::thread;

use hawser_emu::{
    Direction, Emulation, EmulationStats, Host, LoopbackRelay, SERVER_ADDRESS, Scenario, check_host,
};

use super::DemoError;
use super::run_result::LinkSample;

/// Port of the server in its namespace.
const PORT: u16 = 4433;

/// Makes a connection.
pub(crate) type Connector = Box<dyn Fn() -> io::Result<TcpStream> + Send>;

/// The two hosts and their links.
#[derive(Debug)]
pub(crate) enum Stage {
    /// TUN devices and namespaces.
    Namespaces(Box<Emulation>),
    /// A relay; there is none before the server listens.
    Loopback {
        /// What is played.
        scenario: Box<Scenario>,
        /// The links.
        relay: Option<Box<LoopbackRelay>>,
    },
}

impl Stage {
    /// Namespaces if they can be had; and in words what it became, and why.
    pub(crate) fn build(scenario: &Scenario, loopback: bool) -> Result<(Self, String), DemoError> {
        let on_loopback = |why: String| {
            let text = format!("emulated on loopback through a relay in this process, UDP only ({why})");
            (Self::Loopback { scenario: Box::new(scenario.clone()), relay: None }, text)
        };
        if loopback {
            return Ok(on_loopback("as asked for with --loopback".to_owned()));
        }
        if let Err(error) = check_host() {
            return Ok(on_loopback(error.to_string()));
        }
        match Emulation::start(scenario) {
            Ok(emulation) => {
                let text = "emulated between two network namespaces, real sockets on either side".to_owned();
                Ok((Self::Namespaces(Box::new(emulation)), text))
            }
            // Root in a container may lack what root elsewhere has.
            Err(error) => Ok(on_loopback(error.to_string())),
        }
    }

    /// A command on a host.
    pub(crate) fn command(&self, host: Host, program: impl AsRef<OsStr>) -> Command {
        match self {
            Self::Namespaces(emulation) => emulation.command(host, program),
            Self::Loopback { .. } => Command::new(program),
        }
    }

    /// Where the server is to listen.
    pub(crate) fn listen(&self) -> SocketAddr {
        match self {
            Self::Namespaces(_) => (SERVER_ADDRESS, PORT).into(),
            Self::Loopback { .. } => (Ipv4Addr::LOCALHOST, 0).into(),
        }
    }

    /// Tells where the server does listen: from now on it can be reached.
    pub(crate) fn connect(&mut self, listening: SocketAddr) -> Result<(), DemoError> {
        if let Self::Loopback { scenario, relay } = self {
            *relay = Some(Box::new(LoopbackRelay::start(scenario, listening)?));
        }
        Ok(())
    }

    /// Where clients find the server.
    pub(crate) fn server(&self) -> SocketAddr {
        match self {
            Self::Namespaces(_) | Self::Loopback { relay: None, .. } => self.listen(),
            Self::Loopback { relay: Some(relay), .. } => relay.address(),
        }
    }

    /// How a client names a link for `--path`.
    pub(crate) fn path(&self, link: usize) -> String {
        match self {
            Self::Namespaces(emulation) => emulation.link_names()[link].to_owned(),
            Self::Loopback { relay: Some(relay), .. } => relay.client_address(link).to_string(),
            Self::Loopback { relay: None, .. } => String::new(),
        }
    }

    /// The client's address on a link, as traces have it.
    pub(crate) fn client_address(&self, link: usize) -> Option<String> {
        match self {
            Self::Namespaces(emulation) => {
                let name = *emulation.link_names().get(link)?;
                Some(emulation.addresses(name).ok()?.client().to_string())
            }
            Self::Loopback { relay: Some(relay), .. } => Some(relay.client_address(link).to_string()),
            Self::Loopback { relay: None, .. } => None,
        }
    }

    /// Makes TCP connections to an address of the server's host, as from there.
    pub(crate) fn connector(&self, address: SocketAddr) -> Result<Connector, DemoError> {
        type Asked = mpsc::Sender<io::Result<TcpStream>>;
        let (ask, asked) = mpsc::channel::<Asked>();
        // A thread is in the namespace of the thread that starts it.
        let start = move || {
            thread::spawn(move || {
                for answer in asked {
                    let _ = answer.send(TcpStream::connect(address));
                }
            });
        };
        match self {
            Self::Namespaces(emulation) => emulation
                .run_on(Host::Server, start)
                .map_err(DemoError::io("entering the server's namespace"))?,
            Self::Loopback { .. } => start(),
        }
        let gone = || io::Error::from(io::ErrorKind::NotConnected);
        Ok(Box::new(move || {
            let (answer, answered) = mpsc::channel();
            ask.send(answer).map_err(|_| gone())?;
            answered.recv().map_err(|_| gone())?
        }))
    }

    /// Whether TCP, and so MPTCP, can pass.
    pub(crate) fn carries_tcp(&self) -> bool {
        matches!(self, Self::Namespaces(_))
    }

    /// Starts the schedules of the links anew.
    pub(crate) fn restart(&self) {
        match self {
            Self::Namespaces(emulation) => emulation.restart(),
            Self::Loopback { relay: Some(relay), .. } => relay.restart(),
            Self::Loopback { relay: None, .. } => {}
        }
    }

    /// Counters since the last start of the schedules.
    pub(crate) fn stats(&self) -> EmulationStats {
        match self {
            Self::Namespaces(emulation) => emulation.stats(),
            Self::Loopback { relay: Some(relay), .. } => relay.stats(),
            Self::Loopback { relay: None, .. } => EmulationStats {
                elapsed_seconds: 0.0,
                lateness: Default::default(),
                links: Vec::new(),
                background: Vec::new(),
            },
        }
    }

    /// What has reached the client so far.
    pub(crate) fn sample(&self) -> LinkSample {
        let stats = self.stats();
        let down = stats.links.iter().filter(|link| link.direction == Direction::Down);
        let delivered = down.map(|link| link.counters.delivered_bytes).collect();
        LinkSample { seconds: stats.elapsed_seconds, delivered }
    }
}
