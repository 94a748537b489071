//! Ready-made hosts and links for scenarios.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use hawser_core::crypto::null::{NullClient, NullServer};
use hawser_core::{ClientConfig, Endpoint, EndpointConfig, ServerConfig, TransportConfig};
use hawser_link::{DirectionConfig, QueueConfig, RateModel};
use hawser_policy::{Composition, PolicyKind, PolicySpec, Registry};

use crate::{Application, Host};

/// Where the server of a simulated network listens.
pub const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 99, 0, 1)), 443);

/// The client's address on its `n`-th link.
pub fn client_address(n: u8) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, n, 2)), 40_000 + u16::from(n))
}

/// Transport configuration with policies by name: a scheduler with this controller, or a policy set, which has its own.
///
/// # Panics
/// If a name is not registered, or no acknowledgement policy is: scenarios name policies that exist.
pub fn transport(registry: &Registry, scheduler: &str, controller: &str) -> TransportConfig {
    let spec = |text: &str| Some(text.parse::<PolicySpec>().unwrap_or_else(|error| panic!("{error}")));
    let is_set = spec(scheduler).is_some_and(|spec| registry.policy(PolicyKind::Set, spec.name()).is_some());
    let wanted = match is_set {
        true => Composition::default().with(|composition| composition.policy = spec(scheduler)),
        false => Composition::default().with(|composition| {
            composition.scheduler = spec(scheduler);
            composition.congestion = spec(controller);
        }),
    };
    TransportConfig::with_policies(registry.set(&wanted).unwrap_or_else(|error| panic!("{error}")))
}

/// A client host with the null session.
pub fn client<A: Application>(application: A, seed: u64) -> Host<A> {
    let config = Arc::new(EndpointConfig::new([7; 32]));
    Host::new(Endpoint::new(config, None, seed_bytes(seed, 1)), application)
}

/// A server host with the null session.
pub fn server<A: Application>(transport: Arc<TransportConfig>, application: A, seed: u64) -> Host<A> {
    let config = Arc::new(EndpointConfig::new([8; 32]));
    let server = ServerConfig::new(Arc::new(NullServer::default()), transport, [9; 32]);
    Host::new(Endpoint::new(config, Some(Arc::new(server)), seed_bytes(seed, 2)), application)
}

/// The configuration of a client connection with the null session.
pub fn client_config(transport: Arc<TransportConfig>) -> ClientConfig {
    ClientConfig::new(Arc::new(NullClient::default()), transport)
}

/// A link direction of `megabits` Mbit/s and `delay_ms` one way, with a queue of 100 ms at its rate.
pub fn link(megabits: u64, delay_ms: u64) -> DirectionConfig {
    DirectionConfig {
        rate: RateModel::constant(megabits * 1_000_000),
        queue: QueueConfig::bytes((megabits * 1_000_000 / 8 / 10).max(30_000)),
        ..DirectionConfig::with_delay(delay_ms * hawser_link::MILLISECOND)
    }
}

fn seed_bytes(seed: u64, part: u8) -> [u8; 32] {
    let mut bytes = [part; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes
}
