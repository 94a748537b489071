//! SOCKS5 and HTTP CONNECT on one port, told apart by the first byte.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hawser_masque::target::Target;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::socks::{self, Command, Reply, SocksError};
use super::{associate, http, open};
use crate::client::{GatewayClient, OpenError, Say, TcpTunnel};
use crate::relay::reset;

/// How long a program may take to say what it wants.
const GREETING_TIMEOUT: Duration = Duration::from_secs(30);
/// How long to wait when this machine has no descriptor left.
const PAUSE: Duration = Duration::from_millis(100);

/// How the local proxy behaves.
#[derive(Clone, Debug)]
pub struct ProxyConfig {
    /// Connections of programs at the same time.
    pub connections: usize,
    /// Silence in both directions after which a TCP connection ends.
    pub tcp_idle: Duration,
    /// The same of UDP.
    pub udp_idle: Duration,
}

/// A proxy for programs of this host.
#[derive(Clone)]
pub struct Proxy {
    client: GatewayClient,
    config: ProxyConfig,
    say: Say,
}

impl Proxy {
    /// Serves programs through this client. What fails is said in words: SOCKS has room for a number only.
    pub fn new(client: GatewayClient, config: ProxyConfig, say: Say) -> Self {
        Proxy { client, config, say }
    }

    /// Serves every program that connects, as long as it is waited for.
    pub async fn run(&self, listener: TcpListener) {
        let connections = Arc::new(Semaphore::new(self.config.connections));
        loop {
            // As many as may be: others wait in the kernel.
            let Ok(permit) = connections.clone().acquire_owned().await else { return };
            match listener.accept().await {
                Ok((program, _)) => {
                    let proxy = self.clone();
                    tokio::spawn(async move {
                        proxy.serve(program).await;
                        drop(permit);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    async fn serve(&self, program: TcpStream) {
        let _ = program.set_nodelay(true);
        let mut first = [0];
        match tokio::time::timeout(GREETING_TIMEOUT, program.peek(&mut first)).await {
            Ok(Ok(1)) => {}
            _ => return,
        }
        match first[0] {
            socks::VERSION => self.serve_socks(program).await,
            socks::VERSION_4 => {
                (self.say)("a program speaks SOCKS 4; this proxy takes SOCKS 5 (socks5h://) and HTTP CONNECT")
            }
            _ => self.serve_http(program).await,
        }
    }

    async fn serve_socks(&self, mut program: TcpStream) {
        let asked = tokio::time::timeout(GREETING_TIMEOUT, negotiate(&mut program)).await;
        let command = match asked {
            Ok(Ok(command)) => command,
            Ok(Err(SocksError::Unsupported(reply))) => return answer(&mut program, reply).await,
            Ok(Err(SocksError::Read(error))) => return tracing::debug!(%error, "a program broke off"),
            Ok(Err(error)) => return (self.say)(&error.to_string()),
            Err(_) => return,
        };
        let target = match command {
            Command::Connect(target) => target,
            Command::Associate(port) => {
                let (client, say) = (self.client.clone(), self.say.clone());
                return associate::serve(client, program, port, self.config.udp_idle, say).await;
            }
        };
        match open::open(&self.client, &program, &target).await {
            Some(Ok(tunnel)) => {
                answer(&mut program, Reply::Succeeded).await;
                self.relay(program, tunnel, &target).await;
            }
            Some(Err(error)) => {
                self.tell(&target, &error);
                answer(&mut program, Reply::of(&error)).await;
            }
            None => reset(&program),
        }
    }

    async fn serve_http(&self, mut program: TcpStream) {
        let target = match tokio::time::timeout(GREETING_TIMEOUT, http::read_request(&mut program)).await {
            Ok(Ok(target)) => target,
            Ok(Err(http::HttpError::Read(error))) => return tracing::debug!(%error, "a program broke off"),
            Ok(Err(error)) => {
                (self.say)(&format!("a program was refused: {error}"));
                let _ = http::reject(&mut program, &error).await;
                return;
            }
            Err(_) => return,
        };
        match open::open(&self.client, &program, &target).await {
            Some(Ok(tunnel)) => {
                if http::accept(&mut program).await.is_ok() {
                    self.relay(program, tunnel, &target).await;
                }
            }
            Some(Err(error)) => {
                self.tell(&target, &error);
                let _ = http::refuse(&mut program, &error).await;
            }
            None => reset(&program),
        }
    }

    async fn relay(&self, program: TcpStream, tunnel: TcpTunnel, target: &Target) {
        let closed = tunnel.relay(program, self.config.tcp_idle).await;
        tracing::info!(%target, up = closed.up, down = closed.down, broken = closed.broken, "closed");
    }

    fn tell(&self, target: &Target, error: &OpenError) {
        (self.say)(&format!("{target}: {error}"));
    }
}

/// Agrees that there is no authentication, and reads the request.
async fn negotiate(program: &mut TcpStream) -> Result<Command, SocksError> {
    let is_open = socks::read_greeting(program).await?;
    let method = if is_open { socks::NO_AUTHENTICATION } else { socks::NO_METHOD };
    program.write_all(&[socks::VERSION, method]).await?;
    if !is_open {
        return Err(SocksError::Method);
    }
    socks::read_request(program).await
}

/// Answers a request. The address that the gateway has towards the target is not known here: all zeros.
async fn answer(program: &mut TcpStream, reply: Reply) {
    let nowhere = SocketAddr::from(([0, 0, 0, 0], 0));
    let _ = program.write_all(&reply.encode(nowhere)).await;
}
