//! `hawser forward`: ports of this machine that lead through a gateway.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use hawser_gateway::local::forward::{Forward, RemoteForward, TcpForward, Transport, UdpForward};
use hawser_gateway::local::{TCP_IDLE, UDP_IDLE};
use tokio::net::{TcpListener, UdpSocket};
use tokio::task::JoinSet;

use crate::gateway_client::{Gateway, GatewayOptions, failure, say};
use hawser::Registry;
use hawser_command::address::listen_tcp;
use hawser_command::control::ControlOptions;
use hawser_command::exit::{Exit, Failure};
use hawser_command::interrupt::Interrupt;
use hawser_command::output::Output;
use hawser_command::report::Channel;

const EXAMPLES: &str = "\
With -L, HOST is what the gateway sees: a name is looked up there, and its egress rules apply. With -R it is what this machine sees, and \
the gateway listens; there, `hawser gateway user set NAME --listen PORTS` allows it. UDP has a tunnel for each program that \
sends, over all links, in datagrams where they fit a packet.

Examples:
  hawser forward --pin 'PIN' --key-file key gateway.example -L 8080:example.org:80
  hawser forward ... -L 9000:ingest.example:9000/udp             SRT: point the encoder at srt://127.0.0.1:9000
  hawser forward ... -L 51820:vpn.example:51820/udp              WireGuard: Endpoint = 127.0.0.1:51820
  hawser forward ... -R '*:8080:127.0.0.1:80'                    the gateway's port 8080 leads here
  hawser forward ... -L 1883:broker.example:1883 -L '*:53:1.1.1.1:53/udp'";

/// Arguments of `hawser forward`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ForwardPorts {
    #[command(flatten)]
    gateway: GatewayOptions,
    #[command(flatten)]
    control: ControlOptions,
    /// Listen on this port, of 127.0.0.1 or of ADDR, and lead to HOST:HOSTPORT; repeat for more
    #[arg(
        short = 'L',
        long = "local",
        value_name = "[ADDR:]PORT:HOST:HOSTPORT[/udp]",
        required_unless_present = "remote"
    )]
    local: Vec<Forward>,
    /// Have the gateway listen on this port, of its 127.0.0.1 or of ADDR, and lead to HOST:HOSTPORT from here;
    /// repeat for more
    ///
    /// Port 0: one that the user may have
    #[arg(short = 'R', long = "remote", value_name = "[ADDR:]PORT:HOST:HOSTPORT[/udp]")]
    remote: Vec<Forward>,
    /// Seconds of silence after which a TCP connection ends
    #[arg(long, value_name = "SECONDS", default_value_t = TCP_IDLE.as_secs())]
    tcp_idle: u64,
    /// Seconds of silence after which UDP of one program ends
    #[arg(long, value_name = "SECONDS", default_value_t = UDP_IDLE.as_secs())]
    udp_idle: u64,
}

/// A port that is bound.
enum Bound {
    Tcp(TcpListener),
    Udp(UdpSocket),
}

impl Bound {
    async fn new(forward: &Forward) -> Result<Self, Failure> {
        let address = forward.listen;
        match forward.transport {
            Transport::Tcp => listen_tcp(address).await.map(Bound::Tcp),
            Transport::Udp => UdpSocket::bind(address).await.map(Bound::Udp).map_err(|error| {
                Failure::new(Exit::CannotListen, format!("cannot listen on UDP {address}: {error}"))
            }),
        }
    }

    fn address(&self) -> Option<std::net::SocketAddr> {
        match self {
            Bound::Tcp(listener) => listener.local_addr(),
            Bound::Udp(socket) => socket.local_addr(),
        }
        .ok()
    }
}

/// The ports of the gateway.
async fn remote(
    gateway: &Gateway,
    forwards: Vec<Forward>,
    tcp_idle: Duration,
    udp_idle: Duration,
    output: Output,
) -> Result<Vec<RemoteForward>, Failure> {
    let mut started = Vec::new();
    for forward in forwards {
        let idle = if forward.transport == Transport::Tcp { tcp_idle } else { udp_idle };
        let remote = RemoteForward::start(gateway.client.clone(), forward, idle, say(output)).await;
        started.push(remote.map_err(failure)?);
    }
    Ok(started)
}

/// A port, in words.
fn place(forward: &Forward) -> String {
    let kind = if forward.transport == Transport::Tcp { "TCP" } else { "UDP" };
    format!("{kind} {}", forward.listen)
}

/// Serves programs until Ctrl-C.
pub(crate) async fn run(
    arguments: ForwardPorts,
    registry: &Arc<Registry>,
    output: Output,
    interrupt: Interrupt,
) -> Result<(), Failure> {
    let mut ports = Vec::new();
    for mut forward in arguments.local {
        let bound = Bound::new(&forward).await?;
        forward.listen = bound.address().unwrap_or(forward.listen);
        ports.push((forward, bound));
    }
    hawser_command::server::raise_descriptor_limit();
    let (control, mut interrupt) = arguments.control.start("forward", &interrupt, output).await?;
    let gateway = arguments.gateway.connect(registry, output, &interrupt, &control).await?;
    let tcp_idle = Duration::from_secs(arguments.tcp_idle.max(1));
    let udp_idle = Duration::from_secs(arguments.udp_idle.max(1));
    let remote = match remote(&gateway, arguments.remote, tcp_idle, udp_idle, output).await {
        Ok(remote) => remote,
        Err(error) => {
            gateway.close().await;
            return Err(error);
        }
    };
    if output.json {
        let remote: Vec<String> = remote.iter().map(|remote| remote.forward().listen.to_string()).collect();
        let listening: Vec<String> = ports.iter().map(|(forward, _)| forward.listen.to_string()).collect();
        Channel::Stdout.print(&serde_json::json!({
            "listening": listening,
            "remote": remote,
            "gateway": gateway.address.to_string(),
            "user": gateway.hello.user,
        }));
    }
    let mut tasks = JoinSet::new();
    for mut remote in remote {
        output.remark(format_args!(
            "{} of {} to {}",
            place(remote.forward()),
            gateway.address,
            remote.forward().target
        ));
        tasks.spawn(async move { remote.run().await });
    }
    for (forward, bound) in ports {
        output.remark(format_args!("{forward}, through {}", gateway.address));
        let (client, target, say) = (gateway.client.clone(), forward.target, say(output));
        match bound {
            Bound::Tcp(listener) => {
                let forward = TcpForward::new(client, target, tcp_idle, say);
                tasks.spawn(async move { forward.run(listener).await });
            }
            Bound::Udp(socket) => {
                let mut forward = UdpForward::new(client, target, udp_idle, say);
                tasks.spawn(async move { forward.run(socket).await });
            }
        }
    }
    tokio::select! {
        _ = tasks.join_next() => {}
        () = interrupt.raised() => {}
    }
    gateway.close().await;
    Ok(())
}
