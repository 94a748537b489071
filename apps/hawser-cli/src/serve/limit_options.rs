//! What clients may take of a server, as options.

use clap::Args;

use hawser::{EndpointBuilder, ServerConfigBuilder};
use hawser_command::sources::Sources;
use hawser_command::units::parse_bytes;

/// Options of `hawser serve`. Uploads have theirs with `--allow-put`.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Limits")]
pub(super) struct LimitOptions {
    /// Connections in all; further ones are refused
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    max_connections: usize,
    /// Connections that one address (of IPv6: one /64) may have open; further ones are refused (0: no limit)
    ///
    /// Default: 1000, but at most an eighth of --max-connections
    #[arg(long, value_name = "N")]
    connections_per_source: Option<usize>,
    /// Handshakes that one address (of IPv6: one /64) may begin per second; beyond it clients must prove their address, and
    /// those that have are refused (0: no limit)
    #[arg(long, value_name = "N", default_value_t = 200)]
    handshakes_per_source: u32,
    /// Requests that one connection may have under way; a client waits with further ones
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    max_requests: u64,
    /// Memory for what has arrived and was not read yet, of all connections (suffixes k, M, G); when it is used up, the
    /// connection that holds most of the address that holds most is closed
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "1G")]
    receive_memory: u64,
    /// Memory for what was sent and has not been acknowledged, of all connections (suffixes k, M, G)
    ///
    /// One address (of IPv6: one /64) may have an eighth of it
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "1G")]
    send_memory: u64,
    /// Memory for what was read of files and clients have not taken yet, of all connections (suffixes k, M, G)
    ///
    /// One address (of IPv6: one /64) may have an eighth of it
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "1G")]
    reply_memory: u64,
}

/// Connections that one source may have where the total allows it.
const CONNECTIONS_PER_SOURCE: usize = 1000;

impl LimitOptions {
    pub(super) fn sources(&self) -> Sources {
        let share = match self.connections_per_source {
            Some(0) => None,
            Some(most) => Some(most),
            None => Some((self.max_connections / 8).clamp(1, CONNECTIONS_PER_SOURCE)),
        };
        Sources::new(self.max_connections)
            .places_per_source(share)
            .handshakes_per_second(self.handshakes_per_source)
    }

    pub(super) fn reply_memory(&self) -> u64 {
        self.reply_memory
    }

    pub(super) fn endpoint(&self, builder: EndpointBuilder) -> EndpointBuilder {
        builder.receive_memory(self.receive_memory).send_memory(self.send_memory)
    }

    pub(super) fn server(&self, builder: ServerConfigBuilder) -> ServerConfigBuilder {
        let builder = builder.max_connections(self.max_connections).max_requests(self.max_requests);
        self.sources().server(builder)
    }
}
