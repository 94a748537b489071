//! The network behind a gateway, for those who send packets.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use hawser_gateway::pools::{PoolError, Pools};
use hawser_tunnel::host::state::StateError;
use hawser_tunnel::server::{Network, NetworkConfig, NetworkError};
use ipnet::IpNet;

use hawser_command::exit::{Exit, Failure};
use hawser_command::options::prefix;
use hawser_command::output::Output;
use hawser_command::server::state_folder;

/// The pools where none is named: of ranges that are private, and hardly used.
pub(super) const DEFAULT_POOLS: [&str; 2] = ["10.118.0.0/16", "fd68:6177:7365:7200::/64"];
/// Who has which address, next to the users.
const ADDRESS_FILE: &str = "gateway-addresses.toml";
/// File below `--run` that says what has to be undone.
const STATE_FILE: &str = "gateway.json";

/// Whether and how packets of clients are carried.
#[derive(Args, Debug)]
#[command(next_help_heading = "Packets of `hawser tunnel` (root or CAP_NET_ADMIN)")]
pub(super) struct NetworkOptions {
    /// Carry IP packets, and hide clients behind the gateway's own addresses: a TUN device, forwarding, and
    /// masquerading by nftables, all undone at the end
    ///
    /// The command `nft` is not needed
    #[arg(long)]
    nat: bool,
    /// Carry IP packets of clients with their own addresses: the network behind the gateway has routes to the pools
    #[arg(long, conflicts_with = "nat")]
    routed: bool,
    /// Addresses for clients, one prefix of IPv4 and one of IPv6 at most
    ///
    /// A user's machines keep theirs [default: 10.118.0.0/16, fd68:6177:7365:7200::/64]
    #[arg(long, value_name = "PREFIX", value_parser = prefix)]
    pool: Vec<IpNet>,
    /// Resolvers for clients; repeat for more
    #[arg(long, value_name = "ADDRESS")]
    dns: Vec<IpAddr>,
    /// Name of the TUN device
    #[arg(long, value_name = "NAME", default_value = "hawser-gw0")]
    device: String,
    /// Folder of the file that says what has to be undone
    #[arg(long, value_name = "DIR", default_value = "/run/hawser")]
    run: PathBuf,
}

impl NetworkOptions {
    /// Whether packets are carried.
    pub(super) fn is_wanted(&self) -> bool {
        self.nat || self.routed
    }

    /// Resolvers for clients.
    pub(super) fn dns(&self) -> &[IpAddr] {
        &self.dns
    }

    /// Makes the network, if it is wanted; `state` is the folder of users and addresses.
    ///
    /// # Errors
    /// Why it is missing.
    pub(super) async fn start(
        &self,
        state: Option<&Path>,
        output: Output,
    ) -> Result<Option<Network>, Failure> {
        if !self.is_wanted() {
            let needless = [("--pool", !self.pool.is_empty()), ("--dns", !self.dns.is_empty())];
            return match needless.iter().find(|(_, is_there)| *is_there) {
                Some((option, _)) => Err(Failure::usage(format!(
                    "{option} is for packets of `hawser tunnel`: add --nat, or --routed if the network behind the gateway has routes to \
                     its clients"
                ))),
                None => Ok(None),
            };
        }
        let folder = match state {
            Some(folder) => folder.to_owned(),
            None => state_folder()?,
        };
        let pools =
            Pools::open(self.pools(), &folder.join(ADDRESS_FILE)).map_err(|error| pool_failure(&error))?;
        let prefixes: Vec<String> = pools.prefixes().iter().map(ToString::to_string).collect();
        let config = NetworkConfig {
            device: self.device.clone(),
            masquerade: self.nat,
            state: self.run.join(STATE_FILE),
        };
        let network = Network::start(&config, pools).await.map_err(|error| failure(&error))?;
        for what in &network.undone {
            output.remark(format_args!("left behind by a gateway before: {what}"));
        }
        let how = if self.nat { "hidden behind this machine's addresses" } else { "routed" };
        output.remark(format_args!("packets of clients from {}, {how}", prefixes.join(" and ")));
        Ok(Some(network))
    }

    fn pools(&self) -> Vec<IpNet> {
        if !self.pool.is_empty() {
            return self.pool.clone();
        }
        let has_v6 = Path::new("/proc/sys/net/ipv6").exists();
        let pools = DEFAULT_POOLS.iter().filter_map(|pool| pool.parse::<IpNet>().ok());
        pools.filter(|pool| has_v6 || pool.addr().is_ipv4()).collect()
    }
}

fn pool_failure(error: &PoolError) -> Failure {
    let exit = match error {
        PoolError::Small(_) | PoolError::Two(..) | PoolError::None => Exit::Usage,
        PoolError::File { .. } | PoolError::Malformed { .. } => Exit::NotRead,
        PoolError::Full(_) | PoolError::Machines => Exit::Failure,
    };
    Failure::new(exit, error.to_string())
}

fn failure(error: &NetworkError) -> Failure {
    let exit = match error {
        NetworkError::State(StateError::File { .. }) => Exit::NotWritten,
        _ => Exit::Failure,
    };
    Failure::new(exit, error.to_string())
}
