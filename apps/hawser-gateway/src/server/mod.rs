//! The gateway.

mod client;
mod connect;
mod connection;
mod directory;
mod ip;
mod listen;
mod request;
mod resolve;
mod udp;
mod usage;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use hawser_net::{Connection, Endpoint};
use tokio::sync::watch;

use crate::egress::EgressRules;
use crate::grants::Grants;
use crate::traffic::Traffic;
use crate::users::{UserFile, UsersError};

pub use directory::SeenUser;

use directory::Directory;
pub use ip::{Device, IpCounters, IpNetwork};
#[cfg(feature = "fuzzing")]
pub(crate) use request::{key_of, tunnel_of};
use resolve::Resolver;

/// RFC 9114 section 8.1.
const H3_NO_ERROR: u64 = 0x100;

/// How a gateway behaves.
#[derive(Debug)]
pub struct GatewayConfig {
    /// Who may use it.
    pub users: UserFile,
    /// What it connects to.
    pub egress: EgressRules,
    /// Tunnels that one user may have open.
    pub tunnels_per_user: usize,
    /// How long a host may take to answer a TCP connection.
    pub connect_timeout: Duration,
    /// Silence in both directions after which a TCP connection ends.
    pub tcp_idle: Duration,
    /// The same of UDP.
    pub udp_idle: Duration,
    /// Where IP packets of clients go; `None`: nowhere.
    pub ip: Option<IpNetwork>,
    /// Resolvers that clients of IP tunnels are told of.
    pub dns: Vec<IpAddr>,
}

/// What a gateway says to the person who runs it.
pub type Say = Arc<dyn Fn(&str) + Send + Sync>;

/// A gateway. Cheap to clone.
#[derive(Clone)]
pub struct Gateway(Arc<Inner>);

struct Inner {
    config: GatewayConfig,
    directory: Directory,
    traffic: Traffic,
    resolver: Resolver,
    /// Connections that came to ports of users and wait to be fetched.
    arrivals: listen::Arrivals,
    say: Say,
    /// Whether it stops: running tunnels go on, new ones are refused.
    draining: watch::Sender<bool>,
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gateway").field("config", &self.0.config).finish_non_exhaustive()
    }
}

impl Gateway {
    /// Reads the users, and again whenever their file changes. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// When the file of users cannot be read or says something else.
    pub fn start(config: GatewayConfig, say: Say) -> Result<Self, UsersError> {
        let traffic = Traffic::default();
        let directory = Directory::open(config.users.clone(), config.tunnels_per_user, &traffic)?;
        let draining = watch::Sender::new(false);
        let (resolver, arrivals) = (Resolver::new(), listen::Arrivals::default());
        let gateway =
            Gateway(Arc::new(Inner { config, directory, traffic, resolver, arrivals, say, draining }));
        let weak = Arc::downgrade(&gateway.0);
        tokio::spawn(async move {
            let mut ticks = tokio::time::interval(directory::LOOK_INTERVAL);
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            for tick in 0_u64.. {
                ticks.tick().await;
                let Some(inner) = weak.upgrade() else { return };
                inner.reload();
                if tick % directory::LOOKS_PER_SAVE == 0 {
                    inner.save_usage();
                }
            }
        });
        Ok(gateway)
    }

    /// How many users there are.
    pub fn users(&self) -> usize {
        self.0.directory.len()
    }

    /// The users by name, and what they have open.
    pub fn seen_users(&self) -> Vec<SeenUser> {
        self.0.directory.seen()
    }

    /// What all users carry and carried, by kind.
    pub fn traffic(&self) -> &Traffic {
        &self.0.traffic
    }

    /// What a user may; `None` if there is nobody of that name.
    pub fn grants(&self, user: &str) -> Option<Grants> {
        self.0.directory.grants(user)
    }

    /// Serves one connection of a client, whose handshake is over, until it ends.
    pub async fn serve(&self, connection: Connection) {
        connection::serve(&self.0, connection).await;
    }

    /// Stops: new tunnels are refused, and those that run may go on for so long.
    pub async fn drain(&self, endpoint: &Endpoint, grace: Duration) {
        self.0.draining.send_replace(true);
        self.0.save_usage();
        if tokio::time::timeout(grace, endpoint.wait_idle()).await.is_err() {
            endpoint.close(H3_NO_ERROR, b"the gateway stops");
            let _ = tokio::time::timeout(Duration::from_millis(500), endpoint.wait_idle()).await;
        }
    }
}

impl Inner {
    fn save_usage(&self) {
        if let Err(error) = self.directory.save_usage(SystemTime::now()) {
            tracing::warn!(%error, "what users have used of their volumes is not written down");
        }
    }

    fn reload(&self) {
        match self.directory.reload() {
            Ok(None) => {}
            Ok(Some(change)) => (self.say)(&format!("users: {change}")),
            Err(error) => (self.say)(&format!("users stay as they were: {error}")),
        }
    }
}
