//! `hawser proxy`: SOCKS5 and HTTP CONNECT on a local port, over all links.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use hawser_gateway::local::{self, ProxyConfig, TCP_IDLE, UDP_IDLE};

use crate::gateway_client::{GatewayOptions, say};
use hawser::Registry;
use hawser_command::address::listen_tcp;
use hawser_command::control::ControlOptions;
use hawser_command::exit::Failure;
use hawser_command::interrupt::Interrupt;
use hawser_command::options::listen_address;
use hawser_command::output::Output;
use hawser_command::report::Channel;

const EXAMPLES: &str = "\
Names are looked up at the gateway. A program hears that a connection is there when the far end has answered, and why not if \
it did not. Connections that are under way when the gateway is restarted are reset; new ones wait for it (--wait).

Examples:
  hawser proxy --pin 'PIN' --key-file key gateway.example
  curl -x socks5h://127.0.0.1:1080 https://example.org/
  ssh -o ProxyCommand='nc -X 5 -x 127.0.0.1:1080 %h %p' host
  git -c http.proxy=socks5h://127.0.0.1:1080 clone https://example.org/project.git
  hawser proxy --path wlan0 --backup wwan0 ...                  choose the links";

/// Arguments of `hawser proxy`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Proxy {
    #[command(flatten)]
    gateway: GatewayOptions,
    #[command(flatten)]
    control: ControlOptions,
    /// TCP address at which programs find the proxy
    ///
    /// It asks nobody for a password: leave it on loopback
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:1080", value_parser = listen_address)]
    listen: SocketAddr,
    /// Connections of programs at the same time; further ones wait
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=65_536))]
    max_connections: usize,
    /// Seconds of silence after which a TCP connection ends
    #[arg(long, value_name = "SECONDS", default_value_t = TCP_IDLE.as_secs())]
    tcp_idle: u64,
    /// Seconds of silence after which UDP to one target ends
    #[arg(long, value_name = "SECONDS", default_value_t = UDP_IDLE.as_secs())]
    udp_idle: u64,
}

/// Serves programs until Ctrl-C.
pub(crate) async fn run(
    arguments: Proxy,
    registry: &Arc<Registry>,
    output: Output,
    interrupt: Interrupt,
) -> Result<(), Failure> {
    let listener = listen_tcp(arguments.listen).await?;
    let address = listener.local_addr().unwrap_or(arguments.listen);
    hawser_command::server::raise_descriptor_limit();
    let (control, mut interrupt) = arguments.control.start("proxy", &interrupt, output).await?;
    let gateway = arguments.gateway.connect(registry, output, &interrupt, &control).await?;
    if output.json {
        Channel::Stdout.print(&serde_json::json!({
            "listening": address.to_string(),
            "port": address.port(),
            "gateway": gateway.address.to_string(),
            "user": gateway.hello.user,
        }));
    }
    output.remark(format_args!("proxy on {address} (SOCKS5 and HTTP CONNECT) through {}", gateway.address));
    if !address.ip().is_loopback() {
        output.remark("warning: everybody who reaches this address uses the proxy, and your key");
    }
    output.remark(format_args!("  curl -x socks5h://{address} https://example.org/"));
    let config = ProxyConfig {
        connections: arguments.max_connections,
        tcp_idle: Duration::from_secs(arguments.tcp_idle.max(1)),
        udp_idle: Duration::from_secs(arguments.udp_idle.max(1)),
    };
    let proxy = local::Proxy::new(gateway.client.clone(), config, say(output));
    tokio::select! {
        () = proxy.run(listener) => {}
        () = interrupt.raised() => {}
    }
    gateway.close().await;
    Ok(())
}
