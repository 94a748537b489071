//! The TUN device behind a gateway.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use hawser_gateway::pools::Pools;
use hawser_gateway::server::{Device, IpNetwork};
use tokio::task::JoinHandle;

use crate::device::{self, DeviceError, MAX_FRAME, Tun};
use crate::host::forwarding;
use crate::host::netlink::{Netlink, NetlinkError};
use crate::host::nft;
use crate::host::state::{State, StateError};
use crate::host::sysctl::Sysctl;

/// MTU of the device: what a datagram has room for on links of 1,500 bytes. Senders of larger packets hear of it from the kernel.
const MTU: u16 = 1_400;

/// How packets of clients reach the network behind the gateway.
#[derive(Debug)]
pub struct NetworkConfig {
    /// Name of the TUN device.
    pub device: String,
    /// Whether they leave with the gateway's own addresses (NAT); else the network has routes to the pools.
    pub masquerade: bool,
    /// File that says what has to be undone.
    pub state: PathBuf,
}

/// Why there is no network.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// No device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The kernel refused a change.
    #[error(transparent)]
    Netlink(#[from] NetlinkError),
    /// The state file.
    #[error(transparent)]
    State(#[from] StateError),
    /// Address translation.
    #[error(
        "cannot set address translation up: {0}; it needs root or CAP_NET_ADMIN and a kernel with nftables and its masquerade \
         (CONFIG_NFT_MASQ). With `--routed` the network behind the gateway has to know routes to the pools instead"
    )]
    Nat(io::Error),
    /// Forwarding.
    #[error("cannot have this machine forward packets: {0}")]
    Forwarding(io::Error),
}

/// The network behind a gateway. [`stop`](Network::stop) undoes what it changed.
pub struct Network {
    /// What the gateway hands packets to.
    pub ip: IpNetwork,
    /// What was left behind by one before, and undone.
    pub undone: Vec<String>,
    state: State,
    netlink: Netlink,
    task: JoinHandle<()>,
    _nat: Option<nft::Table>,
}

struct Tap(Arc<Tun>);

impl Device for Tap {
    fn send(&self, packet: &[u8]) {
        self.0.send_packet(packet);
    }
}

impl Network {
    /// Makes the device with the first address of each pool, and has the kernel forward.
    ///
    /// # Errors
    /// [`NetworkError`]; the machine is then as it was.
    pub async fn start(config: &NetworkConfig, pools: Pools) -> Result<Self, NetworkError> {
        let netlink = Netlink::new()?;
        let (mut state, undone) = State::begin(&config.state, &netlink).await?;
        match Network::set_up(config, &pools, &netlink, &mut state).await {
            Ok((device, nat)) => {
                let ip = IpNetwork::new(Box::new(Tap(device.clone())), pools);
                let task = tokio::spawn(downwards(device, ip.clone()));
                Ok(Network { ip, undone, state, netlink, task, _nat: nat })
            }
            Err(error) => {
                if let Err(error) = state.undo(&netlink).await {
                    tracing::error!(%error, "what was changed is not undone");
                }
                Err(error)
            }
        }
    }

    async fn set_up(
        config: &NetworkConfig,
        pools: &Pools,
        netlink: &Netlink,
        state: &mut State,
    ) -> Result<(Arc<Tun>, Option<nft::Table>), NetworkError> {
        let device = Arc::new(Tun::create(&config.device)?);
        let index = netlink.find(&config.device).await?;
        netlink.turn_on(index, MTU).await?;
        for address in pools.own_addresses() {
            if address.addr().is_ipv6() {
                let name = format!("ipv6/conf/{}/disable_ipv6", config.device);
                let _ = Sysctl { name, value: "0".to_owned() }.write();
            }
            netlink.add_address(index, address).await?;
        }
        let nat = if config.masquerade {
            Some(nft::masquerade(&config.device, pools.prefixes()).map_err(NetworkError::Nat)?)
        } else {
            None
        };
        for pool in pools.prefixes() {
            let wanted = forwarding::changes(pool.addr().is_ipv4()).map_err(NetworkError::Forwarding)?;
            let before = wanted.iter().map(|(before, _)| before.clone()).collect();
            state.note_sysctls(before)?;
            for (_, after) in &wanted {
                after.write().map_err(NetworkError::Forwarding)?;
            }
        }
        Ok((device, nat))
    }

    /// Ends it, and undoes what it changed. Returns in words what that was.
    ///
    /// # Errors
    /// When something cannot be undone; the next start tries again.
    pub async fn stop(self) -> Result<Vec<String>, StateError> {
        self.task.abort();
        self.state.undo(&self.netlink).await
    }
}

/// Packets from the network to clients. What a host sent at once comes in one frame.
async fn downwards(device: Arc<Tun>, ip: IpNetwork) {
    let mut buffer = vec![0; MAX_FRAME];
    loop {
        match device.receive(&mut buffer).await {
            Ok(length) => {
                let frame = buffer.get_mut(..length).unwrap_or_default();
                device::complete(frame, |packet| ip.deliver(packet));
            }
            Err(error) => return tracing::error!(%error, "the TUN device is gone"),
        }
    }
}
